//! A witness as text.

use std::fmt;

use super::Witness;

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (thread, name) in self.threads.iter().enumerate() {
            writeln!(f, "{name}")?;
            for (index, event) in self.events.iter().enumerate().filter(|(_, e)| e.thread == thread)
            {
                let outside = if event.asynchronous { "  (asynchronous)" } else { "" };
                writeln!(f, "  e{index}: {}{outside}", self.labels[index])?;
            }
        }
        for name in super::Name::ALL {
            let pairs: Vec<String> = self
                .edges
                .iter()
                .filter(|edge| edge.relation == name)
                .map(|edge| format!("e{} -> e{}", edge.from, edge.to))
                .collect();
            if !pairs.is_empty() {
                writeln!(f, "{}: {}", name.long(), pairs.join(", "))?;
            }
        }
        for (name, value) in self.registers.iter().chain(&self.finals) {
            writeln!(f, "finally {name} = {value:#x}")?;
        }
        Ok(())
    }
}
