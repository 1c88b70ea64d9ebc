//! Programs of one lane that run with many.

use super::pending::Pending;
use super::pipeline::options;
use super::watched::counted;
use super::MetalBackend;
use crate::backend::launch::ExecutionParams;
use crate::error::Result;
use crate::handle::BufferHandle;
use crate::isa::Instruction;
use crate::program::Program;
use crate::translate::{self, Options};
use crate::validate::validate;

/// Most words of parameters: 4 KiB.
pub(super) const MAX_WORDS: usize = 512;

impl MetalBackend {
    /// Launches what [`translate::reroll`] makes of a program; `None` if it makes nothing of it, or something that
    /// cannot be compiled here or has no memory.
    ///
    /// # Errors
    /// A program or launch that is not valid, failures of the device.
    pub(super) fn launch_rerolled(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<Option<Pending>> {
        let lanes = self.context().device_profile().execution.into();
        let memory = &self.memory;
        let size_of = |handle| memory.buffer_size(BufferHandle::from_raw(handle));
        let Some(rerolled) = translate::reroll(program, params, size_of, lanes) else {
            return Ok(None);
        };
        params.launch.check()?;
        validate(program, &options(&self.base, program, params).initial)?;
        let context = self.stream.context().clone();
        let mut ready = Vec::new();
        for (program, params) in &rerolled.stages {
            let shape = options(&self.base, program, params);
            let pipeline = self
                .pipelines
                .get(&context, program, &shape, &mut self.stats);
            match pipeline {
                Ok(pipeline) if pipeline.plan.slots.len() <= MAX_WORDS => {
                    ready.push((pipeline, params));
                }
                _ => return Ok(None),
            }
        }
        let Ok(scratch) = self.memory.scratch(&self.stream, rerolled.scratch) else {
            return Ok(None);
        };
        let mut last = None;
        for (pipeline, params) in ready {
            // Stages cannot fault: the record of one serves the next.
            if let Some(Pending::Running {
                faults, watched, ..
            }) = last.take()
            {
                self.settled(None, watched);
                self.idle_faults.push(faults);
            }
            let mut encoded = self.encode(pipeline, params, scratch)?;
            if let Pending::Operations {
                ended: Some(fault), ..
            } = &mut encoded
            {
                // Stopped in the middle of the loop, which the program's one lane is in.
                let pc = program
                    .instructions()
                    .iter()
                    .position(|i| matches!(i, Instruction::Loop { .. }));
                fault.lane = 0;
                fault.pc = pc.unwrap_or(0);
                fault.instruction = program.instructions()[fault.pc].to_string();
                return Ok(Some(encoded));
            }
            last = Some(encoded);
        }
        self.stats.rerolled += 1;
        self.stats.reduced += u64::from(rerolled.folded);
        Ok(last)
    }

    /// Programs with their shapes as they are launched now: the stages of those that run with many lanes.
    pub(super) fn launched(
        &self,
        programs: &[(&Program, &ExecutionParams)],
    ) -> Vec<(Program, Options)> {
        let lanes = self.context().device_profile().execution.into();
        let memory = &self.memory;
        let size_of = |handle| memory.buffer_size(BufferHandle::from_raw(handle));
        let mut out = Vec::new();
        for &(program, params) in programs {
            let params = &*counted(params);
            let shape = options(&self.base, program, params);
            let valid = validate(program, &shape.initial).is_ok();
            match translate::reroll(program, params, size_of, lanes).filter(|_| valid) {
                Some(rerolled) => {
                    out.extend(rerolled.stages.into_iter().map(|(program, params)| {
                        let shape = options(&self.base, &program, &params);
                        (program, shape)
                    }))
                }
                None => match self.in_bounds(program, params).filter(|_| valid) {
                    Some((program, _, shape)) => out.push((program, shape)),
                    None => out.push((program.clone(), shape)),
                },
            }
        }
        out
    }
}
