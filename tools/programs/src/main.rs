//! `cargo run --release -p baton-programs -- replay SEED:I`, or `run`.

use std::process::ExitCode;

use baton_campaign::Campaign;
use baton_programs::batch::Workshop;
use baton_programs::campaign::{self, report};
use baton_programs::journal::Journal;
use baton_programs::judge::End;
use baton_programs::program::Number;
use baton_programs::shrink::shrink;
use baton_programs::{Result, root};
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
    /// Programs of the seed in BATON_SEED, one batch after the other. target/programs/campaign keeps a line for each batch, and
    /// what ended as it must not
    Run {
        /// How many
        #[arg(default_value_t = 300)]
        count: u64,
        /// The first; `--resume` finds it
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// Behind those that are written down
        #[arg(long, conflicts_with_all = ["first", "only"])]
        resume: bool,
        /// Of these kernels only; what the numbers name changes with it, and nothing is written down
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        /// A line for each program
        #[arg(long)]
        list: bool,
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
        Command::Run { count, first, resume, only, list } => {
            let folder = root().join("target/programs/campaign");
            let mut workshop = Workshop::new("campaign/crate")?;
            // Cargo locks its folders, and a long campaign is to be in nobody's way.
            (workshop.target, workshop.device) = (folder.join("check"), folder.join("device"));
            let campaign = Campaign::new("generated programs", count, count);
            let journal = Journal::new(&folder, campaign.seed());
            let kept = only.is_empty();
            if !kept {
                let names: Vec<&str> = only.iter().map(String::as_str).collect();
                workshop = workshop.only(&names);
            }
            let first = if resume { journal.next()? } else { first };
            let tally =
                campaign::run(&workshop, &campaign, first..first + count, |batch, outcomes| {
                    for outcome in outcomes {
                        let end = outcome.end.to_string();
                        let (number, notes) = (outcome.program.number, outcome.notes.join("; "));
                        if list {
                            println!(
                                "{number}: {} | {notes}",
                                end.lines().next().unwrap_or_default()
                            );
                        } else if let End::Wrong(wrong) = &outcome.end {
                            println!("{number}: {}", wrong.rule);
                        }
                    }
                    if kept {
                        println!("{}", campaign::keep(&journal, &workshop, &batch, outcomes)?);
                    } else {
                        println!("{}", journal.line(&batch));
                    }
                    Ok(())
                })?;
            println!("{}", tally.line());
            Ok(tally.wrong.is_empty())
        }
    }
}
