//! The commands, one module each: its arguments, then what it does.

pub mod build;
pub mod bundle;
pub mod check;
pub mod cuda;
pub mod doctor;
pub mod litmus;
pub mod new;
pub mod run;
pub mod test;
