//! Loops whose turns stand one behind the other in the code.
//!
//! What a loop indexes lies in memory, and not in registers, unless the compiler unrolls it; whether it does depends on how much a caller's
//! closure computes. These it cannot roll up.

/// Runs the body with `$i` = 0, 1, … below `$n`, a constant of at most 32: `unrolled!(i < N, { … })`.
macro_rules! unrolled {
    ($i:ident < $n:expr, $body:block) => {
        $crate::unrolled::unrolled!(
            @turns $i ($n) $body
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        )
    };
    (@turns $i:ident ($n:expr) $body:block $($turn:literal)*) => {
        const {
            $crate::require(
                $n <= 32,
                "rule D14: at most 32 steps stand behind each other, of 16 bytes each, or of a fragment: choose a smaller number of elements",
            )
        };
        $(
            if const { $turn < $n } {
                let $i: usize = $turn;
                $body
            }
        )*
    };
}
pub(crate) use unrolled;
