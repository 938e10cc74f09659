//! The control flow of a function: its blocks, where each leads, and where ways that parted meet.
//!
//! A *block* is a run of instructions that control enters only at its first and leaves only behind
//! its last. [`Graph::of`] cuts a body into blocks, the last of which is an empty one behind the
//! last instruction: what falls off the end returns. [`Graph::dominators`] says through which block
//! every way from the entry comes; [`Graph::meeting_points`] where lanes that part at a branch are
//! together again, and [`Graph::post_dominators`] what every way to an end passes.
//!
//! Code may have no way to an end: a loop that does not stop. Where post-dominators are asked for, one
//! round of such a loop counts as a way ([`Graph::endless`]).

use crate::{Body, LabelId, Operand};

/// How control leaves a function for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// `ret`, or behind the last instruction.
    Return,
    /// `exit`
    Exit,
    /// `trap`, or an instruction that the caller of [`Graph::of_ending`] says to end everything.
    Trap,
}

/// Instructions that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first instruction.
    pub first: usize,
    /// Behind its last instruction; only the block behind the end of the body is empty.
    pub past: usize,
    /// Where control goes from it: blocks, in ascending order.
    pub next: Vec<usize>,
    /// How control leaves the function in it. A guarded `ret` has successors too.
    pub end: Option<End>,
}

impl Block {
    /// Its last instruction, which may be a branch; its place, if it is empty.
    pub fn last(&self) -> usize {
        self.past.max(self.first + 1) - 1
    }
}

/// A loop that is left by no way that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The block where a round begins.
    pub header: usize,
    /// The blocks from which the next round begins.
    pub latches: Vec<usize>,
}

/// The blocks of a body and the ways between them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// In the order of the text; the first is the entry.
    pub blocks: Vec<Block>,
    /// From which blocks control comes to each.
    pub before: Vec<Vec<usize>>,
    /// The block of each instruction, and of the place behind the last.
    pub block_of: Vec<usize>,
}

/// The instructions that a branch names; none for other instructions. The place behind the last instruction may be one.
pub fn targets(body: &Body, index: usize) -> Vec<usize> {
    let place = |label: &LabelId| body.labels[label.0 as usize].target;
    let instruction = &body.instructions[index];
    let label = |operand: &Operand| match operand {
        Operand::Label(label) => Some(*label),
        _ => None,
    };
    match instruction.opcode() {
        "bra" => instruction.operands.iter().filter_map(label).map(|label| place(&label)).collect(),
        "brx" => {
            let lists = instruction.operands.iter().filter_map(label);
            let labels = lists
                .flat_map(|list| body.branch_targets.iter().filter(move |(name, _)| *name == list));
            labels.flat_map(|(_, labels)| labels.iter().map(place)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether nothing falls through this instruction where its guard lets it run.
fn diverts(opcode: &str) -> bool {
    matches!(opcode, "bra" | "brx" | "ret" | "exit" | "trap")
}

/// Where control goes from an instruction inside the body.
pub fn successors(body: &Body, index: usize) -> Vec<usize> {
    let instruction = &body.instructions[index];
    let mut to = targets(body, index);
    if !diverts(instruction.opcode()) || instruction.guard.is_some() {
        to.push(index + 1);
    }
    // A label may stand behind the last instruction.
    to.retain(|&to| to < body.instructions.len());
    to
}

impl Graph {
    /// The graph of a body.
    pub fn of(body: &Body) -> Graph {
        Graph::of_ending(body, |_| false)
    }

    /// The graph of a body in which control goes on behind none of the instructions that `ends` names: calls of functions
    /// that do not return.
    pub fn of_ending(body: &Body, ends: impl Fn(usize) -> bool) -> Graph {
        let code = &body.instructions;
        let count = code.len();
        let cuts = |i: usize| diverts(code[i].opcode()) || ends(i);
        let mut leader = vec![false; count + 1];
        leader[0] = true;
        leader[count] = true;
        for i in (0..count).filter(|&i| cuts(i)) {
            targets(body, i).into_iter().for_each(|target| leader[target.min(count)] = true);
            leader[i + 1] = true;
        }
        let firsts: Vec<usize> = (0..=count).filter(|&i| leader[i]).collect();
        let mut block_of = vec![0; count + 1];
        for (b, &first) in firsts.iter().enumerate() {
            let past = firsts.get(b + 1).copied().unwrap_or(count + 1);
            block_of[first..past].fill(b);
        }
        let block = |(b, &first): (usize, &usize)| {
            let past = firsts.get(b + 1).copied().unwrap_or(count);
            let Some(i) = past.checked_sub(1).filter(|_| first < count) else {
                return Block { first, past: first, next: Vec::new(), end: Some(End::Return) };
            };
            let mut next: Vec<usize> =
                targets(body, i).into_iter().map(|target| block_of[target.min(count)]).collect();
            if !cuts(i) || code[i].guard.is_some() {
                next.push(block_of[i + 1]);
            }
            next.sort_unstable();
            next.dedup();
            let end = match code[i].opcode() {
                "ret" => Some(End::Return),
                "exit" => Some(End::Exit),
                "trap" => Some(End::Trap),
                _ if ends(i) => Some(End::Trap),
                _ => None,
            };
            Block { first, past, next, end }
        };
        let blocks: Vec<Block> = firsts.iter().enumerate().map(block).collect();
        let mut before = vec![Vec::new(); blocks.len()];
        for (b, block) in blocks.iter().enumerate() {
            block.next.iter().for_each(|&next| before[next].push(b));
        }
        Graph { blocks, before, block_of }
    }

    /// The ways out of each block, as [`dominators`] and [`postorder`] take them.
    pub fn after(&self) -> Vec<Vec<usize>> {
        self.blocks.iter().map(|block| block.next.clone()).collect()
    }

    /// The block through which every way from the entry to each comes last; `None` for the entry and for what no way
    /// reaches.
    pub fn dominators(&self) -> Vec<Option<usize>> {
        dominators(0, &self.after(), &self.before)
    }

    /// Blocks from which control can come to one of `to`.
    pub fn leading_to(&self, to: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut leads = vec![false; self.blocks.len()];
        let mut work: Vec<usize> = to.into_iter().collect();
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut leads[b], true) {
                work.extend(&self.before[b]);
            }
        }
        leads
    }

    /// Loops among the blocks from which control comes to no end, ways into a trap aside.
    pub fn endless(&self) -> Vec<Endless> {
        let ends = (0..self.blocks.len())
            .filter(|&b| matches!(self.blocks[b].end, Some(End::Return | End::Exit)));
        let mut settled = self.leading_to(ends);
        let order = postorder(0, &self.after());
        let mut loops = Vec::new();
        // The first block that control reaches of a loop is last in postorder.
        for &header in order.iter().rev() {
            if settled[header] {
                continue;
            }
            let reached = self.reached_from(header);
            let latches: Vec<usize> =
                self.before[header].iter().copied().filter(|&b| reached[b]).collect();
            if latches.is_empty() {
                continue;
            }
            // Whatever leaves the loop, other than into a trap, belongs to a loop behind it.
            let leads = self.leading_to([header]);
            let mut behind = (0..self.blocks.len()).filter(|&b| reached[b] && !leads[b]);
            if behind.any(|b| self.comes_round(b)) {
                continue;
            }
            leads.iter().zip(&mut settled).for_each(|(leads, settled)| *settled |= leads);
            loops.push(Endless { header, latches });
        }
        loops
    }

    fn comes_round(&self, block: usize) -> bool {
        let reached = self.reached_from(block);
        self.before[block].iter().any(|&b| reached[b])
    }

    fn reached_from(&self, block: usize) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![block];
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut reached[b], true) {
                work.extend(&self.blocks[b].next);
            }
        }
        reached
    }

    /// The block that every way from each block to an end passes first; `None` where that is the end itself, and for blocks
    /// from which only a trap is reached. One round of an endless loop is a way to an end.
    pub fn post_dominators(&self) -> Vec<Option<usize>> {
        let count = self.blocks.len();
        let (mut after, mut before) = (self.after(), self.before.clone());
        let latches = self.endless().into_iter().flat_map(|endless| endless.latches);
        let ends =
            (0..count).filter(|&b| matches!(self.blocks[b].end, Some(End::Return | End::Exit)));
        let ends: Vec<usize> = ends.chain(latches).collect();
        after.push(Vec::new());
        ends.iter().for_each(|&b| after[b].push(count));
        before.push(ends);
        let mut post = dominators(count, &before, &after);
        post.truncate(count);
        post.into_iter().map(|b| b.filter(|&b| b < count)).collect()
    }

    /// Where lanes that part in each block meet: the first block that every way from it passes to the end that counts.
    ///
    /// That end is the return which most blocks can reach: lanes that go to another end (an early return, an exit, a trap,
    /// an endless loop) leave the warp, and the others do not wait for them. For blocks that cannot reach it, it is the end
    /// that most of them reach: another return, then an `exit`, then the next round of an endless loop.
    pub fn meeting_points(&self) -> Vec<Option<usize>> {
        let count = self.blocks.len();
        let mut points = vec![None; count];
        let mut settled = vec![false; count];
        let is = |end| (0..count).filter(move |&b| self.blocks[b].end == Some(end));
        let ends: [Vec<Vec<usize>>; 2] =
            [End::Return, End::Exit].map(|end| is(end).map(|b| vec![b]).collect());
        for mut ends in ends {
            while let Some((_, end)) = self.most_reached(&ends, &settled) {
                let [root] = ends.swap_remove(end)[..] else { continue };
                let post = dominators(root, &self.before, &self.after());
                for (b, leads) in self.leading_to([root]).into_iter().enumerate() {
                    if leads && !std::mem::replace(&mut settled[b], true) {
                        points[b] = post[b];
                    }
                }
            }
        }
        let mut loops = self.endless();
        let ends = |loops: &[Endless]| loops.iter().map(|l| l.latches.clone()).collect::<Vec<_>>();
        while let Some((_, end)) = self.most_reached(&ends(&loops), &settled) {
            let endless = loops.swap_remove(end);
            let post = self.towards_next_round(&endless);
            for (b, leads) in self.leading_to([endless.header]).into_iter().enumerate() {
                if leads && !std::mem::replace(&mut settled[b], true) {
                    points[b] = post[b];
                }
            }
        }
        points
    }

    /// Which of these ends most of the blocks that are not settled can reach, and how many do.
    fn most_reached(&self, ends: &[Vec<usize>], settled: &[bool]) -> Option<(usize, usize)> {
        let reach = |end: &Vec<usize>| {
            let leads = self.leading_to(end.iter().copied());
            leads.iter().zip(settled).filter(|&(&leads, &settled)| leads && !settled).count()
        };
        let counted = ends.iter().enumerate().map(|(i, end)| (reach(end), i));
        counted.filter(|&(count, _)| count > 0).max()
    }

    /// Post-dominators with respect to the beginning of the next round: the header is where the ways go.
    fn towards_next_round(&self, endless: &Endless) -> Vec<Option<usize>> {
        let (count, header) = (self.blocks.len(), endless.header);
        let (mut after, mut before) = (self.after(), self.before.clone());
        after.push(Vec::new());
        before.push(endless.latches.clone());
        for &latch in &endless.latches {
            after[latch].iter_mut().filter(|to| **to == header).for_each(|to| *to = count);
        }
        before[header].retain(|b| !endless.latches.contains(b));
        let mut post = dominators(count, &before, &after);
        post.truncate(count);
        let real = |b: usize| if b == count { header } else { b };
        post.into_iter().map(|b| b.map(real)).collect()
    }
}

/// The nodes that `root` reaches, each behind those that it reaches first.
pub fn postorder(root: usize, next: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; next.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, i)) = stack.pop() {
        let Some(&to) = next[node].get(i) else {
            order.push(node);
            continue;
        };
        stack.push((node, i + 1));
        if !std::mem::replace(&mut seen[to], true) {
            stack.push((to, 0));
        }
    }
    order
}

/// The nearest node that every way from `root` to each node passes, itself aside; `None` for `root` and for what it does
/// not reach. `before` may name nodes that `root` does not reach; they do not count.
pub fn dominators(root: usize, next: &[Vec<usize>], before: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut order = postorder(root, next);
    order.reverse();
    let mut rank = vec![usize::MAX; next.len()];
    order.iter().enumerate().for_each(|(i, &node)| rank[node] = i);
    let mut nearest = vec![None; next.len()];
    nearest[root] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().skip(1) {
            let known = before[node].iter().copied().filter(|&b| nearest[b].is_some());
            let meet = known.reduce(|mut this, mut other| {
                while this != other {
                    while rank[this] > rank[other] {
                        this = nearest[this].unwrap_or(root);
                    }
                    while rank[other] > rank[this] {
                        other = nearest[other].unwrap_or(root);
                    }
                }
                this
            });
            if meet.is_some() && nearest[node] != meet {
                nearest[node] = meet;
                changed = true;
            }
        }
    }
    nearest[root] = None;
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    fn graph(text: &str) -> Graph {
        let text = format!(".func f() {{ .reg .pred p, q; .reg .b32 r; {text} }}");
        let module = Module::parse(&text, "t").unwrap();
        Graph::of(module.functions[0].body.as_ref().unwrap())
    }

    /// For each branch the instruction where its lanes meet.
    fn meet(text: &str) -> Vec<(usize, usize)> {
        let graph = graph(text);
        let points = graph.meeting_points();
        let branches = graph.blocks.iter().zip(points).filter(|(block, _)| block.next.len() > 1);
        branches
            .filter_map(|(block, point)| Some((block.last(), graph.blocks[point?].first)))
            .collect()
    }

    #[test]
    fn both_arms_meet_behind_them() {
        // 0 bra, 1 mov, 2 bra, 3 mov (A), 4 ret (B)
        let text = "@p bra A; mov.b32 r, 1; bra B; A: mov.b32 r, 2; B: ret;";
        assert_eq!(meet(text), [(0, 4)]);
        assert_eq!(graph(text).post_dominators()[0], Some(3));
        assert_eq!(graph(text).dominators()[3], Some(0));
    }

    #[test]
    fn arms_that_trap_or_return_early_do_not_count() {
        assert_eq!(meet("@p bra A; mov.b32 r, 1; ret; A: trap;"), [(0, 1)]);
        let text = "@p bra Y; @q bra E; mov.b32 r, 1; bra Y; E: exit; Y: mov.b32 r, 2; ret;";
        assert_eq!(meet(text), [(0, 5), (1, 2)]);
        // An exit is an end of its own for those who ask what every way passes.
        assert_eq!(graph(text).post_dominators()[1], None);
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_behind_it() {
        assert_eq!(meet("L: mov.b32 r, 1; @p bra L; ret;"), [(1, 2)]);
    }

    #[test]
    fn lanes_of_an_endless_loop_meet_in_its_next_round_at_the_latest() {
        assert_eq!(meet("L: mov.b32 r, 1; bra L;"), []);
        // 0 mov (L), 1 bra, 2 mov, 3 mov (J), 4 bra
        assert_eq!(
            meet("L: mov.b32 r, 1; @p bra J; mov.b32 r, 2; J: mov.b32 r, 3; bra L;"),
            [(1, 3)]
        );
        // Each arm begins the next round itself.
        assert_eq!(meet("L: mov.b32 r, 1; @p bra L; mov.b32 r, 2; bra L;"), [(1, 0)]);
        // The way into a trap does not count, and an early return is another end.
        let text = "@q bra D; L: mov.b32 r, 1; @p bra J; mov.b32 r, 2; J: @p bra T; bra L; T: trap; D: ret;";
        assert_eq!(meet(text), [(0, 7), (2, 4), (4, 5)]);
    }

    #[test]
    fn what_ends_in_exits_meets_before_them() {
        assert_eq!(meet("@p bra A; mov.b32 r, 1; A: exit;"), [(0, 2)]);
    }

    #[test]
    fn one_round_of_an_endless_loop_is_a_way_to_an_end() {
        let graph = graph("@q bra D; L: @p bra J; mov.b32 r, 2; J: mov.b32 r, 3; bra L; D: ret;");
        let [endless] = &graph.endless()[..] else { panic!("one loop") };
        assert_eq!(graph.blocks[endless.header].first, 1);
        assert_eq!(graph.post_dominators()[1], Some(3));
    }

    #[test]
    fn an_endless_loop_behind_a_loop_is_the_one() {
        let graph = graph("K: mov.b32 r, 1; @p bra K; L: mov.b32 r, 2; bra L;");
        assert_eq!(graph.endless().len(), 1);
        assert_eq!(graph.blocks[graph.endless()[0].header].first, 2);
    }
}
