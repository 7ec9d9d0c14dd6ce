//! Names for what is kept: the same parts, the same name.

/// 128 bits of FNV-1a over the parts, their ends counted, as hexadecimal digits.
pub fn key(parts: &[&str]) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = OFFSET;
    let mut add = |byte: u8| hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    for part in parts {
        part.bytes().for_each(&mut add);
        // No text has this byte, so `a`, `bc` is not `ab`, `c`.
        add(0xff);
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn where_parts_end_counts() {
        assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
        assert_ne!(key(&["a"]), key(&["a", ""]));
        assert_eq!(key(&["a", "b"]).len(), 32);
    }
}
