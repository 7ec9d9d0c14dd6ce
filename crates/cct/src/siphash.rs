//! SipHash-2-4 with 128 bits of output, from its definition (Aumasson and Bernstein, 2012, and the authors' 128-bit
//! variant). Content ids are stored and exchanged, so their hash is fixed here and can never follow a library's.

/// The hash of `bytes` under a key of two words.
pub(crate) fn siphash_2_4_128(key: [u64; 2], bytes: &[u8]) -> u128 {
    let mut v = SipState([
        key[0] ^ 0x736f_6d65_7073_6575,
        // The variant with 128 bits starts with another constant here.
        key[1] ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ]);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        v.compress(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    // The last word carries the length, so that trailing zeros count.
    last[7] = bytes.len() as u8;
    v.compress(u64::from_le_bytes(last));
    v.0[2] ^= 0xee;
    let low = v.finish();
    v.0[1] ^= 0xdd;
    let high = v.finish();
    u128::from(high) << 64 | u128::from(low)
}

struct SipState([u64; 4]);

impl SipState {
    fn compress(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    fn finish(&mut self) -> u64 {
        for _ in 0..4 {
            self.round();
        }
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }

    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the authors' list of test vectors: key 00 01 … 0f, input 00 01 … of each length.
    #[test]
    fn the_authors_test_vectors() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        for (length, expected) in [
            (0u8, "a3817f04ba25a8e66df67214c7550293"),
            (1, "da87c1d86b99af44347659119b22fc45"),
            (2, "8177228da4a45dc7fca38bdef60affe4"),
        ] {
            let input: Vec<u8> = (0..length).collect();
            let hash = siphash_2_4_128(key, &input).to_le_bytes();
            let hex = hash.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
            assert_eq!(hex, expected, "{length} bytes");
        }
    }
}
