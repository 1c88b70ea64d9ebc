//! `SegmentWorker`: proves any segment of a plan.

use std::{
    num::NonZero,
    sync::{
        mpsc::{sync_channel, Receiver, RecvTimeoutError},
        Arc,
    },
    thread,
    time::Duration,
};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_sdk::StdIn;
use openvm_stark_backend::proof::Proof;

use super::{
    machines::{Machines, Request, Values},
    Plan, TaskId,
};
use crate::{
    app::{job_id, AppKey, AppProver},
    devices::{Station, Work},
    engine::{MetalEngine, SdkEngine},
    error::{SdkError, Stage},
    executable::ProgramSource,
    host_memory::default_host_memory,
    options::{ProveOptions, Threads},
    own_thread::on_own_thread,
    prelude::{F, SC},
    progress::Event,
    sdk::MetalSdk,
};

/// Time between two looks whether a segment that waits for a machine is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// Proves segments of a plan in any order. Ascending is cheapest: for an earlier segment the program is executed from the
/// start again.
///
/// Any number of threads may call at once. Machines, each on a thread of its own, execute the program up to segments, record them and
/// make their traces, while the devices prove others; with as many calls as [`WorkerThreads::in_flight`] a device always has the
/// next segment. Keys and committed programs are the SDK's and shared with its other workers; so are its devices.
pub struct SegmentWorker<E: SdkEngine> {
    prover: Arc<AppProver<E>>,
    plan: Arc<Plan>,
    machines: Machines<E>,
}

/// Numbers of segments that a worker has in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerThreads {
    /// Machines that execute, record and trace, each a different segment.
    pub machines: usize,
    /// Segments that are executed, recorded, traced or proved, when no device waits for another one.
    pub in_flight: usize,
}

impl MetalSdk {
    /// Threads that [`MetalSdk::prove`] would take for this SDK's devices on `cores` of the host's cores; if absent, on all that the process
    /// has.
    ///
    /// # Errors
    /// If a device cannot be opened.
    pub fn worker_threads(&self, cores: Option<usize>) -> Result<WorkerThreads, SdkError> {
        let proofs: Vec<_> = self
            .stations()?
            .iter()
            .map(Station::proofs_at_once)
            .collect();
        Ok(threads(&proofs, cores))
    }

    /// A worker for the segments of a plan, with the machines of [`worker_threads`](Self::worker_threads) on all cores, and with
    /// [three quarters](default_host_memory) of the host's free memory for records and traces.
    ///
    /// # Errors
    /// [`SdkError::Plan`] if the plan is of another program, input or configuration.
    pub fn segment_worker(
        &self,
        source: impl Into<ProgramSource>,
        input: StdIn,
        plan: Arc<Plan>,
    ) -> Result<SegmentWorker<MetalEngine>, SdkError> {
        self.worker_of(self.executable(source)?, input, plan)
    }

    fn worker_of(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        plan: Arc<Plan>,
    ) -> Result<SegmentWorker<MetalEngine>, SdkError> {
        let prover = Arc::new(self.app_prover_of(exe)?);
        let key = &prover.keys()[0];
        let job = job_id(key, prover.exe(), &input, plan.segment_max_memory());
        if TaskId(job) != plan.job() {
            return Err(SdkError::Plan(format!(
                "it is of job {}, program, input and keys here are job {}",
                plan.job(),
                TaskId(job)
            )));
        }
        let most = self.worker_threads(None)?.machines;
        let bound = default_host_memory();
        Ok(SegmentWorker {
            machines: Machines::new(prover.clone(), plan.clone(), input, most, bound),
            prover,
            plan,
        })
    }
}

fn threads(proofs: &[usize], cores: Option<usize>) -> WorkerThreads {
    let cores = cores.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get));
    match Threads::new(None, None, proofs, cores) {
        Some(Threads {
            machines,
            in_flight,
        }) => WorkerThreads {
            machines,
            in_flight,
        },
        None => WorkerThreads {
            machines: 1,
            in_flight: 1,
        },
    }
}

fn gone() -> SdkError {
    SdkError::Panicked {
        stage: Stage::Pipeline,
        message: "the worker's thread has ended".into(),
        device: None,
    }
}

/// The answer of a machine.
fn heard<T>(answer: &Receiver<Result<T, SdkError>>) -> Result<T, SdkError> {
    answer.recv().map_err(|_| gone())?
}

impl SegmentWorker<MetalEngine> {
    /// With so many machines, at least 1. Each holds the guest's memory twice, and begins when there is work for it.
    pub fn with_machines(self, machines: usize) -> Self {
        self.machines.set_most(machines);
        self
    }

    /// With so many bytes of records and traces on the host at the same time, as they are estimated before they are made. A segment waits until
    /// there is room for it. Workers of one host share its memory: each gets its part.
    pub fn with_host_memory(self, bytes: u64) -> Self {
        self.machines.set_bound(bytes);
        self
    }

    /// Segments that were asked for and that no machine has begun.
    pub fn waiting(&self) -> usize {
        self.machines.waiting()
    }

    /// The segments before which machines without work stand: those are the cheapest to ask for.
    pub fn idle_before(&self) -> Vec<usize> {
        self.machines.idle_before()
    }

    /// Most bytes of records and traces that the host held at the same time.
    pub fn host_traces_peak(&self) -> u64 {
        self.machines.most_held()
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Proves a segment. Of the options, progress and cancelling are used.
    ///
    /// # Errors
    /// What goes wrong in the guest or on the device; [`SdkError::Plan`] if the plan has no such segment; [`SdkError::HostMemory`] if the host
    /// may not hold it.
    pub fn prove(&self, index: usize, options: &ProveOptions<'_>) -> Result<Proof<SC>, SdkError> {
        on_own_thread(|| self.prove_here(index, options))
    }

    fn prove_here(&self, index: usize, options: &ProveOptions<'_>) -> Result<Proof<SC>, SdkError> {
        let segment = self.plan.segment(index)?;
        options.check_cancelled()?;
        let keys = self.prover.keys();
        let bytes = keys[0].host_bytes(index, segment, self.machines.bound())?;
        let fleet = self.prover.fleet();
        let (tell_recorded, recorded) = sync_channel(1);
        let (tell_traces, traces) = sync_channel(1);
        let (choose, chosen) = sync_channel(1);
        let wanted = Arc::new(());
        let request = Request::Traces {
            index,
            wanted: Arc::downgrade(&wanted),
            recorded: tell_recorded,
            device: chosen,
            traces: tell_traces,
        };
        self.machines.ask(request, bytes)?;
        while let Err(RecvTimeoutError::Timeout) = recorded.recv_timeout(TICK) {
            options.check_cancelled()?;
        }
        options.check_cancelled()?;
        let trace_bytes = keys[0].trace_bytes(segment);
        let reservation = fleet.reserve(Work::Segment { trace_bytes }, None)?;
        let device = reservation.device();
        // A machine that failed does not listen, and has left its error.
        let _ = choose.send(device);
        let (ctx, held) = heard(&traces)?;
        let AppKey {
            engine, device_key, ..
        } = &keys[device];
        // On a device with memory of its own the traces are not the host's any more.
        let held = engine.is_in_host_memory().then_some(held);
        options.progress.event(Event::SegmentTraced {
            segment: index,
            instructions: segment.num_insns,
        });
        options.check_cancelled()?;
        let stage = Stage::ProveSegment(index);
        let (proof, _) = fleet.prove(reservation, stage, engine, device_key, ctx)?;
        drop(held);
        options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
            device: fleet.name(device),
        });
        Ok(proof)
    }

    /// The guest's public values, with their path in the memory at the end of the execution.
    ///
    /// # Errors
    /// What goes wrong in the guest.
    pub fn end(&self) -> Result<Values, SdkError> {
        on_own_thread(|| {
            let (reply, answer) = sync_channel(1);
            self.machines.ask(Request::End(reply), 0)?;
            heard(&answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{threads, WorkerThreads};

    #[test]
    fn a_worker_has_the_machines_of_one_process_for_its_device() {
        let of = |proofs: &[usize], cores| {
            let WorkerThreads {
                machines,
                in_flight,
            } = threads(proofs, Some(cores));
            (machines, in_flight)
        };
        // A group of cores, a GPU's share of a host, and all GPUs of a host in one process.
        assert_eq!(of(&[1], 1), (1, 3));
        assert_eq!(of(&[1], 4), (2, 4));
        assert_eq!(of(&[2], 16), (8, 11));
        assert_eq!(of(&[2; 8], 128), (64, 88));
    }
}
