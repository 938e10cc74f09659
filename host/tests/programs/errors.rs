//! What the driver may answer, to any of its functions: the list is the library's own, of all that it ever calls.

use proptest::prelude::*;

/// Codes that leave a context as it is: a value, memory, a handle, a capture, and one that only newer drivers have.
pub const CODES: [u32; 5] = [1, 2, 400, 900, 917];

/// Codes after which a context is lost.
pub const TERMINAL: [u32; 3] = [700, 719, 999];

/// Which call is refused, and with which code.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// This function, as long as the operation goes on.
    Function(&'static str, u32),
    /// One call, whichever it is: the one of this number from the beginning of the operation.
    Call(usize, u32),
}

/// All functions that the library calls.
pub fn functions() -> Vec<&'static str> {
    let source = include_str!("../../src/driver/gpu/api.rs");
    let (_, list) = source.split_once("\nfunctions! {\n").unwrap();
    let (list, _) = list.split_once("\n}\n").unwrap();
    let functions: Vec<_> =
        list.lines().filter_map(|line| Some(line.trim().split_once('(')?.0)).collect();
    assert!(functions.len() > 50 && functions.iter().all(|name| name.starts_with("cu")));
    functions
}

impl Trouble {
    pub fn any() -> impl Strategy<Value = Self> {
        let codes = prop_oneof![
            30 => prop::sample::select(&CODES[..]),
            1 => prop::sample::select(&TERMINAL[..]),
        ];
        let function = (prop::sample::select(functions()), codes.clone());
        prop_oneof![
            function.prop_map(|(function, code)| Self::Function(function, code)),
            (0..40usize, codes).prop_map(|(call, code)| Self::Call(call, code)),
        ]
    }

    /// As the stand-in wants it.
    pub fn wish(self) -> String {
        match self {
            Self::Function(function, code) => format!("{function}:{code}"),
            Self::Call(call, code) => format!("@{call}:{code}"),
        }
    }

    pub fn is_terminal(self) -> bool {
        let (Self::Function(_, code) | Self::Call(_, code)) = self;
        TERMINAL.contains(&code)
    }
}
