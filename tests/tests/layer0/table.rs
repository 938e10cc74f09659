//! The table of all forms, folded over the qualifiers that show in the text.

use std::collections::{BTreeMap, BTreeSet};

use crate::claims::TARGETS;
use crate::docs::Documentation;
use crate::emitted::{Emitted, Form, mnemonic};

/// How a type parameter's choice is spelled in PTX: any of these, behind a dot.
fn spellings(choice: &str) -> &'static [&'static str] {
    match choice {
        "Relaxed" => &["relaxed"],
        "Acquire" => &["acquire"],
        "Release" => &["release"],
        "AcqRel" => &["acq_rel"],
        "Sc" => &["sc"],
        "Cta" => &["cta"],
        "Cluster" => &["cluster"],
        "Gpu" => &["gpu"],
        "Sys" => &["sys"],
        "Global" => &["global"],
        "Local" => &["local"],
        "Const" => &["const"],
        "SharedCta" => &["shared::cta"],
        "SharedCluster" => &["shared::cluster"],
        "Group1" => &["cta_group::1"],
        "Group2" => &["cta_group::2"],
        "F16" => &["kind::f16", "f16.f16"],
        "Tf32" => &["kind::tf32", "tf32.tf32"],
        "F8f6f4" => &["kind::f8f6f4"],
        "I8" => &["kind::i8"],
        "Fill" => &["collector::a::fill"],
        "Use" => &["collector::a::use"],
        "LastUse" => &["collector::a::lastuse", "lu"],
        "Discard" => &["collector::a::discard"],
        "Shifted" => &["ashift"],
        "Mxf8f6f4" => &["kind::mxf8f6f4.block_scale.scale_vec::1X"],
        "Mxf8f6f4Block32" => &["kind::mxf8f6f4.block_scale.block32"],
        "Mxf4" => &["kind::mxf4.block_scale.scale_vec::2X"],
        "Mxf4Block32" => &["kind::mxf4.block_scale.block32"],
        "Mxf4nvf4Vec2" => &["kind::mxf4nvf4.block_scale.scale_vec::2X"],
        "Mxf4nvf4Vec4" => &["kind::mxf4nvf4.block_scale.scale_vec::4X"],
        "Mxf4nvf4Block16" => &["kind::mxf4nvf4.block_scale.block16"],
        "Mxf4nvf4Block32" => &["kind::mxf4nvf4.block_scale.block32"],
        "Bf16" => &["bf16.bf16"],
        "E4m3E4m3" => &["e4m3.e4m3"],
        "E4m3E5m2" => &["e4m3.e5m2"],
        "E5m2E4m3" => &["e5m2.e4m3"],
        "E5m2E5m2" => &["e5m2.e5m2"],
        "S8S8" => &["s8.s8"],
        "S8U8" => &["s8.u8"],
        "U8S8" => &["u8.s8"],
        "U8U8" => &["u8.u8"],
        "Add" => &["add"],
        "Inc" => &["inc"],
        "Dec" => &["dec"],
        "And" => &["and"],
        "Or" => &["or"],
        "Xor" => &["xor"],
        "L1EvictNormal" => &["L1::evict_normal"],
        "L1EvictUnchanged" => &["L1::evict_unchanged"],
        "L1EvictFirst" => &["L1::evict_first"],
        "L1EvictLast" => &["L1::evict_last"],
        "L1NoAllocate" => &["L1::no_allocate"],
        "CacheAll" => &["ca"],
        "CacheGlobal" => &["cg"],
        "Streaming" => &["cs"],
        "Uncached" => &["cv"],
        "WriteBack" => &["wb"],
        "WriteThrough" => &["wt"],
        "Fetch64" => &["L2::64B"],
        "Fetch128" => &["L2::128B"],
        "Fetch256" => &["L2::256B"],
        "V0" => &["layout::v0"],
        "V1" => &["layout::v1"],
        "EvictFirst" => &["L2::evict_first"],
        "EvictLast" => &["L2::evict_last"],
        "EvictNormal" => &["L2::evict_normal"],
        "EvictUnchanged" => &["L2::evict_unchanged"],
        "Rows128x256" => &["128x256b"],
        "Rows4x256" => &["4x256b"],
        "Rows128x128" => &["128x128b"],
        "Rows64x128Pairs02" => &["64x128b.warpx2::02_13"],
        "Rows64x128Pairs01" => &["64x128b.warpx2::01_23"],
        "Rows32x128" => &["32x128b.warpx4"],
        "B6x16P32" => &["b6x16_p32"],
        "B4x16P64" => &["b4x16_p64"],
        "Min" => &["min"],
        "Max" => &["max"],
        "FloatAbs" => &["abs.f32"],
        "FloatNan" => &["NaN.f32"],
        "FloatAbsNan" => &["abs.NaN.f32"],
        "Lanes32x32" => &["32x32b"],
        "Split16" => &["16x32bx2"],
        "Lanes16x64" => &["16x64b"],
        "Lanes16x128" => &["16x128b"],
        "Lanes16x256" => &["16x256b"],
        "Idx" => &["idx"],
        "Up" => &["up"],
        "Down" => &["down"],
        "Bfly" => &["bfly"],
        "u32" => &["u32"],
        "i32" => &["s32"],
        "u64" => &["u64"],
        "i64" => &["s64"],
        "f16" => &["f16"],
        "bf16" => &["bf16"],
        "f32" => &["f32"],
        "f64" => &["f64"],
        "f16x2" => &["f16x2"],
        "bf16x2" => &["bf16x2"],
        "e4m3" => &["e4m3x4"],
        "e5m2" => &["e5m2x4"],
        _ => &[],
    }
}

/// A row: what is emitted, and by which call.
struct Row<'a> {
    text: String,
    form: &'a Form,
    choices: Vec<BTreeSet<&'a str>>,
}

/// The whole page.
pub fn render(emitted: &Emitted, documentation: &Documentation) -> String {
    let mut groups: BTreeMap<(&str, String), Vec<&Form>> = BTreeMap::new();
    for form in &emitted.forms {
        groups.entry((&form.path, folded(form))).or_default().push(form);
    }
    let mut rows: Vec<Row<'_>> = Vec::new();
    for ((_, text), forms) in groups {
        for choices in boxes(forms.iter().map(|form| tuple(form)).collect()) {
            rows.push(Row { text: text.clone(), form: forms[0], choices });
        }
    }
    rows.sort_by_key(|row| {
        let statement = row.form.instructions().find(|text| !is_helper(text)).unwrap_or_default();
        (mnemonic(statement).to_owned(), row.text.clone(), row.form.number)
    });
    let mut page = String::from(HEAD);
    for row in &rows {
        let function = documentation.function(row.form);
        let rules = function.map_or(String::new(), |function| function.rules.join(" "));
        page += &format!(
            "| `{}` | [`{}`](crate::ptx::{}){} | {} | {rules} |\n",
            row.text.replace('|', "\\|"),
            row.form.path,
            row.form.path,
            chosen(row),
            since(row, emitted, documentation),
        );
    }
    page
}

const HEAD: &str = "\
<!-- Generated: BATON_BLESS=1 cargo test -p baton-tests --test layer0 -->
Every form, in the order of the mnemonics. A name in braces is a type parameter of the function, and
stands for that choice's qualifier; other words are the function's arguments, and `d` is its result.
The version and the targets are those that ptxas 13.5 was found to take and to need, out of sm_75,
sm_80, sm_90a, sm_100a, sm_103a, sm_110a and sm_120a.

| PTX | function | since | rules |
|---|---|---|---|
";

/// What was chosen for the parameters.
fn tuple(form: &Form) -> Vec<&str> {
    form.generics.iter().map(|(_, choice)| &**choice).collect()
}

/// What surrounds an instruction in its block.
fn is_helper(statement: &str) -> bool {
    ["setp.", "selp.", "mov.", "cvt."].iter().any(|helper| statement.starts_with(helper))
}

/// The text with each choice that shows in it replaced by its parameter.
fn folded(form: &Form) -> String {
    let mut text = form.text.clone();
    // A buffer and its use are one qualifier.
    for buffer in ["b0", "b1", "b2", "b3"] {
        for use_ in ["fill", "use", "lastuse", "discard"] {
            let both = format!("collector::{buffer}::{use_}");
            text = replace_qualifier(&text, &both, "U}{C");
        }
    }
    for (name, choice) in &form.generics {
        for spelling in spellings(choice) {
            text = replace_qualifier(&text, spelling, name);
        }
    }
    text
}

/// Replaces the first `.spelling` that is a whole word by `{name}`.
fn replace_qualifier(text: &str, spelling: &str, name: &str) -> String {
    let dotted = format!(".{spelling}");
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let found = text.match_indices(&dotted).map(|(at, _)| (at, at + dotted.len()));
    match found.into_iter().find(|(_, end)| !text[*end..].starts_with(is_part)) {
        Some((start, end)) => format!("{}{{{name}}}{}", &text[..start], &text[end..]),
        None => text.to_owned(),
    }
}

/// Parts a set of tuples into products of sets.
fn boxes(tuples: BTreeSet<Vec<&str>>) -> Vec<Vec<BTreeSet<&str>>> {
    let Some(first) = tuples.first() else { return Vec::new() };
    let sets: Vec<BTreeSet<&str>> =
        (0..first.len()).map(|i| tuples.iter().map(|tuple| tuple[i]).collect()).collect();
    if sets.iter().map(BTreeSet::len).product::<usize>() == tuples.len() {
        return vec![sets];
    }
    let split = sets.iter().position(|set| set.len() > 1).expect("a set that is no product");
    let part = |choice: &str| {
        tuples.iter().filter(|tuple| tuple[split] == choice).cloned().collect::<BTreeSet<_>>()
    };
    sets[split].iter().flat_map(|choice| boxes(part(choice))).collect()
}

/// The parameters and what they can be.
fn chosen(row: &Row<'_>) -> String {
    let mut text = String::new();
    for ((name, _), set) in row.form.generics.iter().zip(&row.choices) {
        let set: Vec<_> = set.iter().map(|choice| format!("`{choice}`")).collect();
        text += &format!("; {name}: {}", set.join(" "));
    }
    text
}

/// Since when and where; several, if the qualifiers differ.
fn since(row: &Row<'_>, emitted: &Emitted, documentation: &Documentation) -> String {
    let mut claims = BTreeSet::new();
    for form in &emitted.forms {
        let fits = form.path == row.form.path
            && form.generics.iter().zip(&row.choices).all(|((_, c), set)| set.contains(&**c));
        if fits {
            let claim = documentation.claim(form);
            claims.insert((claim.version, targets(&claim.targets)));
        }
    }
    let claims: Vec<_> = claims
        .into_iter()
        .map(|((major, minor), targets)| format!("{major}.{minor}{targets}"))
        .collect();
    claims.join("<br>")
}

/// A list of targets: nothing for all, "X on" for X and all later ones.
fn targets(list: &[&str]) -> String {
    match *list {
        [first, ..] if TARGETS.ends_with(list) => {
            if first == TARGETS[0] {
                String::new()
            } else {
                format!(", {first} on")
            }
        }
        _ => format!(", {}", list.join(" ")),
    }
}
