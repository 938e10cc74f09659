//! `docs/performance.md`: the model's figures of every product here, and of what others have published.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use baton_bench_model::{B200, Bound, H200, Kernel, Machine, Square};
use gemm_blackwell_kernel as blackwell;
use gemm_hopper_kernel::{cooperative, multicast};

/// A product, what it is called, and where it is.
struct Row {
    name: &'static str,
    machine: Machine,
    kernel: Kernel,
    here: bool,
}

fn rows() -> Vec<Row> {
    let row = |name, machine, kernel, here| Row { name, machine, kernel, here };
    let narrow = Kernel::new((gemm_hopper_kernel::TILE_M, gemm_hopper_kernel::TILE_N))
        .waiting_for_its_epilogue(1500);
    let wide = Kernel::new((cooperative::TILE_M, cooperative::TILE_N))
        .multiplied_in_parts_of(64)
        .waiting_for_its_epilogue(4200)
        .in_groups_of(8);
    let shared = multicast::PEERS;
    let one = Kernel::new((blackwell::TILE_M, blackwell::TILE_N));
    let pair = Kernel::new((blackwell::pair::TILE_M, blackwell::pair::TILE_N));
    let pair = pair.by_a_pair().in_groups_of(8);
    vec![
        row("`gemm`, 64 × 128", H200, narrow, true),
        row("`gemm_cooperative`, 128 × 256, two warpgroups", H200, wide, true),
        row("`gemm_multicast`, the same in clusters of 2", H200, wide.sharing(1, shared), true),
        row(
            "`gemm_multicast_bf16`, the same into bf16",
            H200,
            wide.sharing(1, shared).storing(2),
            true,
        ),
        row("`gemm_f32`, 128 × 128", B200, one, true),
        row("`gemm_bf16`, 128 × 128", B200, one.storing(2), true),
        row("`gemm_pair_f32`, pair 256 × 256", B200, pair, true),
        row("`gemm_pair_bf16`, pair 256 × 256", B200, pair.storing(2), true),
        // The residual is as many bytes again.
        row("`gemm_fused`, with bias, gelu and residual", B200, pair.storing(2 + 2), true),
        row(
            "128 × 256, two warpgroups, in clusters of 2, epilogue overlapped",
            H200,
            Kernel::new((128, 256))
                .multiplied_in_parts_of(64)
                .sharing(2, 1)
                .storing(2)
                .in_groups_of(8),
            false,
        ),
    ]
}

/// Published: who, on what, and 10¹² operations in a second at 4096³ and 8192³.
const PUBLISHED: [(&str, &str, [Option<u32>; 2]); 8] = [
    ("cuBLAS, one run", "B200", [Some(1359), Some(1414)]),
    ("cuBLAS, another", "B200", [Some(1507), None]),
    ("ThunderKittens", "B200", [Some(1540), None]),
    ("gau-nernst", "B200", [Some(1326), Some(1246)]),
    ("cuTile Rust, f16", "B200", [None, Some(2070)]),
    ("cuda-oxide `gemm_sol_final`", "B300", [Some(1524), Some(1868)]),
    ("fast.cu", "H100", [Some(763), Some(808)]),
    ("cuBLAS beside it", "H100", [Some(716), Some(795)]),
];

fn page() -> String {
    let mut page = String::from(
        "<!-- Generated: BATON_BLESS=1 cargo test --release -p baton-bench-model -->\n\
         # How fast the products could be, by a model\n\n\
         **Every figure in the first table is a model's, not a measurement**: no product here has been timed on a GPU. `bench/model` knows \
         four rates of a machine, and what a kernel needs of each for a k-block of its tile; the slowest decides. Power limits, bank \
         conflicts and issue are not in it, so real figures lie lower. It is good for comparing shapes of tiles.\n\n",
    );
    let assumptions = |m: &Machine| {
        format!(
            "* {}: {} SMs at {:.3} GHz; in a clock of an SM {} operations (bf16), {} bytes from L2, {} bytes of shared memory; {:.1} TB/s from memory.\n",
            m.name,
            m.sms,
            m.clock / 1e9,
            m.flops,
            m.l2,
            m.shared,
            m.memory * m.clock / 1e12,
        )
    };
    page += "It assumes:\n\n";
    page += &assumptions(&B200);
    page += &assumptions(&H200);
    page += "* 2500 clocks until the first stage is there; an epilogue that nothing overlaps takes 1500 clocks for 64 × 128 and 4200 for \
             128 × 256, of each tile, and one that the next tile overlaps 900 once.\n\
             * Tiles are in waves of as many as there are SMs (or pairs of them); the last wave takes as long as a full one.\n\
             * The bytes from L2 of the B200 are fitted to one published kernel of 128 × 128 tiles.\n\n";
    page +=
        "| product (model) | machine | here | 4096³ | 8192³ | bound |\n|---|---|---|--:|--:|---|\n";
    for Row { name, machine, kernel, here } in rows() {
        let [small, large] = [4096, 8192].map(|extent| kernel.on(&machine, Square(extent)));
        let figure =
            |of: f64, tflops: f64| format!("{:.0} %, {tflops:.0} TFLOP/s (model)", 100.0 * of);
        writeln!(
            page,
            "| {name} | {} | {} | {} | {} | {} |",
            machine.name,
            if here { "yes" } else { "no" },
            figure(small.of_peak, small.tflops),
            figure(large.of_peak, large.tflops),
            large.bound,
        )
        .expect("a string takes it");
    }
    page += "\n## What others have published\n\nMeasured by them, each on machines and at clocks of their own; TFLOP/s, bf16 where nothing else is said.\n\n\
             | who | machine | 4096³ | 8192³ |\n|---|---|--:|--:|\n";
    for (who, machine, figures) in PUBLISHED {
        let [small, large] =
            figures.map(|figure| figure.map_or("–".to_owned(), |f| f.to_string()));
        writeln!(page, "| {who} | {machine} | {small} | {large} |").expect("a string takes it");
    }
    page
}

#[test]
fn the_page_is_what_the_model_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
    let page = page();
    if env::var_os("BATON_BLESS").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, page, "docs/performance.md is out of date: BATON_BLESS=1 writes it again");
}

/// A tile that is not loaded twice as often is not bound by L2.
#[test]
fn wider_tiles_leave_l2_behind() {
    let narrow = Kernel::new((64, 128)).on(&H200, Square(8192));
    let wide =
        Kernel::new((128, 256)).multiplied_in_parts_of(64).sharing(1, 2).on(&H200, Square(8192));
    assert_eq!(narrow.bound, Bound::L2);
    assert_ne!(wide.bound, Bound::L2);
    assert!(wide.of_peak > 2.0 * narrow.of_peak);
}

/// The figure that the bytes from L2 of the B200 are fitted to.
#[test]
fn a_tile_of_128_by_128_is_bound_by_l2_at_half_the_peak() {
    let estimate = Kernel::new((128, 128)).on(&B200, Square(8192));
    assert_eq!(estimate.bound, Bound::L2);
    assert!((0.45..0.50).contains(&estimate.of_peak), "{estimate:?}");
}
