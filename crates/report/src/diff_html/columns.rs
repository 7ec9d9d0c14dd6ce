//! Columns of numbers as short text: variable-length integers, seven bits to a byte, in base64.
//!
//! A table of 200,000 contexts is some 2 MB this way; as JSON numbers it would be three times that, and browsers would
//! take longer to parse it than to draw it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Numbers from 0 on.
pub fn packed(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut bytes = Vec::new();
    for mut number in numbers {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    base64(&bytes)
}

/// Numbers of either sign, small ones short.
pub fn packed_signed(numbers: impl IntoIterator<Item = i64>) -> String {
    packed(numbers.into_iter().map(|number| ((number << 1) ^ (number >> 63)) as u64))
}

/// Costs as whole multiples of a power of two that is small against `whole`, and that power: an error below a
/// 2³⁴th of the whole.
pub fn packed_costs(costs: impl IntoIterator<Item = f64>, whole: f64) -> (String, f64) {
    let quantum = quantum(whole);
    // The cast saturates, and what is no number becomes 0.
    (packed_signed(costs.into_iter().map(|cost| (cost / quantum).round() as i64)), quantum)
}

/// The power of two 34 binary digits below `whole`.
fn quantum(whole: f64) -> f64 {
    if !whole.is_normal() {
        return 1.0;
    }
    let exponent = ((whole.to_bits() >> 52) & 0x7ff) as i64 - 34;
    f64::from_bits((exponent.max(1) as u64) << 52)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) & 63;
            let is_there = place <= chunk.len() as u32;
            text.push(if is_there { ALPHABET[digit as usize] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_short_text() {
        assert_eq!(packed([]), "");
        assert_eq!(packed([0]), "AA==");
        assert_eq!(packed([1, 2, 3, 4]), "AQIDBA==");
        assert_eq!(packed([300]), "rAI=");
        assert_eq!(packed_signed([0, -1, 1]), "AAEC");
        assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
        assert_eq!(base64(b"any carnal pleasu"), "YW55IGNhcm5hbCBwbGVhc3U=");
    }

    /// What the page does.
    fn unpacked(text: &str) -> Vec<u64> {
        let digit = |letter: u8| ALPHABET.iter().position(|known| *known == letter);
        let (mut bits, mut held) = (0u32, 0);
        let (mut numbers, mut number, mut shift) = (Vec::new(), 0u64, 0);
        for digit in text.bytes().map_while(digit) {
            (bits, held) = (bits << 6 | digit as u32, held + 6);
            if held < 8 {
                continue;
            }
            held -= 8;
            let byte = u64::from(bits >> held) & 0xff;
            number |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                numbers.push(std::mem::take(&mut number));
                shift = 0;
            }
        }
        numbers
    }

    proptest::proptest! {
        #[test]
        fn packing_loses_nothing(numbers: Vec<u64>, signed: Vec<i64>) {
            proptest::prop_assert_eq!(&unpacked(&packed(numbers.iter().copied())), &numbers);
            let back = unpacked(&packed_signed(signed.iter().copied()));
            let back: Vec<i64> = back.iter().map(|n| (n >> 1) as i64 ^ -((n & 1) as i64)).collect();
            proptest::prop_assert_eq!(back, signed);
        }
    }

    #[test]
    fn costs_keep_ten_digits() {
        for whole in [1e-9, 0.3, 1.0, 7e9, 1e15] {
            let quantum = quantum(whole);
            assert!(quantum <= whole / 2f64.powi(34) && quantum > whole / 2f64.powi(36), "{whole}");
        }
        for odd in [0.0, -0.0, f64::NAN, f64::INFINITY, 1e-310] {
            assert!((quantum(odd) - 1.0).abs() < f64::EPSILON);
        }
        // What is no number becomes nothing instead of an error.
        assert_eq!(packed_costs([f64::NAN, 0.0], 1.0).0, "AAA=");
    }
}
