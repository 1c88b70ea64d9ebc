//! Operations of a stream: planned, handed to the driver, counted.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::CommandStream;
use crate::allocation::Allocation;
use crate::clause::Values;
use crate::cost::Cost;
use crate::device_kind::DeviceKind;
use crate::driver::{Dispatch, Driver, DriverResult, Read, Tag};
use crate::error::{MetalError, Result};
use crate::grid::Shape;
use crate::kernel::{KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::lock;
use crate::memory::Span;
use crate::plan::{Cutter, KernelKey, Slice, Work};
use crate::signal::Signal;

/// An operation for the profile, with its expected cost.
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
    /// Work of all threads.
    pub cost: Cost,
    pub buffers: &'a [Option<Span>; MAX_BUFFERS],
    pub values: &'a Values<'a>,
    pub threadgroup_bytes: &'a [u32; MAX_THREADGROUP_ARGS],
    /// Ends it between slices.
    pub stop: Option<&'a Signal>,
    /// Memory that it reads and writes besides its buffers.
    pub reached: &'a [Span],
}

impl CommandStream {
    pub(crate) fn same_context(&self, allocation: &Allocation, what: &'static str) -> Result<()> {
        if allocation.context.same_as(&self.context) {
            return Ok(());
        }
        Err(MetalError::WrongContext { what })
    }

    /// Runs something that waits, with its counts.
    pub(super) fn waiting(&self, bytes: u64, wait: impl FnOnce() -> DriverResult) -> Result<()> {
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
        loop {
            if let Some(signal) = call.stop {
                self.stop_before_slice(signal, kernel.name, &shape, &cutter)?;
            }
            let next = inner.next_slice(&mut cutter, key, kernel.name, each, can_cut);
            let Some(step) = next else { break };
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
                reached: call.reached,
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

    /// Waits for the slice before the next one, which is not encoded if the signal is set.
    fn stop_before_slice(
        &self,
        signal: &Signal,
        kernel: &'static str,
        shape: &Shape,
        cutter: &Cutter,
    ) -> Result<()> {
        if cutter.left() == 0 {
            return Ok(());
        }
        if !cutter.is_whole() {
            self.wait()?;
        }
        if signal.get() == 0 {
            return Ok(());
        }
        let each: u64 = shape
            .threads_per_group
            .iter()
            .map(|&n| u64::from(n))
            .product();
        Err(MetalError::Stopped {
            kernel,
            begun: (cutter.begun() * each).min(shape.total_threads()),
            threads: shape.total_threads(),
        })
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

    /// Several reads with one wait.
    pub(crate) fn download_many(&self, mut reads: Vec<Read<'_>>) -> Result<()> {
        reads.retain(|read| !read.out.is_empty());
        let bytes = reads.iter().map(|read| read.src.bytes).sum();
        if bytes == 0 {
            return self.wait();
        }
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        let tag = self.tag(&Operation::transfer("copy d2h", bytes));
        self.waiting(bytes, || {
            inner.injected_wait_fault(limit, || inner.driver.download_many(&mut reads, limit, tag))
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
