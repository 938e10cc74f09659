//! What every package of the repository owes its readers.

use std::fs;
use std::path::{Path, PathBuf};

use baton_tests::{packages, root};

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn each_package_says_what_it_is_and_carries_the_licence() {
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name");
        assert!(
            package["description"].as_str().is_some_and(|text| !text.is_empty()),
            "{name} has no description"
        );
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
    }
    for (file, opening) in
        [("LICENSE-MIT", "Permission is hereby"), ("LICENSE-APACHE", "Version 2.0, January 2004")]
    {
        let text = fs::read_to_string(root().join(file)).expect("the licence is there");
        assert!(text.contains(opening), "{file}");
    }
}

#[test]
fn each_module_opens_with_its_idea() {
    let mut silent = Vec::new();
    for package in packages() {
        let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a manifest"));
        let mut files = Vec::new();
        let source = manifest.with_file_name("src");
        if source.is_dir() {
            rust_files(&source, &mut files);
        }
        silent.extend(files.into_iter().filter(|file| {
            let text = fs::read_to_string(file).expect("a readable source file");
            // Unit tests have the idea of the module that they test.
            let inside = file.strip_prefix(&source).expect("a file below the folder");
            let tests = inside.iter().any(|part| part == "tests" || part == "tests.rs");
            !tests && !text.starts_with("//!")
        }));
    }
    assert!(silent.is_empty(), "files without a module comment at the top: {silent:#?}");
}
