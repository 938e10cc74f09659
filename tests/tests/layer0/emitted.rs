//! The calls in the PTX of the forms crate, and the instruction that each became.

use std::collections::BTreeMap;
use std::ops::Range;

/// The module, and where in it each form stands.
pub struct Emitted {
    /// Its lines.
    pub lines: Vec<String>,
    /// In the order of the text.
    pub forms: Vec<Form>,
}

/// One call of a function of the instruction layer.
pub struct Form {
    /// Its place among all.
    pub number: usize,
    /// The function, from `baton::ptx` on: `atom::atom_add`.
    pub path: String,
    /// Each type or constant parameter, and what was chosen for it.
    pub generics: Vec<(String, String)>,
    /// The names of the arguments, and how many registers each has.
    pub arguments: Vec<(String, usize)>,
    /// What the call became, with the operands' names for registers.
    pub text: String,
    /// The names after `//@baton collective`.
    pub tags: Vec<String>,
    /// Its lines in the module.
    pub lines: Range<usize>,
}

impl Form {
    /// `atom::atom_add::<Relaxed, Cta, Global, u32>(addr, value)`.
    pub fn call(&self) -> String {
        let chosen: Vec<_> = self.generics.iter().map(|(_, chosen)| &**chosen).collect();
        let generics =
            if chosen.is_empty() { String::new() } else { format!("::<{}>", chosen.join(", ")) };
        let names: Vec<_> = self.arguments.iter().map(|(name, _)| &**name).collect();
        format!("{}{generics}({})", self.path, names.join(", "))
    }

    /// The instructions of the text, without directives and braces.
    pub fn instructions(&self) -> impl Iterator<Item = &str> {
        statements(&self.text)
    }
}

/// The statements of a piece of assembly, but for its scaffolding.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive("; ").map(|statement| statement.trim()).filter_map(|statement| {
        let statement = statement.strip_prefix("{ ").unwrap_or(statement);
        let scaffold = statement.starts_with('.') || statement == "}" || statement.is_empty();
        (!scaffold).then_some(statement)
    })
}

/// The name of an instruction, with its modifiers and without its guard.
pub fn mnemonic(instruction: &str) -> &str {
    let mut words = instruction.split_whitespace();
    let first = words.next().unwrap_or_default();
    let name = if first.starts_with('@') { words.next().unwrap_or_default() } else { first };
    name.trim_end_matches(';')
}

/// Whether threads must execute it together.
pub fn is_collective(mnemonic: &str) -> bool {
    let parts: Vec<_> = mnemonic.split('.').collect();
    parts.contains(&"sync") || parts.contains(&"aligned") || matches!(parts[0], "bar" | "barrier")
}

impl Emitted {
    /// Reads the comments that the forms crate leaves.
    ///
    /// # Panics
    /// If the comments are not those of the crate.
    pub fn parse(ptx: &str) -> Self {
        let lines: Vec<String> = ptx.lines().map(|line| line.trim().to_owned()).collect();
        let mut forms: Vec<Form> = Vec::new();
        let mut open: Option<Reader> = None;
        let mut index = 0;
        while index < lines.len() {
            if lines[index] != "// begin inline asm" {
                index += 1;
                continue;
            }
            let start = index + 1;
            let length = lines[start..].iter().position(|line| line == "// end inline asm");
            let block = start..start + length.expect("a block of assembly ends");
            index = block.end + 1;
            let first = lines[block.start].as_str();
            if let Some(call) = first.strip_prefix("//@form ") {
                forms.extend(open.take().map(Reader::finish));
                open = Some(Reader::new(forms.len(), call));
            } else if let Some(reader) = &mut open {
                reader.read(&lines, block);
            }
        }
        forms.extend(open.map(Reader::finish));
        Self { lines, forms }
    }

    /// The form that a line of the module, counted from one, belongs to.
    pub fn at(&self, line: usize) -> Option<&Form> {
        let index = self.forms.partition_point(|form| form.lines.end < line);
        self.forms.get(index).filter(|form| form.lines.contains(&(line - 1)))
    }
}

/// A form that is being read.
struct Reader {
    form: Form,
    call: String,
    named: Vec<String>,
    results: Vec<String>,
    body: Vec<String>,
}

impl Reader {
    fn new(number: usize, call: &str) -> Self {
        let mut parts = call.split('|').map(str::trim);
        let mut next = || parts.next().expect("path, generics and arguments");
        let path: String = next().split_whitespace().collect::<Vec<_>>().join("::");
        let generics = next().split_inclusive(",").collect::<String>();
        let arguments = next();
        // A comma ends a choice only before the next `name=`: types hold none.
        let generics = generics.split(',').map(str::trim).filter(|choice| !choice.is_empty());
        let split = |choice: &str| {
            let (name, chosen) = choice.split_once('=').expect("name=choice");
            (name.to_owned(), chosen.to_owned())
        };
        let words: Vec<_> = arguments.split_whitespace().collect();
        let count = |word: &str| word.parse().expect("a number of registers");
        let arguments: Vec<(String, usize)> =
            words.chunks_exact(2).map(|pair| (pair[0].to_owned(), count(pair[1]))).collect();
        let form = Form {
            number,
            path,
            generics: generics.map(split).collect(),
            arguments,
            text: String::new(),
            tags: Vec::new(),
            lines: 0..0,
        };
        Self { form, call: call.to_owned(), named: vec![], results: vec![], body: vec![] }
    }

    fn read(&mut self, lines: &[String], block: Range<usize>) {
        let first = &lines[block.start];
        if let Some(register) = first.strip_prefix("//@arg ") {
            self.named.push(register.to_owned());
        } else if let Some(register) = first.strip_prefix("//@result ") {
            self.results.push(register.to_owned());
        } else {
            let fresh = self.form.lines.is_empty();
            assert!(fresh, "{} became more than one block of assembly", self.call);
            self.form.lines = block.clone();
            for line in &lines[block] {
                match line.strip_prefix("//@baton collective ") {
                    Some(tag) => self.form.tags.push(tag.trim().to_owned()),
                    None if line.starts_with("//") => {}
                    None => self.body.push(line.split_whitespace().collect::<Vec<_>>().join(" ")),
                }
            }
        }
    }

    fn finish(mut self) -> Form {
        assert!(!self.body.is_empty(), "{} became nothing", self.call);
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut registers = self.named.iter();
        for (argument, count) in &self.form.arguments {
            for (element, register) in registers.by_ref().take(*count).enumerate() {
                let name = match count {
                    1 => argument.clone(),
                    _ => format!("{argument}.{element}"),
                };
                names.insert(register.clone(), name);
            }
        }
        assert!(registers.next().is_none(), "{} has more arguments than it says", self.call);
        for (index, register) in self.results.iter().enumerate() {
            let name = if self.results.len() == 1 { "d".into() } else { format!("d.{index}") };
            names.insert(register.clone(), name);
        }
        let text = self.body.join(" ");
        self.form.text = renamed(&text, names);
        self.form
    }
}

/// Replaces registers by names, those without one by their class and a number.
fn renamed(text: &str, mut names: BTreeMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    let mut unnamed = 0;
    while let Some(start) = rest.find('%') {
        let (before, from) = rest.split_at(start);
        result += before;
        let end =
            from[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(from.len(), |e| e + 1);
        let (register, after) = from.split_at(end);
        let is_register = register.ends_with(|c: char| c.is_ascii_digit())
            && register.len() > 2
            && ["%r", "%rd", "%rs", "%f", "%fd", "%p"]
                .contains(&register.trim_end_matches(|c: char| c.is_ascii_digit()));
        if is_register {
            let name = names.entry(register.to_owned()).or_insert_with(|| {
                unnamed += 1;
                let class = register[1..].trim_end_matches(|c: char| c.is_ascii_digit());
                format!("{class}{unnamed}")
            });
            result += name;
        } else {
            result += register;
        }
        rest = after;
    }
    result + rest
}
