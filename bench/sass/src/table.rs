//! Counting: the classes of instructions that synchronise, and the whole.

use std::fmt::Write;

use baton_tests::code::Opcodes;

/// A class of opcodes: its name, and what belongs to it.
type Class = (&'static str, fn(&str) -> bool);

/// The classes of the table.
const CLASSES: [Class; 13] = [
    ("SYNCS", |opcode| opcode.starts_with("SYNCS")),
    ("BAR", |opcode| opcode.starts_with("BAR") || opcode.starts_with("UCGABAR")),
    ("MEMBAR", |opcode| opcode.starts_with("MEMBAR")),
    ("FENCE", |opcode| opcode.starts_with("FENCE")),
    ("CCTL", |opcode| opcode.starts_with("CCTL")),
    ("ERRBAR", |opcode| opcode.starts_with("ERRBAR") || opcode.starts_with("CGAERRBAR")),
    ("ATOM/RED", |opcode| {
        opcode.starts_with("ATOM") || opcode.starts_with("RED.") || opcode.starts_with("REDG")
    }),
    ("strong LD/ST", |opcode| {
        (opcode.starts_with("LD") || opcode.starts_with("ST")) && opcode.contains(".STRONG")
    }),
    ("UTMA", |opcode| opcode.starts_with("UTMA")),
    ("UTC", |opcode| opcode.starts_with("UTC")),
    ("ELECT/VOTE", |opcode| opcode.starts_with("ELECT") || opcode.starts_with("VOTE")),
    ("WARPSYNC", |opcode| opcode.starts_with("WARPSYNC")),
    ("LDGSTS", |opcode| {
        opcode.starts_with("LDGSTS")
            || opcode.starts_with("LDGDEPBAR")
            || opcode.starts_with("DEPBAR")
    }),
];

/// One kernel: how often each class occurs, ours and theirs.
pub struct Row {
    kernel: &'static str,
    classes: [[usize; 2]; CLASSES.len()],
    total: [usize; 2],
}

impl Row {
    pub fn new(kernel: &'static str, ours: &Opcodes, theirs: &Opcodes) -> Self {
        let both = |count: &dyn Fn(&Opcodes) -> usize| [count(ours), count(theirs)];
        let classes = CLASSES.map(|(_, belongs)| {
            both(&|opcodes| {
                let members = opcodes.iter().filter(|(opcode, _)| belongs(opcode));
                members.map(|(_, count)| count).sum()
            })
        });
        // NOPs are padding.
        let total = both(&|opcodes| {
            let real = opcodes.iter().filter(|(opcode, _)| !opcode.starts_with("NOP"));
            real.map(|(_, count)| count).sum()
        });
        Self { kernel, classes, total }
    }

    /// The sum of all rows.
    fn sum(rows: &[Self]) -> Self {
        let zero = Self { kernel: "all of them", classes: Default::default(), total: [0; 2] };
        rows.iter().fold(zero, |mut sum, row| {
            let add = |sum: &mut [usize; 2], row: [usize; 2]| {
                sum.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
            };
            sum.classes.iter_mut().zip(row.classes).for_each(|(sum, row)| add(sum, row));
            add(&mut sum.total, row.total);
            sum
        })
    }

    /// Where we have more.
    fn losses(&self) -> String {
        let classes = CLASSES.iter().zip(self.classes);
        let lost = classes.filter(|(_, [ours, theirs])| ours > theirs).map(|((name, _), _)| *name);
        let longer = self.total[0] as f64 > 1.05 * self.total[1] as f64;
        lost.chain(longer.then_some("total")).collect::<Vec<_>>().join(", ")
    }
}

/// The table, in Markdown: `ours / theirs` in each place.
pub fn text(rows: &[Row]) -> String {
    let mut text = String::from("| kernel |");
    for (name, _) in CLASSES {
        // Writing to a string cannot fail.
        let _ = write!(text, " {name} |");
    }
    text += " all | more than C++ in |\n|---|";
    text += &"---|".repeat(CLASSES.len() + 2);
    text.push('\n');
    for row in rows.iter().chain([&Row::sum(rows)]) {
        let _ = write!(text, "| {} |", row.kernel);
        for [ours, theirs] in row.classes {
            let _ = match (ours, theirs) {
                (0, 0) => write!(text, " |"),
                _ => write!(text, " {ours} / {theirs} |"),
            };
        }
        let [ours, theirs] = row.total;
        let _ = writeln!(text, " {ours} / {theirs} | {} |", row.losses());
    }
    let [ours, theirs] = Row::sum(rows)
        .classes
        .into_iter()
        .fold([0; 2], |sum, class| [sum[0] + class[0], sum[1] + class[1]]);
    let ratio = ours as f64 / theirs as f64;
    let _ = writeln!(text, "\nIn all classes together: {ours} / {theirs}, {ratio:.3} times.");
    text
}

/// Opcodes that occur a different number of times.
pub fn print_differences(kernel: &str, ours: &Opcodes, theirs: &Opcodes) {
    println!("{kernel}: opcode, ours, C++");
    let mut all: Vec<_> = ours.keys().chain(theirs.keys()).collect();
    all.sort();
    all.dedup();
    for opcode in all {
        let [ours, theirs] = [ours, theirs].map(|map| map.get(opcode).copied().unwrap_or(0));
        if ours != theirs {
            println!("  {opcode:40} {ours:4} {theirs:4}");
        }
    }
}
