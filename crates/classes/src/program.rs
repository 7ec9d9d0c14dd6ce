//! One side's classes, read and made comparable.

use super::body::{Body, KnownNames, Shape, Shaper};
use super::class_file::{ClassError, ClassFile, text};
use super::fingerprint::{class_key, method_key};
use super::numbered::numbered_method;

/// A class whose bytes are not those of the other side.
pub struct Class {
    pub name: Vec<u8>,
    pub key: u128,
    /// Where it was found, to read it again.
    pub found: usize,
    /// What it extends, and its fields.
    pub shape: Shape,
    /// Numbers the constants of enumerations for the switches of the class around it; there is one at most.
    pub is_switch_map: bool,
    pub source_file: Option<String>,
    pub methods: Vec<Method>,
}

/// A method.
pub struct Method {
    pub name: Vec<u8>,
    pub descriptor: Vec<u8>,
    pub key: u128,
    pub signature: Shape,
    pub body: Body,
    /// How many instructions it has; none where there is no code.
    pub instructions: Option<usize>,
    pub lines: Option<(u32, u32)>,
    /// For what the compiler numbered: its instructions, to see how near two are.
    pub words: Vec<u32>,
}

impl Method {
    /// The name without its number, and the number.
    pub fn numbered(&self) -> Option<(&[u8], u64)> {
        numbered_method(&self.name)
    }

    /// Lists what lambdas there are, by their names and hashes of names: it says nothing of its own.
    pub fn is_derived(&self) -> bool {
        self.name == b"$deserializeLambda$"
    }
}

impl Class {
    /// Reads a class; none for what holds no code.
    pub fn read(
        bytes: &[u8],
        found: usize,
        known: &KnownNames,
    ) -> Result<Option<Self>, ClassError> {
        let Some(file) = ClassFile::read(bytes)? else { return Ok(None) };
        let mut shaper = Shaper::new(&file, known);
        let shape = shaper.class()?;
        let mut methods = Vec::with_capacity(file.methods.len());
        for method in &file.methods {
            let mut words = Vec::new();
            let wanted = numbered_method(method.name).is_some();
            let (body, count) = shaper.body(method, wanted.then_some(&mut words))?;
            methods.push(Method {
                name: method.name.to_vec(),
                descriptor: method.descriptor.to_vec(),
                key: method_key(file.name, method.name, method.descriptor),
                signature: shaper.signature(method.descriptor)?,
                body,
                instructions: method.code.as_ref().map(|_| count),
                lines: method.code.as_ref().and_then(|code| code.lines),
                words,
            });
        }
        Ok(Some(Self {
            name: file.name.to_vec(),
            key: class_key(file.name),
            found,
            shape,
            is_switch_map: !file.fields.is_empty()
                && file.fields.iter().all(|field| field.name.starts_with(b"$SwitchMap$")),
            source_file: file.source_file.map(text),
            methods,
        }))
    }
}
