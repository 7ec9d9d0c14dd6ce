//! What files are written in: JSON, XML, protobuf, text. None of these modules knows a format.

pub(crate) mod csv;
#[allow(dead_code, unused_imports, reason = "readers of JSON formats use one part or the other")]
pub(crate) mod json;
pub(crate) mod protobuf;
pub(crate) mod text;
pub(crate) mod xml;
