//! The clauses of every kernel, by random launches on the device in `OPENVM_METAL_DEVICE` (the CPU by default).

use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::{check_clauses, Device, MetalContext};

fn check(device: Device, rounds: usize) {
    let context = MetalContext::new(device, &[&LIBRARY]).expect("the device");
    let report = check_clauses(&context.stream(), &LIBRARY, rounds, 1).expect("right clauses");
    assert!(
        report.without_launch.is_empty(),
        "no launch was found for {:?}",
        report.without_launch
    );
    // Their addresses come from tables in device memory, or their rounds from words of bits.
    let mut unchecked = report.unchecked;
    unchecked.sort_unstable();
    assert_eq!(
        unchecked,
        [
            "commit_encode_columns",
            "commit_gather",
            "constraint_collect_openings",
            "constraint_eq_tables",
            "constraint_eval_base",
            "constraint_eval_base_single",
            "constraint_eval_ext",
            "constraint_eval_ext_single",
            "constraint_eval_leaves",
            "constraint_extend",
            "constraint_finish_round",
            "constraint_fold_mle",
            "constraint_fold_ple",
            "constraint_gather",
            "constraint_join_sums",
            "constraint_logup_weights",
            "constraint_open_next",
            "constraint_place_weights",
            "constraint_sum",
            "ntt_chunks",
            "ntt_columns",
            "ntt_columns_in_place",
            "ntt_small",
            "ntt_tall_columns",
            "ntt_tall_columns_ext_small",
            "ntt_tall_runs",
            "ntt_tall_runs_ext",
            "ntt_tall_runs_ext_small",
            "stacked_batch_rows",
            "stacked_column_values",
            "stacked_eq_weights",
            "stacked_fold_blocks",
            "stacked_fold_round",
            "stacked_skip_fold",
            "stacked_skip_sums",
            "stacked_sum_slots",
        ]
    );
    println!("{} kernels", report.launched.len());
}

#[test]
fn launches_stay_within_the_required_lengths() {
    let device = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => Device::from_env().expect("a device"),
        Err(_) => Device::Cpu,
    };
    check(device, 40);
}

#[test]
fn launches_on_fibers_stay_within_the_required_lengths() {
    check(Device::CpuConformance, 4);
}

/// The counts for Apple GPUs have one row for each kernel, and no row for a kernel that is gone.
#[test]
fn every_kernel_has_a_count() {
    let table = include_str!("../../../../tools/apple_static/counts.tsv");
    let mut rows: Vec<&str> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next())
        .collect();
    let units = LIBRARY.units.iter();
    let mut kernels: Vec<&str> = units
        .flat_map(|u| u.kernels.iter().map(|k| k.name))
        .collect();
    rows.sort_unstable();
    kernels.sort_unstable();
    assert_eq!(rows, kernels, "tools/apple-static --update");
}
