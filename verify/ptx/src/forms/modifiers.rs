//! Modifiers against the forms of an instruction.

use super::grammar::{Class, Form, Node, Table};

/// What a form took of the modifiers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bound {
    /// `T`, `U`, `V` and `W`.
    pub types: [Option<&'static str>; 4],
    /// The first state space.
    pub space: Option<&'static str>,
    /// The second one.
    pub second_space: Option<&'static str>,
    /// Of `.v2` and the like.
    pub lanes: usize,
    /// How many registers a shape has.
    pub registers: usize,
    /// Of `.3d` and the like.
    pub dimensions: usize,
}

#[derive(Clone, Copy, Debug)]
struct State<'a> {
    used: u64,
    bound: Bound,
    /// Of what one is missing, where the rest was looked at nevertheless.
    missing: Option<&'a [&'static str]>,
}

/// The forms that take these modifiers.
pub(super) fn find(
    table: &Table,
    opcode: &str,
    forms: &[Form],
    words: &[&str],
) -> Result<Vec<(usize, Bound)>, String> {
    if words.len() > 60 {
        return Err("more than 60 modifiers".into());
    }
    let all = (1u64 << words.len()) - 1;
    let mut found = Vec::new();
    // The way on which least is wrong: so many modifiers, the first that is too much, or what is missing.
    let mut nearest: Option<(u32, Option<usize>, &[&str])> = None;
    for (i, form) in forms.iter().enumerate() {
        let fixed = form.fixed.len();
        let at = form.fixed.iter().zip(words).take_while(|(a, b)| a == b).count();
        let missing = form.fixed.get(at).map(std::slice::from_ref);
        let mut search = Search { table, words, done: Vec::new() };
        let start = State { used: (1u64 << at) - 1, bound: Bound::default(), missing };
        if at == fixed {
            search.sequence(&form.modifiers, &mut vec![], start);
        } else {
            search.done.push(start);
        }
        let fits = |state: &&State| state.used == all && state.missing.is_none();
        if let Some(state) = search.done.iter().find(fits) {
            let mut bound = state.bound;
            bound.lanes = number_in(words, |w| w.strip_prefix('v'));
            bound.registers = registers(words, bound.types[0]);
            bound.dimensions = number_in(words, |w| w.strip_suffix('d'));
            found.push((i, bound));
            continue;
        }
        for state in search.done {
            let over = !state.used & all;
            let too_much = (over != 0).then(|| over.trailing_zeros() as usize);
            let wrong = over.count_ones() + u32::from(state.missing.is_some());
            // What is missing says more than what is too much.
            let better = |(least, _, lacks): &(u32, _, &[&str])| {
                wrong < *least || wrong == *least && lacks.is_empty() && state.missing.is_some()
            };
            if nearest.as_ref().is_none_or(better) {
                nearest = Some((wrong, too_much, state.missing.unwrap_or_default()));
            }
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known = Vec::new();
    for form in forms {
        known.extend(&form.fixed);
        form.modifiers.iter().for_each(|node| self::words(node, &mut known));
    }
    if let Some(unknown) = words.iter().find(|word| !known.contains(word)) {
        return Err(format!("`.{unknown}` is no modifier of `{opcode}`"));
    }
    Err(match nearest {
        Some((_, _, missing @ [_, ..])) => {
            let names: Vec<_> = missing.iter().take(6).map(|name| format!("`.{name}`")).collect();
            match &names[..] {
                [first @ .., last] if !first.is_empty() => {
                    format!("{} or {last} is missing", first.join(", "))
                }
                names => format!("{} is missing", names.join("")),
            }
        }
        Some((_, Some(place), _)) => {
            format!("`.{}` does not go with the other modifiers", words[place])
        }
        _ => "no form has these modifiers".into(),
    })
}

fn number_in<'w>(words: &[&'w str], part: impl Fn(&'w str) -> Option<&'w str>) -> usize {
    words.iter().find_map(|w| part(w)?.parse().ok()).unwrap_or(0)
}

/// The registers that a thread has of D of a `wgmma`, or of the rows of a `tcgen05.ld`.
pub(super) fn registers(words: &[&str], ty: Option<&str>) -> usize {
    let columns = number_in(words, |w| w.strip_prefix("m64n")?.split('k').next());
    if columns > 0 {
        return columns / if ty == Some("f16") { 4 } else { 2 };
    }
    let each = match () {
        () if words.contains(&"16x128b") => 2,
        () if words.contains(&"16x256b") => 4,
        () => 1,
    };
    each * number_in(words, |w| w.strip_prefix('x'))
}

/// Every modifier in a part of a form.
pub(super) fn words(node: &Node, all: &mut Vec<&'static str>) {
    match node {
        Node::Word { names, .. } | Node::Ordered { names, .. } => all.extend(names),
        Node::Either { sequences, .. } => {
            sequences.iter().flatten().for_each(|node| words(node, all));
        }
    }
}

struct Search<'a> {
    table: &'a Table,
    words: &'a [&'a str],
    /// The ways on which all of the form matched, or all but one modifier.
    done: Vec<State<'a>>,
}

impl<'a> Search<'a> {
    /// Matches `nodes`, then the sequences in `after`, from the last.
    fn sequence(&mut self, nodes: &'a [Node], after: &mut Vec<&'a [Node]>, state: State<'a>) {
        let Some((node, rest)) = nodes.split_first() else {
            match after.pop() {
                Some(next) => {
                    self.sequence(next, after, state);
                    after.push(next);
                }
                None => self.done.push(state),
            }
            return;
        };
        match node {
            Node::Word { names, optional } => {
                let free = |i: &usize| state.used >> i & 1 == 0 && names.contains(&self.words[*i]);
                let taken = (0..self.words.len()).find(free);
                self.take(taken, names, *optional, rest, after, state);
            }
            Node::Ordered { class, names, optional } => {
                let members = self.table.class(*class);
                let free = |i: &usize| state.used >> i & 1 == 0 && members.contains(self.words[*i]);
                let taken = (0..self.words.len()).find(free);
                let taken = taken.filter(|i| names.contains(&self.words[*i]));
                let mut state = state;
                if let Some(name) = taken.and_then(|i| members.get(self.words[i])) {
                    let bound = &mut state.bound;
                    match class {
                        Class::Type => {
                            if let Some(slot) = bound.types.iter_mut().find(|t| t.is_none()) {
                                *slot = Some(name);
                            }
                        }
                        Class::Space if bound.space.is_none() => bound.space = Some(name),
                        Class::Space => bound.second_space = Some(name),
                        Class::Layout => {}
                    }
                }
                self.take(taken, names, *optional, rest, after, state);
            }
            Node::Either { sequences, optional } => {
                after.push(rest);
                for sequence in sequences {
                    self.sequence(sequence, after, state);
                }
                after.pop();
                if *optional {
                    self.sequence(rest, after, state);
                }
            }
        }
    }

    fn take(
        &mut self,
        taken: Option<usize>,
        names: &'a [&'static str],
        optional: bool,
        rest: &'a [Node],
        after: &mut Vec<&'a [Node]>,
        state: State<'a>,
    ) {
        match taken {
            Some(i) => {
                self.sequence(rest, after, State { used: state.used | 1 << i, ..state });
            }
            None if optional => self.sequence(rest, after, state),
            None if state.missing.is_none() => {
                self.sequence(rest, after, State { missing: Some(names), ..state });
            }
            None => {}
        }
    }
}
