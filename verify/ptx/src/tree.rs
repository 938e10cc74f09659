//! The tree that [`Module::parse`] gives.

use std::ops::Range;

/// A PTX module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The name given to [`Module::parse`].
    pub name: String,
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// The words of `.target`: the architecture first.
    pub target: Vec<String>,
    /// `.address_size`: 64 or 32.
    pub address_size: u32,
    /// `.file` directives.
    pub files: Vec<SourceFile>,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Functions and entries, declarations included.
    pub functions: Vec<Function>,
    /// Comments that begin `//@baton `, in the order of their lines.
    pub comments: Vec<Comment>,
    /// Debug sections, by their place in the text.
    pub sections: Vec<Section>,
    /// The text itself; spans point into it.
    pub source: Box<str>,
}

/// One `.file` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its number, as `.loc` uses it.
    pub index: u32,
    /// The path.
    pub path: String,
}

/// A comment that begins `//@baton `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// 1-based line in the PTX.
    pub line: u32,
    /// What follows the prefix, trimmed.
    pub text: String,
}

/// A `.section`, whose contents are not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `.debug_info` and the like.
    pub name: String,
    /// Line of the `.section` directive.
    pub line: u32,
    /// Bytes of the text from the directive to past its closing brace.
    pub span: Range<usize>,
    /// Bytes of the text between the braces.
    pub contents: Range<usize>,
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// Seen here only.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
    /// `.extern`: defined elsewhere.
    Extern,
}

/// The state space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Space {
    Global,
    Shared,
    Const,
    Local,
    Param,
    /// A parameter or return value of a function that lives in a register.
    Reg,
}

/// What a type's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TypeKind {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
    /// `.bf16`, `.tf32`, the 8-bit and narrower formats: not IEEE 754 interchange formats.
    OtherFloat,
    /// `.texref`, `.samplerref`, `.surfref`
    Opaque,
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// What the bits mean.
    pub kind: TypeKind,
    /// How many there are; 1 for a predicate.
    pub bits: u16,
}

impl Type {
    /// The type named by `name`, without its dot.
    pub fn named(name: &str) -> Option<Type> {
        use TypeKind::*;
        let (kind, bits) = match name {
            "pred" => (Predicate, 1),
            "b8" => (Bits, 8),
            "b16" => (Bits, 16),
            "b32" => (Bits, 32),
            "b64" => (Bits, 64),
            "b128" => (Bits, 128),
            "u8" => (Unsigned, 8),
            "u16" => (Unsigned, 16),
            "u32" => (Unsigned, 32),
            "u64" => (Unsigned, 64),
            "s8" => (Signed, 8),
            "s16" => (Signed, 16),
            "s32" => (Signed, 32),
            "s64" => (Signed, 64),
            "f16" => (Float, 16),
            "f32" => (Float, 32),
            "f64" => (Float, 64),
            "bf16" => (OtherFloat, 16),
            "tf32" => (OtherFloat, 32),
            "e4m3" | "e5m2" => (OtherFloat, 8),
            "f16x2" | "bf16x2" | "u16x2" | "s16x2" => (Bits, 32),
            "texref" | "samplerref" | "surfref" => (Opaque, 64),
            _ => return None,
        };
        Some(Type { kind, bits })
    }

    /// The bytes that a value takes in memory.
    pub fn bytes(self) -> u32 {
        u32::from(self.bits).div_ceil(8)
    }
}

/// A variable in memory, at module scope or inside a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// Line of its declaration.
    pub line: u32,
    /// How other modules see it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes: declared, or that of the type.
    pub align: u32,
    /// The type of one element.
    pub ty: Type,
    /// All its bytes; `None` for an array without a length (`x[]`).
    pub bytes: Option<u64>,
    /// Whether it was declared as an array.
    pub array: bool,
    /// The initial elements, at most as many as there are.
    pub init: Vec<Initial>,
}

/// One element of an initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// An integer, or the bits of a floating-point literal.
    Bits(u64),
    /// The address of a variable or function.
    Address {
        /// Whose address.
        symbol: Box<str>,
        /// Bytes added.
        offset: i64,
        /// Written `generic(…)`: the generic address, else the one inside its space.
        generic: bool,
        /// Written `0xFF00(…)`: these bits of it only, shifted down to the lowest.
        mask: Option<u64>,
    },
}

/// A parameter or a return value.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name; `_` in a declaration or prototype.
    pub name: Box<str>,
    /// Line where it is declared.
    pub line: u32,
    /// [`Space::Param`] or [`Space::Reg`].
    pub space: Space,
    /// The type of one element.
    pub ty: Type,
    /// Alignment in bytes: declared, or that of the type.
    pub align: u32,
    /// All its bytes.
    pub bytes: u64,
    /// Whether it was declared as an array of bytes.
    pub array: bool,
}

/// What can be called or launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function or an entry.
#[derive(Clone, Debug)]
pub struct Function {
    /// Entry or function.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Box<str>,
    /// How other modules see it.
    pub linkage: Linkage,
    /// Line of its header.
    pub line: u32,
    /// What it takes.
    pub params: Vec<Param>,
    /// What it returns.
    pub returns: Vec<Param>,
    /// `.reqntid` and the like, in their order.
    pub directives: Vec<Directive>,
    /// The body; `None` for a declaration.
    pub body: Option<Body>,
}

impl Function {
    /// The arguments of the directive `name` (without its dot), if it is there.
    pub fn directive(&self, name: &str) -> Option<&[u64]> {
        self.directives.iter().find(|d| &*d.name == name).map(|d| &*d.args)
    }
}

/// A directive of a function: `.reqntid 256, 1, 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its name without the dot.
    pub name: Box<str>,
    /// Its line.
    pub line: u32,
    /// Its numbers.
    pub args: Vec<u64>,
}

/// A register of a function, by its position in [`Body::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// A label of a function, by its position in [`Body::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A variable of a function, by its position in [`Body::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// The body of a function.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Line of the opening brace.
    pub line: u32,
    /// Bytes of the text from the opening brace to past the closing one.
    pub span: Range<usize>,
    /// Every register of every scope. Parameters in registers come first, returns before them.
    pub registers: Vec<Register>,
    /// Every variable declared inside, of every scope.
    pub variables: Vec<Variable>,
    /// The instructions in order, scopes flattened.
    pub instructions: Vec<Instruction>,
    /// Every label of every scope.
    pub labels: Vec<Label>,
    /// Positions given by `.loc`; instructions point here.
    pub locations: Vec<Location>,
    /// `.branchtargets` lists, by the label that names them.
    pub branch_targets: Vec<(LabelId, Vec<LabelId>)>,
    /// `.callprototype` declarations, by the label that names them.
    pub prototypes: Vec<(LabelId, Prototype)>,
}

/// A declared register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub ty: Type,
    /// 1, or the length of a vector register (`.v2`, `.v4`).
    pub lanes: u8,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: Box<str>,
    /// Line where it stands.
    pub line: u32,
    /// The position in [`Body::instructions`] of what it stands before; their number at the end.
    pub target: usize,
}

/// The shape of an indirect call.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// What comes back.
    pub returns: Vec<Param>,
    /// What goes in.
    pub params: Vec<Param>,
}

/// A `.loc` position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the `.file`.
    pub file: u32,
    /// 1-based line; 0 where the compiler had none.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A predicate that guards an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: RegId,
    /// Written `@!p`.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The predicate that guards it.
    pub guard: Option<Guard>,
    /// The full form, such as `ld.shared::cta.v2.b32`.
    pub mnemonic: Box<str>,
    /// Its operands, destination first, as written.
    pub operands: Vec<Operand>,
    /// 1-based line in the PTX.
    pub line: u32,
    /// Bytes of the text, semicolon included.
    pub span: Range<usize>,
    /// The `.loc` in force, a position in [`Body::locations`].
    pub location: Option<u32>,
}

impl Instruction {
    /// The first word of the mnemonic.
    pub fn opcode(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or("")
    }

    /// What follows the opcode, without the dots.
    pub fn modifiers(&self) -> impl Iterator<Item = &str> {
        self.mnemonic.split('.').skip(1)
    }

    /// Whether `modifier` (without its dot) is among them.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers().any(|m| m == modifier)
    }
}

/// A name that stands for memory or code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A parameter of this function.
    Param(u32),
    /// A return value of this function.
    Return(u32),
    /// A variable declared inside this function.
    Local(VarId),
    /// A variable or function of the module.
    Global(Box<str>),
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegId),
    /// A negated predicate, `!p`.
    Not(RegId),
    /// A register and a number that is added, `%r1 + 4`: no part of the ISA's grammar, but taken by `ptxas`.
    Sum(RegId, i64),
    /// One element of a vector register, `%v.x`.
    Component(RegId, u8),
    /// A special register with its component, such as `%tid.x`.
    Special(Box<str>),
    /// An integer, two's complement.
    Int(i64),
    /// Bits of a single-precision literal, `0f…`.
    F32(u32),
    /// Bits of a double-precision literal, `0d…` or decimal.
    F64(u64),
    /// `{a, b, …}`
    Vector(Vec<Operand>),
    /// `(a, b, …)` of a call.
    List(Vec<Operand>),
    /// `[base+offset]`, possibly with coordinates or further items behind a comma.
    Address(Address),
    /// A name, with a number of bytes added.
    Symbol(Symbol, i64),
    /// A label.
    Label(LabelId),
    /// `a|b`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: a result that is not wanted.
    Sink,
}

impl Operand {
    /// Calls `visit` with each register that the operand mentions, in the order of the text.
    pub fn registers(&self, visit: &mut impl FnMut(RegId)) {
        match self {
            Operand::Register(register)
            | Operand::Not(register)
            | Operand::Sum(register, _)
            | Operand::Component(register, _) => visit(*register),
            Operand::Vector(parts) | Operand::List(parts) => {
                parts.iter().for_each(|part| part.registers(visit));
            }
            Operand::Address(address) => {
                if let Base::Register(register) = address.base {
                    visit(register);
                }
                address.items.iter().for_each(|item| item.registers(visit));
            }
            Operand::Pair(first, second) => {
                first.registers(visit);
                second.registers(visit);
            }
            Operand::Special(_)
            | Operand::Int(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Symbol(..)
            | Operand::Label(_)
            | Operand::Sink => {}
        }
    }
}

/// What stands between brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// From where.
    pub base: Base,
    /// Bytes added.
    pub offset: i64,
    /// What follows behind commas, such as the coordinates of a tensor map.
    pub items: Vec<Operand>,
}

/// The base of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register.
    Register(RegId),
    /// A name.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Absolute,
}

impl Module {
    /// The column of a name or an instruction in a line of the source, from 1 and in characters;
    /// of the first thing in the line, if it is not there.
    pub fn column(&self, line: u32, text: &str) -> u32 {
        let line = self.source.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        let whole = |&(at, found): &(usize, &str)| {
            let (before, after) = (&line[..at], &line[at + found.len()..]);
            !(found.starts_with(word) && before.ends_with(word)
                || found.ends_with(word) && after.starts_with(word))
        };
        let at = match line.match_indices(text).find(whole) {
            Some((at, _)) => at,
            None => line.len() - line.trim_start().len(),
        };
        line[..at].chars().count() as u32 + 1
    }

    /// Reads a module. `name` is what errors call the text.
    pub fn parse(text: &str, name: &str) -> Result<Module, crate::ParseError> {
        crate::parser::parse(text, name)
    }

    /// The instructions of `body`, a body of this module, that stand right behind a comment, with its text.
    pub fn tagged<'a>(&'a self, body: &'a Body) -> impl Iterator<Item = (&'a str, usize)> {
        let instructions = &body.instructions;
        let (first, last) = match (instructions.first(), instructions.last()) {
            (Some(_), Some(last)) => (body.line, last.line),
            _ => (1, 0),
        };
        let from = self.comments.partition_point(|comment| comment.line < first);
        let inside = self.comments[from..].iter().take_while(move |comment| comment.line <= last);
        inside.map(|comment| {
            let next = instructions.partition_point(|instruction| instruction.line < comment.line);
            (&*comment.text, next)
        })
    }

    /// The text of an instruction, in one line.
    pub fn text(&self, instruction: &Instruction) -> String {
        let text = self.source.get(instruction.span.clone()).unwrap_or(&instruction.mnemonic);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The function named `name`; a definition before a declaration.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let mut named = self.functions.iter().filter(|f| &*f.name == name);
        let first = named.next()?;
        if first.body.is_some() {
            return Some(first);
        }
        named.find(|f| f.body.is_some()).or(Some(first))
    }
}
