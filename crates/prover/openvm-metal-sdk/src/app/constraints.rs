//! The check of an execution's constraints, segment by segment, without proofs.

use std::time::{Duration, Instant};

use openvm_circuit::arch::VmCircuitConfig;
use openvm_metal_backend::{AirTraces, ConstraintCheck};
use openvm_sdk::{keygen::AppProvingKey, StdIn};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::prover::{DeviceDataTransporter, ProvingContext};

use super::{decoded, executors, meter, AppKey, AppProver, SegmentTracer, Snapshotter};
use crate::{
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::{F, SC},
};

/// An execution whose traces meet every constraint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedRun {
    pub instructions: u64,
    pub segments: usize,
    /// Bytes that the guest revealed.
    pub public_values: Vec<u8>,
    pub time: Duration,
}

impl AppProver<MetalEngine> {
    /// Executes a program and checks the constraints of `key`, which is this prover's, on the traces of every segment: those of each row, and the
    /// balance of each bus. Nothing is proved.
    ///
    /// # Errors
    /// Errors of the guest; [`SdkError::BrokenConstraint`] with the first constraint that fails.
    pub fn check_constraints(
        &self,
        key: &AppProvingKey<SdkVmConfig>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<CheckedRun, SdkError> {
        let clock = Instant::now();
        let (app, exe) = (&self.keys()[0], self.exe());
        let airs = guard(Stage::BuildMachine, || {
            VmCircuitConfig::<SC>::create_airs(&app.config)
        })?
        .map_err(|error| SdkError::Config(error.to_string()))?;
        let columns = airs.into_airs().map(|air| air.columns()).collect();
        let check = ConstraintCheck::new(&key.app_vm_pk.vm_pk, columns);

        let run = meter(app, exe.exe(), input.clone(), options)?;
        let executors = executors(&app.config, exe.exe())?;
        let program = decoded(&executors, exe.exe(), Vec::new())?;
        let mut tracer = SegmentTracer::new(app, exe, input.buffer.len())?;
        let mut snapshotter = Snapshotter::new(app, &program, input);
        for (index, segment) in run.segments.iter().enumerate() {
            options.check_cancelled()?;
            snapshotter.run_to(index, segment.instret_start)?;
            let recorded = tracer.record(index, segment, snapshotter.snapshot(index)?)?;
            let traces = on_host(app, index, tracer.trace(recorded)?)?;
            check
                .check(index, &traces)
                .map_err(|broken| SdkError::BrokenConstraint(Box::new(broken)))?;
        }
        Ok(CheckedRun {
            instructions: run.instructions(),
            segments: run.segments.len(),
            public_values: run.public_values,
            time: clock.elapsed(),
        })
    }
}

/// The traces of a segment in the host's memory.
fn on_host<E: SdkEngine>(
    key: &AppKey<E>,
    segment: usize,
    ctx: ProvingContext<E::PB>,
) -> Result<Vec<AirTraces>, SdkError> {
    let device = key.engine.device();
    guard(Stage::Traces(segment), || {
        let traces = ctx.per_trace.iter().map(|(air, trace)| {
            let download = |matrix| device.transport_matrix_from_device_to_host(matrix);
            let cached = trace.cached_mains.iter().map(|part| download(&part.trace));
            let mut parts: Vec<_> = cached.collect();
            parts.push(download(&trace.common_main));
            let public_values: Vec<F> = trace.public_values.clone();
            AirTraces {
                air: *air,
                parts,
                public_values,
            }
        });
        traces.collect()
    })
}
