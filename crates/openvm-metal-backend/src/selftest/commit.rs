//! Commitments to traces of mixed heights against the reference's, for every size of the skip domain.

use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    prover::{stacked_pcs as reference, ColMajorMatrix, MatrixDimensions},
    StarkProtocolConfig, SystemParams,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::{
    commit::{stacked_commit, CommitParams, MAX_L_SKIP},
    matrix::MetalMatrix,
    prelude::SC,
};

pub(super) const CHECKS: &[Check] = &[Check {
    group: "commit",
    name: "stacked_commit",
    run: roots,
}];

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
        let (ours, committed) = stacked_commit(env.s, CommitParams::from(&params), &uploaded)?;
        let code = committed.tree.backing().slice().to_host(env.s)?;
        compare(what, &code, &data.tree.backing_matrix().values)?;
        compare(what, &[ours], &[root])?;
    }
    Ok(())
}
