//! How the values of both sides are stored: as a list of two, *before* first.

use perfblame_cct::Sides;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<T: Serialize + Copy, S: Serializer>(
    sides: &Sides<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    <[T; 2]>::from(*sides).serialize(serializer)
}

pub fn deserialize<'a, T: Deserialize<'a>, D: Deserializer<'a>>(
    deserializer: D,
) -> Result<Sides<T>, D::Error> {
    <[T; 2]>::deserialize(deserializer).map(Sides::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_that_are_already_stored_can_be_read() {
        #[derive(Serialize, Deserialize)]
        struct Stored {
            #[serde(with = "super")]
            nodes: Sides<usize>,
        }
        let text = r#"{"nodes":[6,8]}"#;
        let stored: Stored = serde_json::from_str(text).unwrap();
        assert_eq!(stored.nodes, Sides { before: 6, after: 8 });
        assert_eq!(serde_json::to_string(&stored).unwrap(), text);
    }
}
