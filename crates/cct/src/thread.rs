//! Threads, the groups they belong to and the roles they play.

use crate::StringId;

/// A thread of the profiled program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Thread {
    /// Name, empty when the file has none.
    pub name: StringId,
    /// Name of its process.
    pub process: Option<StringId>,
    /// Process id.
    pub pid: Option<u64>,
    /// Thread id.
    pub tid: Option<u64>,
    /// The group the program put it in (a Java thread group, a process of many).
    pub group: Option<StringId>,
}

impl Thread {
    /// A thread known by its name alone.
    pub fn named(name: StringId) -> Self {
        Self { name, process: None, pid: None, tid: None, group: None }
    }
}

/// The role a thread plays, from its name: runs of digits (and hexadecimal ids of eight digits or more) become `#`, so
/// `worker-1` and `worker-17` play one role, however many of them there are.
pub fn role(name: &str) -> String {
    let mut role = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let hex = rest.strip_prefix("0x").unwrap_or(rest);
        let hex_digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        let word_before = role.chars().next_back().is_some_and(char::is_alphanumeric);
        let long_hex = hex_digits >= 8
            && !word_before
            && hex.bytes().take(hex_digits).any(|b| b.is_ascii_digit());
        let taken = if long_hex || (hex.len() < rest.len() && hex_digits > 0) {
            rest.len() - hex.len() + hex_digits
        } else {
            rest.bytes().take_while(u8::is_ascii_digit).count()
        };
        if taken > 0 {
            role.push('#');
            rest = &rest[taken..];
        } else {
            role.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    role
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_match_by_role() {
        for (name, expected) in [
            ("worker-1", "worker-#"),
            ("worker-17", "worker-#"),
            ("main", "main"),
            ("pool-2-thread-31", "pool-#-thread-#"),
            ("Thread-0x7f3a10", "Thread-#"),
            ("conn deadbeef01", "conn #"),
            ("facade", "facade"),
            ("", ""),
            ("Arbeiter-ä9", "Arbeiter-ä#"),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
