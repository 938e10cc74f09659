//! Runs PTX on the CPU.
