//! Writes class files and jars, no larger than a test needs.

use std::fmt::Write as _;

use perfblame_changes::{ChangeSet, FunctionChange};

use crate::{ClassOptions, compare_jars};

/// A class file under construction.
#[derive(Clone)]
pub struct Maker {
    name: String,
    constants: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
    fields: Vec<Vec<u8>>,
    bootstraps: Vec<Vec<u8>>,
    super_class: &'static str,
}

pub const RETURN: u8 = 0xb1;

impl Maker {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            constants: Vec::new(),
            methods: Vec::new(),
            fields: Vec::new(),
            bootstraps: Vec::new(),
            super_class: "java/lang/Object",
        }
    }

    /// Fills the pool, so that all that follows gets other numbers.
    pub fn shifted(mut self, by: usize) -> Self {
        for number in 0..by {
            self.utf8(&format!("filling {number}"));
        }
        self
    }

    pub fn constant(&mut self, bytes: Vec<u8>) -> u16 {
        if let Some(place) = self.constants.iter().position(|constant| *constant == bytes) {
            return place as u16 + 1;
        }
        self.constants.push(bytes);
        self.constants.len() as u16
    }

    fn of(&mut self, tag: u8, numbers: &[u16]) -> u16 {
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        self.constant([tag].into_iter().chain(numbers).collect())
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        let mut bytes = vec![1];
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
        self.constant(bytes)
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.of(7, &[name])
    }

    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.of(8, &[text])
    }

    pub fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.of(12, &[name, descriptor])
    }

    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let (class, member) = (self.class(class), self.name_and_type(name, descriptor));
        self.of(10, &[class, member])
    }

    /// A call that makes an object of a lambda.
    pub fn lambda(&mut self, class: &str, name: &str) -> u16 {
        let factory = self.method_ref("java/lang/invoke/LambdaMetafactory", "metafactory", "()V");
        let body = self.method_ref(class, name, "()V");
        let handle = |this: &mut Self, member: u16| {
            let mut bytes = vec![15, 6];
            bytes.extend(member.to_be_bytes());
            this.constant(bytes)
        };
        let (factory, body) = (handle(self, factory), handle(self, body));
        let entry = [factory, 1, body].iter().flat_map(|number| number.to_be_bytes()).collect();
        self.bootstraps.push(entry);
        let member = self.name_and_type("run", "()Ljava/lang/Runnable;");
        let bootstrap = self.bootstraps.len() as u16 - 1;
        self.of(18, &[bootstrap, member])
    }

    pub fn field(&mut self, name: &str, descriptor: &str) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let numbers = [0x1008, name, descriptor, 0];
        self.fields.push(numbers.iter().flat_map(|number| number.to_be_bytes()).collect());
    }

    /// A method with code, lines and handlers.
    pub fn method_with(
        &mut self,
        flags: u16,
        name: &str,
        descriptor: &str,
        code: &[u8],
        lines: &[u16],
        handlers: &[[u16; 4]],
    ) {
        let mut attribute = vec![0, 9, 0, 9];
        attribute.extend((code.len() as u32).to_be_bytes());
        attribute.extend(code);
        attribute.extend((handlers.len() as u16).to_be_bytes());
        attribute.extend(handlers.iter().flatten().flat_map(|number| number.to_be_bytes()));
        attribute.extend(1u16.to_be_bytes());
        attribute.extend(self.utf8("LineNumberTable").to_be_bytes());
        attribute.extend((2 + 4 * lines.len() as u32).to_be_bytes());
        attribute.extend((lines.len() as u16).to_be_bytes());
        attribute.extend(lines.iter().flat_map(|line| [[0, 0], line.to_be_bytes()]).flatten());
        let numbers = [flags, self.utf8(name), self.utf8(descriptor), 1, self.utf8("Code")];
        let mut method: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        method.extend((attribute.len() as u32).to_be_bytes());
        method.extend(attribute);
        self.methods.push(method);
    }

    pub fn method(&mut self, name: &str, code: &[u8]) {
        self.method_with(9, name, "()V", code, &[7], &[]);
    }

    /// A method that calls others and returns.
    pub fn calls(mut self, name: &str, calls: &[(&str, &str)]) -> Self {
        let mut code = Vec::new();
        for (class, method) in calls {
            code.push(0xb8);
            code.extend(self.method_ref(class, method, "()V").to_be_bytes());
        }
        code.push(RETURN);
        self.method(name, &code);
        self
    }

    /// A method that makes a lambda of each of these.
    pub fn makes(mut self, name: &str, lambdas: &[&str]) -> Self {
        let class = self.name.clone();
        let mut code = Vec::new();
        for lambda in lambdas {
            code.push(0xba);
            code.extend(self.lambda(&class, lambda).to_be_bytes());
            code.extend([0, 0, 0x57]);
        }
        code.push(RETURN);
        self.method(name, &code);
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        let this = self.name.clone();
        let (this, base) = (self.class(&this), self.class(self.super_class));
        let source = (self.utf8("SourceFile"), self.utf8("Made.java"));
        let bootstraps = self.utf8("BootstrapMethods");
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
        let short = |out: &mut Vec<u8>, number: usize| out.extend((number as u16).to_be_bytes());
        short(&mut out, self.constants.len() + 1);
        out.extend(self.constants.iter().flatten());
        for number in [0x21, this.into(), base.into(), 0, self.fields.len()] {
            short(&mut out, number);
        }
        out.extend(self.fields.iter().flatten());
        short(&mut out, self.methods.len());
        out.extend(self.methods.iter().flatten());
        short(&mut out, 2);
        short(&mut out, source.0.into());
        out.extend(2u32.to_be_bytes());
        short(&mut out, source.1.into());
        short(&mut out, bootstraps.into());
        let length: usize = self.bootstraps.iter().map(Vec::len).sum();
        out.extend((2 + length as u32).to_be_bytes());
        short(&mut out, self.bootstraps.len());
        out.extend(self.bootstraps.iter().flatten());
        out
    }

    pub fn file(&self) -> (String, Vec<u8>) {
        (format!("{}.class", self.name), self.clone().finish())
    }
}

/// Packs files as they are, or deflated.
pub fn jar(files: &[(String, Vec<u8>)], deflate: bool) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let packed = if deflate {
            use std::io::Write as _;
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes.clone()
        };
        let offset = out.len() as u32;
        let mut common = vec![20, 0];
        // With the sizes behind the data, as a jar that is written as a stream has them.
        common.extend([if deflate { 8 } else { 0 }, 0, if deflate { 8 } else { 0 }, 0, 0, 0, 0, 0]);
        let sizes = [crc.sum(), packed.len() as u32, bytes.len() as u32];
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let names = (name.len() as u16).to_le_bytes();
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(if deflate { vec![0; 12] } else { sizes.clone() });
        out.extend(names);
        out.extend([0, 0]);
        out.extend(name.as_bytes());
        out.extend(packed);
        if deflate {
            out.extend(b"PK\x07\x08");
            out.extend(&sizes);
        }
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&common);
        list.extend(&sizes);
        list.extend(names);
        list.extend([0; 12]);
        list.extend(offset.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&list);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([(files.len() as u16).to_le_bytes(); 2].concat());
    out.extend((list.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// What changed between two sets of classes.
pub fn changes(before: &[Maker], after: &[Maker]) -> ChangeSet {
    let pack = |classes: &[Maker]| jar(&classes.iter().map(Maker::file).collect::<Vec<_>>(), false);
    compare_jars(pack(before), pack(after), ClassOptions::default()).unwrap().changes
}

/// One line for each change.
pub fn drawn(changes: &ChangeSet) -> String {
    let mut out = String::new();
    for FunctionChange { kind, before, after, additions, .. } in &changes.functions {
        let names = [before, after].map(|side| side.as_ref().map(|method| method.name.as_str()));
        let names = match names {
            [Some(before), Some(after)] if before != after => format!("{before} → {after}"),
            [before, after] => after.or(before).unwrap_or("").to_owned(),
        };
        let _ = write!(out, "{kind:?} {names}");
        if !additions.is_empty() {
            let _ = write!(out, " {additions:?}");
        }
        out.push('\n');
    }
    for warning in &changes.warnings {
        let _ = writeln!(out, "! {warning}");
    }
    out
}
