//! From a line of PTX to the Rust source it came from.
//!
//! The table is a side file, because a PTX text with debug information is not optimised by ptxas.
//! It is plain text, so that it can be read, compared and embedded with `include_str!`:
//!
//! ```text
//! baton-lines 1
//! file 0 kernel/src/lib.rs
//! function 0 gemm
//! 41 0:26:9:0
//! 42-47 1:30:5:1 0:27:13:0
//! ```
//!
//! A row gives a PTX line, or a range of them, and the chain of frames, innermost first: file,
//! line, column and function; `-` where the function is not known.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// One place in Rust source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file, as the compiler saw it.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column; 0 where it is not known.
    pub column: u32,
    /// The function, where known.
    pub function: Option<Arc<str>>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column != 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// For each PTX line the chain of Rust frames, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    /// Ranges of lines (first, last), sorted, without overlap.
    rows: Vec<(u32, u32, Vec<Frame>)>,
}

/// A side file that does not have the form described in [`crate::lines`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line table, line {line}: {problem}")]
pub struct LineTableError {
    /// 1-based line of the side file.
    pub line: u32,
    /// What is wrong.
    pub problem: String,
}

const HEADER: &str = "baton-lines 1";

impl LineTable {
    /// A table without rows.
    pub fn new() -> LineTable {
        LineTable::default()
    }

    /// Gives PTX line `line` the chain `frames`, in place of an earlier one. An empty chain
    /// is not stored.
    pub fn insert(&mut self, line: u32, frames: Vec<Frame>) {
        if frames.is_empty() {
            return;
        }
        let at = self.rows.partition_point(|row| row.1 < line);
        match self.rows.get(at) {
            Some(row) if row.0 <= line => {
                // Split the range that holds the line.
                let (first, last, old) = self.rows.remove(at);
                let mut parts = Vec::with_capacity(3);
                if first < line {
                    parts.push((first, line - 1, old.clone()));
                }
                parts.push((line, line, frames));
                if line < last {
                    parts.push((line + 1, last, old));
                }
                self.rows.splice(at..at, parts);
            }
            _ => match at.checked_sub(1).map(|before| &mut self.rows[before]) {
                Some(row) if row.1 + 1 == line && row.2 == frames => row.1 = line,
                _ => self.rows.insert(at, (line, line, frames)),
            },
        }
    }

    /// The chain of PTX line `line`, innermost first; empty where nothing is known.
    pub fn get(&self, line: u32) -> &[Frame] {
        let at = self.rows.partition_point(|row| row.1 < line);
        match self.rows.get(at) {
            Some(row) if row.0 <= line => &row.2,
            _ => &[],
        }
    }

    /// The rows: first line, last line, chain.
    pub fn rows(&self) -> impl Iterator<Item = (u32, u32, &[Frame])> {
        self.rows.iter().map(|row| (row.0, row.1, &*row.2))
    }

    /// The same table for a text in which line `l` has become line `place(l)`; rows whose line
    /// is gone are dropped.
    pub fn renumbered(&self, mut place: impl FnMut(u32) -> Option<u32>) -> LineTable {
        let mut table = LineTable::new();
        for (first, last, frames) in self.rows() {
            for line in first..=last {
                if let Some(line) = place(line) {
                    table.insert(line, frames.to_vec());
                }
            }
        }
        table
    }

    /// Reads a side file.
    pub fn parse(text: &str) -> Result<LineTable, LineTableError> {
        let mut files: HashMap<u32, Arc<str>> = HashMap::new();
        let mut functions: HashMap<u32, Arc<str>> = HashMap::new();
        let mut table = LineTable::new();
        let mut lines = (1u32..).zip(text.lines());
        if lines.next().map(|(_, l)| l.trim_end()) != Some(HEADER) {
            return Err(LineTableError {
                line: 1,
                problem: format!("does not begin with `{HEADER}`; build the kernel again"),
            });
        }
        for (line, row) in lines {
            let error = |problem: String| LineTableError { line, problem };
            let Some((head, rest)) = row.split_once(' ') else {
                if row.trim().is_empty() {
                    continue;
                }
                return Err(error(format!("`{row}` has no second column")));
            };
            let number = |text: &str| {
                text.parse::<u32>().map_err(|_| error(format!("`{text}` is not a number")))
            };
            if head == "file" || head == "function" {
                let Some((index, name)) = rest.split_once(' ') else {
                    return Err(error(format!("`{row}` lacks a name")));
                };
                let names = if head == "file" { &mut files } else { &mut functions };
                names.insert(number(index)?, name.into());
                continue;
            }
            let (first, last) = match head.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(head)?, number(head)?),
            };
            if last < first || table.rows.last().is_some_and(|row| row.1 >= first) {
                return Err(error(format!("PTX lines `{head}` are out of order")));
            }
            let mut frames = Vec::new();
            for frame in rest.split_whitespace() {
                let parts: Vec<&str> = frame.split(':').collect();
                let [file, at, column, function] = parts[..] else {
                    return Err(error(format!("frame `{frame}` is not file:line:column:function")));
                };
                let index = number(file)?;
                let file = files
                    .get(&index)
                    .cloned()
                    .ok_or_else(|| error(format!("file {index} is not declared above")))?;
                let function = match function {
                    "-" => None,
                    function => {
                        let index = number(function)?;
                        Some(functions.get(&index).cloned().ok_or_else(|| {
                            error(format!("function {index} is not declared above"))
                        })?)
                    }
                };
                frames.push(Frame { file, line: number(at)?, column: number(column)?, function });
            }
            if frames.is_empty() {
                return Err(error(format!("PTX lines `{head}` have no frame")));
            }
            table.rows.push((first, last, frames));
        }
        Ok(table)
    }
}

/// The side file; [`LineTable::parse`] reads it back.
impl fmt::Display for LineTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn intern<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
            names.iter().position(|n| *n == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        }
        let (mut files, mut functions) = (Vec::new(), Vec::new());
        let mut rows = String::new();
        for (first, last, frames) in self.rows() {
            rows += &first.to_string();
            if first != last {
                rows += &format!("-{last}");
            }
            for frame in frames {
                let file = intern(&mut files, &frame.file);
                rows += &format!(" {file}:{}:{}:", frame.line, frame.column);
                match &frame.function {
                    Some(name) => rows += &intern(&mut functions, name).to_string(),
                    None => rows.push('-'),
                }
            }
            rows.push('\n');
        }
        writeln!(f, "{HEADER}")?;
        for (index, file) in files.iter().enumerate() {
            writeln!(f, "file {index} {file}")?;
        }
        for (index, function) in functions.iter().enumerate() {
            writeln!(f, "function {index} {function}")?;
        }
        f.write_str(&rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, line: u32) -> Frame {
        Frame { file: file.into(), line, column: 3, function: Some("f".into()) }
    }

    #[test]
    fn text_and_back() {
        let mut table = LineTable::new();
        for line in [10, 11, 12] {
            table.insert(line, vec![frame("a b.rs", 4), frame("lib.rs", 9)]);
        }
        table.insert(14, vec![Frame { function: None, ..frame("lib.rs", 10) }]);
        let text = table.to_string();
        assert!(text.contains("\n10-12 0:4:3:0 1:9:3:0\n14 1:10:3:-\n"), "{text}");
        assert_eq!(LineTable::parse(&text), Ok(table));
    }

    #[test]
    fn lookup_hits_ranges_and_misses_gaps() {
        let mut table = LineTable::new();
        for line in [5, 6, 7, 9] {
            table.insert(line, vec![frame("lib.rs", 1)]);
        }
        table.insert(6, vec![frame("lib.rs", 2)]);
        let lines: Vec<_> =
            (4..=10).map(|l| table.get(l).first().map_or(0, |frame| frame.line)).collect();
        assert_eq!(lines, [0, 1, 2, 1, 0, 1, 0]);
        let moved = table.renumbered(|l| (l != 7).then_some(l + 100));
        assert_eq!(moved.get(106)[0].line, 2);
        assert!(moved.get(107).is_empty());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, word) in [
            ("", 1, "begin"),
            ("baton-lines 1\nfile 0", 2, "name"),
            ("baton-lines 1\n7 0:1:1:-", 2, "not declared"),
            ("baton-lines 1\nfile 0 a\n7 0:1:1", 3, "file:line:column:function"),
            ("baton-lines 1\nfile 0 a\n7 0:1:1:-\n7 0:1:1:-", 4, "order"),
        ] {
            let error = LineTable::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.problem.contains(word), "{error}");
        }
    }
}
