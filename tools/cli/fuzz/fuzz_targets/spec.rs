//! Every text is a launch description or an error with a place in it.
#![no_main]

use baton_cli::commands::check::spec::Spec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Spec::parse(text) {
        let (line, column) = error.place(text);
        assert!(line >= 1 && column >= 1 && !error.help.is_empty());
    }
});
