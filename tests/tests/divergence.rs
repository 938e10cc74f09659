//! Rule F4 is checked when a kernel is built: mistakes are refused with the lines that matter, and what only looks like one
//! passes. The kernels and what is to be said of each are in `tests/kernels/divergence`.

use std::fs;
use std::path::Path;

use baton_builder::{Arch, Builder, Error, Finding, Note, Ptxas, Severity};
use baton_ptx::lines::Frame;
use baton_tests::root;

/// What is to be said of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Refused,
    Told,
    Passed,
    /// The analysis is too weak for it.
    RefusedThoughRight,
}

/// A kernel of the crate.
#[derive(Debug)]
struct Kernel {
    file: String,
    /// Its first line, and what follows to the next kernel.
    lines: Vec<(u32, String)>,
    expected: Expected,
}

impl Kernel {
    fn holds(&self, frame: &Frame) -> bool {
        frame.file.ends_with(&self.file) && self.lines.iter().any(|&(line, _)| line == frame.line)
    }

    /// The lines that end in this comment.
    fn marked(&self, mark: &str) -> Vec<u32> {
        let mark = format!("// {mark}");
        let marked = self.lines.iter().filter(|(_, text)| text.ends_with(&mark));
        marked.map(|&(line, _)| line).collect()
    }

    /// What is wrong with what is said of it.
    fn complaint(&self, said: &[&Finding]) -> Option<String> {
        let errors: Vec<_> = said.iter().filter(|f| f.severity == Severity::Error).collect();
        match self.expected {
            Expected::Passed => (!said.is_empty()).then(|| "something is said of it".into()),
            Expected::Told => {
                (said.is_empty() || !errors.is_empty()).then(|| "a warning is expected".into())
            }
            Expected::RefusedThoughRight => {
                errors.is_empty().then(|| "it passes: the documentation can be shorter".into())
            }
            Expected::Refused => {
                let fits = |finding: &&&Finding| {
                    let notes = match &finding.notes[..] {
                        [branch, origin] => {
                            self.names(&branch.place(), "branch")
                                && self.names(&origin.place(), "differs")
                        }
                        // What is chosen has no branch.
                        [origin] => self.names(&origin.place(), "differs"),
                        _ => finding.message.contains("at most"),
                    };
                    notes && self.names(&finding.place(), "meets")
                };
                (!errors.iter().any(fits)).then(|| "no error names the marked lines".into())
            }
        }
    }

    /// Whether a place is one of the marked lines, if there are any.
    fn names(&self, place: &Option<&Frame>, mark: &str) -> bool {
        let marked = self.marked(mark);
        place.is_some_and(|frame| marked.is_empty() || marked.contains(&frame.line))
    }
}

/// The kernels of one file: each begins with its documentation.
fn kernels(path: &Path) -> Vec<Kernel> {
    let text = fs::read_to_string(path).expect("the source is there");
    let file = path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut inside = false;
    for (line, text) in (1..).zip(text.lines()) {
        let documentation = text.trim_start().strip_prefix("/// ");
        if let (Some(text), false) = (documentation, inside) {
            let expected = match text.split_once(':').map(|(first, _)| first) {
                Some("Wrong") => Expected::Refused,
                Some("Told") => Expected::Told,
                Some("Refused though right") => Expected::RefusedThoughRight,
                _ => Expected::Passed,
            };
            kernels.push(Kernel { file: file.clone(), lines: Vec::new(), expected });
        }
        inside = documentation.is_some();
        if let Some(kernel) = kernels.last_mut() {
            kernel.lines.push((line, text.to_owned()));
        }
    }
    kernels
}

fn said() -> Vec<Finding> {
    let built = Builder::new(root().join("tests/kernels/divergence"))
        .arch(Arch::Sm90a)
        .target_dir(root().join("target/baton-device"))
        .out_dir(root().join("target/baton-tests/divergence"))
        .ptxas(Ptxas::Off)
        .build();
    match built {
        Err(Error::Checks { findings, .. }) => findings,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("every mistake passed"),
    }
}

#[test]
fn mistakes_are_refused_with_their_lines_and_lookalikes_pass() {
    let folder = root().join("tests/kernels/divergence/src");
    let files = [
        "warps.rs",
        "looks_like.rs",
        "groups.rs",
        "ctas.rs",
        "protocols.rs",
        "parts.rs",
        "leaders.rs",
        "operands.rs",
        "clusters.rs",
    ];
    let kernels: Vec<Kernel> = files.iter().flat_map(|file| kernels(&folder.join(file))).collect();
    let count = |expected| kernels.iter().filter(|kernel| kernel.expected == expected).count();
    assert!(count(Expected::Refused) >= 64 && count(Expected::Passed) >= 46);
    assert_eq!((count(Expected::Told), count(Expected::RefusedThoughRight)), (1, 2));

    // Some of the lookalikes index arrays in memory, of which the builder warns on its own.
    let (in_memory, said): (Vec<_>, Vec<_>) =
        said().into_iter().partition(|finding| finding.message.contains(" in local memory"));
    assert!(in_memory.iter().all(|finding| finding.severity == Severity::Warning));
    let mut wrong = Vec::new();
    for finding in &said {
        if !finding.message.starts_with("rule F4") {
            wrong.push(finding.to_string());
        }
        let place = finding.place();
        if !place.is_some_and(|frame| kernels.iter().any(|kernel| kernel.holds(frame))) {
            wrong.push(format!("of no kernel: {finding}"));
        }
    }
    for kernel in &kernels {
        let own = |finding: &&Finding| finding.place().is_some_and(|frame| kernel.holds(frame));
        let said: Vec<&Finding> = said.iter().filter(own).collect();
        if let Some(complaint) = kernel.complaint(&said) {
            let all: Vec<String> = said.iter().copied().map(shown).collect();
            let (line, text) = &kernel.lines[0];
            let (file, text) = (&kernel.file, text.trim());
            wrong.push(format!("{file}:{line} {text}\n  {complaint}\n  {}", all.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The places of a finding.
fn shown(finding: &Finding) -> String {
    let place = |frame: Option<&Frame>| frame.map_or("?".to_owned(), Frame::to_string);
    let notes = finding.notes.iter().map(Note::place).map(place);
    let places: Vec<String> = std::iter::once(place(finding.place())).chain(notes).collect();
    format!("{:?} {}", finding.severity, places.join(", "))
}
