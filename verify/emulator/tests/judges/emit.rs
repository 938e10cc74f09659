//! One description as PTX and as a litmus test.

use super::source::{
    Atomic, GLOBALS, Line, Meeting, Order, REGISTERS, Source, Step, Value, Warp, Word, lanes_of,
};
use std::fmt::Write as _;

/// Bytes between words, so that each is in a line of its own.
pub const STRIDE: usize = 64;

fn order(order: Order) -> String {
    match order {
        Order::Weak => "weak".into(),
        Order::Volatile => "volatile".into(),
        Order::Strong(order, scope) => format!("{order}.{scope}"),
    }
}

// ---- litmus ----

/// The text for the model.
pub fn litmus(source: &Source) -> String {
    let mut text = String::new();
    for name in GLOBALS {
        writeln!(text, "location {name} global u32 = 0").expect("a string");
    }
    for cta in 0..source.ctas() {
        writeln!(text, "location s{cta} shared cta={cta} u32 = 0").expect("a string");
        if source.has_mbarrier(cta) {
            writeln!(text, "location m{cta} shared cta={cta} u64 = 0").expect("a string");
        }
    }
    let mut initialised = Vec::new();
    for (number, (cta, _, lane, warp)) in source.threads().into_iter().enumerate() {
        writeln!(text, "thread T{number} cta={cta} cluster={}:", cta / source.cluster)
            .expect("a string");
        for register in 0..REGISTERS {
            writeln!(text, "  mov r{register}, 0").expect("a string");
        }
        if source.has_mbarrier(cta) {
            if !initialised.contains(&cta) {
                initialised.push(cta);
                let count = source.arrivals(cta).max(1);
                writeln!(text, "  mbarrier.init.shared.b64 [m{cta}], {count}").expect("a string");
            }
            text += "  bar.sync 0\n";
        }
        for (round, steps) in source.warps[warp].rounds.iter().enumerate() {
            for Step { line, .. } in steps.iter().filter(|step| step.lanes >> lane & 1 == 1) {
                for part in litmus_line(*line, cta, lane, round) {
                    writeln!(text, "  {part}").expect("a string");
                }
            }
            writeln!(text, "L{round}:").expect("a string");
            match source.meetings.get(round) {
                Some(Meeting::Cta) => text += "  bar.sync 0\n",
                Some(Meeting::Cluster { relaxed }) => {
                    let relaxed = if *relaxed { ".relaxed" } else { ".release" };
                    writeln!(
                        text,
                        "  barrier.cluster.arrive{relaxed}\n  barrier.cluster.wait.acquire"
                    )
                    .expect("a string");
                }
                _ => {}
            }
        }
    }
    text + "exists: true\n"
}

fn litmus_line(line: Line, cta: u32, lane: u32, round: usize) -> Vec<String> {
    let word = |at: Word| match at {
        Word::Global(at) => GLOBALS[at].to_owned(),
        Word::Shared => format!("s{cta}"),
    };
    let one = match line {
        Line::Load(o, to, at) => format!("ld.{}.u32 r{to}, [{}]", order(o), word(at)),
        Line::Store(o, at, value) => {
            let value = match value {
                Value::Number(number) => number.to_string(),
                Value::Lane(number) => Value::of(number, lane).to_string(),
                Value::Register(register) => format!("r{register}"),
            };
            format!("st.{}.u32 [{}], {value}", order(o), word(at))
        }
        Line::Atom(o, scope, f, to, at) => {
            let (f, args) = atomic(f);
            format!("atom.{o}.{scope}.{f}.u32 r{to}, [{}], {args}", word(at))
        }
        Line::Red(o, scope, at) => format!("red.{o}.{scope}.add.u32 [{}], 1", word(at)),
        Line::Fence(o, scope) => format!("fence.{o}.{scope}"),
        Line::Unless(register, value) => {
            return vec![
                format!("setp.ne.u32 p0, r{register}, {value}"),
                format!("@p0 bra L{round}"),
            ];
        }
        Line::Arrive(o, scope) => format!("mbarrier.arrive.{o}.{scope}.shared.b64 r9, [m{cta}]"),
        Line::Await(o, scope) => {
            return vec![
                format!("mbarrier.test_wait.parity.{o}.{scope}.shared.b64 p0, [m{cta}], 0"),
                format!("@!p0 bra L{round}"),
            ];
        }
    };
    vec![one]
}

fn atomic(f: Atomic) -> (&'static str, &'static str) {
    match f {
        Atomic::Add => ("add", "1"),
        Atomic::Exch => ("exch", "3"),
        Atomic::Cas => ("cas", "0, 4"),
    }
}

// ---- PTX ----

/// How the lanes of a warp run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// On one path, as far as they do not leave it.
    InStep,
    /// Each on a path of its own, so that any may come first.
    Apart,
}

/// The text for the emulator: kernel `k`, with the address of the words and of a place where each thread leaves its
/// registers.
pub fn ptx(source: &Source, lanes: Lanes) -> String {
    let single = |step: &Step| {
        lanes_of(step.lanes).map(|lane| 1 << lane).chain([step.lanes]).collect::<Vec<u32>>()
    };
    let mut masks: Vec<u32> = source.steps().flat_map(single).collect();
    masks.sort_unstable();
    masks.dedup();
    let mut text = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 mine[{}];\n\
         .visible .entry k(.param .u64 a0, .param .u64 a1)\n{{\n.reg .pred %p<4>;\n.reg .pred %m<{}>;\n\
         .reg .b32 %r<{}>;\n.reg .b32 %t<12>;\n.reg .b32 %v<4>;\n.reg .b64 %a<4>;\n\
         ld.param.u64 %a0, [a0];\nld.param.u64 %a1, [a1];\nmov.u32 %t0, %tid.x;\nmov.u32 %t1, %ctaid.x;\n\
         mov.u32 %t2, mine;\nadd.u32 %t3, %t2, {STRIDE};\nshr.u32 %t4, %t0, 5;\nand.b32 %t5, %t0, 31;\n\
         mad.lo.u32 %t6, %t1, {}, %t4;\nmov.u32 %t7, 1;\nshl.b32 %t7, %t7, %t5;\nshl.b32 %t8, %t5, 3;\n",
        2 * STRIDE,
        masks.len().max(1),
        REGISTERS,
        source.height(),
    );
    for register in 0..REGISTERS {
        writeln!(text, "mov.u32 %r{register}, 0;").expect("a string");
    }
    for number in 0..4 {
        writeln!(text, "add.u32 %v{number}, %t8, {number};").expect("a string");
    }
    for (at, mask) in masks.iter().enumerate() {
        writeln!(text, "and.b32 %t9, %t7, {mask};\nsetp.ne.u32 %m{at}, %t9, 0;").expect("a string");
    }
    text += "setp.ne.u32 %p0, %t0, 0;\n@%p0 bra READY;\nst.shared.u32 [%t2], 0;\n";
    for cta in (0..source.ctas()).filter(|cta| source.has_mbarrier(*cta)) {
        let count = source.arrivals(cta).max(1);
        writeln!(
            text,
            "setp.eq.u32 %p1, %t1, {cta};\n@%p1 mbarrier.init.shared::cta.b64 [%t3], {count};"
        )
        .expect("a string");
    }
    text += "READY:\nbar.sync 0;\n";
    for cta in 0..source.ctas() {
        for warp in 0..source.height() {
            let id = cta * source.height() + warp;
            writeln!(text, "setp.eq.u32 %p0, %t6, {id};\n@%p0 bra W{id};").expect("a string");
        }
    }
    for cta in 0..source.ctas() {
        for number in 0..source.height() {
            let id = cta * source.height() + number;
            writeln!(text, "W{id}:").expect("a string");
            let warp = source.warps.iter().find(|w| (w.cta, w.warp) == (cta, number));
            for round in 0..=source.meetings.len() {
                match (warp, lanes) {
                    (Some(warp), Lanes::InStep) => {
                        text += &ptx_round(warp, round, &format!("{id}_{round}"), &masks);
                    }
                    (Some(warp), Lanes::Apart) => {
                        for lane in lanes_of(warp.lanes) {
                            let label = format!("{id}_{round}_of{lane}");
                            writeln!(text, "setp.eq.u32 %p0, %t5, {lane};\n@%p0 bra S{label};")
                                .expect("a string");
                        }
                        writeln!(text, "bra E{id}_{round};").expect("a string");
                        for lane in lanes_of(warp.lanes) {
                            let label = format!("{id}_{round}_of{lane}");
                            writeln!(text, "S{label}:").expect("a string");
                            text += &ptx_round(&warp.only(lane), round, &label, &masks);
                            writeln!(text, "E{label}:\nbra E{id}_{round};").expect("a string");
                        }
                    }
                    (None, _) => {}
                }
                writeln!(text, "E{id}_{round}:").expect("a string");
                match source.meetings.get(round) {
                    Some(Meeting::Cta) => text += "barrier.sync 0;\n",
                    Some(Meeting::Cluster { relaxed }) => {
                        let relaxed = if *relaxed { ".relaxed" } else { ".release" };
                        writeln!(
                            text,
                            "barrier.cluster.arrive{relaxed};\nbarrier.cluster.wait.acquire;"
                        )
                        .expect("a string");
                    }
                    _ => {}
                }
            }
            text += "bra DONE;\n";
        }
    }
    writeln!(
        text,
        "DONE:\nmad.lo.u32 %t9, %t6, 32, %t5;\nmul.wide.u32 %a2, %t9, {};\nadd.u64 %a1, %a1, %a2;",
        4 * REGISTERS
    )
    .expect("a string");
    for register in 0..REGISTERS {
        writeln!(text, "st.global.u32 [%a1+{}], %r{register};", 4 * register).expect("a string");
    }
    text + "ret;\n}\n"
}

fn ptx_round(warp: &Warp, round: usize, label: &str, masks: &[u32]) -> String {
    let mut text = String::new();
    for (at, Step { lanes, line }) in warp.rounds[round].iter().enumerate() {
        let mask = masks.binary_search(lanes).expect("it is one of them");
        let mut parts: Vec<String> = ptx_line(*line).into_iter().collect();
        match line {
            Line::Unless(register, value) => {
                parts.push(format!("setp.ne.u32 %p1, %r{register}, {value}"));
            }
            Line::Await(order, scope) => {
                let wait = format!("mbarrier.test_wait.parity.{order}.{scope}.shared::cta.b64");
                parts.push(format!("{wait} %p1, [%t3], 0"));
                parts.push("not.pred %p1, %p1".into());
            }
            _ => {}
        }
        let leaves = matches!(line, Line::Unless(..) | Line::Await(..));
        if leaves {
            parts.push(format!("@%p1 bra E{label}"));
        }
        // Some lines are predicated, others branched around.
        if at % 2 == 0 && !leaves {
            for part in parts {
                writeln!(text, "@%m{mask} {part};").expect("a string");
            }
        } else {
            writeln!(text, "@!%m{mask} bra B{label}_{at};").expect("a string");
            for part in parts {
                writeln!(text, "{part};").expect("a string");
            }
            writeln!(text, "B{label}_{at}:").expect("a string");
        }
    }
    text
}

fn ptx_line(line: Line) -> Option<String> {
    let word = |at: Word| match at {
        Word::Global(at) => ("global", format!("%a0+{}", STRIDE * at)),
        Word::Shared => ("shared", "%t2".to_owned()),
    };
    Some(match line {
        Line::Load(o, to, at) => {
            let (space, at) = word(at);
            format!("ld.{}.{space}.u32 %r{to}, [{at}]", order(o))
        }
        Line::Store(o, at, value) => {
            let (space, at) = word(at);
            let store = format!("st.{}.{space}.u32 [{at}]", order(o));
            match value {
                Value::Number(number) => format!("{store}, {number}"),
                Value::Register(register) => format!("{store}, %r{register}"),
                Value::Lane(number) => format!("{store}, %v{number}"),
            }
        }
        Line::Atom(o, scope, f, to, at) => {
            let (space, at) = word(at);
            let (f, args) = atomic(f);
            let ty = if f == "add" { "u32" } else { "b32" };
            format!("atom.{o}.{scope}.{space}.{f}.{ty} %r{to}, [{at}], {args}")
        }
        Line::Red(o, scope, at) => {
            let (space, at) = word(at);
            format!("red.{o}.{scope}.{space}.add.u32 [{at}], 1")
        }
        Line::Fence(o, scope) => format!("fence.{o}.{scope}"),
        Line::Arrive(o, scope) => {
            format!("mbarrier.arrive.{o}.{scope}.shared::cta.b64 _, [%t3]")
        }
        Line::Unless(..) | Line::Await(..) => return None,
    })
}
