//! `baton check` on what rustc and nvcc made, on small kernels by hand, and on what it cannot use.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A copy of the fixtures to work in.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check");
        for entry in fs::read_dir(from).expect("the fixtures") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, folder.path().join(path.file_name().expect("a name"))).expect("a copy");
        }
        Folder(folder)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).expect("a writable folder");
    }

    /// Changes a file in one place.
    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
        self.write(file, &text.replace(from, to));
    }

    fn check(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_baton"))
            .arg("check")
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .expect("baton starts")
    }

    /// What a check prints that ends with this code.
    #[track_caller]
    fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.check(arguments);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stdout}\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        if code > 1 { stderr } else { stdout }
    }

    /// A check of a small kernel.
    #[track_caller]
    fn small(&self, code: i32, kernel: &str, launch: &str, more: &[&str]) -> String {
        self.write("launch.toml", launch);
        let common = ["small.ptx", "--kernel", kernel, "--launch", "launch.toml"];
        self.ends(code, &[&common, more].concat())
    }
}

fn objects(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

const ONE: &str = "grid = 1\nblock = 1\n";

#[test]
fn correct_kernels_of_rustc_and_nvcc_are_silent() {
    let folder = Folder::new();
    for name in ["exchange", "smooth"] {
        let (ptx, launch) = (format!("{name}.ptx"), format!("{name}.toml"));
        let text = folder.ends(0, &[&ptx, "--launch", &launch, "--strict", "--schedules", "50"]);
        assert!(text.starts_with(&format!("{name}: 50 schedules, strictly, ")), "{text}");
        assert!(text.ends_with("no errors, no warnings\n"), "{text}");
    }
}

#[test]
fn a_missing_acquire_is_shown_in_the_ptx_and_in_the_rust_source() {
    let folder = Folder::new();
    folder.replace("exchange.ptx", "ld.acquire.gpu", "ld.relaxed.gpu");
    let text = folder.ends(1, &["exchange.ptx", "--launch", "exchange.toml"]);
    insta::assert_snapshot!("missing_acquire", text);
}

#[test]
fn a_missing_barrier_is_shown_in_the_cuda_source() {
    let folder = Folder::new();
    folder.replace("smooth.ptx", "bar.sync \t0;", "");
    folder.replace("smooth.ptx", "$L__BB0_9:\n", "$L__BB0_9: mov.u32 %r26, 0;\n");
    folder.replace("smooth.toml", "expect_file = \"smooth.out\"", "");
    let text = folder.ends(1, &["smooth.ptx", "--launch", "smooth.toml", "--schedules", "20"]);
    let first = text.split("\n\n").next().expect("a finding");
    insta::assert_snapshot!("missing_barrier", first);
}

#[test]
fn programs_get_an_object_a_line() {
    let folder = Folder::new();
    folder.replace("exchange.ptx", "ld.acquire.gpu", "ld.relaxed.gpu");
    let all = objects(&folder.ends(1, &["exchange.ptx", "--launch", "exchange.toml", "--json"]));
    let (summary, findings) = all.split_last().expect("a summary");
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["schedules"], 100);
    let count = |key: &str| summary[key].as_u64().expect("a count");
    assert_eq!(count("errors") + count("warnings"), findings.len() as u64);
    let a3 = findings.iter().find(|finding| finding["rule"] == "A3").expect("the rule");
    assert_eq!(a3["severity"], "error");
    assert_eq!(a3["earlier"]["text"].as_str().map(|t| t.starts_with("st.weak")), Some(true));
    assert_eq!(a3["not_enough"]["text"].as_str().map(|t| t.starts_with("ld.relaxed")), Some(true));
    assert!(a3["here"]["source"].as_array().is_some_and(|frames| !frames.is_empty()));
    assert!(a3["fix"].as_str().is_some_and(|fix| fix.contains(".acquire")));
}

/// What the schema of SARIF 2.1.0 asks of the parts that are written.
fn is_sarif(log: &Value) {
    let object = |value: &Value, required: &[&str], optional: &[&str]| {
        let keys: HashSet<&str> =
            value.as_object().expect("an object").keys().map(String::as_str).collect();
        for key in required {
            assert!(keys.contains(key), "no {key} in {value}");
        }
        for key in keys {
            assert!(required.contains(&key) || optional.contains(&key), "{key} in {value}");
        }
    };
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let text =
        |value: &Value| assert!(value.as_str().is_some_and(|text| !text.is_empty()), "{value}");
    let message = |value: &Value| {
        object(value, &["text"], &[]);
        text(&value["text"]);
    };
    object(log, &["version", "runs", "$schema"], &[]);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(list(&log["runs"]).len(), 1);
    let run = &log["runs"][0];
    object(run, &["tool", "results"], &["columnKind", "invocations"]);
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    for invocation in list(&run["invocations"]) {
        object(&invocation, &["executionSuccessful"], &[]);
    }
    object(&run["tool"], &["driver"], &[]);
    let driver = &run["tool"]["driver"];
    object(driver, &["name"], &["version", "rules"]);
    text(&driver["name"]);
    let rules = list(&driver["rules"]);
    let ids: HashSet<String> = rules.iter().map(|rule| rule["id"].to_string()).collect();
    assert_eq!(ids.len(), rules.len(), "rules are unique");
    for rule in &rules {
        object(rule, &["id"], &["shortDescription", "fullDescription", "help"]);
        text(&rule["id"]);
        message(&rule["shortDescription"]);
        message(&rule["fullDescription"]);
    }
    let location = |location: &Value| {
        object(location, &["physicalLocation"], &["id", "message"]);
        let physical = &location["physicalLocation"];
        object(physical, &["artifactLocation", "region"], &[]);
        object(&physical["artifactLocation"], &["uri"], &[]);
        let uri = physical["artifactLocation"]["uri"].as_str().expect("a URI");
        assert!(!uri.is_empty() && !uri.contains([' ', '\\']), "{uri}");
        object(&physical["region"], &["startLine"], &["startColumn"]);
        assert!(physical["region"]["startLine"].as_u64().is_some_and(|line| line >= 1));
        assert!(physical["region"].get("startColumn").is_none_or(|c| c.as_u64() >= Some(1)));
        if let Some(id) = location.get("id") {
            assert!(id.as_u64().is_some(), "{id}");
            message(&location["message"]);
        }
    };
    for result in list(&run["results"]) {
        object(
            &result,
            &["message"],
            &[
                "ruleId",
                "ruleIndex",
                "level",
                "locations",
                "relatedLocations",
                "partialFingerprints",
                "properties",
            ],
        );
        message(&result["message"]);
        let level = result["level"].as_str().expect("a level");
        assert!(["none", "note", "warning", "error"].contains(&level), "{level}");
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(list(&result["locations"]).len(), 1, "hosts show the first");
        list(&result["locations"]).iter().for_each(location);
        let related = list(&result["relatedLocations"]);
        let ids: HashSet<String> = related.iter().map(|l| l["id"].to_string()).collect();
        assert_eq!(ids.len(), related.len(), "ids are unique");
        related.iter().for_each(location);
        for print in result["partialFingerprints"].as_object().expect("an object").values() {
            text(print);
        }
    }
}

#[test]
fn code_hosts_get_sarif_with_places_in_the_source() {
    let folder = Folder::new();
    let sarif = || -> Value { serde_json::from_str(&folder.read("log.sarif")).expect("JSON") };
    folder.ends(0, &["exchange.ptx", "--launch", "exchange.toml", "--sarif", "log.sarif"]);
    is_sarif(&sarif());
    assert_eq!(sarif()["runs"][0]["results"].as_array().map(Vec::len), Some(0));

    folder.replace("exchange.ptx", "ld.acquire.gpu", "ld.relaxed.gpu");
    folder.ends(1, &["exchange.ptx", "--launch", "exchange.toml", "--sarif", "log.sarif"]);
    is_sarif(&sarif());
    let rules = sarif()["runs"][0]["tool"]["driver"]["rules"].clone();
    for rule in rules.as_array().expect("rules") {
        let text = rule["fullDescription"]["text"].as_str().expect("a text");
        assert!(!text.contains("0x"), "the text of a rule has no address of a finding: {text}");
        if rule["id"] == "A3" {
            assert!(text.starts_with("relaxed load or relaxed `atom` result used"), "{text}");
        }
    }
    let result = &sarif()["runs"][0]["results"][0];
    let at = |location: &Value| location["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(at(&result["locations"][0]), "exchange.rs");
    assert_eq!(at(&result["relatedLocations"][0]), "exchange.ptx");

    // Findings without a place, and with many.
    let launch = "grid = 2\nblock = 1\narguments = [{ pointer = \"w\" }]\n[buffer.w]\ntype = \"u32\"\nelements = 1\nexpect = 9";
    folder.small(1, "last", launch, &["--sarif", "log.sarif"]);
    is_sarif(&sarif());
    folder.small(1, "stuck", "grid = 1\nblock = 32", &["--sarif", "log.sarif"]);
    is_sarif(&sarif());
}

#[test]
fn a_result_that_depends_on_the_schedule_is_found_and_reduced_and_replayed() {
    let folder = Folder::new();
    let launch = "grid = 2\nblock = 1\narguments = [{ pointer = \"w\" }]\n[buffer.w]\ntype = \"u32\"\nelements = 1\nexpect = 1";
    let text = folder.small(1, "last", launch, &["--log", "least", "--schedules", "60"]);
    assert!(
        text.contains("error[wrong-result]: buffer `w`: element 0 is 0, and was to be 1"),
        "{text}"
    );
    assert!(text.contains("--replay least"), "{text}");
    let log = folder.read("least");
    assert!((1..=4).contains(&log.lines().count()), "few decisions: {log}");
    let again = folder.small(1, "last", launch, &["--replay", "least"]);
    assert!(again.contains("element 0 is 0"), "{again}");

    // The plain run is right; one or two deviations are not.
    let seed = log.lines().next().and_then(|line| line.strip_prefix("seed ")).expect("a seed");
    let by_seed = folder.small(1, "last", launch, &["--replay", seed]);
    assert!(by_seed.contains("element 0 is 0"), "{by_seed}");
    let none = folder.small(0, "last", launch, &["--exhaust", "0"]);
    assert!(none.contains("these were all schedules"), "{none}");
    let some = folder.small(1, "last", launch, &["--exhaust", "3"]);
    assert!(some.contains("found by the exhaustive search"), "{some}");
}

#[test]
fn an_exhaustive_search_says_where_it_ends() {
    let folder = Folder::new();
    let launch = format!(
        "{ONE}arguments = [{{ pointer = \"w\" }}]\n[buffer.w]\ntype = \"u32\"\nelements = 1\n"
    );
    folder.write(
        "many.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry many(.param .u64 p)\n{\n.reg .b64 %d<2>;\n\
         .reg .b32 %r<2>;\nld.param.u64 %d0, [p];\nst.relaxed.gpu.global.u32 [%d0], 1;\nst.relaxed.gpu.global.u32 [%d0], 2;\n\
         ld.relaxed.gpu.global.u32 %r0, [%d0];\nret;\n}\n",
    );
    folder.write("launch.toml", &launch.replace("block = 1", "block = 128"));
    let arguments = ["many.ptx", "--launch", "launch.toml", "--exhaust", "4", "--schedules", "20"];
    let text = folder.ends(0, &arguments);
    assert!(text.contains("20 schedules"), "{text}");
    assert!(text.contains("the search ended after 20 schedules; raise --schedules"), "{text}");
}

#[test]
fn a_description_reads_files_of_its_own_folder_unless_it_may_read_more() {
    let folder = Folder::new();
    let launch = |file: &str| {
        format!(
            "{ONE}arguments = [{{ pointer = \"w\" }}]\n[buffer.w]\ntype = \"u8\"\nfile = \"{file}\"\n"
        )
    };
    let outside = tempfile::tempdir().expect("another folder");
    let secret = outside.path().join("secret");
    fs::write(&secret, [0; 8]).expect("a file there");
    std::os::unix::fs::symlink(&secret, folder.path("link")).expect("a link");
    fs::create_dir(folder.path("below")).expect("a folder");
    folder.write("below/eight", "\0\0\0\0\0\0\0\0");
    let absolute = secret.to_string_lossy().into_owned();
    let name = folder.0.path().file_name().expect("a name").to_string_lossy().into_owned();
    let round_about = format!("../{name}/below/eight");
    for file in [&absolute, "link"] {
        let said = folder.small(2, "last", &launch(file), &[]);
        for part in ["launch.toml:6:8:", "outside of the folder", "--files-anywhere"] {
            assert!(said.contains(part), "{file}: {said}");
        }
        folder.small(0, "last", &launch(file), &["--files-anywhere", "--schedules", "1"]);
    }
    for file in ["below/eight", &round_about] {
        folder.small(0, "last", &launch(file), &["--schedules", "1"]);
    }
}

#[test]
fn what_is_too_large_to_be_ptx_is_not_read_to_its_end() {
    let folder = Folder::new();
    let large = fs::File::create(folder.path("large.ptx")).expect("a file");
    // Sparse: it takes no room.
    large.set_len(40 << 30).expect("a long file");
    let said = folder.ends(2, &["large.ptx", "--launch", "exchange.toml"]);
    assert!(said.contains("`large.ptx` is too large") && said.contains("256 MiB"), "{said}");
    let endless = folder.ends(2, &["/dev/zero", "--launch", "exchange.toml"]);
    assert!(endless.contains("too large"), "{endless}");
}

#[test]
fn reports_are_whole_or_as_they_were() {
    let folder = Folder::new();
    folder.write("report.sarif", "the old one");
    let common = ["exchange.ptx", "--launch", "exchange.toml", "--schedules", "1", "--sarif"];
    folder.ends(0, &[&common[..], &["report.sarif"]].concat());
    assert!(folder.read("report.sarif").contains("2.1.0"));
    folder.ends(5, &[&common[..], &["nowhere/report.sarif"]].concat());
    let left = fs::read_dir(folder.0.path()).expect("the folder").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".baton"));
    assert_eq!(left.count(), 0, "no partial file is left");
}

#[test]
fn a_long_run_without_a_terminal_says_that_it_lives() {
    let folder = Folder::new();
    folder.write(
        "empty.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n",
    );
    // Four million CTAs of one thread, again and again.
    folder.write("launch.toml", "grid = [4194304, 1, 1]\nblock = 1\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["check", "empty.ptx", "--launch", "launch.toml", "--schedules", "100000"])
        .current_dir(folder.0.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("baton starts");
    let mut first = String::new();
    let stderr = child.stderr.take().expect("it is piped");
    BufReader::new(stderr).read_line(&mut first).expect("a line of text");
    child.kill().expect("it still runs");
    child.wait().expect("it has ended");
    assert!(first.starts_with("checking empty "), "{first}");
    assert!(first.contains("/100000, 1") && first.contains(" instructions"), "{first}");
}

#[test]
fn every_policy_runs_and_the_same_seed_gives_the_same_report() {
    let folder = Folder::new();
    folder.replace("exchange.ptx", "ld.acquire.gpu", "ld.relaxed.gpu");
    for policy in ["seeded", "random", "pct", "starving", "early", "late"] {
        let arguments =
            ["exchange.ptx", "--launch", "exchange.toml", "--policy", policy, "--schedules", "8"];
        let first = folder.ends(1, &arguments);
        assert!(first.contains("error[A3]"), "{policy}: {first}");
        assert_eq!(first, folder.ends(1, &arguments));
    }
}

#[test]
fn a_deadlock_shows_who_waits_for_what() {
    let text = Folder::new().small(1, "stuck", ONE, &["--schedules", "5"]);
    insta::assert_snapshot!("deadlock", text);
}

#[test]
fn a_fault_shows_its_instruction() {
    let launch = "grid = 1\nblock = 1\narguments = [{ pointer = \"w\" }]\n[buffer.w]\ntype = \"u32\"\nelements = 1";
    let text = Folder::new().small(1, "outside", launch, &["--schedules", "5"]);
    insta::assert_snapshot!("out_of_bounds", text);
}

#[test]
fn one_mistake_between_two_lines_is_one_report() {
    let folder = Folder::new();
    // A loop of loads, as compilers unroll it, behind a store and no barrier.
    let loads: String =
        (0..16).map(|i| format!(".loc 1 2 5\nld.shared.u32 %r2, [%r3+{}];\n", 4 * i)).collect();
    let kernel = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n\
         .visible .entry k() {{\n.reg .b32 %r<9>;\n.shared .align 4 .b8 s[256];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r3, s;\nshl.b32 %r4, %r1, 2;\nadd.u32 %r4, %r3, %r4;\n\
         .loc 1 1 5\nst.shared.u32 [%r4], %r1;\n{loads}ret;\n}}\n"
    );
    folder.write("k.ptx", &kernel);
    folder.write("k.cu", "    s[threadIdx.x] = threadIdx.x;\n    for (i) x = s[i];\n");
    folder.write("k.toml", "grid = 1\nblock = 64\n");
    let common = ["k.ptx", "--launch", "k.toml", "--schedules", "20"];
    let text = folder.ends(1, &common);
    assert_eq!(text.matches("error[A13]").count(), 1, "{text}");
    assert_eq!(text.matches("warning[uninitialised]").count(), 1, "{text}");
    assert!(text.contains("more places of the same kind: PTX lines "), "{text}");
    let (summary, findings) = objects(&folder.ends(1, &[&common[..], &["--json"]].concat()))
        .split_last()
        .map(|(s, f)| (s.clone(), f.len()))
        .expect("a summary");
    assert!(findings > 16, "{findings}: programs get each pair");
    assert_eq!(
        summary["errors"].as_u64().zip(summary["warnings"].as_u64()).map(|(e, w)| e + w),
        Some(findings as u64)
    );
    assert!(text.contains(&format!("1 error, 1 warning, in {findings} places")), "{text}");
}

#[test]
fn a_flood_of_reports_is_cut() {
    let folder = Folder::new();
    let loads: String = (0..30)
        .map(|i| format!(".loc 1 {} 5\nld.shared.u32 %r2, [%r3+{}];\n", i + 1, 4 * i))
        .collect();
    folder.write("k.ptx", &format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n\
         .visible .entry k() {{\n.reg .b32 %r<9>;\n.shared .align 4 .b8 s[256];\nmov.u32 %r3, s;\n{loads}ret;\n}}\n"
    ));
    folder.write("k.toml", ONE);
    let text = folder.ends(0, &["k.ptx", "--launch", "k.toml", "--schedules", "2"]);
    assert_eq!(text.matches("warning[uninitialised]").count(), 20, "{text}");
    assert!(text.contains("10 more reports are not shown; --json has all"), "{text}");
    assert!(text.contains("no errors, 30 warnings\n"), "{text}");
}

/// What `vprintf` of compilers looks like, with a format and no arguments.
const PRINTS: &str = r#".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 hi[5] = {104, 105, 27, 10, 0};
.visible .entry k() {
    .reg .b64 %rd<4>;
    mov.u64 %rd1, hi;
    cvta.global.u64 %rd2, %rd1;
    mov.u64 %rd3, 0;
    {
        .param .b64 p0;
        .param .b64 p1;
        .param .b32 q;
        st.param.b64 [p0], %rd2;
        st.param.b64 [p1], %rd3;
        call.uni (q), vprintf, (p0, p1);
    }
    ret;
}
"#;

#[test]
fn what_a_kernel_prints_is_shown_once() {
    let folder = Folder::new();
    folder.write("k.ptx", PRINTS);
    folder.write("k.toml", "grid = 2\nblock = 1\n");
    let common = ["k.ptx", "--launch", "k.toml", "--schedules", "5"];
    let text = folder.ends(0, &common);
    let heading = "printed by the kernel in the first schedule:\n    hi\u{FFFD}\n    hi\u{FFFD}\n\nk: 5 schedules";
    assert!(text.starts_with(heading), "{text}");
    let json = objects(&folder.ends(0, &[&common[..], &["--json"]].concat()));
    assert_eq!(json.last().expect("a summary")["printed"], "hi\u{1b}\nhi\u{1b}\n");

    // A run that fails printed too, and did something.
    folder.replace("k.ptx", "    ret;", "    trap;");
    folder.write("k.toml", ONE);
    let text = folder.ends(1, &common);
    assert!(text.starts_with("printed by the kernel in the first schedule:\n    hi"), "{text}");
    assert!(!text.contains(" 0 thread-instructions"), "{text}");
}

#[test]
fn a_wild_address_is_far_from_everything_and_an_empty_buffer_has_no_bytes() {
    let folder = Folder::new();
    let launch = |elements, from| {
        format!(
            "grid = 1\nblock = 1\narguments = [{from}]\n[buffer.w]\ntype = \"u32\"\nelements = {elements}\n"
        )
    };
    let text = folder.small(1, "outside", &launch(0, "{ pointer = \"w\" }"), &[]);
    assert!(text.contains("behind the allocation of 0 bytes"), "{text}");
    let text = folder.small(1, "outside", &launch(32, "{ u64 = 0x7FFF_FFFF_FFFF_FF00 }"), &[]);
    assert!(
        text.contains("far outside of every allocation; the nearest one below has 128 bytes"),
        "{text}"
    );
}

#[test]
fn a_run_without_an_end_is_ended_and_the_search_with_it() {
    let launch = "grid = 1\nblock = 32\nsteps = 100_000";
    let text = Folder::new().small(1, "endless", launch, &["--schedules", "1000000"]);
    assert!(
        text.contains("error[endless]: a run made 100000 thread-instructions without ending"),
        "{text}"
    );
    assert!(text.contains("raise `steps` in the launch description"), "{text}");
}

#[test]
fn tensor_maps_come_by_value_or_by_address() {
    let folder = Folder::new();
    let (plain, inside) = ("{ tensor_map = \"m\" }", "{ fields = [{ tensor_map = \"m\" }] }");
    let ways = [
        ("tile_by_value", 32, plain),
        ("tile_by_value", 32, inside),
        ("tile_by_address", 12, plain),
    ];
    for (kernel, rows, map) in ways {
        // Element (16, 8) is the first; the last is inside, or filled.
        let last = if rows == 32 { 15 * 64 + 31 } else { 0 };
        let launch = format!(
            "grid = 1\nblock = 1\narguments = [{map}, {{ pointer = \"out\" }}]\n\
             [tensor_map.m]\nbuffer = \"in\"\ntype = \"u32\"\ndims = [64, {rows}]\nbox = [16, 8]\n\
             [buffer]\nin = {{ type = \"u32\", elements = 2048, fill = \"iota\" }}\n\
             out = {{ type = \"u32\", elements = 2, expect = [{}, {last}] }}",
            8 * 64 + 16
        );
        folder.small(0, kernel, &launch, &["--schedules", "10", "--strict"]);
    }
}

#[test]
fn scalars_of_every_type_arrive_as_they_are() {
    let launch = r#"
grid = 1
block = 1
arguments = [
    { pointer = { buffer = "out", offset = 0 } }, { u8 = 200 }, { i16 = -2 }, { u32 = 4_000_000_000 }, { i64 = -1 },
    { f32 = 1.5 }, { f64 = -0.25 }, { bf16 = 1 }, { fields = [{ i8 = -1 }, { fields = [{ u64 = 0x0123_4567_89AB_CDEF }] }] },
]
[buffer.out]
type = "u8"
elements = 40
fill = 0
expect = [
    200, 0, 254, 255, 0, 40, 107, 238, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 192, 63, 128, 63, 255, 0,
    0, 0, 0, 0, 0, 0, 208, 191, 0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01,
]
"#;
    Folder::new().small(0, "scalars", launch, &["--schedules", "2"]);
}

#[test]
fn what_cannot_be_used_is_said_with_its_place_and_a_way_out() {
    let folder = Folder::new();
    let refuse = |kernel: &str, launch: &str, words: &[&str]| {
        let message = folder.small(2, kernel, launch, &[]);
        assert!(message.starts_with("error: "), "{message}");
        for word in words {
            assert!(message.contains(word), "{word}: {message}");
        }
    };
    refuse("stuk", ONE, &["no kernel `stuk`", "did you mean `stuck`?"]);
    refuse(
        "stuck",
        "grid = 1\nblok = 1",
        &["launch.toml:2:1: unknown field `blok`", "expected one of", "help: "],
    );
    refuse("stuck", "grid = 1\nblock = [", &["launch.toml:2:", "help: "]);
    refuse("last", ONE, &["0 arguments, and `last` takes 1", "`word` (8 bytes)"]);
    refuse(
        "last",
        "grid = 1\nblock = 1\narguments = [{ u32 = 1 }]",
        &[
            "launch.toml:3:14: 4 bytes for the parameter `word` (8 bytes)",
            "give an argument of 8 bytes",
        ],
    );
    refuse(
        "last",
        "grid = 1\nblock = 1\narguments = [{ pointer = \"w\" }]\n[buffer.w]\ntype = \"u8\"\nfile = \"gone\"",
        &["launch.toml:6:8: cannot read `gone`", "the folder of the description"],
    );
    refuse(
        "last",
        "grid = 1\nblock = 1\narguments = [{ pointer = \"w\" }]\n[buffer.w]\ntype = \"u8\"\nelements = 3\nfile = \"smooth.out\"",
        &["launch.toml:7:8: the file has 1200 bytes, the buffer `w` 3"],
    );
    refuse(
        "tile_by_value",
        "grid = 1\nblock = 1\narguments = [{ tensor_map = \"m\" }, { pointer = \"w\" }]\n[buffer.w]\ntype = \"u8\"\nelements = 16\n\
         [tensor_map.m]\nbuffer = \"w\"\ntype = \"u8\"\ndims = [16, 2]\nbox = [16, 2]",
        &["launch.toml:10:8: the tensor ends 32 bytes behind the start of `w`, which has 16"],
    );
    refuse("unknown", ONE, &["small.ptx:44:5: unknown instruction: frobnicate.u32 7"]);
    refuse(
        "stuck",
        "grid = 1\nblock = 1\ncluster = 16\n",
        &["launch.toml:3:11", "not made of clusters"],
    );

    folder.write("launch.toml", ONE);
    let message = folder.ends(2, &["small.ptx", "--launch", "launch.toml"]);
    assert!(message.contains("choose one by --kernel: last, endless"), "{message}");
    let message = folder.ends(5, &["gone.ptx", "--launch", "launch.toml"]);
    assert!(message.contains("cannot read `gone.ptx`"), "{message}");
    folder.write("bad.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.entry k( {");
    let message = folder.ends(2, &["bad.ptx", "--launch", "launch.toml"]);
    assert!(message.contains("bad.ptx"), "{message}");
    fs::write(folder.path("binary.ptx"), [0xFF, 0xFE]).expect("a writable folder");
    let message = folder.ends(2, &["binary.ptx", "--launch", "launch.toml"]);
    assert!(message.contains("binary.ptx:1:1: this is no text"), "{message}");
    assert!(message.contains("save it as UTF-8"), "{message}");
    fs::write(folder.path("a.cubin"), *b"\x7fELF\x02\n\xff").expect("a writable folder");
    let message = folder.ends(2, &["a.cubin", "--launch", "launch.toml"]);
    assert!(message.contains("a.cubin:2:1:") && message.contains("cuobjdump -ptx"), "{message}");
    let message = folder.ends(
        2,
        &["small.ptx", "--kernel", "stuck", "--launch", "smooth.toml", "--replay", "smooth.cu"],
    );
    assert!(message.contains("smooth"), "{message}");
}

#[test]
fn ptx_that_cannot_be_used_is_said_with_its_place() {
    let folder = Folder::new();
    folder.write("launch.toml", ONE);
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let kernel = ".visible .entry k() {\n    ret;\n}\n";
    for (text, words) in [
        (header.to_owned(), "bad.ptx:3:1: the text ends here and has no kernel"),
        (String::new(), "bad.ptx:1:1: the text ends here and has no kernel"),
        (
            format!("{header}{kernel}  /* open\n"),
            "bad.ptx:7:3: found `/*`, expected `*/` before the end of the text",
        ),
        (format!("{header}{kernel}{kernel}"), "bad.ptx:7:17: a second body of `k`"),
        (
            format!("{header}.shared .b8 s[300000];\n{kernel}"),
            "bad.ptx:4:13: found `s` of 300000 bytes, expected at most 232448 bytes",
        ),
    ] {
        folder.write("bad.ptx", &text);
        let message = folder.ends(2, &["bad.ptx", "--launch", "launch.toml"]);
        assert!(message.starts_with(&format!("error: {words}")), "{message}");
    }
}

#[test]
fn a_description_is_not_repeated_at_length() {
    let folder = Folder::new();
    let long = "x".repeat(1 << 20);
    let message = folder.small(2, "stuck", &format!("{long} = 1\n{ONE}"), &[]);
    assert!(message.contains("launch.toml:1:1: unknown field `xxx"), "{message}");
    assert!(message.len() < 1500, "{} bytes", message.len());
}

#[test]
fn a_grid_that_no_run_gets_through_is_refused() {
    let folder = Folder::new();
    let refused = |launch: &str, words: &str| {
        let message = folder.small(2, "endless", launch, &[]);
        assert!(message.contains(words), "{message}");
    };
    refused("grid = 2147483647\nblock = 1", "launch.toml:1:8: the grid has 2147483647 CTAs");
    refused(
        "grid = 1000\nblock = 32\nsteps = 31999",
        "launch.toml:1:8: the launch has 32000 threads",
    );
}

#[test]
fn a_picture_of_time_has_every_warp_copy_wait_and_phase() {
    let folder = Folder::new();
    let launch = "grid = 2\nblock = 1\narguments = [{ tensor_map = \"m\" }, { pointer = \"out\" }]\n\
                  [tensor_map.m]\nbuffer = \"in\"\ntype = \"u32\"\ndims = [64, 32]\nbox = [16, 8]\n\
                  [buffer]\nin = { type = \"u32\", elements = 2048 }\nout = { type = \"u32\", elements = 2 }";
    folder.write("launch.toml", launch);
    let arguments = [
        "small.ptx",
        "--kernel",
        "tile_by_value",
        "--launch",
        "launch.toml",
        "--policy",
        "late",
        "--trace",
        "t.json",
        "--timeline",
        "t.html",
        "--schedules",
        "1",
    ];
    let output = folder.check(&arguments);
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");

    let trace: Value = serde_json::from_str(&folder.read("t.json")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let spans: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    for (category, count) in [("run", 2), ("wait", 2), ("copy", 2), ("phase", 2)] {
        let found = spans.iter().filter(|span| span["cat"] == category).count();
        assert!(found >= count, "{found} of {category}: {trace:#}");
    }
    let named: HashSet<(u64, u64)> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| Some((event["pid"].as_u64()?, event["tid"].as_u64()?)))
        .collect();
    for span in &spans {
        let lane = (span["pid"].as_u64().expect("a pid"), span["tid"].as_u64().expect("a tid"));
        assert!(named.contains(&lane), "a lane without a name: {span}");
        assert!(span["dur"].as_u64().is_some_and(|dur| dur > 0), "{span}");
    }
    // A copy's phase completes when the copy does, and the warp goes on then.
    let of = |category: &str| -> Vec<&Value> {
        let mut found: Vec<&Value> = spans
            .iter()
            .copied()
            .filter(|span| span["cat"] == category && span["pid"] == 0)
            .collect();
        found.sort_by_key(|span| span["ts"].as_u64());
        found
    };
    let end = |span: &Value| span["ts"].as_u64().unwrap_or(0) + span["dur"].as_u64().unwrap_or(0);
    assert_eq!(end(of("copy")[0]), end(of("phase")[0]));
    assert_eq!(end(of("copy")[0]), end(of("wait")[0]));

    let page = folder.read("t.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("http://") && !page.contains("https://"), "it needs no network");
    assert!(page.contains("prefers-color-scheme: dark"));
    for lane in ["warp 0", "bulk copies in", "mbarrier 0x", "CTA (1, 0, 0)", "512 bytes"] {
        assert!(page.contains(lane), "{lane}");
    }
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}

const PARTED: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r;\n\
    mov.u32 %r, %tid.x;\nshr.u32 %r, %r, 6;\nsetp.ne.u32 %p, %r, 0;\n@%p bra E;\nbar.sync 0;\nE:\nret;\n}\n";

#[test]
fn a_lint_warns_without_a_launch() {
    let folder = Folder::new();
    folder.write("parted.ptx", PARTED);
    let said = folder.ends(0, &["parted.ptx", "--lint"]);
    for part in [
        "rule F4: threads of one CTA",
        "PTX line 12",
        "PTX line 11",
        "`%tid.x` differs",
        "1 warning",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let [object] = &objects(&folder.ends(0, &["parted.ptx", "--lint", "--json"]))[..] else {
        panic!("one object")
    };
    assert_eq!((&object["rule"], &object["ptx_line"]), (&"F4".into(), &12.into()));
    assert_eq!(object["notes"][1]["ptx_line"], 8);
}

#[test]
fn a_lint_takes_the_block_of_a_launch() {
    let folder = Folder::new();
    folder.write("parted.ptx", PARTED);
    folder.write("launch.toml", "grid = 1\nblock = 64\n");
    let said = folder.ends(0, &["parted.ptx", "--lint", "--launch", "launch.toml"]);
    assert!(said.contains("0 warnings"), "{said}");
    let said = folder.ends(2, &["parted.ptx", "--lint", "--kernel", "other"]);
    assert!(said.contains("all of them: k"), "{said}");
}
