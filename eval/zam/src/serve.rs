//! A small server for folders of files, on loopback, with two additions: it can be slow, and it takes reports of pages.
//!
//! `?slow=150` in an address makes the answer wait that many milliseconds. What a page posts to `/report` is kept, the
//! last one only.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;

/// Reports are small; what is larger is none.
const LARGEST_REPORT: usize = 16 << 20;
/// A browser that opens a connection ahead of time and says nothing is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server, until it is dropped.
pub struct Server {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    report: Arc<Mutex<Option<Vec<u8>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves a folder.
    pub fn start(folder: &Path) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ends = Arc::new(AtomicBool::new(false));
        let report = Arc::new(Mutex::new(None));
        let thread = {
            let (folder, ends, report) = (folder.to_owned(), ends.clone(), report.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let Ok(stream) = stream else { continue };
                    let (folder, report) = (folder.clone(), report.clone());
                    std::thread::spawn(move || {
                        // A browser that goes away is no concern of the server.
                        let _ = answer_all(&stream, &folder, &report);
                    });
                }
            })
        };
        Ok(Self { address, ends, report, thread: Some(thread) })
    }

    /// What addresses of its files begin with.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the page reported last.
    pub fn report(&self) -> Option<Vec<u8>> {
        self.report.lock().ok()?.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer_all(
    stream: &TcpStream,
    folder: &Path,
    report: &Mutex<Option<Vec<u8>>>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
        let mut length = 0usize;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        if length > LARGEST_REPORT {
            return Ok(());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let Some(slow) = query.strip_prefix("slow=").and_then(|slow| slow.parse().ok()) {
            std::thread::sleep(Duration::from_millis(slow));
        }
        let (status, kind, bytes) = if method == "POST" && path == "/report" {
            if let Ok(mut report) = report.lock() {
                *report = Some(body);
            }
            ("204 No Content", "text/plain", Vec::new())
        } else {
            match file(folder, path).and_then(|path| std::fs::read(path).ok()) {
                Some(bytes) => ("200 OK", kind_of(path), bytes),
                None => ("404 Not Found", "text/plain", Vec::new()),
            }
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\r\n",
            bytes.len()
        );
        let mut out = stream;
        out.write_all(head.as_bytes())?;
        out.write_all(&bytes)?;
    }
}

/// The file of a path, unless that leads out of the folder.
fn file(folder: &Path, path: &str) -> Option<PathBuf> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let leads_out = |part: &str| part == ".." || part.contains(['\\', ':', '\0']);
    let mut file = folder.to_owned();
    for part in parts {
        if leads_out(part) {
            return None;
        }
        file.push(part);
    }
    Some(file)
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
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
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"));
        assert!(page.ends_with("</html>\n"));
        let outside = ask(&server, "GET /../shared/visit.js HTTP/1.1\r\n\r\n");
        assert!(outside.starts_with("HTTP/1.1 404"));
        ask(&server, "POST /report HTTP/1.1\r\nContent-Length: 2\r\n\r\nok");
        assert_eq!(server.report(), Some(b"ok".to_vec()));
    }
}
