//! What lies where in memory, as it changes.

use std::collections::BTreeMap;

use perfblame_cct::FrameId;

/// What a piece of code is.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// A function.
    Frame(FrameId),
    /// Runs for the function that called it.
    OnBehalf,
}

/// Pieces of code by address.
#[derive(Default, Debug)]
pub struct CodeMap {
    /// Start to end and what it is; no two overlap.
    code: BTreeMap<u64, (u64, Code)>,
    libraries: BTreeMap<u64, (u64, FrameId)>,
}

impl CodeMap {
    /// Puts code somewhere; what lay there is gone.
    pub fn insert(&mut self, start: u64, size: u64, code: Code) {
        let end = start.saturating_add(size);
        while let Some((below, (known_end, _))) = self.code.range(..end).next_back() {
            if *known_end <= start {
                break;
            }
            let below = *below;
            self.code.remove(&below);
        }
        self.code.insert(start, (end, code));
    }

    /// Libraries are listed a few times, growing.
    pub fn insert_library(&mut self, start: u64, end: u64, frame: FrameId) {
        self.libraries.insert(start, (end, frame));
    }

    /// Code was moved.
    pub fn shift(&mut self, from: u64, to: u64) {
        if let Some((end, code)) = self.code.remove(&from) {
            self.insert(to, end.saturating_sub(from), code);
        }
    }

    /// Code is gone.
    pub fn remove(&mut self, start: u64) {
        self.code.remove(&start);
    }

    /// Adds the function that an address belongs to. A library's functions have no names, so its frames that call each
    /// other are one.
    pub fn push(&self, address: u64, stack: &mut Vec<FrameId>) {
        if let Some((_, (end, code))) = self.code.range(..=address).next_back()
            && address < *end
        {
            if let Code::Frame(frame) = code {
                stack.push(*frame);
            }
        } else if let Some((_, (end, frame))) = self.libraries.range(..=address).next_back()
            && address < *end
            && stack.last() != Some(frame)
        {
            stack.push(*frame);
        }
    }
}
