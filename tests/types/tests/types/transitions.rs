//! No method forgets what is under way.
//!
//! Some facts about a state say that something is under way: a store to tensor memory, copies, an arrival. A method that takes a region
//! in such a state asks for that fact, which is how it says that it waits; or it leaves the region in a state that has it too. Any
//! other would lose a step out of the type, as a fence that is taken for the wait.
//!
//! Read from the source: the list of facts in `path.rs`, and each public method that takes a receiver with a `State`.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::{modules, read, type_of};
use crate::page::root;

/// Facts that say that something is under way.
const UNDER_WAY: &[&str] = &[
    "CopiesUnderWay",
    "StoreInFlight",
    "LoadUnderWay",
    "StoreUnderWay",
    "HasIssued",
    "HasCommitted",
    "HasArrivedAtTheCluster",
    "HasArrived",
];

/// Methods that keep it in another way, and which.
const KEPT: &[(&str, &str, &str)] = &[
    ("StagingBuffer", "finish", "waits where `EndsStaging::IN_FLIGHT`"),
    ("Product", "mma_async", "the groups stay in `Flight`, which `Waits` alone takes apart"),
    ("Product", "mma_async_of", "the groups stay in `Flight`, which `Waits` alone takes apart"),
];

/// A public method that takes a region.
#[derive(Clone)]
struct Method {
    of: String,
    name: String,
    /// The states that the header of its `impl` names; none if it is generic over them.
    of_states: BTreeSet<String>,
    /// What it asks of `State`.
    asks: BTreeSet<String>,
    /// States that its result names.
    leads_to: BTreeSet<String>,
}

/// What holds in each state, and what fences and barriers make of it.
struct Table {
    facts: BTreeMap<String, BTreeSet<String>>,
    leads_to: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    fn read() -> Self {
        let text = read(&root().join("kernel-lib/src/path.rs"));
        let list = text.split("\nfacts! {\n").nth(1).expect("path.rs lists the facts");
        let mut facts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in list.split("\n}\n").next().unwrap_or_default().lines().map(str::trim) {
            if let Some((state, holds)) = line.trim_end_matches(';').split_once(':') {
                facts.insert(state.to_owned(), words(holds));
            }
        }
        // `impl ProxyFence for Written {`, a fact of its own, and below it `type Fenced = WrittenFenced;`.
        let mut leads_to: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut from = None;
        for line in text.lines() {
            let header = line.strip_prefix("impl ").and_then(|line| line.split_once(" for "));
            let target = line.trim().strip_prefix("type ").and_then(|line| line.split_once(" = "));
            if let Some((fact, state)) = header {
                let state = state.trim_end_matches(" {");
                facts.entry(state.to_owned()).or_default().insert(fact.to_owned());
                from = Some(state);
            } else if let (Some(from), Some((_, to))) = (from, target) {
                let to = to.trim_end_matches(';').to_owned();
                leads_to.entry(from.to_owned()).or_default().insert(to);
            }
        }
        Table { facts, leads_to }
    }

    fn holds(&self, fact: &str, state: &str) -> bool {
        self.facts.get(state).is_some_and(|facts| facts.contains(fact))
    }

    /// States in a text.
    fn states(&self, text: &str) -> BTreeSet<String> {
        words(text).into_iter().filter(|word| self.facts.contains_key(word)).collect()
    }
}

/// The names in a text.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The methods of all regions, and the states that each kind of region is ever in.
fn methods(table: &Table) -> (Vec<Method>, BTreeMap<String, BTreeSet<String>>) {
    let mut found = Vec::new();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, _) in modules().into_iter().filter(|(_, module)| !module.starts_with("crate::ptx")) {
        let (mut header, mut signature) = (None::<String>, None::<String>);
        let mut block = String::new();
        for line in read(&path).lines() {
            let code = line.split("//").next().unwrap_or_default();
            let trimmed = code.trim();
            if line.starts_with("impl") {
                header = Some(String::new());
            } else if line.starts_with("    pub fn ") || line.starts_with("    pub unsafe fn ") {
                signature = Some(String::new());
            }
            if let Some(text) = header.as_mut().or(signature.as_mut()) {
                text.push_str(trimmed);
                text.push(' ');
                if !trimmed.ends_with('{') {
                    continue;
                }
            }
            if let Some(text) = header.take() {
                block = text;
            } else if let Some(text) = signature.take() {
                found.extend(method(table, &block, &text, &mut seen));
            }
        }
    }
    // A fence and a barrier lead on from there.
    for states in seen.values_mut() {
        let further: Vec<_> = states
            .iter()
            .filter_map(|state| table.leads_to.get(state))
            .flatten()
            .cloned()
            .collect();
        states.extend(further);
    }
    (found, seen)
}

/// One method, from the header of its `impl` and its signature; none if it does not consume a region. Notes in what states its result
/// is.
fn method(
    table: &Table,
    header: &str,
    signature: &str,
    seen: &mut BTreeMap<String, BTreeSet<String>>,
) -> Option<Method> {
    let result = signature.split_once("-> ").map_or("", |(_, result)| result);
    let result = result.split(" where ").next().unwrap_or_default();
    // `Slot<'k, Tag, R, S, Full>`, also within a tuple or a `Result`.
    for (at, _) in result.match_indices('<') {
        let before = &result[..at];
        let start = before.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |i| i + 1);
        let arguments = result[at..].split('>').next().unwrap_or_default();
        seen.entry(before[start..].to_owned()).or_default().extend(table.states(arguments));
    }
    let of = type_of(header)?;
    let (_, arguments) = header.rsplit_once(&format!(" {of}<"))?;
    let arguments = arguments.split('{').next().unwrap_or_default();
    let takes = |receiver: &str| signature.contains(receiver);
    let consumes = takes("(self") || takes("( self") || takes("(mut self") || takes("( mut self");
    let of_states = table.states(arguments);
    if !consumes || (of_states.is_empty() && !words(arguments).contains("State")) {
        return None;
    }
    let name = signature.split("fn ").nth(1)?;
    let name = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let asks = signature
        .split(" State: ")
        .skip(1)
        .map(|bound| bound.split(',').next().unwrap_or_default());
    let asks = asks.flat_map(words).collect();
    let mut leads_to = table.states(result);
    if words(result).contains("Self") {
        leads_to.extend(of_states.clone());
        leads_to.insert("Self".to_owned());
    }
    if result.contains("State::") {
        leads_to.insert("State::".to_owned());
    }
    Some(Method { of, name, of_states, asks, leads_to })
}

/// Methods that lose something that is under way.
fn losing(
    table: &Table,
    methods: &[Method],
    seen: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    let mut lost = Vec::new();
    for method in methods {
        let kept = |(of, name, _): &&(&str, &str, &str)| *of == method.of && *name == method.name;
        let Some(states) = seen.get(&method.of).filter(|_| !KEPT.iter().any(|k| kept(&k))) else {
            continue;
        };
        let states = if method.of_states.is_empty() { states } else { &method.of_states };
        for state in states {
            // What is no fact of the list is asked of something else.
            let asked =
                method.asks.iter().filter(|ask| table.facts.values().any(|f| f.contains(*ask)));
            if !asked.clone().all(|fact| table.holds(fact, state)) {
                continue;
            }
            for fact in UNDER_WAY.iter().filter(|fact| table.holds(fact, state)) {
                let stays = method.leads_to.iter().any(|to| match &**to {
                    "Self" => true,
                    "State::" => table
                        .leads_to
                        .get(state)
                        .is_none_or(|to| to.iter().all(|to| table.holds(fact, to))),
                    to => table.holds(fact, to),
                });
                if !method.asks.contains(*fact) && method.of_states.is_empty() && !stays {
                    lost.push(format!("{}::{} in `{state}`: {fact}", method.of, method.name));
                }
            }
        }
    }
    lost
}

#[test]
fn no_method_forgets_what_is_under_way() {
    let table = Table::read();
    let (methods, seen) = methods(&table);
    assert_eq!(losing(&table, &methods, &seen), [""; 0]);

    // Without one of the facts that they ask for, some of these would, and some are kept from it by another.
    for (of, name, fact, lost) in [
        ("Acc", "fence_after_thread_sync", "StoresEnded", "StoreUnderWay"),
        ("Acc", "fence_before_thread_sync", "LoadsEnded", "LoadUnderWay"),
        ("Acc", "release", "BeforeThreadSync", ""),
        ("Slot", "publish", "CopiesLanded", "CopiesUnderWay"),
        ("StagingBuffer", "store", "HandsOnTo", ""),
        ("PeerRegion", "close", "NotAwaited", "HasArrivedAtTheCluster"),
    ] {
        let mut doctored = methods.clone();
        let method = doctored.iter_mut().find(|m| m.of == of && m.name == name);
        let method = method.unwrap_or_else(|| panic!("{of}::{name} is a method"));
        assert!(method.asks.remove(fact), "{of}::{name} asks for {fact}");
        let found = losing(&table, &doctored, &seen);
        let expected =
            |line: &String| line.starts_with(&format!("{of}::{name} ")) && line.ends_with(lost);
        assert_eq!(found.iter().any(expected), !lost.is_empty(), "{of}::{name}: {found:?}");
    }
}
