//! Numbers in sentences: thousands in groups, and a noun that agrees with its number.
#![warn(missing_docs)]

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `3 threads`, `1 thread`, `0 threads`. The words may go on to the verb: `1 file was`, `2 files were`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_in_groups() {
        let shown = [0, 1, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "1", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn one_is_singular() {
        let shown = [0, 1, 2, 1_001].map(|number| counted(number, "run", "runs"));
        assert_eq!(shown, ["0 runs", "1 run", "2 runs", "1,001 runs"]);
    }
}
