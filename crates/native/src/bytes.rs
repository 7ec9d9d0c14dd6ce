//! Fixed-width fields of binary files in either byte order. Every read says when there is nothing left; none panics.

/// Which end of a number comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

/// Bytes taken from the front.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    /// All of `bytes`, in this order.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { rest: bytes, order }
    }

    /// Which end of a number comes first.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// What has not been taken.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True when everything has been taken.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `count` bytes, where the file states the count as a 64-bit number.
    pub fn take_u64(&mut self, count: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(count).ok()?)
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.take(count).map(|_| ())
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next two bytes as a number.
    pub fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(match self.order {
            ByteOrder::Little => u16::from_le_bytes(*bytes),
            ByteOrder::Big => u16::from_be_bytes(*bytes),
        })
    }

    /// The next four bytes as a number.
    pub fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(*bytes),
            ByteOrder::Big => u32::from_be_bytes(*bytes),
        })
    }

    /// The next eight bytes as a number.
    pub fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(*bytes),
            ByteOrder::Big => u64::from_be_bytes(*bytes),
        })
    }

    /// The next four or eight bytes as a number.
    pub fn word(&mut self, wide: bool) -> Option<u64> {
        if wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// Text up to the next zero byte, which is taken too, or up to the end.
    pub fn text(&mut self) -> &'a [u8] {
        let end = memchr::memchr(0, self.rest);
        let text = self.rest.get(..end.unwrap_or(self.rest.len())).unwrap_or_default();
        self.rest = self.rest.get(end.map_or(self.rest.len(), |end| end + 1)..).unwrap_or_default();
        text
    }
}

/// Text up to the first zero byte.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_both_orders_and_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, b'a', b'b', 0, 9];
        let mut little = Bytes::new(&bytes, ByteOrder::Little);
        assert_eq!(little.u64(), Some(0x0807_0605_0403_0201));
        assert_eq!(little.text(), b"ab");
        assert_eq!(little.u16(), None);
        assert_eq!(little.u8(), Some(9));
        assert_eq!(little.text(), b"");
        let mut big = Bytes::new(&bytes, ByteOrder::Big);
        assert_eq!(big.u16(), Some(0x0102));
        assert_eq!(big.u32(), Some(0x0304_0506));
        assert_eq!(big.take_u64(u64::MAX), None);
    }
}
