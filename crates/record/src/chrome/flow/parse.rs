//! From the JSON of a recording to a [`Flow`], or to what is wrong with it.
//!
//! Stricter than the panel, which takes a field of the wrong type for a missing one here and there: a step that
//! silently waits for nothing would make timelines that do not compare. Fields that we do not know are left alone, as
//! newer panels write more of them.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::selector::{Selector, SelectorKind, SelectorPart, aria};
use super::{
    Action, Button, Click, Custom, Device, Flow, Navigation, Operator, Step, Viewport,
    WaitForElement, keys,
};

/// What is wrong with a flow, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowError {
    /// The step, counted from 1, and how many there are; none for what is about the whole file.
    pub step: Option<(usize, usize)>,
    /// What the step wants to do, if that much is known.
    pub kind: Option<String>,
    /// The field, as a path within the step or the file; empty for the step or the file itself.
    pub field: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl std::error::Error for FlowError {}

impl fmt::Display for FlowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, of)) = self.step {
            write!(out, "step {number} of {of}")?;
            if let Some(kind) = &self.kind {
                write!(out, " ({kind})")?;
            }
            out.write_str(": ")?;
        }
        if !self.field.is_empty() {
            write!(out, "{}: ", self.field)?;
        }
        write!(out, "expected {}, found {}", self.expected, self.found)
    }
}

/// Longest time a step may take, as in the panel.
const MOST_MILLIS: f64 = 30_000.0;

/// Widest screen that the protocol allows.
const MOST_PIXELS: f64 = 10_000_000.0;

/// More than anybody records; keeps a wrong file from running for days.
const MOST_STEPS: usize = 100_000;

type Fields = Map<String, Value>;
type Parsed<T> = Result<T, Wrong>;

/// What is wrong within a step or the file; where that is, is known further out.
struct Wrong {
    field: String,
    expected: String,
    found: String,
}

impl Flow {
    /// Reads what the Recorder panel exports as JSON.
    pub fn parse(text: &[u8]) -> Result<Self, FlowError> {
        let of_file = |wrong: Wrong| FlowError {
            step: None,
            kind: None,
            field: wrong.field,
            expected: wrong.expected,
            found: wrong.found,
        };
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let value = serde_json::from_slice(without_map(text)).map_err(|error| {
            let expected = "a recording, exported by DevTools as JSON";
            of_file(Wrong::new("", expected, format!("text that is not JSON ({error})")))
        })?;
        let Value::Object(fields) = value else {
            return Err(of_file(Wrong::value("", "a recording, which is an object", &value)));
        };
        let title = text_of(&fields, "title").map_err(of_file)?;
        let timeout = timeout_of(&fields).map_err(of_file)?;
        let selector_attribute =
            fields.get("selectorAttribute").and_then(Value::as_str).map(str::to_owned);
        let steps = match fields.get("steps") {
            Some(Value::Array(steps)) if steps.len() <= MOST_STEPS => steps,
            Some(Value::Array(steps)) => {
                let expected = format!("no more than {MOST_STEPS} steps");
                return Err(of_file(Wrong::new("steps", &expected, steps.len().to_string())));
            }
            other => return Err(of_file(Wrong::maybe("steps", "a list of steps", other))),
        };
        let of = steps.len();
        let steps = steps.iter().enumerate().map(|(index, step)| {
            parse_step(step).map_err(|wrong| FlowError {
                step: Some((index + 1, of)),
                kind: step.get("type").and_then(Value::as_str).map(shown),
                ..of_file(wrong)
            })
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(Self { title, timeout, selector_attribute, steps })
    }
}

/// Without the comment that tools append to say which line of a script is which step.
fn without_map(text: &[u8]) -> &[u8] {
    let end = text.trim_ascii_end();
    let start = memchr::memrchr(b'\n', end).map_or(0, |at| at + 1);
    match end.get(start..) {
        Some(line) if line.trim_ascii_start().starts_with(b"//# recorderSourceMap=") => {
            end.get(..start).unwrap_or_default()
        }
        _ => text,
    }
}

impl Wrong {
    fn new(field: &str, expected: &str, found: String) -> Self {
        Self { field: field.to_owned(), expected: expected.to_owned(), found }
    }

    fn value(field: &str, expected: &str, found: &Value) -> Self {
        Self::new(field, expected, describe(found))
    }

    fn maybe(field: &str, expected: &str, found: Option<&Value>) -> Self {
        Self::new(field, expected, found.map_or_else(|| "nothing".to_owned(), describe))
    }
}

/// A value in few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("\"{}\"", shown(text)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) => format!("an object with {} fields", fields.len()),
    }
}

/// A text that fits in a line.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    let cut = text.chars().nth(60).is_some();
    if cut { format!("{short}…") } else { short }
}

fn text_of(fields: &Fields, name: &str) -> Parsed<String> {
    match fields.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        other => Err(Wrong::maybe(name, "a text", other)),
    }
}

fn number_of(fields: &Fields, name: &str) -> Parsed<f64> {
    match fields.get(name) {
        Some(Value::Number(number)) => Ok(number.as_f64().unwrap_or_default()),
        other => Err(Wrong::maybe(name, "a number", other)),
    }
}

fn number_or(fields: &Fields, name: &str, default: f64) -> Parsed<f64> {
    if fields.contains_key(name) { number_of(fields, name) } else { Ok(default) }
}

fn not_negative(fields: &Fields, name: &str) -> Parsed<f64> {
    let number = number_of(fields, name)?;
    if number < 0.0 {
        return Err(Wrong::maybe(name, "a number that is not negative", fields.get(name)));
    }
    Ok(number)
}

fn truth_of(fields: &Fields, name: &str) -> Parsed<bool> {
    match fields.get(name) {
        Some(Value::Bool(truth)) => Ok(*truth),
        other => Err(Wrong::maybe(name, "true or false", other)),
    }
}

fn object_of(fields: &Fields, name: &str) -> Parsed<Option<Fields>> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object.clone())),
        Some(other) => Err(Wrong::value(name, "an object", other)),
    }
}

/// One of some words; none where the field is missing or empty.
fn word_of<T: Copy>(fields: &Fields, name: &str, words: &[(&str, T)]) -> Parsed<Option<T>> {
    let found = match fields.get(name) {
        None => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(found) => found,
    };
    let word = words.iter().find(|(word, _)| found.as_str() == Some(word));
    if let Some((_, meaning)) = word {
        return Ok(Some(*meaning));
    }
    let words: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    Err(Wrong::value(name, &format!("one of {}", words.join(", ")), found))
}

fn timeout_of(fields: &Fields) -> Parsed<Option<Duration>> {
    match fields.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(millis) if (1.0..=MOST_MILLIS).contains(&millis) => Ok(Some(from_millis(millis))),
            _ => Err(Wrong::value("timeout", "milliseconds from 1 to 30000", value)),
        },
    }
}

/// Of milliseconds that are neither negative nor beyond a day.
fn from_millis(millis: f64) -> Duration {
    Duration::from_secs_f64(millis.clamp(0.0, 86_400_000.0) / 1e3)
}

fn parse_step(step: &Value) -> Parsed<Step> {
    let Value::Object(fields) = step else {
        return Err(Wrong::value("", "a step, which is an object", step));
    };
    let kind = text_of(fields, "type")?;
    let action = parse_action(&kind, fields)?;
    let target = match fields.get("target") {
        None | Some(Value::Null) => None,
        Some(Value::String(target)) => {
            Some(target.clone()).filter(|target| !target.is_empty() && target != "main")
        }
        Some(other) => return Err(Wrong::value("target", "\"main\" or an address", other)),
    };
    Ok(Step {
        action,
        target,
        frame: parse_frame(fields)?,
        timeout: timeout_of(fields)?,
        asserted: parse_asserted(fields)?,
    })
}

fn parse_action(kind: &str, fields: &Fields) -> Parsed<Action> {
    Ok(match kind {
        "navigate" => Action::Navigate { url: text_of(fields, "url")? },
        "setViewport" => Action::SetViewport(parse_viewport(fields)?),
        "emulateNetworkConditions" => Action::EmulateNetworkConditions {
            download: number_of(fields, "download")?,
            upload: number_of(fields, "upload")?,
            latency: not_negative(fields, "latency")?,
        },
        "click" => Action::Click(parse_click(fields)?),
        "doubleClick" => Action::DoubleClick(parse_click(fields)?),
        "hover" => Action::Hover { selectors: parse_selectors(fields)? },
        "change" => {
            Action::Change { selectors: parse_selectors(fields)?, value: text_of(fields, "value")? }
        }
        "keyDown" => Action::KeyDown { key: parse_key(fields)? },
        "keyUp" => Action::KeyUp { key: parse_key(fields)? },
        "scroll" => Action::Scroll {
            selectors: match fields.get("selectors") {
                None => Vec::new(),
                Some(_) => parse_selectors(fields)?,
            },
            x: number_or(fields, "x", 0.0)?,
            y: number_or(fields, "y", 0.0)?,
        },
        "waitForElement" => Action::WaitForElement(parse_wait(fields)?),
        "waitForExpression" => {
            Action::WaitForExpression { expression: text_of(fields, "expression")? }
        }
        "close" => Action::Close,
        "customStep" => Action::Custom(parse_custom(fields)?),
        other => {
            let known = "a type of step that the Recorder has, such as \"click\"";
            return Err(Wrong::new("type", known, format!("\"{}\"", shown(other))));
        }
    })
}

fn parse_frame(fields: &Fields) -> Parsed<Vec<usize>> {
    let expected = "a list of whole numbers, each the index of a frame among its siblings";
    match fields.get("frame") {
        None => Ok(Vec::new()),
        Some(Value::Array(path)) => {
            let place = |(index, value): (usize, &Value)| {
                let place = value.as_u64().and_then(|place| usize::try_from(place).ok());
                place.ok_or_else(|| Wrong::value(&format!("frame[{index}]"), expected, value))
            };
            path.iter().enumerate().map(place).collect()
        }
        Some(other) => Err(Wrong::value("frame", expected, other)),
    }
}

fn parse_asserted(fields: &Fields) -> Parsed<Vec<Navigation>> {
    let events = match fields.get("assertedEvents") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(events)) => events,
        Some(other) => return Err(Wrong::value("assertedEvents", "a list of events", other)),
    };
    let parse = |(index, event): (usize, &Value)| {
        let within = |name: &str| {
            let dot = if name.is_empty() { "" } else { "." };
            format!("assertedEvents[{index}]{dot}{name}")
        };
        let Value::Object(event) = event else {
            return Err(Wrong::value(&within(""), "an event, which is an object", event));
        };
        if event.get("type").and_then(Value::as_str) != Some("navigation") {
            return Err(Wrong::maybe(&within("type"), "\"navigation\"", event.get("type")));
        }
        let text = |name: &str| match event.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Wrong::value(&within(name), "a text", other)),
        };
        Ok(Navigation { url: text("url")?, title: text("title")? })
    };
    events.iter().enumerate().map(parse).collect()
}

fn parse_selectors(fields: &Fields) -> Parsed<Vec<Selector>> {
    let expected = "a list of selectors";
    let alternatives = match fields.get("selectors") {
        Some(Value::Array(alternatives)) if !alternatives.is_empty() => alternatives,
        Some(Value::Array(_)) => {
            return Err(Wrong::new("selectors", "at least one selector", "none".to_owned()));
        }
        other => return Err(Wrong::maybe("selectors", expected, other)),
    };
    let parse = |(index, alternative): (usize, &Value)| {
        let field = format!("selectors[{index}]");
        let chain = match alternative {
            Value::String(text) => vec![parse_part(&field, text)?],
            Value::Array(chain) if !chain.is_empty() => {
                let part = |(place, part): (usize, &Value)| {
                    let field = format!("{field}[{place}]");
                    match part {
                        Value::String(text) => parse_part(&field, text),
                        other => Err(Wrong::value(&field, "a selector, which is a string", other)),
                    }
                };
                chain.iter().enumerate().map(part).collect::<Parsed<_>>()?
            }
            other => {
                return Err(Wrong::value(
                    &field,
                    "a selector: a string, or a list of strings",
                    other,
                ));
            }
        };
        Ok(Selector(chain))
    };
    alternatives.iter().enumerate().map(parse).collect()
}

fn parse_part(field: &str, text: &str) -> Parsed<SelectorPart> {
    let found = || format!("\"{}\"", shown(text));
    let part = SelectorPart::new(text);
    if part.text.trim().is_empty() {
        return Err(Wrong::new(field, "a selector that is not empty", found()));
    }
    if part.kind == SelectorKind::Aria {
        aria(&part.text).map_err(|expected| Wrong::new(field, &expected, found()))?;
    }
    Ok(part)
}

fn parse_click(fields: &Fields) -> Parsed<Click> {
    let buttons = [
        ("primary", Button::Primary),
        ("auxiliary", Button::Auxiliary),
        ("secondary", Button::Secondary),
        ("back", Button::Back),
        ("forward", Button::Forward),
    ];
    let devices = [("mouse", Device::Mouse), ("pen", Device::Pen), ("touch", Device::Touch)];
    let duration = match fields.get("duration") {
        None => None,
        Some(_) => Some(from_millis(not_negative(fields, "duration")?)),
    };
    Ok(Click {
        selectors: parse_selectors(fields)?,
        offset_x: number_of(fields, "offsetX")?,
        offset_y: number_of(fields, "offsetY")?,
        button: word_of(fields, "button", &buttons)?.unwrap_or_default(),
        device: word_of(fields, "deviceType", &devices)?.unwrap_or_default(),
        duration,
    })
}

fn parse_viewport(fields: &Fields) -> Parsed<Viewport> {
    let pixels = |name: &str| {
        let number = number_of(fields, name)?;
        if number.fract() == 0.0 && (0.0..=MOST_PIXELS).contains(&number) {
            return Ok(number as u32);
        }
        Err(Wrong::maybe(name, "a whole number of pixels", fields.get(name)))
    };
    Ok(Viewport {
        width: pixels("width")?,
        height: pixels("height")?,
        device_scale_factor: not_negative(fields, "deviceScaleFactor")?,
        is_mobile: truth_of(fields, "isMobile")?,
        has_touch: truth_of(fields, "hasTouch")?,
        is_landscape: truth_of(fields, "isLandscape")?,
    })
}

fn parse_key(fields: &Fields) -> Parsed<String> {
    let key = text_of(fields, "key")?;
    if keys::find(&key).is_none() {
        let expected = "the name of a key, such as \"Enter\", \"a\" or \"KeyA\"";
        return Err(Wrong::maybe("key", expected, fields.get("key")));
    }
    Ok(key)
}

fn parse_wait(fields: &Fields) -> Parsed<WaitForElement> {
    let operators =
        [(">=", Operator::AtLeast), ("==", Operator::Exactly), ("<=", Operator::AtMost)];
    let attributes = object_of(fields, "attributes")?;
    for (name, value) in attributes.iter().flatten() {
        if !value.is_string() {
            let field = format!("attributes.{}", shown(name));
            return Err(Wrong::value(&field, "a text", value));
        }
    }
    Ok(WaitForElement {
        selectors: parse_selectors(fields)?,
        operator: word_of(fields, "operator", &operators)?.unwrap_or_default(),
        count: number_or(fields, "count", 1.0)?,
        visible: if fields.contains_key("visible") { truth_of(fields, "visible")? } else { true },
        attributes,
        properties: object_of(fields, "properties")?,
    })
}

fn parse_custom(fields: &Fields) -> Parsed<Custom> {
    let name = text_of(fields, "name")?;
    let none = Map::new();
    let parameters = match fields.get("parameters") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(parameters)) => parameters,
        // Steps of others have parameters of any shape; their name is what is wrong.
        Some(_) if !name.starts_with("perfblame:") => &none,
        Some(other) => return Err(Wrong::value("parameters", "an object", other)),
    };
    let within = |wrong: Wrong| Wrong { field: format!("parameters.{}", wrong.field), ..wrong };
    match name.as_str() {
        "perfblame:sleep" => {
            let millis = not_negative(parameters, "ms").map_err(within)?;
            Ok(Custom::Sleep(from_millis(millis)))
        }
        "perfblame:mark" => Ok(Custom::Mark(text_of(parameters, "name").map_err(within)?)),
        other => {
            let known =
                "a custom step that perfblame supports (\"perfblame:sleep\", \"perfblame:mark\")";
            Err(Wrong::new("name", known, format!("\"{}\"", shown(other))))
        }
    }
}

#[cfg(test)]
mod tests;
