//! `baton check --lint`: what the builder says of rule F4, of any PTX, without a run.
//!
//! All of it is advice: a text of others may rely on what only its author knows.

use baton_builder::{Finding, lint};
use baton_ptx::lines::Frame;
use baton_ptx::{FunctionKind, Module};
use serde_json::{Value, json};

use super::spec::{Launch, Spec, SpecError};
use super::{Arguments, list, not_a_spec, once_each, text};
use crate::{Failure, Result, exit_code, output};

impl Arguments {
    /// Warns of collectives that threads of their set may reach differently.
    pub(super) fn warn(&self, ptx: &str) -> Result<u8> {
        let name = self.file.display().to_string();
        let mut module =
            Module::parse(ptx, &name).map_err(|error| Failure::usage(error.to_string()))?;
        once_each(&name, &module)?;
        if let Some(kernel) = &self.kernel {
            let of = |f: &baton_ptx::Function| f.kind == FunctionKind::Entry && f.body.is_some();
            let all = module.functions.iter().filter(|f| of(f)).map(|f| f.name.to_string());
            let all: Vec<String> = all.collect();
            if !all.contains(kernel) {
                return Err(Failure::usage(format!("`{name}` has no kernel `{kernel}`"))
                    .help(format!("all of them: {}", list(&all))));
            }
            module.functions.retain(|f| f.kind != FunctionKind::Entry || *f.name == **kernel);
        }
        let launches = match &self.launch {
            Some(file) => {
                let source = text(file)?;
                let wrong = |error: SpecError| not_a_spec(file, &source, &error);
                Spec::parse(&source).map_err(wrong)?.launches
            }
            None => Vec::new(),
        };
        // Of several launches that of the kernel.
        let block = |kernel: &str| {
            let named = |launch: &&Launch| match &launch.kernel {
                Some(name) => *name.get_ref() == kernel,
                None => true,
            };
            launches.iter().find(named).map(|launch| launch.block.get_ref().get())
        };
        let lines = self.lines()?.unwrap_or_default();
        let findings = lint(&module, &lines, block);
        if self.json {
            findings.iter().map(object).try_for_each(output::line)?;
        } else {
            for finding in &findings {
                output::line(format_args!("{finding}\n"))?;
            }
            let count = findings.len();
            let plural = if count == 1 { "warning" } else { "warnings" };
            output::line(format_args!("{name}: {count} {plural} of rule F4"))?;
        }
        Ok(exit_code::SUCCESS)
    }
}

/// A finding for programs.
fn object(finding: &Finding) -> Value {
    let place = |frame: Option<&Frame>| {
        frame.map(
            |frame| json!({ "file": &*frame.file, "line": frame.line, "column": frame.column }),
        )
    };
    let notes: Vec<Value> = finding
        .notes
        .iter()
        .map(|note| {
            json!({ "message": note.message, "ptx_line": note.ptx_line, "source": place(note.place()) })
        })
        .collect();
    json!({
        "rule": "F4",
        "severity": "warning",
        "message": finding.message,
        "ptx_line": finding.ptx_line,
        "source": place(finding.place()),
        "notes": notes,
    })
}
