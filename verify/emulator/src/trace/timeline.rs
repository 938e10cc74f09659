//! The trace as a page that needs nothing else: a row of SVG for each lane.
//!
//! Widths are percentages, so that a wider row is a closer look; text inside a span is cut off where
//! the span ends. What is narrower than a pixel of the largest picture is left out, and the page
//! says so.

use std::fmt::Write as _;

use super::{Activity, Actor, Lane, Span, Trace};

const PAGE: &str = include_str!("timeline.html");

/// Spans of a page; beyond them the shortest are left out.
const DRAWN: usize = 20_000;

impl Trace {
    /// The page; `title` and `about` are what it says above the picture.
    pub fn timeline(&self, title: &str, about: &str) -> String {
        let end = self.end().max(1);
        let shortest = self.shortest();
        let drawn = |span: &&Span| span.end - span.start >= shortest;
        let left_out = self.spans.iter().filter(|span| !drawn(span)).count();

        let mut rows = axis(end);
        let lanes = self.lanes();
        let mut blocks: Vec<[u32; 3]> = lanes.iter().map(|lane| lane.block).collect();
        blocks.dedup();
        // A picture of many CTAs keeps their barriers folded.
        let fold = if blocks.len() > 2 { "" } else { " open" };
        for [x, y, z] in blocks {
            let _ = writeln!(rows, "<details open><summary>CTA ({x}, {y}, {z})</summary>");
            let of_block = lanes.iter().filter(|lane| lane.block == [x, y, z]);
            let (barriers, others): (Vec<&&Lane>, Vec<&&Lane>) =
                of_block.partition(|lane| matches!(lane.actor, Actor::Barrier(_)));
            let drawn = |lane: &Lane| {
                let spans = self.spans.iter().filter(|span| span.lane == *lane);
                row(lane, spans.filter(drawn), end)
            };
            rows.extend(others.into_iter().map(|lane| drawn(lane)));
            if !barriers.is_empty() {
                let count = barriers.len();
                let _ = writeln!(
                    rows,
                    "<details class=\"barriers\"{fold}><summary>mbarriers ({count})</summary>"
                );
                rows.extend(barriers.into_iter().map(|lane| drawn(lane)));
                rows += "</details>\n";
            }
            rows += "</details>\n";
        }

        let mut about = about.to_owned();
        about += " Time is virtual: it counts a warp's instructions and an engine's bytes, and shows what \
                  waited for what in this schedule, not durations on a GPU.";
        if left_out > 0 {
            let _ = write!(
                about,
                " {left_out} of {} spans are too short to be drawn.",
                self.spans.len()
            );
        }
        if self.cut {
            about += " The run was longer than what was recorded.";
        }
        PAGE.replace("TITLE", &escaped(title))
            .replace("ABOUT", &escaped(&about))
            .replace("LANES", &rows)
    }

    /// The length below which spans are left out, so that not too many remain.
    fn shortest(&self) -> u64 {
        if self.spans.len() <= DRAWN {
            return 0;
        }
        let mut lengths: Vec<u64> = self.spans.iter().map(|span| span.end - span.start).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths[DRAWN] + 1
    }
}

fn row<'a>(lane: &Lane, spans: impl Iterator<Item = &'a Span>, end: u64) -> String {
    let class = if matches!(lane.actor, Actor::Barrier(_)) { " barrier" } else { "" };
    let name = escaped(&lane.actor.to_string());
    let mut row = format!("<div class=\"lane{class}\"><span class=\"name\">{name}</span><svg>");
    for (i, span) in spans.enumerate() {
        let parity = if span.activity == Activity::Phase && i % 2 == 1 { " odd" } else { "" };
        let (x, width) = (percent(span.start, end), percent(span.end - span.start, end));
        let _ = write!(
            row,
            "<svg class=\"s {}{parity}\" x=\"{x}%\" width=\"{width}%\" height=\"24\">",
            span.activity.name()
        );
        row += match span.activity {
            Activity::Wait => {
                "<rect y=\"6\" width=\"100%\" height=\"12\"/><line y1=\"18\" y2=\"18\" x2=\"100%\"/>"
            }
            Activity::Phase => "<rect y=\"4\" width=\"100%\" height=\"16\"/>",
            _ => "<rect y=\"3\" width=\"100%\" height=\"18\" rx=\"2\" style=\"min-width:1px\"/>",
        };
        if span.activity != Activity::Run {
            let _ = write!(row, "<text x=\"4\" y=\"16\">{}</text>", escaped(short(span)));
        }
        let _ = write!(row, "<title>{}</title></svg>", escaped(&span.story().join("\n")));
    }
    row + "</svg></div>\n"
}

/// What stands in a span.
fn short(span: &Span) -> &str {
    let end = span.label.find(';').unwrap_or(span.label.len());
    span.label[..end].trim_start_matches("waits ")
}

/// Round numbers along the top.
fn axis(end: u64) -> String {
    // 1, 2, 10, 20, 100 …
    let mut step = 1u64;
    while end / step > 12 {
        step *= if step.to_string().starts_with('2') { 5 } else { 2 };
    }
    let mut row =
        String::from("<div class=\"lane axis\"><span class=\"name\">virtual time</span><svg>");
    let mut at = 0;
    while at <= end {
        let x = percent(at, end);
        let _ = write!(
            row,
            "<line x1=\"{x}%\" x2=\"{x}%\" y1=\"14\" y2=\"24\"/><svg x=\"{x}%\" overflow=\"visible\"><text x=\"3\" y=\"14\">{at}</text></svg>"
        );
        at += step;
    }
    row + "</svg></div>\n"
}

fn percent(part: u64, whole: u64) -> String {
    let text = format!("{:.4}", part as f64 * 100.0 / whole as f64);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
