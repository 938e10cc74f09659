//! Descriptions that are refused, each with its place and a way out.

use baton_emulator::tensor_map::{L2Promotion, OobFill, Swizzle};

use super::*;

const GOOD: &str = r#"
grid = [4, 1, 1]
block = 128
cluster = 2
shared = 4096
steps = 10_000_000
arguments = [
    { pointer = "in" }, { pointer = { buffer = "out", offset = 64 } },
    { u8 = 255 }, { u16 = 1 }, { u32 = 7 }, { u64 = 0xFFFF_FFFF_FFFF }, { i8 = -128 }, { i16 = -1 },
    { i32 = -7 }, { i64 = -9 }, { f16 = 1.5 }, { bf16 = 2 }, { f32 = inf }, { f64 = 1e300 },
    { bytes = [1, 2, 3] }, { fields = [{ pointer = "in" }, { u8 = 1 }] }, { tensor_map = "tiles" }, { tensor_map = "column" },
]

[buffer.in]
type = "f32"
elements = 1024
fill = "random"
seed = 3

[buffer.out]
type = "bf16"
elements = 3
fill = "none"
expect = [1, 2.5, -3]
tolerance = 1e-5

[tensor_map.tiles]
buffer = "in"
type = "f32"
dims = [32, 32]
strides = [128]
box = [32, 8]
element_strides = [1, 2]
interleave = "none"
swizzle = "128b"
l2_promotion = "256b"
oob_fill = "nan"

[tensor_map.column]
buffer = "in"
type = "f32"
dims = [4, 4, 4, 4]
im2col = { lower = [-1, -1], upper = [-1, -1], channels = 4, pixels = 16 }
"#;

#[test]
fn every_key_is_read() {
    let spec = Spec::parse(GOOD).unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(spec.launches[0].arguments.len(), 18);
    let tiles = spec.tensor_maps["tiles"].get_ref().desc(1 << 20).expect("a map");
    assert_eq!((tiles.swizzle, tiles.oob_fill), (Swizzle::B128, OobFill::Nan));
    assert_eq!((tiles.element_strides[1], tiles.l2_promotion), (2, L2Promotion::B256));
    let column = spec.tensor_maps["column"].get_ref().desc(1 << 20).expect("a map");
    assert_eq!(column.im2col.map(|i| (i.lower, i.pixels)), Some(([-1, -1, 0], 16)));
    assert_eq!(column.global_strides[..3], [16, 64, 256]);
}

#[test]
fn what_an_extent_leaves_out_is_one() {
    for (given, extent) in [("4", [4, 1, 1]), ("[2, 3]", [2, 3, 1]), ("[5]", [5, 1, 1])] {
        let text = GOOD.replace("grid = [4, 1, 1]", &format!("grid = {given}"));
        let text = text.replace("cluster = 2\n", "");
        let spec = Spec::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(spec.launches[0].grid.get_ref().get(), extent);
    }
}

/// A change of the good description, with the place and words of the error.
#[track_caller]
fn refused(from: &str, to: &str, place: (usize, usize), words: &str) {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let error = Spec::parse(&text).expect_err("a description that is wrong");
    assert_eq!(error.place(&text), place, "{error:?}");
    let all = format!("{}; {}", error.problem, error.help);
    assert!(all.contains(words), "{all}");
    assert!(!error.help.is_empty(), "no way out: {all}");
}

#[test]
fn unknown_keys_are_refused_where_they_are() {
    refused("shared = 4096", "shard = 4096", (5, 1), "unknown field `shard`");
    refused("seed = 3", "sed = 3", (18, 1), "unknown field `sed`");
    refused("oob_fill =", "oobfill =", (37, 1), "unknown field `oobfill`");
    refused("{ u8 = 255 }", "{ u9 = 255 }", (9, 7), "unknown variant `u9`");
    refused("offset = 64", "ofset = 64", (8, 25), "the name of a buffer, or");
    refused("pixels = 16", "pixel = 16", (43, 62), "unknown field `pixel`");
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    refused("grid = [4, 1, 1]", "grid = [4, 1, 1, 1]", (2, 8), "a number, or up to three");
    refused("grid = [4, 1, 1]", "grid = []", (2, 8), "a number, or up to three");
    refused("grid = [4, 1, 1]", "grid = \"4\"", (2, 8), "a number, or up to three");
    refused("grid = [4, 1, 1]", "grid = -4", (2, 8), "a number, or up to three");
    refused("grid = [4, 1, 1]", "grid = 99999999999999999999", (2, 8), "not fit into 64 bits");
    refused("elements = 3", "elements = 99999999999999999999", (22, 12), "not fit into 64 bits");
    refused("{ u8 = 255 }", "{ u8 = 256 }", (9, 12), "256");
    refused("type = \"bf16\"", "type = \"bf17\"", (21, 8), "unknown variant `bf17`");
    refused("fill = \"none\"", "fill = \"empty\"", (23, 8), "`zero`, `iota`");
    refused("swizzle = \"128b\"", "swizzle = \"129b\"", (35, 11), "unknown variant `129b`");
    refused("block = 128\n", "", (1, 1), "missing field `block`");
    refused("block = 128", "block = ", (3, 9), "");
}

#[test]
fn what_no_device_has_is_refused() {
    refused("grid = [4, 1, 1]", "grid = 0", (2, 8), "has a zero");
    refused("grid = [4, 1, 1]", "grid = [4, 70000, 1]", (2, 8), "direction 1");
    refused("block = 128", "block = [64, 64, 1]", (3, 9), "4096 in all");
    refused("cluster = 2", "cluster = 3", (4, 11), "not made of clusters");
    refused("cluster = 2", "cluster = 32", (4, 11), "32");
    refused("shared = 4096", "shared = 400000", (5, 10), "at most 232448");
    refused("steps = 10_000_000", "steps = 0", (6, 9), "0 steps");
}

#[test]
fn sizes_that_overflow_or_do_not_fit_are_refused() {
    refused("elements = 1024", "elements = 9223372036854775807", (16, 12), "2^64");
    refused("elements = 1024", "elements = 1000000000", (16, 12), "use at most 1073741824");
    refused("elements = 1024", "elements = -1", (16, 12), "-1");
    refused("elements = 3", "elements = 4", (24, 10), "a list of 3 for 4");
    refused("elements = 1024\n", "", (14, 1), "how many elements");
    refused("dims = [32, 32]", "dims = [4294967296, 4294967296, 4294967296]", (31, 11), "stride");
    refused("expect = [1, 2.5, -3]", "expect = \"random\"", (24, 10), "cannot be `random`");
}

#[test]
fn what_has_no_meaning_is_refused() {
    refused("fill = \"random\"", "fill = 1", (18, 8), "nothing is random");
    refused("tolerance = 1e-5", "tolerance = -1.0", (25, 13), "-1");
    refused("fill = \"none\"", "fill = \"zero\"\nfile = \"a\"", (23, 8), "both `fill` and `file`");
    refused(
        "pointer = \"in\"",
        "pointer = \"on\"",
        (8, 5),
        "no buffer is called `on`; there is in, out",
    );
    refused(
        "tensor_map = \"tiles\"",
        "tensor_map = \"t\"",
        (11, 75),
        "no tensor map is called `t`",
    );
    refused("buffer = \"in\"\ntype", "buffer = \"x\"\ntype", (27, 1), "no buffer is called `x`");
    refused("box = [32, 8]", "box = [33, 8]", (32, 7), "16 bytes");
    refused("box = [32, 8]", "", (27, 1), "either `box` or `im2col`");
    refused("lower = [-1, -1]", "lower = [-1]", (43, 10), "a corner with 1 numbers");
    refused("swizzle = \"128b\"", "swizzle = \"64b\"", (32, 7), "swizzle B64 spans");
    refused("dims = [32, 32]", "dims = [0, 32]", (30, 8), "0 elements");
    refused("strides = [128]", "strides = [100]", (31, 11), "a multiple of 16");
    refused("dims = [32, 32]", "offset = 4\ndims = [32, 32]", (30, 10), "not a multiple of 16");
    refused("element_strides = [1, 2]", "element_strides = [1]", (33, 19), "1 element_strides");
}

const THREE: &str = r#"
steps = 1000
[[launch]]
kernel = "fill"
grid = 2
block = 32
arguments = [{ pointer = "data" }]
[[launch]]
kernel = "scale"
dependent = true
grid = 1
block = [8, 8]
shared = 64
[[launch]]
grid = 1
block = 1
dependent = false
[buffer.data]
type = "u32"
elements = 64
"#;

#[test]
fn launches_stand_one_behind_the_other() {
    let spec = Spec::parse(THREE).unwrap_or_else(|e| panic!("{e:?}"));
    let of = |launch: &Launch| {
        let kernel = launch.kernel.as_ref().map(|kernel| kernel.get_ref().clone());
        (
            kernel,
            launch.dependent.as_ref().is_some_and(|d| *d.get_ref()),
            launch.block.get_ref().get(),
        )
    };
    let all: Vec<_> = spec.launches.iter().map(of).collect();
    assert_eq!(all[0], (Some("fill".into()), false, [32, 1, 1]));
    assert_eq!(all[1], (Some("scale".into()), true, [8, 8, 1]));
    assert_eq!(all[2], (None, false, [1, 1, 1]));
}

#[test]
fn launches_that_make_no_sense_are_refused() {
    let refused = |from: &str, to: &str, place: (usize, usize), words: &str| {
        assert!(THREE.contains(from), "{from}");
        let text = THREE.replacen(from, to, 1);
        let error = Spec::parse(&text).expect_err("a description that is wrong");
        assert_eq!(error.place(&text), place, "{error:?}");
        let all = format!("{}; {}", error.problem, error.help);
        assert!(all.contains(words), "{all}");
    };
    refused("steps = 1000", "grid = 4", (2, 8), "`grid` stands outside of the launches");
    refused("steps = 1000", "arguments = []", (2, 13), "`arguments` stands outside");
    refused("block = 32\n", "", (3, 1), "missing field `block`");
    refused("kernel = \"fill\"", "dependent = true", (4, 13), "nothing is launched before it");
    refused("pointer = \"data\"", "pointer = \"date\"", (7, 14), "no buffer is called `date`");
    refused("grid = 1\nblock = [8, 8]", "grid = 0\nblock = 8", (11, 8), "has a zero");
    refused("dependent = true", "dependend = true", (10, 1), "unknown field `dependend`");
    refused(
        "[[launch]]\nkernel = \"fill\"",
        "[launch]\nkernel = \"fill\"",
        (8, 3),
        "duplicate key",
    );
}
