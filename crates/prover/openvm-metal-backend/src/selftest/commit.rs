//! Commitments to traces of mixed heights against the reference's, for every size of the skip domain.

use std::{ops::Range, sync::Arc};

use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    prover::{stacked_pcs as reference, ColMajorMatrix, MatrixDimensions},
    StarkProtocolConfig, SystemParams,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};

use super::{compare, ntt::tall_shapes, Check, CheckEnv, CheckFailure};
use crate::{
    commit::{open_columns, stacked_commit, CodeShape, CommitParams, MAX_L_SKIP},
    hash::{read_words, MerkleTreeMetal},
    matrix::{MetalMatrix, MetalSliceOwned},
    ntt::{table, NttDirection, TallPlan},
    prelude::{montgomery, F, SC},
    stacked::StackedRange,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "commit",
        name: "stacked_commit",
        run: roots,
    },
    Check {
        group: "commit",
        name: "encode_columns",
        run: encode_columns,
    },
    Check {
        group: "commit",
        name: "open_columns",
        run: open,
    },
];

/// `(log_height, width)` of each trace, in falling order.
const TRACES: [(usize, usize); 6] = [(9, 3), (8, 21), (7, 1), (4, 33), (1, 2), (0, 5)];

fn roots(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let log_height = 9;
    for l_skip in 0..=MAX_L_SKIP {
        let what = || format!("l_skip {l_skip}, stacked height 2^{log_height}");
        let params = SystemParams {
            l_skip,
            n_stack: log_height - l_skip,
            log_blowup: 1 + l_skip % 3,
            ..app_params_with_100_bits_security(log_height + 2)
        };
        let config = SC::default_from_params(params.clone());
        let traces: Vec<_> = TRACES
            .iter()
            .map(|&(log_rows, width)| ColMajorMatrix::new(env.rng.fs(width << log_rows), width))
            .collect();
        let (root, data) = reference::stacked_commit(
            config.hasher(),
            params.l_skip,
            params.n_stack,
            params.log_blowup,
            params.k_whir(),
            &traces.iter().collect::<Vec<_>>(),
        )
        .map_err(|_| CheckFailure::Oracle { what: what() })?;

        let mut uploaded = Vec::with_capacity(traces.len());
        for trace in &traces {
            let buffer = MetalBuffer::from_host(env.s, &trace.values)?;
            uploaded.push(MetalMatrix::from_buffer(
                buffer,
                trace.height(),
                trace.width(),
            ));
        }
        let uploaded: Vec<_> = uploaded.iter().collect();
        let (ours, committed) =
            stacked_commit::<SC>(env.s, CommitParams::from(&params), &uploaded)?;
        let code = committed.tree.backing().slice().to_host(env.s)?;
        compare(what, &code, &data.tree.backing_matrix().values)?;
        compare(what, &[ours], &[root])?;
    }
    Ok(())
}

/// The message of a column of cells: of each chunk of 16 the inverse DFT, then sums over the subsets of the index's bits.
fn message(cells: &[F]) -> Vec<F> {
    let root = F::two_adic_generator(4).inverse();
    let powers: Vec<F> = root.powers().take(16).collect();
    let scale = F::from_u64(16).inverse();
    let chunk = |cells: &[F]| {
        let mut x: [F; 16] = std::array::from_fn(|k| {
            let terms = cells.iter().enumerate();
            terms.map(|(j, &cell)| cell * powers[j * k % 16]).sum::<F>() * scale
        });
        for bit in [1, 2, 4, 8] {
            for i in (0..16).filter(|i| i & bit != 0) {
                x[i] += x[i - bit];
            }
        }
        x
    };
    cells.chunks(16).flat_map(chunk).collect()
}

/// The codeword of a column of cells.
fn codeword(cells: &[F], n: usize) -> Vec<F> {
    let mut message = message(cells);
    message.resize(n, F::ZERO);
    Radix2DitParallel::default().dft(message)
}

/// Cells to codewords without messages in between, whether the device would or not; the last pass is checked elsewhere
/// as well.
fn encode_columns(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_h, log_blowup, cols) in tall_shapes(env) {
        let (log_n, profile) = (log_h + log_blowup, env.s.context().device_profile());
        let plan = TallPlan::for_checks(profile, log_n as u32, log_h as u32, 0);
        let Some(plan) = plan else {
            continue;
        };
        encode_by(env, plan, (log_h, log_n, cols))?;
        if log_h == 16 {
            // Too few threads for rows that are the same way apart in memory and in the tile.
            encode_by(env, plan.with_threads(32), (log_h, log_n, cols))?;
        }
    }
    Ok(())
}

fn encode_by(
    env: &mut CheckEnv,
    plan: TallPlan,
    (log_h, log_n, cols): (usize, usize, usize),
) -> Result<(), CheckFailure> {
    let (h, n) = (1usize << log_h, 1usize << log_n);
    let (host, range) = env.base(h * cols)?;
    let mut scratch = MetalBuffer::uninit(env.s.context(), n * cols)?;
    let mut code = MetalBuffer::uninit(env.s.context(), n * cols)?;
    let roots = &table(env.s, NttDirection::Forward)?;
    plan.encode(env.s, roots, range.as_slice(), scratch.as_slice_mut(), cols)?;
    let (from, to) = (scratch.as_slice(), code.as_slice_mut());
    // The messages are those of 16 times the cells.
    let scale = montgomery(F::from_u32(16).inverse());
    plan.runs(env.s, roots, from, to, cols, n, scale)?;
    let codewords = host.chunks(h).flat_map(|cells| codeword(cells, n));
    let expected: Vec<F> = codewords.collect();
    let what = || format!("2^{log_h} to 2^{log_n}, {cols} columns");
    compare(what, &code.to_host(env.s)?, &expected)
}

/// Rows of codewords that are not there, for codes of one pass and of several. The last column is cut into two ranges.
fn open(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for (log_height, log_blowup, cols) in [(4, 1, 3), (5, 6, 2), (9, 1, 21), (9, 2, 1), (17, 1, 3)]
    {
        let shape = CodeShape {
            l_skip: 4,
            log_height,
            log_blowup,
        };
        let (h, n) = (1usize << log_height, 1usize << (log_height + log_blowup));
        let (host, cells) = env.base(h * cols)?;
        let cells = Arc::new(cells);
        let cut = h * cols - h / 2;
        let range = |cells_of: Range<usize>| StackedRange {
            start: cells_of.start as u64,
            cells: MetalSliceOwned::new(cells.clone(), cells_of.start, cells_of.len()),
        };
        let ranges = match h > 16 {
            true => vec![range(0..cut), range(cut..h * cols)],
            false => vec![range(0..h * cols)],
        };
        let code: Vec<F> = host
            .chunks(h)
            .flat_map(|cells| codeword(cells, n))
            .collect();
        let matrix = MetalMatrix::from_buffer(MetalBuffer::from_host(env.s, &code)?, n, cols);
        let rows_per_query = n.min(16);
        let (tree, _) = MerkleTreeMetal::<_, SC>::new(env.s, matrix, rows_per_query)?;
        let stride = tree.query_stride();
        let queries: Vec<u32> = (0..7).map(|i| (stride * i / 7) as u32).collect();
        let expected: Vec<F> = queries
            .iter()
            .flat_map(|&y| (0..rows_per_query).map(move |t| y as usize + t * stride))
            .flat_map(|row| code.iter().skip(row).step_by(n))
            .copied()
            .collect();
        let queries = MetalBuffer::from_host(env.s, &queries)?;
        let mut gathering = tree.gather(env.s, &queries)?;
        open_columns(env.s, &ranges, 0..cols, shape, 8, &mut gathering)?;
        let gathered = gathering.finish()?;
        let words = read_words(env.s, &gathered.slices()?)?;
        let opened = gathered.into_shape().assemble::<F, SC>(words);
        let what = || {
            format!(
                "2^{log_height} to 2^{}, {cols} columns",
                log_height + log_blowup
            )
        };
        compare(what, &opened.rows.concat().concat(), &expected)?;
    }
    Ok(())
}
