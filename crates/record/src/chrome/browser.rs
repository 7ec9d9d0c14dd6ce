//! A browser from start to end.
//!
//! It is started with the two pipes of `--remote-debugging-pipe` (descriptors 3 and 4, which a shell puts in place, as
//! safe code cannot) and a profile folder of its own, and ended through the protocol, then by signals to all its
//! processes. When perfblame itself is killed, the pipes close and the browser ends by itself.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::connection::{Connection, Until};
use super::page::{Page, PageSettings};
use super::transport::{Pipe, connect, web_socket};
use super::{ChromeError, find_browser};
use crate::child;

/// How long a browser may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// How long it may take to end when asked.
const END: Duration = Duration::from_secs(5);

/// Where a browser listens unless told otherwise.
const USUAL_ADDRESS: &str = "127.0.0.1:9222";

/// What makes runs alike: nothing is fetched, asked or shown that is not the page's.
const OPTIONS: &[&str] = &[
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-quic",
    "--disable-hang-monitor",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-search-engine-choice-screen",
    // The last two start processes in the background that may be wanted later.
    "--disable-features=Translate,OptimizationHints,MediaRouter,InterestFeedContentSuggestions,\
     PreloadTopChromeWebUI,SpareRendererForSitePerProcess",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
];

/// Where drivers (Mesa, its older releases, NVIDIA's) keep shaders that they compiled. A browser that found those of the
/// run before would not be fresh.
const SHADER_CACHES: [&str; 3] =
    ["MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH"];

/// Smaller than this, the memory file system of a container crashes pages.
const ENOUGH_SHARED_MEMORY: u64 = 512 << 20;

/// How to start a browser.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Which one; found on the machine unless given.
    pub browser: Option<PathBuf>,
    /// With windows on the screen.
    pub headed: bool,
    /// With the graphics card. Without a window, pages are drawn by the processor otherwise, which is alike everywhere.
    pub gpu: bool,
    /// Further arguments.
    pub arguments: Vec<OsString>,
}

/// A browser that is driven.
pub struct Browser {
    /// None once it is closed.
    connection: Option<Connection>,
    process: Option<Process>,
    /// What a browser that is not ours keeps our tabs apart with.
    context: Option<String>,
}

struct Process {
    child: Child,
    profile: Profile,
    browser: PathBuf,
}

impl Browser {
    /// Starts one.
    pub fn start(launch: &Launch, until: Until<'_>) -> Result<Self, ChromeError> {
        let browser = find_browser(launch.browser.as_deref())?;
        let profile = Profile::create()?;
        let failed = |why: String| ChromeError::Start { browser: browser.clone(), why };
        let complaints = fs::File::create(profile.complaints())
            .map_err(ChromeError::file("create", &profile.complaints()))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#]).arg(&browser);
        command.args(OPTIONS).arg(profile.option());
        if !launch.headed {
            command.args(["--headless", "--hide-scrollbars"]);
            if !launch.gpu {
                command.arg("--disable-gpu");
            }
        }
        // The sandbox refuses to be root's.
        if nix::unistd::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        if shared_memory().is_some_and(|bytes| bytes < ENOUGH_SHARED_MEMORY) {
            command.arg("--disable-dev-shm-usage");
        }
        command.args(&launch.arguments);
        // What a killed browser leaves goes with the profile. Names of sockets have to be short.
        if profile.0.as_os_str().len() < 64 {
            command.env("TMPDIR", &profile.0);
        }
        command.envs(SHADER_CACHES.map(|variable| (variable, &profile.0)));
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints);
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            child::end_family(&mut child, Duration::ZERO);
            return Err(failed("it has no pipes".to_owned()));
        };
        let connection = Connection::new(Box::new(stdin), Box::new(Pipe::new(stdout)));
        let process = Process { child, profile, browser: browser.clone() };
        let started =
            Self { connection: Some(connection.clone()), process: Some(process), context: None };
        let answer = connection.browser(until.at_most(START)).call("Browser.getVersion", json!({}));
        match answer {
            Ok(_) => {}
            Err(ChromeError::Cancelled) => return Err(ChromeError::Cancelled),
            Err(ChromeError::Ended { .. }) => {
                return Err(failed(started.last_words()));
            }
            Err(ChromeError::TimedOut { .. }) => {
                let words = started.last_words();
                return Err(failed(format!("it does not respond\n{words}").trim_end().to_owned()));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
        let deny = json!({ "behavior": "deny", "eventsEnabled": true });
        connection.browser(until).call("Browser.setDownloadBehavior", deny)?;
        Ok(started)
    }

    /// Attaches to one that runs: at `HOST:PORT`, at a WebSocket's address, or where browsers listen usually.
    pub fn attach(address: Option<&str>, until: Until<'_>) -> Result<Self, ChromeError> {
        let address = address.filter(|text| !text.is_empty()).unwrap_or(USUAL_ADDRESS);
        let failed = |why: String| ChromeError::Attach { address: address.to_owned(), why };
        let url = if address.starts_with("ws://") {
            address.to_owned()
        } else {
            let host = address.trim_start_matches("http://").trim_end_matches('/');
            let host = if host.contains(':') { host.to_owned() } else { format!("{host}:9222") };
            socket_address(&host).map_err(|error| failed(error.to_string()))?
        };
        let (outgoing, incoming) = web_socket(&url).map_err(|error| failed(error.to_string()))?;
        let connection = Connection::new(Box::new(outgoing), Box::new(incoming));
        let browser = connection.browser(until);
        let made =
            browser.call("Target.createBrowserContext", json!({ "disposeOnDetach": true }))?;
        let context = made["browserContextId"].as_str().map(str::to_owned);
        let deny =
            json!({ "behavior": "deny", "eventsEnabled": true, "browserContextId": context });
        browser.call("Browser.setDownloadBehavior", deny)?;
        Ok(Self { connection: Some(connection), process: None, context })
    }

    /// Its name and version, such as `Chrome/156.0.1`.
    pub fn version(&self, until: Until<'_>) -> Result<String, ChromeError> {
        let version = self.connection()?.browser(until).call("Browser.getVersion", json!({}))?;
        Ok(version["product"].as_str().unwrap_or_default().to_owned())
    }

    /// Opens a tab with nothing in it.
    pub fn open<'a>(
        &self,
        settings: &PageSettings,
        until: Until<'a>,
    ) -> Result<Page<'a>, ChromeError> {
        Page::open(self.connection()?, self.context.as_deref(), settings, until)
    }

    /// The number of the process that we started.
    pub fn process(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    fn connection(&self) -> Result<&Connection, ChromeError> {
        self.connection.as_ref().ok_or_else(|| ChromeError::Ended { why: String::new() })
    }

    /// What it complained about last.
    pub fn last_words(&self) -> String {
        let Some(process) = &self.process else { return String::new() };
        let mut text = Vec::new();
        if let Ok(file) = fs::File::open(process.profile.complaints()) {
            let _ = file.take(1 << 20).read_to_end(&mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(6)..];
        if last.is_empty() {
            return format!("{} printed nothing", process.browser.display());
        }
        last.join("\n")
    }

    /// Asks it to end and sees to it that it does. The same as dropping it.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let never = AtomicBool::new(false);
        let until = Until::after(END, &never);
        if let Some(connection) = self.connection.take() {
            let browser = connection.browser(until);
            if self.process.is_some() {
                browser.send("Browser.close", &json!({}));
            } else if let Some(context) = self.context.take() {
                // The tabs go with it; the browser and its other tabs stay.
                let _ = browser
                    .call("Target.disposeBrowserContext", json!({ "browserContextId": context }));
            }
        }
        if let Some(mut process) = self.process.take() {
            child::end_family(&mut process.child, END);
        }
    }
}

/// Asks a browser where its WebSocket is.
fn socket_address(host: &str) -> std::io::Result<String> {
    let mut stream = connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // Browsers answer when they are called by a number or as localhost only.
    write!(stream, "GET /json/version HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut limited = stream.take(1 << 20);
    loop {
        let mut piece = [0; 4096];
        match limited.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
        }
        if let Some(url) = socket_address_in(&answer) {
            return Ok(url);
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the server there is not a browser"))
}

/// Connections are kept open, so the answer is complete when it makes sense.
fn socket_address_in(answer: &[u8]) -> Option<String> {
    let body = memchr::memmem::find(answer, b"\r\n\r\n")? + 4;
    let value: Value = serde_json::from_slice(answer.get(body..)?).ok()?;
    value["webSocketDebuggerUrl"].as_str().map(str::to_owned)
}

fn shared_memory() -> Option<u64> {
    let data = nix::sys::statvfs::statvfs("/dev/shm").ok()?;
    Some((data.blocks_available() as u64).saturating_mul(data.fragment_size() as u64))
}

/// A profile folder that goes when dropped. Its name has our process in it: what a killed process left is removed by
/// the next one.
struct Profile(PathBuf);

const PROFILE: &str = "perfblame-chrome-";

impl Profile {
    fn create() -> Result<Self, ChromeError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::temp_dir();
        remove_abandoned(&folder);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{PROFILE}{}-{number}", std::process::id()));
        // Nobody else may put something there first.
        std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700)
            .create(&path)
            .map_err(ChromeError::file("create", &path))?;
        Ok(Self(path))
    }

    fn option(&self) -> OsString {
        let mut option = OsString::from("--user-data-dir=");
        option.push(&self.0);
        option
    }

    fn complaints(&self) -> PathBuf {
        self.0.join("complaints.txt")
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A process that is just going may still write into it.
        for _ in 0..50 {
            match fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}

fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| {
            let (process, _) = name.strip_prefix(PROFILE)?.split_once('-')?;
            process.parse::<i32>().ok()
        });
        if process.is_some_and(child::is_gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_in_the_answer_once_that_is_complete() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"webSocketDebuggerUrl\": \"ws://x/y\"}";
        assert_eq!(socket_address_in(answer).as_deref(), Some("ws://x/y"));
        assert_eq!(socket_address_in(&answer[..answer.len() - 1]), None);
        assert_eq!(socket_address_in(b"HTTP/1.1 200 OK\r\n\r\n[]"), None);
    }

    #[test]
    fn profiles_of_processes_that_are_gone_are_removed() {
        let folder =
            std::env::temp_dir().join(format!("perfblame-abandoned-{}", std::process::id()));
        let ours = folder.join(format!("{PROFILE}{}-0", std::process::id()));
        let gone = folder.join(format!("{PROFILE}{}-0", i32::MAX));
        let other = folder.join("something-else");
        for path in [&ours, &gone, &other] {
            fs::create_dir_all(path).unwrap();
        }
        remove_abandoned(&folder);
        assert!(ours.exists() && other.exists() && !gone.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_card_is_left_alone_unless_wanted_and_no_shader_outlives_a_run() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = std::env::temp_dir().join(format!("perfblame-cards-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let browser = folder.join("browser");
        let listens = "#!/bin/sh\n(echo \"$@\"; echo \"$MESA_SHADER_CACHE_DIR\") > \"$0.told\"\n";
        fs::write(&browser, listens).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
        let never = AtomicBool::new(false);
        for gpu in [false, true] {
            let launch = Launch { browser: Some(browser.clone()), gpu, ..Launch::default() };
            let until = Until::after(Duration::from_secs(60), &never);
            let started = Browser::start(&launch, until);
            assert!(matches!(started.err(), Some(ChromeError::Start { .. })));
            let told = fs::read_to_string(folder.join("browser.told")).unwrap();
            let (arguments, cache) = told.split_once('\n').unwrap();
            assert!(arguments.contains("--headless"), "{arguments}");
            assert_eq!(arguments.contains("--disable-gpu"), !gpu, "{arguments}");
            let profile = format!("--user-data-dir={}", cache.trim_end());
            assert!(arguments.contains(&profile), "{cache} is not in {arguments}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
