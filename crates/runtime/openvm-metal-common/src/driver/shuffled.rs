//! The CPU device as a GPU that lets operations overlap, to test their order.
//!
//! Operations are kept until the first wait. Then they run in an order drawn at random from those that one of the
//! GPU drivers allows: any order between two barriers, as in Metal's concurrent encoders, or any interleaving of
//! queues with waits between them, as on CUDA. Two operations that use the same memory and are not ordered give
//! wrong bytes sooner or later.

use std::sync::Mutex;
use std::time::Duration;

use super::{Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Tag};
use crate::clause::ValueBytes;
use crate::device::DeviceInfo;
use crate::error::Result;
use crate::grid::Shape;
use crate::kernel::{KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::lock;
use crate::memory::{Segment, Span};
use crate::order::{Access, Placement, Queues, Running, COPY_QUEUE, MAX_QUEUES};
use crate::plan::{Slice, Work};
use crate::report::{KernelLimits, KernelReport};

/// Operations that are kept at most.
const MOST: usize = 1000;

/// An operation with everything that it needs later.
enum Kept {
    Dispatch {
        kernel: &'static KernelSpec,
        shape: Shape,
        slice: Slice,
        work: Work,
        buffers: Box<[Option<Span>; MAX_BUFFERS]>,
        values: Vec<Option<Box<ValueBytes>>>,
        threadgroup_bytes: [u32; MAX_THREADGROUP_ARGS],
    },
    Fill(Span, u8, Work),
    Copy(Span, Span, Work),
    Upload(Span, Vec<u8>),
}

struct State {
    kept: Vec<(Kept, Placement, bool)>,
    queues: Queues,
    running: Running,
    random: u64,
    /// Batches that ran.
    batches: u64,
    /// The first failure: everything fails from then on.
    failed: Option<Fault>,
}

/// Runs what the CPU driver would run at once, later and in another order.
pub(crate) struct ShuffledDriver {
    cpu: Box<dyn Driver>,
    state: Mutex<State>,
}

impl State {
    /// A number below `n`.
    fn draw(&mut self, n: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % n.max(1) as u64) as usize
    }

    fn keep(
        &mut self,
        kept: Kept,
        accesses: impl Iterator<Item = Access> + Clone,
        modelled: f64,
        fixed: Option<usize>,
    ) {
        let placement = self.queues.place(accesses.clone(), modelled, fixed);
        let barrier = self.running.add(accesses);
        self.kept.push((kept, placement, barrier));
    }

    /// Places of the operations in an order that barriers allow.
    fn between_barriers(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        let mut start = 0;
        for end in 1..=order.len() {
            if end < order.len() && !self.kept[end].2 {
                continue;
            }
            for i in (start + 1..end).rev() {
                let j = start + self.draw(i - start + 1);
                order.swap(i, j);
            }
            start = end;
        }
        order
    }

    /// Places of the operations in an order that the queues allow.
    fn through_queues(&mut self) -> Vec<usize> {
        let mut queues: [Vec<usize>; MAX_QUEUES] = Default::default();
        // How many operations of each queue come before this one, beside those of its own queue.
        let mut before = Vec::with_capacity(self.kept.len());
        for (place, (_, placement, _)) in self.kept.iter().enumerate() {
            before.push(std::array::from_fn::<usize, MAX_QUEUES, _>(
                |queue| match placement.waits[queue] {
                    true => queues[queue].len(),
                    false => 0,
                },
            ));
            queues[placement.queue].push(place);
        }
        let mut done = [0; MAX_QUEUES];
        let mut order = Vec::with_capacity(self.kept.len());
        while order.len() < self.kept.len() {
            let ready: Vec<usize> = (0..MAX_QUEUES)
                .filter(|&queue| {
                    queues[queue].get(done[queue]).is_some_and(|&place| {
                        std::iter::zip(before[place], done).all(|(wanted, done)| done >= wanted)
                    })
                })
                .collect();
            let queue = ready[self.draw(ready.len())];
            order.push(queues[queue][done[queue]]);
            done[queue] += 1;
        }
        order
    }
}

impl ShuffledDriver {
    pub fn open(options: OpenOptions, conformance: bool, seed: u64) -> Result<Box<dyn Driver>> {
        let cpu = super::cpu::CpuDriver::open(options, conformance)?;
        let state = Mutex::new(State {
            kept: Vec::new(),
            queues: Queues::new(MAX_QUEUES),
            running: Running::default(),
            random: seed,
            batches: 0,
            failed: None,
        });
        Ok(Box::new(Self { cpu, state }))
    }

    fn keep(
        &self,
        kept: Kept,
        accesses: impl Iterator<Item = Access> + Clone,
        modelled: f64,
        fixed: Option<usize>,
    ) -> DriverResult {
        let mut state = lock(&self.state);
        state.keep(kept, accesses, modelled, fixed);
        match state.kept.len() < MOST {
            true => Ok(()),
            false => self.run(&mut state),
        }
    }

    /// Runs everything that was kept.
    fn flush(&self) -> DriverResult {
        self.run(&mut lock(&self.state))
    }

    fn run(&self, state: &mut State) -> DriverResult {
        if let Some(fault) = &state.failed {
            return Err(fault.clone());
        }
        if state.kept.is_empty() {
            return Ok(());
        }
        let order = match state.draw(2) {
            0 => state.between_barriers(),
            _ => state.through_queues(),
        };
        let kept = std::mem::take(&mut state.kept);
        state.batches += 1;
        state.running.clear();
        let issued = state.queues.issued();
        state.queues.ended(issued);
        let result = order
            .into_iter()
            .try_for_each(|place| self.execute(&kept[place].0));
        state.failed = result.clone().err();
        result
    }

    fn execute(&self, kept: &Kept) -> DriverResult {
        match kept {
            Kept::Dispatch {
                kernel,
                shape,
                slice,
                work,
                buffers,
                values,
                threadgroup_bytes,
            } => {
                let values = std::array::from_fn(|index| values[index].as_deref());
                let dispatch = Dispatch {
                    kernel,
                    shape: *shape,
                    slice: *slice,
                    work: *work,
                    buffers,
                    values: &values,
                    threadgroup_bytes,
                    // The order is found.
                    reached: &[],
                };
                self.cpu.dispatch(&dispatch, 0)
            }
            Kept::Fill(dst, byte, work) => self.cpu.fill(*dst, *byte, *work, 0),
            Kept::Copy(src, dst, work) => self.cpu.copy(*src, *dst, *work, 0),
            Kept::Upload(dst, data) => self.cpu.upload(*dst, data, false, 0),
        }
    }
}

impl Driver for ShuffledDriver {
    fn info(&self) -> &DeviceInfo {
        self.cpu.info()
    }

    fn allowance(&self) -> u64 {
        self.cpu.allowance()
    }

    fn report(&self) -> &KernelReport {
        self.cpu.report()
    }

    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.cpu.limits(kernel)
    }

    fn load(&self, unit: &str, code: Option<&str>, kernels: &[&'static KernelSpec]) -> Result<()> {
        self.cpu.load(unit, code, kernels)
    }

    fn unload(&self, kernels: &[&KernelSpec], limit: Duration) {
        // What fails now fails again at the next wait.
        if let Err(fault) = self.flush() {
            tracing::warn!(?fault, "operations before a unit was unloaded");
        }
        self.cpu.unload(kernels, limit);
    }

    fn allocate(&self, bytes: u64) -> DriverResult<Segment> {
        self.cpu.allocate(bytes)
    }

    fn release(&self, segment: Segment) {
        if let Err(fault) = self.flush() {
            tracing::warn!(?fault, "operations before memory was released");
        }
        self.cpu.release(segment);
    }

    fn can_cut(&self, kernel: &'static KernelSpec) -> bool {
        self.cpu.can_cut(kernel)
    }

    fn dispatch(&self, dispatch: &Dispatch, _: Tag) -> DriverResult {
        // As on GPUs, a kernel that is missing is an error at once.
        self.cpu.limits(dispatch.kernel)?;
        let values = dispatch.values.iter();
        let kept = Kept::Dispatch {
            kernel: dispatch.kernel,
            shape: dispatch.shape,
            slice: dispatch.slice,
            work: dispatch.work,
            buffers: Box::new(*dispatch.buffers),
            values: values.map(|value| value.map(Into::into)).collect(),
            threadgroup_bytes: *dispatch.threadgroup_bytes,
        };
        // Tests are small: what overlaps must not depend on how long it takes.
        let modelled = 1e6 + dispatch.work.modelled;
        self.keep(kept, dispatch.accesses(), modelled, None)
    }

    fn fill(&self, dst: Span, byte: u8, work: Work, _: Tag) -> DriverResult {
        let accesses = [Access::write(&dst)].into_iter();
        self.keep(Kept::Fill(dst, byte, work), accesses, 1e3, Some(0))
    }

    fn copy(&self, src: Span, dst: Span, work: Work, _: Tag) -> DriverResult {
        let accesses = [Access::read(&src), Access::write(&dst)].into_iter();
        self.keep(Kept::Copy(src, dst, work), accesses, 1e3, Some(0))
    }

    fn upload(&self, dst: Span, data: &[u8], fresh: bool, tag: Tag) -> DriverResult {
        // On other devices memory is not kept apart for what the host writes first.
        if fresh && self.info().profile.unified {
            return self.cpu.upload(dst, data, fresh, tag);
        }
        let accesses = [Access::write(&dst)].into_iter();
        // Any upload may be a large one, which has a queue of its own.
        let queue = match data.len() % 2 {
            0 => COPY_QUEUE,
            _ => 0,
        };
        self.keep(Kept::Upload(dst, data.to_vec()), accesses, 1e3, Some(queue))
    }

    fn download(&self, src: Span, out: &mut [u8], limit: Duration, tag: Tag) -> DriverResult {
        self.flush()?;
        self.cpu.download(src, out, limit, tag)
    }

    fn submit(&self) -> DriverResult {
        Ok(())
    }

    fn wait(&self, _: Duration) -> DriverResult {
        self.flush()
    }

    fn epoch(&self) -> u64 {
        let state = lock(&self.state);
        state.batches + u64::from(!state.kept.is_empty())
    }

    fn completed(&self) -> u64 {
        lock(&self.state).batches
    }

    fn mark(&self, limit: Duration) -> DriverResult<Mark> {
        self.flush()?;
        self.cpu.mark(limit)
    }

    fn between(&self, start: Mark, end: Mark, limit: Duration) -> DriverResult<Duration> {
        self.cpu.between(start, end, limit)
    }

    fn take_timings(&self) -> Vec<(Tag, u64)> {
        Vec::new()
    }
}

impl Drop for ShuffledDriver {
    fn drop(&mut self) {
        // As on a GPU that is given up, what nobody waited for need not have run.
        lock(&self.state).kept.clear();
    }
}
