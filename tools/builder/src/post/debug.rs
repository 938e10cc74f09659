//! The compiler's debug information, as a side table from PTX lines to Rust source.
//!
//! `.loc` gives the innermost place of an instruction, and the DWARF entries of inlined calls say
//! through which calls it got there. DWARF counts in addresses, which PTX does not have; but the
//! sections name labels of the text, so the line of a label serves as its address, and an ordinary
//! DWARF reader does the rest.
//!
//! LLVM gives an inlined call that was scattered one range that covers all of its parts, so a few
//! instructions in between appear to belong to it. A chain is a help to readers and a key for
//! sites, never a proof.

use std::collections::HashMap;
use std::sync::Arc;

use baton_ptx::lines::{Frame, LineTable};
use baton_ptx::{Body, Location, Module, Section};
use gimli::{AttributeValue, EndianSlice, LittleEndian};

use super::annotations::stands_alone;
use super::{Edit, Roots};

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The chains of all instructions, and of the comments that say something of their own place.
pub(super) fn line_table(module: &Module, roots: &Roots) -> Result<LineTable, String> {
    let files = module
        .files
        .iter()
        .map(|file| (u64::from(file.index), Arc::from(shortened(&file.path, roots))));
    let files: HashMap<u64, Arc<str>> = files.collect();
    let scopes = scopes(module)?;
    let mut table = LineTable::new();
    let mut places: Vec<(u32, Location)> = Vec::new();
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        for instruction in &body.instructions {
            let location = instruction.location.map(|index| body.locations[index as usize]);
            places.extend(location.map(|location| (instruction.line, location)));
        }
    }
    places.extend(alone(module));
    places.sort_by_key(|&(line, _)| line);
    for (line, location) in places.into_iter().filter(|(_, location)| location.line != 0) {
        table.insert(line, chain(location, line, &scopes, &files));
    }
    Ok(table)
}

/// The comments that stand alone, with the `.loc` in force.
fn alone(module: &Module) -> Vec<(u32, Location)> {
    let mut comments =
        module.comments.iter().filter(|comment| stands_alone(&comment.text)).peekable();
    let mut found = Vec::new();
    let mut last = None;
    for (number, text) in (1..).zip(module.source.lines()) {
        let mut words = text.split_whitespace();
        match words.next() {
            Some(".loc") => {
                let mut number = || words.next()?.trim_end_matches(',').parse().ok();
                last =
                    (|| Some(Location { file: number()?, line: number()?, column: number()? }))();
            }
            // The next function begins.
            Some("}") => last = None,
            _ => {}
        }
        if comments.next_if(|comment| comment.line == number).is_some() {
            found.extend(last.map(|location| (number, location)));
        }
    }
    found
}

/// Cuts out everything that is there for debuggers only.
pub(super) fn strip(module: &Module, edit: &mut Edit<'_>) {
    for section in &module.sections {
        let text = module.source.get(section.span.clone()).unwrap_or("");
        let last = section.line + text.trim_end().lines().count().saturating_sub(1) as u32;
        (section.line..=last).for_each(|line| edit.remove(line));
    }
    for line in 1..=edit.lines.len() as u32 {
        let text = edit.line(line);
        let word = text.trim();
        let label = |prefix: &str| word.starts_with(prefix) && word.ends_with(':');
        // Whole words: `.local` is memory, and stays.
        let directive = matches!(word.split_whitespace().next(), Some(".loc" | ".file"));
        if directive || label("$L__tmp") || label("$L__func_begin") || label("$L__func_end") {
            edit.remove(line);
        } else if word.starts_with(".target") && word.ends_with(", debug") {
            let plain = text.trim_end().trim_end_matches(", debug").to_owned();
            edit.replace(line, plain);
        }
    }
}

/// A path below one of the roots, with the root's name for it.
fn shortened(path: &str, roots: &Roots) -> String {
    for (root, name) in roots {
        if let Ok(rest) = std::path::Path::new(path).strip_prefix(root) {
            let rest = rest.to_string_lossy();
            return if name.is_empty() { rest.into_owned() } else { format!("{name}/{rest}") };
        }
    }
    path.to_owned()
}

/// A function, or a call that was inlined: from label to label, and what was inlined inside.
struct Scope {
    low: u64,
    high: u64,
    function: Option<Arc<str>>,
    /// File, line and column of the call; `None` for a function of its own.
    call: Option<(u64, u32, u32)>,
    inner: Vec<Scope>,
}

fn chain(
    location: Location,
    line: u32,
    scopes: &[Scope],
    files: &HashMap<u64, Arc<str>>,
) -> Vec<Frame> {
    let mut path = Vec::new();
    let mut level = scopes;
    let covers = |scope: &&Scope| scope.low <= line.into() && u64::from(line) < scope.high;
    // A scattered call's range may cover its neighbours', which are narrower then.
    while let Some(scope) = level.iter().filter(covers).min_by_key(|scope| scope.high - scope.low) {
        path.push(scope);
        level = &scope.inner;
    }
    let file = |index: u64| files.get(&index).cloned().unwrap_or_else(|| "?".into());
    let mut frames = Vec::with_capacity(path.len().max(1));
    let mut place = (u64::from(location.file), location.line, location.column);
    while let Some(scope) = path.pop() {
        let function = scope.function.clone();
        frames.push(Frame { file: file(place.0), line: place.1, column: place.2, function });
        match scope.call {
            Some(call) => place = call,
            None => return frames,
        }
    }
    frames.push(Frame { file: file(place.0), line: place.1, column: place.2, function: None });
    frames
}

/// Reads the entries of functions and of inlined calls.
fn scopes(module: &Module) -> Result<Vec<Scope>, String> {
    let sections = Assembled::of(module)?;
    let dwarf = Dwarf {
        info: gimli::DebugInfo::from(sections.reader(".debug_info")),
        abbreviations: gimli::DebugAbbrev::from(sections.reader(".debug_abbrev")),
        strings: gimli::DebugStr::from(sections.reader(".debug_str")),
    };
    dwarf.scopes().map_err(|error| format!("its debug information: {error}"))
}

/// The sections that are read. (`.debug_line` is made by ptxas and not there yet, so gimli's own
/// bundle of sections, which insists on it, does not serve.)
struct Dwarf<'a> {
    info: gimli::DebugInfo<Reader<'a>>,
    abbreviations: gimli::DebugAbbrev<Reader<'a>>,
    strings: gimli::DebugStr<Reader<'a>>,
}

type Entry<'abbrev, 'unit, 'a> = gimli::DebuggingInformationEntry<'abbrev, 'unit, Reader<'a>>;

impl<'a> Dwarf<'a> {
    fn scopes(&self) -> gimli::Result<Vec<Scope>> {
        let mut scopes = Vec::new();
        let mut units = self.info.units();
        while let Some(unit) = units.next()? {
            let abbreviations = unit.abbreviations(&self.abbreviations)?;
            let mut tree = unit.entries_tree(&abbreviations, None)?;
            self.collect(&unit, tree.root()?, &mut scopes)?;
        }
        Ok(scopes)
    }

    fn collect(
        &self,
        unit: &gimli::UnitHeader<Reader<'a>>,
        node: gimli::EntriesTreeNode<'_, '_, '_, Reader<'a>>,
        scopes: &mut Vec<Scope>,
    ) -> gimli::Result<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match self.scope(unit, child.entry())? {
                Some(mut scope) => {
                    self.collect(unit, child, &mut scope.inner)?;
                    scopes.push(scope);
                }
                // A lexical block, or a namespace: what it holds belongs to what holds it.
                None => self.collect(unit, child, scopes)?,
            }
        }
        Ok(())
    }

    fn scope(
        &self,
        unit: &gimli::UnitHeader<Reader<'a>>,
        entry: &Entry<'_, '_, 'a>,
    ) -> gimli::Result<Option<Scope>> {
        let inlined = match entry.tag() {
            gimli::DW_TAG_subprogram => false,
            gimli::DW_TAG_inlined_subroutine => true,
            _ => return Ok(None),
        };
        let Some(AttributeValue::Addr(low)) = entry.attr_value(gimli::DW_AT_low_pc)? else {
            return Ok(None);
        };
        let high = match entry.attr_value(gimli::DW_AT_high_pc)? {
            Some(AttributeValue::Addr(high)) => high,
            Some(size) => low + size.udata_value().unwrap_or(0),
            None => return Ok(None),
        };
        let number = |name| -> gimli::Result<u64> {
            Ok(match entry.attr_value(name)? {
                Some(AttributeValue::FileIndex(index)) => index,
                value => value.and_then(|value| value.udata_value()).unwrap_or(0),
            })
        };
        let call = (
            number(gimli::DW_AT_call_file)?,
            number(gimli::DW_AT_call_line)? as u32,
            number(gimli::DW_AT_call_column)? as u32,
        );
        Ok(Some(Scope {
            low,
            high,
            function: self.name(unit, entry)?,
            call: inlined.then_some(call),
            inner: Vec::new(),
        }))
    }

    /// The name of a function: its own, or that of the function that it is a copy of.
    fn name(
        &self,
        unit: &gimli::UnitHeader<Reader<'a>>,
        entry: &Entry<'_, '_, 'a>,
    ) -> gimli::Result<Option<Arc<str>>> {
        match entry.attr_value(gimli::DW_AT_name)? {
            Some(AttributeValue::String(name)) => return Ok(Some(name.to_string_lossy().into())),
            Some(AttributeValue::DebugStrRef(offset)) => {
                return Ok(Some(self.strings.get_str(offset)?.to_string_lossy().into()));
            }
            _ => {}
        }
        let copied_from = |unit: &gimli::UnitHeader<Reader<'a>>, offset| {
            let abbreviations = unit.abbreviations(&self.abbreviations)?;
            self.name(unit, &unit.entry(&abbreviations, offset)?)
        };
        match entry.attr_value(gimli::DW_AT_abstract_origin)? {
            Some(AttributeValue::UnitRef(offset)) => copied_from(unit, offset),
            Some(AttributeValue::DebugInfoRef(offset)) => {
                let mut units = self.info.units();
                while let Some(unit) = units.next()? {
                    if let Some(inside) = offset.to_unit_offset(&unit) {
                        return copied_from(&unit, inside);
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// The bytes of the debug sections.
struct Assembled(HashMap<String, Vec<u8>>);

impl Assembled {
    fn of(module: &Module) -> Result<Self, String> {
        let labels = Labels::of(module);
        let mut sections = HashMap::new();
        for section in &module.sections {
            let bytes = labels.assemble(module, section)?;
            sections.insert(section.name.clone(), bytes);
        }
        Ok(Self(sections))
    }

    fn reader(&self, name: &str) -> Reader<'_> {
        EndianSlice::new(self.0.get(name).map_or(&[], Vec::as_slice), LittleEndian)
    }
}

/// What a symbol in a debug section is worth: the line of a label of the code, or the offset of a
/// label of a section.
struct Labels<'a>(HashMap<&'a str, u64>);

impl<'a> Labels<'a> {
    fn of(module: &'a Module) -> Self {
        let mut labels = HashMap::new();
        let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
        for Body { labels: inside, .. } in bodies {
            labels.extend(inside.iter().map(|label| (&*label.name, u64::from(label.line))));
        }
        for section in &module.sections {
            // A section's own name stands for its beginning.
            labels.insert(&*section.name, 0);
            let mut offset = 0;
            for line in contents(module, section) {
                match line.strip_suffix(':') {
                    Some(label) => {
                        labels.insert(label, offset);
                    }
                    None => {
                        offset += data(line).map_or(0, |(size, values)| {
                            size as u64 * values.split(',').count() as u64
                        });
                    }
                }
            }
        }
        Self(labels)
    }

    fn assemble(&self, module: &Module, section: &Section) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for line in contents(module, section).filter(|line| !line.ends_with(':')) {
            let bad = || format!("section {}: `{line}` is not data", section.name);
            let (size, values) = data(line).ok_or_else(bad)?;
            for value in values.split(',') {
                let value = self.value(value.trim()).ok_or_else(bad)?;
                bytes.extend_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        Ok(bytes)
    }

    /// A sum or a difference of numbers and labels. `.debug_line` and other sections that only
    /// ptxas makes are worth 0: nothing here reads them.
    fn value(&self, text: &str) -> Option<u64> {
        if let Some((left, right)) = text.split_once('+') {
            return Some(self.value(left)?.wrapping_add(self.value(right)?));
        }
        match text.rsplit_once('-') {
            Some(("", _)) | None => {}
            Some((left, right)) => {
                return Some(self.value(left)?.wrapping_sub(self.value(right)?));
            }
        }
        if let Ok(number) = text.parse::<i128>() {
            return Some(number as u64);
        }
        self.0.get(text).copied().or_else(|| text.starts_with(".debug_").then_some(0))
    }
}

fn contents<'a>(module: &'a Module, section: &Section) -> impl Iterator<Item = &'a str> {
    let text = module.source.get(section.contents.clone()).unwrap_or("");
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or("").trim());
    lines.filter(|line| !line.is_empty())
}

/// `.b32 values` as a size in bytes and the values.
fn data(line: &str) -> Option<(usize, &str)> {
    let (directive, values) = line.split_once(char::is_whitespace)?;
    let size = match directive {
        ".b8" => 1,
        ".b16" => 2,
        ".b32" => 4,
        ".b64" => 8,
        _ => return None,
    };
    Some((size, values))
}
