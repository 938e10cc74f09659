//! The campaign: a sample each time, 20,000 programs with `BATON_LONG=1`.

use baton_campaign::Campaign;
use baton_programs::batch::Workshop;
use baton_programs::campaign::{run, wrong};

/// Programs of a sample, and of all.
const SAMPLE: u64 = 90;
const ALL: u64 = 20_000;

#[test]
fn whatever_the_compiler_takes_ends_as_it_may() {
    let workshop = Workshop::new("campaign").unwrap();
    let campaign = Campaign::new("generated programs", SAMPLE, ALL);
    let tally = run(&workshop, &campaign, 0..campaign.cases(), |_, _| Ok(())).unwrap();
    println!("{}", tally.line());
    let count = |word| tally.ends.get(word).copied().unwrap_or_default();
    // A generator that makes nothing that runs would find nothing.
    assert!(count("silent") + count("deadlock") >= campaign.cases() / 10, "{}", tally.line());
    let reports = wrong(&workshop, &tally, &campaign).unwrap();
    assert!(tally.wrong.is_empty(), "{} programs:\n{reports}", tally.wrong.len());
}
