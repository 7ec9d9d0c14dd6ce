//! A frame, seen from a JavaScript world of its own: shares the document with the page and nothing else.

use serde_json::{Value, json};

use super::snag::Snag;
use crate::chrome::Session;

/// Defines what the calls below call.
const PAGE: &str = include_str!("page.js");

/// What our own scripts are called in a trace, so that nobody takes them for the page's.
const NAME: &str = "\n//# sourceURL=perfblame-flow.js\n";

/// Objects of these groups live as long as a document, and as long as a step.
const OF_DOCUMENT: &str = "perfblame-document";
pub(super) const OF_STEP: &str = "perfblame-step";

/// A document of a frame and our functions in it. Good until the frame goes elsewhere; calls fail from then on.
#[derive(Clone)]
pub(super) struct World<'a> {
    /// The process that the frame is in. Its time is that of the current step.
    pub session: Session<'a>,
    /// The frame.
    pub frame: String,
    /// For nodes that are found by other means than a call.
    pub context: i64,
    /// Our functions. By object and not by context, as another process can have a context of the same number.
    functions: String,
}

/// Something in a page that is referred to from here.
#[derive(Clone)]
pub(super) struct Element<'a> {
    pub world: World<'a>,
    pub object: String,
}

impl<'a> World<'a> {
    /// Makes one for the document that is in a frame now.
    pub fn enter(session: Session<'a>, frame: &str) -> Result<Self, Snag> {
        let made = session.call(
            "Page.createIsolatedWorld",
            json!({ "frameId": frame, "worldName": "perfblame" }),
        )?;
        let context = made["executionContextId"].as_i64().unwrap_or_default();
        let answer = session.call(
            "Runtime.evaluate",
            json!({
                "expression": format!("{PAGE}{NAME}"),
                "contextId": context,
                "objectGroup": OF_DOCUMENT,
            }),
        )?;
        let functions = object_in(&answer)?.ok_or_else(|| Snag::yet("the page is not ready"))?;
        Ok(Self { session, frame: frame.to_owned(), context, functions })
    }

    /// Calls a function, written as an expression with `this` for ours, and hands out its value.
    pub fn value(&self, function: &str, arguments: &[Value]) -> Result<Value, Snag> {
        let mut answer = self.call(function, arguments, true)?;
        Ok(answer["result"]["value"].take())
    }

    /// The same for a function whose value is a node or another object; nothing for `null`.
    pub fn object(&self, function: &str, arguments: &[Value]) -> Result<Option<Element<'a>>, Snag> {
        let answer = self.call(function, arguments, false)?;
        Ok(object_in(&answer)?.map(|object| Element { world: self.clone(), object }))
    }

    /// The same for a function whose value is an array of objects.
    pub fn objects(&self, function: &str, arguments: &[Value]) -> Result<Vec<Element<'a>>, Snag> {
        let Some(array) = self.object(function, arguments)? else { return Ok(Vec::new()) };
        let own = json!({ "objectId": array.object, "ownProperties": true });
        let answer = self.session.call("Runtime.getProperties", own)?;
        let properties = answer["result"].as_array().map(Vec::as_slice).unwrap_or_default();
        let elements = properties.iter().filter_map(|property| {
            property["name"].as_str()?.parse::<u32>().ok()?;
            let object = property["value"]["objectId"].as_str()?.to_owned();
            Some(Element { world: self.clone(), object })
        });
        Ok(elements.collect())
    }

    fn call(&self, function: &str, arguments: &[Value], value: bool) -> Result<Value, Snag> {
        let answer = self.session.call(
            "Runtime.callFunctionOn",
            json!({
                "functionDeclaration": format!("{function}{NAME}"),
                "objectId": self.functions,
                "arguments": arguments,
                "returnByValue": value,
                "awaitPromise": true,
                "objectGroup": OF_STEP,
            }),
        )?;
        thrown(&answer)?;
        Ok(answer)
    }

    /// A node of this document by the number that other domains give it.
    pub fn adopt(&self, node: &Value) -> Result<Option<Element<'a>>, Snag> {
        let answer = self.session.call(
            "DOM.resolveNode",
            json!({
                "backendNodeId": node,
                "executionContextId": self.context,
                "objectGroup": OF_STEP,
            }),
        )?;
        let object = answer["object"]["objectId"].as_str().map(str::to_owned);
        Ok(object.map(|object| Element { world: self.clone(), object }))
    }
}

impl Element<'_> {
    /// To hand it to a call.
    pub fn argument(&self) -> Value {
        json!({ "objectId": self.object })
    }

    /// Itself as the page's own scripts see it, with the properties that they gave it.
    pub fn as_page_sees_it(&self) -> Result<String, Snag> {
        let described =
            self.world.session.call("DOM.describeNode", json!({ "objectId": self.object }))?;
        let node = &described["node"]["backendNodeId"];
        let resolved = self
            .world
            .session
            .call("DOM.resolveNode", json!({ "backendNodeId": node, "objectGroup": OF_STEP }))?;
        let object = resolved["object"]["objectId"].as_str();
        object.map(str::to_owned).ok_or_else(|| Snag::yet("an element is gone"))
    }
}

/// An argument that is plain data.
pub(super) fn plain(value: impl Into<Value>) -> Value {
    json!({ "value": value.into() })
}

/// The object in an answer; nothing for `null`.
fn object_in(answer: &Value) -> Result<Option<String>, Snag> {
    thrown(answer)?;
    Ok(answer["result"]["objectId"].as_str().map(str::to_owned))
}

/// What a call threw.
pub(super) fn thrown(answer: &Value) -> Result<(), Snag> {
    let Some(details) = answer.get("exceptionDetails") else { return Ok(()) };
    let exception = &details["exception"];
    let text = exception["description"].as_str().or_else(|| details["text"].as_str());
    // The first line says what, the others where.
    let text = text.unwrap_or("an error").lines().next().unwrap_or_default();
    Err(Snag::Threw(text.to_owned()))
}
