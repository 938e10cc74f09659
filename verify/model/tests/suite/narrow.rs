//! Tests with atomic operations of 8 and 16 bits. PTX has none, but the definitions do not care about
//! sizes, and the fewer bytes there are, the more the simple implementation can do.

use baton_model::litmus::{LitmusError, Test};
use baton_model::program::{Address, Op, Program, Type};

/// Reads a test whose locations may be narrow (`w` excepted), and the accesses to them as well.
pub fn parse(text: &str) -> Result<Test, LitmusError> {
    let mut wide = String::new();
    for line in text.lines() {
        let other = line.contains("[w") || line.starts_with("location w");
        wide += &match other {
            true => line.to_owned(),
            false => line
                .replace(".u8 ", ".u32 ")
                .replace(".u16 ", ".u32 ")
                .replace("global u8", "global u32")
                .replace("global u16", "global u32"),
        };
        wide.push('\n');
    }
    let mut test = Test::parse(&wide, "random")?;
    for (name, bits) in text.lines().filter_map(declared) {
        narrow(&mut test.program, name, bits / 8);
    }
    Ok(test)
}

/// The name and the bits that `location x global u8 = 0` declares.
fn declared(line: &str) -> Option<(&str, u32)> {
    let (name, ty) = line.trim().strip_prefix("location ")?.split_once(" global u")?;
    Some((name, ty.split(' ').next()?.parse().ok()?))
}

fn narrow(program: &mut Program, name: &str, bytes: u32) {
    let Some(at) = program.memories.iter().position(|memory| memory.name == name) else { return };
    if bytes >= program.memories[at].ty.bytes {
        return;
    }
    program.memories[at].ty.bytes = bytes;
    program.memories[at].init.truncate(bytes as usize);
    let views = program.views.clone();
    let shrink = |address: &Address, ty: &mut Type| {
        if let Address::Named(view, _) = address
            && views[*view].memory == at
        {
            ty.bytes = bytes;
        }
    };
    for instruction in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        match &mut instruction.op {
            Op::Load(_, ty, _, _, address) | Op::Store(_, ty, _, _, address) => shrink(address, ty),
            Op::Rmw(rmw) => shrink(&rmw.at, &mut rmw.ty),
            _ => {}
        }
    }
}
