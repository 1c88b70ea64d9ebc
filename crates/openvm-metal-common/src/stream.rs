//! The counted handle through which everything reaches the device.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::buffer::Allocation;
use crate::context::MetalContext;
use crate::cost::Cost;
use crate::counters::{StageCounters, StreamCounters};
use crate::device::DeviceKind;
use crate::driver::{Dispatch, Driver, DriverResult, Span, Tag};
use crate::elem::{as_bytes_mut, DeviceElem};
use crate::error::{MetalError, Result};
use crate::grid::{Grid, Shape};
use crate::kernel::{KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::launch::KernelCall;
use crate::lock;
use crate::plan::{Cutter, KernelKey, Slice, Work};
use crate::slice::MetalSlice;
use crate::stage::NamedStage;

/// A handle onto the serial queue of a context, with counters of its own.
///
/// Work encoded through any handle of a context happens in the order of the calls. Clones share
/// their counters. Stages nest per handle; use one handle per thread to keep them apart.
#[derive(Clone)]
pub struct CommandStream {
    context: MetalContext,
    ledger: Arc<Mutex<Ledger>>,
}

struct Ledger {
    stages: Vec<StageCounters>,
    index: HashMap<Arc<str>, usize>,
    /// Open stages, innermost last; the bottom is the work outside every stage.
    open: Vec<usize>,
    context: MetalContext,
    tracker: u64,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        lock(&self.context.inner.pool).untrack(self.tracker);
    }
}

impl Ledger {
    fn current(&mut self) -> &mut StageCounters {
        let top = self.open.last().copied().unwrap_or(0);
        &mut self.stages[top]
    }
}

/// What an operation is in the profile, and what is expected of it.
struct Operation {
    threads: u64,
    bytes: u64,
    work: Work,
    /// A part of a call or copy that has begun.
    continues: bool,
}

impl Operation {
    /// A copy between host and device.
    fn transfer(name: &'static str, bytes: u64) -> Self {
        Self {
            threads: bytes,
            bytes,
            work: Work::untold(name),
            continues: false,
        }
    }
}

/// A checked call of a kernel.
pub(crate) struct Call<'a> {
    pub kernel: &'static KernelSpec,
    pub shape: Shape,
    /// What all threads do.
    pub cost: Cost,
    pub buffers: &'a [Option<Span>; MAX_BUFFERS],
    pub values: &'a [Option<&'a [u8]>; MAX_BUFFERS],
    pub threadgroup_bytes: &'a [u32; MAX_THREADGROUP_ARGS],
}

impl CommandStream {
    pub(crate) fn new(context: MetalContext) -> Self {
        let root: Arc<str> = "".into();
        let ledger = Ledger {
            stages: vec![StageCounters::new(root.clone())],
            index: HashMap::from([(root, 0)]),
            open: vec![0],
            tracker: lock(&context.inner.pool).track(),
            context: context.clone(),
        };
        Self {
            context,
            ledger: Arc::new(Mutex::new(ledger)),
        }
    }

    /// The context behind the handle.
    pub fn context(&self) -> &MetalContext {
        &self.context
    }

    /// Fails with the error that ended the context, if one did: for host work that follows no request to the
    /// device.
    pub fn alive(&self) -> Result<()> {
        self.context.inner.alive()
    }

    /// Opens a stage: until the guard is dropped, what this handle does is counted under its path
    /// (the names of the open stages joined by `/`), inside a tracing span `stage{path}`.
    pub fn stage(&self, name: &str) -> StageGuard<'_> {
        let mut ledger = lock(&self.ledger);
        let parent = ledger.current().stage.clone();
        let path: Arc<str> = if parent.is_empty() {
            name.into()
        } else {
            format!("{parent}/{name}").into()
        };
        let slot = match ledger.index.get(&path) {
            Some(&slot) => slot,
            None => {
                ledger.stages.push(StageCounters::new(path.clone()));
                let slot = ledger.stages.len() - 1;
                ledger.index.insert(path.clone(), slot);
                slot
            }
        };
        ledger.open.push(slot);
        ledger.stages[slot].entered += 1;
        drop(ledger);
        let tracker = lock(&self.context.inner.pool).track();
        let named = NamedStage::enter(path);
        StageGuard {
            stream: self,
            slot,
            tracker,
            start: Instant::now(),
            _named: named,
        }
    }

    /// A call of a kernel, to be given its arguments; used by generated launchers.
    pub fn encode(&self, kernel: &'static KernelSpec, grid: Grid) -> KernelCall<'_> {
        KernelCall::new(self, kernel, grid)
    }

    /// Hands what is encoded to the device, without waiting.
    pub fn submit(&self) -> Result<()> {
        let inner = &self.context.inner;
        inner.alive()?;
        inner.hand_over()?;
        let submitted = inner.pending.swap(false, Ordering::AcqRel);
        lock(&self.ledger).current().submissions += submitted as u64;
        Ok(())
    }

    /// Submits and waits for everything, at most for [`MetalContext::wait_limit`].
    ///
    /// # Errors
    /// [`MetalError::WaitTimeout`], [`MetalError::SubmissionFailed`] or [`MetalError::DeviceLost`];
    /// each ends the context.
    pub fn wait(&self) -> Result<()> {
        self.wait_to_read(0)
    }

    /// As [`CommandStream::wait`], and counts bytes that the host reads in place.
    pub(crate) fn wait_to_read(&self, bytes: u64) -> Result<()> {
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        self.waiting(bytes, || {
            inner.injected_wait_fault(limit, || inner.driver.wait(limit))
        })
    }

    /// Runs something that waits, with its counts.
    fn waiting(&self, bytes: u64, wait: impl FnOnce() -> DriverResult) -> Result<()> {
        let inner = &self.context.inner;
        inner.alive()?;
        let start = Instant::now();
        let result = wait();
        let waited = start.elapsed();
        inner.checked(result)?;
        let submitted = inner.pending.swap(false, Ordering::AcqRel);
        inner.profile.collect(inner.driver.take_timings());
        inner.waited();
        let mut ledger = lock(&self.ledger);
        let stage = ledger.current();
        stage.submissions += submitted as u64;
        stage.waits += 1;
        stage.wait_ns += waited.as_nanos() as u64;
        stage.bytes_d2h += bytes;
        Ok(())
    }

    /// Device time of what the closure encodes: events on CUDA, GPU time stamps on Metal, wall clock
    /// on the CPU. Waits for it.
    pub fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        inner.alive()?;
        let start = inner.checked(inner.driver.mark(limit))?;
        work()?;
        let end = inner.checked(inner.driver.mark(limit))?;
        let mut time = Duration::ZERO;
        self.waiting(0, || {
            time = inner.driver.between(start, end, limit)?;
            Ok(())
        })?;
        Ok(time)
    }

    /// Counts work that the host does although the device could, because it is small: every size gate
    /// calls this.
    pub fn count_host_work(&self, what: &'static str, elements: usize) {
        let mut ledger = lock(&self.ledger);
        let work = ledger.current().host_work.entry(what).or_default();
        work.count(elements as u64);
    }

    /// Counts work that the host does because the device could not. A prover that works has none.
    pub fn count_host_fallback(&self, what: &'static str, elements: usize) {
        let mut ledger = lock(&self.ledger);
        let work = ledger.current().host_fallbacks.entry(what).or_default();
        work.count(elements as u64);
    }

    /// What was counted so far.
    pub fn counters(&self) -> StreamCounters {
        let inner = &self.context.inner;
        let ledger = lock(&self.ledger);
        let mut stages = ledger.stages.clone();
        stages[0].peak_bytes = lock(&inner.pool).tracked(ledger.tracker);
        drop(ledger);
        if inner.profile.enabled() && self.context.info().kind != DeviceKind::Cpu {
            for stage in &mut stages {
                stage.device_ns = inner.profile.stage_ns(&stage.stage);
            }
        }
        StreamCounters {
            device: self.context.info().kind,
            stages,
        }
    }

    /// Forgets the counts; open stages stay open.
    pub fn reset_counters(&self) {
        for stage in &mut lock(&self.ledger).stages {
            *stage = StageCounters::new(stage.stage.clone());
        }
    }

    /// Reads several slices with one wait.
    pub fn read_many<T: DeviceElem>(&self, slices: &[MetalSlice<'_, T>]) -> Result<Vec<Vec<T>>> {
        let mut hosts = Vec::with_capacity(slices.len());
        self.wait()?;
        let inner = &self.context.inner;
        for slice in slices {
            self.same_context(slice.allocation, "read of several slices")?;
            let mut host = slice.host_vec()?;
            let (span, bytes) = (slice.span(), as_bytes_mut(&mut host));
            let op = Operation::transfer("copy d2h", span.bytes);
            self.run(op, |driver, tag| {
                driver.download(span, bytes, inner.wait_limit(), tag)
            })?;
            lock(&self.ledger).current().bytes_d2h += span.bytes;
            hosts.push(host);
        }
        Ok(hosts)
    }

    pub(crate) fn same_context(&self, allocation: &Allocation, what: &'static str) -> Result<()> {
        if allocation.context.same_as(&self.context) {
            return Ok(());
        }
        Err(MetalError::WrongContext { what })
    }

    /// Encodes a dispatch, in slices if it would keep the device busy for too long.
    pub(crate) fn dispatch(&self, call: Call, bound_bytes: u64) -> Result<()> {
        let inner = &self.context.inner;
        let (kernel, cost) = (call.kernel, call.cost);
        inner.note_kernel(kernel.name);
        let shape = inner.checked(inner.driver.shape(kernel, call.shape))?;
        let can_cut = inner.driver.can_cut(kernel);
        let mut cutter = Cutter::new(&shape);
        let share = |total: u64, slice: &Slice, groups: u64| {
            (u128::from(total) * u128::from(slice.count()) / u128::from(groups)) as u64
        };
        let groups = cutter.left();
        let key = KernelKey::of(kernel);
        let each = lock(&inner.planner).rates().modelled(cost) / groups as f64;
        while let Some(step) = inner.next_slice(&mut cutter, key, kernel.name, each, can_cut) {
            if step.submit_before {
                inner.checked(inner.driver.submit())?;
            }
            let op = Operation {
                threads: share(shape.total_threads(), &step.slice, groups),
                bytes: share(bound_bytes, &step.slice, groups),
                work: step.work,
                continues: step.continues,
            };
            inner.injected_dispatch_fault(kernel)?;
            let dispatch = Dispatch {
                kernel,
                shape,
                slice: step.slice,
                work: step.work,
                buffers: call.buffers,
                values: call.values,
                threadgroup_bytes: call.threadgroup_bytes,
            };
            self.run(op, |driver, tag| driver.dispatch(&dispatch, tag))?;
            if step.submit_after {
                inner.checked(inner.driver.submit())?;
            }
        }
        inner.pending.store(true, Ordering::Release);
        let mut ledger = lock(&self.ledger);
        let stage = ledger.current();
        stage.dispatches += 1;
        stage.products = stage.products.saturating_add(cost.products);
        stage.kernel_bytes = stage.kernel_bytes.saturating_add(cost.bytes);
        Ok(())
    }

    /// Runs an operation on bytes, some at a time if it would keep the device busy for too long; `each`
    /// bytes move for one of them.
    fn in_parts(
        &self,
        name: &'static str,
        bytes: u64,
        each: u64,
        mut run: impl FnMut(&dyn Driver, Range<u64>, Work, Tag) -> DriverResult,
    ) -> Result<()> {
        let inner = &self.context.inner;
        let most = lock(&inner.planner).bytes_at_a_time(each);
        let mut done = 0;
        while done < bytes {
            let part = most.min(bytes - done);
            let (before, after, modelled) = {
                let mut planner = lock(&inner.planner);
                let modelled = planner.rates().modelled(Cost::of_bytes(each * part));
                let (before, after) = planner.admit(name, modelled);
                (before, after, modelled)
            };
            if before {
                inner.checked(inner.driver.submit())?;
            }
            let work = Work {
                modelled,
                ..Work::untold(name)
            };
            let op = Operation {
                threads: part,
                bytes: each * part,
                work,
                continues: done > 0,
            };
            self.run(op, |driver, tag| run(driver, done..done + part, work, tag))?;
            if after {
                inner.checked(inner.driver.submit())?;
            }
            done += part;
        }
        Ok(())
    }

    pub(crate) fn fill(&self, dst: Span, byte: u8) -> Result<()> {
        if dst.bytes == 0 {
            return Ok(());
        }
        self.in_parts("fill", dst.bytes, 1, |driver, part, work, tag| {
            driver.fill(dst.part(part), byte, work, tag)
        })?;
        self.context.inner.pending.store(true, Ordering::Release);
        lock(&self.ledger).current().bytes_filled += dst.bytes;
        Ok(())
    }

    pub(crate) fn copy(&self, src: Span, dst: Span) -> Result<()> {
        if dst.bytes == 0 {
            return Ok(());
        }
        self.in_parts("copy d2d", dst.bytes, 2, |driver, part, work, tag| {
            driver.copy(src.part(part.clone()), dst.part(part), work, tag)
        })?;
        self.context.inner.pending.store(true, Ordering::Release);
        lock(&self.ledger).current().bytes_d2d += dst.bytes;
        Ok(())
    }

    pub(crate) fn upload(&self, dst: Span, data: &[u8], fresh: bool) -> Result<()> {
        if data.is_empty() {
            return Ok(());
        }
        let op = Operation::transfer("copy h2d", dst.bytes);
        self.run(op, |driver, tag| driver.upload(dst, data, fresh, tag))?;
        if !fresh {
            self.context.inner.pending.store(true, Ordering::Release);
        }
        lock(&self.ledger).current().bytes_h2d += dst.bytes;
        Ok(())
    }

    pub(crate) fn download(&self, src: Span, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        let op = Operation::transfer("copy d2h", src.bytes);
        let tag = self.tag(&op);
        self.waiting(src.bytes, || {
            inner.injected_wait_fault(limit, || inner.driver.download(src, out, limit, tag))
        })
    }

    fn tag(&self, op: &Operation) -> Tag {
        let profile = &self.context.inner.profile;
        if !profile.enabled() {
            return 0;
        }
        let stage = lock(&self.ledger).current().stage.clone();
        let amounts = [op.threads, op.bytes];
        profile.tag(&stage, op.work.name, amounts, op.continues)
    }

    /// Runs a driver operation; on the CPU it is finished when it returns, so its time is known.
    fn run(
        &self,
        op: Operation,
        work: impl FnOnce(&dyn Driver, Tag) -> DriverResult,
    ) -> Result<()> {
        let inner = &self.context.inner;
        inner.alive()?;
        let tag = self.tag(&op);
        let start = Instant::now();
        let result = work(&*inner.driver, tag);
        let spent = start.elapsed().as_nanos() as u64;
        inner.checked(result)?;
        if inner.driver.info().kind == DeviceKind::Cpu {
            inner.took(op.work, spent);
            if tag != 0 {
                inner.profile.collect(vec![(tag, spent)]);
            }
            *lock(&self.ledger).current().device_ns.get_or_insert(0) += spent;
        }
        Ok(())
    }
}

/// An open stage of a [`CommandStream`]; dropping it closes the stage.
pub struct StageGuard<'a> {
    stream: &'a CommandStream,
    slot: usize,
    tracker: u64,
    start: Instant,
    _named: NamedStage,
}

impl Drop for StageGuard<'_> {
    fn drop(&mut self) {
        let peak = lock(&self.stream.context.inner.pool).untrack(self.tracker);
        let mut ledger = lock(&self.stream.ledger);
        if let Some(position) = ledger.open.iter().rposition(|&slot| slot == self.slot) {
            ledger.open.remove(position);
        }
        let stage = &mut ledger.stages[self.slot];
        stage.peak_bytes = stage.peak_bytes.max(peak);
        stage.wall_ns += self.start.elapsed().as_nanos() as u64;
    }
}
