//! `check` and `litmus` never contradict each other.
//!
//! Random programs of a few threads, in several lanes, warps and CTAs, are written from one description as PTX and as a
//! litmus test. The memory model enumerates what may happen; the emulator runs many schedules.
//!
//! - However a schedule ends, the model allows it.
//! - If the model finds no race, the emulator is silent in every schedule.
//! - If it finds one, some schedule reports it: a random one, or one of those that differ in few decisions from the plain one.
//!
//! `BATON_PROGRAM=NUMBER cargo test --release -p baton-emulator --test judges` shows one program in both languages and
//! what is said of it.

mod compare;
mod emit;
mod source;

use baton_campaign::{Campaign, Random};
use compare::{compare, model, shrink};
use source::{Line, Meeting, Order, Source, Word, generate};

/// What is read, written and fenced in a program, at most.
const SIZE: u32 = 14;

/// The program with a number.
fn program(number: u64) -> Source {
    let mut random = Random::of(number, 0);
    let most = 4 + random.below(SIZE as usize - 3) as u32;
    generate(&mut random, most)
}

fn show(source: &Source) -> String {
    format!("{}\n{}\n{source:?}\n", emit::litmus(source), emit::ptx(source, emit::Lanes::Apart))
}

#[test]
fn the_judges_do_not_contradict_each_other() {
    if let Ok(number) = std::env::var("BATON_PROGRAM") {
        let source = program(number.parse().expect("BATON_PROGRAM is a number"));
        println!("{}", show(&source));
        let model = model(&source).expect("small enough for the model");
        println!("race: {}; {:?}", model.race, model.outcomes);
        println!("{:#?}", compare(&source, &model));
        return;
    }
    let campaign = Campaign::new("random programs before both judges", 600, 10_000);
    let numbers: Vec<u64> =
        (0..campaign.cases()).map(|case| campaign.random(case).next()).collect();
    let results = campaign.each(&numbers, |&number| {
        let source = program(number);
        Some(compare(&source, &model(&source)?))
    });
    let known: Vec<_> = results.iter().flatten().collect();
    let agreements: Vec<_> = known.iter().filter_map(|result| result.as_ref().ok()).collect();
    let races = agreements.iter().filter(|agreement| agreement.race).count();
    let (shown, allowed) = agreements
        .iter()
        .fold((0, 0), |(shown, allowed), a| (shown + a.shown, allowed + a.allowed));
    println!(
        "{} programs, {} too large for the model; {races} with a race; {shown} of {allowed} outcomes were shown",
        results.len(),
        results.len() - known.len()
    );
    let wrong: Vec<(u64, &compare::Contradiction)> = numbers
        .iter()
        .zip(&results)
        .filter_map(|(number, result)| Some((*number, result.as_ref()?.as_ref().err()?)))
        .collect();
    for (number, contradiction) in wrong.iter().take(5) {
        let (least, said) = shrink(&program(*number), contradiction.kind);
        println!("BATON_PROGRAM={number}: {contradiction}\n{}{said}\n", show(&least));
    }
    assert!(wrong.is_empty(), "{} contradictions, of which the first are above", wrong.len());
    assert!(races > results.len() / 8 && agreements.len() - races > results.len() / 8);
}

/// The programs have all that the judges are to be compared on.
#[test]
fn the_programs_have_everything() {
    let programs: Vec<Source> = (0..1000).map(program).collect();
    let count = |name: &str, has: &dyn Fn(&Source) -> bool| {
        let count = programs.iter().filter(|program| has(program)).count();
        assert!(count >= 20, "{name}: in {count} of {}", programs.len());
    };
    let has = |is: fn(&Line) -> bool| move |s: &Source| s.steps().any(|step| is(&step.line));
    count("volatile", &has(|l| matches!(l, Line::Load(Order::Volatile, ..))));
    count("acquire", &has(|l| matches!(l, Line::Load(Order::Strong("acquire", _), ..))));
    count("release", &has(|l| matches!(l, Line::Store(Order::Strong("release", _), ..))));
    count("shared", &has(|l| matches!(l, Line::Load(_, _, Word::Shared))));
    count("fence.sc", &has(|l| matches!(l, Line::Fence("sc", _))));
    count("narrow", &has(|l| matches!(l, Line::Fence(_, "cta"))));
    count("red", &has(|l| matches!(l, Line::Red(..))));
    count("arrivals", &has(|l| matches!(l, Line::Arrive(..))));
    count("waits", &has(|l| matches!(l, Line::Await(..))));
    count("lanes", &|s| s.warps.iter().any(|warp| warp.lanes.count_ones() > 1));
    count("parts of a warp", &|s| {
        s.warps.iter().any(|w| w.rounds.iter().flatten().any(|step| step.lanes != w.lanes))
    });
    count("warps of a CTA", &|s| {
        s.warps.len() > 1 && s.warps.iter().all(|w| w.cta == s.warps[0].cta)
    });
    count("CTAs", &|s| s.warps.iter().any(|w| w.cta != s.warps[0].cta));
    count("clusters", &|s| s.cluster == 2);
    count("barriers", &|s| s.meetings.contains(&Meeting::Cta));
    count("cluster barriers", &|s| s.meetings.iter().any(|m| matches!(m, Meeting::Cluster { .. })));
}
