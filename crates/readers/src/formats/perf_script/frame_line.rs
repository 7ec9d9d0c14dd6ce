//! A line of a call chain, taken apart: the address, and what stands behind it.

use crate::encodings::text::trim;

/// A line of a call chain from its address on, and the number of the address' digits.
#[derive(Clone, Copy)]
pub(super) struct FrameLine<'a> {
    pub whole: &'a [u8],
    pub digits: usize,
}

impl<'a> FrameLine<'a> {
    /// What stands behind the address.
    #[inline]
    pub fn text(&self) -> &'a [u8] {
        self.whole.get(self.digits..).unwrap_or(&[]).trim_ascii_start()
    }

    #[inline]
    pub fn address(&self) -> Option<u64> {
        let digits = self.whole.get(..self.digits)?;
        u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    }
}

/// The line as `perf` aligns it, a tab and the address in sixteen columns, without a branch per byte.
#[inline]
pub(super) fn aligned_frame_line(line: &[u8]) -> Option<FrameLine<'_>> {
    let (b'\t', rest) = line.split_first()? else { return None };
    let (columns, after) = rest.split_first_chunk::<16>()?;
    if after.first() != Some(&b' ') {
        return None;
    }
    let mut good = 1u8;
    let mut used = 0u16;
    for (column, byte) in columns.iter().enumerate() {
        let blank = *byte == b' ';
        let fits = u8::from(byte.is_ascii_hexdigit()) | u8::from(blank);
        good &= fits;
        used |= u16::from(!blank) << column;
    }
    let digits = used.leading_ones() as usize;
    if good == 0 || digits == 0 || used.count_ones() as usize != digits {
        return None;
    }
    Some(FrameLine { whole: rest.get(16 - digits..)?.trim_ascii_end(), digits })
}

/// An indented line, with no digits where it does not start with an address; none for an empty line.
#[inline]
pub(super) fn frame_line(line: &[u8]) -> Option<FrameLine<'_>> {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let whole = line.get(start..)?.trim_ascii_end();
    if start == 0 {
        return Some(FrameLine { whole, digits: 0 });
    }
    let digits = whole.iter().take(17).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = matches!(whole.get(digits), None | Some(b' ' | b'\t'));
    Some(FrameLine { whole, digits: if ends && digits <= 16 { digits } else { 0 } })
}

/// The frame at the end of a sample's first line, perhaps behind a tracepoint's arguments.
pub(super) fn single_frame(rest: &[u8]) -> Option<FrameLine<'_>> {
    let rest = trim(rest);
    let is_address =
        |token: &[u8]| (4..=16).contains(&token.len()) && token.iter().all(u8::is_ascii_hexdigit);
    let first = memchr::memchr(b' ', rest).unwrap_or(rest.len());
    if !rest.ends_with(b")") {
        return is_address(rest.get(..first)?).then_some(FrameLine { whole: rest, digits: first });
    }
    // The last token that can be an address and has a symbol behind it; symbols can contain blanks.
    let mut end = memchr::memrchr(b' ', rest)?;
    loop {
        let start = memchr::memrchr(b' ', rest.get(..end)?).map_or(0, |at| at + 1);
        if is_address(rest.get(start..end)?) {
            return Some(FrameLine { whole: rest.get(start..)?, digits: end - start });
        }
        end = start.checked_sub(1)?;
    }
}
