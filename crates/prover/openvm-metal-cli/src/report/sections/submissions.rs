//! Proofs of growing size, and the longest that the device was busy with one submission. Macs with a display end what
//! takes too long.

use std::time::Duration;

use openvm_stark_backend::StarkEngine;

use super::device::diagnostics;
use super::proof::Prover;
use super::{Job, Worker};
use crate::circuit::catalogue::CircuitName;
use crate::error::Result;
use crate::table;

/// Keccak-f permutations of the proofs.
const SIZES: [usize; 4] = [16, 64, 256, 1024];
/// log2 of the stacked height, as in use.
const LOG_STACKED: usize = 21;
/// The same for a processor, which has no watchdog: there the section only shows where the time goes.
const SIZES_OF_PROCESSORS: [usize; 2] = [8, 32];
/// Kernels that are shown, those with the longest single call first.
const SHOWN: usize = 6;

/// Makes the proofs, each as users do and then with the time of every operation.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let prover = Prover::new(job, LOG_STACKED)?;
    let context = prover.engine.device().stream()?.context().clone();
    worker.watch(&context);
    let sizes = match context.device_profile().many_core() {
        true => &SIZES[..],
        false => &SIZES_OF_PROCESSORS[..],
    };
    for &size in sizes {
        worker.item(&format!("keccakf {size}"), || {
            let (times, _) = prover.prove(CircuitName::Keccakf, size, 2)?;
            let times: Vec<_> = times.into_iter().map(table::duration).collect();
            let planned = context.submissions();
            Ok(format!(
                "first {}; {} submissions so far, the longest expected to take {}: {}; {} dispatches cut into {} slices",
                times.join(", then "),
                planned.submissions,
                table::duration(Duration::from_nanos(planned.longest_ns)),
                planned.longest_held,
                planned.dispatches_cut,
                planned.slices,
            ))
        });
        diagnostics(worker, &context);
        worker.data("submissions", &context.submissions());
        worker.item(&format!("keccakf {size}, longest calls"), || {
            context.reset_profile();
            context.set_profiling(true);
            let proved = prover.prove(CircuitName::Keccakf, size, 1);
            context.set_profiling(false);
            proved?;
            let profile = context.profile()?.by_kernel();
            let mut rows: Vec<_> = profile.rows.iter().collect();
            rows.sort_by_key(|row| std::cmp::Reverse(row.max_ns));
            let longest = rows.iter().take(SHOWN).map(|row| {
                let time = table::duration(Duration::from_nanos(row.max_ns));
                format!("{} {time}", row.name)
            });
            Ok(longest.collect::<Vec<_>>().join(", "))
        });
    }
    Ok(())
}
