//! The distribution as a picture: two histograms over one axis, in one file that needs nothing else.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 20.0;
/// Height of one histogram.
const ROW: f64 = 150.0;
const BARS: usize = 48;

/// A named list of values.
pub struct Series<'a> {
    /// Said above its histogram.
    pub name: &'a str,
    /// Any CSS colour.
    pub colour: &'a str,
    /// What is counted.
    pub values: &'a [i64],
}

/// Histograms of `series` over one axis, which always has the zero on it, as SVG.
pub fn histograms(title: &str, unit: &str, series: &[Series<'_>]) -> String {
    let all = || series.iter().flat_map(|series| series.values).copied().chain([0]);
    let (low, high) = (all().min().unwrap_or(0) as f64, all().max().unwrap_or(0) as f64);
    let room = ((high - low) * 0.05).max(1.0);
    let (low, high) = (low - room, high + room);
    let x = |value: f64| LEFT + (value - low) / (high - low) * (RIGHT - LEFT);

    let height = 60.0 + ROW * series.len() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    for (row, series) in series.iter().enumerate() {
        let bottom = 60.0 + ROW * (row + 1) as f64;
        draw(&mut svg, series, bottom, (low, high), x);
    }
    let bottom = height - 40.0;
    let zero = x(0.0);
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<line x1=\"{zero:.1}\" y1=\"40\" x2=\"{zero:.1}\" y2=\"{bottom}\" stroke=\"black\" \
         stroke-dasharray=\"4 3\"/>\n\
         <text x=\"{zero:.1}\" y=\"{:.1}\" text-anchor=\"middle\">0: the producer's clock</text>\n",
        bottom + 30.0
    );
    for value in [low + room, high - room] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value:.0} {}</text>",
            x(value),
            bottom + 15.0,
            escaped(unit)
        );
    }
    svg + "</svg>\n"
}

fn draw(
    svg: &mut String,
    series: &Series<'_>,
    bottom: f64,
    (low, high): (f64, f64),
    x: impl Fn(f64) -> f64,
) {
    let bin = (high - low) / BARS as f64;
    let mut counts = [0usize; BARS];
    for value in series.values {
        let at = ((*value as f64 - low) / bin) as usize;
        counts[at.min(BARS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"{}\">{}</text>\n\
         <line x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{RIGHT}\" y2=\"{bottom}\" stroke=\"gray\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{most}</text>\n",
        bottom - ROW + 22.0,
        series.colour,
        escaped(series.name),
        LEFT - 6.0,
        bottom - ROW + 45.0,
    );
    for (at, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let left = x(low + bin * at as f64);
        let right = x(low + bin * (at + 1) as f64);
        let tall = (ROW - 40.0) * count as f64 / most as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"{}\"/>",
            bottom - tall,
            right - left - 1.0,
            series.colour
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_left_and_right_of_the_zero() {
        let early = Series { name: "a < b", colour: "red", values: &[-20, -10, -10] };
        let late = Series { name: "late", colour: "blue", values: &[30] };
        let svg = histograms("title", "ns", &[early, late]);
        let bars = |colour: &str| -> Vec<f64> {
            let bar = format!("fill=\"{colour}\"/>");
            svg.lines()
                .filter(|line| line.starts_with("<rect") && line.contains(&bar))
                .map(|line| line.split('"').nth(1).unwrap().parse().unwrap())
                .collect()
        };
        let zero = svg.lines().find(|line| line.contains("dasharray")).unwrap();
        let zero: f64 = zero.split('"').nth(1).unwrap().parse().unwrap();
        let (red, blue) = (bars("red"), bars("blue"));
        assert_eq!((red.len(), blue.len()), (2, 1));
        assert!(red.iter().all(|x| *x < zero) && blue[0] > zero, "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("30 ns"), "{svg}");
    }

    #[test]
    fn one_value_is_a_picture_too() {
        let one = Series { name: "one", colour: "red", values: &[0] };
        assert!(histograms("t", "u", &[one]).matches("<rect").count() == 2);
    }
}
