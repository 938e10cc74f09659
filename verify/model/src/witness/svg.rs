//! A witness as an SVG drawing, laid out here: a column for each thread, a row for each operation in
//! it, one curve for each pair of a relation.

use std::fmt::Write as _;

use super::{Name, Witness};

const ROW: f64 = 62.0;
const TOP: f64 = 64.0;
const GAP: f64 = 110.0;
const MARGIN: f64 = 60.0;
const LETTER: f64 = 7.3;
const HEIGHT: f64 = 30.0;

struct Box {
    x: f64,
    y: f64,
    width: f64,
}

impl Witness {
    /// The execution as a picture.
    pub fn svg(&self) -> String {
        let mut boxes: Vec<Box> = vec![];
        let mut rows = vec![0usize; self.threads.len()];
        let mut left = MARGIN;
        let mut heads = vec![];
        for (thread, name) in self.threads.iter().enumerate() {
            let own: Vec<usize> =
                (0..self.events.len()).filter(|e| self.events[*e].thread == thread).collect();
            let letters =
                own.iter().map(|e| self.labels[*e].chars().count()).chain([name.chars().count()]);
            let width = letters.max().unwrap_or(8) as f64 * LETTER + 18.0;
            heads.push((left + width / 2.0, name));
            for _ in own {
                let y = TOP + rows[thread] as f64 * ROW;
                rows[thread] += 1;
                boxes.push(Box { x: left + width / 2.0, y, width });
            }
            left += width + GAP;
        }
        let used: Vec<Name> =
            Name::ALL.into_iter().filter(|n| self.edges.iter().any(|e| e.relation == *n)).collect();
        let bottom = TOP + rows.iter().max().copied().unwrap_or(0) as f64 * ROW;
        let width = (left - GAP + MARGIN).max(140.0 * used.len() as f64 + 40.0);
        let height = bottom + 40.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"monospace\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs>\n"
        );
        for name in Name::ALL {
            let _ = writeln!(
                svg,
                "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
                 markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"{}\"/></marker>",
                name.short(),
                name.colour()
            );
        }
        svg += "</defs>\n";
        for (x, name) in heads {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.0}\" y=\"28\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>",
                escaped(name)
            );
        }
        // Program order: a grey line from box to box.
        for thread in 0..self.threads.len() {
            let own: Vec<usize> = (0..self.events.len())
                .filter(|e| self.events[*e].thread == thread && !self.events[*e].asynchronous)
                .collect();
            for pair in own.windows(2) {
                let (a, b) = (&boxes[pair[0]], &boxes[pair[1]]);
                let _ = writeln!(
                    svg,
                    "<line x1=\"{0:.0}\" y1=\"{1:.0}\" x2=\"{0:.0}\" y2=\"{2:.0}\" stroke=\"#bbb\"/>",
                    a.x,
                    a.y + HEIGHT / 2.0,
                    b.y - HEIGHT / 2.0
                );
            }
        }
        for (index, at) in boxes.iter().enumerate() {
            let dash =
                if self.events[index].asynchronous { " stroke-dasharray=\"4 3\"" } else { "" };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.0}\" y=\"{:.0}\" width=\"{:.0}\" height=\"{HEIGHT}\" rx=\"5\" \
                 fill=\"#f6f8fa\" stroke=\"#57606a\"{dash}/>\
                 <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                at.x - at.width / 2.0,
                at.y - HEIGHT / 2.0,
                at.width,
                at.x,
                at.y + 4.0,
                escaped(&self.labels[index])
            );
        }
        for (number, edge) in self.edges.iter().enumerate() {
            svg += &curve(&boxes[edge.from], &boxes[edge.to], edge.relation, number);
        }
        for (index, name) in used.iter().enumerate() {
            let x = 20.0 + 140.0 * index as f64;
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{0:.0}\" x2=\"{1}\" y2=\"{0:.0}\" stroke=\"{2}\" stroke-width=\"2\"/>\
                 <text x=\"{3}\" y=\"{4:.0}\" fill=\"{2}\" font-size=\"11\">{5}</text>",
                height - 14.0,
                x + 18.0,
                name.colour(),
                x + 23.0,
                height - 10.0,
                name.long()
            );
        }
        svg + "</svg>\n"
    }
}

/// From the side of one box to the side of another; inside one column, a bow beside it. The number
/// spreads curves that would lie on each other.
fn curve(from: &Box, to: &Box, relation: Name, number: usize) -> String {
    let spread = (number % 5) as f64 * 7.0 - 14.0;
    let (start, end, middle) = if (from.x - to.x).abs() < 1.0 {
        let side = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let x = from.x + side * from.width / 2.0;
        let bow = x + side * (34.0 + spread);
        ((x, from.y), (x, to.y), (bow, (from.y + to.y) / 2.0))
    } else {
        let side = if from.x < to.x { 1.0 } else { -1.0 };
        let start = (from.x + side * from.width / 2.0, from.y);
        let end = (to.x - side * to.width / 2.0, to.y);
        (start, end, ((start.0 + end.0) / 2.0, (start.1 + end.1) / 2.0 + spread))
    };
    let label =
        ((start.0 + 2.0 * middle.0 + end.0) / 4.0, (start.1 + 2.0 * middle.1 + end.1) / 4.0);
    format!(
        "<path d=\"M{:.0},{:.0} Q{:.0},{:.0} {:.0},{:.0}\" fill=\"none\" stroke=\"{}\" \
         stroke-width=\"1.6\" marker-end=\"url(#{})\"/>\
         <text x=\"{:.0}\" y=\"{:.0}\" fill=\"{}\" font-size=\"11\" text-anchor=\"middle\" \
         stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
        start.0,
        start.1,
        middle.0,
        middle.1,
        end.0,
        end.1,
        relation.colour(),
        relation.short(),
        label.0,
        label.1 - 3.0,
        relation.colour(),
        relation.short()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
