//! Registers that `wgmma` instructions write, lost before a wait.
//!
//! A product of a warpgroup lies in the registers of its threads, and from `wgmma.fence` to the
//! `wgmma.wait_group` that covers its group they belong to the instructions (rules E1, E2). The
//! device library names them in comments where it hands them over and where a wait gives them back:
//! `//@baton handed %f1 %f2 …` and `//@baton settled 0 %f1 %f2 …`. Types let nobody touch a product in
//! between, but not that somebody forgets it (`mem::forget`); then nothing keeps the compiler, or
//! ptxas, from putting other values into its registers.
//!
//! So from each `wgmma.mma_async` that writes such registers, every way to an end of the function
//! must carry all of them, through `mov`s between registers and further instructions of the product,
//! to a wait that names them. It is a backward problem: behind each instruction, which registers hold
//! what every way brings to such a wait.
//!
//! Never reported wrongly: products that the library's own wait gives back on every way. Missed:
//! products of the instruction layer, whose author promises this himself, and the registers of A.

use std::collections::{BTreeMap, BTreeSet};

use baton_ptx::flow::{End, Graph};
use baton_ptx::lines::LineTable;
use baton_ptx::{Body, Instruction, Module, Operand, RegId};

use super::Finding;

pub(super) fn check(module: &Module, lines: &LineTable) -> Vec<Finding> {
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    bodies.flat_map(|body| Products::of(module, body).lost(body, lines)).collect()
}

/// What the library says of the registers of a body's products.
struct Products {
    /// Registers that hold sums of products, numbered.
    sums: BTreeMap<RegId, usize>,
    /// Behind which instruction a wait gives registers back, and which.
    settled: BTreeMap<usize, Vec<usize>>,
}

/// A set of numbered registers.
type Set = Vec<bool>;

impl Products {
    fn of(module: &Module, body: &Body) -> Self {
        let numbered = body.registers.iter().enumerate();
        // Those of the function come before those of inner scopes.
        let registers: BTreeMap<&str, RegId> =
            numbered.rev().map(|(at, register)| (&*register.name, RegId(at as u32))).collect();
        let said = |prefix: &'static str| {
            comments(module, body)
                .filter_map(move |(index, text)| Some((index, text.strip_prefix(prefix)?)))
        };
        let named = |names: &str| -> Vec<RegId> {
            names.split_whitespace().filter_map(|name| registers.get(name).copied()).collect()
        };
        let handed: BTreeSet<RegId> = said("handed ").flat_map(|(_, names)| named(names)).collect();
        let sums: BTreeMap<RegId, usize> = carried(body, handed).into_iter().zip(0..).collect();
        // A wait that lets groups be incomplete settles no registers.
        let settled = said("settled 0 ").map(|(index, names)| {
            let known =
                named(names).into_iter().filter_map(|register| sums.get(&register).copied());
            (index, known.collect())
        });
        Self { settled: settled.collect(), sums }
    }

    /// The instructions whose product some way loses.
    fn lost(&self, body: &Body, lines: &LineTable) -> Vec<Finding> {
        if self.sums.is_empty() {
            return Vec::new();
        }
        let graph = Graph::of(body);
        let kept = self.kept(body, &graph);
        let mut findings = Vec::new();
        let mut told = BTreeSet::new();
        for block in &graph.blocks {
            let mut behind = self.behind(&graph, block, &kept);
            for index in (block.first..block.past).rev() {
                let instruction = &body.instructions[index];
                self.give_back(index, &mut behind);
                if is_product(instruction)
                    && self.written(instruction).any(|sum| !behind[sum])
                    && told.insert(format!("{:?}", lines.get(instruction.line)))
                {
                    findings.push(Finding::at(LOST, instruction.line, lines));
                }
                self.step(instruction, &mut behind);
            }
        }
        findings
    }

    /// For each block, the registers in which every way brings what they hold at its beginning to a wait.
    fn kept(&self, body: &Body, graph: &Graph) -> Vec<Set> {
        // From above: a loop without an end loses nothing by itself.
        let mut kept = vec![vec![true; self.sums.len()]; graph.blocks.len()];
        loop {
            let mut changed = false;
            for (at, block) in graph.blocks.iter().enumerate().rev() {
                let mut set = self.behind(graph, block, &kept);
                for index in (block.first..block.past).rev() {
                    self.give_back(index, &mut set);
                    self.step(&body.instructions[index], &mut set);
                }
                changed |= set != kept[at];
                kept[at] = set;
            }
            if !changed {
                return kept;
            }
        }
    }

    /// What holds behind the last instruction of a block.
    fn behind(&self, graph: &Graph, block: &baton_ptx::flow::Block, kept: &[Set]) -> Set {
        debug_assert!(kept.len() == graph.blocks.len());
        // Behind a trap nothing runs that could use a register again.
        let ends = matches!(block.end, Some(End::Return | End::Exit));
        let mut set = vec![!ends; self.sums.len()];
        for &next in &block.next {
            set.iter_mut().zip(&kept[next]).for_each(|(mine, of_next)| *mine &= of_next);
        }
        set
    }

    /// The wait that stands at `index` gives registers back.
    fn give_back(&self, index: usize, set: &mut Set) {
        for &sum in self.settled.get(&index).into_iter().flatten() {
            set[sum] = true;
        }
    }

    /// From behind an instruction to before it.
    fn step(&self, instruction: &Instruction, set: &mut Set) {
        if is_product(instruction) {
            // It goes on with what is in them; where they are lost, that is reported here.
            self.written(instruction).for_each(|sum| set[sum] = true);
            return;
        }
        let brought: Vec<usize> = self.written(instruction).filter(|&sum| set[sum]).collect();
        self.written(instruction).for_each(|sum| set[sum] = false);
        if let Some((_, from)) = moved(instruction)
            && instruction.guard.is_none()
            && !brought.is_empty()
            && let Some(&from) = self.sums.get(&from)
        {
            set[from] = true;
        }
    }

    /// The numbered registers that an instruction writes.
    fn written<'a>(&'a self, instruction: &Instruction) -> impl Iterator<Item = usize> + 'a {
        let mut written = Vec::new();
        if let Some(first) = instruction.operands.first()
            && !matches!(first, Operand::Address(_))
        {
            first.registers(&mut |register| written.push(register));
        }
        written.into_iter().filter_map(|register| self.sums.get(&register).copied())
    }
}

/// What is wrong, and what to write.
const LOST: &str = "rule E2: `wgmma.mma_async` writes the registers of a product that is forgotten, or copied, before a \
                    `wgmma.wait_group` gives them back: the compiler may put other values into them while the \
                    instructions still write and read there; on every way to the end of the role, call \
                    `.wait_group::<0, _>(&mut wg)` and go on with what it returns";

/// The registers to which `mov`s carry what is in `from`.
fn carried(body: &Body, mut from: BTreeSet<RegId>) -> BTreeSet<RegId> {
    if from.is_empty() {
        return from;
    }
    let moves: Vec<_> = body.instructions.iter().filter_map(moved).collect();
    loop {
        let before = from.len();
        for (to, source) in &moves {
            if from.contains(source) {
                from.insert(*to);
            }
        }
        if from.len() == before {
            return from;
        }
    }
}

/// Where a `mov` between registers moves to, and from where.
fn moved(instruction: &Instruction) -> Option<(RegId, RegId)> {
    match (instruction.opcode(), &*instruction.operands) {
        ("mov", [Operand::Register(to), Operand::Register(from)]) => Some((*to, *from)),
        _ => None,
    }
}

fn is_product(instruction: &Instruction) -> bool {
    instruction.opcode() == "wgmma" && instruction.has("mma_async")
}

/// The comments in a body, each with the instruction that it stands behind.
fn comments<'a>(module: &'a Module, body: &'a Body) -> impl Iterator<Item = (usize, &'a str)> {
    let code = &body.instructions;
    let last = body.span.end;
    let past = module.source[..last].lines().count() as u32;
    let inside =
        module.comments.iter().filter(move |comment| (body.line..=past).contains(&comment.line));
    inside.filter_map(|comment| {
        let behind = code.partition_point(|instruction| instruction.line < comment.line);
        Some((behind.checked_sub(1)?, &*comment.text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n\
             .reg .pred %p<4>;\n.reg .f32 %f<16>;\n.reg .b64 %d<4>;\n{body}}}\n"
        );
        let module = Module::parse(&text, "k").unwrap();
        let found = check(&module, &LineTable::new());
        let lines: Vec<&str> = text.lines().collect();
        for finding in &found {
            assert!(
                lines[finding.ptx_line.unwrap() as usize - 1].contains("mma_async"),
                "{finding}"
            );
        }
        found.iter().map(|finding| finding.ptx_line.unwrap()).collect()
    }

    const FENCE: &str = "wgmma.fence.sync.aligned;\n//@baton handed %f0 %f1 %f2 %f3\n";
    const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";

    fn product(r: [u32; 4]) -> String {
        let [a, b, c, d] = r;
        format!(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f{a}, %f{b}, %f{c}, %f{d}}}, %d0, %d1, 1, 1, 1, 0, 0;\n"
        )
    }

    fn wait(pending: u32, r: [u32; 4]) -> String {
        let [a, b, c, d] = r;
        format!(
            "wgmma.wait_group.sync.aligned {pending};\n//@baton settled {pending} %f{a} %f{b} %f{c} %f{d}\n"
        )
    }

    /// Moves of registers `from..from + 4` to `to..`.
    fn moves(to: u32, from: u32) -> String {
        (0..4).map(|i| format!("mov.f32 %f{}, %f{};\n", to + i, from + i)).collect()
    }

    const SUMS: [u32; 4] = [0, 1, 2, 3];
    const OTHERS: [u32; 4] = [4, 5, 6, 7];

    #[test]
    fn what_a_wait_gives_back_is_not_lost() {
        let body =
            format!("{FENCE}{}{}{COMMIT}{}ret;\n", product(SUMS), product(SUMS), wait(0, SUMS));
        assert!(lost(&body).is_empty());
        // Through other registers.
        let body =
            format!("{FENCE}{}{}{COMMIT}{}ret;\n", product(SUMS), moves(4, 0), wait(0, OTHERS));
        assert!(lost(&body).is_empty());
    }

    #[test]
    fn what_no_wait_names_is_lost() {
        assert_eq!(lost(&format!("{FENCE}{}{COMMIT}ret;\n", product(SUMS))).len(), 1);
        // The wait of another product.
        let body = format!("{FENCE}{}{COMMIT}{}ret;\n", product(SUMS), wait(0, OTHERS));
        assert_eq!(lost(&body).len(), 1);
        // Three of four.
        let body = format!("{FENCE}{}{COMMIT}{}ret;\n", product(SUMS), wait(0, [0, 1, 2, 2]));
        assert_eq!(lost(&body).len(), 1);
        // A wait that lets the group be incomplete.
        let body = format!("{FENCE}{}{COMMIT}{}ret;\n", product(SUMS), wait(1, SUMS));
        assert_eq!(lost(&body).len(), 1);
    }

    #[test]
    fn every_way_has_to_bring_them_to_a_wait() {
        let arms = |other: &str| {
            let product = product(SUMS);
            format!("{FENCE}{product}{COMMIT}@%p1 bra L1;\n{}ret;\nL1:\n{other}", wait(0, SUMS))
        };
        assert_eq!(lost(&arms("ret;\n")).len(), 1);
        assert!(lost(&arms(&format!("{}ret;\n", wait(0, SUMS)))).is_empty());
        // A trap ends the grid.
        assert!(lost(&arms("trap;\n")).is_empty());
    }

    #[test]
    fn what_a_loop_overwrites_is_lost() {
        let round = |zero: &str| {
            let product = product(SUMS);
            format!("L1:\n{zero}{FENCE}{product}{COMMIT}@%p1 bra L1;\n{}ret;\n", wait(0, SUMS))
        };
        assert!(lost(&round("")).is_empty());
        assert_eq!(lost(&round("mov.f32 %f0, 0f00000000;\n")).len(), 1);
        // Where nobody comes out of the loop either.
        let body =
            format!("L1:\nmov.f32 %f1, 0f00000000;\n{FENCE}{}{COMMIT}bra L1;\n", product(SUMS));
        assert_eq!(lost(&body).len(), 1);
    }

    #[test]
    fn a_product_that_is_moved_to_memory_is_lost() {
        let body = format!(
            "{FENCE}{}{COMMIT}st.local.f32 [%d0], %f0;\nld.local.f32 %f0, [%d0];\n{}ret;\n",
            product(SUMS),
            wait(0, SUMS)
        );
        assert_eq!(lost(&body).len(), 1);
    }

    #[test]
    fn a_comment_in_front_of_a_label_belongs_to_what_stands_before() {
        // The way that jumps over the wait comes to the label behind its comment.
        let body =
            format!("{FENCE}{}{COMMIT}@%p1 bra L1;\n{}L1:\nret;\n", product(SUMS), wait(0, SUMS));
        assert_eq!(lost(&body).len(), 1);
    }

    #[test]
    fn products_of_the_instruction_layer_are_their_author_s() {
        let body = format!("wgmma.fence.sync.aligned;\n{}{COMMIT}ret;\n", product(SUMS));
        assert!(lost(&body).is_empty());
    }
}
