//! A type that prints as the text at an address of its own choice.

#[derive(Clone, Copy)]
struct Address(u64);

impl baton::print::Show for Address {
    type Conversion = baton::print::Text;
    fn bits(self) -> u64 {
        self.0
    }
}

fn main() {}
