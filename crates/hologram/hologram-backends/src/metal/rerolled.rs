//! Programs of one lane that run with many.

use super::pending::Pending;
use super::pipeline::options;
use super::watched::{counted, of_stage, Place};
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
        let stages: Vec<_> = rerolled
            .stages
            .iter()
            .map(|(program, params)| (program, of_stage(params)))
            .collect();
        for (program, params) in &stages {
            let shape = options(&self.base, program, params);
            let pipeline = self
                .pipelines
                .get(&context, program, &shape, &mut self.stats);
            match pipeline {
                Ok(pipeline) if pipeline.plan.slots.len() <= MAX_WORDS => {
                    ready.push((pipeline, &**params));
                }
                _ => return Ok(None),
            }
        }
        let Ok(scratch) = self.memory.scratch(&self.stream, rerolled.scratch) else {
            return Ok(None);
        };
        // Stages cannot fault; what ends them finds the program's one lane in its loop.
        let is_loop = |i: &Instruction| matches!(i, Instruction::Loop { .. });
        let pc = program.instructions().iter().position(is_loop);
        let place = Place::of(program, pc.unwrap_or(0), Some(0));
        let pending = self.encode(&ready, scratch, Some(place))?;
        self.stats.rerolled += 1;
        self.stats.reduced += u64::from(rerolled.folded);
        Ok(Some(pending))
    }

    /// Programs with their shapes as they are launched now: the stages of those that run with many lanes.
    pub(super) fn launched(
        &self,
        programs: &[(&Program, &ExecutionParams)],
    ) -> Vec<(Program, Options)> {
        let mut out = Vec::new();
        for &(program, params) in programs {
            let params = &*counted(params);
            let shape = options(&self.base, program, params);
            match validate(program, &shape.initial) {
                Ok(_) => out.extend(self.kernels(program, params)),
                Err(_) => out.push((program.clone(), shape)),
            }
        }
        out
    }

    /// Programs that are launched in place of a valid program, or the program, with the shapes.
    fn kernels(&self, program: &Program, params: &ExecutionParams) -> Vec<(Program, Options)> {
        let lanes = self.context().device_profile().execution.into();
        let memory = &self.memory;
        let size_of = |handle| memory.buffer_size(BufferHandle::from_raw(handle));
        if let Some(rerolled) = translate::reroll(program, params, size_of, lanes) {
            let stages = rerolled.stages.into_iter();
            let shaped = |(program, params): (Program, ExecutionParams)| {
                let shape = options(&self.base, &program, &of_stage(&params));
                (program, shape)
            };
            return stages.map(shaped).collect();
        }
        match self.in_bounds(program, params) {
            Some((program, _, shape)) => vec![(program, shape)],
            None => vec![(program.clone(), options(&self.base, program, params))],
        }
    }

    /// True if the kernels that a program would be launched as are ready.
    pub(super) fn is_compiled(&self, program: &Program, params: &ExecutionParams) -> bool {
        let is_known = |program: &Program, shape: &Options| self.pipelines.is_known(program, shape);
        is_known(program, &options(&self.base, program, params))
            || self
                .kernels(program, params)
                .iter()
                .all(|(program, shape)| is_known(program, shape))
    }
}
