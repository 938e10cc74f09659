//! What a branch decides: which blocks depend on it, and where its ways bring values together.
//!
//! Ways into a trap and into functions that do not return are left out: nobody comes back from them, and a kernel that
//! traps is over.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use baton_ptx::flow::{End, Graph, postorder};

/// A branch whose ways meet in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meeting {
    pub branch: usize,
    /// By which way of the branch control comes from each block before.
    pub ways: Vec<(usize, Way)>,
}

/// A way from a branch, by the block where it is first apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// The edge from the branch itself.
    Edge,
    Through(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Loop {
    /// Whether each block belongs to it.
    pub body: Vec<bool>,
    /// Its blocks from which control leaves it.
    pub exits: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Regions {
    /// Where control goes from each block and comes to an end.
    pub next: Vec<Vec<usize>>,
    /// Whether control comes to the block, and from it to an end.
    pub live: Vec<bool>,
    /// Blocks in the order in which control first comes to them.
    pub order: Vec<usize>,
    /// The branches on which each block depends, directly or through others: whether control comes to it, and how often,
    /// follows from where they go.
    pub decided_by: Vec<Vec<usize>>,
    /// The branches whose ways meet at the start of each block.
    pub meetings: Vec<Vec<Meeting>>,
    pub loops: Vec<Loop>,
    /// A block of a loop that has several entries: the analysis does not understand such loops.
    pub irreducible: Option<usize>,
}

impl Regions {
    pub fn of(graph: &Graph) -> Regions {
        let count = graph.blocks.len();
        let ends =
            (0..count).filter(|&b| matches!(graph.blocks[b].end, Some(End::Return | End::Exit)));
        let latches = graph.endless().into_iter().flat_map(|endless| endless.latches);
        let leads = graph.leading_to(ends.chain(latches));
        let next: Vec<Vec<usize>> = graph
            .blocks
            .iter()
            .map(|block| block.next.iter().copied().filter(|&to| leads[to]).collect())
            .collect();
        let mut order = postorder(0, &next);
        order.reverse();
        let mut live = vec![false; count];
        order.iter().for_each(|&b| live[b] = leads[b]);
        let post = graph.post_dominators();
        // A guarded return is a way as well.
        let parts = |b: usize| next[b].len() + usize::from(leaves(graph, b)) > 1;
        let branches: Vec<usize> = (0..count).filter(|&b| live[b] && parts(b)).collect();
        let control = control(&next, &post, &branches);
        let decided_by = control.iter().map(|direct| transitive(direct, &control)).collect();
        let meetings = meetings(&next, &post, &branches, &order);
        let dominators = graph.dominators();
        let loops = loops(&next, &graph.before, &dominators, &live);
        let irreducible = irreducible(&next, &dominators);
        Regions { next, live, order, decided_by, meetings, loops, irreducible }
    }
}

/// Whether some threads may end in this block while others go on.
fn leaves(graph: &Graph, block: usize) -> bool {
    let block = &graph.blocks[block];
    matches!(block.end, Some(End::Return | End::Exit)) && !block.next.is_empty()
}

fn control(next: &[Vec<usize>], post: &[Option<usize>], branches: &[usize]) -> Vec<Vec<usize>> {
    let mut control = vec![Vec::new(); next.len()];
    for &branch in branches {
        for &to in &next[branch] {
            let mut at = Some(to);
            while let Some(block) = at.filter(|_| at != post[branch]) {
                if control[block].last() != Some(&branch) {
                    control[block].push(branch);
                }
                at = post[block];
            }
        }
    }
    control
}

fn transitive(direct: &[usize], control: &[Vec<usize>]) -> Vec<usize> {
    let mut found = BTreeSet::new();
    let mut work = direct.to_vec();
    while let Some(branch) = work.pop() {
        if found.insert(branch) {
            work.extend(&control[branch]);
        }
    }
    found.into_iter().collect()
}

/// Where two ways from one branch come together without having met before.
///
/// Each way carries its own mark forward. A block to which two marks come is a meeting, and passes on a mark of its own.
fn meetings(
    next: &[Vec<usize>],
    post: &[Option<usize>],
    branches: &[usize],
    order: &[usize],
) -> Vec<Vec<Meeting>> {
    let count = next.len();
    let mut place = vec![usize::MAX; count];
    order.iter().enumerate().for_each(|(i, &b)| place[b] = i);
    let mut before = vec![Vec::new(); count];
    for &b in order {
        next[b].iter().for_each(|&to| before[to].push(b));
    }
    let mut meetings = vec![Vec::new(); count];
    for &branch in branches {
        let mut mark: Vec<Option<usize>> = vec![None; count];
        let mut met = BTreeSet::new();
        let mut work = BinaryHeap::new();
        for &to in &next[branch] {
            mark[to] = Some(to);
            work.push(Reverse(place[to]));
        }
        while let Some(Reverse(at)) = work.pop() {
            let block = order[at];
            if Some(block) == post[branch] || block == branch {
                continue;
            }
            for &to in &next[block] {
                match mark[to] {
                    None => mark[to] = mark[block],
                    Some(other) if Some(other) != mark[block] && met.insert(to) => {
                        mark[to] = Some(to);
                    }
                    Some(_) => continue,
                }
                work.push(Reverse(place[to]));
            }
        }
        for to in met {
            let way = |&from: &usize| match mark[from] {
                _ if from == branch => Some((from, Way::Edge)),
                Some(mark) => Some((from, Way::Through(mark))),
                None => None,
            };
            let ways = before[to].iter().filter_map(way).collect();
            meetings[to].push(Meeting { branch, ways });
        }
    }
    meetings
}

fn dominates(dominators: &[Option<usize>], above: usize, mut block: usize) -> bool {
    while block != above {
        match dominators[block] {
            Some(next) => block = next,
            None => return false,
        }
    }
    true
}

/// The loops with one entry; those that share it are one.
fn loops(
    next: &[Vec<usize>],
    before: &[Vec<usize>],
    dominators: &[Option<usize>],
    live: &[bool],
) -> Vec<Loop> {
    let count = next.len();
    let mut loops: Vec<Loop> = Vec::new();
    for header in (0..count).filter(|&b| live[b]) {
        let latches = before[header].iter().copied();
        let mut work: Vec<usize> = latches
            .filter(|&b| live[b] && next[b].contains(&header) && dominates(dominators, header, b))
            .collect();
        if work.is_empty() {
            continue;
        }
        let mut body = vec![false; count];
        body[header] = true;
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut body[b], true) {
                work.extend(before[b].iter().copied().filter(|&b| live[b]));
            }
        }
        let exits = (0..count).filter(|&b| body[b] && next[b].iter().any(|&to| !body[to]));
        let exits = exits.collect();
        loops.push(Loop { body, exits });
    }
    loops
}

/// A block that closes a loop whose entry it does not lie behind.
fn irreducible(next: &[Vec<usize>], dominators: &[Option<usize>]) -> Option<usize> {
    let mut open = vec![false; next.len()];
    let mut seen = open.clone();
    let mut stack = vec![(0, 0)];
    (open[0], seen[0]) = (true, true);
    while let Some((block, i)) = stack.pop() {
        let Some(&to) = next[block].get(i) else {
            open[block] = false;
            continue;
        };
        stack.push((block, i + 1));
        if open[to] && !dominates(dominators, to, block) {
            return Some(to);
        }
        if !std::mem::replace(&mut seen[to], true) {
            open[to] = true;
            stack.push((to, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_ptx::Module;

    fn regions(text: &str) -> Regions {
        let text = format!(".func f() {{ .reg .pred p, q; .reg .b32 r; {text} }}");
        let module = Module::parse(&text, "t").unwrap();
        Regions::of(&Graph::of(module.functions[0].body.as_ref().unwrap()))
    }

    #[test]
    fn an_arm_depends_on_its_branch_and_what_is_behind_does_not() {
        // 0 bra, 1 mov, 2 (A) ret
        let found = regions("@p bra A; mov.b32 r, 1; A: ret;");
        assert_eq!(found.decided_by[1], [0]);
        assert_eq!(found.decided_by[2], [] as [usize; 0]);
        let [meeting] = &found.meetings[2][..] else { panic!("{found:?}") };
        assert_eq!(meeting.ways, [(0, Way::Edge), (1, Way::Through(1))]);
    }

    #[test]
    fn what_is_behind_an_early_return_depends_on_it() {
        assert_eq!(regions("@p ret; mov.b32 r, 1; ret;").decided_by[1], [0]);
        assert_eq!(regions("@p trap; mov.b32 r, 1; ret;").decided_by[1], [] as [usize; 0]);
    }

    #[test]
    fn a_loop_depends_on_its_exits_and_an_arm_in_it_on_both() {
        // 0 mov, 1 (L) bra, 2 mov, 3 (N) bra L, 4 ret
        let found = regions("mov.b32 r, 1; L: @p bra N; mov.b32 r, 2; N: @q bra L; ret;");
        assert_eq!(found.decided_by[2], [1, 3]);
        assert_eq!(found.decided_by[3], [3]);
        let [single] = &found.loops[..] else { panic!("{found:?}") };
        assert_eq!(single.exits, [3]);
        assert_eq!(found.irreducible, None);
    }

    #[test]
    fn a_loop_with_two_entries_is_seen() {
        let found = regions("@p bra B; A: mov.b32 r, 1; B: mov.b32 r, 2; @q bra A; ret;");
        assert!(found.irreducible.is_some());
    }

    #[test]
    fn a_loop_without_an_end_is_looked_at() {
        let found = regions("L: @p bra N; mov.b32 r, 2; N: bra L;");
        assert!(found.live.iter().take(3).all(|&live| live));
        assert_eq!(found.decided_by[1], [0]);
        assert_eq!(found.decided_by[2], [] as [usize; 0]);
    }
}
