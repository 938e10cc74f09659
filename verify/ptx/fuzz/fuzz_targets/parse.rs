//! Every text is a module or an error with a place in it.
#![no_main]

use baton_ptx::Module;
use baton_ptx::lines::LineTable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Module::parse(text, "fuzz") {
        Ok(module) => {
            // What was parsed can be printed.
            let bodies = module.functions.iter().flat_map(|function| &function.body);
            for instruction in bodies.flat_map(|body| &body.instructions) {
                assert!(!module.text(instruction).is_empty());
            }
        }
        Err(error) => assert!(error.line as usize <= text.matches('\n').count() + 1),
    }
    let _ = LineTable::parse(text);
});
