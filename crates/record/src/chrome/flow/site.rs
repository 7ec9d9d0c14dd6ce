//! A flow at another site than where it was recorded: two versions of an application have two addresses.

use super::{Action, Flow};

impl Flow {
    /// The same flow with the addresses of the site it was recorded at, that of its first navigation, below `site`.
    /// Addresses elsewhere stay.
    #[must_use]
    pub fn at_site(&self, site: &str) -> Self {
        let mut moved = self.clone();
        let first = self.steps.iter().find_map(|step| match &step.action {
            Action::Navigate { url, .. } => Some(origin(url)),
            _ => None,
        });
        let Some(recorded) = first.filter(|recorded| !recorded.is_empty()) else { return moved };
        let site = site.split(['?', '#']).next().unwrap_or(site).trim_end_matches('/');
        let move_there = |url: &mut String| {
            if origin(url) == recorded {
                *url = format!("{site}{}", &url[recorded.len()..]);
            }
        };
        for step in &mut moved.steps {
            if let Action::Navigate { url, .. } = &mut step.action {
                move_there(url);
            }
            step.target.iter_mut().for_each(move_there);
            step.asserted
                .iter_mut()
                .filter_map(|asserted| asserted.url.as_mut())
                .for_each(move_there);
        }
        moved
    }
}

/// Scheme, host and port of an address; empty for what has none.
fn origin(url: &str) -> &str {
    let Some((scheme, rest)) = url.split_once("://") else { return "" };
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    &url[..scheme.len() + 3 + host]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_recorded_site_move_and_others_stay() {
        let flow = Flow::parse(
            br#"{"title": "t", "steps": [
                {"type": "navigate", "url": "http://localhost:3000/cart?x=1",
                 "assertedEvents": [{"type": "navigation", "url": "http://localhost:3000/cart"}]},
                {"type": "navigate", "url": "https://pay.example/"},
                {"type": "navigate", "url": "http://localhost:30001/"},
                {"type": "click", "target": "http://localhost:3000/frame", "selectors": ["b"], "offsetX": 1, "offsetY": 1},
                {"type": "click", "target": "main", "selectors": ["b"], "offsetX": 1, "offsetY": 1}
            ]}"#,
        )
        .unwrap();
        let moved = flow.at_site("http://127.0.0.1:4444/app/?old");
        let url = |step: usize| match &moved.steps[step].action {
            Action::Navigate { url, .. } => url.as_str(),
            _ => "",
        };
        assert_eq!(url(0), "http://127.0.0.1:4444/app/cart?x=1");
        assert_eq!(url(1), "https://pay.example/");
        assert_eq!(url(2), "http://localhost:30001/");
        assert_eq!(
            moved.steps[0].asserted[0].url.as_deref(),
            Some("http://127.0.0.1:4444/app/cart")
        );
        assert_eq!(moved.steps[3].target.as_deref(), Some("http://127.0.0.1:4444/app/frame"));
        assert_eq!(moved.steps[4].target, flow.steps[4].target);
        assert_eq!(flow.at_site("").steps.len(), 5);
    }

    #[test]
    fn a_flow_that_goes_nowhere_stays_as_it_is() {
        let flow = Flow::parse(br#"{"title": "t", "steps": [{"type": "close"}]}"#).unwrap();
        assert_eq!(flow.at_site("http://x/"), flow);
    }
}
