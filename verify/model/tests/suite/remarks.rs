//! What a verdict says beyond its word: that nothing completes, that something is undefined.

use std::collections::BTreeSet;

use baton_model::litmus::Test;
use baton_model::{Incomplete, Options, Undefined, Verdict, judge};

fn verdict(text: &str, options: &Options) -> Verdict {
    let test = Test::parse(text, "remark").unwrap_or_else(|error| panic!("{error}"));
    judge(&test.program, &test.condition, options).unwrap_or_else(|error| panic!("{error}"))
}

const LOCATIONS: &str = "location x global u32 = 0\nlocation b shared cta=0 u64 = 0\n";

/// Where everything is enumerated, and where the search is directed by the question.
fn both(text: &str) -> [Verdict; 2] {
    let directed = Options { budget: 1, ..Options::default() };
    let asked = format!("{LOCATIONS}{text}\n");
    [verdict(&asked, &Options::default()), verdict(&asked, &directed)]
}

#[test]
fn what_is_forbidden_because_nothing_completes_is_remarked() {
    for (text, reason) in [
        ("thread A cta=0:\nL0:\nbra L0\nexists: x == 0", Incomplete::Thread("A".to_owned())),
        ("thread A cta=0:\nbar.sync 0, 2\nexists: x == 0", Incomplete::Barrier),
        (
            "thread A cta=0:\nbar.sync 0\nbar.sync 1\nthread B cta=0:\nbar.sync 1\nbar.sync 0\nexists: x == 0",
            Incomplete::Barrier,
        ),
    ] {
        for verdict in both(text) {
            assert!(!verdict.allowed, "{text}");
            assert_eq!(verdict.incomplete, Some(reason.clone()), "{text}");
        }
    }
    for text in [
        "thread A cta=0:\nst.weak.u32 [x], 1\nexists: x == 0",
        "thread A cta=0:\nbar.sync 0\nthread B cta=0:\nbar.sync 0\nexists: x == 1",
    ] {
        for verdict in both(text) {
            assert!(!verdict.allowed && verdict.incomplete.is_none(), "{text}");
        }
    }
}

#[test]
fn what_is_undefined_is_remarked() {
    let init = |count: u32| format!("mbarrier.init.shared.b64 [b], {count}\n");
    let arrive = "mbarrier.arrive.shared.b64 r0, [b]";
    for (code, expected) in [
        (format!("{}{arrive}", init(1)), None),
        (format!("{}{arrive}\n{arrive}", init(1)), None),
        (format!("{}{arrive}, 3", init(1)), Some(Undefined::Arrivals)),
        (format!("{}{arrive}, 0", init(1)), Some(Undefined::Arrivals)),
        (arrive.to_owned(), Some(Undefined::NoObject)),
        ("mbarrier.expect_tx.shared.b64 [b], 4".to_owned(), Some(Undefined::NoObject)),
        ("mbarrier.test_wait.parity.shared.b64 p0, [b], 0".to_owned(), Some(Undefined::NoObject)),
        (format!("{}mbarrier.inval.shared.b64 [b]\n{arrive}", init(1)), Some(Undefined::NoObject)),
        (init(0), Some(Undefined::NoArrivals)),
        (init(1).repeat(2), Some(Undefined::Again)),
        (format!("{}{arrive}\n{}", init(1), init(1)), Some(Undefined::Again)),
        (format!("{}mbarrier.inval.shared.b64 [b]\n{}", init(1), init(1)), None),
        (
            format!("{}mbarrier.arrive.noComplete.shared.b64 r0, [b], 1", init(1)),
            Some(Undefined::Completes),
        ),
        (format!("{}mbarrier.arrive.noComplete.shared.b64 r0, [b], 1", init(2)), None),
        (
            format!("{}mbarrier.arrive_drop.shared.b64 _, [b]\n{arrive}", init(1)),
            Some(Undefined::Arrivals),
        ),
        (format!("{}mbarrier.arrive_drop.shared.b64 _, [b]\n{arrive}", init(2)), None),
    ] {
        for verdict in both(&format!("thread A cta=0:\n{code}\nexists: x == 0")) {
            assert_eq!(verdict.undefined, expected.into_iter().collect::<BTreeSet<_>>(), "{code}");
        }
    }
    for (one, other, expected) in [
        ("bar.arrive 1, 2", "bar.red.or.pred p1, 1, 2, p0", true),
        ("bar.sync 1, 2", "bar.red.or.pred p1, 1, 2, p0", true),
        ("bar.red.popc.u32 r0, 1, 2, p0", "bar.red.or.pred p1, 1, 2, p0", true),
        ("bar.red.or.pred p1, 1, 2, p0", "bar.red.or.pred p1, 1, 2, p0", false),
        ("bar.arrive 1, 2", "bar.sync 1, 2", false),
    ] {
        for verdict in
            both(&format!("thread A cta=0:\n{one}\nthread B cta=0:\n{other}\nexists: x == 0"))
        {
            assert_eq!(verdict.undefined.contains(&Undefined::Votes), expected, "{one}, {other}");
            assert!(verdict.allowed, "{one}, {other}");
        }
    }
}
