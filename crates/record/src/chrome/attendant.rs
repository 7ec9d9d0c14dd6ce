//! What is answered while nobody looks: dialogs that a page stands still for, and targets that wait for us at their
//! start.
//!
//! Frames in processes of their own, workers and windows that a page opens are attached to before they run anything
//! (`waitForDebuggerOnStart`), get what was set for every session, such as throttling, and go on.

use serde_json::{Value, json};

use super::connection::BrowserEvent;

/// A call without an answer: session, method, parameters.
pub type Sent = (Option<String>, &'static str, Value);

/// What a page brought with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The session we are attached with.
    pub session: String,
    /// The session it came from; none when the browser attached it.
    pub parent: Option<String>,
    /// The target; of a frame, also the frame's id.
    pub target: String,
    /// `page`, `iframe`, `worker`, `service_worker`, …
    pub kind: String,
    /// Where it was when it was attached.
    pub url: String,
}

/// Counts, and answers.
#[derive(Default)]
pub struct Attendant {
    /// Called in every session of a frame or page before it runs.
    pub each_frame: Vec<(&'static str, Value)>,
    /// Called in every session before it runs, those of workers, too.
    pub each_target: Vec<(&'static str, Value)>,
    /// Where our page is, kept apart from the tabs of others, and the page itself.
    pub home: Option<(String, String)>,
    /// Dialogs that were answered.
    pub dialogs: u64,
    /// What the last dialog said.
    pub last_dialog: String,
    /// Downloads that were refused.
    pub downloads: u64,
    /// Windows that pages opened.
    pub popups: u64,
    /// What is attached, by session, in the order it came.
    pub attached: Vec<Attached>,
}

/// So that frames, workers and windows are attached to before they run.
pub fn auto_attach() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

impl Attendant {
    /// Events that we look at.
    pub fn wants(method: &str) -> bool {
        matches!(
            method,
            "Page.javascriptDialogOpening"
                | "Target.attachedToTarget"
                | "Target.detachedFromTarget"
                | "Target.targetCreated"
                | "Target.targetInfoChanged"
                | "Inspector.targetCrashed"
                | "Browser.downloadWillBegin"
        )
    }

    /// Looks at an event and says what to answer.
    pub fn see(&mut self, event: &BrowserEvent) -> Vec<Sent> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let params = &event.params;
        match &*event.method {
            "Page.javascriptDialogOpening" => {
                self.dialogs += 1;
                self.last_dialog = text(&params["message"]);
                // Yes to all: to leave a page is what somebody asked for, and to confirm is how people go on.
                let mut answer = json!({ "accept": true });
                if params["type"] == "prompt" {
                    answer["promptText"] = params["defaultPrompt"].clone();
                }
                vec![(event.session.clone(), "Page.handleJavaScriptDialog", answer)]
            }
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                let attached = Attached {
                    session: text(&params["sessionId"]),
                    parent: event.session.clone(),
                    target: text(&info["targetId"]),
                    kind: text(&info["type"]),
                    url: text(&info["url"]),
                };
                let session = Some(attached.session.clone());
                let mut answers = vec![(session.clone(), "Target.setAutoAttach", auto_attach())];
                if matches!(&*attached.kind, "page" | "iframe") {
                    for (method, params) in &self.each_frame {
                        answers.push((session.clone(), method, params.clone()));
                    }
                }
                for (method, params) in &self.each_target {
                    answers.push((session.clone(), method, params.clone()));
                }
                answers.push((session, "Runtime.runIfWaitingForDebugger", json!({})));
                self.attached.push(attached);
                answers
            }
            // Windows are not brought by the page that opens them.
            "Target.targetCreated" => {
                let info = &params["targetInfo"];
                let Some((context, page)) = &self.home else { return Vec::new() };
                if info["type"] != "page"
                    || info["browserContextId"] != **context
                    || info["targetId"] == **page
                    || info["attached"] == true
                {
                    return Vec::new();
                }
                self.popups += 1;
                let attach = json!({ "targetId": info["targetId"], "flatten": true });
                vec![(None, "Target.attachToTarget", attach)]
            }
            "Target.detachedFromTarget" => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                self.attached.retain(|attached| attached.session != session);
                Vec::new()
            }
            "Target.targetInfoChanged" => {
                let info = &params["targetInfo"];
                let target = info["targetId"].as_str().unwrap_or_default();
                for attached in &mut self.attached {
                    if attached.target == target {
                        attached.url = text(&info["url"]);
                    }
                }
                Vec::new()
            }
            "Browser.downloadWillBegin" => {
                self.downloads += 1;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(method: &str, params: Value) -> BrowserEvent {
        BrowserEvent { session: Some("page".to_owned()), method: method.to_owned(), params }
    }

    #[test]
    fn dialogs_are_answered_and_counted() {
        let mut attendant = Attendant::default();
        let dialog = json!({ "message": "Who?", "type": "prompt", "defaultPrompt": "me" });
        let answers = attendant.see(&event("Page.javascriptDialogOpening", dialog));
        let yes = json!({ "accept": true, "promptText": "me" });
        assert_eq!(answers, [(Some("page".to_owned()), "Page.handleJavaScriptDialog", yes)]);
        assert_eq!((attendant.dialogs, &*attendant.last_dialog), (1, "Who?"));
    }

    #[test]
    fn what_waits_at_its_start_goes_on_with_what_was_set_for_all() {
        let mut attendant = Attendant {
            each_frame: vec![("Emulation.setCPUThrottlingRate", json!({ "rate": 4 }))],
            ..Attendant::default()
        };
        let of = |kind: &str| json!({ "sessionId": kind, "targetInfo": { "targetId": "T", "type": kind, "url": "u" } });
        let methods = |answers: Vec<Sent>| -> Vec<&str> {
            answers.into_iter().map(|(_, method, _)| method).collect()
        };
        assert_eq!(
            methods(attendant.see(&event("Target.attachedToTarget", of("iframe")))),
            [
                "Target.setAutoAttach",
                "Emulation.setCPUThrottlingRate",
                "Runtime.runIfWaitingForDebugger"
            ]
        );
        assert_eq!(
            methods(attendant.see(&event("Target.attachedToTarget", of("worker")))),
            ["Target.setAutoAttach", "Runtime.runIfWaitingForDebugger"]
        );
        assert_eq!(attendant.attached.len(), 2);
        attendant.see(&event("Target.detachedFromTarget", json!({ "sessionId": "iframe" })));
        assert_eq!(attendant.attached[0].kind, "worker");
    }
}
