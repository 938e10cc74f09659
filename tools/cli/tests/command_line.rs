//! What a user sees of `baton` when something cannot be done: one message, the right exit code, and
//! nothing half-made.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn baton(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton")).args(arguments).output().expect("baton starts")
}

/// The message of a command that ends with `code` and prints nothing else.
fn refused(code: i32, arguments: &[&str]) -> String {
    let output = baton(arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed to stdout");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    message
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a readable folder").count()
}

#[test]
fn an_unknown_example_is_answered_with_near_ones_and_the_list() {
    for command in [
        &["run", "gemm-blackwel"] as &[_],
        &["build", "gemm-blackwel", "--arch", "sm_100a"],
        &["bundle", "--out", "never-made", "gemm-blackwel"],
    ] {
        let message = refused(2, command);
        assert!(message.contains("no example is called `gemm-blackwel`"), "{message}");
        assert!(message.contains("did you mean `gemm-blackwell`?"), "{message}");
        assert!(message.contains("message-passing, ring, bulk-copy"), "{message}");
    }
    assert!(!Path::new("never-made").exists());
}

#[test]
fn an_example_without_kernels_is_answered_with_those_that_have_some() {
    let error = refused(2, &["build", "device-checks", "--arch", "sm_90a"]);
    assert!(error.contains("no kernels of its own") && error.contains("ring"), "{error}");
}

#[test]
fn an_unknown_target_is_answered_with_the_list() {
    let message = refused(2, &["build", "ring", "--arch", "sm_99"]);
    assert!(message.contains("`sm_99` is not a target") && message.contains("sm_90a"), "{message}");
}

#[test]
fn the_list_describes_each_example() {
    let output = baton(&["run", "--list"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for example in ["message-passing", "ring", "bulk-copy", "gemm-blackwell"] {
        let line = text.lines().find(|line| line.starts_with(example));
        let line = line.unwrap_or_else(|| panic!("{example} is not listed in\n{text}"));
        assert!(line.len() > example.len() + 10, "no description: {line}");
    }
    assert!(!text.contains("(no description)"), "{text}");

    let json = baton(&["run", "--list", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).expect("the list is JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(text.matches("needs: ").count()));
}

#[test]
fn what_exists_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("mine"), "precious").expect("a writable folder");
    let mine = folder.path().join("mine").to_str().expect("a UTF-8 path").to_owned();
    for command in [&["new", &mine] as &[_], &["bundle", "--out", &mine]] {
        let message = refused(2, command);
        assert!(message.contains("exists already"), "{message}");
        assert!(message.contains("help: "), "{message}");
    }
    assert_eq!(fs::read_to_string(mine).expect("still a file"), "precious");
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a writable folder");
    let below = format!("{}/deep", file.display());
    let message = refused(5, &["new", &format!("{below}/kernels")]);
    assert!(message.contains(&below) && message.contains("why: "), "{message}");
    assert_eq!(entries(folder.path()), 1);
}

#[test]
fn names_that_cannot_be_packages_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a UTF-8 path");
    for name in ["Kernels", "my kernels", "fn", "std"] {
        let message = refused(2, &["new", &format!("{path}/{name}")]);
        assert!(message.contains(&format!("`{name}` cannot name a project")), "{message}");
        let message = refused(2, &["new", &format!("{path}/fine"), "--name", name]);
        assert!(message.contains(&format!("`{name}` cannot name a project")), "{message}");
    }
    assert!(refused(2, &["new", ".."]).contains("name it with --name"));
    assert_eq!(entries(folder.path()), 0);
}
