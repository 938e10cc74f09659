//! The lines of a litmus file: headers, threads, the condition.

use std::collections::HashMap;

use super::instruction;
use super::lexer::{Line, Token};
use super::{Condition, Expect, LitmusError, Term, Test};
use crate::program::{
    Instruction, Memory, Op, Program, Proxy, Register, Space, Thread, Type, View, Window,
};
use crate::scope::{Cluster, Placement};

/// How many threads, locations and instructions a file may have: far past what can be judged.
const LIMIT: usize = 4096;
/// How often a backward branch may be taken at most.
const ROUNDS: u32 = 1000;

/// What the lines so far declare.
pub struct Parser {
    pub program: Program,
    views: HashMap<String, usize>,
    labels: HashMap<String, usize>,
    /// Branches of the present thread, to be resolved at its end: instruction, label, where it stands.
    jumps: Vec<(usize, String, LitmusError)>,
    hypothetical: bool,
    /// Every place that an instruction names, to be looked at once all threads are known.
    pub reached: Vec<Reach>,
    /// Shared locations whose thread block their first user told.
    unnamed: Vec<usize>,
    /// Registers may hold addresses: compiled kernels, not litmus files.
    pub compiled: bool,
}

/// A place that an instruction names.
pub struct Reach {
    thread: usize,
    view: usize,
    /// The state space by which it is reached; none for generic addresses.
    pub window: Option<Window>,
    /// The error if it cannot be reached, its expectation to be filled in.
    error: LitmusError,
}

/// One instruction of a compiled kernel, in the grammar of litmus files but with addresses in
/// registers. `program` knows the locations, and its last thread the registers.
pub fn compiled_instruction(
    program: &mut Program,
    names: &HashMap<String, usize>,
    text: &str,
    file: &str,
    number: usize,
) -> Result<Op, LitmusError> {
    let mut parser = Parser {
        program: std::mem::take(program),
        views: names.clone(),
        labels: HashMap::new(),
        jumps: vec![],
        hypothetical: false,
        reached: vec![],
        unnamed: vec![],
        compiled: true,
    };
    let result = Line::new(file, number, text, 0).and_then(|mut line| {
        let op = instruction::parse(&mut parser, &mut line)?;
        line.finish()?;
        Ok(op)
    });
    *program = parser.program;
    result
}

pub fn parse(text: &str, file: &str) -> Result<Test, LitmusError> {
    let mut parser = Parser {
        program: Program { unroll: 1, ..Program::default() },
        views: HashMap::new(),
        labels: HashMap::new(),
        jumps: vec![],
        hypothetical: false,
        reached: vec![],
        unnamed: vec![],
        compiled: false,
    };
    let mut name = None;
    let mut comment = vec![];
    let mut question = None;
    let mut expect = None;
    let mut race = None;
    let mut unrolled = false;
    let mut last = 1;

    for (index, whole) in text.lines().enumerate() {
        let number = index + 1;
        last = number;
        let (text, remark) = match whole.split_once('#') {
            Some((text, remark)) => (text, Some(remark)),
            None => (whole, None),
        };
        if let (Some(remark), true) = (remark, parser.program.threads.is_empty()) {
            comment.push(remark.trim().to_owned());
        }
        if let Some(given) = text.trim_start().strip_prefix("name:") {
            let given = given.trim();
            if given.is_empty() {
                return Err(
                    Line::new(file, number, "", whole.chars().count())?.expected("the test's name")
                );
            }
            if name.replace(given.to_owned()).is_some() {
                return Err(Line::new(file, number, text, 0)?.expected("one `name:` only"));
            }
            continue;
        }
        let mut line = Line::new(file, number, text, 0)?;
        if line.is_done() {
            continue;
        }
        let start = line.clone();
        if line.take_word("location") {
            parser.location(&mut line)?;
        } else if line.take_word("thread") {
            parser.end_thread()?;
            parser.thread(&mut line)?;
        } else if line.take_word("unroll") && line.take(":") {
            let place = line.clone();
            if std::mem::replace(&mut unrolled, true) {
                return Err(start.expected("one `unroll:` only"));
            }
            parser.program.unroll = line.small("how often a backward branch may be taken")?;
            if parser.program.unroll > ROUNDS {
                return Err(place.expected(format!("at most {ROUNDS} rounds")));
            }
        } else if let Some(universal) = quantifier(&mut line) {
            parser.end_thread()?;
            if question.is_some() {
                return Err(start.expected("one `exists:` or `forall:` only"));
            }
            let condition = parser.disjunction(&mut line, 0)?;
            question = Some((universal, condition));
        } else if line.take_word("expect") && line.take(":") {
            let given = if line.take_word("allowed") {
                Expect::Allowed
            } else if line.take_word("forbidden") {
                Expect::Forbidden
            } else {
                return Err(line.expected("`allowed` or `forbidden`"));
            };
            if expect.replace(given).is_some() {
                return Err(start.expected("one `expect:` only"));
            }
        } else if line.take_word("race") && line.take(":") {
            let given = if line.take_word("yes") {
                true
            } else if line.take_word("no") {
                false
            } else {
                return Err(line.expected("`yes` or `no`"));
            };
            if race.replace(given).is_some() {
                return Err(start.expected("one `race:` only"));
            }
        } else if parser.program.threads.is_empty() {
            return Err(start.expected(
                "`name:`, `location`, `thread`, `unroll:`, `exists:`, `forall:`, `expect:` or `race:`",
            ));
        } else {
            line = start;
            parser.instruction(&mut line, text)?;
        }
        line.finish()?;
    }
    parser.end_thread()?;
    let end = |expected: &str| LitmusError {
        file: file.to_owned(),
        line: if text.is_empty() { 1 } else { last + 1 },
        column: 1,
        found: "the end of the file".to_owned(),
        expected: expected.to_owned(),
    };
    if parser.program.threads.is_empty() {
        return Err(end("a `thread`"));
    }
    parser.check_reached()?;
    let Some((universal, condition)) = question else {
        return Err(end("`exists:` or `forall:`"));
    };
    let (condition, expect) = if universal {
        (Condition::Not(Box::new(condition)), expect.or(Some(Expect::Forbidden)))
    } else {
        (condition, expect)
    };
    Ok(Test {
        name: name.unwrap_or_else(|| file.to_owned()),
        comment: comment.join("\n"),
        program: parser.program,
        condition,
        universal,
        expect,
        race,
        hypothetical: parser.hypothetical,
    })
}

/// The register of that name, `r0` or `p0` and so on, which is made at its first use.
fn register_of(thread: &mut Thread, name: String) -> Option<Register> {
    if let Some(known) = thread.registers.iter().position(|known| *known == name) {
        return Some(known);
    }
    let number = name.strip_prefix(['r', 'p'])?;
    (number.len() < 6 && number.parse::<u32>().is_ok()).then(|| {
        thread.registers.push(name);
        thread.registers.len() - 1
    })
}

fn quantifier(line: &mut Line<'_>) -> Option<bool> {
    let universal = match line.peek() {
        Some(Token::Word(word)) if word == "exists" => false,
        Some(Token::Word(word)) if word == "forall" => true,
        _ => return None,
    };
    let mut ahead = line.clone();
    (ahead.word("").is_ok() && ahead.take(":")).then(|| {
        *line = ahead;
        universal
    })
}

impl Parser {
    fn location(&mut self, line: &mut Line<'_>) -> Result<(), LitmusError> {
        let place = line.clone();
        let name = line.word("the location's name")?;
        if self.views.contains_key(&name) {
            return Err(place.expected("a name that is not taken"));
        }
        if self.program.views.len() >= LIMIT {
            return Err(place.expected(format!("at most {LIMIT} locations")));
        }
        let kinds = "`global`, `shared`, `tensor`, `tensormap`, `alias-of`, `surface-of`, \
                     `texture-of` or `constant-of`";
        let place = line.clone();
        let kind = line.word(kinds)?;
        let other = match kind.as_str() {
            "alias-of" => Some(None),
            "surface-of" => Some(Some(Proxy::Surface)),
            "texture-of" => Some(Some(Proxy::Texture)),
            "constant-of" => Some(Some(Proxy::Constant)),
            _ => None,
        };
        let address = self.program.views.len();
        if let Some(proxy) = other {
            let place = line.clone();
            let of = line.word("the location that it names again")?;
            let of =
                *self.views.get(&of).ok_or_else(|| place.expected("a location declared above"))?;
            let of = self.program.views[of].clone();
            self.hypothetical |= proxy.is_some();
            let view = match proxy {
                None => View { name: name.clone(), memory: of.memory, address, proxy: of.proxy },
                Some(proxy) => {
                    View { name: name.clone(), memory: of.memory, address: of.address, proxy }
                }
            };
            self.views.insert(name, self.program.views.len());
            self.program.views.push(view);
            return Ok(());
        }
        let space = match kind.as_str() {
            "global" => Space::Global,
            "shared" => {
                let mut cta = None;
                if line.take_word("cta") {
                    line.sign("=")?;
                    cta = Some(line.small("the number of its thread block")?);
                }
                Space::Shared(cta)
            }
            "tensor" => Space::Tensor,
            "tensormap" => Space::TensorMap,
            _ => return Err(place.expected(kinds)),
        };
        let fixed = matches!(space, Space::Tensor | Space::TensorMap);
        let mut ty =
            if fixed { Type { bytes: 4, signed: false } } else { Type { bytes: 0, signed: false } };
        if matches!(line.peek(), Some(Token::Word(_))) || !fixed {
            let place = line.clone();
            let word = line.word("a type, such as `u32`")?;
            ty = Type::named(&word)
                .filter(|_| !word.starts_with('f'))
                .ok_or_else(|| place.expected("a type: u8, u16, u32, u64, s8 … s64, b128"))?;
        }
        let mut elements = 1;
        if line.take("[") {
            let place = line.clone();
            elements = line.small("how many elements")?;
            if elements == 0 || elements > 64 {
                return Err(place.expected("1 to 64 elements"));
            }
            line.sign("]")?;
        }
        let mut init = vec![0; (ty.bytes * elements) as usize];
        if line.take("=") {
            let place = line.clone();
            let value = line.number("its first value")?;
            // A negative number is read as the type's own two's complement.
            if ![false, true].map(|signed| Type { signed, ..ty }.wrap(value)).contains(&value) {
                return Err(place.expected(format!("a value of {} bits", 8 * ty.bytes)));
            }
            for element in init.chunks_mut(ty.bytes as usize) {
                element.copy_from_slice(&value.to_le_bytes()[..ty.bytes as usize]);
            }
        }
        let proxy = if space == Space::Tensor { Proxy::Tensor } else { Proxy::Generic };
        let memory = self.program.memories.len();
        self.program.memories.push(Memory { name: name.clone(), space, ty, init });
        self.views.insert(name.clone(), self.program.views.len());
        self.program.views.push(View { name, memory, address, proxy });
        Ok(())
    }

    fn thread(&mut self, line: &mut Line<'_>) -> Result<(), LitmusError> {
        let place = line.clone();
        let name = line.word("the thread's name")?;
        if self.program.threads.iter().any(|thread| thread.name == name) {
            return Err(place.expected("a name that no other thread has"));
        }
        if self.program.threads.len() >= LIMIT {
            return Err(place.expected(format!("at most {LIMIT} threads")));
        }
        let (mut gpu, mut cta, mut cluster) = (None, None, None);
        while !line.take(":") {
            let place = line.clone();
            let key = line.word("`gpu=`, `cta=`, `cluster=` or `:`")?;
            line.sign("=")?;
            let value = line.small("its number")?;
            let part = match key.as_str() {
                "gpu" => &mut gpu,
                "cta" => &mut cta,
                "cluster" => &mut cluster,
                _ => return Err(place.expected("`gpu=`, `cta=`, `cluster=` or `:`")),
            };
            if part.replace(value).is_some() {
                return Err(place.expected(format!("one `{key}=` only")));
            }
        }
        let gpu = gpu.unwrap_or(0);
        let cta = cta.ok_or_else(|| place.expected("a thread with `cta=`"))?;
        let cluster = cluster.map_or(Cluster::Own(cta), Cluster::Declared);
        let here = Placement { gpu, cluster, cta };
        for other in self.program.threads.iter().map(|thread| thread.place) {
            if other.cta == cta && other != here {
                return Err(
                    place.expected(format!("one GPU and one cluster for thread block {cta}"))
                );
            }
            if other.cluster == cluster && other.gpu != gpu {
                return Err(place.expected("a cluster on one GPU"));
            }
        }
        self.program.threads.push(Thread {
            name,
            place: here,
            registers: vec![],
            initial: vec![],
            code: vec![],
        });
        Ok(())
    }

    fn end_thread(&mut self) -> Result<(), LitmusError> {
        let labels = std::mem::take(&mut self.labels);
        for (at, label, error) in std::mem::take(&mut self.jumps) {
            let target = *labels.get(&label).ok_or(error)?;
            if let Some(thread) = self.program.threads.last_mut() {
                thread.code[at].op = Op::Branch(target);
            }
        }
        Ok(())
    }

    fn instruction(&mut self, line: &mut Line<'_>, text: &str) -> Result<(), LitmusError> {
        let Some(thread) = self.program.threads.last() else {
            return Err(line.expected("a `thread` above the instruction"));
        };
        let at = thread.code.len();
        if at >= LIMIT {
            return Err(line.expected(format!("at most {LIMIT} instructions")));
        }
        // `L0:` may stand before an instruction or alone.
        let mut ahead = line.clone();
        let mut text = text.trim();
        if let Some(Token::Word(label)) = ahead.peek().cloned() {
            let _ = ahead.word("");
            if ahead.take(":") {
                if self.labels.insert(label, at).is_some() {
                    return Err(line.expected("a label that does not stand in this thread yet"));
                }
                *line = ahead;
                text = text.split_once(':').map_or("", |(_, rest)| rest.trim());
                if line.is_done() {
                    return Ok(());
                }
            }
        }
        let guard = if line.take("@") {
            let negated = line.take("!");
            let what = "a predicate register, p0 …";
            if !matches!(line.peek(), Some(Token::Word(word)) if word.starts_with('p')) {
                return Err(line.expected(what));
            }
            Some((self.register(line, what)?, negated))
        } else {
            None
        };
        let op = instruction::parse(self, line)?;
        if let Some(thread) = self.program.threads.last_mut() {
            thread.code.push(Instruction { guard, op, line: line.number, text: text.to_owned() });
        }
        Ok(())
    }

    /// Takes a register of the present thread, which may be new.
    pub fn register(&mut self, line: &mut Line<'_>, what: &str) -> Result<Register, LitmusError> {
        let place = line.clone();
        let name = line.word(what)?;
        let thread = self.program.threads.last_mut();
        match thread {
            Some(thread) => register_of(thread, name).ok_or_else(|| place.expected(what)),
            None => Err(place.expected(what)),
        }
    }

    /// The location called `name`.
    pub fn view(&self, name: &str) -> Option<usize> {
        self.views.get(name).copied()
    }

    /// Remembers that the present thread's instruction names a place.
    pub fn reach(&mut self, view: usize, error: LitmusError) {
        let thread = self.program.threads.len().saturating_sub(1);
        self.reached.push(Reach { thread, view, window: None, error });
    }

    /// Whether every place can be reached from where its thread runs, by the state space that the
    /// instruction names. A shared location that names no thread block belongs to that of its users.
    fn check_reached(&mut self) -> Result<(), LitmusError> {
        for Reach { thread, view, window, error, .. } in std::mem::take(&mut self.reached) {
            let fault = |expected: String| Err(LitmusError { expected, ..error.clone() });
            let place = self.program.threads[thread].place;
            let memory = self.program.views[view].memory;
            let name = self.program.views[view].name.clone();
            let here = place.cta;
            let space = self.program.memories[memory].space;
            if let Space::Shared(Some(cta)) = space
                && cta != here
                && self.unnamed.contains(&memory)
            {
                return fault(format!(
                    "`location {name} shared cta=…`: threads of blocks {cta} and {here} use it"
                ));
            }
            match (space, window) {
                (Space::Shared(None), None | Some(Window::SharedCta | Window::SharedCluster)) => {
                    self.program.memories[memory].space = Space::Shared(Some(here));
                    self.unnamed.push(memory);
                }
                (Space::Shared(Some(cta)), None | Some(Window::SharedCluster))
                    if !self.program.reaches(Window::SharedCluster, place, memory) =>
                {
                    return fault(format!(
                        "memory of thread block {here} or of its cluster: `{name}` belongs to block {cta}"
                    ));
                }
                (Space::Shared(Some(cta)), Some(Window::SharedCta)) if cta != here => {
                    return fault(format!(
                        "memory of thread block {here}: `{name}` belongs to block {cta}, which only \
                         `.shared::cluster` reaches"
                    ));
                }
                (Space::Shared(_), Some(Window::Global)) => {
                    return fault(format!("a location in global memory: `{name}` is shared"));
                }
                (Space::Global | Space::TensorMap, Some(window)) if window != Window::Global => {
                    return fault(format!("a location in shared memory: `{name}` is global"));
                }
                (Space::Tensor, Some(_)) => {
                    return fault(format!("a location outside tensor memory, unlike `{name}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Remembers that instruction `at` branches to `label`.
    pub fn jump(&mut self, label: String, place: &Line<'_>) -> Op {
        let at = self.program.threads.last().map_or(0, |thread| thread.code.len());
        self.jumps.push((at, label, place.expected("a label of this thread")));
        Op::Exit
    }

    fn disjunction(&mut self, line: &mut Line<'_>, depth: u32) -> Result<Condition, LitmusError> {
        let mut all = vec![self.conjunction(line, depth)?];
        while line.take("||") {
            all.push(self.conjunction(line, depth)?);
        }
        Ok(if all.len() == 1 { all.swap_remove(0) } else { Condition::Or(all) })
    }

    fn conjunction(&mut self, line: &mut Line<'_>, depth: u32) -> Result<Condition, LitmusError> {
        let mut all = vec![self.primary(line, depth)?];
        while line.take("&&") {
            all.push(self.primary(line, depth)?);
        }
        Ok(if all.len() == 1 { all.swap_remove(0) } else { Condition::And(all) })
    }

    fn primary(&mut self, line: &mut Line<'_>, depth: u32) -> Result<Condition, LitmusError> {
        if depth > 64 {
            return Err(line.expected("at most 64 nested conditions"));
        }
        if line.take("!") {
            return Ok(Condition::Not(Box::new(self.primary(line, depth + 1)?)));
        }
        if line.take("(") {
            let inner = self.disjunction(line, depth + 1)?;
            line.sign(")")?;
            return Ok(inner);
        }
        if line.take_word("true") {
            return Ok(Condition::True);
        }
        let a = self.term(line)?;
        let sign = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|sign| line.take(sign));
        let sign = sign.ok_or_else(|| line.expected("`==`, `!=` or `<`"))?;
        let b = self.term(line)?;
        let not = |condition| Condition::Not(Box::new(condition));
        Ok(match sign {
            "!=" => Condition::Equal(a, b, true),
            "<" => Condition::Less(a, b),
            ">" => Condition::Less(b, a),
            "<=" => not(Condition::Less(b, a)),
            ">=" => not(Condition::Less(a, b)),
            _ => Condition::Equal(a, b, false),
        })
    }

    fn term(&mut self, line: &mut Line<'_>) -> Result<Term, LitmusError> {
        let what = "a number, `THREAD:REGISTER` or a location";
        if let Some(Token::Number(number)) = line.peek() {
            let number = *number;
            line.number(what)?;
            return Ok(Term::Number(number));
        }
        let place = line.clone();
        let name = line.word(what)?;
        if !line.take(":") {
            let view = self.view(&name).ok_or_else(|| place.expected("a declared location"))?;
            return Ok(Term::Memory(self.program.views[view].memory));
        }
        let thread = self.program.threads.iter().position(|thread| thread.name == name);
        let thread = thread.ok_or_else(|| place.expected("a declared thread"))?;
        let place = line.clone();
        let what = "a register of that thread";
        let name = line.word(what)?;
        // One that no instruction names is 0.
        let register = register_of(&mut self.program.threads[thread], name);
        Ok(Term::Register(thread, register.ok_or_else(|| place.expected(what))?))
    }
}
