//! A web server that a command starts: waited for, and ended with everything it started.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::process::{end, shell};

/// How often a server that starts is looked after.
const TICK: Duration = Duration::from_millis(20);

/// Stands for a free port in a command and in an address.
const PORT: &str = "{port}";

/// A server that runs. It ends when dropped, with all its children.
#[derive(Debug)]
pub struct StartedServer {
    child: Child,
    /// Where it answers.
    pub url: String,
}

impl StartedServer {
    /// Starts a server and waits until it answers. `{port}` in the command and the address is a free port, which is in
    /// the variable `PORT` too; without an address it is that port's. What the server prints goes to `log`.
    pub fn start(
        command: &str,
        url: Option<&str>,
        log: &Path,
        patience: Duration,
        cancel: &AtomicBool,
    ) -> Result<Self, Failure> {
        if url.is_none() && !command.contains(PORT) && !command.contains("$PORT") {
            return Err(Failure::new(format!("cannot tell where `{command}` listens"), "")
                .help("give its address, or write `{port}` in the command"));
        }
        let port = free_port().map_err(|error| Failure::new("there is no free port", error))?;
        let port = port.to_string();
        let url = url.unwrap_or("http://127.0.0.1:{port}/").replace(PORT, &port);
        let address = host_and_port(&url)
            .ok_or_else(|| Failure::new(format!("`{url}` is not the address of a web page"), ""))?;
        if answers(&address) {
            return Err(Failure::new(
                format!("another server already responds at {url}"),
                format!("perfblame would record its pages instead of those of `{command}`"),
            )
            .help("stop it, or leave out the command"));
        }
        let line = command.replace(PORT, &port);
        let out = File::create(log).map_err(|error| Failure::io("write", log, &error))?;
        let errors = out.try_clone().map_err(|error| Failure::io("write", log, &error))?;
        let mut starting = shell(&line);
        starting.env("PORT", &port).stdin(Stdio::null()).stdout(out).stderr(errors);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut starting, 0);
        let child = starting
            .spawn()
            .map_err(|error| Failure::new(format!("cannot start `{line}`"), error))?;
        let mut server = Self { child, url };
        server.wait(&line, &address, log, patience, cancel)?;
        Ok(server)
    }

    fn wait(
        &mut self,
        line: &str,
        address: &str,
        log: &Path,
        patience: Duration,
        cancel: &AtomicBool,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        while !answers(address) {
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::cancelled());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                let what = format!("`{line}` ended before it responded at {}", self.url);
                return Err(Failure::new(what, status).with_log(log));
            }
            if started.elapsed() >= patience {
                let what = format!("`{line}` does not respond at {}", self.url);
                let why = format!("waited {} s", patience.as_secs());
                return Err(Failure::new(what, why).with_log(log));
            }
            std::thread::sleep(TICK);
        }
        Ok(())
    }

    /// Whether it still runs.
    pub fn check(&mut self, log: &Path) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(Some(status)) => {
                Err(Failure::new(format!("the server of {} has ended", self.url), status)
                    .with_log(log))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A port that nobody listened on a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// `host:port` of the address of a web page.
fn host_and_port(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    let host = host.rsplit('@').next()?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = match scheme {
        _ if has_port => return Some(host.to_owned()),
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(format!("{host}:{port}"))
}

fn answers(address: &str) -> bool {
    let Ok(mut addresses) = address.to_socket_addrs() else { return false };
    addresses.any(|one| TcpStream::connect_timeout(&one, Duration::from_millis(500)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_or_the_usual_one() {
        for (url, expected) in [
            ("http://localhost:3000/a?b", Some("localhost:3000")),
            ("http://localhost", Some("localhost:80")),
            ("https://me@example.org/x", Some("example.org:443")),
            ("http://[::1]:8080/", Some("[::1]:8080")),
            ("http://", None),
            ("file:///tmp/x", None),
            ("localhost:3000", None),
        ] {
            assert_eq!(host_and_port(url).as_deref(), expected, "{url}");
        }
    }

    fn log(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("perfblame-server-{name}-{}", std::process::id()))
    }

    fn start(command: &str, name: &str) -> Result<StartedServer, Failure> {
        let cancel = AtomicBool::new(false);
        StartedServer::start(command, None, &log(name), Duration::from_secs(20), &cancel)
    }

    #[test]
    fn a_server_is_waited_for_and_ended_with_its_children() {
        let command = "sleep 0.2; python3 -m http.server --bind 127.0.0.1 {port} & wait";
        let mut server = start(command, "waited").unwrap();
        let address = host_and_port(&server.url).unwrap();
        assert!(answers(&address));
        server.check(&log("waited")).unwrap();
        drop(server);
        assert!(!answers(&address));
        std::fs::remove_file(log("waited")).unwrap();
    }

    #[test]
    fn a_server_that_ends_says_its_last_words() {
        let failure = start("echo no such module: {port}; exit 3", "ends").unwrap_err();
        assert!(failure.what.contains("ended before it responded"), "{failure}");
        assert!(failure.why.contains("no such module"), "{}", failure.why);
        std::fs::remove_file(log("ends")).unwrap();
    }

    #[test]
    fn a_command_without_a_port_needs_an_address() {
        assert!(start("npm start", "none").unwrap_err().help.unwrap().contains("{port}"));
    }
}
