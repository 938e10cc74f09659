//! A witness as an SVG drawing, laid out here: a column for each thread, a row for each operation in
//! it, one curve for each pair of a relation.
//!
//! Curves never run through a box: between neighbouring columns they stay in the gap, inside one column
//! they bow into the gap beside it, and past other columns they run between the rows. Each end has a
//! place of its own on its side of the box, and each label one where it covers nothing.

use std::fmt::Write as _;

use super::{Edge, Name, Witness};

const ROW: f64 = 62.0;
const TOP: f64 = 88.0;
const GAP: f64 = 110.0;
const MARGIN: f64 = 60.0;
const LETTER: f64 = 7.3;
const HEIGHT: f64 = 30.0;

struct Box {
    x: f64,
    y: f64,
    width: f64,
    column: usize,
}

impl Box {
    /// The x of a side: 1 is right, -1 left.
    fn side(&self, side: f64) -> f64 {
        self.x + side * self.width / 2.0
    }
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
            let width = letters.max().unwrap_or(8) as f64 * LETTER + 24.0;
            heads.push((left + width / 2.0, name));
            for _ in own {
                let y = TOP + rows[thread] as f64 * ROW;
                rows[thread] += 1;
                boxes.push(Box { x: left + width / 2.0, y, width, column: thread });
            }
            left += width + GAP;
        }
        let used: Vec<Name> =
            Name::ALL.into_iter().filter(|n| self.edges.iter().any(|e| e.relation == *n)).collect();
        let bottom = TOP + rows.iter().max().copied().unwrap_or(0) as f64 * ROW - HEIGHT;
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
        let mut taken: Vec<Label> = boxes.iter().map(Label::of_box).collect();
        let curves = curves(&boxes, &self.edges);
        for (curve, edge) in curves.iter().zip(&self.edges) {
            svg += &curve.draw(edge.relation);
        }
        // Labels last: nothing is drawn over them.
        for (curve, edge) in curves.iter().zip(&self.edges) {
            let label = curve.label(edge.relation, &taken);
            svg += &label.draw(edge.relation);
            taken.push(label);
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

type Point = (f64, f64);

/// Cubic pieces, each beginning where the one before ends.
struct Curve(Vec<[Point; 4]>);

/// The side on which an edge leaves or reaches a box: towards the other end, and inside one column the
/// side that the edge's number gives.
fn side(from: &Box, to: &Box, number: usize) -> f64 {
    match from.column.cmp(&to.column) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Greater => -1.0,
        std::cmp::Ordering::Equal if number.is_multiple_of(2) => 1.0,
        std::cmp::Ordering::Equal => -1.0,
    }
}

fn curves(boxes: &[Box], edges: &[Edge]) -> Vec<Curve> {
    // Both ends of all edges: the box, the side, the y of the other end, the edge, whether it leaves.
    let mut ends = vec![];
    for (number, edge) in edges.iter().enumerate() {
        let (from, to) = (&boxes[edge.from], &boxes[edge.to]);
        ends.push((edge.from, side(from, to, number), to.y, number, true));
        let back = if from.column == to.column { 1.0 } else { -1.0 };
        ends.push((edge.to, back * side(from, to, number), from.y, number, false));
    }
    // In the order of the other ends, so that curves from one box do not cross.
    ends.sort_by(|a, b| (a.0, a.1, a.2).partial_cmp(&(b.0, b.1, b.2)).unwrap_or(a.3.cmp(&b.3)));
    let mut places = vec![[(0.0, 0.0); 2]; edges.len()];
    for group in ends.chunk_by(|a, b| a.0 == b.0 && (a.1 - b.1).abs() < 0.5) {
        let step = (HEIGHT - 8.0) / group.len().max(3) as f64;
        for (index, (at, side, _, number, leaves)) in group.iter().enumerate() {
            let offset = (index as f64 - (group.len() - 1) as f64 / 2.0) * step;
            let place = (boxes[*at].side(*side), boxes[*at].y + offset);
            places[*number][usize::from(!leaves)] = place;
        }
    }
    edges
        .iter()
        .enumerate()
        .map(|(number, edge)| {
            let [start, end] = places[number];
            Curve::between(boxes, edge, start, end, number)
        })
        .collect()
}

impl Curve {
    fn between(boxes: &[Box], edge: &Edge, start: Point, end: Point, number: usize) -> Curve {
        let (from, to) = (&boxes[edge.from], &boxes[edge.to]);
        let towards = side(from, to, number);
        let spread = (number % 5) as f64 * 4.0 - 8.0;
        if from.column == to.column {
            let bow = towards * (28.0 + (end.1 - start.1).abs() / 12.0).min(GAP / 2.0 - 8.0);
            let control = start.0 + bow + towards * spread;
            return Curve(vec![[start, (control, start.1), (control, end.1), end]]);
        }
        if from.column.abs_diff(to.column) == 1 {
            let middle = (start.0 + end.0) / 2.0;
            return Curve(vec![[start, (middle, start.1), (middle, end.1), end]]);
        }
        // Past other columns: in the lane beside the first row, towards the last one.
        let lane = if to.y > from.y { 0.5 } else { -0.5 };
        let lane = from.y + lane * ROW + spread;
        let (first, last) = (start.0 + towards * GAP * 0.6, end.0 - towards * GAP * 0.6);
        let near = |x: f64| x + towards * GAP * 0.3;
        Curve(vec![
            [start, (near(start.0), start.1), (near(start.0), lane), (first, lane)],
            [(first, lane), (first, lane), (last, lane), (last, lane)],
            [(last, lane), (near(last), lane), (near(last), end.1), end],
        ])
    }

    fn draw(&self, relation: Name) -> String {
        let mut path = String::new();
        for (index, [a, b, c, d]) in self.0.iter().enumerate() {
            if index == 0 {
                let _ = write!(path, "M{:.0},{:.0}", a.0, a.1);
            }
            let _ =
                write!(path, " C{:.0},{:.0} {:.0},{:.0} {:.0},{:.0}", b.0, b.1, c.0, c.1, d.0, d.1);
        }
        format!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" marker-end=\"url(#{})\"/>\n",
            relation.colour(),
            relation.short()
        )
    }

    /// The point after a share of the pieces.
    fn at(&self, share: f64) -> Point {
        let whole = share * self.0.len() as f64;
        let index = (whole as usize).min(self.0.len() - 1);
        let t = whole - index as f64;
        let weights =
            [(1.0 - t).powi(3), 3.0 * t * (1.0 - t).powi(2), 3.0 * t * t * (1.0 - t), t.powi(3)];
        let sum = |of: fn(&Point) -> f64| {
            self.0[index].iter().zip(weights).map(|(point, weight)| of(point) * weight).sum()
        };
        (sum(|p| p.0), sum(|p| p.1))
    }

    /// A place for the label: the nearest to the middle that covers nothing, else the middle.
    fn label(&self, relation: Name, taken: &[Label]) -> Label {
        let steps = (0..9).flat_map(|step| [0.5 + 0.04 * step as f64, 0.5 - 0.04 * step as f64]);
        let labels = || steps.clone().map(|share| Label::new(self.at(share), relation));
        let free = labels().find(|label| !taken.iter().any(|other| label.covers(other)));
        free.unwrap_or_else(|| Label::new(self.at(0.5), relation))
    }
}

/// A rectangle that must stay readable.
struct Label {
    middle: Point,
    width: f64,
    height: f64,
}

impl Label {
    fn new(middle: Point, relation: Name) -> Self {
        Label { middle, width: relation.short().len() as f64 * 6.8 + 4.0, height: 13.0 }
    }

    fn of_box(area: &Box) -> Self {
        Label { middle: (area.x, area.y), width: area.width, height: HEIGHT }
    }

    fn covers(&self, other: &Label) -> bool {
        (self.middle.0 - other.middle.0).abs() < (self.width + other.width) / 2.0
            && (self.middle.1 - other.middle.1).abs() < (self.height + other.height) / 2.0
    }

    fn draw(&self, relation: Name) -> String {
        let (x, y) = self.middle;
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"white\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{}\" font-size=\"11\" text-anchor=\"middle\">{}</text>\n",
            x - self.width / 2.0,
            y - self.height / 2.0,
            self.width,
            self.height,
            y + 3.5,
            relation.colour(),
            relation.short()
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
