//! The methods of a .NET trace, by the addresses of their code.

use super::blocks::{text_at, u32_at, u64_at};

/// One method, or one version of it: code is compiled again when it is hot.
pub struct NettraceMethod {
    start: u64,
    size: u32,
    pub class: String,
    pub name: String,
    pub signature: String,
}

/// All methods the trace tells of.
#[derive(Default)]
pub struct NettraceMethods {
    rows: Vec<NettraceMethod>,
}

impl NettraceMethods {
    /// Takes a `MethodLoadVerbose` or `MethodDCEndVerbose` event: id, module, start, size, token, flags, then the
    /// names of class, method and signature.
    pub fn add(&mut self, payload: &[u8]) {
        let method = || {
            let (start, size) = (u64_at(payload, 16)?, u32_at(payload, 24)?);
            let (class, at) = text_at(payload, 36)?;
            let (name, at) = text_at(payload, at)?;
            let signature = text_at(payload, at).map_or(String::new(), |(signature, _)| signature);
            Some(NettraceMethod { start, size, class, name, signature })
        };
        self.rows.extend(method());
    }

    /// Puts the methods into the order of their addresses; call it before [`NettraceMethods::find`].
    pub fn sort(&mut self) {
        self.rows.sort_by_key(|method| (method.start, method.size));
        self.rows.dedup_by_key(|method| method.start);
    }

    /// True when the trace tells of none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The method whose code holds an address.
    pub fn find(&self, address: u64) -> Option<&NettraceMethod> {
        let after = self.rows.partition_point(|method| method.start <= address);
        let method = self.rows.get(after.checked_sub(1)?)?;
        // A return address may be the byte behind a call that never returns.
        (address - method.start <= u64::from(method.size)).then_some(method)
    }
}
