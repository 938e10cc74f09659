//! `baton cuda` on programs that nvcc compiles: they run unmodified, with their own checks, and what is wrong with their
//! kernels is told with the lines of their source.
//!
//! Without nvcc (a toolkit of CUDA 13, or the packages that the builder fetches) there is nothing to run: the tests say so
//! and why.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use baton_builder::provision::Doctor;
use serde_json::Value;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The compiler, if there is one.
fn nvcc() -> Option<&'static Path> {
    static NVCC: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = NVCC.get_or_init(|| {
        Doctor::new(root().join("target"))
            .nvcc(|_| {})
            .inspect_err(|error| println!("skipped: {error}"))
            .ok()
    });
    found.as_deref()
}

/// A program of `tests/cuda`, compiled in a folder of its own.
struct Program(TempDir);

impl Program {
    /// `None` without a compiler.
    fn compiled(name: &str, options: &[&str]) -> Option<Program> {
        Program::of(
            nvcc()?,
            name,
            &[&["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90"], options]
                .concat(),
        )
    }

    fn of(nvcc: &Path, name: &str, options: &[&str]) -> Option<Program> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cuda")
            .join(name)
            .with_extension("cu");
        fs::copy(source, folder.path().join("program.cu")).expect("a copy");
        let output = Command::new(nvcc)
            .args(["-lineinfo", "-o", "program", "program.cu"])
            .args(options)
            .current_dir(folder.path())
            .output()
            .expect("nvcc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Program(folder))
    }

    fn run(&self, options: &[&str], arguments: &[&str]) -> (i32, String, String) {
        let output: Output = Command::new(env!("CARGO_BIN_EXE_baton"))
            .arg("cuda")
            .args(options)
            .arg("./program")
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("BATON_CUDART")
            .output()
            .expect("baton starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// The line of its source with this text.
    fn line(&self, text: &str) -> u64 {
        let source = fs::read_to_string(self.0.path().join("program.cu")).expect("the source");
        1 + source.lines().position(|line| line.contains(text)).expect("the line") as u64
    }

    /// The findings: rule, severity, lines of the source here and earlier.
    fn findings(&self, options: &[&str]) -> Vec<(String, String, u64, u64)> {
        let (code, stdout, stderr) = self.run(&[&["--json"], options].concat(), &[]);
        let all: Vec<Value> = stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("an object a line"))
            .collect();
        let (summary, findings) = all.split_last().expect("a summary");
        assert_eq!(summary["type"], "summary", "{stderr}");
        assert_eq!(code, i32::from(summary["errors"] != 0), "{stdout}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |site: &Value| site["source"][0]["line"].as_u64().unwrap_or(0);
        let of = |f: &Value| {
            (text(&f["rule"]), text(&f["severity"]), line(&f["here"]), line(&f["earlier"]))
        };
        findings.iter().map(of).collect()
    }
}

#[test]
fn vectors_in_all_kinds_of_memory() {
    let Some(program) = Program::compiled("vectors", &[]) else { return };
    let (code, stdout, stderr) = program.run(&["--strict"], &["1500"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.starts_with("1500 sums are right\n"), "{stdout}");
    assert!(stdout.ends_with("no errors, no warnings\n"), "{stdout}");
    assert!(stdout.contains("program: 1 run, strictly, 3 launches, "), "{stdout}");
}

#[test]
fn sums_through_shared_memory_and_the_missing_barrier() {
    let Some(program) = Program::compiled("sums", &[]) else { return };
    let (code, stdout, stderr) = program.run(&["--strict"], &[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.starts_with("179865, and 179865 is right\n"), "{stdout}");
    let Some(program) = Program::compiled("sums", &["-DRACY"]) else { return };
    let add = program.line("each[threadIdx.x] += each");
    let found = program.findings(&[]);
    assert!(found.contains(&("A13".into(), "error".into(), add, add)), "{found:?}");
}

#[test]
fn a_histogram_without_atomics_is_a_race_whatever_it_counts() {
    let Some(program) = Program::compiled("histogram", &[]) else { return };
    assert_eq!(program.findings(&["--strict"]), []);
    let Some(program) = Program::compiled("histogram", &["-DRACY"]) else { return };
    let line = program.line("// the race");
    let found = program.findings(&["--schedules", "3"]);
    assert!(
        found.iter().all(|(_, _, here, earlier)| (*here, *earlier) == (line, line)),
        "{found:?}"
    );
    for rule in ["A9", "A13"] {
        assert!(
            found.iter().any(|(of, severity, ..)| of == rule && severity == "error"),
            "{found:?}"
        );
    }
    // For people, with the source.
    let (code, stdout, _) = program.run(&[], &[]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("error[A9]") && stdout.contains("program.cu:8:"), "{stdout}");
    assert!(stdout.contains("bins[text[i]]++;  // the race"), "{stdout}");
}

#[test]
fn variables_of_the_device_and_what_kernels_print() {
    // Whatever the compression: none, LZ4, zstd.
    for mode in ["none", "speed", "size"] {
        let Some(program) = Program::compiled("symbols", &[&format!("--compress-mode={mode}")])
        else {
            return;
        };
        let (code, stdout, stderr) = program.run(&["--strict"], &[]);
        assert_eq!(code, 0, "{stdout}{stderr}");
        let expected = "before\nweighed: 46.2, table ends with 70\nafter: 46.25\n";
        assert!(stdout.starts_with(expected), "{stdout}");
    }
}

#[test]
fn streams_events_and_a_dependent_launch() {
    let Some(program) = Program::compiled("streams", &[]) else { return };
    assert_eq!(program.findings(&["--strict"]), []);
    let Some(program) = Program::compiled("streams", &["-DRACY"]) else { return };
    let (fill, twice) =
        (program.line("x[threadIdx.x] = value"), program.line("x[threadIdx.x] *= 2"));
    let found = program.findings(&[]);
    assert!(!found.is_empty());
    assert!(found.iter().all(|f| *f == ("F6".into(), "error".into(), twice, fill)), "{found:?}");
}

#[test]
fn a_grid_that_synchronises_and_one_that_does_not() {
    let Some(program) = Program::compiled("grid", &[]) else { return };
    let (code, stdout, stderr) = program.run(&["--strict", "--schedules", "4"], &[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.starts_with("0 wrong, cudaErrorCooperativeLaunchTooLarge\n"), "{stdout}");
    assert!(stdout.ends_with("no errors, no warnings\n"), "{stdout}");
    let Some(program) = Program::compiled("grid", &["-DRACY"]) else { return };
    let (write, read) = (program.line("from[me] ="), program.line("from[neighbour];"));
    let found = program.findings(&["--schedules", "4"]);
    let found: Vec<_> = found.iter().filter(|f| f.1 == "error").collect();
    assert!(!found.is_empty());
    // The read behind a sight of the last meeting, or the write beside it.
    let pairs = [("A1", read, write), ("A9", read, write), ("A9", write, read)];
    assert!(found.iter().all(|f| pairs.contains(&(f.0.as_str(), f.2, f.3))), "{found:?}");
}

#[test]
fn a_kernel_that_leaves_its_memory_breaks_the_device() {
    let Some(program) = Program::compiled("streams", &["-DBEYOND"]) else { return };
    let (code, stdout, stderr) = program.run(&[], &[]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("cudaErrorIllegalAddress\n"), "{stdout}");
    assert!(stdout.contains("error[out-of-bounds]: 4 bytes of global memory"), "{stdout}");
}

#[test]
fn what_is_not_there_is_one_error_by_name() {
    let Some(program) = Program::compiled("streams", &["-DABSENT"]) else { return };
    let (code, stdout, stderr) = program.run(&[], &[]);
    assert_eq!(code, 2, "{stdout}{stderr}");
    assert_eq!(stderr.matches("the runtime's `cudaGraphCreate`").count(), 1, "{stderr}");
}

#[test]
fn programs_that_cannot_be_run_say_what_they_need() {
    let Some(nvcc) = nvcc() else { return };
    let Some(program) = Program::of(nvcc, "histogram", &["-cudart", "static"]) else { return };
    let (code, _, stderr) = program.run(&[], &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("did not use the CUDA runtime") && stderr.contains("-cudart shared"),
        "{stderr}"
    );
    let shared = ["-cudart", "shared", "-gencode", "arch=compute_90,code=sm_90"];
    let Some(program) = Program::of(nvcc, "histogram", &shared) else { return };
    let (code, _, stderr) = program.run(&[], &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("machine code of sm_90 and no PTX"), "{stderr}");
}

#[test]
fn the_ptx_is_written_where_somebody_wants_it() {
    let Some(program) = Program::compiled("histogram", &[]) else { return };
    let (code, stdout, stderr) = program.run(&["--ptx", "out"], &[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let ptx = fs::read_to_string(program.0.path().join("out/program.0.ptx")).expect("the PTX");
    assert!(ptx.contains(".target sm_90"), "{ptx}");
}

#[test]
fn a_program_that_is_not_there_is_a_usage_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["cuda", "./no-such-program"])
        .env("BATON_CUDART", env!("CARGO_BIN_EXE_baton"))
        .output()
        .expect("baton starts");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("there is no program `./no-such-program`"), "{text}");
}
