//! Launches that a time limit or a request may end.

use std::borrow::Cow;
use std::sync::Arc;

use openvm_metal_common::Signal;

use super::{device_error, MetalBackend};
use crate::backend::launch::ExecutionParams;
use crate::error::{Fault, FaultKind, Result};
use crate::program::Program;
use crate::stop::Watch;

/// A launch with what may end it.
pub struct Watched {
    pub(super) signal: Arc<Signal>,
    watch: Watch,
}

impl MetalBackend {
    /// Begins to watch a launch, if something may end it.
    ///
    /// # Errors
    /// Out of memory, no thread for the time limit.
    pub(super) fn watch(&mut self, params: &ExecutionParams) -> Result<Option<Watched>> {
        if !params.is_watched() {
            return Ok(None);
        }
        let signal = match self.idle_signals.pop() {
            Some(signal) => signal,
            None => Arc::new(Signal::new(self.context()).map_err(device_error)?),
        };
        let watch = params.watch(signal.clone())?;
        Ok(watch.map(|watch| Watched { signal, watch }))
    }

    /// Waits for what was submitted before a launch that may be ended: its time is its own.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn before_watched(&self, params: &ExecutionParams) -> Result<()> {
        match params.is_watched() {
            true => self.stream.wait().map_err(device_error),
            false => Ok(()),
        }
    }

    /// The fault of a launch that has ended, and its signal for the next.
    pub(super) fn settled(
        &mut self,
        mut fault: Option<Fault>,
        watched: Option<Watched>,
    ) -> Option<Fault> {
        let Some(Watched { signal, watch }) = watched else {
            return fault;
        };
        if let Some(Fault { kind, .. }) = &mut fault {
            if *kind == FaultKind::Stopped {
                *kind = watch.kind();
            }
        }
        // Nobody sets it behind this.
        drop(watch);
        signal.set(0);
        self.idle_signals.push(signal);
        fault
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
