//! Files that are known and not read: what they are, and the command that makes something readable of them.

use crate::error::ReadError;

/// The error for a file that starts like this, if it is known.
pub(crate) fn explained(head: &[u8]) -> Option<ReadError> {
    // The first bytes of trace-cmd's binary file, of every version.
    if head.starts_with(b"\x17\x08\x44tracing") {
        let error = ReadError::unsupported(
            "perfblame does not read trace-cmd's binary file, only its text",
        );
        let help = "`trace-cmd report -i FILE > trace.txt`, recorded with `-T -O userstacktrace` for stacks";
        return Some(error.help(help));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::{Input, ReadOptions, read};

    #[test]
    fn binaries_of_trace_cmd_lead_to_its_report() {
        let bytes = b"\x17\x08\x44tracing7\0\0\x08".to_vec();
        let error = read(Input::from_bytes(bytes).unwrap(), &ReadOptions::default()).unwrap_err();
        assert!(error.help.unwrap().contains("trace-cmd report"));
    }
}
