//! The parts of a class file that tell what its methods do.
//!
//! The published readers resolve every annotation and stack map before they hand out the first method, refuse a whole
//! class for an odd one, and add jump offsets without looking. This one steps over what it does not need: constants
//! stay where they are and are looked up by number, and every length is held against the bytes left.

/// Why a class cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassError {
    /// Where it stopped.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl std::fmt::Display for ClassError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} at byte {}", self.what, self.offset)
    }
}

/// Reads numbers, most significant byte first, and never past the end.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub fn error(&self, what: &'static str) -> ClassError {
        ClassError { offset: self.at, what }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ClassError> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error("the file ends too early"))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ClassError> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let found = *found.ok_or_else(|| self.error("the file ends too early"))?;
        self.at += N;
        Ok(found)
    }

    pub fn u1(&mut self) -> Result<u8, ClassError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u2(&mut self) -> Result<u16, ClassError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u4(&mut self) -> Result<u32, ClassError> {
        self.array().map(u32::from_be_bytes)
    }
}

/// A constant as the file spells it: numbers of other constants, not their values.
#[derive(Clone, Copy, Debug)]
pub enum Constant<'a> {
    Utf8(&'a [u8]),
    /// An integer.
    Integer(i32),
    /// A float, a long or a double with its tag: their bits are all that is compared.
    Number(u8, &'a [u8]),
    Class(u16),
    String(u16),
    /// A field or a method: its class, its name and type.
    Member(u16, u16),
    NameAndType(u16, u16),
    MethodHandle(u8, u16),
    MethodType(u16),
    /// A dynamic constant or call: the number of the bootstrap entry, name and type.
    Dynamic(u16, u16),
    /// A module or a package.
    Other(u16),
}

/// A field: what a class is recognised by beside its methods.
pub struct Field<'a> {
    pub flags: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    /// The number of its constant value.
    pub constant: Option<u16>,
}

/// A method with its code.
pub struct MethodInfo<'a> {
    pub flags: u16,
    pub name: &'a [u8],
    pub descriptor: &'a [u8],
    pub code: Option<Code<'a>>,
}

/// The code of a method.
pub struct Code<'a> {
    /// Where it stands in the file, for messages.
    pub offset: usize,
    pub instructions: &'a [u8],
    /// Eight bytes each: start, end, handler, type.
    pub handlers: &'a [u8],
    /// First and last line.
    pub lines: Option<(u32, u32)>,
}

/// A class file.
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    /// Where each constant's tag stands; 0 for numbers that name none.
    pool: Vec<u32>,
    pub flags: u16,
    pub name: &'a [u8],
    pub super_class: u16,
    /// Two bytes each.
    pub interfaces: &'a [u8],
    pub fields: Vec<Field<'a>>,
    pub methods: Vec<MethodInfo<'a>>,
    /// The handle and, two bytes each, the arguments.
    pub bootstraps: Vec<(u16, &'a [u8])>,
    pub source_file: Option<&'a [u8]>,
}

pub const ACC_STATIC: u16 = 0x0008;
pub const ACC_SYNCHRONIZED: u16 = 0x0020;
pub const ACC_NATIVE: u16 = 0x0100;
pub const ACC_ABSTRACT: u16 = 0x0400;
const ACC_MODULE: u16 = 0x8000;

/// What opens every class file.
pub const MAGIC: [u8; 4] = [0xca, 0xfe, 0xba, 0xbe];

impl<'a> ClassFile<'a> {
    /// Reads a class; none for a module's description, which holds no code.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>, ClassError> {
        let (pool, mut rest) = read_pool(bytes)?;
        let mut class = Self {
            bytes,
            pool,
            flags: rest.u2()?,
            name: b"",
            super_class: 0,
            interfaces: b"",
            fields: Vec::new(),
            methods: Vec::new(),
            bootstraps: Vec::new(),
            source_file: None,
        };
        if class.flags & ACC_MODULE != 0 {
            return Ok(None);
        }
        class.name = class.class_name(rest.u2()?)?;
        class.super_class = rest.u2()?;
        let interfaces = rest.u2()?;
        class.interfaces = rest.take(2 * usize::from(interfaces))?;
        for _ in 0..rest.u2()? {
            let field = class.read_field(&mut rest)?;
            class.fields.push(field);
        }
        for _ in 0..rest.u2()? {
            let method = class.read_method(&mut rest)?;
            class.methods.push(method);
        }
        for _ in 0..rest.u2()? {
            let (name, mut content) = class.attribute(&mut rest)?;
            match name {
                b"SourceFile" => class.source_file = Some(class.utf8(content.u2()?)?),
                b"BootstrapMethods" => {
                    for _ in 0..content.u2()? {
                        let handle = content.u2()?;
                        let arguments = content.u2()?;
                        let arguments = content.take(2 * usize::from(arguments))?;
                        class.bootstraps.push((handle, arguments));
                    }
                }
                _ => {}
            }
        }
        Ok(Some(class))
    }

    /// The constant of this number.
    pub fn constant(&self, number: u16) -> Result<Constant<'a>, ClassError> {
        let at = self.pool.get(usize::from(number)).copied().unwrap_or_default() as usize;
        let mut rest = Bytes::new(self.bytes, at);
        if at == 0 {
            return Err(ClassError { offset: 0, what: "an index of a constant is out of range" });
        }
        Ok(match rest.u1()? {
            1 => {
                let length = rest.u2()?;
                Constant::Utf8(rest.take(length.into())?)
            }
            3 => Constant::Integer(rest.u4()? as i32),
            tag @ 4 => Constant::Number(tag, rest.take(4)?),
            tag @ (5 | 6) => Constant::Number(tag, rest.take(8)?),
            7 => Constant::Class(rest.u2()?),
            8 => Constant::String(rest.u2()?),
            9..=11 => Constant::Member(rest.u2()?, rest.u2()?),
            12 => Constant::NameAndType(rest.u2()?, rest.u2()?),
            15 => Constant::MethodHandle(rest.u1()?, rest.u2()?),
            16 => Constant::MethodType(rest.u2()?),
            17 | 18 => Constant::Dynamic(rest.u2()?, rest.u2()?),
            _ => Constant::Other(rest.u2()?),
        })
    }

    /// How many numbers for constants there are.
    pub fn constants(&self) -> usize {
        self.pool.len()
    }

    fn wrong<T>(&self, number: u16, what: &'static str) -> Result<T, ClassError> {
        let offset = self.pool.get(usize::from(number)).copied().unwrap_or_default() as usize;
        Err(ClassError { offset, what })
    }

    pub fn utf8(&self, number: u16) -> Result<&'a [u8], ClassError> {
        match self.constant(number)? {
            Constant::Utf8(text) => Ok(text),
            _ => self.wrong(number, "a constant that should be text is not"),
        }
    }

    pub fn class_name(&self, number: u16) -> Result<&'a [u8], ClassError> {
        match self.constant(number)? {
            Constant::Class(name) => self.utf8(name),
            _ => self.wrong(number, "a constant that should be a class is not"),
        }
    }

    pub fn name_and_type(&self, number: u16) -> Result<(&'a [u8], &'a [u8]), ClassError> {
        match self.constant(number)? {
            Constant::NameAndType(name, descriptor) => {
                Ok((self.utf8(name)?, self.utf8(descriptor)?))
            }
            _ => self.wrong(number, "a constant that should be a name and type is not"),
        }
    }

    /// A field's or method's class, name and descriptor.
    pub fn member(&self, number: u16) -> Result<[&'a [u8]; 3], ClassError> {
        match self.constant(number)? {
            Constant::Member(class, name_and_type) => {
                let (name, descriptor) = self.name_and_type(name_and_type)?;
                Ok([self.class_name(class)?, name, descriptor])
            }
            _ => self.wrong(number, "a constant that should be a field or method is not"),
        }
    }

    fn attribute(&self, rest: &mut Bytes<'a>) -> Result<(&'a [u8], Bytes<'a>), ClassError> {
        let name = self.utf8(rest.u2()?)?;
        let length = rest.u4()? as usize;
        let start = rest.at();
        rest.take(length)?;
        Ok((name, Bytes::new(&self.bytes[..rest.at()], start)))
    }

    fn read_field(&self, rest: &mut Bytes<'a>) -> Result<Field<'a>, ClassError> {
        let flags = rest.u2()?;
        let (name, descriptor) = (self.utf8(rest.u2()?)?, self.utf8(rest.u2()?)?);
        let mut constant = None;
        for _ in 0..rest.u2()? {
            let (attribute, mut content) = self.attribute(rest)?;
            if attribute == b"ConstantValue" {
                constant = Some(content.u2()?);
            }
        }
        Ok(Field { flags, name, descriptor, constant })
    }

    fn read_method(&self, rest: &mut Bytes<'a>) -> Result<MethodInfo<'a>, ClassError> {
        let flags = rest.u2()?;
        let (name, descriptor) = (self.utf8(rest.u2()?)?, self.utf8(rest.u2()?)?);
        let mut code = None;
        for _ in 0..rest.u2()? {
            let (attribute, content) = self.attribute(rest)?;
            if attribute == b"Code" {
                code = Some(self.read_code(content)?);
            }
        }
        Ok(MethodInfo { flags, name, descriptor, code })
    }

    fn read_code(&self, mut rest: Bytes<'a>) -> Result<Code<'a>, ClassError> {
        rest.take(4)?;
        let length = rest.u4()? as usize;
        if length > 0xffff {
            return Err(rest.error("a method is longer than the JVM allows"));
        }
        let offset = rest.at();
        let instructions = rest.take(length)?;
        let handlers = rest.u2()?;
        let handlers = rest.take(8 * usize::from(handlers))?;
        let mut lines: Option<(u32, u32)> = None;
        for _ in 0..rest.u2()? {
            let (attribute, mut content) = self.attribute(&mut rest)?;
            if attribute != b"LineNumberTable" {
                continue;
            }
            for _ in 0..content.u2()? {
                content.u2()?;
                let line = u32::from(content.u2()?);
                let (first, last) = lines.unwrap_or((line, line));
                lines = Some((first.min(line), last.max(line)));
            }
        }
        Ok(Code { offset, instructions, handlers, lines })
    }
}

fn read_pool(bytes: &[u8]) -> Result<(Vec<u32>, Bytes<'_>), ClassError> {
    let mut rest = Bytes::new(bytes, 0);
    if bytes.len() > u32::MAX as usize {
        return Err(rest.error("the class is too large"));
    }
    if rest.take(4)? != MAGIC {
        return Err(ClassError { offset: 0, what: "this is not a class file" });
    }
    rest.take(4)?;
    let count = usize::from(rest.u2()?);
    let mut pool = Vec::with_capacity(count.min(rest.left() / 3 + 1));
    pool.push(0);
    while pool.len() < count {
        pool.push(rest.at() as u32);
        match rest.u1()? {
            1 => {
                let length = rest.u2()?;
                rest.take(length.into())?;
            }
            3 | 4 | 9..=12 | 17 | 18 => {
                rest.take(4)?;
            }
            5 | 6 => {
                rest.take(8)?;
                // Longs and doubles take two numbers.
                pool.push(0);
            }
            7 | 8 | 16 | 19 | 20 => {
                rest.take(2)?;
            }
            15 => {
                rest.take(3)?;
            }
            _ => return Err(rest.error("a constant of unknown kind")),
        }
    }
    Ok((pool, rest))
}

/// The name of the class in these bytes, for files whose place does not tell.
pub fn name_of(bytes: &[u8]) -> Result<Option<&[u8]>, ClassError> {
    let (pool, mut rest) = read_pool(bytes)?;
    let flags = rest.u2()?;
    let class = ClassFile {
        bytes,
        pool,
        flags,
        name: b"",
        super_class: 0,
        interfaces: b"",
        fields: Vec::new(),
        methods: Vec::new(),
        bootstraps: Vec::new(),
        source_file: None,
    };
    if flags & ACC_MODULE != 0 {
        return Ok(None);
    }
    class.class_name(rest.u2()?).map(Some)
}

/// Text as the JVM writes it: UTF-8 with a longer zero, and pairs of surrogates for what lies beyond 16 bits.
pub fn text(bytes: &[u8]) -> String {
    if let Ok(plain) = std::str::from_utf8(bytes) {
        return plain.to_owned();
    }
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let low = |at: usize| bytes.get(at).map_or(0, |byte| u16::from(byte & 0x3f));
    while let Some(&byte) = bytes.get(at) {
        let (unit, length) = match byte {
            0..0x80 => (u16::from(byte), 1),
            0xc0..0xe0 => (u16::from(byte & 0x1f) << 6 | low(at + 1), 2),
            0xe0..0xf0 => (u16::from(byte & 0x0f) << 12 | low(at + 1) << 6 | low(at + 2), 3),
            _ => (0xfffd, 1),
        };
        units.push(unit);
        at += length;
    }
    String::from_utf16_lossy(&units)
}
