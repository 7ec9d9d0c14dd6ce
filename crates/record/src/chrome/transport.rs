//! How messages of the DevTools protocol travel: through a pair of pipes to a browser that we started, through a
//! WebSocket to one that runs already.
//!
//! A browser that is driven through pipes ends by itself when we are gone, however we went, and no other program on the
//! machine can talk to it. Messages are JSON, one after the other with a zero byte between.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// The largest message we take: a screenshot or a script's result can be tens of megabytes.
const LARGEST_MESSAGE: usize = 256 << 20;

/// How long a browser may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends messages.
pub trait Outgoing: Send {
    /// Sends one message.
    fn send(&mut self, message: &str) -> io::Result<()>;
}

/// Receives messages.
pub trait Incoming: Send {
    /// The next message, put into `message`; false at the end.
    fn receive(&mut self, message: &mut Vec<u8>) -> io::Result<bool>;
}

impl Outgoing for ChildStdin {
    fn send(&mut self, message: &str) -> io::Result<()> {
        self.write_all(message.as_bytes())?;
        self.write_all(&[0])
    }
}

/// The pipe that a browser writes to.
pub struct Pipe(BufReader<ChildStdout>);

impl Pipe {
    /// Reads from a browser's pipe.
    pub fn new(pipe: ChildStdout) -> Self {
        Self(BufReader::with_capacity(1 << 16, pipe))
    }
}

impl Incoming for Pipe {
    fn receive(&mut self, message: &mut Vec<u8>) -> io::Result<bool> {
        receive_until_zero(&mut self.0, message)
    }
}

fn receive_until_zero(from: &mut impl BufRead, message: &mut Vec<u8>) -> io::Result<bool> {
    message.clear();
    let mut limited = from.take(LARGEST_MESSAGE as u64);
    limited.read_until(0, message)?;
    if message.pop() == Some(0) {
        return Ok(true);
    }
    if limited.limit() == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message has no end"));
    }
    Ok(false)
}

/// The two ends of a WebSocket. They are two objects over one socket, as one waits while the other one sends.
pub fn web_socket(url: &str) -> io::Result<(SocketOut, SocketIn)> {
    let rest = url
        .strip_prefix("ws://")
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "only ws:// is supported"))?;
    let host = rest.split('/').next().unwrap_or_default();
    let stream = connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let shared = Shared { read: stream.try_clone()?, write: Arc::new(Mutex::new(stream)) };
    let clone = Shared { read: shared.read.try_clone()?, write: Arc::clone(&shared.write) };
    let (incoming, _) = tungstenite::client::client_with_config(url, shared, Some(config))
        .map_err(|error| io::Error::new(io::ErrorKind::ConnectionRefused, error.to_string()))?;
    incoming.get_ref().read.set_read_timeout(None)?;
    let outgoing = WebSocket::from_raw_socket(clone, Role::Client, Some(config));
    Ok((SocketOut(outgoing), SocketIn(incoming)))
}

/// Connects to `host:port`, trying each address it stands for.
pub fn connect(host: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The end that sends.
pub struct SocketOut(WebSocket<Shared>);

impl Outgoing for SocketOut {
    fn send(&mut self, message: &str) -> io::Result<()> {
        self.0.send(Message::text(message)).map_err(to_io)
    }
}

impl Drop for SocketOut {
    fn drop(&mut self) {
        // The other end waits in its thread.
        let _ = self.0.get_ref().read.shutdown(std::net::Shutdown::Both);
    }
}

/// The end that receives.
pub struct SocketIn(WebSocket<Shared>);

impl Incoming for SocketIn {
    fn receive(&mut self, message: &mut Vec<u8>) -> io::Result<bool> {
        message.clear();
        loop {
            match self.0.read() {
                Ok(Message::Text(text)) => {
                    message.extend_from_slice(text.as_bytes());
                    return Ok(true);
                }
                Ok(Message::Close(_))
                | Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) => {
                    return Ok(false);
                }
                Ok(_) => {}
                Err(error) => return Err(to_io(error)),
            }
        }
    }
}

fn to_io(error: tungstenite::Error) -> io::Error {
    match error {
        tungstenite::Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// One socket for both ends. The receiving end answers pings, so each write takes the lock.
struct Shared {
    read: TcpStream,
    write: Arc<Mutex<TcpStream>>,
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.read(buffer)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_with_a_zero_byte() {
        let mut pipe: &[u8] = b"{\"id\":1}\0{}\0cut off";
        let mut message = Vec::new();
        assert!(receive_until_zero(&mut pipe, &mut message).unwrap());
        assert_eq!(message, b"{\"id\":1}");
        assert!(receive_until_zero(&mut pipe, &mut message).unwrap());
        assert_eq!(message, b"{}");
        assert!(!receive_until_zero(&mut pipe, &mut message).unwrap());
        assert!(!receive_until_zero(&mut pipe, &mut message).unwrap());
    }
}
