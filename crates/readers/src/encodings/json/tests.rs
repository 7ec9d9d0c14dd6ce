//! The three ways in give the same values, through any buffer, and survive anything.

use std::io::Read;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// Gives a few bytes at a time, so that every place is once at a buffer's end.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(into.len());
        into[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

const EXAMPLE: &str = r#"{"name": "a\"b\\\u00e4\ud83d\ude00\ud800", "empty": {}, "list": [1, -2.5, 1e3, [], [null], ],
    "deep": {"x": {"y": "}]"}}, "t": true, "f":false,"n":null, "big": 9223372036854775807, "über": "ü",}"#;

/// Walks one value with a stream and writes what it sees.
fn walk(source: impl Read) -> Result<String, JsonFault> {
    let mut stream = Stream::new(source);
    let mut out = String::new();
    let mut open = Vec::new();
    loop {
        let ended = match open.last() {
            Some(JsonKind::Object) => {
                let key = stream.next_key()?;
                out += &key.as_ref().map_or("} ".to_owned(), |key| key.to_string() + "=");
                key.is_none()
            }
            Some(_) => {
                let more = stream.next_element()?;
                out += if more { "" } else { "] " };
                !more
            }
            None => false,
        };
        if ended {
            open.pop();
        } else {
            let kind = stream.peek()?;
            let seen = match kind {
                JsonKind::Object => {
                    stream.begin_object()?;
                    open.push(kind);
                    "{ ".to_owned()
                }
                JsonKind::Array => {
                    stream.begin_array()?;
                    open.push(kind);
                    "[ ".to_owned()
                }
                JsonKind::String => format!("{:?} ", stream.string()?),
                JsonKind::Number => {
                    let number = stream.number()?;
                    let float = || format!("{} ", number.as_f64());
                    number.as_i64().map_or_else(float, |whole| format!("{whole} "))
                }
                JsonKind::Bool => format!("{} ", stream.boolean()?),
                JsonKind::Null => {
                    stream.skip_value()?;
                    "null ".to_owned()
                }
            };
            out += &seen;
        }
        if open.is_empty() {
            return Ok(out);
        }
    }
}

/// The same from a document.
fn flatten(value: JsonValue<'_>) -> String {
    match value.kind() {
        JsonKind::Object => {
            let entries = value
                .entries()
                .fold(String::new(), |out, (key, value)| out + key + "=" + &flatten(value));
            format!("{{ {entries}}} ")
        }
        JsonKind::Array => format!("[ {}] ", value.elements().map(flatten).collect::<String>()),
        JsonKind::String => format!("{:?} ", value.as_str().unwrap()),
        JsonKind::Number => match value.as_i64() {
            Some(whole) => format!("{whole} "),
            None => format!("{} ", value.as_f64().unwrap()),
        },
        JsonKind::Bool => format!("{} ", value.as_bool().unwrap()),
        JsonKind::Null => "null ".to_owned(),
    }
}

#[test]
fn streams_and_documents_see_the_same() {
    let seen = walk(EXAMPLE.as_bytes()).unwrap();
    expect![[r#"{ name="a\"b\\ä😀�" empty={ } list=[ 1 -2.5 1000 [ ] [ null ] ] deep={ x={ y="}]" } } t=true f=false n=null big=9223372036854775807 über="ü" } "#]].assert_eq(&seen);
    assert_eq!(flatten(parse(EXAMPLE.as_bytes()).unwrap().root()), seen);
    for step in 1..20 {
        assert_eq!(
            walk(Trickle(EXAMPLE.as_bytes(), step)).unwrap(),
            seen,
            "{step} bytes at a time"
        );
    }
}

#[test]
fn skipping_and_taking_whole_values_ends_where_walking_does() {
    for step in 1..20 {
        let mut stream = Stream::new(Trickle(EXAMPLE.as_bytes(), step));
        stream.begin_object().unwrap();
        let mut keys = Vec::new();
        let mut taken = 0;
        while let Some(key) = stream.next_key().unwrap() {
            keys.push(key.into_owned());
            if keys.len() % 2 == step % 2 {
                taken += stream.raw_value().unwrap().len();
            } else {
                stream.skip_value().unwrap();
            }
        }
        assert!(taken > 0);
        assert_eq!(keys, ["name", "empty", "list", "deep", "t", "f", "n", "big", "über"]);
    }
}

#[test]
fn a_cut_off_input_says_so_and_keeps_what_came_before() {
    for cut in 1..EXAMPLE.len() - 1 {
        let bytes = &EXAMPLE.as_bytes()[..cut];
        let fault = walk(bytes).unwrap_err();
        assert!(
            matches!(fault, JsonFault::Cut { offset } if offset == cut as u64),
            "{fault:?} at {cut}"
        );
        let (document, fault) = parse_prefix(bytes);
        assert!(fault.unwrap().is_end());
        let full = flatten(parse(EXAMPLE.as_bytes()).unwrap().root());
        let known: Vec<_> = document.root().entries().map(|(key, _)| key.to_owned()).collect();
        assert!(known.iter().all(|key| full.contains(key)), "{known:?}");
    }
    let (document, _) = parse_prefix(br#"{"samples": [1, 2, 3"#);
    assert_eq!(flatten(document.root()), "{ samples=[ 1 2 3 ] } ");
    let (document, _) = parse_prefix(br#"{"a": 1, "b":"#);
    assert_eq!(flatten(document.root()), "{ a=1 b=null } ");
}

#[test]
fn numbers_keep_their_digits() {
    for (text, scaled, whole) in [
        ("1234567890123456.789", Some(1_234_567_890_123_456_789), None),
        ("0.0005", Some(1), None),
        ("-1.5", Some(-1500), None),
        ("12", Some(12_000), Some(12)),
        ("5.0", Some(5000), Some(5)),
        ("1e3", Some(1_000_000), Some(1000)),
        ("1.23456e2", Some(123_456), None),
        ("9223372036854775807", None, Some(i64::MAX)),
        ("99999999999999999999", None, None),
        ("NaN", None, None),
        ("-", None, None),
        ("", None, None),
    ] {
        let number = Number(text.as_bytes());
        assert_eq!((number.scaled(3), number.as_i64()), (scaled, whole), "{text}");
    }
    assert_eq!(Number(b"18446744073709551615").as_u64(), Some(u64::MAX));
}

#[test]
fn depth_is_no_concern() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(parse(deep.as_bytes()).unwrap().root().elements().count(), 1);
    Stream::new(deep.as_bytes()).skip_value().unwrap();
    assert!(parse(&deep.as_bytes()[..1_000_000]).is_err());
}

#[test]
fn the_first_keys_tell_what_a_file_is() {
    assert_eq!(top_level_keys(br#"{"a":{"b":1},"c":[1],"d":"cut"#), ["a", "c", "d"]);
    assert_eq!(top_level_keys(b"\xef\xbb\xbf [ {\"ph\":\"X\"}, {\"no\":1}]"), ["ph"]);
    assert!(top_level_keys(b"main;a 3").is_empty());
}

#[test]
fn faults_say_where() {
    let error = ReadError::from(walk(&b"{\"a\" 1}"[..]).unwrap_err());
    expect!["at byte 1: expected a colon after a key"].assert_eq(&error.to_string());
    let error = parse(b"[1, 2").unwrap_err();
    expect!["at byte 5: the input ends inside a JSON value"].assert_eq(&error.to_string());
}

proptest! {
    #[test]
    fn any_bytes_end_somewhere(bytes in prop::collection::vec(prop::sample::select(
        b"{}[]\"\\,:0n-u \xc3\xa4".to_vec()), 0..60), step in 1usize..9)
    {
        let (_, fault) = parse_prefix(&bytes);
        let walked = walk(Trickle(&bytes, step));
        prop_assert_eq!(fault.is_some(), walked.is_err());
        let _ = top_level_keys(&bytes);
        let _ = Stream::new(Trickle(&bytes, step)).skip_value();
        let whole = Stream::new(Trickle(&bytes, step)).raw_value().map(<[u8]>::to_vec).ok();
        let at_once = Cursor::new(&bytes).raw_value().map(<[u8]>::to_vec).ok();
        prop_assert_eq!(whole, at_once);
    }

    #[test]
    fn what_serde_writes_we_read(text in ".{0,20}", number in any::<i64>(), fraction in -1e9f64..1e9) {
        let written = serde_json::json!({"text": text, "number": number, "fraction": fraction}).to_string();
        let document = parse(written.as_bytes()).unwrap();
        let root = document.root();
        prop_assert_eq!(root.get("text").unwrap().as_str(), Some(text.as_str()));
        prop_assert_eq!(root.get("number").unwrap().as_i64(), Some(number));
        prop_assert_eq!(root.get("fraction").unwrap().as_f64(), Some(fraction));
    }
}
