use std::sync::Arc;

use openvm_metal_backend::{
    openings::stacked_reduction::{
        host_log_rows, prove_stacked_reduction, ReductionPlan, StackedCommit,
    },
    prelude::{EF, SC},
    MetalProverConfig, MetalSliceOwned, StackedRange,
};
use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{
    proof::StackingProof,
    prover::{
        stacked_reduction::{prove_stacked_opening_reduction, StackedReductionCpu},
        CpuColMajorBackend, ReferenceDevice,
    },
    FiatShamirTranscript, SystemParams,
};
use rand::{rngs::StdRng, Rng, SeedableRng};

use crate::{
    commits::{random_shape, Commit, Shape},
    contexts,
    params::{Small, SMALL},
    transcript::{on_device, prover_config, SmallestWitness},
};

/// Proves with the reference, with host gates 0, `gate` and "everything" on each device, and on the device's transcript.
fn check(seed: u64, params: SystemParams, shapes: &[Shape], gate: usize) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let config = SC::default_from_params(params.clone());
    let commits: Vec<Commit> = shapes
        .iter()
        .map(|s| Commit::random(rng, &config, s))
        .collect();
    let r: Vec<EF> = {
        let mut sponge = SmallestWitness::new(seed + 1);
        (0..=params.n_stack).map(|_| sponge.sample_ext()).collect()
    };

    let device = ReferenceDevice::new(config);
    let mut transcript = SmallestWitness::new(seed);
    let (expected, expected_u) = prove_stacked_opening_reduction::<
        SC,
        CpuColMajorBackend<SC>,
        _,
        _,
        StackedReductionCpu<SC>,
    >(
        &device,
        &mut transcript,
        params.n_stack,
        commits.iter().map(|c| &c.data).collect(),
        commits.iter().map(|c| c.need_rot.clone()).collect(),
        &r,
    );
    let next: EF = transcript.sample_ext();

    for ctx in contexts() {
        let s = ctx.stream();
        for gate in [Some(0), Some(gate), Some(30), None] {
            let ranges: Vec<_> = commits.iter().map(|c| c.ranges(rng, &s)).collect();
            let views: Vec<StackedCommit<'_>> = commits
                .iter()
                .zip(&ranges)
                .map(|(c, ranges)| StackedCommit {
                    layout: &c.data.layout,
                    ranges,
                    need_rot: &c.need_rot,
                })
                .collect();
            let config = prover_config(gate);
            let (proof, u, found) = match gate {
                Some(_) => {
                    let transcript = SmallestWitness::new(seed);
                    prove(&s, &config, transcript, &params, &views, &r)
                }
                None => prove(&s, &config, on_device(&s, seed), &params, &views, &r),
            };
            let what = format!(
                "seed {seed}, gate {gate:?}, {:?}, {shapes:?}",
                ctx.info().kind
            );
            assert_eq!(
                proof.univariate_round_coeffs, expected.univariate_round_coeffs,
                "s_0: {what}"
            );
            for (i, (ours, theirs)) in proof
                .sumcheck_round_polys
                .iter()
                .zip(&expected.sumcheck_round_polys)
                .enumerate()
            {
                assert_eq!(ours, theirs, "round {}: {what}", i + 1);
            }
            assert_eq!(proof, expected, "{what}");
            assert_eq!(u, expected_u, "{what}");
            assert_eq!(found, next, "{what}");
        }
    }
}

/// The proof, the point, and what the transcript samples next.
fn prove<TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    mut transcript: TS,
    params: &SystemParams,
    views: &[StackedCommit<'_>],
    r: &[EF],
) -> (StackingProof<SC>, Vec<EF>, EF) {
    let (l_skip, n_stack) = (params.l_skip, params.n_stack);
    let log_rows = host_log_rows(s, config, &transcript);
    let planned = ReductionPlan::new(l_skip, n_stack, views, log_rows).expect("a plan");
    let planned = planned.upload(s).expect("jobs");
    let proof = prove_stacked_reduction(s, config, &mut transcript, &planned, views, r);
    let (proof, u) = proof.expect("proof");
    (proof, u, transcript.sample_ext())
}

#[test]
fn random_layouts_equal_the_reference() {
    for (i, small) in SMALL.iter().enumerate() {
        for repeat in 0..2 {
            let seed = 100 * i as u64 + repeat;
            let rng = &mut StdRng::seed_from_u64(!seed);
            let params = small.params();
            let shapes: Vec<Shape> = (0..rng.random_range(1..=3))
                .map(|_| random_shape(rng, &params))
                .collect();
            check(seed, params, &shapes, 6);
        }
    }
}

/// Small parameters of this skip domain and hypercube.
fn small(l_skip: usize, n_stack: usize) -> SystemParams {
    let small = Small {
        l_skip,
        n_stack,
        k_whir: 1,
        log_final_poly_len: 0,
        ..SMALL[0]
    };
    small.params()
}

#[test]
fn degenerate_layouts_equal_the_reference() {
    // Without a skip domain, without hypercube variables, one column, only the tallest trace.
    check(1, small(0, 6), &[vec![(6, 2), (3, 3), (0, 5)]], 3);
    check(2, small(4, 0), &[vec![(4, 2), (2, 3), (0, 5)]], 3);
    check(3, small(2, 5), &[vec![(0, 1)]], 3);
    check(4, small(2, 5), &[vec![(7, 3)]], 3);
    check(
        5,
        small(2, 5),
        &[vec![(7, 1)], vec![(0, 1)], vec![(3, 2)]],
        3,
    );
    check(6, small(0, 1), &[vec![(1, 1)]], 3);
}

/// Jobs name cells of the ranges that they were planned for, and what the host finishes.
#[test]
fn a_plan_of_other_commitments_or_another_transcript_is_refused() {
    let params = small(2, 5);
    let config = SC::default_from_params(params.clone());
    let rng = &mut StdRng::seed_from_u64(8);
    let shapes: [Shape; 2] = [vec![(7, 3)], vec![(7, 1)]];
    let commits = shapes.map(|shape| Commit::random(rng, &config, &shape));
    let s = contexts()[0].stream();
    let ranges = commits.each_ref().map(|commit| commit.ranges(rng, &s));
    let view = |k: usize| StackedCommit {
        layout: &commits[k].data.layout,
        ranges: &ranges[k],
        need_rot: &commits[k].need_rot,
    };
    let r = vec![EF::default(); params.n_stack + 1];
    let refused = |gate: Option<usize>, of: usize, by: usize| {
        let config = prover_config(gate);
        let mut transcript = SmallestWitness::new(1);
        let log_rows = host_log_rows(&s, &prover_config(Some(3)), &transcript);
        let (l_skip, n_stack) = (params.l_skip, params.n_stack);
        let plan = ReductionPlan::new(l_skip, n_stack, &[view(of)], log_rows).expect("a plan");
        let planned = plan.upload(&s).expect("jobs");
        let commits = [view(by)];
        let proved = prove_stacked_reduction(&s, &config, &mut transcript, &planned, &commits, &r);
        proved.err().map(|error| error.to_string())
    };
    assert_eq!(refused(Some(3), 0, 0), None);
    let other = refused(Some(3), 0, 1).expect("an error");
    assert!(other.contains("other commitments"), "{other}");
    let other = refused(Some(5), 0, 0).expect("an error");
    assert!(other.contains("another transcript"), "{other}");
}

/// Kernels read the cells that a plan names: it is made of ranges that hold all columns, and of these alone.
#[test]
fn a_plan_of_ranges_without_the_columns_is_refused() {
    let params = small(2, 5);
    let config = SC::default_from_params(params.clone());
    let rng = &mut StdRng::seed_from_u64(9);
    let commit = Commit::random(rng, &config, &vec![(6, 3), (3, 2)]);
    let s = contexts()[0].stream();
    let whole = commit.ranges(&mut StdRng::seed_from_u64(1), &s);
    let cells: Vec<_> = commit.data.matrix.values.clone();
    let range = |start: usize, end: usize| {
        let buffer = MetalBuffer::from_host(&s, &cells[start..end]).expect("upload");
        StackedRange {
            start: start as u64,
            cells: MetalSliceOwned::new(Arc::new(buffer), 0, end - start),
        }
    };
    let plan = |ranges: &[StackedRange], need_rot: &[bool], n_stack: usize| {
        let view = StackedCommit {
            layout: &commit.data.layout,
            ranges,
            need_rot,
        };
        let plan = ReductionPlan::new(2, n_stack, &[view], 3);
        plan.err().map(|error| error.to_string())
    };
    let refused = |ranges: &[StackedRange], need_rot: &[bool], n_stack: usize, why: &str| {
        let text = plan(ranges, need_rot, n_stack).expect("an error");
        assert!(text.contains(why), "{text}");
    };
    let (rows, all) = (1 << 6, cells.len());
    assert_eq!(plan(&whole, &[true; 2], 5), None);
    assert_eq!(
        plan(&[range(0, rows), range(rows, all)], &[true; 2], 5),
        None
    );
    refused(&[], &[true; 2], 5, "hold 0 of 3 columns");
    refused(&[range(0, 2 * rows)], &[true; 2], 5, "hold 2 of 3 columns");
    let cut = [range(0, rows + 4), range(rows + 4, all)];
    refused(&cut, &[true; 2], 5, "cuts a column");
    refused(&whole, &[true], 5, "no rotation flag for matrix 1");
    refused(&whole, &[true; 2], 3, "in stacked matrices of 2^5");
}
