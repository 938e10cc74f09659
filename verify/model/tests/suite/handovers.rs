//! Every combination of fences, arrivals and waits of `handover_forms`, judged by the model.

use baton_model::litmus::Test;
use baton_model::options::StoreAsync;
use baton_model::{Choices, Options, judge};

use crate::handover_forms::{Back, Fence, First, Full, Ordinary, Plain, backs, fulls, plains};

const LOCATIONS: &str = "location g global u32 = 2
location out global u32 = 0
location s shared cta=1 u32 = 1
location drained shared cta=0 u64 = 0
location full shared cta=1 u64 = 0
";

fn lines(fences: &[Fence]) -> String {
    fences.iter().map(|fence| format!("  {}\n", fence.text())).collect()
}

fn wait((semantics, scope): (&str, &str), barrier: &str) -> String {
    format!(
        "W:\n  mbarrier.try_wait.parity.{semantics}.{scope}.shared.b64 p0, [{barrier}], 0\n  @!p0 bra W\n"
    )
}

fn init(barrier: &str, more: &str) -> String {
    format!(
        "  mbarrier.init.shared.b64 [{barrier}], 1\n  fence.mbarrier_init.release.cluster\n{more}\
         \x20 barrier.cluster.arrive\n  barrier.cluster.wait\n"
    )
}

const COPY: &str =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 4, [full]";
const ST_ASYNC: &str =
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [s], 2, [full]";

fn back_text(back: &Back, refill: &str) -> String {
    let loader = format!(
        "thread LOADER cta=0 cluster=0:\n{}{}{}  {refill}\n",
        init("drained", ""),
        wait(back.wait, "drained"),
        lines(&back.behind)
    );
    let arrive = format!(
        "{}  mbarrier.arrive.{}.{}.shared::cluster.b64 _, [drained]\n",
        lines(&back.leader),
        back.arrive.0,
        back.arrive.1
    );
    let read = format!("  ld.weak.shared::cta.u32 r0, [s]\n{}", lines(&back.each));
    let (readers, who) = match back.first {
        First::Own => (
            format!("thread LEADER cta=1 cluster=0:\n{}{read}{arrive}", init("full", "")),
            "LEADER",
        ),
        _ => (
            format!(
                "thread LEADER cta=1 cluster=0:\n{}  bar.sync 0\n{arrive}thread OTHER cta=1 cluster=0:\n  \
                 barrier.cluster.arrive\n  barrier.cluster.wait\n{read}  bar.sync 0\n",
                init("full", "")
            ),
            "OTHER",
        ),
    };
    format!("{LOCATIONS}{loader}{readers}exists: {who}:r0 == 2\n")
}

fn full_text(full: &Full) -> String {
    let read = match full.through_async {
        false => "  ld.weak.shared::cta.u32 r0, [s]\n",
        true => {
            "  cp.async.bulk.global.shared::cta.bulk_group [out], [s], 4\n  cp.async.bulk.commit_group\n  \
             cp.async.bulk.wait_group 0\n  ld.weak.u32 r0, [out]\n"
        }
    };
    let expect = "  mbarrier.arrive.expect_tx.shared.b64 _, [full], 4\n";
    format!(
        "{LOCATIONS}thread LOADER cta=0 cluster=0:\n  barrier.cluster.arrive\n  barrier.cluster.wait\n  {COPY}\n\
         thread READER cta=1 cluster=0:\n{}{}{}{read}exists: READER:r0 == 1\n",
        init("full", expect),
        wait(full.wait, "full"),
        lines(&full.behind)
    )
}

fn plain_text(plain: &Plain) -> String {
    // The first access, the second, and what they would show if nothing ordered them.
    let (first, second, [one, other], bad) = match plain.what {
        Ordinary::Shown => (
            "st.weak.shared::cta.u32 [s], 3",
            "ld.weak.shared::cluster.u32 r0, [s]",
            [1, 0],
            "SECOND:r0 == 1",
        ),
        Ordinary::Pushed => (
            "st.weak.shared::cluster.u32 [s], 3",
            "ld.weak.shared::cta.u32 r0, [s]",
            [0, 1],
            "SECOND:r0 == 1",
        ),
        Ordinary::Pulled => (
            "ld.weak.shared::cluster.u32 r0, [s]",
            "st.weak.shared::cta.u32 [s], 3",
            [0, 1],
            "FIRST:r0 == 3",
        ),
    };
    let begin = "  barrier.cluster.arrive\n  barrier.cluster.wait\n";
    let fences = lines(&plain.leader);
    let (here, there) = if plain.at_barrier {
        let arrive = format!("  barrier.cluster.arrive.{}\n  barrier.cluster.wait\n", plain.arrive);
        (format!("{begin}  {first}\n{fences}{arrive}"), format!("{begin}{arrive}  {second}\n"))
    } else {
        (
            format!(
                "{begin}  {first}\n{fences}  mbarrier.arrive.{}.cluster.shared::cluster.b64 _, [b]\n",
                plain.arrive
            ),
            format!(
                "{}{}{}  {second}\n",
                init("b", ""),
                wait((plain.wait, "cluster"), "b"),
                lines(&plain.behind)
            ),
        )
    };
    format!(
        "location s shared cta=1 u32 = 1\nlocation b shared cta={other} u64 = 0\nthread FIRST cta={one} cluster=0:\n{here}\
         thread SECOND cta={other} cluster=0:\n{there}exists: {bad}\n"
    )
}

/// Whether the bad outcome is allowed, and whether there is a race.
fn verdict(text: &str, choices: Choices) -> (bool, bool) {
    let test = Test::parse(text, "made").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { choices, ..Options::default() };
    let verdict = judge(&test.program, &test.condition, &options).expect("a verdict");
    (verdict.allowed, verdict.race.expect("an answer about races"))
}

/// Compares the model with the formula.
fn compare(cases: impl Iterator<Item = (String, bool, String)>) -> [usize; 2] {
    let mut counts = [0; 2];
    let mut wrong = vec![];
    for (name, suffices, text) in cases {
        counts[usize::from(suffices)] += 1;
        if verdict(&text, Choices::default()) != (!suffices, !suffices) {
            wrong.push(format!(
                "{name}: expected {}\n{text}",
                if suffices { "order" } else { "a race" }
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong, first:\n{}", wrong.len(), wrong[0]);
    counts
}

#[test]
fn what_is_handed_back_is_ordered_if_the_formula_says_so() {
    let backs = backs().into_iter().filter(|back| back.first != First::Product);
    let counts =
        compare(backs.map(|back| (back.name(), back.suffices(false), back_text(&back, COPY))));
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn what_is_filled_is_ordered_if_the_formula_says_so() {
    let counts = compare(
        fulls().into_iter().map(|full| (format!("{full:?}"), full.suffices(), full_text(&full))),
    );
    assert!(counts.iter().all(|count| *count > 15), "{counts:?}");
}

#[test]
fn ordinary_accesses_are_ordered_if_the_formula_says_so() {
    let counts = compare(
        plains()
            .into_iter()
            .map(|plain| (format!("{plain:?}"), plain.suffices(), plain_text(&plain))),
    );
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

/// `st.async` in the place of the copy: the text does not say through which proxy it writes. A hand-back is safe whichever it is
/// if it orders both, ordinary accesses and those of the async proxy.
#[test]
fn a_hand_back_to_st_async_is_safe_under_both_readings() {
    let proxy = |store_async| Choices { store_async, ..Choices::default() };
    let back = |first, each: &[Fence], leader: &[Fence], behind: &[Fence]| Back {
        first,
        each: each.to_vec(),
        leader: leader.to_vec(),
        arrive: ("relaxed", "cluster"),
        wait: ("relaxed", "cluster"),
        behind: behind.to_vec(),
    };
    use Fence::{Acquire, AcquireHalf, Half, Reads, Release};
    let both = [Acquire, AcquireHalf];
    for (back, as_async, as_generic) in [
        (back(First::Own, &[], &[Reads, Release], &both), true, true),
        (back(First::Others, &[Reads], &[Release], &both), true, true),
        (back(First::Others, &[], &[Half, Release], &both), true, true),
        // Each of these is safe under one reading only.
        (back(First::Own, &[], &[Half], &both), true, false),
        (back(First::Own, &[], &[Reads], &[AcquireHalf]), true, false),
        (back(First::Own, &[], &[Release], &[Acquire]), false, true),
        (back(First::Others, &[], &[Release], &both), false, true),
    ] {
        let text = back_text(&back, ST_ASYNC);
        let is_ordered = |reading| verdict(&text, proxy(reading)) == (false, false);
        assert_eq!(is_ordered(StoreAsync::Async), as_async, "{back:?}");
        assert_eq!(is_ordered(StoreAsync::Generic), as_generic, "{back:?}");
    }
}

/// What `st.async` pushes needs a wait that acquires, under both readings, and no fence before it.
#[test]
fn a_push_by_st_async_is_safe_under_both_readings() {
    let proxy = |store_async| Choices { store_async, ..Choices::default() };
    for (behind, is_ordered) in
        [(&[Fence::Acquire][..], true), (&[], false), (&[Fence::AcquireHalf], false)]
    {
        let full =
            Full { through_async: false, wait: ("relaxed", "cluster"), behind: behind.to_vec() };
        let text = full_text(&full).replace(COPY, ST_ASYNC);
        for reading in [StoreAsync::Async, StoreAsync::Generic] {
            assert_eq!(
                verdict(&text, proxy(reading)) == (false, false),
                is_ordered,
                "{reading:?} {behind:?}"
            );
        }
    }
}
