//! NVIDIA GPUs through the CUDA driver API, loaded at run time: no toolkit is needed, and the same
//! binary runs on machines without a GPU.

mod api;
mod cache;
mod compile;
mod events;
mod launch;
mod modules;
mod staging;
mod status;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudarc::driver::sys;

pub(crate) use self::api::device_count;
use self::api::Device;
use self::events::{Event, EventPool};
use self::launch::{function, launch};
use self::modules::{check_built, Modules};
use self::staging::Staging;
use self::status::call;
use super::{Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Read, Tag};
use crate::device::DeviceInfo;
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::lock;
use crate::memory::{Segment, Span};
use crate::order::{Access, Order, Queues, COPY_QUEUE, MAX_QUEUES};
use crate::plan::Work;
use crate::report::{KernelLimits, KernelReport};

/// A wait polls without sleeping for this long: most waits of a proof are shorter.
const SPIN: Duration = Duration::from_millis(1);
/// A longer wait sleeps between two questions, for a sixteenth of what was waited so far within these bounds.
const SHORTEST_NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_micros(400);
/// Between two questions lies an eighth of what was waited so far, within these bounds.
const SHORTEST_PAUSE: Duration = Duration::from_nanos(500);
const LONGEST_PAUSE: Duration = Duration::from_micros(20);
/// Dispatches that are expected to take longer are timed, so that the next ones are cut better.
const TIMED_NS: f64 = 2e6;
/// Uploads of at least so many bytes do not wait for what the main stream is at, nor it for them.
const BULK: usize = 1 << 16;

pub(crate) struct CudaDriver {
    info: DeviceInfo,
    // Dropped in this order: what lives in the context, then the context.
    modules: Modules,
    staging: Staging,
    events: EventPool,
    timings: Mutex<Vec<(Tag, Event, Event)>>,
    measured: Mutex<Vec<(Work, Event, Event)>>,
    /// Held from the placing of an operation to its launch.
    queues: Mutex<Queues>,
    /// Time limit of the last wait: uploads wait as long for work before them.
    patience: Mutex<Duration>,
    device: Arc<Device>,
}

/// Sleeps. Linux would add 50 us that it may join timers by, unless the thread asks for less: the calling thread keeps that wish.
fn nap(time: Duration) {
    #[cfg(target_os = "linux")]
    {
        thread_local!(static ASKED: () = {
            // SAFETY: it changes nothing but how late timers of this thread may be, in nanoseconds.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong) };
        });
        ASKED.with(|()| ());
    }
    std::thread::sleep(time);
}

impl CudaDriver {
    /// Opens the device of this number in the driver's order and begins to compile every unit for it.
    pub fn open(number: u32, options: OpenOptions) -> Result<Box<dyn Driver>> {
        let device = Arc::new(Device::open(number)?);
        check_built(options.libraries)?;
        let mut info = device.info()?;
        info.profile.budget = options.budget.unwrap_or(info.profile.working_set);
        let modules = Modules::load(&device, &options, &info.profile);
        let (staging, events) = (Staging::default(), EventPool::default());
        Ok(Box::new(Self {
            info,
            modules,
            staging,
            events,
            timings: Mutex::default(),
            measured: Mutex::default(),
            queues: Mutex::new(Queues::new(match options.order {
                Order::Serial => 1,
                _ => MAX_QUEUES,
            })),
            patience: Mutex::default(),
            device,
        }))
    }

    /// The stream of downloads, of small uploads, and of everything that nothing is gained by moving.
    fn main(&self) -> sys::CUstream {
        self.device.streams[0]
    }

    /// Makes the stream of a queue wait for those of others.
    fn hold(&self, queue: usize, waits: [bool; MAX_QUEUES]) -> DriverResult {
        for (other, _) in waits.iter().enumerate().filter(|(_, &wait)| wait) {
            let event = self.events.record(self.device.streams[other])?;
            event.hold(self.device.streams[queue])?;
            // The wait is for what was recorded; the event may be recorded again.
            self.events.recycle(event);
        }
        Ok(())
    }

    /// Runs `work` in the stream that it is given, after all that uses the same memory; between two events if
    /// its time is wanted. Copies go to the main stream.
    fn ordered(
        &self,
        accesses: impl Iterator<Item = Access> + Clone,
        expected: Option<Work>,
        tag: Tag,
        work: impl FnOnce(sys::CUstream) -> DriverResult,
    ) -> DriverResult {
        self.device.enter()?;
        let mut queues = lock(&self.queues);
        // Times of kernels are asked for to compare them: then each runs alone.
        let fixed = (expected.is_none() || tag != 0).then_some(0);
        let modelled = expected.map_or(0.0, |work| work.modelled);
        let placement = queues.place(accesses, modelled, fixed);
        self.hold(placement.queue, placement.waits)?;
        let stream = self.device.streams[placement.queue];
        let learn = expected.filter(|work| work.modelled >= TIMED_NS);
        if tag == 0 && learn.is_none() {
            return work(stream);
        }
        let start = self.events.record(stream)?;
        work(stream)?;
        let end = self.events.record(stream)?;
        match learn {
            _ if tag != 0 => lock(&self.timings).push((tag, start, end)),
            Some(work) => lock(&self.measured).push((work, start, end)),
            None => {}
        }
        Ok(())
    }

    /// Runs `work` in the main stream, between two events if its time is wanted.
    fn timed(&self, tag: Tag, work: impl FnOnce() -> DriverResult) -> DriverResult {
        if tag == 0 {
            return work();
        }
        let start = self.events.record(self.main())?;
        work()?;
        let end = self.events.record(self.main())?;
        lock(&self.timings).push((tag, start, end));
        Ok(())
    }

    /// Makes a copy's queue wait for all that uses the same memory. Tells the queue, and what comes before the next
    /// operation of the main stream.
    fn place_copy(&self, access: Access, queue: usize) -> DriverResult<(usize, [u64; MAX_QUEUES])> {
        let mut queues = lock(&self.queues);
        let placement = queues.place([access].into_iter(), 0.0, Some(queue));
        self.hold(placement.queue, placement.waits)?;
        Ok((placement.queue, queues.before_next()))
    }

    /// Makes the main stream wait for all others; what has been given to each.
    fn join(&self) -> DriverResult<[u64; MAX_QUEUES]> {
        let mut queues = lock(&self.queues);
        let waits = queues.join();
        self.hold(0, waits)?;
        Ok(queues.issued())
    }

    /// Waits until an event has happened, at most until `limit` after `since`.
    fn wait_for(&self, event: &Event, since: Instant, limit: Duration) -> DriverResult {
        loop {
            if event.happened()? {
                return Ok(());
            }
            let waited = since.elapsed();
            if waited > limit {
                return Err(Fault::Timeout(limit));
            }
            if waited > SPIN {
                nap((waited / 16).clamp(SHORTEST_NAP, LONGEST_NAP));
                continue;
            }
            // Pauses between questions leave the processor to threads that make traces (docs/notebook/programs.md).
            let next = waited + (waited / 8).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
            while since.elapsed() < next {
                std::hint::spin_loop();
            }
        }
    }

    /// Entries of `pending` that have ended, with their times in nanoseconds.
    fn finished<T>(&self, pending: &Mutex<Vec<(T, Event, Event)>>) -> Vec<(T, u64)> {
        let mut pending = lock(pending);
        if pending.is_empty() || self.device.enter().is_err() {
            return Vec::new();
        }
        let mut times = Vec::with_capacity(pending.len());
        let finished = pending
            .iter()
            .take_while(|(_, _, end)| end.happened().unwrap_or(true));
        let count = finished.count();
        for (what, start, end) in pending.drain(..count) {
            if let Ok(time) = end.since(&start) {
                times.push((what, time.as_nanos() as u64));
            }
            self.events.recycle(start);
            self.events.recycle(end);
        }
        times
    }
}

impl Driver for CudaDriver {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn report(&self) -> &KernelReport {
        self.modules.report()
    }

    fn is_loaded(&self) -> bool {
        self.modules.is_loaded()
    }

    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.modules.get(kernel).map(|function| function.limits())
    }

    fn load(&self, unit: &str, code: Option<&str>, kernels: &[&'static KernelSpec]) -> Result<()> {
        self.modules.add(&self.device, unit, code, kernels)
    }

    fn unload(&self, kernels: &[&KernelSpec], limit: Duration) {
        // A module is unloaded when none of its kernels can run any more; a device that does not end keeps it.
        if self.wait(limit).is_ok() {
            self.modules.remove(kernels);
        }
    }

    fn allocate(&self, bytes: u64) -> DriverResult<Segment> {
        self.device.enter()?;
        let mut address = 0;
        // SAFETY: the context is current and the pointer valid.
        call("cuMemAlloc", unsafe {
            sys::cuMemAlloc_v2(&mut address, bytes as usize)
        })?;
        Ok(Segment {
            address,
            reached: address,
            object: 0,
            bytes,
        })
    }

    fn release(&self, segment: Segment) {
        // Freeing waits for work in flight.
        if self.device.enter().is_ok() {
            // SAFETY: the segment came from `allocate` and the pool gave it up.
            let status = unsafe { sys::cuMemFree_v2(segment.address) };
            if let Err(fault) = call("cuMemFree", status) {
                tracing::warn!(?fault, "device memory was not freed");
            }
        }
    }

    fn pin(&self, bytes: u64) -> DriverResult<Option<Segment>> {
        self.device.enter()?;
        staging::pinned(bytes as usize).map(Some)
    }

    fn unpin(&self, segment: Segment) {
        if self.device.enter().is_ok() {
            staging::unpinned(segment);
        }
    }

    fn can_cut(&self, kernel: &'static KernelSpec) -> bool {
        kernel.slices
    }

    fn dispatch(&self, dispatch: &Dispatch, tag: Tag) -> DriverResult {
        let function = function(&self.modules, dispatch)?;
        self.ordered(dispatch.accesses(), Some(dispatch.work), tag, |stream| {
            launch(&function, dispatch, stream)
        })
    }

    fn fill(&self, dst: Span, byte: u8, _: Work, tag: Tag) -> DriverResult {
        let accesses = [Access::write(&dst)].into_iter();
        self.ordered(accesses, None, tag, |stream| {
            let (address, bytes) = (dst.address(), dst.bytes as usize);
            // SAFETY: the span lies in live device memory.
            let status = unsafe { sys::cuMemsetD8Async(address, byte, bytes, stream) };
            call("cuMemsetD8Async", status)
        })
    }

    fn copy(&self, src: Span, dst: Span, _: Work, tag: Tag) -> DriverResult {
        let accesses = [Access::read(&src), Access::write(&dst)].into_iter();
        self.ordered(accesses, None, tag, |stream| {
            let (from, to, bytes) = (src.address(), dst.address(), dst.bytes as usize);
            // SAFETY: both spans lie in live device memory and do not overlap.
            let status = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream) };
            call("cuMemcpyDtoDAsync", status)
        })
    }

    fn upload(&self, dst: Span, data: &[u8], _: bool, tag: Tag) -> DriverResult {
        self.device.enter()?;
        let wanted = match data.len() {
            BULK.. if tag == 0 => COPY_QUEUE,
            _ => 0,
        };
        let (queue, _) = self.place_copy(Access::write(&dst), wanted)?;
        let stream = self.device.streams[queue];
        // Nobody can use the target before this returns, so the queues need not stay locked.
        self.timed(tag, || self.staging.upload(self, stream, dst, data))?;
        // Another thread may have made its queue wait for this one before the copy was in it, and then both queues count
        // the copy as seen: what uses the target comes after this placement, which is after the copy.
        self.place_copy(Access::write(&dst), queue)?;
        Ok(())
    }

    fn download(&self, src: Span, out: &mut [u8], limit: Duration, tag: Tag) -> DriverResult {
        self.device.enter()?;
        let (_, before) = self.place_copy(Access::read(&src), 0)?;
        // The queues are not locked while waiting: another thread may go on encoding.
        self.timed(tag, || self.staging.download(self, src, out, limit))?;
        lock(&self.queues).ended(before);
        Ok(())
    }

    fn download_many(&self, reads: &mut [Read<'_>], limit: Duration, tag: Tag) -> DriverResult {
        self.device.enter()?;
        if !staging::fits(reads) {
            for read in reads {
                self.download(read.src, read.out, limit, tag)?;
            }
            return Ok(());
        }
        let mut before = None;
        for read in reads.iter() {
            before = Some(self.place_copy(Access::read(&read.src), 0)?.1);
        }
        self.timed(tag, || self.staging.download_together(self, reads, limit))?;
        if let Some(before) = before {
            lock(&self.queues).ended(before);
        }
        Ok(())
    }

    fn submit(&self) -> DriverResult {
        Ok(())
    }

    fn wait(&self, limit: Duration) -> DriverResult {
        let start = Instant::now();
        *lock(&self.patience) = limit;
        self.device.enter()?;
        let issued = self.join()?;
        let event = self.events.record(self.main())?;
        self.wait_for(&event, start, limit)?;
        self.events.recycle(event);
        lock(&self.queues).ended(issued);
        Ok(())
    }

    fn mark(&self, _: Duration) -> DriverResult<Mark> {
        self.device.enter()?;
        self.join()?;
        Ok(Mark::Event(self.events.record(self.main())?.into_raw()))
    }

    fn between(&self, start: Mark, end: Mark, limit: Duration) -> DriverResult<Duration> {
        self.device.enter()?;
        let (Mark::Event(start), Mark::Event(end)) = (start, end) else {
            return Err(Fault::Lost("marks of another driver".into()));
        };
        let (start, end) = (Event::from_raw(start), Event::from_raw(end));
        self.wait_for(&end, Instant::now(), limit)?;
        let time = end.since(&start)?;
        self.events.recycle(start);
        self.events.recycle(end);
        Ok(time)
    }

    fn take_timings(&self) -> Vec<(Tag, u64)> {
        self.finished(&self.timings)
    }

    fn take_measured(&self) -> Vec<(Vec<Work>, u64)> {
        let measured = self.finished(&self.measured);
        measured.into_iter().map(|(w, ns)| (vec![w], ns)).collect()
    }
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        // Events, pinned memory and modules are destroyed in the context that owns them.
        let _ = self.device.enter();
    }
}
