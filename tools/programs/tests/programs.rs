//! The campaign: a sample each time, 20,000 programs with `BATON_LONG=1`.

use baton_campaign::{Campaign, is_long};
use baton_programs::batch::Workshop;
use baton_programs::campaign::{keep, run, wrong};
use baton_programs::journal::Journal;
use baton_programs::root;

/// Programs of a sample, and of all.
const SAMPLE: u64 = 90;
const ALL: u64 = 20_000;

#[test]
fn whatever_the_compiler_takes_ends_as_it_may() {
    let workshop = Workshop::new("campaign").unwrap();
    let campaign = Campaign::new("generated programs", SAMPLE, ALL);
    // All of them take hours: what is found is written down as it comes.
    let journal = Journal::new(&root().join("target/programs/campaign-test"), campaign.seed());
    let tally = run(&workshop, &campaign, 0..campaign.cases(), |batch, outcomes| {
        if is_long() {
            println!("{}", keep(&journal, &workshop, &batch, outcomes)?);
        }
        Ok(())
    })
    .unwrap();
    println!("{}", tally.line());
    let count = |word| tally.ends.get(word).copied().unwrap_or_default();
    // A generator that makes nothing that runs would find nothing.
    assert!(count("silent") + count("deadlock") >= campaign.cases() / 10, "{}", tally.line());
    let reports = wrong(&workshop, &tally, &campaign).unwrap();
    assert!(tally.wrong.is_empty(), "{} programs:\n{reports}", tally.wrong.len());
}
