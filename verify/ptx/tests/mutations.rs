//! Every text gives a tree or an error: sound modules with bytes removed, repeated and replaced.

use baton_ptx::Module;
use baton_ptx::lines::LineTable;
use proptest::prelude::*;

const SEED: &str = r#"
.version 8.6
.target sm_100a, debug
.address_size 64
.extern .shared .align 1024 .b8 dyn[];
.global .align 8 .u64 table[2] = {generic(dyn), 0xFF00(dyn+2)};
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
//@baton kernel k threads=192,1,1
.visible .entry k(.param .u64 .ptr .align 1 p, .param .align 64 .b8 map[128])
.reqntid 192, 1, 1
{
  .local .align 8 .b8 depot[16];
  .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<3>; .reg .v2 .f32 %v;
  .loc 1 6 0, function_name $L__s0, inlined_at 1 2 3
$L__BB0:
  ld.param.b64 %rd1, [p+0];
  @!%p1 bra $L__BB0;
  { .reg .pred q; WAIT: mbarrier.try_wait.parity.b64 q|%p1, [%r1], 0; @q bra WAIT; }
  { .param .b32 param0; st.param.b32 [param0], -1.5e3; call.uni (param0), vprintf, (param0, _); }
  cp.async.bulk.tensor.2d.global.shared::cta.tile [%rd1, {%r1, %r2}], [%r3];
  mov.f32 %v.x, 0f3F800000; mov.b64 {%r1, _}, 0d3FF0000000000000;
  brx.idx %r1, list;
list: .branchtargets $L__BB0, $L__BB0;
proto: .callprototype (.param .b32 _) _ (.param .b64 _);
  .pragma "nounroll";
  ret;
}
.file 1 "/a/lib.rs", 1, 2
.section .debug_info { .b32 124 }
"#;

const LINES: &str = "baton-lines 1\nfile 0 a b.rs\nfunction 0 f\n3 0:1:2:0\n4-9 0:2:1:- 0:3:0:0\n";

#[test]
fn the_seeds_parse() {
    assert_eq!(Module::parse(SEED, "seed").map(|m| m.functions.len()), Ok(2));
    assert_eq!(LineTable::parse(LINES).map(|t| t.to_string()), Ok(LINES.into()));
}

fn mutate(text: &str, edits: &[(usize, u8, u8)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for &(place, what, with) in edits {
        if chars.is_empty() {
            break;
        }
        let i = place % chars.len();
        match what % 5 {
            0 => drop(chars.remove(i)),
            1 => chars[i] = char::from(with),
            2 => chars.insert(
                i,
                ['é']
                    .into_iter()
                    .chain("{}()[]<>;:,.|@!%_+-\"/0x".chars())
                    .nth(usize::from(with) % 24)
                    .unwrap_or(';'),
            ),
            3 => chars.truncate(i),
            _ => {
                let end = (i + usize::from(with)).min(chars.len());
                let piece: Vec<char> = chars[i..end].to_vec();
                chars.splice(i..i, piece);
            }
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn mutated_modules_do_not_panic(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..12)) {
        let text = mutate(SEED, &edits);
        if let Err(error) = Module::parse(&text, "t") {
            prop_assert!(error.line as usize <= text.matches('\n').count() + 1);
            prop_assert!(!error.expected.is_empty());
        }
    }

    #[test]
    fn mutated_line_tables_do_not_panic(edits in prop::collection::vec(any::<(usize, u8, u8)>(), 1..8)) {
        if let Ok(table) = LineTable::parse(&mutate(LINES, &edits)) {
            prop_assert_eq!(LineTable::parse(&table.to_string()), Ok(table));
        }
    }
}
