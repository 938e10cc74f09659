//! No module of this library imports, directly or over others, one that imports it: what is below does not know
//! what is above.
//!
//! The sources are read. An edge is a path that begins with `crate::`, `super::` or `self::`, in a `use` line or
//! anywhere else in the code, to the file that has the item: a re-export is followed to where the item is. Tests
//! inside the files do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file: its module path, its text without comments and tests, and the re-exports that it makes.
struct Module {
    path: Vec<String>,
    text: String,
    exports: BTreeMap<String, Vec<String>>,
}

/// What a `use` or a path names, each name from the beginning.
fn names(tree: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((path, rest)) => {
                let mut before = before.to_vec();
                before.extend(segments(path));
                names(rest.trim_end().trim_end_matches('}'), &before, found);
            }
            None => {
                let name = part.split(" as ").next().unwrap_or(part);
                found.push(before.iter().cloned().chain(segments(name)).collect());
            }
        }
    }
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The code without comments, and without what is only for tests.
fn code(text: &str) -> String {
    let before_tests = text
        .find("#[cfg(test)]\nmod")
        .or_else(|| text.find("#[cfg(all(test"))
        .unwrap_or(text.len());
    let lines = text[..before_tests].lines();
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// From where a path is read: `crate`, `self` and `super` resolved.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut from = module.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => from.clear(),
        "self" => {}
        "super" => {
            from.pop();
        }
        _ => return None,
    }
    rest = &rest[1..];
    while rest.first().is_some_and(|part| part == "super") {
        from.pop();
        rest = &rest[1..];
    }
    from.extend(rest.iter().cloned());
    Some(from)
}

fn modules() -> BTreeMap<Vec<String>, Module> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&source, &mut paths);
    let modules = paths.into_iter().map(|file| {
        let relative = file.strip_prefix(&source).unwrap().with_extension("");
        let mut path: Vec<String> =
            relative.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        if path.last().is_some_and(|last| last == "mod" || last == "lib") {
            path.pop();
        }
        let text = code(&fs::read_to_string(&file).unwrap());
        let mut exports = BTreeMap::new();
        for statement in text.split(';') {
            let statement = statement.trim_start();
            let statement = statement.rsplit("\n\n").next().unwrap_or(statement).trim_start();
            let Some(tree) = statement
                .strip_prefix("pub use ")
                .or_else(|| statement.strip_prefix("pub(crate) use "))
            else {
                continue;
            };
            let mut found = Vec::new();
            names(tree, &[], &mut found);
            for name in found {
                let mut from = path.clone();
                match name[0].as_str() {
                    "crate" | "self" | "super" => from = absolute(&path, &name).unwrap(),
                    _ => from.extend(name.iter().cloned()),
                }
                exports.insert(name.last().unwrap().clone(), from);
            }
        }
        (path.clone(), Module { path, text, exports })
    });
    modules.collect()
}

/// The file that has what the path names.
fn home(modules: &BTreeMap<Vec<String>, Module>, path: &[String]) -> Vec<String> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let mut deepest = Vec::new();
        for length in 0..=path.len() {
            if modules.contains_key(&path[..length]) {
                deepest = path[..length].to_vec();
            }
        }
        let next = path.get(deepest.len()).and_then(|name| modules[&deepest].exports.get(name));
        match next {
            Some(export) if *export != path => {
                let rest = path[deepest.len() + 1..].to_vec();
                path = export.iter().cloned().chain(rest).collect();
            }
            _ => return deepest,
        }
    }
    panic!("re-exports go round in a circle: {path:?}");
}

/// Every path in the code, with the line that it is in: from a root, or into a module below this one.
fn paths(module: &Module, below: &[String]) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let roots = ["crate::", "super::", "self::"].map(str::to_owned).into_iter();
    for root in roots.chain(below.iter().map(|child| format!("{child}::"))) {
        let root = &*root;
        let mut from = 0;
        while let Some(at) = module.text[from..].find(root).map(|at| at + from) {
            from = at + root.len();
            let before = module.text[..at].chars().next_back();
            if before.is_some_and(|letter| letter.is_alphanumeric() || "_:".contains(letter)) {
                continue;
            }
            let line_start = module.text[..at].rfind('\n').map_or(0, |line| line + 1);
            let line = module.text[line_start..].lines().next().unwrap_or_default().trim();
            let is_use = line.starts_with("use ");
            // Facades name what is below without using it.
            if line.starts_with("pub use ") || line.starts_with("pub(") && line.contains(" use ") {
                continue;
            }
            let rest = &module.text[at..];
            let end = match is_use {
                true => rest.find(';').unwrap_or(rest.len()),
                false => rest
                    .find(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)))
                    .unwrap_or(rest.len()),
            };
            let mut all = Vec::new();
            names(&rest[..end], &[], &mut all);
            let is_below = below.iter().any(|child| root.starts_with(&**child));
            found.extend(all.into_iter().map(|mut path: Vec<String>| {
                if is_below {
                    path.insert(0, "self".into());
                }
                (path, line.to_owned())
            }));
        }
    }
    found
}

#[test]
fn imports_go_one_way() {
    let modules = modules();
    let mut edges: BTreeMap<&Vec<String>, BTreeMap<Vec<String>, String>> = BTreeMap::new();
    for (path, module) in &modules {
        let below: Vec<String> = modules
            .keys()
            .filter(|other| other.len() == path.len() + 1 && other.starts_with(path))
            .filter_map(|other| other.last().cloned())
            .collect();
        for (named, line) in paths(module, &below) {
            let Some(named) = absolute(&module.path, &named) else { continue };
            let home = home(&modules, &named);
            if home != *path {
                edges.entry(path).or_default().entry(home).or_insert(line);
            }
        }
    }
    assert!(edges.values().map(BTreeMap::len).sum::<usize>() > 100, "{edges:#?}");

    let name = |path: &[String]| match path {
        [] => "the crate".to_owned(),
        path => path.join("::"),
    };
    // What each can come to.
    let reached = |from: &Vec<String>| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(path) = next.pop() {
            for to in edges.get(path).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(to) {
                    next.push(to);
                }
            }
        }
        seen
    };
    let mut offending = Vec::new();
    for (path, to) in &edges {
        for (to, line) in to {
            if reached(to).contains(path) {
                offending.push(format!("{} imports {}: `{line}`", name(path), name(to)));
            }
        }
    }
    assert!(offending.is_empty(), "a circle of imports:\n{}", offending.join("\n"));

    // And the devices know nothing of who uses them.
    for (path, to) in &edges {
        let below = path.first().is_some_and(|first| first == "driver");
        let above = ["device", "stream", "buffer", "memory", "lane", "fence", "launch"];
        for (to, line) in to {
            let is_above = to.first().is_some_and(|first| above.contains(&first.as_str()));
            assert!(!(below && is_above), "{} imports {}: `{line}`", name(path), name(to));
        }
    }
}
