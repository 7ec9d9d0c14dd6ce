//! Columns of numbers and bytes: how tables lie inside a section.
//!
//! A column says what it is, how it is written, how many rows it has and how many bytes it takes. So a reader can step
//! over a column it has never heard of, which is what lets later writers add fields without a new version.

use crate::error::FileError;
use crate::sections::Section;

/// How the numbers of a column are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ColumnEncoding {
    /// One byte a row.
    Bytes,
    /// LEB128.
    Numbers,
    /// Zigzag, then LEB128.
    Signed,
    /// Differences to the row before (the first to 0, all wrapping at 64 bits), zigzag, LEB128.
    Deltas,
}

impl ColumnEncoding {
    const ALL: [Self; 4] = [Self::Bytes, Self::Numbers, Self::Signed, Self::Deltas];
}

/// Writes the columns of one section.
#[derive(Debug, Default)]
pub struct ColumnWriter {
    out: Vec<u8>,
    scratch: Vec<u8>,
}

impl ColumnWriter {
    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// A column of bytes.
    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.scratch.clear();
        self.scratch.extend_from_slice(bytes);
        self.column(field, ColumnEncoding::Bytes, bytes.len());
    }

    /// A column of numbers, most of them small.
    pub fn numbers(&mut self, field: u64, numbers: impl IntoIterator<Item = u64>) {
        self.scratch.clear();
        let mut rows = 0;
        for number in numbers {
            put(&mut self.scratch, number);
            rows += 1;
        }
        self.column(field, ColumnEncoding::Numbers, rows);
    }

    /// A column of numbers of which some are negative.
    pub fn signed(&mut self, field: u64, numbers: impl IntoIterator<Item = i64>) {
        self.scratch.clear();
        let mut rows = 0;
        for number in numbers {
            put(&mut self.scratch, zigzag(number));
            rows += 1;
        }
        self.column(field, ColumnEncoding::Signed, rows);
    }

    /// A column of numbers that grow, or stay near each other.
    pub fn deltas(&mut self, field: u64, numbers: impl IntoIterator<Item = i64>) {
        self.scratch.clear();
        let mut rows = 0;
        let mut last = 0i64;
        for number in numbers {
            put(&mut self.scratch, zigzag(number.wrapping_sub(last)));
            last = number;
            rows += 1;
        }
        self.column(field, ColumnEncoding::Deltas, rows);
    }

    /// Two columns: the lengths of texts, and the texts one after the other.
    pub fn texts<'a>(&mut self, fields: [u64; 2], texts: impl Iterator<Item = &'a str> + Clone) {
        self.numbers(fields[0], texts.clone().map(|text| text.len() as u64));
        self.scratch.clear();
        for text in texts {
            self.scratch.extend_from_slice(text.as_bytes());
        }
        self.column(fields[1], ColumnEncoding::Bytes, self.scratch.len());
    }

    fn column(&mut self, field: u64, encoding: ColumnEncoding, rows: usize) {
        put(&mut self.out, field);
        self.out.push(encoding as u8);
        put(&mut self.out, rows as u64);
        put(&mut self.out, self.scratch.len() as u64);
        self.out.extend_from_slice(&self.scratch);
    }
}

/// The columns of one section, not decoded yet.
#[derive(Debug)]
pub struct Columns<'a> {
    section: &'a Section,
    columns: Vec<StoredColumn<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct StoredColumn<'a> {
    field: u64,
    encoding: u8,
    rows: usize,
    bytes: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Finds the columns of a section.
    pub fn of(section: &'a Section) -> Result<Self, FileError> {
        let mut columns = Vec::new();
        let mut rest = section.body.as_slice();
        while !rest.is_empty() {
            let column =
                take_column(&mut rest).ok_or_else(|| section.malformed("a column is cut off"))?;
            columns.push(column);
        }
        Ok(Self { section, columns })
    }

    /// An error in this section.
    pub fn malformed(&self, what: &str) -> FileError {
        self.section.malformed(what)
    }

    fn find(&self, field: u64) -> Option<StoredColumn<'a>> {
        self.columns.iter().find(|column| column.field == field).copied()
    }

    /// How many rows a column has; 0 where there is no such column.
    pub fn rows(&self, field: u64) -> usize {
        self.find(field).map_or(0, |column| column.rows)
    }

    /// The bytes of a column; empty where there is no such column.
    pub fn bytes(&self, field: u64) -> Result<&'a [u8], FileError> {
        match self.find(field) {
            None => Ok(&[]),
            Some(column) if column.encoding == ColumnEncoding::Bytes as u8 => Ok(column.bytes),
            Some(_) => Err(self.malformed("a column of bytes is written as numbers")),
        }
    }

    /// The text of a column; none where there is no such column.
    pub fn text(&self, field: u64) -> Result<Option<&'a str>, FileError> {
        if self.find(field).is_none() {
            return Ok(None);
        }
        let text = str::from_utf8(self.bytes(field)?);
        text.map(Some).map_err(|_| self.malformed("a text is not UTF-8"))
    }

    /// The numbers of a column with this many rows. A column that is not there holds zeros, as its writer had not
    /// heard of it.
    pub fn numbers(&self, field: u64, rows: usize) -> Result<Vec<u64>, FileError> {
        let Some(column) = self.find(field) else { return Ok(vec![0; rows]) };
        if column.rows != rows {
            return Err(self.malformed("two columns of one table differ in length"));
        }
        column.decode().ok_or_else(|| self.malformed("a column is shorter than its rows"))
    }

    /// The numbers of a column, as [`Columns::numbers`], with their signs.
    pub fn signed(&self, field: u64, rows: usize) -> Result<Vec<i64>, FileError> {
        Ok(self.numbers(field, rows)?.into_iter().map(|number| number as i64).collect())
    }

    /// The number in a column with one row; none where there is no such column.
    pub fn number(&self, field: u64) -> Result<Option<i64>, FileError> {
        match self.rows(field) {
            0 => Ok(None),
            _ => Ok(self.signed(field, 1)?.first().copied()),
        }
    }

    /// The texts of two columns that [`ColumnWriter::texts`] wrote.
    pub fn texts(&self, fields: [u64; 2]) -> Result<Vec<&'a str>, FileError> {
        let lengths = self.numbers(fields[0], self.rows(fields[0]))?;
        let all = str::from_utf8(self.bytes(fields[1])?)
            .map_err(|_| self.malformed("a text is not UTF-8"))?;
        let mut start = 0usize;
        let mut texts = Vec::with_capacity(lengths.len());
        for length in lengths {
            let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
            let text = end.and_then(|end| all.get(start..end));
            let text = text.ok_or_else(|| self.malformed("a text is cut off"))?;
            start += text.len();
            texts.push(text);
        }
        Ok(texts)
    }
}

impl StoredColumn<'_> {
    /// All rows as 64 bits each, signed ones in two's complement; none when the bytes do not hold the rows exactly.
    fn decode(&self) -> Option<Vec<u64>> {
        let encoding = *ColumnEncoding::ALL.get(usize::from(self.encoding))?;
        if encoding == ColumnEncoding::Bytes {
            return Some(self.bytes.iter().map(|byte| u64::from(*byte)).collect());
        }
        // No row takes less than a byte: `take_column` has checked that the claim can be true.
        let mut numbers = Vec::with_capacity(self.rows);
        let mut rest = self.bytes;
        let mut last = 0i64;
        for _ in 0..self.rows {
            let number = take(&mut rest)?;
            numbers.push(match encoding {
                ColumnEncoding::Bytes | ColumnEncoding::Numbers => number,
                ColumnEncoding::Signed => unzigzag(number) as u64,
                ColumnEncoding::Deltas => {
                    last = last.wrapping_add(unzigzag(number));
                    last as u64
                }
            });
        }
        rest.is_empty().then_some(numbers)
    }
}

fn take_column<'a>(rest: &mut &'a [u8]) -> Option<StoredColumn<'a>> {
    let field = take(rest)?;
    let (encoding, after) = rest.split_first()?;
    *rest = after;
    let rows = usize::try_from(take(rest)?).ok()?;
    let length = usize::try_from(take(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    (rows <= length).then_some(StoredColumn { field, encoding: *encoding, rows, bytes })
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (at, byte) in rest.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if at == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(writer: ColumnWriter) -> Section {
        Section { tag: *b"TEST", run: 0, offset: 0, body: writer.finish() }
    }

    proptest! {
        #[test]
        fn columns_come_back(
            numbers in prop::collection::vec(any::<u64>(), 0..50),
            signed in prop::collection::vec(any::<i64>(), 0..50),
            texts in prop::collection::vec(".{0,8}", 0..10),
        ) {
            let mut writer = ColumnWriter::default();
            writer.numbers(1, numbers.iter().copied());
            writer.signed(2, signed.iter().copied());
            writer.deltas(3, signed.iter().copied());
            writer.texts([4, 5], texts.iter().map(String::as_str));
            let section = section(writer);
            let columns = Columns::of(&section).unwrap();
            prop_assert_eq!(columns.numbers(1, numbers.len()).unwrap(), numbers);
            prop_assert_eq!(&columns.signed(2, signed.len()).unwrap(), &signed);
            prop_assert_eq!(&columns.signed(3, signed.len()).unwrap(), &signed);
            prop_assert_eq!(columns.texts([4, 5]).unwrap(), texts);
        }
    }

    #[test]
    fn a_column_nobody_knows_is_stepped_over_and_a_missing_one_holds_zeros() {
        let mut writer = ColumnWriter::default();
        writer.numbers(77, [1, 2, 3]);
        writer.numbers(1, [5, 6]);
        let section = section(writer);
        let columns = Columns::of(&section).unwrap();
        assert_eq!(columns.numbers(1, 2).unwrap(), [5, 6]);
        assert_eq!(columns.numbers(2, 2).unwrap(), [0, 0]);
    }

    #[test]
    fn a_claim_of_more_rows_than_bytes_is_refused() {
        // Field 1, numbers, 2^35 rows, one byte.
        let body = vec![1, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1, 0];
        let section = Section { tag: *b"TEST", run: 0, offset: 0, body };
        assert!(Columns::of(&section).is_err());
    }
}
