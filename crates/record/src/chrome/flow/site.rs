//! The same flow at another address: recorded against one server, replayed against two.

use super::{Action, Flow};

/// An address, taken apart as far as this is about it.
struct Address<'a> {
    /// `http://host:80`.
    site: &'a str,
    /// From the site to the last slash of the path, that included.
    folder: &'a str,
}

impl<'a> Address<'a> {
    fn new(url: &'a str) -> Option<Self> {
        let start = url.find("://")? + 3;
        let rest = url.get(start..)?;
        let end = start + rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let site = url.get(..end)?;
        let path = url.get(end..)?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let folder = path.get(..path.rfind('/').map_or(0, |at| at + 1))?;
        Some(Self { site, folder: if folder.is_empty() { "/" } else { folder } })
    }
}

impl Flow {
    /// The first address that it goes to.
    pub fn start(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| match &step.action {
            Action::Navigate { url } => Some(url.as_str()),
            _ => None,
        })
    }

    /// The same flow, started at another address. What was beside or below the old start is beside or below the new
    /// one, the rest of the old site is on the new site, and other sites stay as they are.
    pub fn starting_at(mut self, url: &str) -> Self {
        let Some(start) = self.start().map(str::to_owned) else { return self };
        let (Some(from), Some(to)) = (Address::new(&start), Address::new(url)) else {
            return self;
        };
        let (from_folder, to_folder) =
            (format!("{}{}", from.site, from.folder), format!("{}{}", to.site, to.folder));
        let moved = |text: &mut String| {
            let within = |rest: &str| rest.is_empty() || rest.starts_with(['/', '?', '#']);
            if *text == start {
                url.clone_into(text);
            } else if let Some(rest) = text.strip_prefix(&from_folder) {
                *text = format!("{to_folder}{rest}");
            } else if let Some(rest) = text.strip_prefix(from.site).filter(|rest| within(rest)) {
                *text = format!("{}{rest}", to.site);
            }
        };
        for step in &mut self.steps {
            if let Action::Navigate { url } = &mut step.action {
                moved(url);
            }
            let asserted = step.asserted.iter_mut().filter_map(|event| event.url.as_mut());
            asserted.chain(&mut step.target).for_each(moved);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(urls: &[&str], start: &str, wanted: &[&str]) {
        let steps: Vec<_> =
            urls.iter().map(|url| serde_json::json!({ "type": "navigate", "url": url })).collect();
        let flow = serde_json::json!({ "title": "", "steps": steps }).to_string();
        let flow = Flow::parse(flow.as_bytes()).unwrap().starting_at(start);
        let moved: Vec<_> = flow
            .steps
            .iter()
            .map(|step| match &step.action {
                Action::Navigate { url } => url.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(moved, wanted);
    }

    #[test]
    fn a_flow_moves_to_another_site() {
        check(
            &[
                "http://a:1/",
                "http://a:1/x?y=http://a:1/",
                "http://a:10/",
                "http://b/",
                "about:blank",
            ],
            "http://c:2",
            &[
                "http://c:2",
                "http://c:2/x?y=http://a:1/",
                "http://a:10/",
                "http://b/",
                "about:blank",
            ],
        );
    }

    #[test]
    fn a_flow_moves_to_another_folder() {
        check(
            &["http://a/old/index.html?1", "http://a/old/more/x", "http://a/other", "http://a"],
            "http://b/new/start.html",
            &["http://b/new/start.html", "http://b/new/more/x", "http://b/other", "http://b"],
        );
        check(&["http://a"], "file:///x/index.html", &["file:///x/index.html"]);
        check(&["http://a?q", "http://a#h"], "http://b/", &["http://b/", "http://b#h"]);
    }

    #[test]
    fn what_is_no_address_stays() {
        check(&["about:blank", "http://a/"], "http://b/", &["about:blank", "http://a/"]);
        check(&["http://a/"], "nothing", &["http://a/"]);
    }
}
