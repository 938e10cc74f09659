//! `baton check` on what Triton makes (`tests/triton/kernels.py`): the right numbers, and what its compiler leaves to
//! the hardware.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use half::f16;
use serde_json::Value;
use tempfile::TempDir;

/// Rows and columns of all three matrices.
const SIZE: usize = 256;

/// Pointers to memory of the compiler's own, which these kernels do not use.
const SCRATCH: &str = "{ u64 = 0 }, { u64 = 0 }";

/// A few schedules.
const SOME: [&str; 2] = ["--schedules", "4"];

/// Checks a kernel: its exit code, and the rules of its errors and warnings.
fn check(
    folder: &TempDir,
    kernel: &str,
    launch: &str,
    runs: impl IntoIterator<Item = &'static str>,
) -> (Option<i32>, Vec<String>) {
    fs::write(folder.path().join("launch.toml"), launch).expect("a writable folder");
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/triton").join(kernel);
    let output = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["check", "--launch", "launch.toml", "--json"])
        .args(runs)
        .arg(ptx)
        .current_dir(folder.path())
        .output()
        .expect("baton starts");
    let mut rules: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an object a line"))
        .filter(|finding| finding["type"] != "summary")
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("severity"), text("rule"))
        })
        .collect();
    rules.sort();
    rules.dedup();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{kernel}: {problem}");
    (output.status.code(), rules)
}

/// Two matrices of small whole numbers, and their product, as files.
fn matrices() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let number = |i: usize, step: usize| (i * step % 17) as f32 - 8.0;
    let a: Vec<f32> = (0..SIZE * SIZE).map(|i| number(i, 31)).collect();
    let b: Vec<f32> = (0..SIZE * SIZE).map(|i| number(i, 53)).collect();
    let mut c = vec![0.0f32; SIZE * SIZE];
    for row in 0..SIZE {
        for k in 0..SIZE {
            for column in 0..SIZE {
                c[row * SIZE + column] += a[row * SIZE + k] * b[k * SIZE + column];
            }
        }
    }
    let halves = |numbers: &[f32]| -> Vec<u8> {
        numbers.iter().flat_map(|&n| f16::from_f32(n).to_le_bytes()).collect()
    };
    let write = |name: &str, bytes: Vec<u8>| {
        fs::write(folder.path().join(name), bytes).expect("a writable folder");
    };
    write("a.bin", halves(&a));
    write("b.bin", halves(&b));
    write("c.bin", c.iter().flat_map(|n| n.to_le_bytes()).collect());
    folder
}

/// The launch of a product of tiles of 128 × 64, its matrices as pointers or as tensor maps.
fn product(threads: u32, maps: bool) -> String {
    let mut text = format!("grid = [{}, {}, 1]\nblock = {threads}\n", SIZE / 128, SIZE / 64);
    let matrix = |name: &str| match maps {
        true => format!(
            "{{ tensor_map = \"{name}\" }}, {{ i32 = {SIZE} }}, {{ i32 = {SIZE} }}, {{ i64 = {SIZE} }}, {{ i64 = 1 }}"
        ),
        false => format!("{{ pointer = \"{name}\" }}"),
    };
    let sizes = format!("{{ i32 = {SIZE} }}, ").repeat(3);
    let arguments = ["a", "b", "c"].map(matrix).join(", ");
    let _ = writeln!(text, "shared = 100_000\narguments = [{arguments}, {sizes}{SCRATCH}]");
    for (name, ty, rows, columns) in
        [("a", "f16", 128, 64), ("b", "f16", 64, 64), ("c", "f32", 128, 32)]
    {
        let how = match name {
            "c" => "fill = \"none\"\nexpect_file = \"c.bin\"".to_owned(),
            _ => format!("file = \"{name}.bin\""),
        };
        let elements = SIZE * SIZE;
        let _ = writeln!(text, "[buffer.{name}]\ntype = \"{ty}\"\nelements = {elements}\n{how}");
        if maps {
            let _ = writeln!(
                text,
                "[tensor_map.{name}]\nbuffer = \"{name}\"\ntype = \"{ty}\"\ndims = [{SIZE}, {SIZE}]\n\
                 box = [{columns}, {rows}]\nswizzle = \"128b\""
            );
        }
    }
    text
}

#[test]
fn a_reduction_is_silent() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let launch = format!(
        "grid = 4\nblock = 128\nshared = 16\n\
         arguments = [{{ pointer = \"y\" }}, {{ pointer = \"x\" }}, {{ i32 = 300 }}, {{ i32 = 300 }}, {SCRATCH}]\n\
         [buffer.x]\ntype = \"f32\"\nelements = 1200\nfill = 1\n\
         [buffer.y]\ntype = \"f32\"\nelements = 1200\nfill = \"none\"\nexpect = 0.003333333\ntolerance = 1e-6\n"
    );
    assert_eq!(check(&folder, "softmax.ptx", &launch, SOME), (Some(0), vec![]));
}

#[test]
fn a_hopper_product_in_a_ring_of_small_copies_is_silent_and_right() {
    assert_eq!(
        check(&matrices(), "matmul_sm90.ptx", &product(128, false), SOME),
        (Some(0), vec![])
    );
}

/// Its registers are stored above `tcgen05.wait::ld`: nothing in the PTX holds the stores back but that they depend on the load.
#[test]
fn registers_used_before_the_wait_are_found_in_a_blackwell_product() {
    let of = |how: &[&'static str]| {
        check(&matrices(), "matmul_tma_sm100.ptx", &product(128, true), how.iter().copied())
    };
    let (code, rules) = of(&["--replay", "0", "--strict"]);
    assert_eq!(code, Some(1));
    assert!(
        rules.contains(&"error D3".into()) && rules.contains(&"error wrong-result".into()),
        "{rules:?}"
    );
    // Otherwise nothing is said of them, and the numbers are right.
    let (_, rules) = of(&["--replay", "0"]);
    let expected = ["error B2", "error C1", "warning B1", "warning D1", "warning D2"];
    assert_eq!(rules, expected);
}

/// The right numbers, without fences that the text shows, of which those of the mbarriers (C1) and between ordinary reads
/// and a copy (B2) are no disputed ones. Each of
/// four warps says what the next role is, with one value: a race by the text, and disputed.
#[test]
fn a_blackwell_product_of_several_roles_is_right() {
    let (code, rules) =
        check(&matrices(), "matmul_ws_sm100.ptx", &product(256, true), ["--replay", "0"]);
    assert_eq!(code, Some(1));
    let of = |severity| rules.iter().filter_map(move |rule| rule.strip_prefix(severity));
    assert_eq!(of("error ").collect::<Vec<_>>(), ["B2", "C1"]);
    assert_eq!(of("warning ").collect::<Vec<_>>(), ["A13", "B1", "D1", "D2"]);
}
