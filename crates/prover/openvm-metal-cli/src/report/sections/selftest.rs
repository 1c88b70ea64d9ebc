//! Every kernel of the prover against its oracle, as `openvm-metal selftest` does.

use openvm_metal_backend::selftest::Coverage;

use super::device::diagnostics;
use super::{Job, Problem, Worker};
use crate::error::Result;
use crate::selftest::items;

/// Runs all checks.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.device.context()?;
    worker.watch(&context);
    for item in items() {
        worker.item(&item.path, || {
            context.set_profiling(item.profiled);
            match (item.run)(&context.stream(), job.seed) {
                Ok(()) => Ok(String::new()),
                Err(why) => Err(Problem::Failed(why)),
            }
        });
    }
    diagnostics(worker, &context);
    // After a restart this process has run some of the kernels only.
    if !worker.is_restarted() {
        if let Ok(coverage) = Coverage::of(&context) {
            let never = match coverage.never_run.is_empty() {
                true => String::new(),
                false => format!("; not {}", coverage.never_run.join(", ")),
            };
            worker.fact(
                "kernels run",
                format!("{} of {}{never}", coverage.run, coverage.kernels),
            );
            worker.data("coverage", &coverage);
        }
    }
    Ok(())
}
