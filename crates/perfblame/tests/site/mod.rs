//! A web site on loopback for tests: a few pages, and answers that never come.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use perfblame_serve::{Answer, content_type};

/// What is served, by path.
pub struct Site(perfblame_serve::Site);

impl Site {
    /// Serves pages, in which `PORT` is the site's own. A page that is `(never)` is not answered.
    pub fn new(pages: &[(&str, &str)]) -> Self {
        let pages: BTreeMap<String, String> =
            pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let port = Arc::new(OnceLock::<u16>::new());
        let own = Arc::clone(&port);
        let site = perfblame_serve::Site::answering(move |request| {
            let path = request.path();
            let kind = match path.rsplit_once('.') {
                Some(_) => content_type(Path::new(path)),
                None => "text/html",
            };
            match pages.get(path).map(String::as_str) {
                Some("(never)") => Answer::Never,
                Some(text) => {
                    let text = text.replace("PORT", &own.wait().to_string());
                    Answer::Page { kind, bytes: text.into_bytes() }
                }
                None => Answer::NotFound,
            }
        })
        .unwrap();
        port.set(site.address().port()).unwrap();
        Self(site)
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address())
    }
}
