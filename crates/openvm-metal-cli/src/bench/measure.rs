//! Device time of repeated launches.

use std::time::{Duration, Instant};

use openvm_metal_common::{CommandStream, MetalError};

use crate::error::Result;
use crate::interrupt;

/// Runs counted.
pub const RUNS: usize = 5;

/// A device that had nothing to do takes tens of milliseconds until its clock is up.
const WARM_UP: Duration = Duration::from_millis(250);

/// Launches until the device's clock is up.
///
/// # Errors
/// If a launch fails, or Ctrl-C.
pub fn warm_up(
    s: &CommandStream,
    mut launch: impl FnMut() -> Result<(), MetalError>,
) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        interrupt::check()?;
        s.time(&mut launch)?;
    }
    Ok(())
}

/// Median device time in seconds of five launches after a warm-up.
///
/// # Errors
/// If a launch fails, or Ctrl-C.
pub fn median_time(
    s: &CommandStream,
    mut launch: impl FnMut() -> Result<(), MetalError>,
) -> Result<f64> {
    s.time(&mut launch)?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        interrupt::check()?;
        times.push(s.time(&mut launch)?.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2].max(1e-9))
}
