//! From what files say to a profile: parts that readers of different formats have in common.

pub(crate) mod byte_memo;
#[allow(dead_code, reason = "readers of call graphs use one part or the other")]
pub(crate) mod call_graph;
pub(crate) mod java;
pub(crate) mod label_summary;
pub(crate) mod module_frame;
pub(crate) mod outline;
pub(crate) mod sample_type;
pub(crate) mod symbol;
