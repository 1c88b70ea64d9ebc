//! Copies between host and device through pinned memory, two halves in turn. Large uploads of several threads are made at the same time, each through
//! halves of its own; other copies in one direction and one stream one after another.

use std::ffi::c_void;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::sys;

use super::events::Event;
use super::status::call;
use super::CudaDriver;
use crate::device_kind::DeviceKind;
use crate::driver::cpu::copy_bytes_awake;
use crate::driver::{DriverResult, Fault, Read};
use crate::error::MetalError;
use crate::lock;
use crate::memory::{Segment, Span};

/// Bytes of one half.
const HALF: usize = 8 << 20;
/// Most pairs of halves for large uploads: fewer threads fill a link.
const MOST_PAIRS: usize = 4;
/// Time for which threads that help with a copy stay awake: the wait for the other half is shorter, and after the last piece they would only poll.
const BETWEEN_PIECES: Duration = Duration::from_micros(200);
/// Longest wait for a half to become free again, unless work before the copy that uses it may take longer; the copy takes
/// milliseconds.
const HALF_WAIT: Duration = Duration::from_secs(60);

/// Pinned memory for copies, allocated at the first of its kind.
#[derive(Default)]
pub(super) struct Staging {
    /// Uploads in the main stream: small, or all of a serial context.
    up: Mutex<Option<Pair>>,
    /// Uploads in another.
    bulk: Pairs,
    down: Mutex<Option<Pair>>,
}

/// Pinned memory with the same address on host and device, as addresses of 64-bit systems are.
pub(super) fn pinned(bytes: usize) -> DriverResult<Segment> {
    let mut start: *mut c_void = std::ptr::null_mut();
    let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the context is current and the pointer is to a local.
    call("cuMemHostAlloc", unsafe {
        sys::cuMemHostAlloc(&mut start, bytes, flags)
    })?;
    let mut address = 0;
    // SAFETY: as above; the memory was just made and is mapped.
    let status = unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, start, 0) };
    if let Err(fault) = call("cuMemHostGetDevicePointer", status) {
        // SAFETY: made above, and used by nothing.
        unsafe { sys::cuMemFreeHost(start) };
        return Err(fault);
    }
    if address != start as u64 {
        // SAFETY: as above.
        unsafe { sys::cuMemFreeHost(start) };
        return Err(Fault::Error(MetalError::Driver {
            device: DeviceKind::Cuda,
            call: "cuMemHostGetDevicePointer",
            message: "host and device have different addresses for pinned memory".into(),
        }));
    }
    Ok(Segment {
        address,
        reached: address,
        object: 0,
        bytes: bytes as u64,
    })
}

/// Frees what [`pinned`] gave.
pub(super) fn unpinned(segment: Segment) {
    // SAFETY: allocated by `pinned`, freed once, and no kernel uses it.
    unsafe { sys::cuMemFreeHost(segment.address as *mut c_void) };
}

struct Pair {
    /// Two halves of pinned memory.
    start: *mut u8,
    /// The copy that last used each half.
    busy: [Option<Event>; 2],
    /// The half in use, and how much of it is taken.
    half: usize,
    used: usize,
}

// SAFETY: the memory is owned by the pair and reached only through `&mut`.
unsafe impl Send for Pair {}

impl Pair {
    fn new() -> DriverResult<Self> {
        let mut start: *mut c_void = std::ptr::null_mut();
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the context is current and the pointer is to a local.
        call("cuMemHostAlloc", unsafe {
            sys::cuMemHostAlloc(&mut start, 2 * HALF, flags)
        })?;
        Ok(Self {
            start: start.cast(),
            busy: [None, None],
            half: 0,
            used: 0,
        })
    }

    fn half_start(&self, half: usize) -> *mut u8 {
        // SAFETY: the second half begins `HALF` bytes into an allocation of twice that.
        unsafe { self.start.add(half * HALF) }
    }

    /// Waits until the copy that last used a half is over.
    fn free(&mut self, driver: &CudaDriver, half: usize, limit: Duration) -> DriverResult {
        if let Some(event) = &self.busy[half] {
            driver.wait_for(event, Instant::now(), limit)?;
        }
        if let Some(event) = self.busy[half].take() {
            driver.events.recycle(event);
        }
        Ok(())
    }

    /// Copies host data to the device in the order of the stream; the host data are free when this returns. `has_help` says for each piece whether
    /// other threads take part.
    fn upload(
        &mut self,
        driver: &CudaDriver,
        stream: sys::CUstream,
        dst: Span,
        data: &[u8],
        has_help: impl Fn() -> bool,
    ) -> DriverResult {
        let mut done = 0;
        while done < data.len() {
            if self.used == HALF {
                self.busy[self.half] = Some(driver.events.record(stream)?);
                let limit = HALF_WAIT.max(*lock(&driver.patience));
                self.free(driver, self.half ^ 1, limit)?;
                self.half ^= 1;
                self.used = 0;
            }
            let bytes = (data.len() - done).min(HALF - self.used);
            // SAFETY: `used + bytes <= HALF`, and nothing in flight uses this part of the half.
            let pinned = unsafe { self.half_start(self.half).add(self.used) };
            let piece = &data[done..done + bytes];
            match has_help() {
                true => {
                    let from = piece.as_ptr() as u64;
                    copy_bytes_awake(from, pinned as u64, bytes as u64, BETWEEN_PIECES);
                }
                // SAFETY: `used + bytes <= HALF`: the half has as many bytes there, which nothing in flight uses, and this pair owns them.
                false => unsafe { pinned.copy_from_nonoverlapping(piece.as_ptr(), bytes) },
            }
            let target = dst.address() + done as u64;
            // SAFETY: pinned memory that stays untouched until the event of its half has happened.
            let status = unsafe { sys::cuMemcpyHtoDAsync_v2(target, pinned.cast(), bytes, stream) };
            call("cuMemcpyHtoDAsync", status)?;
            done += bytes;
            self.used = (self.used + bytes).next_multiple_of(64).min(HALF);
        }
        Ok(())
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`; the driver is idle when it is dropped.
        unsafe { sys::cuMemFreeHost(self.start.cast()) };
    }
}

/// Pairs of which each upload takes one.
#[derive(Default)]
struct Pairs {
    state: Mutex<PairsState>,
    returned: Condvar,
}

#[derive(Default)]
struct PairsState {
    idle: Vec<Pair>,
    /// Uploads that have a pair.
    uploads: usize,
}

/// A pair that is given back when it is dropped.
struct Taken<'a> {
    pairs: &'a Pairs,
    /// Absent until there is memory for it, and while it is dropped.
    pair: Option<Pair>,
}

impl Pairs {
    /// An idle pair, or a new one if there are few; waits for one otherwise.
    fn take(&self) -> DriverResult<Taken<'_>> {
        let mut state = lock(&self.state);
        while state.idle.is_empty() && state.uploads >= MOST_PAIRS {
            state = self
                .returned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let idle = state.idle.pop();
        state.uploads += 1;
        drop(state);
        // Gives the place back if there is no memory.
        let mut taken = Taken {
            pairs: self,
            pair: idle,
        };
        get(&mut taken.pair)?;
        Ok(taken)
    }

    /// True while one upload has a pair.
    fn has_one_upload(&self) -> bool {
        lock(&self.state).uploads == 1
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.pairs.state);
        state.idle.extend(self.pair.take());
        state.uploads -= 1;
        drop(state);
        self.pairs.returned.notify_one();
    }
}

fn get(pair: &mut Option<Pair>) -> DriverResult<&mut Pair> {
    match pair {
        Some(pair) => Ok(pair),
        None => Ok(pair.insert(Pair::new()?)),
    }
}

/// Offset of each of several reads in one half.
fn places<'a>(reads: &'a [Read<'_>]) -> impl Iterator<Item = usize> + 'a {
    reads.iter().scan(0, |end: &mut usize, read| {
        let start = end.next_multiple_of(64);
        *end = start + read.out.len();
        Some(start)
    })
}

/// True if [`Staging::download_together`] can take these reads.
pub(super) fn fits(reads: &[Read<'_>]) -> bool {
    let ends = places(reads)
        .zip(reads)
        .map(|(at, read)| at + read.out.len());
    ends.last().is_none_or(|end| end <= HALF)
}

impl Staging {
    /// Copies host data to the device in the order of the stream, one always used for large uploads or the main one;
    /// the host data are free when this returns.
    pub fn upload(
        &self,
        driver: &CudaDriver,
        stream: sys::CUstream,
        dst: Span,
        data: &[u8],
    ) -> DriverResult {
        if stream == driver.main() {
            let mut pair = lock(&self.up);
            return get(&mut pair)?.upload(driver, stream, dst, data, || true);
        }
        let mut taken = self.bulk.take()?;
        // Several threads that copy are as fast alone as with helpers.
        let has_help = || self.bulk.has_one_upload();
        get(&mut taken.pair)?.upload(driver, stream, dst, data, has_help)
    }

    /// Copies what [`fits`] to the host after everything in the main stream; waits once.
    pub fn download_together(
        &self,
        driver: &CudaDriver,
        reads: &mut [Read<'_>],
        limit: Duration,
    ) -> DriverResult {
        let mut pair = lock(&self.down);
        let pair = get(&mut pair)?;
        let start = pair.half_start(0);
        for (at, read) in places(reads).zip(reads.iter()) {
            debug_assert!(read.out.len() as u64 <= read.src.bytes);
            // SAFETY: the half is free, `fits` found the place inside it; the bytes lie inside the span.
            let status = unsafe {
                let (to, from) = (start.add(at), read.src.address());
                sys::cuMemcpyDtoHAsync_v2(to.cast(), from, read.out.len(), driver.main())
            };
            call("cuMemcpyDtoHAsync", status)?;
        }
        pair.busy[0] = Some(driver.events.record(driver.main())?);
        pair.free(driver, 0, limit)?;
        let places: Vec<usize> = places(reads).collect();
        for (at, read) in places.into_iter().zip(reads) {
            let target = read.out.as_mut_ptr() as u64;
            let (from, bytes) = (start as u64 + at as u64, read.out.len() as u64);
            copy_bytes_awake(from, target, bytes, BETWEEN_PIECES);
        }
        Ok(())
    }

    /// Copies to the host after everything in the main stream; waits.
    pub fn download(
        &self,
        driver: &CudaDriver,
        src: Span,
        out: &mut [u8],
        limit: Duration,
    ) -> DriverResult {
        let mut pair = lock(&self.down);
        let pair = get(&mut pair)?;
        let (total, target) = (out.len(), out.as_mut_ptr() as u64);
        let chunks = total.div_ceil(HALF);
        let length = |chunk: usize| (total - chunk * HALF).min(HALF);
        debug_assert!(total as u64 <= src.bytes);
        for step in 0..=chunks {
            if step < chunks {
                // The half is free: its former chunk was copied out one step ago.
                let pinned = pair.half_start(step % 2);
                let from = src.address() + (step * HALF) as u64;
                // SAFETY: a free half of pinned memory, a chunk inside the span.
                let status = unsafe {
                    sys::cuMemcpyDtoHAsync_v2(pinned.cast(), from, length(step), driver.main())
                };
                call("cuMemcpyDtoHAsync", status)?;
                pair.busy[step % 2] = Some(driver.events.record(driver.main())?);
            }
            if let Some(chunk) = step.checked_sub(1) {
                pair.free(driver, chunk % 2, limit)?;
                let pinned = pair.half_start(chunk % 2) as u64;
                let to = target + (chunk * HALF) as u64;
                copy_bytes_awake(pinned, to, length(chunk) as u64, BETWEEN_PIECES);
            }
        }
        Ok(())
    }
}
