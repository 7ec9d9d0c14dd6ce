//! A picture of a page, for people who want to know why a step failed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::chrome::{Session, Until};

/// A page that hangs is not waited for longer.
const TIME: Duration = Duration::from_secs(5);

/// Takes one. Says why there is none.
pub(super) fn take(page: &Session<'_>, path: &Path) -> Result<(), String> {
    let until = Until::after(TIME, page.until().cancel);
    let answer = page.with(until).call("Page.captureScreenshot", json!({ "format": "png" }));
    let answer = answer.map_err(|error| error.to_string())?;
    let picture = answer["data"].as_str().and_then(decode);
    let picture = picture.ok_or("the browser sent none")?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    fs::write(path, picture).map_err(|error| {
        // Half a picture is of no use.
        let _ = fs::remove_file(path);
        format!("{}: {error}", path.display())
    })
}

/// Base 64, as the protocol writes bytes.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64() {
        let decoded = |text: &str| decode(text).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(decoded("").as_deref(), Some(""));
        assert_eq!(decoded("Zg==").as_deref(), Some("f"));
        assert_eq!(decoded("Zm8=").as_deref(), Some("fo"));
        assert_eq!(decoded("Zm9vYmFy").as_deref(), Some("foobar"));
        assert_eq!(decode("/+A="), Some(vec![0xff, 0xe0]));
        assert_eq!(decoded("Zm9v\n"), None);
    }
}
