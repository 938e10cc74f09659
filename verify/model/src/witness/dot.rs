//! A witness for Graphviz.

use std::fmt::Write as _;

use super::Witness;

impl Witness {
    /// The execution as a `digraph`: threads as columns, relations by colour.
    pub fn dot(&self) -> String {
        let mut text =
            String::from("digraph execution {\n  node [shape=box, fontname=\"monospace\"];\n");
        for (thread, name) in self.threads.iter().enumerate() {
            let _ = writeln!(text, "  subgraph cluster_{thread} {{\n    label={};", quoted(name));
            let own: Vec<usize> =
                (0..self.events.len()).filter(|e| self.events[*e].thread == thread).collect();
            for event in &own {
                let style = if self.events[*event].asynchronous { ", style=dashed" } else { "" };
                let _ =
                    writeln!(text, "    e{event} [label={}{style}];", quoted(&self.labels[*event]));
            }
            let ordered: Vec<&usize> =
                own.iter().filter(|e| !self.events[**e].asynchronous).collect();
            for pair in ordered.windows(2) {
                let _ = writeln!(text, "    e{} -> e{} [color=gray];", pair[0], pair[1]);
            }
            text += "  }\n";
        }
        for edge in &self.edges {
            let (name, colour) = (edge.relation.short(), edge.relation.colour());
            let _ = writeln!(
                text,
                "  e{} -> e{} [label=\"{name}\", color=\"{colour}\", fontcolor=\"{colour}\", constraint=false];",
                edge.from, edge.to
            );
        }
        text + "}\n"
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
