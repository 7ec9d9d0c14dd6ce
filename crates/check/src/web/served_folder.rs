//! A folder of files as a web site on the loopback address, for as long as somebody holds it.
//!
//! Just enough of HTTP for a browser that loads pages from a build's output: files with their types, `index.html` of
//! folders, connections that stay open. Nothing outside the folder is served, links that lead there included, and
//! nothing is cached, so that every run loads the same bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A request's first lines may take this much; browsers send a tenth of it.
const MOST_HEAD: u64 = 64 << 10;

/// What is sent along with a request is read past up to this size.
const MOST_BODY: u64 = 1 << 20;

/// Connections at the same time; a browser opens six to a site.
const MOST_CONNECTIONS: usize = 64;

/// How long a connection may say nothing before it is closed.
const SILENCE: Duration = Duration::from_secs(60);

/// A web site of the files in a folder. It ends when dropped.
#[derive(Debug)]
pub struct ServedFolder {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl ServedFolder {
    /// Serves a folder on a free port of the loopback address.
    pub fn start(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let listening = std::thread::spawn(move || listen(&listener, &root, &stopped));
        Ok(Self { address, stop, listening: Some(listening) })
    }

    /// The address of the folder itself.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for ServedFolder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever listens waits for a connection: this is one.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok();
        if let Some(listening) = self.listening.take().filter(|_| woken) {
            let _ = listening.join();
        }
    }
}

fn listen(listener: &TcpListener, root: &Path, stop: &AtomicBool) {
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
        let (root, open) = (root.to_owned(), Arc::clone(&open));
        std::thread::spawn(move || {
            // A browser that goes away in the middle is no matter of ours.
            let _ = converse(&stream, &root);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Answers requests until the other side has no more.
fn converse(stream: &TcpStream, root: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = Request::read(&mut reader)? {
        answer(&request, root, &mut &*stream)?;
        if request.closes {
            break;
        }
    }
    Ok(())
}

/// The first lines of a request.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    method: String,
    /// As sent: with its query, and with percent signs.
    target: String,
    closes: bool,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = reader.by_ref().take(MOST_HEAD);
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_ascii_whitespace();
        let (Some(method), Some(target), version) = (words.next(), words.next(), words.next())
        else {
            return Err(invalid());
        };
        let (method, target) = (method.to_owned(), target.to_owned());
        let mut closes = version != Some("HTTP/1.1");
        let mut body = 0;
        loop {
            let mut field = String::new();
            if head.read_line(&mut field)? == 0 {
                return Err(invalid());
            }
            if field.trim().is_empty() {
                break;
            }
            let Some((name, value)) = field.split_once(':') else { continue };
            let value = value.trim();
            closes |=
                name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close");
            if name.eq_ignore_ascii_case("content-length") {
                body = value.parse().map_err(|_| invalid())?;
            }
            closes |= name.eq_ignore_ascii_case("transfer-encoding");
        }
        // Nobody here wants what is sent along; unread, it would stand before the next request.
        closes |= body > MOST_BODY;
        io::copy(&mut reader.take(body.min(MOST_BODY)), &mut io::sink())?;
        Ok(Some(Self { method, target, closes }))
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not a request")
}

fn answer(request: &Request, root: &Path, out: &mut impl Write) -> io::Result<()> {
    let sends_body = match request.method.as_str() {
        "GET" => true,
        "HEAD" => false,
        _ => return refuse(out, "405 Method Not Allowed", true),
    };
    let path = request.target.split(['?', '#']).next().unwrap_or_default();
    match find(root, path) {
        Found::File(path) => {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            let kind = content_type(&path);
            write!(
                out,
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\r\n"
            )?;
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

fn content_type(path: &Path) -> &'static str {
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

    fn site() -> (PathBuf, ServedFolder) {
        let name =
            format!("perfblame-site-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join("sub dir")).unwrap();
        std::fs::write(folder.join("index.html"), "<p>hello").unwrap();
        std::fs::write(folder.join("a.js"), "let a").unwrap();
        std::fs::write(folder.join("sub dir/index.html"), "below").unwrap();
        let served = ServedFolder::start(&folder).unwrap();
        (folder, served)
    }

    /// Sends bytes and gives what comes back until the other side closes.
    fn ask(served: &ServedFolder, request: &str) -> String {
        let mut stream = TcpStream::connect(served.address).unwrap();
        // What makes no sense is hung up on, at any point.
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    fn status(served: &ServedFolder, path: &str) -> String {
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
}
