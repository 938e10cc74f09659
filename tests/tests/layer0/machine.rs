//! ptxas, asked about thousands of instructions at once.
//!
//! It complains about each line that the target or the version of the language does not have, and
//! goes on; so one run says which forms a target has. A form that is not wanted is a blank line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, thread};

use baton_builder::Environment;
use baton_builder::provision::{Doctor, cuda};
use baton_tests::root;

use crate::emitted::{Emitted, Form};

/// The oldest version that ptxas takes for the oldest target.
pub const OLDEST: (u32, u32) = (6, 3);

/// The version in which everything is there.
const NEWEST: (u32, u32) = (9, 4);

/// Before a complaint after which ptxas said no more.
const FATAL: &str = "fatal: ";

/// ptxas.
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    /// # Panics
    /// If there is none: these tests are about it.
    pub fn find() -> Self {
        let doctor = Doctor::new(root().join("target"));
        let found = cuda::find(&Environment::of_process(), doctor.store(), "ptxas");
        let tool = found.into_iter().find(|tool| tool.release >= (13, 5)).expect(
            "ptxas of CUDA 13.5 or later is on this machine (cargo baton doctor --fix gets it)",
        );
        Self { path: tool.path }
    }

    /// The version of the language that each form needs, where ptxas says it.
    pub fn since(&self, emitted: &Emitted) -> BTreeMap<usize, (u32, u32)> {
        let everywhere = emitted.forms.iter().map(|form| (form.number, OLDEST));
        let mut since: BTreeMap<usize, (u32, u32)> = everywhere.collect();
        for (form, complaint) in self.complaints(emitted, "sm_75", OLDEST, |_| true) {
            let Some((_, version)) = complaint.split_once("PTX ISA .version ") else {
                if complaint.starts_with(FATAL) {
                    since.remove(&form);
                }
                continue;
            };
            let version = version.split_whitespace().next().expect("a version");
            let (major, minor) = version.split_once('.').expect("major.minor");
            let version = (major.parse().expect("a number"), minor.parse().expect("a number"));
            if let Some(known) = since.get_mut(&form) {
                *known = version.max(*known);
            }
        }
        since
    }

    /// The forms that a target does not have, with the reason, out of those wanted.
    pub fn refused(
        &self,
        emitted: &Emitted,
        target: &str,
        wanted: impl Fn(&Form) -> bool,
    ) -> BTreeMap<usize, String> {
        self.complaints(emitted, target, NEWEST, wanted).into_iter().collect()
    }

    /// What ptxas says of the forms that are wanted. Something that it calls fatal is one more
    /// complaint: it is asked again without that form.
    fn complaints(
        &self,
        emitted: &Emitted,
        target: &str,
        version: (u32, u32),
        wanted: impl Fn(&Form) -> bool,
    ) -> Vec<(usize, String)> {
        let mut fatal: Vec<(usize, String)> = Vec::new();
        loop {
            let is_fatal = |form: &Form| fatal.iter().any(|(number, _)| *number == form.number);
            let ptx = module(emitted, target, version, |form| wanted(form) && !is_fatal(form));
            let said = self.assemble(target, version, &ptx);
            let mut complaints: Vec<(usize, String)> = Vec::new();
            let mut stopped = None;
            for line in said.lines() {
                let Some((place, rest)) = line.split_once("; ") else { continue };
                let Some((severity, message)) = rest.split_once(':') else { continue };
                let number = place.rsplit_once("line ").and_then(|(_, digits)| digits.parse().ok());
                let Some(number) = number else { continue };
                let form = emitted.at(number);
                let form = form.unwrap_or_else(|| panic!("{target}: not about a form: {line}"));
                match severity.trim() {
                    "error" => complaints.push((form.number, message.trim().to_owned())),
                    "fatal" => {
                        stopped = Some((form.number, format!("{FATAL}{}", message.trim())));
                    }
                    _ => {}
                }
            }
            let Some(stopped) = stopped else {
                let silent = said.contains("fatal") && complaints.is_empty();
                assert!(!silent, "{target}: {said}");
                complaints.extend(fatal);
                return complaints;
            };
            fatal.push(stopped);
        }
    }

    /// Everything that ptxas says of a module.
    fn assemble(&self, target: &str, version: (u32, u32), ptx: &str) -> String {
        let dir = root().join("target/baton-tests/forms");
        fs::create_dir_all(&dir).expect("a folder for the PTX");
        let stem = format!("{target}.{}.{}.{:?}", version.0, version.1, thread::current().id());
        let file = |extension: &str| dir.join(format!("{stem}.{extension}"));
        fs::write(file("ptx"), ptx).expect("the PTX can be written");
        let output = Command::new(&self.path)
            .args(["--gpu-name", target, "--opt-level", "1", "--output-file"])
            .args([file("cubin"), file("ptx")])
            .output()
            .expect("ptxas starts");
        let _ = fs::remove_file(file("cubin"));
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }
}

/// The module with the wanted forms only, for another target and version.
fn module(
    emitted: &Emitted,
    target: &str,
    (major, minor): (u32, u32),
    wanted: impl Fn(&Form) -> bool,
) -> String {
    let mut lines: Vec<&str> = emitted.lines.iter().map(String::as_str).collect();
    for form in emitted.forms.iter().filter(|form| !wanted(form)) {
        lines[form.lines.clone()].fill("");
    }
    let (version, target) = (format!(".version {major}.{minor}"), format!(".target {target}"));
    for line in &mut lines {
        if line.starts_with(".version") {
            *line = &version;
        } else if line.starts_with(".target") {
            *line = &target;
        }
    }
    lines.join("\n")
}
