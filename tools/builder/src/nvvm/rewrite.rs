//! From rustc's LLVM IR to what libNVVM takes.
//!
//! Line by line: rustc writes one instruction on each, and a quote inside a string is escaped as `\22`. What is not
//! named here stays byte for byte.

use std::borrow::Cow;

/// The layout of data that NVVM's IR has to declare. It says what rustc's says, and less briefly.
const LAYOUT: &str = "e-p:64:64:64-p3:32:32:32-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
                      f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64";

/// The version of NVVM's IR, and that of its debug information.
const VERSION: &str =
    "\n!nvvmir.version = !{!2147483647}\n!2147483647 = !{i32 2, i32 0, i32 3, i32 2}\n";

/// The dialect for compute capability 10.0 and later: LLVM's IR of today.
pub(super) fn modern(ir: &str) -> String {
    let mut text = String::with_capacity(ir.len() + ir.len() / 16);
    for line in ir.lines() {
        text += &rewritten(line);
        text.push('\n');
    }
    text + VERSION
}

fn rewritten(line: &str) -> Cow<'_, str> {
    if line.starts_with("target datalayout") {
        return format!("target datalayout = \"{LAYOUT}\"").into();
    }
    if line.starts_with("attributes #") {
        // The target is an argument of the compilation.
        return without_attributes(line, &["target-cpu", "target-features"]);
    }
    match assembly_ends(line) {
        // LLVM may copy, move and merge a call that is not convergent across branches.
        Some(end) => format!("{} convergent{}", &line[..end], &line[end..]).into(),
        None => line.into(),
    }
}

/// Where the arguments of a call of inline assembly end: behind the parenthesis.
fn assembly_ends(line: &str) -> Option<usize> {
    let call = line.find("call ")?;
    // Before the first quote there is only the call itself.
    let quote = line.find('"')?;
    let words = line.get(call..quote)?;
    words.split_whitespace().any(|word| word == "asm").then_some(())?;
    // The assembly, its constraints, then the arguments.
    let mut rest = quote;
    for _ in 0..2 {
        rest += line[rest..].find('"')? + 1;
        rest += line[rest..].find('"')? + 1;
    }
    let mut depth = 0u32;
    for (at, byte) in line.bytes().enumerate().skip(rest) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A line of attributes without those of these names.
fn without_attributes<'a>(line: &'a str, names: &[&str]) -> Cow<'a, str> {
    let mut line = Cow::Borrowed(line);
    for name in names {
        let key = format!("\"{name}\"=\"");
        while let Some(start) = line.find(&key) {
            let value = start + key.len();
            let Some(length) = line[value..].find('"') else { break };
            line = format!("{}{}", &line[..start], line[value + length + 1..].trim_start()).into();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_assembly_is_convergent_and_nothing_else_changes() {
        for (line, expected) in [
            (
                r#"  tail call void asm sideeffect "bar.sync ${0};", "r,~{memory}"(i32 0) #5, !dbg !1"#,
                r#"  tail call void asm sideeffect "bar.sync ${0};", "r,~{memory}"(i32 0) convergent #5, !dbg !1"#,
            ),
            (
                r#"  %2 = call { i32, i32 } asm "x", "=r,=r,r"(i32 add (i32 1, i32 2))"#,
                r#"  %2 = call { i32, i32 } asm "x", "=r,=r,r"(i32 add (i32 1, i32 2)) convergent"#,
            ),
            (
                r#"  call void asm sideeffect "// a call asm of ) \22text\22", ""() #3"#,
                r#"  call void asm sideeffect "// a call asm of ) \22text\22", ""() convergent #3"#,
            ),
            (
                "  %3 = tail call i32 @llvm.nvvm.activemask(), !dbg !130",
                "  %3 = tail call i32 @llvm.nvvm.activemask(), !dbg !130",
            ),
            (r#"  %4 = call i32 @f(ptr "asm")"#, r#"  %4 = call i32 @f(ptr "asm")"#),
            (
                r#"module asm ".extern .shared .b8 x[];""#,
                r#"module asm ".extern .shared .b8 x[];""#,
            ),
            (
                r#"attributes #0 = { convergent "target-cpu"="sm_100a" "target-features"="+ptx86" "x"="y" }"#,
                r#"attributes #0 = { convergent "x"="y" }"#,
            ),
        ] {
            assert_eq!(rewritten(line), expected);
        }
    }

    #[test]
    fn a_module_says_its_layout_and_version() {
        let text =
            modern("target datalayout = \"e-p6:32:32\"\ntarget triple = \"nvptx64-nvidia-cuda\"\n");
        assert!(text.contains("p3:32:32:32") && !text.contains("p6"), "{text}");
        assert!(text.contains("!nvvmir.version"), "{text}");
    }
}
