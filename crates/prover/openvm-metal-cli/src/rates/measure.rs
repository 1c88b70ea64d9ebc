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

/// Least time that is measured. The marks around a shorter one would count, and the pause before the first launch on an idle device, which no launch of a
/// proof has.
const LEAST: Duration = Duration::from_millis(1);

/// Median device time in seconds of a launch after a warm-up, of five runs: of as many launches, one behind the other, as take a millisecond or more.
///
/// # Errors
/// If a launch fails, or Ctrl-C.
pub fn median_time(
    s: &CommandStream,
    mut launch: impl FnMut() -> Result<(), MetalError>,
) -> Result<f64> {
    let mut run = |launches: u32| s.time(|| (0..launches).try_for_each(|_| launch()));
    run(1)?;
    let mut launches = 1;
    while run(launches)? < LEAST {
        interrupt::check()?;
        launches *= 2;
    }
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        interrupt::check()?;
        times.push(run(launches)?.as_secs_f64() / f64::from(launches));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2].max(1e-9))
}
