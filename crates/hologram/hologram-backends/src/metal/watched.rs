//! Launches that a time limit or a request may end.

use std::borrow::Cow;
use std::sync::Arc;

use openvm_metal_common::{CommandStream, LongerWaits, Signal};

use super::{device_error, MetalBackend};
use crate::backend::launch::ExecutionParams;
use crate::error::{Fault, FaultKind, Result};
use crate::program::Program;
use crate::stop::{Flag, Watch, Why};

/// A launch with what may end it. One that is given up is ended, and waited for: its kernels read the signal.
pub struct Watched {
    pub(super) signal: Arc<Signal>,
    /// Until it has ended.
    watch: Option<Watch>,
    stream: CommandStream,
    /// Waits take as long as the launch may.
    _longer: Option<LongerWaits>,
}

impl Watched {
    /// Ends the launch.
    pub fn end(&self) {
        Flag::raise(&*self.signal, Why::Request);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.watch.is_some() {
            self.end();
            // A device that is lost or stuck was reported before, and keeps the signal's memory.
            let _ = self.stream.wait();
        }
    }
}

impl MetalBackend {
    /// Begins to watch a launch, if something may end it. Waits for what was submitted before: its time is its own.
    ///
    /// # Errors
    /// Out of memory, no thread for the time limit; those of the device.
    pub(super) fn watch(&mut self, params: &ExecutionParams) -> Result<Option<Watched>> {
        if !params.is_watched() {
            return Ok(None);
        }
        let limit = params.time_limit;
        let longer = limit.map(|limit| self.context().wait_longer(limit));
        // Drivers learn here how long waits may take from now on.
        self.stream.wait().map_err(device_error)?;
        let signal = match self.idle_signals.pop() {
            Some(signal) => signal,
            None => Arc::new(Signal::new(self.context()).map_err(device_error)?),
        };
        let watch = params.watch(signal.clone())?;
        Ok(Some(Watched {
            signal,
            watch,
            stream: self.stream.clone(),
            _longer: longer,
        }))
    }

    /// The fault of a launch that has ended, and its signal for the next.
    pub(super) fn settled(
        &mut self,
        mut fault: Option<Fault>,
        watched: Option<Watched>,
    ) -> Option<Fault> {
        let Some(mut watched) = watched else {
            return fault;
        };
        let watch = watched.watch.take();
        if let (Some(Fault { kind, .. }), Some(watch)) = (&mut fault, &watch) {
            if *kind == FaultKind::Stopped {
                *kind = watch.kind();
            }
        }
        // Nobody sets it behind this.
        drop(watch);
        watched.signal.set(0);
        self.idle_signals.push(watched.signal.clone());
        fault
    }
}

/// Place to report for an ended program whose kernels are not its own instructions.
pub struct Place {
    /// The lane, unless it is the kernel's.
    pub lane: Option<u64>,
    /// Index of the instruction.
    pub pc: usize,
    /// The text.
    pub instruction: String,
}

impl Place {
    /// An instruction of a program.
    pub fn of(program: &Program, pc: usize, lane: Option<u64>) -> Self {
        let instruction = program.instructions().get(pc);
        Self {
            lane,
            pc,
            instruction: instruction.map_or_else(String::new, ToString::to_string),
        }
    }

    /// The fault as one of the program.
    pub fn fault(&self, fault: Fault) -> Fault {
        Fault {
            lane: self.lane.unwrap_or(fault.lane),
            pc: self.pc,
            instruction: self.instruction.clone(),
            kind: fault.kind,
        }
    }
}

/// The fault of a launch of which only the first `begun` lanes ran, none of which has one.
pub(super) fn not_begun(program: &Program, begun: u64) -> Fault {
    let first = program.instructions().first();
    Fault {
        lane: begun,
        pc: 0,
        instruction: first.map_or_else(String::new, ToString::to_string),
        kind: FaultKind::Stopped,
    }
}

/// Parameters whose steps are counted: only loops that are known to end run without.
pub(super) fn counted(params: &ExecutionParams) -> Cow<'_, ExecutionParams> {
    match params.step_budget {
        Some(u64::MAX) => Cow::Owned(params.clone().with_step_budget(u64::MAX - 1)),
        _ => Cow::Borrowed(params),
    }
}

/// Parameters of a stage of a program, whose loops are known to end: steps are counted where something may end it sooner, because
/// lanes look at that when they count.
pub(super) fn of_stage(params: &ExecutionParams) -> Cow<'_, ExecutionParams> {
    match params.is_watched() {
        true => counted(params),
        false => Cow::Borrowed(params),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use openvm_metal_common::{Device, MetalContext};

    use super::super::Effort;
    use super::*;

    #[test]
    fn what_is_given_up_is_ended_and_what_has_ended_is_not() -> Result<()> {
        let context = MetalContext::new(Device::Cpu, &[]).map_err(device_error)?;
        let folder = std::env::temp_dir().join("hologram-watched-test");
        let mut backend = MetalBackend::on(&context, folder, Effort::Least)?;
        assert!(backend.watch(&ExecutionParams::default())?.is_none());
        let (usual, limit) = (context.wait_limit(), Duration::from_secs(3600));
        let params = ExecutionParams::default().with_time_limit(limit);
        let watched = backend.watch(&params)?;
        assert_eq!(context.wait_limit(), usual + limit);
        let signal = watched.as_ref().map(|watched| watched.signal.clone());
        drop(watched);
        assert_eq!(
            signal.and_then(|signal| signal.raised()),
            Some(Why::Request)
        );
        assert_eq!(context.wait_limit(), usual);
        let watched = backend.watch(&params)?;
        let signal = watched.as_ref().map(|watched| watched.signal.clone());
        assert_eq!(backend.settled(None, watched), None);
        assert_eq!(signal.and_then(|signal| signal.raised()), None);
        assert_eq!(backend.idle_signals.len(), 1);
        Ok(())
    }
}
