//! Reduction of column openings to one opening of the stacked matrices (`docs/stacked-reduction.md`).
//!
//! Columns of one height are batched by powers of lambda before the sumcheck, so the sumcheck of a
//! height runs on two extension columns. A column's own value is needed only after the variables of
//! its height are bound: from then on it is one block of the stacked matrix, and the rest is a sumcheck
//! over blocks on the host.

mod batch;
mod blocks;
mod claims;
mod columns;
mod round0;
mod rounds;

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};
use openvm_stark_backend::{proof::StackingProof, FiatShamirTranscript};
use p3_field::PrimeCharacteristicRing;

pub use self::claims::StackedCommit;
use self::{
    batch::{encode_batched, Batched},
    blocks::Blocks,
    claims::{Claims, Height},
    columns::{ColumnValues, RowWeights},
    round0::{UnivariateFactors, UnivariateRound},
    rounds::{fold_table, Factors, HeightSum, Table},
};
use super::contract::Contraction;
use crate::{
    error::MetalProverError,
    prelude::{EF, SC},
    tensor,
};

/// Proves that the columns of all commitments open at `r` (and at its rotation) as the transcript says.
///
/// The bytes are those of the reference's `prove_stacked_opening_reduction`. Returns the proof and the
/// point `u` of `1 + n_stack` coordinates at which the stacked matrices are opened. Heights of at most
/// `2^host_log_rows` rows are finished on the host.
pub fn prove_stacked_reduction<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    transcript: &mut TS,
    l_skip: usize,
    n_stack: usize,
    commits: &[StackedCommit<'_>],
    r: &[EF],
    host_log_rows: usize,
) -> Result<(StackingProof<SC>, Vec<EF>), MetalProverError> {
    let _stage = s.stage("prover.openings.stacked_reduction");
    let lambda = transcript.sample_ext();
    let claims = Claims::new(l_skip, commits)?;
    let lambdas = claims.weights(lambda);
    let factors = UnivariateFactors::new(l_skip, r[0]);

    let batched = encode_batched(s, l_skip, &claims, commits, &lambdas)?;
    let host_from = claims
        .heights
        .iter()
        .position(|h| h.n <= 0 || h.log_rows <= host_log_rows)
        .unwrap_or(claims.heights.len());
    let (coeffs, host_tables) =
        univariate_round(s, l_skip, &claims.heights, &batched, host_from, &factors, r)?;
    for &coeff in &coeffs {
        transcript.observe_ext(coeff);
    }
    let mut u = vec![transcript.sample_ext()];

    let lagrange = factors.lagrange(u[0]);
    let mut sums = Vec::with_capacity(claims.heights.len());
    let device_lagrange = MetalBuffer::from_host(s, &lagrange)?;
    let mut host_tables = host_tables.into_iter();
    for (i, height) in claims.heights.iter().enumerate() {
        let table = if height.n <= 0 {
            host_tables.next();
            Table::Host(Vec::new(), Vec::new())
        } else if let Some((g0, g1)) = (i >= host_from).then(|| host_tables.next()).flatten() {
            let fold = |g: &[EF]| -> Vec<EF> {
                g.chunks_exact(lagrange.len())
                    .map(|chunk| chunk.iter().zip(&lagrange).map(|(&g, &l)| g * l).sum())
                    .collect()
            };
            Table::Host(fold(&g0), fold(&g1))
        } else {
            let (at, rows) = (batched.tables[i].offset, batched.tables[i].rows);
            let input = batched.arena.slice(at..at + 2 * rows);
            Table::Device(fold_table(
                s,
                &input,
                l_skip,
                &device_lagrange,
                height.n_lift(),
            )?)
        };
        let factors = Factors::new(&factors.at(height.n, u[0]));
        sums.push(HeightSum::new(height.n_lift(), table, factors));
    }
    drop(batched);

    let mut blocks = Blocks::default();
    let mut round_polys = Vec::with_capacity(n_stack);
    let joined = JoinedColumns {
        l_skip,
        commits,
        lambdas: &lambdas,
        lagrange: &lagrange,
    };
    for round in 1..=n_stack {
        let evals = mle_round(
            s,
            &claims.heights,
            &mut sums,
            &mut blocks,
            &joined,
            &u,
            r,
            round,
            host_log_rows,
        )?;
        for &eval in &evals {
            transcript.observe_ext(eval);
        }
        round_polys.push(evals);
        let u_round = transcript.sample_ext();
        for (height, sum) in claims.heights.iter().zip(&mut sums) {
            if round <= height.n_lift() {
                sum.bind(r[round], u_round);
            }
        }
        // Tables on the device belong to heights with variables left, which were all bound just now.
        if sums.iter().any(HeightSum::is_on_device) {
            let weights = MetalBuffer::from_host(s, &[EF::ONE - u_round, u_round])?;
            for sum in &mut sums {
                sum.fold_on_device(s, &weights)?;
            }
        }
        blocks.fold(u_round);
        u.push(u_round);
    }
    // Columns as tall as the stacked matrix are bound only now.
    let last = joined.encode(s, &claims.heights, n_stack, &u)?;
    if let Some(values) = &last {
        let read = values.buffer().to_host(s)?;
        joined.join(&claims.heights, &sums, values, &read, &mut blocks);
    }

    let stacking_openings = stacked_openings(commits, &blocks);
    for &claim in stacking_openings.iter().flatten() {
        transcript.observe_ext(claim);
    }
    let proof = StackingProof {
        univariate_round_coeffs: coeffs,
        sumcheck_round_polys: round_polys,
        stacking_openings,
    };
    Ok((proof, u))
}

/// The tables of the heights that the host finishes.
type HostTables = Vec<(Vec<EF>, Vec<EF>)>;

/// The coefficients of `s_0`, and the tables of the heights from `host_from` on: one wait.
fn univariate_round(
    s: &CommandStream,
    l_skip: usize,
    heights: &[Height],
    batched: &Batched,
    host_from: usize,
    factors: &UnivariateFactors,
    r: &[EF],
) -> Result<(Vec<EF>, HostTables), MetalProverError> {
    let arena = batched.arena.as_slice();
    let (mut contractions, mut weights) = (Vec::new(), Vec::new());
    for (height, table) in heights.iter().zip(&batched.tables).take(host_from) {
        let at = table.offset;
        let offsets = [at, at + table.rows, at + table.rows + (1 << l_skip)];
        let bits = tensor::eq_bits(&r[1..1 + height.n_lift()]);
        contractions.push(Contraction::new(&offsets, l_skip, &bits, &mut weights));
    }
    if !weights.is_empty() {
        let weights = MetalBuffer::from_host(s, &weights)?;
        for contraction in &mut contractions {
            contraction.encode(s, &arena, &weights)?;
        }
    }
    let mut slices: Vec<MetalSlice<'_, EF>> =
        contractions.iter().flat_map(|c| c.slices(arena)).collect();
    let host_start = batched
        .tables
        .get(host_from)
        .map_or(arena.len(), |t| t.offset);
    if host_start < arena.len() {
        slices.push(arena.slice(host_start..arena.len()));
    }
    let read = s.read_many(&slices)?;

    let mut round = UnivariateRound::new(factors);
    for (i, contraction) in contractions.iter().enumerate() {
        let sums = contraction.finish(&read[3 * i..3 * i + 3]);
        round.add(heights[i].n, &sums[0], &sums[1], &sums[2]);
    }
    let mut host_tables = Vec::new();
    for (height, table) in heights.iter().zip(&batched.tables).skip(host_from) {
        let at = table.offset - host_start;
        let cells = &read[3 * contractions.len()][at..at + 2 * table.rows];
        let (g0, g1) = cells.split_at(table.rows);
        s.count_host_work("stacked_reduction.round0", cells.len());
        let bits = tensor::eq_bits(&r[1..1 + height.n_lift()]);
        let mut rotated = g1.to_vec();
        rotated.rotate_left(1 << l_skip);
        round.add(
            height.n,
            &tensor::contract(g0, l_skip, &bits),
            &tensor::contract(g1, l_skip, &bits),
            &tensor::contract(&rotated, l_skip, &bits),
        );
        host_tables.push((g0.to_vec(), g1.to_vec()));
    }
    Ok((round.into_coeffs(), host_tables))
}

/// The round polynomial at 1 and 2: at most one wait, none if no table is left on the device and no
/// height has just been bound.
#[allow(clippy::too_many_arguments)]
fn mle_round(
    s: &CommandStream,
    heights: &[Height],
    sums: &mut [HeightSum],
    blocks: &mut Blocks,
    joined: &JoinedColumns<'_>,
    u: &[EF],
    r: &[EF],
    round: usize,
    host_log_rows: usize,
) -> Result<[EF; 2], MetalProverError> {
    let bound = joined.encode(s, heights, round - 1, u)?;
    let mut weights = Vec::new();
    for (height, sum) in heights.iter().zip(sums.iter_mut()) {
        if round <= height.n_lift() {
            let r = &r[round..1 + height.n_lift()];
            sum.plan(r, host_log_rows, &mut weights);
        }
    }
    if !weights.is_empty() {
        let weights = MetalBuffer::from_host(s, &weights)?;
        for sum in sums.iter_mut() {
            sum.encode(s, &weights)?;
        }
    }
    let mut slices = Vec::new();
    let mut counts = Vec::with_capacity(sums.len());
    for sum in sums.iter() {
        let of_height = sum.slices();
        counts.push(of_height.len());
        slices.extend(of_height);
    }
    slices.extend(bound.as_ref().map(|values| values.buffer().as_slice()));
    let mut read = if slices.is_empty() {
        Vec::new()
    } else {
        s.read_many(&slices)?
    }
    .into_iter();

    let mut evals = [EF::ZERO; 2];
    for ((height, sum), count) in heights.iter().zip(sums.iter_mut()).zip(counts) {
        let of_height: Vec<Vec<EF>> = read.by_ref().take(count).collect();
        if round <= height.n_lift() {
            let [one, two] = sum.round_evals(s, &r[round..1 + height.n_lift()], of_height);
            evals[0] += one;
            evals[1] += two;
        }
    }
    if let (Some(values), Some(read)) = (&bound, read.next()) {
        joined.join(heights, sums, values, &read, blocks);
    }
    let [one, two] = blocks.round_evals();
    Ok([evals[0] + one, evals[1] + two])
}

/// How columns whose variables are all bound become blocks.
struct JoinedColumns<'a> {
    l_skip: usize,
    commits: &'a [StackedCommit<'a>],
    lambdas: &'a [EF],
    lagrange: &'a [EF],
}

impl JoinedColumns<'_> {
    /// Encodes the values of all columns with `vars` hypercube variables; `u` has `1 + vars` coordinates.
    fn encode(
        &self,
        s: &CommandStream,
        heights: &[Height],
        vars: usize,
        u: &[EF],
    ) -> Result<Option<ColumnValues>, MetalProverError> {
        let bound: Vec<(usize, &Height)> = heights
            .iter()
            .enumerate()
            .filter(|(_, h)| h.n_lift() == vars)
            .collect();
        if bound.is_empty() {
            return Ok(None);
        }
        let weights = RowWeights::new(s, self.lagrange, &u[1..1 + vars])?;
        ColumnValues::encode(s, &bound, self.commits, &weights).map(Some)
    }

    /// Adds the columns to the blocks.
    fn join(
        &self,
        heights: &[Height],
        sums: &[HeightSum],
        values: &ColumnValues,
        read: &[EF],
        blocks: &mut Blocks,
    ) {
        let mut joining = Vec::new();
        values.finish(read, |i, column_range, values| {
            debug_assert_eq!(sums[i].vars(), 0);
            let [eq, rot] = sums[i].bound_weights();
            let log_rows = heights[i].log_rows;
            let first_cell = first_cell(self.commits, column_range.commit) + column_range.start;
            for (j, &value) in values.iter().enumerate() {
                let column = column_range.first_column + j;
                let weight = self.lambdas[2 * column] * eq + self.lambdas[2 * column + 1] * rot;
                let key = (first_cell >> log_rows) + j as u64;
                joining.push((key, value, weight));
            }
        });
        debug_assert!(heights.iter().all(|h| h.log_rows >= self.l_skip));
        blocks.join(joining);
    }
}

/// Cells of the stacked matrices of earlier commitments.
fn first_cell(commits: &[StackedCommit<'_>], commit: usize) -> u64 {
    commits[..commit]
        .iter()
        .map(|c| c.layout.height() as u64 * c.layout.width() as u64)
        .sum()
}

/// For each commitment, the values of its stacked columns: the blocks, when they are whole columns.
fn stacked_openings(commits: &[StackedCommit<'_>], blocks: &Blocks) -> Vec<Vec<EF>> {
    let mut openings: Vec<Vec<EF>> = commits
        .iter()
        .map(|c| EF::zero_vec(c.layout.width()))
        .collect();
    let mut values = blocks.values().peekable();
    let mut first = 0;
    for of_commit in &mut openings {
        let end = first + of_commit.len() as u64;
        while let Some((key, value)) = values.next_if(|&(key, _)| key < end) {
            of_commit[(key - first) as usize] = value;
        }
        first = end;
    }
    openings
}
