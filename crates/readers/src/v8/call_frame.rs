//! A JavaScript function as V8 names it, and whose code it is.

use std::borrow::Cow;

use perfblame_cct::{Frame, FrameId, Function, Layer, ProfileBuilder, position};

/// Everything that our recorder runs in a page to replay a flow: no function of the page, and never blamed.
pub const FLOW: &str = "(perfblame flow)";

/// What the recorder calls its script.
const FLOW_SCRIPT: &str = "perfblame-flow.js";

/// What V8 says about a frame.
#[derive(Clone, Default, Debug)]
pub struct CallFrame<'a> {
    /// Empty for an anonymous function.
    pub name: Cow<'a, str>,
    /// Empty for natives and pseudo-frames.
    pub url: Cow<'a, str>,
    /// Start line, counted from 0.
    pub line: Option<u64>,
    /// Start column, counted from 0.
    pub column: Option<u64>,
    /// V8's number of the script; 0 for none.
    pub script: i64,
}

impl CallFrame<'_> {
    /// Finds or adds its frame.
    pub fn intern(&self, builder: &mut ProfileBuilder) -> FrameId {
        if self.url == FLOW_SCRIPT {
            return builder.named_frame(FLOW, Layer::Runtime);
        }
        let name = builder.string(&self.name);
        let mut function = Function::named(name).in_layer(self.layer());
        if !self.url.is_empty() {
            function.component = Some(builder.string(&self.url));
        }
        // V8 counts from 0, and -1 says unknown.
        function.line = self.line.and_then(|line| position(line.saturating_add(1)));
        function.column = self.column.and_then(|column| position(column.saturating_add(1)));
        let function = builder.function(function);
        builder.frame(Frame::of(function))
    }

    fn layer(&self) -> Layer {
        match &*self.name {
            "(idle)" => Layer::Idle,
            "(garbage collector)" => Layer::GarbageCollection,
            "(program)" | "(root)" => Layer::Runtime,
            _ => layer_of_url(&self.url, self.line.is_some()),
        }
    }
}

/// Whose code a script is. Code that was made with `eval` has no address but a line; natives have neither.
pub fn layer_of_url(url: &str, has_line: bool) -> Layer {
    const RUNTIME: [&str; 8] = [
        "node:",
        "internal/",
        "extensions::",
        "chrome:",
        "devtools:",
        "chrome-error:",
        "native ",
        "v8/",
    ];
    if url.is_empty() {
        return if has_line { Layer::Application } else { Layer::Runtime };
    }
    if RUNTIME.iter().any(|prefix| url.starts_with(prefix)) {
        return Layer::Runtime;
    }
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if scheme.ends_with("-extension") {
        return Layer::Plugin;
    }
    // Node before version 12 names its own scripts without a folder: `module.js`, `bootstrap_node.js`.
    if scheme.is_empty() && !url.contains(['/', '\\']) {
        return Layer::Runtime;
    }
    if url.contains("/node_modules/") { Layer::Library } else { Layer::Application }
}

/// Splits `name(url:line:column)` as Hermes writes it and `name (file:line)` as VizTracer does.
pub fn split_location(text: &str) -> Option<(&str, &str, Option<u64>, Option<u64>)> {
    let inner = text.strip_suffix(')')?;
    let open = inner.find('(')?;
    let (name, place) = (inner[..open].trim_end(), &inner[open + 1..]);
    let (rest, last) = place.rsplit_once(':')?;
    let last: u64 = last.parse().ok()?;
    if let Some((file, line)) = rest.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Some((name, file, Some(line), Some(last)));
    }
    (!rest.is_empty()).then_some((name, rest, Some(last), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_code_a_script_is() {
        for (url, has_line, layer) in [
            ("", false, Layer::Runtime),
            ("", true, Layer::Application),
            ("https://example.org/app.js", true, Layer::Application),
            ("file:///home/me/app/node_modules/x/index.js", true, Layer::Library),
            ("chrome-extension://abc/content.js", true, Layer::Plugin),
            ("extensions::SafeBuiltins", true, Layer::Runtime),
            ("node:internal/timers", true, Layer::Runtime),
            ("internal/timers.js", true, Layer::Runtime),
            ("bootstrap_node.js", true, Layer::Runtime),
            ("/home/me/app.js", true, Layer::Application),
        ] {
            assert_eq!(layer_of_url(url, has_line), layer, "{url}");
        }
    }

    #[test]
    fn locations_in_names() {
        assert_eq!(split_location("f (/a/b.py:12)"), Some(("f", "/a/b.py", Some(12), None)));
        let hermes = split_location("g(http://localhost:8081/i.bundle?x=1:17:3)");
        let expected = ("g", "http://localhost:8081/i.bundle?x=1", Some(17), Some(3));
        assert_eq!(hermes, Some(expected));
        assert_eq!(split_location("operator()"), None);
        assert_eq!(split_location("f(a: int)"), None);
        assert_eq!(split_location("plain"), None);
    }
}
