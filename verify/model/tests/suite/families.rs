//! The regular part of the corpus: classic shapes across scopes, placements, orderings and fences.
//!
//! What a file expects is computed here from the text's rules by a small formula for each family,
//! which stands in the file as a comment. The program under test has no part in it.
//!
//! `BATON_BLESS=1 cargo test -p baton-model corpus` writes the files again.

/// A generated file.
pub struct File {
    pub name: String,
    pub text: String,
}

/// The smallest scope that holds both of two threads, and how to place them for it.
const LEVELS: [(&str, [&str; 4]); 4] = [
    ("cta", ["gpu=0 cta=0", "gpu=0 cta=0", "gpu=0 cta=0", "gpu=0 cta=0"]),
    (
        "cluster",
        [
            "gpu=0 cta=0 cluster=0",
            "gpu=0 cta=1 cluster=0",
            "gpu=0 cta=2 cluster=0",
            "gpu=0 cta=3 cluster=0",
        ],
    ),
    ("gpu", ["gpu=0 cta=0", "gpu=0 cta=1", "gpu=0 cta=2", "gpu=0 cta=3"]),
    ("sys", ["gpu=0 cta=0", "gpu=1 cta=1", "gpu=2 cta=2", "gpu=3 cta=3"]),
];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

struct Maker {
    files: Vec<File>,
}

impl Maker {
    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        name: &str,
        why: &str,
        locations: &[&str],
        level: usize,
        threads: &[String],
        exists: &str,
        forbidden: bool,
        race: bool,
    ) {
        let mut text = format!("name: {name}\n");
        for line in why.lines() {
            text += &format!("# {}\n", line.trim());
        }
        for location in locations {
            text += &format!("location {location}\n");
        }
        for (index, code) in threads.iter().enumerate() {
            text += &format!("thread T{index} {}:\n", LEVELS[level].1[index]);
            for line in code.split(';') {
                text += &format!("  {}\n", line.trim());
            }
        }
        text += &format!("exists: {exists}\n");
        text += if forbidden { "expect: forbidden\n" } else { "expect: allowed\n" };
        text += if race { "race: yes\n" } else { "race: no\n" };
        self.files.push(File { name: name.to_owned(), text });
    }
}

/// All families.
pub fn all() -> Vec<File> {
    let mut maker = Maker { files: vec![] };
    message_passing(&mut maker);
    store_buffering(&mut maker);
    load_buffering(&mut maker);
    write_shapes(&mut maker);
    independent_reads(&mut maker);
    chains(&mut maker);
    coherence(&mut maker);
    atomics(&mut maker);
    barriers(&mut maker);
    maker.files
}

const DATA: [&str; 2] = ["x global u32 = 0", "flag global u32 = 0"];
const XY: [&str; 2] = ["x global u32 = 0", "y global u32 = 0"];

fn message_passing(maker: &mut Maker) {
    let exists = "T1:r0 == 1 && T1:r1 == 0";
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (w, writer) in SCOPES.iter().enumerate() {
            for (r, reader) in SCOPES.iter().enumerate() {
                maker.add(
                    &format!("MP_{place}_release_{writer}_acquire_{reader}"),
                    &format!(
                        "Threads apart by {place}; release at {writer}, acquire at {reader}. The two synchronise if they are\n\
                         morally strong, that is if each scope contains the other thread (8.7, 8.8, 8.9.4). Data is weak: when\n\
                         the flag is not seen it races."
                    ),
                    &DATA,
                    level,
                    &[
                        format!("st.weak.u32 [x], 1; st.release.{writer}.u32 [flag], 1"),
                        format!("ld.acquire.{reader}.u32 r0, [flag]; ld.weak.u32 r1, [x]"),
                    ],
                    exists,
                    w >= level && r >= level,
                    true,
                );
            }
        }
        for (s, scope) in SCOPES.iter().enumerate() {
            for (kind, before, after) in [
                ("acq_rel", "acq_rel", "acq_rel"),
                ("sc", "sc", "sc"),
                ("release_acquire", "release", "acquire"),
            ] {
                maker.add(
                    &format!("MP_{place}_fence_{kind}_{scope}"),
                    &format!(
                        "Threads apart by {place}; a fence at {scope} on each side, the flag itself relaxed at sys. Fence and\n\
                         strong write are a release pattern, strong read and fence an acquire pattern (8.8); they synchronise\n\
                         if the fences are morally strong."
                    ),
                    &DATA,
                    level,
                    &[
                        format!("st.weak.u32 [x], 1; fence.{before}.{scope}; st.relaxed.sys.u32 [flag], 1"),
                        format!("ld.relaxed.sys.u32 r0, [flag]; fence.{after}.{scope}; ld.weak.u32 r1, [x]"),
                    ],
                    exists,
                    s >= level,
                    true,
                );
            }
            maker.add(
                &format!("MP_{place}_wrong_fences_{scope}"),
                "The writer's fence acquires and the reader's releases: neither side has a pattern (8.8).",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; fence.acquire.{scope}; st.relaxed.sys.u32 [flag], 1"),
                    format!("ld.relaxed.sys.u32 r0, [flag]; fence.release.{scope}; ld.weak.u32 r1, [x]"),
                ],
                exists,
                false,
                true,
            );
            maker.add(
                &format!("MP_{place}_flag_relaxed_{scope}_fences_sys"),
                &format!(
                    "Strong fences, but the flag at {scope}. Observation needs a morally strong read (8.9.2)."
                ),
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; fence.acq_rel.sys; st.relaxed.{scope}.u32 [flag], 1"),
                    format!("ld.relaxed.{scope}.u32 r0, [flag]; fence.acq_rel.sys; ld.weak.u32 r1, [x]"),
                ],
                exists,
                s >= level,
                true,
            );
            maker.add(
                &format!("MP_{place}_rmw_flag_{scope}"),
                "The flag is handed over by atomics: a release one and an acquire one (8.8, pattern 1).",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; atom.release.{scope}.exch.u32 r9, [flag], 1"),
                    format!("atom.acquire.{scope}.add.u32 r0, [flag], 0; ld.weak.u32 r1, [x]"),
                ],
                exists,
                s >= level,
                true,
            );
            maker.add(
                &format!("MP_{place}_release_then_relaxed_{scope}"),
                "Release pattern 2 (8.8): a release operation, then a strong write to the same location. The reader sees\n\
                 the second write; what precedes the first is ordered.",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [flag], 2; st.relaxed.{scope}.u32 [flag], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [flag]; ld.weak.u32 r1, [x]"),
                ],
                exists,
                s >= level,
                true,
            );
            maker.add(
                &format!("MP_{place}_between_release_and_relaxed_{scope}"),
                "Release pattern 2 orders only what precedes its first instruction; the data is written after it.",
                &DATA,
                level,
                &[
                    format!("st.release.{scope}.u32 [flag], 2; st.weak.u32 [x], 1; st.relaxed.{scope}.u32 [flag], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [flag]; ld.weak.u32 r1, [x]"),
                ],
                exists,
                false,
                true,
            );
            maker.add(
                &format!("MP_{place}_relaxed_then_acquire_{scope}"),
                "Acquire pattern 2 (8.8): a strong read, then an acquire operation on the same location. The first read\n\
                 sees the release; what follows the second is ordered.",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [flag], 1"),
                    format!("ld.relaxed.{scope}.u32 r0, [flag]; ld.acquire.{scope}.u32 r2, [flag]; ld.weak.u32 r1, [x]"),
                ],
                exists,
                s >= level,
                true,
            );
            maker.add(
                &format!("MP_{place}_guarded_{scope}"),
                "Data is touched only after the flag was seen, so there is a race exactly if nothing synchronises.",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [flag], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [flag]; setp.eq p0, r0, 1; @p0 ld.weak.u32 r1, [x]"),
                ],
                exists,
                s >= level,
                s < level,
            );
        }
        for (kind, store, load, forbidden) in [
            ("weak", "st.weak.u32", "ld.weak.u32", false),
            ("relaxed", "st.relaxed.sys.u32", "ld.relaxed.sys.u32", false),
            ("release_relaxed", "st.release.sys.u32", "ld.relaxed.sys.u32", false),
            ("relaxed_acquire", "st.relaxed.sys.u32", "ld.acquire.sys.u32", false),
            ("volatile", "st.volatile.u32", "ld.volatile.u32", false),
        ] {
            maker.add(
                &format!("MP_{place}_flag_{kind}"),
                "One side at least has no pattern (8.8).",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; {store} [flag], 1"),
                    format!("{load} r0, [flag]; ld.weak.u32 r1, [x]"),
                ],
                exists,
                forbidden,
                true,
            );
        }
        for (kind, store, load, forbidden) in [
            ("weak", "st.weak.u32", "ld.weak.u32", false),
            ("volatile", "st.volatile.u32", "ld.volatile.u32", true),
            ("mmio", "st.mmio.relaxed.sys.u32", "ld.mmio.relaxed.sys.u32", true),
            ("weak_store", "st.weak.u32", "ld.relaxed.sys.u32", false),
            ("weak_load", "st.relaxed.sys.u32", "ld.weak.u32", false),
        ] {
            maker.add(
                &format!("MP_{place}_fences_flag_{kind}"),
                "Fences at sys. The accesses of the patterns must be strong (8.8) and the read morally strong with the\n\
                 write (8.9.2); volatile is relaxed at sys (8.4.2), mmio is strong (8.4.1).",
                &DATA,
                level,
                &[
                    format!("st.weak.u32 [x], 1; fence.acq_rel.sys; {store} [flag], 1"),
                    format!("{load} r0, [flag]; fence.acq_rel.sys; ld.weak.u32 r1, [x]"),
                ],
                exists,
                forbidden,
                true,
            );
        }
        maker.add(
            &format!("MP_{place}_data_after_fence"),
            "The data is written behind the fence: the release pattern orders only what precedes its first\n\
             instruction, the fence (8.8).",
            &DATA,
            level,
            &[
                "fence.release.sys; st.weak.u32 [x], 1; st.relaxed.sys.u32 [flag], 1".into(),
                "ld.acquire.sys.u32 r0, [flag]; ld.weak.u32 r1, [x]".into(),
            ],
            exists,
            false,
            true,
        );
        maker.add(
            &format!("MP_{place}_data_before_fence"),
            "The data is read before the fence: the acquire pattern orders only what follows its last instruction.",
            &DATA,
            level,
            &[
                "st.weak.u32 [x], 1; st.release.sys.u32 [flag], 1".into(),
                "ld.relaxed.sys.u32 r0, [flag]; ld.weak.u32 r1, [x]; fence.acquire.sys".into(),
            ],
            exists,
            false,
            true,
        );
    }
}

fn store_buffering(maker: &mut Maker) {
    let exists = "T0:r0 == 0 && T1:r0 == 0";
    let code = |a: &str, b: &str, fence: &str, order: [&str; 2]| {
        format!("st.{}.u32 [{a}], 1; {fence}; ld.{}.u32 r0, [{b}]", order[0], order[1])
    };
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, first) in SCOPES.iter().enumerate() {
            for (t, second) in SCOPES.iter().enumerate() {
                maker.add(
                    &format!("SB_{place}_sc_{first}_sc_{second}"),
                    "The Fence-SC order relates every morally strong pair of fence.sc (8.9.3): each scope contains the\n\
                     other thread. Whichever comes first synchronises with the other (8.9.4).",
                    &XY,
                    level,
                    &[
                        code("x", "y", &format!("fence.sc.{first}"), ["relaxed.sys", "relaxed.sys"]),
                        code("y", "x", &format!("fence.sc.{second}"), ["relaxed.sys", "relaxed.sys"]),
                    ],
                    exists,
                    s >= level && t >= level,
                    false,
                );
            }
        }
        for (kind, fence, order) in [
            ("acq_rel", "fence.acq_rel.sys", ["relaxed.sys", "relaxed.sys"]),
            ("no_fence", "mov r9, 0", ["relaxed.sys", "relaxed.sys"]),
            ("release_acquire", "mov r9, 0", ["release.sys", "acquire.sys"]),
        ] {
            maker.add(
                &format!("SB_{place}_{kind}"),
                "Nothing observes anything in this outcome, so nothing synchronises but fence.sc would.",
                &XY,
                level,
                &[code("x", "y", fence, order), code("y", "x", fence, order)],
                exists,
                false,
                false,
            );
        }
        maker.add(
            &format!("SB_{place}_sc_one_side"),
            "One fence.sc and one fence.acq_rel: the Fence-SC order relates fence.sc only.",
            &XY,
            level,
            &[
                code("x", "y", "fence.sc.sys", ["relaxed.sys", "relaxed.sys"]),
                code("y", "x", "fence.acq_rel.sys", ["relaxed.sys", "relaxed.sys"]),
            ],
            exists,
            false,
            false,
        );
    }
}

fn load_buffering(maker: &mut Maker) {
    let exists = "T0:r0 == 1 && T1:r0 == 1";
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, scope) in SCOPES.iter().enumerate() {
            let code = |a: &str, b: &str| {
                format!("ld.acquire.{scope}.u32 r0, [{a}]; st.release.{scope}.u32 [{b}], 1")
            };
            maker.add(
                &format!("LB_{place}_acquire_release_{scope}"),
                "Each release is seen by the other acquire: causality would order each load before the store that it\n\
                 reads from (8.10.6), if they synchronise. Scopes that exclude the other thread leave a race.",
                &XY,
                level,
                &[code("x", "y"), code("y", "x")],
                exists,
                s >= level,
                s < level,
            );
            let code = |a: &str, b: &str| {
                format!(
                    "ld.relaxed.sys.u32 r0, [{a}]; fence.acq_rel.{scope}; st.relaxed.sys.u32 [{b}], 1"
                )
            };
            maker.add(
                &format!("LB_{place}_fences_{scope}"),
                "As with acquire and release, through fences (8.8, patterns 3).",
                &XY,
                level,
                &[code("x", "y"), code("y", "x")],
                exists,
                s >= level,
                false,
            );
        }
        maker.add(
            &format!("LB_{place}_relaxed"),
            "8.10.4: load buffering without dependencies is allowed on purpose.",
            &XY,
            level,
            &[
                "ld.relaxed.sys.u32 r0, [x]; st.relaxed.sys.u32 [y], 1".into(),
                "ld.relaxed.sys.u32 r0, [y]; st.relaxed.sys.u32 [x], 1".into(),
            ],
            exists,
            false,
            false,
        );
        maker.add(
            &format!("LB_{place}_data_dependencies"),
            "8.10.4: with dependencies the value would justify itself.",
            &XY,
            level,
            &[
                "ld.relaxed.sys.u32 r0, [x]; st.relaxed.sys.u32 [y], r0".into(),
                "ld.relaxed.sys.u32 r0, [y]; st.relaxed.sys.u32 [x], r0".into(),
            ],
            exists,
            true,
            false,
        );
        maker.add(
            &format!("LB_{place}_one_dependency"),
            "8.10.4: one store is unconditional, so its value needs no justification.",
            &XY,
            level,
            &[
                "ld.relaxed.sys.u32 r0, [x]; st.relaxed.sys.u32 [y], r0".into(),
                "ld.relaxed.sys.u32 r0, [y]; st.relaxed.sys.u32 [x], 1".into(),
            ],
            exists,
            false,
            false,
        );
    }
}

fn write_shapes(maker: &mut Maker) {
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, scope) in SCOPES.iter().enumerate() {
            maker.add(
                &format!("S_{place}_release_acquire_{scope}"),
                "S: the write x = 2 precedes the release, the write x = 1 follows the acquire. If they synchronise,\n\
                 Coherence (8.10.1) puts 2 before 1, so 2 is not what is left.",
                &XY,
                level,
                &[
                    format!("st.relaxed.sys.u32 [x], 2; st.release.{scope}.u32 [y], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [y]; st.relaxed.sys.u32 [x], 1"),
                ],
                "T1:r0 == 1 && x == 2",
                s >= level,
                s < level,
            );
            for (kind, forbidden) in [("sc", true), ("acq_rel", false)] {
                let fence = format!("fence.{kind}.{scope}");
                maker.add(
                    &format!("R_{place}_{kind}_{scope}"),
                    "R: coherence order is no causality, so only fence.sc orders the write y = 2 and the read of x: one\n\
                     direction forces y's order, the other the read's value.",
                    &XY,
                    level,
                    &[
                        format!("st.relaxed.sys.u32 [x], 1; {fence}; st.relaxed.sys.u32 [y], 1"),
                        format!("st.relaxed.sys.u32 [y], 2; {fence}; ld.relaxed.sys.u32 r0, [x]"),
                    ],
                    "y == 2 && T1:r0 == 0",
                    forbidden && s >= level,
                    false,
                );
                maker.add(
                    &format!("2+2W_{place}_{kind}_{scope}"),
                    "2+2W: coherence order is no causality; fence.sc in both threads orders one pair of writes.",
                    &XY,
                    level,
                    &[
                        format!("st.relaxed.sys.u32 [x], 1; {fence}; st.relaxed.sys.u32 [y], 2"),
                        format!("st.relaxed.sys.u32 [y], 1; {fence}; st.relaxed.sys.u32 [x], 2"),
                    ],
                    "x == 1 && y == 1",
                    forbidden && s >= level,
                    false,
                );
            }
        }
        maker.add(
            &format!("S_{place}_relaxed"),
            "S without synchronisation.",
            &XY,
            level,
            &[
                "st.relaxed.sys.u32 [x], 2; st.relaxed.sys.u32 [y], 1".into(),
                "ld.relaxed.sys.u32 r0, [y]; st.relaxed.sys.u32 [x], 1".into(),
            ],
            "T1:r0 == 1 && x == 2",
            false,
            false,
        );
        maker.add(
            &format!("2+2W_{place}_release"),
            "2+2W with release stores stays allowed: nobody acquires.",
            &XY,
            level,
            &[
                "st.release.sys.u32 [x], 1; st.release.sys.u32 [y], 2".into(),
                "st.release.sys.u32 [y], 1; st.release.sys.u32 [x], 2".into(),
            ],
            "x == 1 && y == 1",
            false,
            false,
        );
        let three = ["x global u32 = 0", "y global u32 = 0", "z global u32 = 0"];
        maker.add(
            &format!("3.2W_{place}_release"),
            "Three threads, two writes each: coherence edges do not compose to causality.",
            &three,
            level,
            &[
                "st.release.sys.u32 [x], 1; st.release.sys.u32 [y], 2".into(),
                "st.release.sys.u32 [y], 1; st.release.sys.u32 [z], 2".into(),
                "st.release.sys.u32 [z], 1; st.release.sys.u32 [x], 2".into(),
            ],
            "x == 1 && y == 1 && z == 1",
            false,
            false,
        );
        maker.add(
            &format!("Z6.3_{place}_release_acquire"),
            "Z6.3: a coherence edge, then a release seen by an acquire, then a from-read: no cycle of causality.",
            &three,
            level,
            &[
                "st.relaxed.sys.u32 [x], 1; st.release.sys.u32 [y], 1".into(),
                "st.release.sys.u32 [y], 2; st.release.sys.u32 [z], 1".into(),
                "ld.acquire.sys.u32 r0, [z]; ld.relaxed.sys.u32 r1, [x]".into(),
            ],
            "y == 2 && T2:r0 == 1 && T2:r1 == 0",
            false,
            false,
        );
    }
}

fn independent_reads(maker: &mut Maker) {
    let exists = "T2:r0 == 1 && T2:r1 == 0 && T3:r0 == 1 && T3:r1 == 0";
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        let reader = |a: &str, b: &str, order: &str, fence: &str| {
            format!("ld.{order}.u32 r0, [{a}]; {fence}; ld.{order}.u32 r1, [{b}]")
        };
        for (s, scope) in SCOPES.iter().enumerate() {
            for (kind, forbidden) in [("sc", true), ("acq_rel", false)] {
                let fence = format!("fence.{kind}.{scope}");
                maker.add(
                    &format!("IRIW_{place}_{kind}_{scope}"),
                    "IRIW: the two readers disagree about the order of two writes. What a reader saw is observation before\n\
                     its fence; a fence.sc that is ordered before the other passes it on (8.9.5).",
                    &XY,
                    level,
                    &[
                        "st.relaxed.sys.u32 [x], 1".into(),
                        "st.relaxed.sys.u32 [y], 1".into(),
                        reader("x", "y", "relaxed.sys", &fence),
                        reader("y", "x", "relaxed.sys", &fence),
                    ],
                    exists,
                    forbidden && s >= level,
                    false,
                );
            }
        }
        maker.add(
            &format!("IRIW_{place}_release_acquire"),
            "IRIW with release and acquire only: each reader synchronises with one writer, never with the other.",
            &XY,
            level,
            &[
                "st.release.sys.u32 [x], 1".into(),
                "st.release.sys.u32 [y], 1".into(),
                reader("x", "y", "acquire.sys", "mov r9, 0"),
                reader("y", "x", "acquire.sys", "mov r9, 0"),
            ],
            exists,
            false,
            false,
        );
    }
}

fn chains(maker: &mut Maker) {
    let three = ["x global u32 = 0", "y global u32 = 0", "z global u32 = 0"];
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, scope) in SCOPES.iter().enumerate() {
            maker.add(
                &format!("WRC_{place}_{scope}"),
                "WRC: T1 sees x and releases y, T2 acquires it. Observation before causality is causality (8.9.5), so T2\n\
                 cannot miss x, if T1 and T2 synchronise.",
                &XY,
                level,
                &[
                    "st.relaxed.sys.u32 [x], 1".into(),
                    format!("ld.relaxed.sys.u32 r0, [x]; st.release.{scope}.u32 [y], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [y]; ld.relaxed.sys.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T2:r0 == 1 && T2:r1 == 0",
                s >= level,
                s < level,
            );
            maker.add(
                &format!("WRC_{place}_weak_{scope}"),
                "WRC with weak accesses to x: T1's read is not morally strong with the write, so it is no observation.",
                &XY,
                level,
                &[
                    "st.weak.u32 [x], 1".into(),
                    format!("ld.weak.u32 r0, [x]; st.release.{scope}.u32 [y], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [y]; ld.weak.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T2:r0 == 1 && T2:r1 == 0",
                false,
                true,
            );
            maker.add(
                &format!("ISA2_{place}_{scope}"),
                "ISA2: T1 acquires y and releases z. Base causality is transitive (8.9.5), so T2 sees x.",
                &three,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [y], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [y]; st.release.{scope}.u32 [z], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [z]; ld.weak.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T2:r0 == 1 && T2:r1 == 0",
                s >= level,
                true,
            );
            maker.add(
                &format!("ISA2_{place}_middle_relaxed_{scope}"),
                "ISA2 whose middle thread reads relaxed: it does not synchronise with the first (rf alone does not).",
                &three,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [y], 1"),
                    format!("ld.relaxed.{scope}.u32 r0, [y]; st.release.{scope}.u32 [z], 1"),
                    format!("ld.acquire.{scope}.u32 r0, [z]; ld.weak.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T2:r0 == 1 && T2:r1 == 0",
                false,
                true,
            );
            for (kind, forbidden) in [("sc", true), ("acq_rel", false)] {
                maker.add(
                    &format!("RWC_{place}_{kind}_{scope}"),
                    "RWC: T1 sees x and misses y, T2 writes y and misses x. Two fence.sc allow one of the two.",
                    &XY,
                    level,
                    &[
                        "st.relaxed.sys.u32 [x], 1".into(),
                        format!("ld.relaxed.sys.u32 r0, [x]; fence.{kind}.{scope}; ld.relaxed.sys.u32 r1, [y]"),
                        format!("st.relaxed.sys.u32 [y], 1; fence.{kind}.{scope}; ld.relaxed.sys.u32 r0, [x]"),
                    ],
                    "T1:r0 == 1 && T1:r1 == 0 && T2:r0 == 0",
                    forbidden && s >= level,
                    false,
                );
            }
        }
    }
}

fn coherence(maker: &mut Maker) {
    let x = ["x global u32 = 0"];
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, scope) in SCOPES.iter().enumerate() {
            let order = format!("relaxed.{scope}");
            let strong = s >= level;
            maker.add(
                &format!("CoRR_{place}_{scope}"),
                "CoRR (8.10.5): morally strong reads of one thread see one location's writes in one order.",
                &x,
                level,
                &[
                    format!("st.{order}.u32 [x], 1"),
                    format!("ld.{order}.u32 r0, [x]; ld.{order}.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T1:r1 == 0",
                strong,
                !strong,
            );
            maker.add(
                &format!("CoRW_{place}_{scope}"),
                "CoRW2: a read sees a write and its thread then overwrites it. Observation and program order give\n\
                 causality, and Coherence (8.10.1) the order of the writes; a race gives nothing.",
                &x,
                level,
                &[
                    format!("st.{order}.u32 [x], 1"),
                    format!("ld.{order}.u32 r0, [x]; st.{order}.u32 [x], 2"),
                ],
                "T1:r0 == 1 && x == 1",
                strong,
                !strong,
            );
            maker.add(
                &format!("CoWR_{place}_{scope}"),
                "CoWR: a thread that wrote reads another's write, which therefore is later.",
                &x,
                level,
                &[
                    format!("st.{order}.u32 [x], 1"),
                    format!("st.{order}.u32 [x], 2; ld.{order}.u32 r0, [x]"),
                ],
                "T1:r0 == 1 && x == 2",
                strong,
                !strong,
            );
            maker.add(
                &format!("CoRR2_{place}_{scope}"),
                "Two readers disagree about the order of two writes to one location. Morally strong writes are related\n\
                 in coherence order (8.9.6), one way for all.",
                &x,
                level,
                &[
                    format!("st.{order}.u32 [x], 1"),
                    format!("st.{order}.u32 [x], 2"),
                    format!("ld.{order}.u32 r0, [x]; ld.{order}.u32 r1, [x]"),
                    format!("ld.{order}.u32 r0, [x]; ld.{order}.u32 r1, [x]"),
                ],
                "T2:r0 == 1 && T2:r1 == 2 && T3:r0 == 2 && T3:r1 == 1",
                strong,
                !strong,
            );
        }
        maker.add(
            &format!("CoWW_{place}"),
            "CoWW: program order is causality, so the thread's last write is later, weak or not (8.10.1). The reader\n\
             makes it a race.",
            &x,
            level,
            &["st.weak.u32 [x], 1; st.weak.u32 [x], 2".into(), "ld.weak.u32 r0, [x]".into()],
            "x == 1",
            true,
            true,
        );
        maker.add(
            &format!("CoRR_{place}_weak"),
            "Weak reads of another thread's write may go backwards.",
            &x,
            level,
            &["st.weak.u32 [x], 1".into(), "ld.weak.u32 r0, [x]; ld.weak.u32 r1, [x]".into()],
            "T1:r0 == 1 && T1:r1 == 0",
            false,
            true,
        );
    }
}

fn atomics(maker: &mut Maker) {
    let x = ["x global u32 = 0"];
    for (level, (place, _)) in LEVELS.iter().enumerate() {
        for (s, scope) in SCOPES.iter().enumerate() {
            let strong = s >= level;
            let add = format!("atom.relaxed.{scope}.add.u32 r0, [x], 1");
            maker.add(
                &format!("RMW_2_{place}_{scope}"),
                "Two additions: none is lost if they are morally strong (8.10.3).",
                &x,
                level,
                &[add.clone(), add.clone()],
                "x == 1",
                strong,
                !strong,
            );
            maker.add(
                &format!("RMW_4_{place}_{scope}"),
                "Four additions: none is lost if they are pairwise morally strong (8.10.3).",
                &x,
                level,
                &[add.clone(), add.clone(), add.clone(), add.clone()],
                "x != 4",
                strong,
                !strong,
            );
            maker.add(
                &format!("RMW_store_{place}_{scope}"),
                "A store falls between the halves of an atomic: its effect would be lost. Not if it is morally strong.",
                &x,
                level,
                &[add.clone(), format!("st.relaxed.{scope}.u32 [x], 4")],
                "T0:r0 == 0 && x == 1",
                strong,
                // Written by one, read and written by the other, whatever the order: a race unless strong.
                !strong,
            );
            maker.add(
                &format!("CAS_{place}_{scope}"),
                "Two threads try to take a lock by compare-and-swap: both succeed only if they are not morally strong.",
                &x,
                level,
                &[
                    format!("atom.acquire.{scope}.cas.u32 r0, [x], 0, 1"),
                    format!("atom.acquire.{scope}.cas.u32 r0, [x], 0, 1"),
                ],
                "T0:r0 == 0 && T1:r0 == 0",
                strong,
                !strong,
            );
            for (kind, middle) in [
                ("atom", format!("atom.relaxed.{scope}.add.u32 r0, [y], 1")),
                ("red", format!("red.relaxed.{scope}.add.u32 [y], 1")),
            ] {
                maker.add(
                    &format!("RMW_chain_{kind}_{place}_{scope}"),
                    "Observation goes on through an atomic operation of a third thread (8.9.2, clause 2), be it atom or red.",
                    &XY,
                    level,
                    &[
                        format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [y], 1"),
                        middle,
                        format!("ld.acquire.{scope}.u32 r0, [y]; ld.weak.u32 r1, [x]"),
                    ],
                    "T2:r0 == 2 && T2:r1 == 0",
                    strong,
                    true,
                );
            }
            maker.add(
                &format!("RMW_chain_store_{place}_{scope}"),
                "A plain store of a third thread ends the observation: the acquire sees that store, not the release.",
                &XY,
                level,
                &[
                    format!("st.weak.u32 [x], 1; st.release.{scope}.u32 [y], 1"),
                    format!("ld.relaxed.{scope}.u32 r0, [y]; st.relaxed.{scope}.u32 [y], 2"),
                    format!("ld.acquire.{scope}.u32 r0, [y]; ld.weak.u32 r1, [x]"),
                ],
                "T1:r0 == 1 && T2:r0 == 2 && T2:r1 == 0",
                false,
                true,
            );
        }
    }
}

fn barriers(maker: &mut Maker) {
    let x = ["x global u32 = 0", "y global u32 = 0"];
    maker.add(
        "BAR_sync",
        "bar.sync synchronises with bar.sync on the same barrier (8.9.4, clause 2).",
        &x,
        0,
        &["st.weak.u32 [x], 1; bar.sync 0".into(), "bar.sync 0; ld.weak.u32 r0, [x]".into()],
        "T1:r0 == 0",
        true,
        false,
    );
    maker.add(
        "BAR_both_ways",
        "Both participants see each other's writes.",
        &x,
        0,
        &[
            "st.weak.u32 [x], 1; bar.sync 0; ld.weak.u32 r0, [y]".into(),
            "st.weak.u32 [y], 1; bar.sync 0; ld.weak.u32 r0, [x]".into(),
        ],
        "T0:r0 == 0 || T1:r0 == 0",
        true,
        false,
    );
    maker.add(
        "BAR_arrive",
        "bar.arrive synchronises with bar.sync.",
        &x,
        0,
        &[
            "st.weak.u32 [x], 1; bar.arrive 1, 2".into(),
            "bar.sync 1, 2; ld.weak.u32 r0, [x]".into(),
        ],
        "T1:r0 == 0",
        true,
        false,
    );
    maker.add(
        "BAR_arrive_waits_not",
        "bar.arrive is no wait: the arriving thread may be early.",
        &x,
        0,
        &[
            "bar.arrive 1, 2; ld.weak.u32 r0, [x]".into(),
            "st.weak.u32 [x], 1; bar.sync 1, 2".into(),
        ],
        "T0:r0 == 0",
        false,
        true,
    );
    maker.add(
        "BAR_other_number",
        "Two barriers with two numbers do not meet; each is used by both threads, in the same order, and the write\n\
         stands between them.",
        &x,
        0,
        &[
            "bar.sync 0; st.weak.u32 [x], 1; bar.sync 1".into(),
            "bar.sync 0; ld.weak.u32 r0, [x]; bar.sync 1".into(),
        ],
        "T1:r0 == 0",
        false,
        true,
    );
    maker.add(
        "BAR_phases",
        "A barrier synchronises per phase: what follows the first phase is not before another's first wait.",
        &x,
        0,
        &[
            "bar.sync 0; st.weak.u32 [x], 1; bar.sync 0".into(),
            "bar.sync 0; ld.weak.u32 r0, [x]; bar.sync 0; ld.weak.u32 r1, [x]".into(),
        ],
        "T1:r0 == 0 && T1:r1 == 1",
        false,
        true,
    );
    maker.add(
        "BAR_later_phase",
        "The second phase orders what the first did not.",
        &x,
        0,
        &[
            "bar.sync 0; st.weak.u32 [x], 1; bar.sync 0".into(),
            "bar.sync 0; bar.sync 0; ld.weak.u32 r1, [x]".into(),
        ],
        "T1:r1 == 0",
        true,
        false,
    );
    maker.add(
        "BAR_arrive_phase",
        "An arrival joins one phase only. With two arrivals to come and two waits, each wait has its own; the write\n\
         stands before the second, so the first wait does not see it for sure.",
        &x,
        0,
        &[
            "bar.arrive 1, 2; st.weak.u32 [x], 1; bar.arrive 1, 2".into(),
            "bar.sync 1, 2; ld.weak.u32 r0, [x]; bar.sync 1, 2; ld.weak.u32 r1, [x]".into(),
        ],
        "T1:r0 == 0 && T1:r1 == 1",
        false,
        true,
    );
    maker.add(
        "BAR_arrive_phase_seen",
        "The second wait sees what stands before the second arrival.",
        &x,
        0,
        &[
            "bar.arrive 1, 2; st.weak.u32 [x], 1; bar.arrive 1, 2".into(),
            "bar.sync 1, 2; bar.sync 1, 2; ld.weak.u32 r1, [x]".into(),
        ],
        "T1:r1 == 0",
        true,
        false,
    );
    maker.add(
        "BAR_deadlock",
        "Two barriers in opposite order, each for both threads: no execution is completed.",
        &x,
        0,
        &["bar.sync 0, 2; bar.sync 1, 2".into(), "bar.sync 1, 2; bar.sync 0, 2".into()],
        "true",
        true,
        false,
    );
    maker.add(
        "BAR_missing",
        "A count that is never reached blocks forever.",
        &x,
        0,
        &["bar.sync 0, 3".into(), "bar.sync 0, 3".into()],
        "true",
        true,
        false,
    );
    maker.add(
        "BAR_other_block",
        "A barrier belongs to its thread block: threads of two blocks do not meet there.",
        &x,
        2,
        &["st.weak.u32 [x], 1; bar.sync 0, 1".into(), "bar.sync 0, 1; ld.weak.u32 r0, [x]".into()],
        "T1:r0 == 0",
        false,
        true,
    );
    for (level, (place, _)) in LEVELS.iter().enumerate().take(2) {
        for (kind, arrive, forbidden) in [
            ("release", "barrier.cluster.arrive.release", true),
            ("default", "barrier.cluster.arrive", true),
            ("relaxed", "barrier.cluster.arrive.relaxed", false),
            ("fence_relaxed", "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed", true),
        ] {
            // One block without a declared cluster is a cluster of its own.
            maker.add(
                &format!("CLUSTER_{place}_{kind}"),
                "barrier.cluster.arrive synchronises with barrier.cluster.wait (8.9.4, clause 3). A relaxed arrival has\n\
                 no memory order of its own (its instruction page): it passes on what a releasing fence released.",
                &x,
                level,
                &[
                    format!("st.weak.u32 [x], 1; {arrive}; barrier.cluster.wait.acquire"),
                    "barrier.cluster.arrive; barrier.cluster.wait; ld.weak.u32 r0, [x]".into(),
                ],
                "T1:r0 == 0",
                forbidden,
                !forbidden,
            );
        }
    }
    maker.add(
        "CLUSTER_fence_too_narrow",
        "A fence.acq_rel.cta before the relaxed arrival does not reach the other block.",
        &x,
        1,
        &[
            "st.weak.u32 [x], 1; fence.acq_rel.cta; barrier.cluster.arrive.relaxed; barrier.cluster.wait".into(),
            "barrier.cluster.arrive; barrier.cluster.wait; ld.weak.u32 r0, [x]".into(),
        ],
        "T1:r0 == 0",
        false,
        true,
    );
    maker.add(
        "CLUSTER_wait_twice",
        "A second wait without an arrival never ends.",
        &x,
        1,
        &[
            "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.wait".into(),
            "barrier.cluster.arrive; barrier.cluster.wait".into(),
        ],
        "true",
        true,
        false,
    );
    maker.add(
        "CLUSTER_after_arrive",
        "What is written between arrive and wait is not ordered.",
        &x,
        1,
        &[
            "barrier.cluster.arrive; st.weak.u32 [x], 1; barrier.cluster.wait".into(),
            "barrier.cluster.arrive; barrier.cluster.wait; ld.weak.u32 r0, [x]".into(),
        ],
        "T1:r0 == 0",
        false,
        true,
    );
}
