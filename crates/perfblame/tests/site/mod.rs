//! A web server on loopback for tests: a few pages, and answers that never come.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// What is served, by path.
pub struct Site {
    port: u16,
}

impl Site {
    /// Serves pages until the process ends. A page that is `(never)` is not answered.
    pub fn new(pages: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fill = |text: &str| text.replace("PORT", &port.to_string());
        let pages: BTreeMap<String, String> =
            pages.iter().map(|(path, text)| ((*path).to_owned(), fill(text))).collect();
        let pages = Arc::new(pages);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let pages = Arc::clone(&pages);
                std::thread::spawn(move || answer(stream, &pages));
            }
        });
        Self { port }
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn answer(stream: TcpStream, pages: &BTreeMap<String, String>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    for line in lines.by_ref().map_while(Result::ok) {
        if line.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let mut stream = stream;
    let kind = match path.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("zip") => "application/zip",
        _ => "text/html",
    };
    let (status, body) = match pages.get(path) {
        Some(text) if text == "(never)" => {
            // Until the browser is gone.
            while stream.write_all(b"").is_ok() {
                std::thread::sleep(Duration::from_secs(1));
            }
            return;
        }
        Some(text) => ("200 OK", text.as_str()),
        None => ("404 Not Found", "there is no such page"),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}
