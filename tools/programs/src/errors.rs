//! What the compiler says of the programs of a crate: the modules that its errors name, and where.
//!
//! An error mostly points at the statement that it is about. One that comes only when code is made of a generic function (a
//! constant of the library that fails for these types) points into the library, and names the program in a note about who
//! asked for that function, or only in the type of a closure. So the places of an error are looked for in its spans, then in
//! those of its notes, and then in its words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The errors of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// The lines that errors are about.
    pub primary: BTreeSet<usize>,
    /// The lines that they name beside those.
    pub secondary: BTreeSet<usize>,
    /// The text of the first, with its code.
    pub first: String,
    /// Whether one is about the syntax, or comes before types.
    pub early: bool,
}

/// The errors of each module, of the messages that name one of `modules`.
pub fn by_module(messages: &[Value], modules: &BTreeSet<String>) -> BTreeMap<String, Errors> {
    let mut found = BTreeMap::new();
    for message in messages {
        let notes = message["children"].as_array().map_or(&[][..], Vec::as_slice);
        let mut any = spans(message, message, modules, &mut found);
        if !any {
            for note in notes {
                any |= spans(note, message, modules, &mut found);
            }
        }
        if !any {
            let words = std::iter::once(message).chain(notes);
            let words = words.filter_map(|part| part["message"].as_str());
            let words = words.chain(message["rendered"].as_str());
            for name in words.flat_map(named).filter(|name| modules.contains(*name)) {
                note(message, name, &mut found);
            }
        }
    }
    found
}

/// The text of an error, with its code.
pub fn told(message: &Value) -> String {
    let code = message["code"]["code"].as_str().unwrap_or("error");
    format!("{code}: {}", message["message"].as_str().unwrap_or_default())
}

/// Notes the places of an error, or of one of its notes; says whether there are any.
fn spans(
    part: &Value,
    message: &Value,
    modules: &BTreeSet<String>,
    found: &mut BTreeMap<String, Errors>,
) -> bool {
    let mut any = false;
    for span in part["spans"].as_array().map_or(&[][..], Vec::as_slice) {
        // What a macro makes is where the macro is called.
        let mut at = span;
        loop {
            let file = at["file_name"].as_str().unwrap_or_default();
            if let Some(name) = named(file).find(|name| modules.contains(*name)) {
                any = true;
                let entry = note(message, name, found);
                let primary = span["is_primary"].as_bool().unwrap_or_default();
                let lines = if primary { &mut entry.primary } else { &mut entry.secondary };
                lines.extend(at["line_start"].as_u64().map(|line| line as usize));
            }
            match at["expansion"]["span"].is_object() {
                true => at = &at["expansion"]["span"],
                false => break,
            }
        }
    }
    any
}

fn note<'a>(
    message: &Value,
    name: &str,
    found: &'a mut BTreeMap<String, Errors>,
) -> &'a mut Errors {
    let entry = found.entry(name.to_owned()).or_default();
    if entry.first.is_empty() {
        entry.first = told(message);
    }
    entry.early |= message["code"]["code"].is_null();
    entry
}

/// The modules that a text of the compiler names, by their files.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("src/").skip(1);
    parts.filter_map(|part| part.split_once(".rs")).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(message: Value) -> BTreeMap<String, Errors> {
        let modules = ["p1_2", "p1_3"].map(String::from).into();
        by_module(&[message], &modules)
    }

    fn lines(lines: &[usize]) -> BTreeSet<usize> {
        lines.iter().copied().collect()
    }

    #[test]
    fn an_error_is_where_its_macro_is_called() {
        let call = json!({ "file_name": "src/p1_2.rs", "line_start": 7 });
        let span = json!({
            "file_name": "/somewhere/src/entry.rs", "line_start": 1, "is_primary": true, "expansion": { "span": call },
        });
        let other = json!({ "file_name": "src/p1_3.rs", "line_start": 9, "is_primary": false });
        let found = found(json!({
            "code": { "code": "E0308" }, "message": "mismatched types", "spans": [span, other],
        }));
        assert_eq!(found["p1_2"].primary, lines(&[7]));
        assert_eq!(found["p1_3"].secondary, lines(&[9]));
        assert_eq!(found["p1_2"].first, "E0308: mismatched types");
        assert!(!found["p1_2"].early && found.len() == 2);
    }

    #[test]
    fn what_fails_when_code_is_made_is_where_the_code_is_asked_for() {
        let span = |file: &str| json!([{ "file_name": file, "line_start": 5, "is_primary": true }]);
        let asked = |file: &str| json!([{ "message": "while instantiating", "spans": span(file) }]);
        let message = |file: &str| {
            json!({
                "code": { "code": "E0080" }, "message": "evaluation panicked", "spans": span("../src/stages.rs"),
                "children": asked(file), "rendered": "of {closure@src/p1_3.rs:20:30}",
            })
        };
        let direct = found(message("src/p1_2.rs"));
        assert_eq!(direct["p1_2"].primary, lines(&[5]));
        assert_eq!(direct.len(), 1);
        // Asked for in the library again: the type of a closure says for whom.
        let by_type = found(message("../src/roles.rs"));
        assert_eq!(by_type.keys().collect::<Vec<_>>(), ["p1_3"]);
        assert!(by_type["p1_3"].primary.is_empty());
    }

    #[test]
    fn an_error_of_the_library_alone_names_nobody() {
        let message =
            json!({ "message": "recursion limit", "spans": [], "rendered": "src/stages.rs" });
        assert_eq!(found(message), BTreeMap::new());
    }
}
