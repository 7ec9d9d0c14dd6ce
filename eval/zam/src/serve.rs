//! The site of an application on loopback, with two additions: it can be slow, and it takes reports of pages.
//!
//! `?slow=150` in an address makes the answer wait that many milliseconds. What a page posts to `/report` is kept, the
//! last one only.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use perfblame_serve::{Answer, Site};

/// A server, until it is dropped.
pub struct Server {
    site: Site,
    report: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Server {
    /// Serves a folder.
    pub fn start(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize()?;
        let report = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&report);
        let site = Site::answering(move |request| {
            let slow = request.query().strip_prefix("slow=").and_then(|slow| slow.parse().ok());
            if let Some(slow) = slow {
                std::thread::sleep(Duration::from_millis(slow));
            }
            if request.method == "POST" && request.path() == "/report" {
                if let Ok(mut kept) = kept.lock() {
                    *kept = Some(request.body.clone());
                }
                return Answer::Nothing;
            }
            Answer::FileIn(folder.clone())
        })?;
        Ok(Self { site, report })
    }

    /// What addresses of its files begin with.
    pub fn address(&self) -> String {
        format!("http://{}", self.site.address())
    }

    /// What the page reported last.
    pub fn report(&self) -> Option<Vec<u8>> {
        self.report.lock().ok()?.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    fn ask(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.site.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn files_are_served_and_reports_kept() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("apps/vue");
        let server = Server::start(&folder).unwrap();
        let page = ask(&server, "GET /index.html?slow=1 HTTP/1.1\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/html"));
        assert!(page.ends_with("</html>\n"));
        let outside = ask(&server, "GET /../shared/visit.js HTTP/1.1\r\n\r\n");
        assert!(outside.starts_with("HTTP/1.1 404"));
        ask(&server, "POST /report HTTP/1.1\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(server.report(), Some(b"ok".to_vec()));
    }
}
