//! The trace-event format that Chrome's tracing page and Perfetto read: a process for each CTA, a
//! thread for each lane.

use std::fmt::Write as _;

use super::{Lane, Trace};

impl Trace {
    /// The trace as JSON.
    pub fn chrome(&self) -> String {
        let mut text = String::from("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
        let lanes = self.lanes();
        let mut blocks: Vec<[u32; 3]> = lanes.iter().map(|lane| lane.block).collect();
        blocks.dedup();
        let process = |lane: &Lane| blocks.iter().position(|block| *block == lane.block);
        let thread = |lane: &Lane| lanes.iter().position(|other| *other == lane);
        let mut meta = |what: &str, name: &str, pid: usize, tid: usize| {
            let _ = writeln!(
                text,
                "{{\"ph\": \"M\", \"name\": {}, \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"name\": {}}}}},",
                quoted(what),
                quoted(name)
            );
        };
        for (pid, [x, y, z]) in blocks.iter().enumerate() {
            meta("process_name", &format!("CTA ({x}, {y}, {z})"), pid, 0);
        }
        for (tid, lane) in lanes.iter().enumerate() {
            meta("thread_name", &lane.actor.to_string(), process(lane).unwrap_or(0), tid);
        }
        for (i, span) in self.spans.iter().enumerate() {
            let separator = if i == 0 { "" } else { ",\n" };
            let _ = write!(
                text,
                "{separator}{{\"ph\": \"X\", \"name\": {}, \"cat\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, \
                 \"dur\": {}, \"args\": {{\"what\": {}}}}}",
                quoted(&span.label),
                quoted(span.activity.name()),
                process(&span.lane).unwrap_or(0),
                thread(&span.lane).unwrap_or(0),
                span.start,
                span.end - span.start,
                quoted(&span.story().join("\n"))
            );
        }
        if self.spans.is_empty() {
            // The comma of the last name, if any.
            text.truncate(text.trim_end_matches([',', '\n']).len());
        }
        text + "\n]}\n"
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\n\u{1}é"), "\"a\\\"b\\\\c\\n\\u0001é\"");
    }
}
