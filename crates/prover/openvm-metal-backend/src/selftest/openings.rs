//! The stacked reduction against the reference's, whose every message and challenge is compared.

use std::sync::Arc;

use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    prover::{
        stacked_pcs::{stacked_commit, StackedPcsData},
        stacked_reduction::{prove_stacked_opening_reduction, StackedReductionCpu},
        ColMajorMatrix, CpuColMajorBackend, ReferenceDevice,
    },
    FiatShamirTranscript, StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge;

use super::{compare, prover::params, Check, CheckEnv, CheckFailure};
use crate::{
    config::MetalProverConfig,
    matrix::MetalSliceOwned,
    openings::stacked_reduction::{
        host_log_rows, prove_stacked_reduction, ReductionPlan, StackedCommit,
    },
    prelude::{Digest, EF, F, SC},
    stacked::StackedRange,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "openings",
        name: "stacked_reduction",
        run: small_layouts,
    },
    Check {
        group: "openings",
        name: "stacked_reduction_of_many",
        run: many_commitments,
    },
    Check {
        group: "openings",
        name: "stacked_reduction_large",
        run: large_layout,
    },
];

/// Log-heights and widths of the traces of a commitment, tallest first.
type Traces = Vec<(usize, usize)>;

struct Commit {
    data: StackedPcsData<F, Digest>,
    need_rot: Vec<bool>,
}

fn commit(env: &mut CheckEnv, config: &SC, traces: &Traces) -> Result<Commit, CheckFailure> {
    let rng = &mut env.rng;
    let columns = traces
        .iter()
        .map(|&(log_height, width)| ColMajorMatrix::new(rng.fs(width << log_height), width));
    let columns: Vec<_> = columns.collect();
    let params = config.params();
    let oracle = |_| CheckFailure::Oracle {
        what: format!("{traces:?}"),
    };
    let (_, data) = stacked_commit(
        config.hasher(),
        params.l_skip,
        params.n_stack,
        params.log_blowup,
        params.k_whir(),
        &columns.iter().collect::<Vec<_>>(),
    )
    .map_err(oracle)?;
    let need_rot = traces.iter().map(|_| rng.below(2) == 1).collect();
    Ok(Commit { data, need_rot })
}

fn check(
    env: &mut CheckEnv,
    (l_skip, n_stack): (usize, usize),
    commits: &[Traces],
    gates: &[usize],
) -> Result<(), CheckFailure> {
    let config = SC::default_from_params(params(l_skip, n_stack, 2));
    let made = commits.iter().map(|traces| commit(env, &config, traces));
    let made: Vec<Commit> = made.collect::<Result<_, _>>()?;
    let r = env.rng.efs(1 + n_stack);
    let mut theirs = default_duplex_sponge();
    let (expected, expected_u) = prove_stacked_opening_reduction::<
        SC,
        CpuColMajorBackend<SC>,
        _,
        _,
        StackedReductionCpu<SC>,
    >(
        &ReferenceDevice::new(config),
        &mut theirs,
        n_stack,
        made.iter().map(|c| &c.data).collect(),
        made.iter().map(|c| c.need_rot.clone()).collect(),
        &r,
    );
    let next = FiatShamirTranscript::<SC>::sample(&mut theirs);

    let ranges = made.iter().map(|commit| {
        let cells = Arc::new(MetalBuffer::from_host(env.s, &commit.data.matrix.values)?);
        let cells = MetalSliceOwned::new(cells.clone(), 0, cells.len());
        Ok(vec![StackedRange { start: 0, cells }])
    });
    let ranges: Vec<Vec<StackedRange>> = ranges.collect::<Result<_, CheckFailure>>()?;
    let views = made
        .iter()
        .zip(&ranges)
        .map(|(commit, ranges)| StackedCommit {
            layout: &commit.data.layout,
            ranges,
            need_rot: &commit.need_rot,
        });
    let views: Vec<StackedCommit<'_>> = views.collect();
    let on_host = gates.iter().map(|&gate| (gate, false));
    for (gate, on_device) in on_host.chain([(0, true)]) {
        let config = MetalProverConfig {
            mle_host_log_rows: gate,
            transcript_on_device: Some(on_device),
            ..MetalProverConfig::default()
        };
        let mut ours = default_duplex_sponge();
        let log_rows = host_log_rows(env.s, &config, &ours);
        let planned = ReductionPlan::new(l_skip, n_stack, &views, log_rows)?.upload(env.s)?;
        let (proof, u) =
            prove_stacked_reduction::<SC, _>(env.s, &config, &mut ours, &planned, &views, &r)?;
        let what =
            || format!("{commits:?}, l_skip {l_skip}, gate 2^{gate}, on the device: {on_device}");
        let flat = |rounds: &[[EF; 2]]| rounds.concat();
        let (coeffs, rounds) = (&proof.univariate_round_coeffs, &proof.sumcheck_round_polys);
        compare(what, coeffs, &expected.univariate_round_coeffs)?;
        compare(what, &flat(rounds), &flat(&expected.sumcheck_round_polys))?;
        let openings = proof.stacking_openings.concat();
        compare(what, &openings, &expected.stacking_openings.concat())?;
        compare(what, &u, &expected_u)?;
        compare(
            what,
            &[FiatShamirTranscript::<SC>::sample(&mut ours)],
            &[next],
        )?;
    }
    Ok(())
}

/// Heights from one row on; without a skip domain, without variables, all on the device and all on the host.
fn small_layouts(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let gates = [0, 3, 5, 30];
    check(env, (0, 6), &[vec![(6, 1), (3, 3), (0, 5)]], &gates)?;
    check(env, (4, 0), &[vec![(4, 3), (2, 1), (0, 5)]], &gates)?;
    let mixed = vec![(7, 3), (6, 1), (3, 5), (2, 1), (1, 2), (0, 3)];
    check(env, (2, 5), &[mixed], &gates)?;
    check(env, (4, 4), &[vec![(8, 1), (5, 3)], vec![(1, 1)]], &gates)
}

/// More ranges than one dispatch takes, several of them of one height.
fn many_commitments(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let traces = (0..11).map(|i| vec![(2 + i % 5, 1 + i % 3)]);
    check(env, (2, 4), &traces.collect::<Vec<_>>(), &[0, 4])
}

/// Heights whose ranges are added in place, and one whose columns are split; more rows than 2^16.
fn large_layout(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    if env.conformance() {
        return check(env, (4, 6), &[vec![(10, 3), (9, 67)]], &[0, 6]);
    }
    let first = vec![(17, 1), (16, 1), (11, 67), (4, 1)];
    check(env, (4, 13), &[first, vec![(17, 3)]], &[0, 6])
}
