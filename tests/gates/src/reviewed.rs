//! Lists that people have reviewed: what a gate found and why it does no harm.
//!
//! A list is a page of Markdown. An indented line is a finding, and the paragraph above it says for what reason it and its neighbours
//! may be. A gate fails on what the page does not have, and on what the page has and is no more. `BATON_BLESS=1` takes the latter
//! out, reasons that nothing is left of included; it puts nothing in, because a reason is for a person to find.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// A page, in blocks that empty lines part.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    blocks: Vec<Block>,
}

#[derive(Debug, PartialEq, Eq)]
enum Block {
    Text(String),
    /// Findings.
    Entries(Vec<String>),
}

const INDENT: &str = "    ";

impl Page {
    fn parse(text: &str) -> Self {
        let block = |block: &str| {
            let entries: Option<Vec<_>> = block.lines().map(|l| l.strip_prefix(INDENT)).collect();
            match entries {
                Some(entries) => Block::Entries(entries.into_iter().map(str::to_owned).collect()),
                None => Block::Text(block.to_owned()),
            }
        };
        let blocks = text.split("\n\n").map(|block| block.trim_matches('\n'));
        Self { blocks: blocks.filter(|text| !text.is_empty()).map(block).collect() }
    }

    fn text(&self) -> String {
        let block = |block: &Block| match block {
            Block::Text(text) => text.clone(),
            Block::Entries(entries) => {
                let lines: Vec<_> =
                    entries.iter().map(|entry| format!("{INDENT}{entry}")).collect();
                lines.join("\n")
            }
        };
        self.blocks.iter().map(block).collect::<Vec<_>>().join("\n\n") + "\n"
    }

    fn entries(&self) -> impl Iterator<Item = &String> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Entries(entries) => entries.as_slice(),
            Block::Text(_) => &[],
        })
    }

    /// The findings above which no paragraph stands.
    fn without_reason(&self) -> Vec<&String> {
        let mut bare = Vec::new();
        for (index, block) in self.blocks.iter().enumerate() {
            let above = index.checked_sub(1).map(|above| &self.blocks[above]);
            let argued = matches!(above, Some(Block::Text(text)) if !text.starts_with('#'));
            if let (Block::Entries(entries), false) = (block, argued) {
                bare.extend(entries);
            }
        }
        bare
    }

    /// The page without some findings.
    fn without(self, stale: &BTreeSet<String>) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        for block in self.blocks {
            match block {
                Block::Text(_) => blocks.push(block),
                Block::Entries(mut entries) => {
                    entries.retain(|entry| !stale.contains(entry));
                    if entries.is_empty() {
                        blocks.pop();
                    } else {
                        blocks.push(Block::Entries(entries));
                    }
                }
            }
        }
        Self { blocks }
    }
}

/// Compares what was found with a page of the repository. `found` has for each finding what else to say of it; `remedy` says what to
/// do about a new one.
///
/// # Errors
/// What differs, and what to do.
pub fn compare(page: &Path, found: &BTreeMap<String, String>, remedy: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(page).map_err(|error| format!("{page:?}: {error}"))?;
    let list = Page::parse(&text);
    let listed: BTreeSet<String> = list.entries().cloned().collect();
    let mut said = String::new();
    for entry in list.without_reason() {
        writeln!(said, "no reason stands above `{entry}`").expect("a string");
    }
    for (finding, more) in found.iter().filter(|(finding, _)| !listed.contains(*finding)) {
        writeln!(said, "not reviewed: {finding}\n    {more}").expect("a string");
    }
    if !said.is_empty() {
        write!(said, "{remedy}").expect("a string");
        return Err(format!("{}:\n{said}", page.display()));
    }
    let stale: BTreeSet<String> =
        listed.into_iter().filter(|entry| !found.contains_key(entry)).collect();
    if stale.is_empty() {
        return Ok(());
    }
    if std::env::var_os("BATON_BLESS").is_some() {
        let text = list.without(&stale).text();
        return std::fs::write(page, text).map_err(|error| format!("{page:?}: {error}"));
    }
    let stale: Vec<_> = stale.into_iter().collect();
    Err(format!(
        "{} lists what is no more; `BATON_BLESS=1 cargo test -p baton-gates` takes it out:\n{}",
        page.display(),
        stale.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\nWhat it is.\n\n## Part\n\nFirst reason.\n\n    a\n    b\n\nSecond\nreason.\n\n    c\n";

    #[test]
    fn a_page_is_written_as_it_was_read() {
        assert_eq!(Page::parse(PAGE).text(), PAGE);
        assert_eq!(Page::parse(PAGE).entries().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn a_reason_goes_with_its_last_finding() {
        let page = Page::parse(PAGE).without(&["b".to_owned(), "c".to_owned()].into());
        assert_eq!(page.text(), "# Page\n\nWhat it is.\n\n## Part\n\nFirst reason.\n\n    a\n");
    }

    #[test]
    fn a_finding_has_a_reason() {
        let page = Page::parse("# Page\n\n    a\n\nReason.\n\n    b\n\n    c\n");
        assert_eq!(page.without_reason(), ["a", "c"]);
    }
}
