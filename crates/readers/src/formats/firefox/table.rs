//! The tables of Firefox profiles, in either of their two shapes: columns (`{"stack": […], "time": […]}`, processed) or
//! rows with a schema (`{"schema": {"stack": 0, "time": 1}, "data": [[…], …]}`, as Gecko writes them).
//!
//! Only the columns that were asked for are read; markers and the like, most of many files, are stepped over.

use crate::encodings::json::{Cursor, JsonFault, JsonKind, Number};

/// The columns of one table that were asked for.
#[derive(Debug, Default)]
pub struct FirefoxTable<'a> {
    columns: Vec<(&'static str, Vec<Option<Number<'a>>>)>,
    /// What the column `weight` means, where the table says so.
    pub weight_type: Option<String>,
    /// Where the table broke off.
    pub fault: Option<JsonFault>,
}

impl<'a> FirefoxTable<'a> {
    /// Reads the table at `cursor`.
    pub fn read(cursor: Cursor<'a>, wanted: &[&'static str]) -> Self {
        let mut table = Self {
            columns: wanted.iter().map(|name| (*name, Vec::new())).collect(),
            ..Self::default()
        };
        table.fault = table.fill(cursor).err();
        table
    }

    fn fill(&mut self, mut cursor: Cursor<'a>) -> Result<(), JsonFault> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.begin_object()?;
        let (mut schema, mut data) = (None, None);
        while let Some(key) = cursor.next_key()? {
            match &*key {
                "schema" => {
                    schema = Some(cursor);
                    cursor.skip_value()?;
                }
                "data" if cursor.peek()? == JsonKind::Array && schema.is_some() => {
                    self.rows(schema, &mut cursor)?;
                }
                "data" if cursor.peek()? == JsonKind::Array => {
                    data = Some(cursor);
                    cursor.skip_value()?;
                }
                "weightType" => {
                    self.weight_type = cursor.lenient_string()?.map(Into::into);
                }
                name => match self.columns.iter_mut().find(|column| column.0 == name) {
                    Some((_, into)) if cursor.peek()? == JsonKind::Array => {
                        cursor.begin_array()?;
                        while cursor.next_element()? {
                            into.push(cell(&mut cursor)?);
                        }
                    }
                    _ => cursor.skip_value()?,
                },
            }
        }
        match data {
            Some(mut data) => self.rows(schema, &mut data),
            None => Ok(()),
        }
    }

    /// Reads rows into columns.
    fn rows(&mut self, schema: Option<Cursor<'a>>, data: &mut Cursor<'a>) -> Result<(), JsonFault> {
        let Some(mut schema) = schema else { return Ok(()) };
        // For each place in a row, the column it belongs to.
        let mut places: Vec<Option<usize>> = Vec::new();
        schema.begin_object()?;
        while let Some(key) = schema.next_key()? {
            let place = schema.lenient_number()?.and_then(Number::as_u64);
            let column = self.columns.iter().position(|column| column.0 == key);
            // Rows have a dozen fields; a schema that claims more is damaged.
            if let (Some(place @ 0..256), Some(column)) = (place, column) {
                let place = place as usize;
                places.resize(places.len().max(place + 1), None);
                places[place] = Some(column);
            }
        }
        data.begin_array()?;
        let mut row = 0;
        while data.next_element()? {
            if data.peek()? == JsonKind::Array {
                data.begin_array()?;
                let mut place = 0;
                while data.next_element()? {
                    match places.get(place).copied().flatten() {
                        Some(column) => {
                            let cell = cell(data)?;
                            let into = &mut self.columns[column].1;
                            into.resize(row, None);
                            into.push(cell);
                        }
                        None => data.skip_value()?,
                    }
                    place += 1;
                }
            } else {
                data.skip_value()?;
            }
            row += 1;
        }
        // Rows leave out what is unknown at their end.
        for (_, column) in &mut self.columns {
            column.resize(row, None);
        }
        Ok(())
    }

    /// A column; empty when the table has none of this name.
    pub fn column(&self, name: &str) -> &[Option<Number<'a>>] {
        self.columns.iter().find(|column| column.0 == name).map_or(&[], |column| &column.1)
    }

    /// The number of rows of the longest column.
    pub fn len(&self) -> usize {
        self.columns.iter().map(|column| column.1.len()).max().unwrap_or(0)
    }

    /// A field as a row of another table; −1, `null` and nonsense are none.
    pub fn row(&self, name: &str, row: usize) -> Option<usize> {
        let number = (*self.column(name).get(row)?)?.as_u64()?;
        usize::try_from(number).ok()
    }

    /// A field as a line, column or address; −1, `null` and nonsense are none.
    pub fn number(&self, name: &str, row: usize) -> Option<u64> {
        (*self.column(name).get(row)?)?.as_u64()
    }
}

/// Numbers as they are, truth as 0 or 1, anything else none.
fn cell<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Number<'a>>, JsonFault> {
    match cursor.peek()? {
        JsonKind::Bool => Ok(Some(Number::from_text(if cursor.boolean()? { "1" } else { "0" }))),
        JsonKind::Number => cursor.number().map(Some),
        _ => cursor.skip_value().map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(Option<usize>, Option<usize>)> {
        let table = FirefoxTable::read(Cursor::new(text.as_bytes()), &["a", "b"]);
        (0..table.len()).map(|row| (table.row("a", row), table.row("b", row))).collect()
    }

    #[test]
    fn columns_and_rows_are_one() {
        let expected = [(Some(1), Some(5)), (None, Some(6)), (Some(3), None)];
        assert_eq!(rows(r#"{"length":3,"a":[1,null,3],"x":[[{}]],"b":[5,6,-1]}"#), expected);
        assert_eq!(
            rows(r#"{"data":[[5,1,{"deep":[1]}],[6,null],[null,3]],"schema":{"a":1,"b":0,"x":2}}"#),
            expected
        );
    }

    #[test]
    fn a_cut_off_table_keeps_its_rows() {
        assert_eq!(
            rows(r#"{"schema":{"a":0,"b":1},"data":[[1,2],[3,4],[5"#),
            [(Some(1), Some(2)), (Some(3), Some(4)), (Some(5), None)]
        );
        assert_eq!(
            rows(r#"{"a":[1,2,3],"b":[4,"#),
            [(Some(1), Some(4)), (Some(2), None), (Some(3), None)]
        );
    }
}
