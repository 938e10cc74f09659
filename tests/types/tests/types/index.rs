//! Two pages of the library's documentation that follow from its source: from PTX mnemonics to Rust names, and from the
//! facts about regions to the states in which they hold.
//!
//! The first reads the `# PTX` sections of the typed layer and the instruction layer's own table of forms; the second the
//! list of implementations at the end of `path.rs`. Both are written by `BATON_BLESS=1`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::messages::step;
use crate::page::root;

/// What instructions are called, without their qualifiers. The longest that fits counts.
const STEMS: &[&str] = &[
    "activemask",
    "applypriority",
    "atom",
    "bar.arrive",
    "bar.red",
    "bar.sync",
    "bar.warp.sync",
    "barrier.cluster.arrive",
    "barrier.cluster.wait",
    "barrier.cta.arrive",
    "barrier.cta.red",
    "barrier.cta.sync",
    "barrier.arrive",
    "barrier.red",
    "barrier.sync",
    "clusterlaunchcontrol.query_cancel",
    "clusterlaunchcontrol.try_cancel",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.prefetch.tensor",
    "cp.async.bulk.prefetch",
    "cp.async.bulk.tensor",
    "cp.async.bulk.wait_group",
    "cp.async.bulk",
    "cp.async.commit_group",
    "cp.async.mbarrier.arrive",
    "cp.async.wait_all",
    "cp.async.wait_group",
    "cp.async",
    "cp.reduce.async.bulk.tensor",
    "cp.reduce.async.bulk",
    "createpolicy",
    "cvt.rni",
    "cvta",
    "discard",
    "elect.sync",
    "exit",
    "fence.mbarrier_init",
    "fence.proxy.alias",
    "fence.proxy.async",
    "fence.proxy.fabric",
    "fence.proxy.generic",
    "fence.proxy.tensormap",
    "fence",
    "getctarank",
    "griddepcontrol.launch_dependents",
    "griddepcontrol.wait",
    "isspacep",
    "ld.global.nc",
    "ld.volatile",
    "ld",
    "ldmatrix",
    "mapa",
    "match",
    "mbarrier.arrive",
    "mbarrier.arrive_drop",
    "mbarrier.check_layout",
    "mbarrier.complete_tx",
    "mbarrier.expect_tx",
    "mbarrier.init",
    "mbarrier.inval",
    "mbarrier.pending_count",
    "mbarrier.test_wait",
    "mbarrier.try_wait",
    "mma.sync",
    "movmatrix",
    "multimem.ld_reduce",
    "multimem.red",
    "multimem.st",
    "nanosleep",
    "prefetch.tensormap",
    "prefetch",
    "prefetchu",
    "red.async",
    "red",
    "redux.sync",
    "setmaxnreg",
    "shfl.sync",
    "st.async",
    "st.bulk",
    "st.volatile",
    "st",
    "stmatrix",
    "tcgen05.alloc",
    "tcgen05.commit",
    "tcgen05.cp",
    "tcgen05.dealloc",
    "tcgen05.fence::after_thread_sync",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.ld",
    "tcgen05.mma",
    "tcgen05.relinquish_alloc_permit",
    "tcgen05.shift",
    "tcgen05.st",
    "tcgen05.wait::ld",
    "tcgen05.wait::st",
    "tensormap.cp_fenceproxy",
    "tensormap.replace",
    "trap",
    "vote.sync",
    "wgmma.commit_group",
    "wgmma.fence",
    "wgmma.mma_async",
    "wgmma.wait_group",
];

/// The stem of what stands in backticks, if that is an instruction.
fn stem(text: &str) -> Option<&'static str> {
    let continues = |rest: &str| rest.is_empty() || rest.starts_with(['.', ':', '{', ' ', ';']);
    let fits = |stem: &&&str| text.strip_prefix(**stem).is_some_and(continues);
    STEMS.iter().filter(fits).max_by_key(|stem| stem.len()).copied()
}

/// A public function with its documentation.
struct Function {
    /// `crate::stages::Slot::publish`.
    path: String,
    docs: Vec<String>,
}

/// Public functions of a source file. `impl` blocks give them the name of their type.
fn functions(text: &str, module: &str, homes: &Homes) -> Vec<Function> {
    let mut found = Vec::new();
    let mut docs: Vec<String> = Vec::new();
    let mut of_type: Option<String> = None;
    let mut header: Option<String> = None;
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        if line.starts_with("impl") || line.starts_with("unsafe impl") {
            header = Some(String::new());
        }
        if let Some(text) = &mut header {
            text.push_str(line);
            text.push(' ');
            if line.ends_with('{') || line.ends_with('}') || line.ends_with(';') {
                of_type = type_of(text);
                header = None;
            }
            continue;
        }
        if line == "}" {
            of_type = None;
        }
        let trimmed = line.trim_start();
        if let Some(doc) = trimmed.strip_prefix("///") {
            docs.push(doc.trim_start().to_owned());
            continue;
        }
        if trimmed.starts_with("#[") || trimmed.starts_with("//") {
            continue;
        }
        let function = ["pub fn ", "pub unsafe fn ", "pub const fn "]
            .iter()
            .find_map(|start| trimmed.strip_prefix(start));
        if let Some(rest) = function {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            // A macro's own name for it.
            if !name.is_empty() {
                let path = match (&of_type, line.starts_with(' ')) {
                    (Some(of), true) => {
                        let all = homes.get(of).into_iter().flatten();
                        let elsewhere = all.clone().all(|home| home != module);
                        let home = all.into_iter().next().filter(|_| elsewhere);
                        format!("{}::{of}::{name}", home.map_or(module, String::as_str))
                    }
                    _ => format!("{module}::{name}"),
                };
                found.push(Function { path, docs: std::mem::take(&mut docs) });
            }
        }
        docs.clear();
    }
    found
}

/// The type that an `impl` header is about; none for implementations of traits.
pub fn type_of(header: &str) -> Option<String> {
    let header = header.trim_start_matches("unsafe ").strip_prefix("impl")?;
    let rest = if header.starts_with('<') {
        let mut depth = 0;
        let end = header.char_indices().find_map(|(at, c)| {
            match c {
                '<' => depth += 1,
                // Not an arrow's.
                '>' if !header[..at].ends_with('-') => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        })?;
        &header[end..]
    } else {
        header
    };
    if rest.contains(" for ") {
        return None;
    }
    Some(rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// All source files of the library, with the paths of their modules.
pub fn modules() -> Vec<(PathBuf, String)> {
    let source = root().join("kernel-lib/src");
    let mut files = Vec::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let module = |path: &Path| {
        let inside = path.strip_prefix(&source).expect("below the folder").with_extension("");
        let mut parts: Vec<_> =
            inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        // The modules of the typed layer's folders are private and re-exported from those above.
        let reexported = parts[0] != "ptx" && parts.len() > 1;
        if reexported || parts.last().is_some_and(|part| part == "mod") {
            parts.truncate(parts.len() - 1);
        }
        parts.insert(0, "crate".to_owned());
        parts.join("::")
    };
    files.iter().map(|path| (path.clone(), module(path))).collect()
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read `{}`: {error}", path.display()))
}

/// Public methods of the typed layer that take their receiver and do not say a rule where the compiler quotes it: in a comment beside
/// `self`, on a line of its own.
pub fn silent_moves() -> Vec<String> {
    // Numbers and indices, which are copied.
    const COPIED: &[&str] = &["crate::float", "crate::index", "crate::math"];
    let mut silent = Vec::new();
    for (path, module) in modules() {
        if module.starts_with("crate::ptx") || COPIED.contains(&&*module) {
            continue;
        }
        let text = read(&path);
        let mut method = None;
        for line in text.split("#[cfg(test)]").next().unwrap_or_default().lines() {
            let trimmed = line.trim_start();
            let public = ["pub fn ", "pub const fn ", "pub unsafe fn "];
            // What is private, or of a trait, is called by what is public.
            if let Some(rest) = public.iter().find_map(|start| trimmed.strip_prefix(start)) {
                let name = rest.split(['<', '(']).next().unwrap_or_default();
                method = line.starts_with("    ").then(|| format!("{module}: {name}"));
            }
            let first = trimmed.find("(self").or_else(|| trimmed.find("(mut self"));
            let receiver = first.map_or(trimmed, |at| &trimmed[at + 1..]);
            if let Some(rest) = receiver.trim_start_matches("mut ").strip_prefix("self") {
                let said = rest.strip_prefix(", // ").unwrap_or_default();
                let (of_rules, moved) = said.split_once(':').unwrap_or((said, ""));
                let whole = !rules(of_rules).is_empty() && step(moved).is_some();
                silent.extend(method.take().filter(|_| !whole));
            } else if trimmed.ends_with('{') || trimmed.ends_with(';') {
                method = None;
            }
        }
    }
    silent
}

/// The modules that have a type of some name.
type Homes = BTreeMap<String, BTreeSet<String>>;

/// Where types are, which have methods in other modules as well.
fn homes() -> Homes {
    let mut homes = Homes::new();
    for (path, module) in modules() {
        let text = read(&path);
        for rest in text.lines().filter_map(|line| line.strip_prefix("pub struct ")) {
            let name = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            homes.entry(name).or_default().insert(module.clone());
        }
    }
    homes
}

/// The page of mnemonics, and what looks like an instruction and has no stem.
pub fn mnemonics() -> (String, Vec<String>) {
    let mut typed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut raw: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for line in read(&root().join("kernel-lib/src/ptx/forms.md")).lines() {
        let Some((form, rest)) = line.strip_prefix("| `").and_then(|row| row.split_once('`'))
        else {
            continue;
        };
        // Special registers have names of their own.
        if form.starts_with("mov.") {
            continue;
        }
        let path = rest.split_once("](").and_then(|(_, link)| link.split_once(')'));
        // A block of several instructions has one that counts.
        let found =
            form.trim_start_matches('{').split(';').find_map(|text| stem(text.trim_start()));
        match (found, path) {
            (Some(stem), Some((path, _))) => {
                raw.entry(stem).or_default().insert(path.to_owned());
            }
            _ => unknown.push(form.to_owned()),
        }
    }
    let homes = homes();
    for (path, module) in modules() {
        if module.starts_with("crate::ptx") {
            continue;
        }
        for function in functions(&read(&path), &module, &homes) {
            let section = function.docs.iter().skip_while(|line| *line != "# PTX").skip(1);
            let section: Vec<_> = section.take_while(|line| !line.starts_with('#')).collect();
            // What the operations on atomics are stands in their first line.
            let first = function.docs.first().filter(|line| line.starts_with('`'));
            for line in section.into_iter().chain(first) {
                for stem in quoted(line).filter_map(stem) {
                    typed.entry(stem).or_default().insert(function.path.clone());
                }
            }
        }
    }
    // A macro makes the operations on atomics of lines such as `fetch_add Add atom_add "add";`.
    for line in read(&root().join("kernel-lib/src/atomic.rs")).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        if let [name, _, operation, text] = words.as_slice()
            && text.starts_with('"')
            && text.ends_with(';')
        {
            let instruction = operation.split('_').next().and_then(stem).expect("an operation");
            let path = format!("crate::atomic::Atomic::{name}");
            typed.entry(instruction).or_default().insert(path);
        }
    }
    let mut page = String::from(MNEMONICS);
    let stems: BTreeSet<&str> = typed.keys().chain(raw.keys()).copied().collect();
    for stem in stems {
        let _ = writeln!(
            page,
            "| `{stem}` | {} | {} |",
            links(typed.get(stem), "crate::"),
            links(raw.get(stem), "crate::ptx::")
        );
    }
    (page, unknown)
}

fn links(paths: Option<&BTreeSet<String>>, prefix: &str) -> String {
    let Some(paths) = paths else { return String::new() };
    let link = |path: &String| {
        let shown = path.strip_prefix(prefix).unwrap_or(path);
        format!("[`{shown}`]({path})")
    };
    paths.iter().map(link).collect::<Vec<_>>().join(", ")
}

const MNEMONICS: &str = "\
From PTX instructions to Rust names: what of the typed layer issues an instruction, and the functions of the instruction
layer that are its forms (each form with its qualifiers: [`ptx`](crate::ptx)).

| instruction | typed | instruction layer |
|---|---|---|
";

/// The table of facts: their rules, and the states in which they hold.
pub fn facts() -> String {
    let text = read(&root().join("kernel-lib/src/path.rs"));
    let list = text.split("\nfacts! {\n").nth(1).expect("path.rs lists the facts");
    let list = list.split("\n}\n").next().unwrap_or_default();
    // Facts in the order of their declarations, each with what its diagnostic says.
    let mut notes = String::new();
    let mut facts: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("note = ") || trimmed.starts_with("message = ") {
            notes.push_str(trimmed);
            notes.push('\n');
        } else if let Some(rest) = trimmed.strip_prefix("pub trait ") {
            let name = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            facts.push((name, rules(&notes)));
            notes.clear();
        }
    }
    let mut page = String::from(FACTS);
    for (fact, rules) in facts {
        let mut states = Vec::new();
        for line in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (state, holds) = line.trim_end_matches(';').split_once(':').expect("STATE: FACTS");
            // `Fact<A, B>` is one word without its spaces.
            let holds = holds.replace(", ", ",");
            for word in holds.split_whitespace() {
                let (name, paths) = word.split_once('<').unwrap_or((word, ""));
                if name == fact {
                    let paths = paths.trim_end_matches('>').replace(',', ", ");
                    let which = if paths.is_empty() { paths } else { format!(" ({paths})") };
                    states.push(format!("[`{state}`]{which}"));
                }
            }
        }
        if !states.is_empty() {
            let rules = rules.into_iter().collect::<Vec<_>>().join(", ");
            let _ = writeln!(page, "| [`{fact}`] | {rules} | {} |", states.join(", "));
        }
    }
    page
}

/// The ids in a diagnostic: a letter and a number, behind `rule` or in a list of rules.
fn rules(notes: &str) -> BTreeSet<String> {
    let word = |word: &str| {
        let id = word.trim_matches(|c: char| !c.is_alphanumeric());
        let (letter, number) = id.split_at_checked(1)?;
        let is_id = ("A"..="G").contains(&letter) && number.parse::<u8>().is_ok();
        is_id.then(|| id.to_owned())
    };
    notes.split_whitespace().filter_map(word).collect()
}

const FACTS: &str = "\
| fact | rules | holds in |
|---|---|---|
";
