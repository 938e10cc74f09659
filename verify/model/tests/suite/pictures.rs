//! The pictures of `docs/memory-model.md` are what the command draws of these tests.

use std::fs;
use std::path::Path;

use baton_model::litmus::Test;
use baton_model::witness::Witness;
use baton_model::{Options, judge};

const PICTURES: [(&str, &str); 5] = [
    ("mp", "text/MP_fence_holds"),
    ("sb", "text/SB_acq_rel"),
    ("partial", "patterns/coherence_is_partial"),
    ("tear", "bytes/tear_two_writes"),
    ("complete-tx", "async/complete_tx_is_not_transitive"),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is shown of a test: an execution with the outcome, or else one with a race.
fn drawn(path: &Path) -> Witness {
    let test = Test::parse(&read(path), "picture").unwrap_or_else(|error| panic!("{error}"));
    let verdict = judge(&test.program, &test.condition, &Options::default());
    let verdict = verdict.unwrap_or_else(|error| panic!("{error}"));
    verdict.witness.or(verdict.racing).expect("an execution to show")
}

#[test]
fn the_pictures_are_up_to_date() {
    for (picture, test) in PICTURES {
        let path = root().join(format!("docs/memory-model/{picture}.svg"));
        let svg = drawn(&root().join(format!("tests/litmus/{test}.litmus"))).svg();
        if std::env::var_os("BATON_BLESS").is_some() {
            fs::write(&path, &svg).expect("the picture can be written");
        }
        assert!(read(&path) == svg, "{picture}.svg differs: BATON_BLESS=1 draws it again");
    }
}

/// The numbers behind `name="` in a tag.
fn attribute(tag: &str, name: &str) -> Option<f64> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"')?.0.parse().ok()
}

type Point = (f64, f64);

/// Boxes of operations, and points on the curves.
fn drawing(svg: &str) -> (Vec<[f64; 4]>, Vec<Vec<Point>>) {
    let mut boxes = vec![];
    let mut curves = vec![];
    for line in svg.lines() {
        if line.starts_with("<rect") && line.contains("rx=") {
            boxes
                .push(["x", "y", "width", "height"].map(|name| attribute(line, name).expect(name)));
        }
        if let Some((_, path)) =
            line.split_once("<path d=\"M").filter(|_| line.contains("fill=\"none\""))
        {
            let path = path.split_once('"').expect("an end").0;
            let numbers: Vec<f64> = path
                .split([',', ' ', 'C'])
                .filter(|part| !part.is_empty())
                .map(|part| part.parse().expect("a number"))
                .collect();
            let points: Vec<Point> = numbers.chunks(2).map(|p| (p[0], p[1])).collect();
            let mut curve = vec![];
            for piece in 0..(points.len() - 1) / 3 {
                let p = &points[3 * piece..3 * piece + 4];
                for step in 0..=40 {
                    let t = f64::from(step) / 40.0;
                    let weights = [
                        (1.0 - t).powi(3),
                        3.0 * t * (1.0 - t).powi(2),
                        3.0 * t * t * (1.0 - t),
                        t.powi(3),
                    ];
                    let sum = |of: fn(&Point) -> f64| {
                        p.iter().zip(weights).map(|(point, w)| of(point) * w).sum::<f64>()
                    };
                    curve.push((sum(|p| p.0), sum(|p| p.1)));
                }
            }
            curves.push(curve);
        }
    }
    (boxes, curves)
}

#[test]
fn no_curve_runs_through_a_box() {
    let files = ["text/IRIW_one_location", "tcgen05/D2_no_before", "families/IRIW_gpu_acq_rel_gpu"];
    let tests = PICTURES.iter().map(|(_, test)| *test).chain(files);
    for test in tests {
        let path = root().join(format!("tests/litmus/{test}.litmus"));
        if !path.exists() {
            panic!("{} is gone", path.display());
        }
        let svg = drawn(&path).svg();
        let (boxes, curves) = drawing(&svg);
        assert!(!boxes.is_empty() && !curves.is_empty(), "{test}: nothing drawn");
        for (x, y) in curves.iter().flatten() {
            // Ends touch a side.
            let inside = |b: &&[f64; 4]| {
                *x > b[0] + 1.5
                    && *x < b[0] + b[2] - 1.5
                    && *y > b[1] + 1.5
                    && *y < b[1] + b[3] - 1.5
            };
            assert!(boxes.iter().find(inside).is_none(), "{test}: a curve at {x:.0}, {y:.0}");
        }
    }
}
