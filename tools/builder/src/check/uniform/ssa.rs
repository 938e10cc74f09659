//! Static single assignment: each register split into its definitions, and which definition each use sees.
//!
//! The usual construction (Cytron and others, pruned by liveness): where definitions from several ways meet, a *phi* is one
//! of its own.

use super::code::{Code, Reg};

/// A definition, by its place in [`Ssa::definitions`].
pub(super) type Id = usize;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum Definition {
    /// The definitions that meet at the start of a block, by the block that the way comes from.
    Phi { block: usize, from: Vec<(usize, Id)> },
    /// An instruction writes it.
    Result { instruction: usize, register: Reg },
    /// Nobody has written it.
    Unset,
}

/// The definitions that an instruction sees and makes.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub reads: Vec<(Reg, Id)>,
    pub guard: Option<Id>,
    /// What a partial write keeps of each register that it writes.
    pub kept: Vec<(Reg, Id)>,
    pub writes: Vec<(Reg, Id)>,
}

impl Uses {
    /// Which definition of a register is read.
    pub fn read(&self, register: Reg) -> Option<Id> {
        self.reads.iter().find(|(r, _)| *r == register).map(|&(_, id)| id)
    }

    /// Everything that the results depend on.
    pub fn all(&self) -> impl Iterator<Item = Id> {
        let read = self.reads.iter().chain(&self.kept).map(|&(_, id)| id);
        read.chain(self.guard)
    }
}

pub(super) struct Ssa {
    pub definitions: Vec<Definition>,
    /// For each instruction.
    pub uses: Vec<Uses>,
}

impl Ssa {
    pub fn of(code: &Code) -> Ssa {
        let dominators = code.graph.dominators();
        let phis = phis(code, &dominators);
        Renaming::new(code, &dominators, phis).run()
    }

    /// The block that a definition stands in; `None` for what nobody has written.
    pub fn block(&self, code: &Code, id: Id) -> Option<usize> {
        match &self.definitions[id] {
            Definition::Phi { block, .. } => Some(*block),
            Definition::Result { instruction, .. } => Some(code.graph.block_of[*instruction]),
            Definition::Unset => None,
        }
    }
}

/// A set of registers.
#[derive(Clone, PartialEq)]
struct Registers(Vec<u64>);

impl Registers {
    fn none(count: usize) -> Registers {
        Registers(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, register: Reg) {
        self.0[register as usize / 64] |= 1 << (register % 64);
    }

    fn has(&self, register: Reg) -> bool {
        self.0[register as usize / 64] >> (register % 64) & 1 == 1
    }
}

/// Registers that are read before they are written, at the start of each block.
fn live(code: &Code) -> Vec<Registers> {
    let count = code.graph.blocks.len();
    let mut live = vec![Registers::none(code.registers); count];
    let mut written = live.clone();
    for (b, block) in code.graph.blocks.iter().enumerate() {
        for access in &code.access[block.first..block.past] {
            let kept = access.writes.iter().filter(|_| access.partial);
            let guard = access.guard.iter().map(|(register, _)| register);
            for &register in access.reads.iter().chain(kept).chain(guard) {
                if !written[b].has(register) {
                    live[b].insert(register);
                }
            }
            access.writes.iter().for_each(|&register| written[b].insert(register));
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..count).rev() {
            for &next in &code.graph.blocks[b].next {
                for word in 0..live[b].0.len() {
                    let more = live[b].0[word] | live[next].0[word] & !written[b].0[word];
                    changed |= more != live[b].0[word];
                    live[b].0[word] = more;
                }
            }
        }
    }
    live
}

/// The registers for which definitions meet at the start of each block.
fn phis(code: &Code, dominators: &[Option<usize>]) -> Vec<Vec<Reg>> {
    let graph = &code.graph;
    let count = graph.blocks.len();
    let mut frontier = vec![Vec::new(); count];
    for b in (0..count).filter(|&b| b == 0 || dominators[b].is_some()) {
        for &from in graph.before[b].iter().filter(|_| graph.before[b].len() > 1 || b == 0) {
            let mut at = Some(from).filter(|&from| from == 0 || dominators[from].is_some());
            while let Some(block) = at.filter(|&block| Some(block) != dominators[b]) {
                if !frontier[block].contains(&b) {
                    frontier[block].push(b);
                }
                at = dominators[block];
            }
        }
    }
    let live = live(code);
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); code.registers];
    for (index, access) in code.access.iter().enumerate() {
        for &register in &access.writes {
            let block = graph.block_of[index];
            if writers[register as usize].last() != Some(&block) {
                writers[register as usize].push(block);
            }
        }
    }
    let mut phis = vec![Vec::new(); count];
    for (register, mut work) in (0..).zip(writers) {
        let mut has = vec![false; if work.is_empty() { 0 } else { count }];
        while let Some(block) = work.pop() {
            for &b in &frontier[block] {
                if live[b].has(register) && !std::mem::replace(&mut has[b], true) {
                    phis[b].push(register);
                    work.push(b);
                }
            }
        }
    }
    phis
}

/// The walk down the tree of dominators that gives each use its definition.
struct Renaming<'a> {
    code: &'a Code,
    children: Vec<Vec<usize>>,
    /// The registers of each block's phis, and their definitions.
    phis: Vec<Vec<(Reg, Id)>>,
    definitions: Vec<Definition>,
    uses: Vec<Uses>,
    /// The definitions in force, for each register.
    stacks: Vec<Vec<Id>>,
    unset: Vec<Option<Id>>,
}

impl<'a> Renaming<'a> {
    fn new(code: &'a Code, dominators: &[Option<usize>], phis: Vec<Vec<Reg>>) -> Self {
        let mut children = vec![Vec::new(); dominators.len()];
        for (block, parent) in dominators.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(block);
            }
        }
        let mut definitions = Vec::new();
        let mut placed = Vec::with_capacity(phis.len());
        for (block, registers) in phis.into_iter().enumerate() {
            let place = |register| {
                definitions.push(Definition::Phi { block, from: Vec::new() });
                (register, definitions.len() - 1)
            };
            placed.push(registers.into_iter().map(place).collect());
        }
        Renaming {
            children,
            phis: placed,
            definitions,
            uses: vec![Uses::default(); code.access.len()],
            stacks: vec![Vec::new(); code.registers],
            unset: vec![None; code.registers],
            code,
        }
    }

    fn run(mut self) -> Ssa {
        enum Step {
            Enter(usize),
            Leave(Vec<Reg>),
        }
        let mut work = vec![Step::Enter(0)];
        while let Some(step) = work.pop() {
            match step {
                Step::Enter(block) => {
                    let pushed = self.block(block);
                    work.push(Step::Leave(pushed));
                    work.extend(self.children[block].iter().map(|&child| Step::Enter(child)));
                }
                Step::Leave(pushed) => {
                    for register in pushed {
                        self.stacks[register as usize].pop();
                    }
                }
            }
        }
        Ssa { definitions: self.definitions, uses: self.uses }
    }

    /// Gives the uses of a block their definitions; the registers that it defines.
    fn block(&mut self, block: usize) -> Vec<Reg> {
        let mut pushed = Vec::new();
        for &(register, id) in &self.phis[block] {
            self.stacks[register as usize].push(id);
            pushed.push(register);
        }
        let (first, past) =
            (self.code.graph.blocks[block].first, self.code.graph.blocks[block].past);
        for index in first..past {
            let access = &self.code.access[index];
            let mut uses = Uses {
                reads: access.reads.iter().map(|&r| (r, self.current(r))).collect(),
                guard: access.guard.map(|(r, _)| self.current(r)),
                ..Uses::default()
            };
            for &register in &access.writes {
                if access.partial {
                    uses.kept.push((register, self.current(register)));
                }
            }
            for &register in &access.writes {
                let id = self.definitions.len();
                self.definitions.push(Definition::Result { instruction: index, register });
                uses.writes.push((register, id));
                self.stacks[register as usize].push(id);
                pushed.push(register);
            }
            self.uses[index] = uses;
        }
        for &next in &self.code.graph.blocks[block].next {
            for i in 0..self.phis[next].len() {
                let (register, phi) = self.phis[next][i];
                let current = self.current(register);
                if let Definition::Phi { from, .. } = &mut self.definitions[phi] {
                    from.push((block, current));
                }
            }
        }
        pushed
    }

    fn current(&mut self, register: Reg) -> Id {
        let slot = register as usize;
        if let Some(&id) = self.stacks[slot].last() {
            return id;
        }
        *self.unset[slot].get_or_insert_with(|| {
            self.definitions.push(Definition::Unset);
            self.definitions.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    fn ssa(text: &str) -> (Code, Ssa) {
        let text = format!(".func f() {{ .reg .pred p; .reg .b32 a, b; {text} }}");
        let body = Module::parse(&text, "t").unwrap().functions[0].body.clone().unwrap();
        let code = Code::new(body, Vec::new(), |_| false);
        let ssa = Ssa::of(&code);
        (code, ssa)
    }

    #[test]
    fn two_arms_meet_in_a_phi() {
        let (_, ssa) = ssa("mov.u32 a, 1; @p bra A; mov.u32 a, 2; A: mov.u32 b, a;");
        let read = ssa.uses[3].reads[0].1;
        let Definition::Phi { from, .. } = &ssa.definitions[read] else { panic!("a phi") };
        let written = |i: usize| ssa.uses[i].writes[0].1;
        assert_eq!(from.iter().map(|f| f.1).collect::<Vec<_>>(), [written(0), written(2)]);
    }

    #[test]
    fn what_one_definition_reaches_has_no_phi() {
        let (_, ssa) = ssa("mov.u32 a, 1; @p bra A; mov.u32 b, 2; A: mov.u32 b, a;");
        assert_eq!(ssa.uses[3].reads[0].1, ssa.uses[0].writes[0].1);
        assert!(!ssa.definitions.iter().any(|d| matches!(d, Definition::Phi { .. })));
    }

    #[test]
    fn a_loop_gives_its_counter_a_phi_at_its_header() {
        let (code, ssa) = ssa("mov.u32 a, 1; L: add.u32 a, a, 1; @p bra L; ret;");
        let read = ssa.uses[1].reads[0].1;
        assert_eq!(ssa.block(&code, read), Some(1));
        let Definition::Phi { from, .. } = &ssa.definitions[read] else { panic!("a phi") };
        assert!(from.contains(&(1, ssa.uses[1].writes[0].1)));
    }

    #[test]
    fn a_guarded_write_keeps_what_was_there() {
        let (_, ssa) = ssa("mov.u32 a, 1; @p mov.u32 a, 2; mov.u32 b, a;");
        assert_eq!(ssa.uses[1].kept[0].1, ssa.uses[0].writes[0].1);
        assert_eq!(ssa.uses[2].reads[0].1, ssa.uses[1].writes[0].1);
        // Nobody has written the predicate.
        assert!(matches!(ssa.definitions[ssa.uses[1].guard.unwrap()], Definition::Unset));
    }
}
