//! From the compiler's PTX to the PTX that is shipped.
//!
//! The compiler cannot say everything that a kernel needs, so the device library leaves comments
//! ([`annotations`]) for what it has no words for, and the version of the PTX language is raised to
//! what the inline assembly uses ([`version`]). Fences order one way where the target can ([`fences`]). Debug information keeps ptxas from optimising: it
//! becomes a side table ([`debug`]) and is cut out. What kept the compiler from moving things ([`anchors`]) goes too.
//!
//! The text is edited line by line, so that what nobody asked to change stays byte for byte as the
//! compiler wrote it.

mod anchors;
pub(crate) mod annotations;
mod debug;
mod fences;
mod version;

use std::path::PathBuf;

use baton_ptx::Module;
use baton_ptx::lines::LineTable;

use annotations::Annotations;

/// PTX that is ready to be checked and assembled.
pub(crate) struct Processed {
    /// The text.
    pub text: String,
    /// From its lines to Rust source.
    pub lines: LineTable,
    /// What the comments said.
    pub annotations: Annotations,
}

/// Names of folders in the side table: a prefix of a source path, and what stands for it.
pub(crate) type Roots = [(PathBuf, &'static str)];

/// Makes the PTX that is shipped from the one that the compiler wrote.
pub(crate) fn process(raw: &str, name: &str, roots: &Roots) -> Result<Processed, String> {
    let parse = |text: &str| Module::parse(text, name).map_err(|error| error.to_string());
    let mut module = parse(raw)?;
    let one_way = fences::one_way(&module, raw)?;
    if one_way != raw {
        module = parse(&one_way)?;
    }
    let raw = &*one_way;
    let annotations = Annotations::read(&module)?;
    let lines = debug::line_table(&module, roots)?;

    let mut edit = Edit::of(raw);
    annotations.apply(&module, &mut edit)?;
    anchors::remove(&module, &mut edit);
    version::raise(&module, &mut edit);
    debug::strip(&module, &mut edit);
    let (text, places) = edit.finish();
    let lines = lines.renumbered(|line| places.get(line as usize - 1).copied().flatten());
    Ok(Processed { text, lines, annotations })
}

/// A text being edited by lines. Line numbers are 1-based and those of the original.
pub(crate) struct Edit<'a> {
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    before: Vec<String>,
    /// `None` once it is removed.
    text: Option<std::borrow::Cow<'a, str>>,
}

impl<'a> Edit<'a> {
    fn of(text: &'a str) -> Self {
        let line = |text: &'a str| Line { before: Vec::new(), text: Some(text.into()) };
        Self { lines: text.lines().map(line).collect() }
    }

    /// The text of a line as it is now; empty if it is removed.
    pub fn line(&self, line: u32) -> &str {
        self.lines[line as usize - 1].text.as_deref().unwrap_or("")
    }

    /// Puts `text` in its place.
    pub fn replace(&mut self, line: u32, text: String) {
        self.lines[line as usize - 1].text = Some(text.into());
    }

    /// Removes it.
    pub fn remove(&mut self, line: u32) {
        self.lines[line as usize - 1].text = None;
    }

    /// Puts a line of its own before it, after those that are there already.
    pub fn insert_before(&mut self, line: u32, text: String) {
        self.lines[line as usize - 1].before.push(text);
    }

    /// The new text, and for each original line its new number.
    fn finish(self) -> (String, Vec<Option<u32>>) {
        let mut text = String::new();
        let mut places = Vec::with_capacity(self.lines.len());
        let mut count = 0;
        let mut push = |line: &str| {
            text.push_str(line);
            text.push('\n');
            count += 1;
            count
        };
        for line in &self.lines {
            for before in &line.before {
                push(before);
            }
            places.push(line.text.as_deref().map(&mut push));
        }
        (text, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_track_of_lines() {
        let mut edit = Edit::of("a\nb\nc\nd\n");
        edit.remove(2);
        edit.insert_before(3, "x".into());
        edit.insert_before(3, "y".into());
        edit.replace(4, "D".into());
        let (text, places) = edit.finish();
        assert_eq!(text, "a\nx\ny\nc\nD\n");
        assert_eq!(places, [Some(1), None, Some(4), Some(5)]);
    }

    #[test]
    fn local_memory_is_no_debug_information() {
        let raw = ".version 8.0\n.target sm_90a, debug\n.address_size 64\n.visible .entry k()\n{\n\
                   .local .align 4 .b8 __local_depot0[16];\n.loc 1 6 0\nret;\n}\n.file 1 \"a.rs\"\n";
        let text = process(raw, "k.ptx", &[]).unwrap().text;
        assert!(text.contains(".local .align 4 .b8 __local_depot0[16];"), "{text}");
        assert!(
            !text.contains(".loc ") && !text.contains(".file") && !text.contains("debug"),
            "{text}"
        );
    }
}
