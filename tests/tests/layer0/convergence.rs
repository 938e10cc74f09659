//! A collective that the source has once stays one instruction, where a compiler would copy it.

use baton_builder::Arch;

use crate::ptx;

#[test]
fn collectives_are_not_copied() {
    let ptx = ptx("convergence", Arch::Sm100a);
    let mut kernels = 0;
    for text in ptx.split(".visible .entry ").skip(1) {
        let name = text.split('(').next().expect("a name");
        let copies = text.matches("//@baton collective").count();
        // A loop may be unrolled; that its copies lie on one path is what the builder checks.
        let enough = if name == "barrier_in_loop" { copies > 0 } else { copies == 1 };
        assert!(enough, "{name} has {copies} copies of its collective\n{text}");
        kernels += 1;
    }
    assert_eq!(kernels, 10);
}
