//! `ProveOptions`: how a program is executed and proved, never what is proved.

use std::{
    fmt,
    num::NonZero,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    error::SdkError,
    guest_output::{GuestOutput, Stdout},
    progress::Progress,
};

/// Bound on instructions unless another is given: about 20 minutes of execution.
pub const DEFAULT_MAX_INSTRUCTIONS: u64 = 1 << 36;

/// Share of cores that record and trace segments beside CPU devices, a machine on each, unless their number is given: recording takes one
/// core, and so do most traces. The rest proves, aggregates and fills wide traces. Proofs on GPUs leave the cores free, so each core gets a machine.
const MACHINES_OF_CORES: (usize, usize) = (5, 8);

/// Most machines for each device, unless their number is given: more of them wait for each other's uploads.
const MACHINES_PER_DEVICE: usize = 8;

/// Segments in flight for each device beside those that machines work on and those that it proves, unless their number is
/// given: one is next.
const NEXT: usize = 1;

/// Options of executing and proving a program.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ProveOptions<'a> {
    /// A program that executes more instructions is stopped with an error.
    pub max_instructions: u64,
    /// Is told what happens.
    pub progress: &'a dyn Progress,
    /// Receives what the guest prints, once for each execution or proof; [`Stdout`] unless it is set, `&()` drops it.
    pub output: &'a dyn GuestOutput,
    /// Most segments for each device that are recorded, traced or proved at the same time; at least 1. Host and
    /// devices together hold the records or traces of that many. With 1, and one device, everything is done on the
    /// calling thread, one after another. If absent: those that the device's machines are at, those that it proves at
    /// once, and one that is next.
    pub in_flight: Option<usize>,
    /// Most bytes of records and traces that the host holds at the same time, as they are estimated from the heights and
    /// widths of traces before they are made. A segment waits until there is room for it. If absent: three quarters of the
    /// memory that is free when the job starts.
    pub host_memory: Option<u64>,
    /// Number of tracers that record and trace segments, each a different one at a time; at least 1. Each holds
    /// the guest's memory. If absent: one for each core beside GPUs, five for every eight cores beside CPU devices, but at most eight for each
    /// device.
    pub machines: Option<usize>,
    /// Proofs of segments and of the nodes of their aggregation are stored in this folder, and taken from it if it is of
    /// the same job.
    pub resume: Option<&'a Path>,
    /// Stops the proof soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for ProveOptions<'_> {
    fn default() -> Self {
        Self {
            max_instructions: DEFAULT_MAX_INSTRUCTIONS,
            progress: &(),
            output: &Stdout,
            in_flight: None,
            host_memory: None,
            machines: None,
            resume: None,
            cancel: None,
        }
    }
}

impl fmt::Debug for ProveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProveOptions")
            .field("max_instructions", &self.max_instructions)
            .field("in_flight", &self.in_flight)
            .field("host_memory", &self.host_memory)
            .field("machines", &self.machines)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl<'a> ProveOptions<'a> {
    /// Sets the receiver of what the guest prints.
    pub fn with_output(mut self, output: &'a dyn GuestOutput) -> Self {
        self.output = output;
        self
    }

    /// Sets the progress observer.
    pub fn with_progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Other bound on instructions.
    pub fn with_max_instructions(mut self, bound: u64) -> Self {
        self.max_instructions = bound;
        self
    }

    /// Other number of segments in flight for each device.
    pub fn with_in_flight(mut self, segments: usize) -> Self {
        self.in_flight = Some(segments);
        self
    }

    /// Other bound on the bytes of records and traces on the host.
    pub fn with_host_memory(mut self, bytes: u64) -> Self {
        self.host_memory = Some(bytes);
        self
    }

    /// Other number of machines that record and trace segments.
    pub fn with_machines(mut self, machines: usize) -> Self {
        self.machines = Some(machines);
        self
    }

    /// Goes on from, and adds to, the proofs in a folder.
    pub fn with_resume(mut self, folder: &'a Path) -> Self {
        self.resume = Some(folder);
        self
    }

    /// Stops soon after the flag is set.
    pub fn with_cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// The threads of a job on devices that make so many proofs at once each; nothing if all is done on the calling
    /// thread.
    pub(crate) fn threads(&self, proofs: &[usize]) -> Option<Threads> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Threads::new(self.in_flight, self.machines, proofs, cores)
    }

    /// # Errors
    /// [`SdkError::Cancelled`] once the flag is set.
    pub(crate) fn check_cancelled(&self) -> Result<(), SdkError> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(SdkError::Cancelled),
            _ => Ok(()),
        }
    }
}

/// The threads of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads {
    /// Machines that record and trace segments.
    pub machines: usize,
    /// Most segments that are recorded, traced or proved at the same time, on all devices together.
    pub in_flight: usize,
}

impl Threads {
    pub(crate) fn new(
        in_flight: Option<usize>,
        machines: Option<usize>,
        proofs: &[usize],
        cores: usize,
    ) -> Option<Self> {
        let devices = proofs.len();
        let each = in_flight.map(|segments| segments.max(1));
        if each == Some(1) && devices == 1 {
            return None;
        }
        let most = each.map_or(usize::MAX, |segments| segments.saturating_mul(devices));
        let (of, all) = MACHINES_OF_CORES;
        // Only GPUs make several proofs at once.
        let of_cores = match proofs.iter().all(|&proofs| proofs > 1) {
            true => cores,
            false => cores * of / all,
        };
        let machines = machines
            .unwrap_or(of_cores.min(MACHINES_PER_DEVICE * devices))
            .clamp(1, most);
        Some(Self {
            machines,
            in_flight: match each {
                Some(_) => most,
                None => {
                    (machines.div_ceil(devices) + NEXT) * devices + proofs.iter().sum::<usize>()
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Threads;

    #[test]
    fn threads_follow_from_cores_and_devices() {
        let of = |in_flight, machines, proofs: &[usize], cores| {
            Threads::new(in_flight, machines, proofs, cores)
                .map(|threads| (threads.machines, threads.in_flight))
        };
        let threads =
            |in_flight, machines, devices, cores| of(in_flight, machines, &vec![1; devices], cores);
        assert_eq!(threads(None, None, 1, 2), Some((1, 3)));
        assert_eq!(threads(None, None, 2, 2), Some((1, 6)));
        assert_eq!(threads(None, None, 1, 8), Some((5, 7)));
        assert_eq!(threads(None, None, 1, 128), Some((8, 10)));
        assert_eq!(threads(None, None, 2, 32), Some((16, 20)));
        assert_eq!(threads(Some(1), None, 1, 32), None);
        assert_eq!(threads(Some(0), None, 1, 32), None);
        assert_eq!(threads(Some(1), None, 2, 32), Some((2, 2)));
        assert_eq!(threads(Some(3), Some(9), 2, 2), Some((6, 6)));
        assert_eq!(threads(None, Some(0), 1, 8), Some((1, 3)));
        // GPUs that make two proofs at once.
        assert_eq!(of(None, None, &[2], 4), Some((4, 7)));
        assert_eq!(of(None, None, &[2], 16), Some((8, 11)));
        assert_eq!(of(None, None, &[2, 2], 32), Some((16, 22)));
        assert_eq!(of(None, None, &[2, 1], 4), Some((2, 7)));
        assert_eq!(of(Some(3), None, &[2], 32), Some((3, 3)));
    }
}
