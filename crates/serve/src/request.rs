//! What a browser asks for.

use std::io::{self, BufRead, Read};

/// A request's first lines may take this much; browsers send a tenth of it.
const MOST_HEAD: u64 = 64 << 10;

/// What is sent along with a request is read up to this size.
const MOST_BODY: u64 = 16 << 20;

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// `GET`, `HEAD`, `POST` and so on.
    pub method: String,
    /// As sent: with its query, and with percent signs.
    pub target: String,
    /// What was sent along.
    pub body: Vec<u8>,
    pub(crate) closes: bool,
}

impl Request {
    /// What is asked for, without the query.
    pub fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or_default()
    }

    /// What stands behind the question mark.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
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
        let mut length = 0;
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
                length = value.parse().map_err(|_| invalid())?;
            }
            closes |= name.eq_ignore_ascii_case("transfer-encoding");
        }
        // Unread, it would stand before the next request.
        closes |= length > MOST_BODY;
        let mut body = Vec::new();
        reader.take(length.min(MOST_BODY)).read_to_end(&mut body)?;
        Ok(Some(Self { method, target, body, closes }))
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not a request")
}
