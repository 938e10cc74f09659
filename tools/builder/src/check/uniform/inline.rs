//! Calls: functions that the kernel calls are looked at where they are called.
//!
//! A copy of the function stands in place of each call, so that its collectives are judged by the branches of its
//! callers, and its results by their arguments. What cannot be copied (a function that calls itself, a call through a
//! pointer, very many instructions) stays a call: its results are taken to differ between all threads, and if a
//! collective may be behind it, that is told.
//!
//! Comments of the device library that stand for themselves become instructions of their own here, `baton.roles` and the like, which
//! write nothing: so they have a place in the control flow, before or behind a label as in the text.

use std::collections::{BTreeMap, BTreeSet};

use baton_ptx::{
    Address, Base, Body, Comment, Function, FunctionKind, Instruction, Label, LabelId, Module,
    Operand, RegId, Space, Symbol, VarId,
};

use super::code::Reg;
use super::site;
use crate::post::annotations::stands_alone;

/// Instructions of a kernel with its functions, at most.
const INSTRUCTIONS: usize = 60_000;

/// What is known of the functions of a module.
pub(super) struct Functions<'m> {
    module: &'m Module,
    /// Those that do not return.
    endless: BTreeSet<&'m str>,
    /// Those that hold collectives, or call what does.
    holders: BTreeSet<&'m str>,
    /// The marks in front of instructions of each function, by its name.
    marks: BTreeMap<&'m str, Vec<(usize, &'m Comment)>>,
}

/// Instructions that move one value for all threads of a set (`warp`, `group` or `cta`), by a comment in front of them; in their order.
pub(super) type Marks = Vec<(usize, String)>;

/// A kernel with its functions.
pub(super) struct Inlined {
    pub body: Body,
    /// The marks in front of its instructions.
    pub marks: Marks,
    /// A call that was left and may hide a collective: its line, and why it was left.
    pub hidden: Vec<(u32, String)>,
    /// What comments say in functions that may be called there.
    pub unplaced: Vec<Instruction>,
}

impl<'m> Functions<'m> {
    pub fn of(module: &'m Module) -> Functions<'m> {
        let mut functions = Functions {
            module,
            endless: BTreeSet::new(),
            holders: BTreeSet::new(),
            marks: BTreeMap::new(),
        };
        for function in &module.functions {
            if let Some(body) = &function.body {
                functions.marks.insert(&function.name, comments(module, body));
            }
            if function.directive("noreturn").is_some() || &*function.name == "__assertfail" {
                functions.endless.insert(&function.name);
            }
        }
        loop {
            let before = (functions.endless.len(), functions.holders.len());
            for function in &module.functions {
                let Some(body) = &function.body else { continue };
                if function.kind == FunctionKind::Func && !functions.returns(body) {
                    functions.endless.insert(&function.name);
                }
                let holds = |i: &Instruction| {
                    site::set(i).is_some()
                        || callee(i).is_some_and(|name| functions.holders.contains(name))
                };
                let says = |&(_, comment): &(usize, &Comment)| stands_alone(&comment.text);
                if body.instructions.iter().any(holds)
                    || functions.marks[&*function.name].iter().any(says)
                {
                    functions.holders.insert(&function.name);
                }
            }
            if (functions.endless.len(), functions.holders.len()) == before {
                return functions;
            }
        }
    }

    /// Whether a function holds collectives.
    pub fn holds(&self, name: &str) -> bool {
        self.holders.contains(name)
    }

    /// Whether nothing comes back from an instruction.
    pub fn ends(&self, instruction: &Instruction) -> bool {
        callee(instruction).is_some_and(|name| self.endless.contains(name))
    }

    fn returns(&self, body: &Body) -> bool {
        let graph = baton_ptx::flow::Graph::of_ending(body, |i| self.ends(&body.instructions[i]));
        let after = graph.after();
        let reached = baton_ptx::flow::postorder(0, &after);
        reached.iter().any(|&b| graph.blocks[b].end == Some(baton_ptx::flow::End::Return))
    }

    /// What comments say in the functions that are not among those that were copied.
    fn said_elsewhere(&self, copied: &BTreeSet<&str>) -> Vec<Instruction> {
        let others = self.module.functions.iter().filter(|function| {
            function.kind == FunctionKind::Func && !copied.contains(&*function.name)
        });
        let comments =
            others.flat_map(|function| self.marks.get(&*function.name).into_iter().flatten());
        comments.filter_map(|(_, comment)| statement(comment, |_| None)).collect()
    }

    /// The body of a kernel with the functions that it calls.
    pub fn inline(&self, entry: &'m Function) -> Option<Inlined> {
        let body = entry.body.as_ref()?;
        let mut inlined = Inlined {
            body: Body { line: body.line, ..Body::default() },
            marks: Vec::new(),
            hidden: Vec::new(),
            unplaced: Vec::new(),
        };
        let mut copy = Copy {
            functions: self,
            into: &mut inlined,
            stack: Vec::new(),
            copied: BTreeSet::new(),
        };
        copy.body(&entry.name, body, &BTreeMap::new());
        let copied = copy.copied;
        if !inlined.hidden.is_empty() {
            inlined.unplaced = self.said_elsewhere(&copied);
        }
        Some(inlined)
    }
}

/// The comments in a body, each with the instruction that comes behind it.
fn comments<'m>(module: &'m Module, body: &Body) -> Vec<(usize, &'m Comment)> {
    let code = &body.instructions;
    let Some(last) = code.last() else { return Vec::new() };
    let inside = module.comments.iter().filter(|c| (body.line..=last.line).contains(&c.line));
    let next = |comment: &Comment| code.partition_point(|i| i.line < comment.line);
    inside.map(|comment| (next(comment), comment)).collect()
}

/// Whether this says that a set holds one value in a register.
pub(super) fn agrees(instruction: &Instruction) -> bool {
    instruction.opcode() == "baton" && instruction.has("agree")
}

/// What a comment that stands alone says, as an instruction: `baton.roles`, `baton.agree.SET REG`, `baton.end FIELD, END, HOLDER`,
/// `baton.opened.WHAT REG, HOLDER`.
fn statement(comment: &Comment, named: impl Fn(&str) -> Option<RegId>) -> Option<Instruction> {
    let words: Vec<&str> = comment.text.split_whitespace().collect();
    let register = |name: &str| named(name).map_or(Operand::Sink, Operand::Register);
    let number = |text: &str| text.parse().ok().map(Operand::Int);
    let (mnemonic, operands) = match *words.as_slice() {
        ["roles", _] => ("baton.roles".to_owned(), Vec::new()),
        ["agree", set, name] => (format!("baton.agree.{set}"), vec![register(name)]),
        ["end", field, end, holder] => {
            ("baton.end".to_owned(), vec![number(field)?, number(end)?, number(holder)?])
        }
        ["opened", name, what, holder] => {
            (format!("baton.opened.{what}"), vec![register(name), number(holder)?])
        }
        _ => return None,
    };
    Some(Instruction {
        guard: None,
        mnemonic: mnemonic.into(),
        operands,
        line: comment.line,
        span: 0..0,
        location: None,
    })
}

/// Whom a call calls by name.
fn callee(instruction: &Instruction) -> Option<&str> {
    if instruction.opcode() != "call" {
        return None;
    }
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Symbol(Symbol::Global(name), _) => Some(&**name),
        _ => None,
    })
}

/// A parameter or a return value of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Formal {
    Param(u32),
    Return(u32),
}

/// The work of copying bodies into one.
struct Copy<'a, 'm> {
    functions: &'a Functions<'m>,
    into: &'a mut Inlined,
    /// The functions around.
    stack: Vec<&'m str>,
    /// Those that stand in it.
    copied: BTreeSet<&'m str>,
}

/// Where the parts of one body have come to lie.
struct Moved<'a> {
    registers: u32,
    variables: u32,
    labels: u32,
    actual: &'a BTreeMap<Formal, Symbol>,
}

impl<'m> Copy<'_, 'm> {
    fn body(&mut self, name: &'m str, body: &'m Body, actual: &BTreeMap<Formal, Symbol>) {
        let into = &mut self.into.body;
        let moved = Moved {
            registers: into.registers.len() as u32,
            variables: into.variables.len() as u32,
            labels: into.labels.len() as u32,
            actual,
        };
        into.registers.extend(body.registers.iter().cloned());
        into.variables.extend(body.variables.iter().cloned());
        into.labels.extend(body.labels.iter().cloned());
        let behind = LabelId(into.labels.len() as u32);
        into.labels.push(Label { name: "".into(), line: body.line, target: 0 });
        let lists = body.branch_targets.iter().map(|(list, labels)| {
            (moved.label(*list), labels.iter().map(|&label| moved.label(label)).collect())
        });
        into.branch_targets.extend(lists.collect::<Vec<_>>());
        self.stack.push(name);
        self.copied.insert(name);
        let mut place = Vec::with_capacity(body.instructions.len() + 1);
        // Of the comments that stand alone: before which instruction, their lines, and where they have come to stand.
        let mut alone: Vec<(usize, u32, usize)> = Vec::new();
        let functions = self.functions;
        let mut marks = functions.marks.get(name).into_iter().flatten().peekable();
        for (index, instruction) in body.instructions.iter().enumerate() {
            let mut same = None;
            while let Some((_, comment)) = marks.next_if(|&&(at, _)| at <= index) {
                let named = |name: &str| moved.named(body, name);
                match statement(comment, named) {
                    Some(statement) => {
                        alone.push((index, comment.line, self.into.body.instructions.len()));
                        self.into.body.instructions.push(statement);
                    }
                    None => same = comment.text.strip_prefix("same ").or(same),
                }
            }
            place.push(self.into.body.instructions.len());
            self.into.marks.extend(same.map(|set| (place[index], set.trim().to_owned())));
            self.instruction(instruction, &moved, behind);
        }
        place.push(self.into.body.instructions.len());
        self.stack.pop();
        let labels = &mut self.into.body.labels;
        for (i, label) in body.labels.iter().enumerate() {
            // A label that names a list stands nowhere. Behind one that comments stand behind, it goes on with them.
            let behind = |&&(before, line, _): &&(usize, u32, usize)| {
                before == label.target && line > label.line
            };
            let comment = alone.iter().find(behind).map(|&(_, _, at)| at);
            let target = comment.or_else(|| place.get(label.target).copied());
            labels[moved.labels as usize + i].target = target.unwrap_or(usize::MAX);
        }
        labels[behind.0 as usize].target = place[body.instructions.len()];
    }

    fn instruction(&mut self, original: &'m Instruction, moved: &Moved<'_>, behind: LabelId) {
        let mut instruction = original.clone();
        if let Some(guard) = &mut instruction.guard {
            guard.register = moved.register(guard.register);
        }
        instruction.operands.iter_mut().for_each(|operand| moved.operand(operand));
        // The location belongs to another list.
        instruction.location = None;
        let inner = self.stack.len() > 1;
        match original.opcode() {
            "ret" if inner => self.into.body.instructions.push(jump(&instruction, behind, false)),
            "call" => self.call(original, instruction),
            _ => self.into.body.instructions.push(instruction),
        }
    }

    fn call(&mut self, original: &'m Instruction, instruction: Instruction) {
        let functions = self.functions;
        if functions.ends(original) {
            self.into.body.instructions.push(instruction);
            return;
        }
        let found = callee(original).and_then(|name| functions.module.function(name));
        let Some((function, body)) = found.and_then(|f| Some((f, f.body.as_ref()?))) else {
            // The driver's own functions hold no collectives; through a pointer, any function may be called.
            if found.is_none() && functions.holders.iter().any(|name| self.is_function(name)) {
                let why =
                    "it goes through a pointer, and functions of this module hold collectives";
                self.into.hidden.push((original.line, why.into()));
            }
            self.into.body.instructions.push(instruction);
            return;
        };
        let size = self.into.body.instructions.len() + body.instructions.len();
        let why = if self.stack.contains(&&*function.name) {
            Some("it calls itself")
        } else if size > INSTRUCTIONS {
            Some("the kernel is too large")
        } else {
            None
        };
        let actual = arguments(function, &instruction);
        let (None, Some(actual)) = (why, actual) else {
            if functions.holds(&function.name) {
                let why = why.unwrap_or("its parameters are not in `.param` space");
                self.into.hidden.push((original.line, format!("{why} and holds collectives")));
            }
            self.into.body.instructions.push(instruction);
            return;
        };
        let mut around = None;
        if let Some(guard) = instruction.guard {
            let label = LabelId(self.into.body.labels.len() as u32);
            self.into.body.labels.push(Label { name: "".into(), line: original.line, target: 0 });
            let mut skip = jump(&instruction, label, true);
            skip.guard =
                Some(guard).map(|guard| baton_ptx::Guard { negated: !guard.negated, ..guard });
            self.into.body.instructions.push(skip);
            around = Some(label);
        }
        self.body(&function.name, body, &actual);
        if let Some(label) = around {
            self.into.body.labels[label.0 as usize].target = self.into.body.instructions.len();
        }
    }

    fn is_function(&self, name: &str) -> bool {
        let function = self.functions.module.function(name);
        function.is_some_and(|function| function.kind == FunctionKind::Func)
    }
}

/// The variables that a call passes, by the names that the function has for them.
fn arguments(function: &Function, call: &Instruction) -> Option<BTreeMap<Formal, Symbol>> {
    let at = call.operands.iter().position(|operand| !matches!(operand, Operand::List(_)))?;
    let (before, behind) = (&call.operands[..at], &call.operands[at + 1..]);
    let items = |lists: &[Operand]| match lists {
        [Operand::List(items), ..] => items.clone(),
        _ => Vec::new(),
    };
    let (returns, params) = (items(before), items(behind));
    let in_memory =
        function.params.iter().chain(&function.returns).all(|p| p.space == Space::Param);
    if !in_memory
        || returns.len() != function.returns.len()
        || params.len() != function.params.len()
    {
        return None;
    }
    let mut actual = BTreeMap::new();
    let named = |formal: fn(u32) -> Formal, items: Vec<Operand>| {
        let pairs = (0..).map(formal).zip(items);
        pairs.map(|(formal, item)| match item {
            Operand::Symbol(symbol, 0) => Some((formal, symbol)),
            _ => None,
        })
    };
    for pair in named(Formal::Return, returns).chain(named(Formal::Param, params)) {
        let (formal, symbol) = pair?;
        actual.insert(formal, symbol);
    }
    Some(actual)
}

/// A jump in place of an instruction.
fn jump(instead: &Instruction, to: LabelId, skips: bool) -> Instruction {
    let mnemonic = if skips || instead.guard.is_some() { "bra" } else { "bra.uni" };
    Instruction { mnemonic: mnemonic.into(), operands: vec![Operand::Label(to)], ..instead.clone() }
}

impl Moved<'_> {
    fn register(&self, register: RegId) -> RegId {
        RegId(register.0 + self.registers)
    }

    /// The register that a comment names.
    fn named(&self, body: &Body, name: &str) -> Option<RegId> {
        let named = |register: &baton_ptx::Register| *register.name == *name.trim();
        let at = body.registers.iter().position(named)?;
        Some(RegId(at as Reg + self.registers))
    }

    fn label(&self, label: LabelId) -> LabelId {
        LabelId(label.0 + self.labels)
    }

    fn symbol(&self, symbol: &mut Symbol) {
        let formal = match symbol {
            Symbol::Local(id) => {
                *id = VarId(id.0 + self.variables);
                return;
            }
            Symbol::Param(i) => Formal::Param(*i),
            Symbol::Return(i) => Formal::Return(*i),
            Symbol::Global(_) => return,
        };
        if let Some(actual) = self.actual.get(&formal) {
            *symbol = actual.clone();
        }
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Register(register)
            | Operand::Not(register)
            | Operand::Sum(register, _)
            | Operand::Component(register, _) => {
                *register = self.register(*register);
            }
            Operand::Vector(parts) | Operand::List(parts) => {
                parts.iter_mut().for_each(|part| self.operand(part));
            }
            Operand::Address(Address { base, items, .. }) => {
                match base {
                    Base::Register(register) => *register = self.register(*register),
                    Base::Symbol(symbol) => self.symbol(symbol),
                    Base::Absolute => {}
                }
                items.iter_mut().for_each(|item| self.operand(item));
            }
            Operand::Symbol(symbol, _) => self.symbol(symbol),
            Operand::Label(label) => *label = self.label(*label),
            Operand::Pair(first, second) => {
                self.operand(first);
                self.operand(second);
            }
            Operand::Special(_)
            | Operand::Int(_)
            | Operand::F32(_)
            | Operand::F64(_)
            | Operand::Sink => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(functions: &str, body: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n{functions}\n.visible .entry k()\n{{\n.reg .pred %p;\n\
             .reg .b32 %r<4>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse(&text, "k").unwrap();
        let functions = Functions::of(&module);
        let inlined = functions.inline(module.function("k").unwrap()).unwrap();
        let code = inlined.body.instructions.iter().map(|i| i.mnemonic.to_string()).collect();
        (code, inlined.hidden.into_iter().map(|(_, why)| why).collect())
    }

    const MEETS: &str = ".func meets()\n{\n.reg .pred %p;\n@%p ret;\nbar.sync 0;\nret;\n}\n";

    #[test]
    fn a_function_stands_where_it_is_called() {
        let (code, hidden) =
            inlined(MEETS, "mov.u32 %r1, 1;\ncall.uni meets, ();\nmov.u32 %r1, 2;");
        assert_eq!(code, ["mov.u32", "bra", "bar.sync", "bra.uni", "mov.u32", "ret"]);
        assert!(hidden.is_empty());
        let (code, _) = inlined(MEETS, "@%p call meets, ();");
        assert_eq!(code, ["bra", "bra", "bar.sync", "bra.uni", "ret"]);
    }

    #[test]
    fn a_function_that_calls_itself_is_told_if_it_holds_a_collective() {
        let again = |what: &str| {
            format!(".func again()\n{{\n.reg .pred %p;\n{what}\n@%p call again, ();\nret;\n}}\n")
        };
        let (_, hidden) = inlined(&again("bar.sync 0;"), "call.uni again, ();");
        assert_eq!(hidden, ["it calls itself and holds collectives"]);
        assert!(inlined(&again(""), "call.uni again, ();").1.is_empty());
    }

    #[test]
    fn what_does_not_return_stays_a_call() {
        let stop = ".func stop()\n{\ntrap;\n}\n.func stops()\n{\ncall.uni stop, ();\nret;\n}\n";
        let (code, _) = inlined(stop, "call.uni stops, ();");
        assert_eq!(code, ["call.uni", "ret"]);
    }
}
