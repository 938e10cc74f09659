//! `baton doctor`: what building kernels needs, whether it is here, and how to get it.
//!
//! The commands that build get what is missing by themselves, through [`provision`]. They can do
//! without the optional pieces (ptxas and the disassemblers), so a failed attempt to get those is
//! told once and not repeated for a day.

use std::fs;
use std::path::Path;
use std::time::Duration;

use baton_builder::Environment;
use baton_builder::provision::{Doctor, Item, State, Store};
use clap::Args;
use serde_json::{Value, json};

use crate::progress::Progress;
use crate::workspace::Workspace;
use crate::{Failure, Result, exit_code, output};

/// How long a failed attempt to get an optional piece is remembered.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// `baton doctor`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Get what is missing
    #[arg(long)]
    fix: bool,

    /// Report as JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Runs the command. It fails when a required piece is missing; with `--fix`, when any is.
    pub fn run(self) -> Result<u8> {
        let doctor = doctor(&Workspace::find()?);
        let fixed = if self.fix { fix(&doctor) } else { Ok(()) };
        let items = doctor.items();
        if self.json {
            output::line(format_args!("{:#}", as_json(&doctor, &items)))?;
        } else {
            output::text(report(&items))?;
        }
        fixed?;
        Ok(if missing(&items, true).is_empty() { exit_code::SUCCESS } else { exit_code::MISSING })
    }
}

/// Makes sure that kernels can be built; optional pieces that cannot be had are named on stderr.
pub fn provision(workspace: &Workspace) -> Result<()> {
    let doctor = doctor(workspace);
    let items = doctor.items();
    let attempt = doctor.store().path("attempt");
    if missing(&items, true).is_empty() && (missing(&items, false).is_empty() || is_fresh(&attempt))
    {
        return Ok(());
    }
    let Err(failure) = fix(&doctor) else { return Ok(()) };
    let items = doctor.items();
    if !missing(&items, true).is_empty() {
        return Err(failure);
    }
    let names = missing(&items, false).join(", ");
    output::remark(format_args!("note: without {names} everything else works"));
    output::remark(failure);
    // If the attempt cannot be noted, the next command tries again: no harm done.
    let _ = fs::write(&attempt, "an optional piece could not be fetched\n");
    Ok(())
}

fn missing(items: &[Item], required: bool) -> Vec<&'static str> {
    let missing = items.iter().filter(|item| item.required == required && item.is_missing());
    missing.map(|item| item.name).collect()
}

fn is_fresh(attempt: &Path) -> bool {
    let modified = fs::metadata(attempt).and_then(|metadata| metadata.modified());
    modified.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age < PATIENCE)
}

fn doctor(workspace: &Workspace) -> Doctor {
    let environment = environment(workspace);
    let store = store(workspace, &environment);
    Doctor::with(environment, store)
}

/// The environment for the builder: wherever the user stands, the toolchain is the workspace's.
pub(crate) fn environment(workspace: &Workspace) -> Environment {
    let mut environment = Environment::of_process();
    if environment.get("RUSTUP_TOOLCHAIN").is_none()
        && let Some(channel) = workspace.toolchain()
    {
        environment.set("RUSTUP_TOOLCHAIN", channel);
    }
    environment
}

/// Where provisioned tools are.
pub(crate) fn store(workspace: &Workspace, environment: &Environment) -> Store {
    Store::locate(environment, || workspace.target_dir().to_owned())
}

fn fix(doctor: &Doctor) -> Result<()> {
    let progress = Progress::start("getting what is missing");
    let fixed = doctor.fix(|event| progress.step(event.to_string()));
    drop(progress);
    fixed.map_err(|error| {
        Failure::new(exit_code::MISSING, "not everything that kernels need could be had")
            .because(error)
    })
}

fn report(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for item in items {
        let (state, detail) = match &item.state {
            State::Found { version, place } => {
                let version = version.as_deref().unwrap_or("(no version)");
                ("found", format!("{version}, {}", place.display()))
            }
            State::Off => ("off", "BATON_PTXAS=off".to_owned()),
            State::Missing { .. } if item.required => ("MISSING", "required".to_owned()),
            State::Missing { .. } => ("missing", "optional".to_owned()),
        };
        text += &format!("{:width$}  {state:7}  {} ({detail})\n", item.name, item.purpose);
        if let State::Missing { remedy } = &item.state {
            for line in remedy.lines() {
                text += &format!("{:width$}           {line}\n", "");
            }
        }
    }
    if items.iter().any(Item::is_missing) {
        text += "`baton doctor --fix` gets what is missing\n";
    }
    text
}

fn as_json(doctor: &Doctor, items: &[Item]) -> Value {
    let entry = |item: &Item| {
        let mut entry = json!({
            "name": item.name,
            "purpose": item.purpose,
            "required": item.required,
            "found": item.is_found(),
        });
        match &item.state {
            State::Found { version, place } => {
                entry["version"] = json!(version);
                entry["place"] = json!(place.display().to_string());
            }
            State::Off => entry["off"] = json!(true),
            State::Missing { remedy } => entry["remedy"] = json!(remedy),
        }
        entry
    };
    json!({
        "store": doctor.store().root().display().to_string(),
        "items": items.iter().map(entry).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_is_missing_and_how_to_get_it() {
        let found = State::Found { version: Some("1.95.0".into()), place: "/rust".into() };
        let missing = State::Missing { remedy: "one way\nanother way".into() };
        let items = [
            Item { name: "rustc", purpose: "compiles kernels", required: true, state: found },
            Item { name: "ptxas", purpose: "assembles", required: false, state: missing },
        ];
        assert_eq!(
            report(&items),
            "rustc  found    compiles kernels (1.95.0, /rust)\n\
             ptxas  missing  assembles (optional)\n\
             \u{20}               one way\n\
             \u{20}               another way\n\
             `baton doctor --fix` gets what is missing\n"
        );
    }
}
