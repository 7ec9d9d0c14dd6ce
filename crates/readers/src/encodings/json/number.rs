//! Numbers as they stand in the file, converted when asked: most are skipped, and times must not lose digits.

/// A number's text. It is read as what the caller needs: a whole number, a fraction, or scaled decimals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number<'a>(pub(super) &'a [u8]);

impl<'a> Number<'a> {
    /// A number from its text, for files that put numbers in strings.
    pub fn from_text(text: &'a str) -> Self {
        Self(text.trim().as_bytes())
    }

    /// The number when it is whole and fits, `1e3` and `5.0` included.
    pub fn as_i64(self) -> Option<i64> {
        if let Some(plain) = plain(self.0) {
            return Some(plain);
        }
        self.whole_text().and_then(|text| text.parse().ok()).or_else(|| {
            let number = self.as_f64();
            // Above 2^53 a fraction cannot be told from a whole number.
            (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0)
                .then_some(number as i64)
        })
    }

    /// The number when it is whole, not negative and fits.
    pub fn as_u64(self) -> Option<u64> {
        if let Some(plain) = plain(self.0) {
            return plain.try_into().ok();
        }
        match self.whole_text().map(str::parse) {
            Some(Ok(number)) => Some(number),
            _ => self.as_i64().and_then(|number| number.try_into().ok()),
        }
    }

    /// The number, rounded where need be; NaN when the text is no number.
    pub fn as_f64(self) -> f64 {
        if let Some(plain) = plain(self.0) {
            return plain as f64;
        }
        str::from_utf8(self.0).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }

    /// The number times ten to the power of `decimals`, rounded to the nearest, without going through binary
    /// fractions: `scaled(3)` makes nanoseconds of `1234567890123456.789` microseconds. None when it is no number
    /// or does not fit.
    pub fn scaled(self, decimals: u32) -> Option<i64> {
        let (negative, digits) = match self.0 {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let mut value: i64 = 0;
        let mut places: Option<u32> = None;
        let mut round_up = false;
        for byte in digits {
            match byte {
                b'0'..=b'9' => match places {
                    Some(used) if used == decimals => {
                        round_up = *byte >= b'5';
                        // What follows cannot change the rounding.
                        if digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
                            return self.scaled_float(decimals);
                        }
                        break;
                    }
                    _ => {
                        let digit = i64::from(byte - b'0');
                        value = value.checked_mul(10)?.checked_add(digit)?;
                        places = places.map(|used| used + 1);
                    }
                },
                b'.' if places.is_none() => places = Some(0),
                _ => return self.scaled_float(decimals),
            }
        }
        if digits.is_empty() {
            return None;
        }
        for _ in places.unwrap_or(0)..decimals {
            value = value.checked_mul(10)?;
        }
        value = value.checked_add(i64::from(round_up))?;
        Some(if negative { -value } else { value })
    }

    fn scaled_float(self, decimals: u32) -> Option<i64> {
        let scaled = self.as_f64() * 10f64.powi(decimals as i32);
        (scaled.abs() < 9.2e18).then(|| scaled.round() as i64)
    }

    fn whole_text(self) -> Option<&'a str> {
        let text = str::from_utf8(self.0).ok()?;
        text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-').then_some(text)
    }
}

/// Whole numbers of at most 18 digits, which cannot overflow: nearly all there are.
fn plain(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}
