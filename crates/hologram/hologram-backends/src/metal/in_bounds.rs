//! Launches whose accesses were found to lie inside their buffers, as vector code on the processor.

use openvm_metal_common::Execution;

use super::pending::Pending;
use super::pipeline::options;
use super::rerolled::MAX_WORDS;
use super::watched::Place;
use super::MetalBackend;
use crate::backend::launch::ExecutionParams;
use crate::error::{BackendError, Result};
use crate::handle::BufferHandle;
use crate::program::Program;
use crate::translate::{self, Options};
use crate::validate::validate;

impl MetalBackend {
    /// Result of [`translate::in_bounds`] for a launch on a processor, with its shape.
    pub(super) fn in_bounds(
        &self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Option<(Program, ExecutionParams, Options)> {
        if self.context().device_profile().execution != Execution::MultiCore {
            return None;
        }
        let memory = &self.memory;
        let size_of = |handle| memory.buffer_size(BufferHandle::from_raw(handle));
        let (program, params) = translate::in_bounds(program, params, size_of)?;
        let shape = Options {
            in_bounds: true,
            ..options(&self.base, &program, &params)
        };
        Some((program, params, shape))
    }

    /// Launches a program without tests of its accesses; `None` if they may lie outside their buffers.
    ///
    /// # Errors
    /// A program or launch that is not valid, one that cannot be compiled, failures of the device.
    pub(super) fn launch_in_bounds(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<Option<Pending>> {
        let Some((lanes, launch, shape)) = self.in_bounds(program, params) else {
            return Ok(None);
        };
        params.launch.check()?;
        validate(program, &options(&self.base, program, params).initial)?;
        let context = self.stream.context().clone();
        let found = self
            .pipelines
            .get(&context, &lanes, &shape, &mut self.stats);
        let pipeline = match found {
            // Vector code takes longer to compile than that of the program as it is.
            Err(BackendError::CompilationLimit(_)) => return Ok(None),
            found => found?,
        };
        if pipeline.plan.slots.len() > MAX_WORDS {
            return Ok(None);
        }
        let place = Place::of(program, 0, None);
        let pending = self.encode(&[(pipeline, &launch)], None, Some(place))?;
        self.stats.in_bounds += 1;
        Ok(Some(pending))
    }
}
