//! `cargo run --release -p baton-programs -- replay SEED:I`, or `run`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use baton_campaign::Campaign;
use baton_programs::Result;
use baton_programs::batch::Workshop;
use baton_programs::campaign::{self, report};
use baton_programs::judge::End;
use baton_programs::program::Number;
use baton_programs::shrink::shrink;
use clap::{Parser, Subcommand};

/// Programs that nobody wrote.
#[derive(Debug, Parser)]
#[command(name = "baton-programs")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One program: its source, what its edits changed, and how it ends
    Replay {
        /// Its number: SEED:I
        number: Number,
        /// Drop the edits that its finding does not need
        #[arg(long)]
        shrink: bool,
        /// Schedules
        #[arg(long, default_value_t = 20)]
        schedules: u64,
    },
    /// The kernels as they are, all of which are silent
    Kernels,
    /// Programs of the seed in BATON_SEED, one batch after the other
    Run {
        /// The first
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// How many
        #[arg(default_value_t = 300)]
        count: u64,
        /// Of these kernels only; what the numbers name changes with it
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        /// A line for each program
        #[arg(long)]
        list: bool,
        /// Where reports of what is wrong go, a file each
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(CommandLine::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<bool> {
    match command {
        Command::Replay { number, shrink: fewer, schedules } => {
            let mut workshop = Workshop::new("replay")?;
            workshop.schedules = schedules;
            let campaign = Campaign::new("a program again", 1, 1);
            let programs = workshop.programs([number]);
            let mut outcomes = workshop.run(programs, &campaign)?;
            let Some(mut outcome) = outcomes.pop() else { return Ok(false) };
            if fewer {
                outcome = shrink(&workshop, &outcome, &campaign)?;
            }
            println!("{}", report(&workshop, &outcome));
            Ok(!matches!(outcome.end, End::Wrong(_)))
        }
        Command::Kernels => {
            let workshop = Workshop::new("kernels")?;
            let campaign = Campaign::new("kernels as they are", 1, 1);
            let outcomes = workshop.run(workshop.kernels(), &campaign)?;
            for outcome in &outcomes {
                let seed = &workshop.material.seeds[outcome.program.seed];
                println!("{}: {}", seed.name, outcome.end);
            }
            Ok(outcomes.iter().all(|outcome| outcome.end == End::Silent))
        }
        Command::Run { first, count, only, list, out } => {
            let mut workshop = Workshop::new("run")?;
            if !only.is_empty() {
                let names: Vec<&str> = only.iter().map(String::as_str).collect();
                workshop = workshop.only(&names);
            }
            let campaign = Campaign::new("generated programs", count, count);
            let start = Instant::now();
            let tally = campaign::run(&workshop, &campaign, first..first + count, |outcomes| {
                for outcome in outcomes {
                    if list {
                        let end = outcome.end.to_string();
                        let (number, notes) = (outcome.program.number, outcome.notes.join("; "));
                        println!("{number}: {} | {notes}", end.lines().next().unwrap_or_default());
                    }
                    if let End::Wrong(wrong) = &outcome.end {
                        println!("{}: {}", outcome.program.number, wrong.rule);
                        if let Some(folder) = &out {
                            let name = outcome.program.number.name();
                            let file = folder.join(format!("{}_{name}.txt", wrong.rule));
                            if let Err(error) = std::fs::write(&file, report(&workshop, outcome)) {
                                eprintln!("{}: {error}", file.display());
                            }
                        }
                    }
                }
                println!("[{:.0} s] {} more", start.elapsed().as_secs_f64(), outcomes.len());
            })?;
            println!("{}", tally.line());
            Ok(tally.wrong.is_empty())
        }
    }
}
