//! Where diverged lanes meet again.
//!
//! Lanes that part at a branch meet at its immediate post-dominator: the first instruction that
//! every way from the branch passes. Ways that end otherwise than in the return that most ways
//! take (a trap, an exit, an early return, an endless loop) do not count: their lanes leave the
//! warp, and the others do not wait for them.

use crate::ir::NO_JOIN;
use baton_ptx::{Body, Operand};

/// Reconvergence points of a function, by instruction.
pub(crate) struct Joins {
    /// Where the lanes that part at this branch meet.
    pub of_branch: Vec<u32>,
    /// Whether some branch's lanes meet here; one longer than the body.
    pub is_join: Vec<bool>,
}

pub(crate) fn reconvergence(body: &Body) -> Joins {
    let n = body.instructions.len();
    let mut joins = Joins { of_branch: vec![NO_JOIN; n], is_join: vec![false; n + 1] };
    let blocks = Blocks::of(body);
    let post = blocks.post_dominators();
    for (b, block) in blocks.list.iter().enumerate() {
        if block.next.len() < 2 {
            continue;
        }
        if let Some(meet) = post[b] {
            let at = blocks.list[meet].first;
            joins.of_branch[block.last] = at as u32;
            joins.is_join[at] = true;
        }
    }
    joins
}

struct Block {
    first: usize,
    /// Its last instruction.
    last: usize,
    next: Vec<usize>,
    returns: bool,
}

struct Blocks {
    list: Vec<Block>,
}

impl Blocks {
    fn of(body: &Body) -> Blocks {
        let code = &body.instructions;
        let n = code.len();
        let targets = |i: usize| -> Vec<usize> {
            let place = |label: &baton_ptx::LabelId| body.labels[label.0 as usize].target;
            match (code[i].opcode(), &code[i].operands[..]) {
                ("bra", [Operand::Label(label)]) => vec![place(label)],
                ("brx", [_, Operand::Label(table)]) => body
                    .branch_targets
                    .iter()
                    .filter(|t| t.0 == *table)
                    .flat_map(|t| t.1.iter().map(place))
                    .collect(),
                _ => Vec::new(),
            }
        };
        let ends = |i: usize| matches!(code[i].opcode(), "bra" | "brx" | "ret" | "exit" | "trap");
        let mut leader = vec![false; n + 1];
        leader[0] = true;
        leader[n] = true;
        for i in 0..n {
            for t in targets(i) {
                leader[t.min(n)] = true;
            }
            if ends(i) {
                leader[i + 1] = true;
            }
        }
        let mut block_of = vec![0; n + 1];
        let mut list: Vec<Block> = Vec::new();
        for i in 0..=n {
            if leader[i] {
                list.push(Block { first: i, last: i, next: Vec::new(), returns: i == n });
            }
            let b = list.len() - 1;
            list[b].last = i;
            block_of[i] = b;
        }
        for block in &mut list {
            if block.last == n {
                continue;
            }
            let i = block.last;
            let mut next: Vec<usize> = targets(i).into_iter().map(|t| block_of[t.min(n)]).collect();
            let falls = code[i].guard.is_some() || !ends(i);
            if falls {
                next.push(block_of[i + 1]);
            }
            block.returns = code[i].opcode() == "ret";
            next.sort_unstable();
            next.dedup();
            block.next = next;
        }
        Blocks { list }
    }

    /// Immediate post-dominators with respect to the return that most blocks can reach.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let n = self.list.len();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (b, block) in self.list.iter().enumerate() {
            for &next in &block.next {
                before[next].push(b);
            }
        }
        // Reverse postorder of the reversed graph from `exit`.
        let order_from = |exit: usize| {
            let mut seen = vec![false; n];
            let mut order = Vec::new();
            let mut stack = vec![(exit, 0)];
            seen[exit] = true;
            while let Some((b, i)) = stack.pop() {
                if let Some(&p) = before[b].get(i) {
                    stack.push((b, i + 1));
                    if !seen[p] {
                        seen[p] = true;
                        stack.push((p, 0));
                    }
                } else {
                    order.push(b);
                }
            }
            order.reverse();
            order
        };
        let exit = (0..n)
            .filter(|&b| self.list[b].returns)
            .map(|b| (order_from(b).len(), b))
            .max()
            .map(|(_, b)| b);
        let mut post = vec![None; n];
        let Some(exit) = exit else { return post };
        let order = order_from(exit);
        let mut rank = vec![usize::MAX; n];
        for (i, &b) in order.iter().enumerate() {
            rank[b] = i;
        }
        post[exit] = Some(exit);
        let mut changed = true;
        while changed {
            changed = false;
            for &b in &order[1..] {
                let mut meet = None;
                // Ways that never reach the exit do not count.
                for &next in self.list[b].next.iter().filter(|&&s| rank[s] != usize::MAX) {
                    if post[next].is_none() {
                        continue;
                    }
                    meet = Some(match meet {
                        None => next,
                        Some(mut other) => {
                            let mut this = next;
                            while this != other {
                                while rank[this] > rank[other] {
                                    this = post[this].unwrap_or(exit);
                                }
                                while rank[other] > rank[this] {
                                    other = post[other].unwrap_or(exit);
                                }
                            }
                            this
                        }
                    });
                }
                if meet.is_some() && post[b] != meet {
                    post[b] = meet;
                    changed = true;
                }
            }
        }
        post[exit] = None;
        post
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    fn joins(text: &str) -> Vec<(usize, u32)> {
        let text = format!(".func f() {{ .reg .pred p, q; .reg .b32 r; {text} }}");
        let module = Module::parse(&text, "t").unwrap();
        let joins = reconvergence(module.functions[0].body.as_ref().unwrap());
        let points = joins.of_branch.iter().copied().enumerate();
        points.filter(|&(_, join)| join != NO_JOIN).collect()
    }

    #[test]
    fn both_arms_meet_behind_them() {
        // 0 bra, 1 mov, 2 bra, 3 mov (A), 4 ret (B)
        let found = joins("@p bra A; mov.b32 r, 1; bra B; A: mov.b32 r, 2; B: ret;");
        assert_eq!(found, [(0, 4)]);
    }

    #[test]
    fn arms_that_trap_or_return_early_do_not_count() {
        assert_eq!(joins("@p bra A; mov.b32 r, 1; ret; A: trap;"), [(0, 1)]);
        let found =
            joins("@p bra Y; @q bra E; mov.b32 r, 1; bra Y; E: exit; Y: mov.b32 r, 2; ret;");
        assert_eq!(found, [(0, 5), (1, 2)]);
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_behind_it() {
        assert_eq!(joins("L: mov.b32 r, 1; @p bra L; ret;"), [(1, 2)]);
    }

    #[test]
    fn an_endless_loop_has_no_meeting_point() {
        assert_eq!(joins("L: mov.b32 r, 1; bra L;"), []);
    }
}
