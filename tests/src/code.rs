//! Where the instructions of a kernel may go on to, and the loops that follow from that: in PTX and in machine
//! code.

use std::collections::{BTreeMap, BTreeSet};

use baton_ptx::{Module, Operand};

/// How often each opcode occurs.
pub type Opcodes = BTreeMap<String, usize>;

/// A kernel's instructions and where each may go on to.
#[derive(Clone, Debug, Default)]
pub struct Code {
    opcodes: Vec<String>,
    next: Vec<Vec<usize>>,
}

impl Code {
    fn push(&mut self, opcode: &str, target: Option<usize>, goes_on: bool) {
        let following = goes_on.then_some(self.opcodes.len() + 1);
        self.next.push(target.into_iter().chain(following).collect());
        self.opcodes.push(opcode.to_owned());
    }

    /// From PTX.
    ///
    /// # Panics
    /// If there is no such kernel.
    pub fn of_ptx(module: &Module, kernel: &str) -> Self {
        let function = module.functions.iter().find(|function| &*function.name == kernel);
        let body = function.and_then(|function| function.body.as_ref()).expect("the kernel");
        let mut code = Self::default();
        for instruction in &body.instructions {
            let target = match (instruction.opcode(), instruction.operands.first()) {
                ("bra", Some(Operand::Label(label))) => Some(body.labels[label.0 as usize].target),
                _ => None,
            };
            let ends = matches!(instruction.opcode(), "bra" | "ret" | "exit" | "trap");
            code.push(&instruction.mnemonic, target, instruction.guard.is_some() || !ends);
        }
        code
    }

    /// From nvdisasm's listing, in which instructions like ``/*0710*/ @!P1 BRA `(.L_x_78) ;`` stand between labels
    /// like `.L_x_83:`.
    ///
    /// # Panics
    /// If it has another form.
    pub fn of_listing(listing: &str, kernel: &str) -> Self {
        let start = format!(".text.{kernel}:");
        let lines = listing.lines().skip_while(|line| *line != start).skip(1);
        let lines = lines.take_while(|line| !line.starts_with("\t.section"));
        let mut labels = BTreeMap::new();
        let mut instructions = Vec::new();
        for line in lines {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, instructions.len());
            } else if let Some((_, text)) = line.split_once("*/") {
                instructions.extend(text.split_once(';').map(|(text, _)| text.trim()));
            }
        }
        let mut code = Self::default();
        for text in instructions {
            let (guard, text) = match text.strip_prefix('@') {
                Some(guarded) => guarded.split_once(' ').expect("an instruction behind its guard"),
                None => ("", text),
            };
            let text = text.trim();
            let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
            let word = opcode.split('.').next().unwrap_or_default();
            let target = operands.split_once("`(").and_then(|(_, rest)| rest.split_once(')'));
            let target = target.filter(|_| word == "BRA").map(|(label, _)| labels[label]);
            // `BRA.U UP0, …` and `BRA.DIV UR4, …` have their condition among the operands.
            let conditional = !guard.is_empty() || (word == "BRA" && operands.contains(','));
            let ends = matches!(word, "BRA" | "EXIT" | "BPT");
            code.push(opcode, target, conditional || !ends);
        }
        code
    }

    /// How often each opcode occurs.
    pub fn opcodes(&self) -> Opcodes {
        let mut opcodes = Opcodes::new();
        self.opcodes.iter().for_each(|opcode| *opcodes.entry(opcode.clone()).or_default() += 1);
        opcodes
    }

    /// Whether a way from an instruction, onwards or backwards, meets a `hit` before it meets a `stop` or ends. The
    /// instruction itself is met only by a way that comes back to it.
    pub fn meets(
        &self,
        from: usize,
        onwards: bool,
        stop: impl Fn(usize) -> bool,
        hit: impl Fn(usize) -> bool,
    ) -> bool {
        let step = |at: usize| -> Vec<usize> {
            if onwards {
                self.next[at].iter().copied().filter(|&next| next < self.next.len()).collect()
            } else {
                (0..self.next.len()).filter(|&before| self.next[before].contains(&at)).collect()
            }
        };
        let mut seen = BTreeSet::new();
        let mut open = step(from);
        while let Some(at) = open.pop() {
            if stop(at) || !seen.insert(at) {
                continue;
            }
            if hit(at) {
                return true;
            }
            open.extend(step(at));
        }
        false
    }

    /// The ways that do not take these steps, from one instruction straight on to another.
    pub fn without(mut self, edges: &[(usize, usize)]) -> Self {
        for &(from, to) in edges {
            self.next[from].retain(|&next| next != to);
        }
        self
    }

    /// Where a branch jumps to.
    pub fn target(&self, branch: usize) -> Option<usize> {
        self.next[branch].first().copied()
    }

    /// Whether a way from the start reaches an instruction.
    pub fn is_reached(&self, at: usize) -> bool {
        at == 0 || self.meets(0, true, |_| false, |i| i == at)
    }

    /// The opcodes of each innermost loop that has an instruction that begins like this.
    ///
    /// # Panics
    /// If there is none.
    pub fn loops_around(&self, instruction: &str) -> Vec<Opcodes> {
        let loops = self.loops();
        let around =
            |at| loops.iter().filter(move |body| body.contains(&at)).min_by_key(|b| b.len());
        let found: BTreeSet<&BTreeSet<usize>> = (0..self.opcodes.len())
            .filter(|&at| self.opcodes[at].starts_with(instruction))
            .filter_map(around)
            .collect();
        assert!(!found.is_empty(), "no loop has {instruction}");
        let count = |body: &BTreeSet<usize>| {
            let mut opcodes = Opcodes::new();
            body.iter().for_each(|&at| *opcodes.entry(self.opcodes[at].clone()).or_default() += 1);
            opcodes
        };
        found.into_iter().map(count).collect()
    }

    /// The opcodes of what stands in some loop, each as often as it stands there.
    pub fn opcodes_in_loops(&self) -> Vec<String> {
        let inside: BTreeSet<usize> = self.loops().into_iter().flatten().collect();
        inside.into_iter().map(|at| self.opcodes[at].clone()).collect()
    }

    /// The natural loops: for each head, what reaches a jump back to it without passing it.
    pub fn loops(&self) -> Vec<BTreeSet<usize>> {
        let mut before = vec![Vec::new(); self.next.len()];
        for (at, next) in self.next.iter().enumerate() {
            // Padding at the end goes on to nothing.
            next.iter().for_each(|&next| before.get_mut(next).into_iter().for_each(|b| b.push(at)));
        }
        let dominators = self.dominators(&before);
        let mut loops = BTreeMap::<usize, BTreeSet<usize>>::new();
        for (at, next) in self.next.iter().enumerate() {
            for &head in next.iter().filter(|head| dominators[at].contains(head)) {
                let body = loops.entry(head).or_insert_with(|| BTreeSet::from([head]));
                let mut open = vec![at];
                while let Some(at) = open.pop() {
                    if body.insert(at) {
                        open.extend(&before[at]);
                    }
                }
            }
        }
        loops.into_values().collect()
    }

    /// For each instruction those that every way to it passes, itself included; none for what cannot be reached.
    fn dominators(&self, before: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
        let mut dominators: Vec<Option<BTreeSet<usize>>> = vec![None; before.len()];
        dominators[0] = Some(BTreeSet::from([0]));
        loop {
            let mut changed = false;
            for at in 1..before.len() {
                let known = before[at].iter().filter_map(|&before| dominators[before].as_ref());
                let common = known.cloned().reduce(|a, b| &a & &b);
                let new = common.map(|mut common| {
                    common.insert(at);
                    common
                });
                changed |= new != dominators[at];
                dominators[at] = new;
            }
            if !changed {
                return dominators.into_iter().map(Option::unwrap_or_default).collect();
            }
        }
    }
}
