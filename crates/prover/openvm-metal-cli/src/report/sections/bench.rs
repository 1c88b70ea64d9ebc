//! The measured peaks of the device and each kernel's rate beside its floor, as `openvm-metal bench kernels`, but short.

use std::time::Duration;

use super::{problem, Job, Worker};
use crate::bench::{cases, measure, Roof};
use crate::error::Result;
use crate::table;

/// Measures the peaks and the kernels.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.device.context()?;
    worker.watch(&context);
    let stream = context.stream();
    let log_size = match context.device_profile().many_core() {
        true => 20,
        false => 16,
    };
    let roof = Roof::measure(&stream)?;
    worker.fact(
        "measured peaks",
        format!(
            "{}products/s, {}B/s of copy traffic (read + write)",
            table::rate(roof.products_per_second),
            table::rate(roof.bytes_per_second)
        ),
    );
    worker.data("roof", &roof);
    let mut rows = Vec::new();
    for case in cases() {
        worker.item(&case.path(), || {
            let row = measure(&stream, &case, log_size, &roof).map_err(problem)?;
            let time = table::duration(Duration::from_secs_f64(row.seconds));
            let detail = format!(
                "{}: {time}, {}{}/s, {:.0}% of floor ({})",
                row.size,
                table::rate(row.rate),
                row.unit,
                row.percent_of_floor,
                row.bound
            );
            rows.push(row);
            Ok(detail)
        });
    }
    worker.data("kernels", &rows);
    Ok(())
}
