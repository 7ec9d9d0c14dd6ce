//! JSON texts for the writers that stream.

/// A text in quotes, escaped.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
