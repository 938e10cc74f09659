//! Modules, their names and their errors.

use baton_ptx::*;

const HEADER: &str = ".version 8.6\n.target sm_100a\n.address_size 64\n";

fn parse(text: &str) -> Module {
    match Module::parse(&format!("{HEADER}{text}"), "t.ptx") {
        Ok(module) => module,
        Err(error) => panic!("{error}"),
    }
}

/// Parses `text` as the body of a function with registers `%r<9>`, `%rd<9>`, `%p<4>`.
fn body(text: &str) -> Body {
    let regs = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;";
    parse(&format!(".visible .entry k(.param .u64 a) {{ {regs}\n{text}\n}}"))
        .functions
        .remove(0)
        .body
        .unwrap()
}

fn error(text: &str) -> ParseError {
    Module::parse(text, "t.ptx").unwrap_err()
}

fn register(name: &str, body: &Body) -> Operand {
    let position = body.registers.iter().position(|r| &*r.name == name).unwrap();
    Operand::Register(RegId(position as u32))
}

#[test]
fn entry_with_parameters_and_directives() {
    let module = parse(
        ".visible .entry k(\n\t.param .u64 .ptr .global .align 16 k_param_0,\n\t.param .align 64 .b8 \
         k_param_1[128]\n)\n.reqntid 192, 1, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n\
         .minnctapersm 1\n{\n\tret;\n}\n.extern .func (.param .b32 r) vprintf(.param .b64 a, \
         .param .b64 b);",
    );
    let k = module.function("k").unwrap();
    assert_eq!((k.kind, k.linkage, k.line), (FunctionKind::Entry, Linkage::Visible, 4));
    assert_eq!(k.params[0].bytes, 8);
    assert_eq!(k.params[0].align, 8);
    assert_eq!((k.params[1].bytes, k.params[1].align, k.params[1].line), (128, 64, 6));
    assert_eq!(k.directive("reqntid"), Some(&[192, 1, 1][..]));
    assert_eq!(k.directive("explicitcluster"), Some(&[][..]));
    assert_eq!(k.directive("maxntid"), None);
    let body = k.body.as_ref().unwrap();
    assert_eq!(body.line, 12);
    assert!(module.source[body.span.clone()].starts_with('{'));
    assert_eq!(module.text(&body.instructions[0]), "ret;");
    let vprintf = module.function("vprintf").unwrap();
    assert_eq!((vprintf.linkage, vprintf.params.len()), (Linkage::Extern, 2));
    assert_eq!(vprintf.returns[0].bytes, 4);
    assert!(vprintf.body.is_none());
    assert_eq!((module.version, &*module.target[0]), ((8, 6), "sm_100a"));
}

#[test]
fn operands_of_every_shape() {
    let b = body(
        "@!%p1 setp.ge.and.s32 %p2|_, %r1, -3, !%p1;\n\
         ld.shared::cta.v2.b32 {%r1, _}, [%rd1+-8];\n\
         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
         [%r1], [%rd2, {%r2, %r3}], [%r4];\n\
         mov.u64 %rd1, table+16;\n\
         add.f32 %r1, 0f3F800000, 0fBF800000;\n\
         mov.b64 %rd3, 0d3FF0000000000000;\n\
         and.b32 %r1, %tid.x, 0x1FU;\n\
         or.b32 %r1, 0b101, 017;\n\
         ld.param.u64 %rd1, [a+4];\n\
         st.b32 [16], 4294967295;",
    );
    let reg = |name| register(name, &b);
    let id = |name| match register(name, &b) {
        Operand::Register(id) => id,
        _ => unreachable!(),
    };
    let ops = |i: usize| &*b.instructions[i].operands;
    assert_eq!(b.instructions[0].guard, Some(Guard { register: id("%p1"), negated: true }));
    assert_eq!(
        ops(0),
        [
            Operand::Pair(Box::new(reg("%p2")), Box::new(Operand::Sink)),
            reg("%r1"),
            Operand::Int(-3),
            Operand::Not(id("%p1"))
        ]
    );
    let address = |base, offset, items| Operand::Address(Address { base, offset, items });
    assert_eq!(
        ops(1),
        [
            Operand::Vector(vec![reg("%r1"), Operand::Sink]),
            address(Base::Register(id("%rd1")), -8, vec![])
        ]
    );
    assert_eq!(b.instructions[1].opcode(), "ld");
    assert_eq!(b.instructions[1].modifiers().collect::<Vec<_>>(), ["shared::cta", "v2", "b32"]);
    assert_eq!(
        ops(2)[1],
        address(Base::Register(id("%rd2")), 0, vec![Operand::Vector(vec![reg("%r2"), reg("%r3")])])
    );
    assert!(b.instructions[2].has("mbarrier::complete_tx::bytes"));
    assert_eq!(ops(3)[1], Operand::Symbol(Symbol::Global("table".into()), 16));
    assert_eq!(ops(4)[1..], [Operand::F32(0x3F80_0000), Operand::F32(0xBF80_0000)]);
    assert_eq!(ops(5)[1], Operand::F64(0x3FF0_0000_0000_0000));
    assert_eq!(ops(6)[1..], [Operand::Special("%tid.x".into()), Operand::Int(31)]);
    assert_eq!(ops(7)[1..], [Operand::Int(5), Operand::Int(15)]);
    assert_eq!(ops(8)[1], address(Base::Symbol(Symbol::Param(0)), 4, vec![]));
    assert_eq!(ops(9), [address(Base::Absolute, 16, vec![]), Operand::Int(0xFFFF_FFFF)]);
}

#[test]
fn scopes_of_registers_and_labels() {
    let copy = "{ .reg .pred p; LAB: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;\n\
                @p bra DONE; bra LAB; DONE: }";
    let b = body(&format!("{copy}\n{copy}\nbra OUT;\nOUT:"));
    assert_eq!(b.registers.iter().filter(|r| &*r.name == "p").count(), 2);
    let target = |i: usize| match b.instructions[i].operands[0] {
        Operand::Label(label) => b.labels[label.0 as usize].target,
        _ => unreachable!(),
    };
    assert_eq!((target(1), target(2)), (3, 0));
    assert_eq!((target(4), target(5)), (6, 3));
    assert_eq!(target(6), 7);
    assert_ne!(b.instructions[1].guard, b.instructions[4].guard);
    let e = error(".func f() { .reg .b32 a; { .reg .b32 b; }\n mov.b32 %b, a; }");
    assert_eq!((e.line, e.column), (2, 10));
}

#[test]
fn call_sequences() {
    let b = body(
        "{ // callseq 0, 0\n.param .b32 param0;\nst.param.b32 [param0], %r1;\n.param .align 8 .b8 \
         retval0[8];\ncall.uni (retval0), f, (param0);\nld.param.b64 %rd1, [retval0];\n}\n{ .param \
         .b32 param0; call (retval1), %rd1, (param0), proto; }\nproto : .callprototype (.param .b32 \
         _) _ (.param .b32 _);\nbrx.idx %r1, table;\ntable: .branchtargets A, B;\nA:\nB: ret;"
            .replace("call (retval1)", ".param .b32 retval1; call (retval1)")
            .as_str(),
    );
    assert_eq!(b.variables.len(), 4);
    assert_eq!(b.variables[1].bytes, Some(8));
    let call = &b.instructions[1];
    let local = |i| Operand::Symbol(Symbol::Local(VarId(i)), 0);
    assert_eq!(
        call.operands,
        [
            Operand::List(vec![local(1)]),
            Operand::Symbol(Symbol::Global("f".into()), 0),
            Operand::List(vec![local(0)])
        ]
    );
    let Operand::Label(proto) = b.instructions[3].operands[3] else { panic!() };
    assert_eq!(b.prototypes[0].0, proto);
    assert_eq!((b.prototypes[0].1.returns.len(), b.prototypes[0].1.params.len()), (1, 1));
    let (table, targets) = &b.branch_targets[0];
    assert_eq!(b.instructions[4].operands[1], Operand::Label(*table));
    let places: Vec<_> = targets.iter().map(|l| b.labels[l.0 as usize].target).collect();
    assert_eq!(places, [5, 5]);
}

#[test]
fn variables_and_initialisers() {
    let module = parse(
        ".extern .shared .align 1024 .b8 dyn[];\n.global .align 4 .b8 text[4] = {104, 105, 0};\n\
         .global .align 8 .u64 table[2] = {generic(text), text+2};\n.const .f32 one = 0f3F800000;\n\
         .global .align 8 .b8 packed[2] = {0xFF(generic(text)), 0xFF00(text)};\n\
         .shared .b32 grid[2][3];",
    );
    let v = &module.variables;
    assert_eq!((v[0].bytes, v[0].align, v[0].linkage), (None, 1024, Linkage::Extern));
    assert_eq!((v[1].bytes, v[1].init.len()), (Some(4), 3));
    assert_eq!(
        v[2].init[1],
        Initial::Address { symbol: "text".into(), offset: 2, generic: false, mask: None }
    );
    assert_eq!(v[3].init, [Initial::Bits(0x3F80_0000)]);
    assert!(
        matches!(&v[4].init[0], Initial::Address { generic: true, mask: Some(255), .. }),
        "{v:?}"
    );
    assert_eq!((v[5].bytes, v[5].space), (Some(24), Space::Shared));
}

#[test]
fn locations_sections_and_comments() {
    let module = parse(
        ".func f()\n{\n.loc 1 6 2\n//@baton collective bar.sync\nbar.sync 0;\n.loc 1 7 3, \
         function_name $L__info_string0, inlined_at 1 9 5\nret;\n}\n.file 1 \"/a b/lib.rs\"\n\
         .section .debug_str { $L__s: .b8 1 .b32 .debug_abbrev }\n",
    );
    let body = module.functions[0].body.as_ref().unwrap();
    let at = |i: usize| body.locations[body.instructions[i].location.unwrap() as usize];
    assert_eq!((at(0).line, at(1).line), (6, 7));
    assert_eq!(module.files, [SourceFile { index: 1, path: "/a b/lib.rs".into() }]);
    assert_eq!(module.comments, [Comment { line: 7, text: "collective bar.sync".into() }]);
    assert_eq!(module.sections[0].name, ".debug_str");
    assert!(module.source[module.sections[0].contents.clone()].contains(".debug_abbrev"));
}

#[test]
fn errors_say_where_and_what() {
    for (text, line, column, found, expected) in [
        ("hello", 1, 1, "`hello`", "directive"),
        (".version 8", 1, 10, "`8`", "version"),
        (".func f() {\n  add.s32 %r1;\n}", 2, 11, "`%r1`", "declared register"),
        (".func f() {\n  bra NOWHERE;\n}", 2, 3, "`bra`", "label"),
        (".func f() {\n  ret\n}", 3, 1, "`}`", "operand"),
        (".func f() { A: A: ret; }", 1, 16, "`A`", "not have yet"),
        (".func f() {", 1, 12, "the end of the text", "line 1"),
        (".func f() { mov.b32 a, 99999999999999999999999; }", 1, 24, "`9999", "64 bits"),
        (".func f() { .reg .b32 %r<99999999>; }", 1, 23, "`%r`", "at most"),
        (".global .align 3 .b8 x;", 1, 16, "`3`", "power of two"),
        (".global .b8 x[4;", 1, 16, "`;`", "`]`"),
        (".section .debug {", 1, 18, "the end", "`}`"),
    ] {
        let e = error(text);
        assert_eq!((e.line, e.column), (line, column), "{text}: {e}");
        assert!(e.found.starts_with(found), "{text}: {e}");
        assert!(e.expected.contains(expected), "{text}: {e}");
        assert!(e.to_string().starts_with(&format!("t.ptx:{line}:{column}: found ")));
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = format!(".func f() {} ret; ", "{".repeat(100_000));
    assert!(error(&deep).expected.contains("nesting"));
    let deep = format!(".func f() {{ mov.b32 _, {}", "(".repeat(100_000));
    assert!(error(&deep).expected.contains("nesting"));
}
