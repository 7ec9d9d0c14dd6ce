//! Files as a web site on the loopback address, for as long as somebody holds it.
//!
//! Just enough of HTTP for a browser that loads pages from a build's output: files with their types, `index.html` of
//! folders, connections that stay open. Nothing outside the folder is served, links that lead there included, and
//! nothing is cached, so that every run loads the same bytes. Experiments and tests answer some requests themselves
//! ([`Site::answering`]): late, never, or with a page that is not in a file.
#![warn(missing_docs)]

mod request;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use request::Request;

/// Connections at the same time; a browser opens six to a site.
const MOST_CONNECTIONS: usize = 64;

/// How long a connection may say nothing before it is closed.
const SILENCE: Duration = Duration::from_secs(60);

/// A web site. It ends when dropped.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

/// What is sent back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A file of a folder, or the page of a folder in it; what is not there is not found.
    FileIn(PathBuf),
    /// A page that is not in a file.
    Page {
        /// Its type, such as `text/html`.
        kind: &'static str,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// Nothing to show, and all is well.
    Nothing,
    /// There is no such page.
    NotFound,
    /// Nothing is ever sent, as long as the other side waits.
    Never,
}

type Answering = dyn Fn(&Request) -> Answer + Send + Sync;

impl Site {
    /// Serves a folder on a free port.
    pub fn of_folder(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
        }
        Self::answering(move |_| Answer::FileIn(root.clone()))
    }

    /// Answers requests on a free port. Threads of their own ask for answers, several at a time.
    pub fn answering(
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let answer: Arc<Answering> = Arc::new(answer);
        let listening = std::thread::spawn(move || listen(&listener, &answer, &stopped));
        Ok(Self { address, stop, listening: Some(listening) })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its top folder.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever listens waits for a connection: this is one.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok();
        if let Some(listening) = self.listening.take().filter(|_| woken) {
            let _ = listening.join();
        }
    }
}

fn listen(listener: &TcpListener, answer: &Arc<Answering>, stop: &Arc<AtomicBool>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (answer, open, stop) = (Arc::clone(answer), Arc::clone(&open), Arc::clone(stop));
        std::thread::spawn(move || {
            // A browser that goes away in the middle does not matter.
            let _ = converse(&stream, &*answer, &stop);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Answers requests until the other side has no more.
fn converse(stream: &TcpStream, answer: &Answering, stop: &AtomicBool) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader)? {
        send(&request, answer(&request), stop, &mut &*stream)?;
        if request.closes {
            break;
        }
    }
    Ok(())
}

fn send(
    request: &Request,
    answer: Answer,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> io::Result<()> {
    let sends_body = request.method != "HEAD";
    match answer {
        Answer::FileIn(root) => send_file(request, &root, out),
        Answer::Page { kind, bytes } => {
            let length = bytes.len();
            head(out, "200 OK", kind, length as u64)?;
            if sends_body { out.write_all(&bytes) } else { Ok(()) }
        }
        Answer::Nothing => write!(out, "HTTP/1.1 204 No Content\r\n\r\n"),
        Answer::NotFound => refuse(out, "404 Not Found", sends_body),
        Answer::Never => {
            // Until the other side is gone, or the site is.
            while !stop.load(Ordering::Relaxed) && out.write_all(b"").is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

fn head(out: &mut impl Write, status: &str, kind: &str, length: u64) -> io::Result<()> {
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\r\n"
    )
}

fn send_file(request: &Request, root: &Path, out: &mut impl Write) -> io::Result<()> {
    let sends_body = match request.method.as_str() {
        "GET" => true,
        "HEAD" => false,
        _ => return refuse(out, "405 Method Not Allowed", true),
    };
    let path = request.path();
    match find(root, path) {
        Found::File(path) => {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            head(out, "200 OK", content_type(&path), length)?;
            if sends_body {
                // A file that grows meanwhile must not run into the next answer.
                io::copy(&mut file.take(length), out)?;
            }
            Ok(())
        }
        Found::Folder => write!(
            out,
            "HTTP/1.1 301 Moved Permanently\r\nlocation: {path}/\r\ncontent-length: 0\r\n\r\n"
        ),
        Found::Nothing => refuse(out, "404 Not Found", sends_body),
    }
}

fn refuse(out: &mut impl Write, status: &str, sends_body: bool) -> io::Result<()> {
    let length = status.len();
    let body = if sends_body { status } else { "" };
    write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    File(PathBuf),
    /// A folder that was named without a slash: what its page refers to would be looked for beside it.
    Folder,
    Nothing,
}

fn find(root: &Path, path: &str) -> Found {
    let Some(decoded) = percent_decoded(path) else { return Found::Nothing };
    let mut wanted = root.to_owned();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => return Found::Nothing,
            part if part.contains(['\\', '\0', ':']) && cfg!(windows) => return Found::Nothing,
            part => wanted.push(part),
        }
    }
    let Ok(mut real) = wanted.canonicalize() else { return Found::Nothing };
    if real.is_dir() {
        if !decoded.ends_with('/') {
            return if real.starts_with(root) { Found::Folder } else { Found::Nothing };
        }
        match wanted.join("index.html").canonicalize() {
            Ok(page) => real = page,
            Err(_) => return Found::Nothing,
        }
    }
    if real.starts_with(root) && real.is_file() { Found::File(real) } else { Found::Nothing }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// The type of a file by its name.
pub fn content_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|text| text.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "js" | "mjs" | "cjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "wasm" => "application/wasm",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "txt" | "md" => "text/plain; charset=utf-8",
        "xml" => "text/xml",
        "zip" => "application/zip",
        "pdf" => "application/pdf",
        "webmanifest" => "application/manifest+json",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mp3" => "audio/mpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> (PathBuf, Site) {
        let name =
            format!("perfblame-site-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join("sub dir")).unwrap();
        std::fs::write(folder.join("index.html"), "<p>hello").unwrap();
        std::fs::write(folder.join("a.js"), "let a").unwrap();
        std::fs::write(folder.join("sub dir/index.html"), "below").unwrap();
        let served = Site::of_folder(&folder).unwrap();
        (folder, served)
    }

    /// Sends bytes and gives what comes back until the other side closes.
    fn ask(served: &Site, request: &str) -> String {
        let mut stream = TcpStream::connect(served.address).unwrap();
        // What makes no sense is hung up on, at any point.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn status(served: &Site, path: &str) -> String {
        let answer = ask(served, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
        answer.split("\r\n").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn files_have_types_and_one_connection_gets_many() {
        let (folder, served) = site();
        let both = ask(
            &served,
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /a.js?v=1 HTTP/1.1\r\nHost: x\r\n\r\nHEAD /a.js HTTP/1.1\r\n\r\n",
        );
        assert!(both.contains("text/html") && both.contains("<p>hello"), "{both}");
        assert!(both.contains("text/javascript") && both.contains("let aHTTP/1.1 200"), "{both}");
        assert!(both.ends_with("\r\n\r\n"), "{both}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_are_known_by_their_page() {
        let (folder, served) = site();
        assert_eq!(status(&served, "/sub%20dir/"), "HTTP/1.1 200 OK");
        assert_eq!(status(&served, "/sub%20dir"), "HTTP/1.1 301 Moved Permanently");
        assert_eq!(status(&served, "/none/"), "HTTP/1.1 404 Not Found");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let (folder, served) = site();
        let outside = folder.with_extension("outside");
        std::fs::write(&outside, "secret").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
        let name = outside.file_name().unwrap().to_str().unwrap();
        for path in [format!("/../{name}"), format!("/%2e%2e/{name}"), "/link".to_owned()] {
            assert_eq!(status(&served, &path), "HTTP/1.1 404 Not Found", "{path}");
        }
        std::fs::remove_file(outside).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_request_is_no_panic() {
        let (folder, served) = site();
        for bad in
            ["", "\r\n\r\n", "GET\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n", "GET /%", "\u{0}\u{1}"]
        {
            ask(&served, bad);
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
        ask(&served, &long);
        assert!(ask(&served, "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").contains("405"));
        assert_eq!(status(&served, "/"), "HTTP/1.1 200 OK");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn it_ends_when_dropped() {
        let (folder, served) = site();
        let address = served.address;
        drop(served);
        assert!(TcpStream::connect(address).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn some_requests_are_answered_without_a_file() {
        let reported = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = Arc::clone(&reported);
        let served = Site::answering(move |request| match request.path() {
            "/report" => {
                kept.lock().unwrap().clone_from(&request.body);
                Answer::Nothing
            }
            "/page" => Answer::Page { kind: "text/html", bytes: request.query().into() },
            "/never" => Answer::Never,
            _ => Answer::NotFound,
        })
        .unwrap();
        let answer = ask(&served, "POST /report HTTP/1.1\r\nContent-Length: 2\r\n\r\nok");
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
        assert_eq!(*reported.lock().unwrap(), b"ok");
        let answer = ask(&served, "GET /page?a=1 HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with("\r\n\r\na=1"), "{answer}");
        assert_eq!(status(&served, "/other"), "HTTP/1.1 404 Not Found");
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(b"GET /never HTTP/1.1\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(stream.read(&mut [0]).is_err(), "nothing comes");
        drop(served);
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(!matches!(stream.read(&mut [0]), Ok(1..)), "it ends with the site");
    }
}
