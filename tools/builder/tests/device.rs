//! Kernel crates of a few lines, built as a build script would build them.
//!
//! They need the sources of `core`, which the first build fetches; without ptxas they pass too, and
//! say less.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use baton_builder::{Arch, Builder, Error, Finding, Output, Ptxas};

/// A kernel crate in a folder that goes away with the test.
struct Crate(PathBuf);

/// What a kernel crate takes from the device library.
const HEAD: &str = r#"#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, abi_ptx))]
#![cfg(target_arch = "nvptx64")]
#![allow(unused)]
use core::arch::{asm, global_asm};
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { asm!("trap;", options(noreturn)) }
}
global_asm!("//@baton kernel k threads=128,1,1 cluster=2,1,1 min_ctas=1 smem=1024");
global_asm!("//@baton param k 0 align=64 signature=1,2,3");
global_asm!("//@baton param k 1 align=0 signature=4,5,6");
global_asm!("//@baton param k 2 align=0 signature=7,8,9");
global_asm!("//@baton param k 3 align=0 signature=0,0,18446744073709551615");
#[repr(C)]
pub struct Map([u64; 16]);
unsafe extern "C" {
    fn __baton_dropped_stage();
}
pub struct Stage;
impl Drop for Stage {
    fn drop(&mut self) {
        unsafe { __baton_dropped_stage() }
    }
}
#[inline(always)]
pub fn bar_sync() {
    unsafe { asm!("//@baton collective bar.sync", "bar.sync 0;", options(nostack)) }
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn k(_map: Map, to: *mut u32, from: *const u32, n: u32) {
"#;

impl Crate {
    fn new(body: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("device-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        fs::create_dir_all(dir.join("src")).unwrap();
        let manifest = format!(
            "[package]\nname = \"probe-{number}-kernel\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [workspace]\n[features]\nother = []\n"
        );
        fs::write(dir.join("Cargo.toml"), manifest).unwrap();
        fs::write(dir.join("src/lib.rs"), format!("{HEAD}{body}\n}}\n")).unwrap();
        Self(dir)
    }

    fn build(&self) -> Result<Output, Error> {
        self.build_with(&[])
    }

    fn build_with(&self, features: &[&str]) -> Result<Output, Error> {
        // Beside the target folder of the tests, so that `core` is compiled once.
        let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../baton-device");
        Builder::new(&self.0)
            .arch(Arch::Sm90a)
            .features(features.iter().copied())
            .target_dir(target_dir)
            .out_dir(self.0.join("out"))
            .ptxas(Ptxas::Auto)
            .build()
    }

    /// The one finding of the checks.
    fn finding(&self) -> Finding {
        match self.build() {
            Err(Error::Checks { mut findings, .. }) if findings.len() == 1 => findings.remove(0),
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Crate {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The line of the source that holds `text`.
fn line(body: &str, text: &str) -> u32 {
    let before = HEAD.lines().count() as u32;
    before + body.lines().position(|line| line.contains(text)).unwrap() as u32 + 1
}

fn is_at(finding: &Finding, line: u32) {
    let place = finding.place().unwrap_or_else(|| panic!("no place: {finding}"));
    assert_eq!((&*place.file, place.line), ("src/lib.rs", line), "{finding}");
}

#[test]
fn a_kernel_becomes_ptx_and_an_image() {
    let body = "unsafe { *to = n };\nbar_sync();\nunsafe { *to.add(1) = *from };";
    let kernel = Crate::new(body);
    let output = kernel.build().unwrap();
    assert!(output.name.starts_with("probe_") && output.name.ends_with("_kernel"));
    let [binary] = &*output.binaries else { panic!("{output:?}") };
    assert_eq!(binary.kernels.len(), 1);
    let declared = baton_builder::Declared {
        threads: [128, 1, 1],
        cluster: [2, 1, 1],
        dynamic_shared: 1024,
        parameters: vec![128, 8, 8, 4],
        signatures: vec![[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, u64::MAX]],
    };
    assert_eq!(binary.kernels[0].declared, Some(declared));

    let ptx = fs::read_to_string(&binary.ptx).unwrap();
    let shape =
        ")\n.reqntid 128, 1, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n.minnctapersm 1\n{";
    assert!(ptx.contains(shape), "{ptx}");
    assert!(ptx.contains(".param .align 64 .b8 k_param_0[128]"), "{ptx}");
    for left_over in ["debug", ".loc", ".file", ".section", "$L__tmp"] {
        assert!(!ptx.contains(left_over), "{left_over} is left in\n{ptx}");
    }

    let lines = fs::read_to_string(&binary.lines).unwrap();
    let lines = baton_ptx::lines::LineTable::parse(&lines).unwrap();
    let barrier = ptx.lines().position(|line| line.contains("bar.sync 0;")).unwrap() as u32 + 1;
    let places: Vec<_> = lines.get(barrier).iter().map(|frame| frame.line).collect();
    let inside = HEAD.lines().position(|line| line.contains("bar.sync 0;")).unwrap() as u32 + 1;
    assert_eq!(places, [inside, line(body, "bar_sync")]);

    let image = fs::read_to_string(&output.image).unwrap();
    assert!(image.contains("arch: \"sm_90a\""), "{image}");
    match (&binary.cubin, binary.kernels[0].usage) {
        (Some(cubin), Some(usage)) => {
            assert!(fs::read(cubin).unwrap().starts_with(b"\x7fELF"));
            assert!(usage.registers > 0 && usage.spill_bytes == 0, "{usage:?}");
        }
        (None, None) => assert!(image.contains("cubin: None"), "{image}"),
        other => panic!("{other:?}"),
    }

    // Again: nothing is written, so nothing that includes it is compiled again.
    let written = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = (written(&binary.ptx), written(&output.image));
    let again = kernel.build().unwrap();
    assert_eq!(before, (written(&again.binaries[0].ptx), written(&again.image)));
}

#[test]
fn the_compilers_file_is_made_again_when_somebody_removed_it() {
    let kernel = Crate::new("unsafe { *to = *from };");
    let output = kernel.build().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../baton-device/ptx");
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&format!("{}.sm_90a.", output.name)) && name.ends_with(".raw.ptx")
    };
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let made: Vec<_> = files.filter(ours).collect();
    assert!(!made.is_empty());
    made.iter().for_each(|file| fs::remove_file(file).unwrap());
    kernel.build().unwrap();
}

#[test]
fn each_feature_set_has_its_own_code_also_when_it_is_asked_for_again() {
    let kernel =
        Crate::new("unsafe { *to = if cfg!(feature = \"other\") { 7777 } else { 5555 } };");
    let stores = |features: &[&str]| {
        let output = kernel.build_with(features).unwrap();
        let ptx = fs::read_to_string(&output.binaries[0].ptx).unwrap();
        [ptx.contains("5555"), ptx.contains("7777")]
    };
    assert_eq!(stores(&[]), [true, false]);
    assert_eq!(stores(&["other"]), [false, true]);
    assert_eq!(stores(&[]), [true, false]);
    assert_eq!(stores(&["other"]), [false, true]);
}

#[test]
fn a_dropped_token_is_an_error_with_its_line() {
    let body = "let stage = Stage;\nif n != 0 { core::mem::forget(stage) }";
    let finding = Crate::new(body).finding();
    assert!(finding.message.contains("a stage can be dropped"), "{finding}");
    assert!(finding.frames.iter().any(|frame| &*frame.file == "src/lib.rs"), "{finding}");
}

#[test]
fn a_token_that_is_always_settled_is_none() {
    let body = "let stage = Stage;\nunsafe { *to = n };\ncore::mem::forget(stage);";
    Crate::new(body).build().unwrap();
}

#[test]
fn a_read_through_a_reference_is_an_error_with_its_line() {
    // The compiler takes it that nobody writes what a `&` points to while it lives.
    let body = "}\n#[unsafe(no_mangle)]\n\
                pub unsafe extern \"ptx-kernel\" fn second(from: &u32, to: *mut u32) {\n\
                unsafe { *to = *from }";
    let finding = Crate::new(body).finding();
    assert!(finding.message.contains("ld.global.nc"), "{finding}");
    is_at(&finding, line(body, "*to = *from"));
}

#[test]
fn a_kernel_that_does_not_compile_says_which() {
    match Crate::new("let x: u32 = \"no number\";").build() {
        Err(error @ Error::Compile { .. }) => {
            let text = error.to_string();
            assert!(text.contains("-kernel` was not compiled for sm_90a"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_without_a_kernel_crate_is_named() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nobody");
    let error = Builder::new(&dir).arch(Arch::Sm90a).out_dir(&dir).build().unwrap_err().to_string();
    assert!(error.contains("nobody") && error.contains("no Cargo.toml"), "{error}");
}
