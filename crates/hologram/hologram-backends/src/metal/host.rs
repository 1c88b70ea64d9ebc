//! A device's memory as the interpreter's.

use openvm_metal_common::CommandStream;

use super::apart::lost;
use super::memory::{Memory, Range};
use crate::atlas::BOUNDARY_BYTES;
use crate::cpu::{Block, Blocks, HostMemory};
use crate::error::{BackendError, Result};

impl Memory {
    /// Calls `work` with the boundary pool, all pools and the wanted buffers, under their handles, after everything
    /// submitted before. Pools that it makes or frees are made and freed here.
    ///
    /// Cost: where the device's memory is the host's, a word for each handle; else a copy of these buffers and pools to
    /// the host and back. New pools are copied to the device.
    ///
    /// # Errors
    /// Those of `work`, which then must not have changed anything; out of memory, also for new pools: those that have
    /// none are freed.
    pub fn on_host<T>(
        &mut self,
        stream: &CommandStream,
        wanted: impl Fn(u64) -> bool,
        work: impl FnOnce(&mut HostMemory) -> Result<T>,
    ) -> Result<T> {
        // The boundary pool comes first: making it may move others.
        let at = self.boundary(stream)?;
        let in_place = stream.context().device_profile().unified;
        stream.wait().map_err(super::device_error)?;
        self.lend(stream, in_place, at, wanted, work)
    }

    /// The same in place or with copies, and the boundary pool's place.
    fn lend<T>(
        &mut self,
        stream: &CommandStream,
        in_place: bool,
        boundary: usize,
        wanted: impl Fn(u64) -> bool,
        work: impl FnOnce(&mut HostMemory) -> Result<T>,
    ) -> Result<T> {
        let boundary = Range {
            at: boundary,
            size: BOUNDARY_BYTES,
        };
        let mut failed = Ok(());
        let store = &self.store;
        let mut block = |range: &Range| match store.host(range.at) {
            // SAFETY: the range lies in the store's memory, `range.size` bytes from where `host` says. The store keeps it there, and
            // nobody else uses it, until the blocks are gone: `settle` takes and gives back memory after the work.
            Some(first) if in_place && range.size > 0 => Some(unsafe {
                Block::borrowed(std::ptr::with_exposed_provenance_mut(first), range.size)
            }),
            // What is written in place would be lost in a copy.
            None if in_place && range.size > 0 => {
                failed = Err(lost());
                None
            }
            _ => {
                let mut copy = Block::zeroed(range.size);
                match &mut copy {
                    Some(copy) => {
                        let read = store.read(stream, range.at, copy.bytes_mut());
                        failed = failed.clone().and(read);
                    }
                    None => {
                        let requested = range.size;
                        failed = Err(BackendError::OutOfMemory { requested });
                    }
                }
                copy
            }
        };
        let mut host = HostMemory {
            buffers: self
                .buffers
                .map(|raw, range| wanted(raw).then(|| block(range)).flatten()),
            pools: self.pools.map(|_, range| block(range)),
            boundary: block(&boundary),
        };
        failed?;
        let done = work(&mut host)?;
        if !in_place {
            for (raw, range) in self.buffers.iter() {
                if let Some(block) = host.buffers.get(raw) {
                    self.store.write(stream, range.at, block.bytes())?;
                }
            }
            if let Some(block) = &host.boundary {
                self.store.write(stream, boundary.at, block.bytes())?;
            }
        }
        self.settle(stream, &host.pools, !in_place)?;
        Ok(done)
    }

    /// Makes the pools here what they are on the host.
    fn settle(&mut self, stream: &CommandStream, pools: &Blocks, copied: bool) -> Result<()> {
        let Self {
            store,
            pools: before,
            version,
            ..
        } = self;
        for (raw, range) in before.iter() {
            if pools.get(raw).is_none() {
                store.release(range.at, range.size);
                *version += 1;
            }
        }
        let mut failed = Ok(());
        let after = pools.map(|raw, block| {
            let bytes = block.bytes();
            let kept = before.get(raw).copied();
            let range = kept.map_or_else(
                || {
                    *version += 1;
                    let size = bytes.len();
                    store
                        .allocate(stream, size, true)
                        .map(|at| Range { at, size })
                },
                Ok,
            );
            let written = range.and_then(|range| {
                if copied || kept.is_none() {
                    store.write(stream, range.at, bytes)?;
                }
                Ok(range)
            });
            written.map_err(|error| failed = Err(error)).ok()
        });
        *before = after;
        failed
    }
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, DeviceProfile, MetalContext};

    use super::*;
    use crate::error::BackendError;
    use crate::handle::BufferHandle;

    /// The processor, which may stand in for another device.
    fn open(profile: &str) -> Result<MetalContext> {
        let profile = DeviceProfile::named(profile).map_err(super::super::device_error)?;
        let builder = MetalContext::builder(Device::Cpu).profile(profile);
        builder.open().map_err(super::super::device_error)
    }

    /// Writes to a buffer, the boundary pool and a pool, makes pools and frees others, in place or on copies.
    fn work(profile: &str, in_place: bool) -> Result<Vec<u8>> {
        let context = open(profile)?;
        let stream = context.stream();
        let mut memory = Memory::new(&stream)?;
        let buffer = memory.allocate_buffer(&stream, 300, true)?;
        let other = memory.allocate_buffer(&stream, 8, true)?;
        let kept = memory.allocate_pool(&stream, 40)?;
        let gone = memory.allocate_pool(&stream, 50)?;
        let at = memory.boundary(&stream)?;
        let version = memory.version();
        let wanted = |raw| raw == buffer.raw();
        let made = memory.lend(&stream, in_place, at, wanted, |host| {
            assert!(host.buffers.get(other.raw()).is_none());
            let span = host.buffer(buffer)?;
            let class = host.buffer(BufferHandle::class(2).unwrap_or(buffer))?;
            let pool = host.pools.find(kept.raw());
            for (byte, span) in [span, class].into_iter().chain(pool).enumerate() {
                // SAFETY: the last byte of a live span.
                unsafe { *span.ptr.add(span.len as usize - 1) = byte as u8 + 1 };
            }
            host.pools.remove(gone.raw());
            let made = [
                host.pools.allocate_charged(70),
                host.pools.allocate_charged(0),
            ];
            if let Some(span) = made[0].and_then(|raw| host.pools.find(raw)) {
                // SAFETY: as above.
                unsafe { *span.ptr.add(69) = 9 };
            }
            Ok(made)
        })?;
        assert_eq!(made, [Some((1 << 32) + 2), Some(3)]);
        assert_ne!(memory.version(), version);
        let missing = memory.pool(gone);
        assert!(matches!(missing, Err(BackendError::InvalidPoolHandle(_))));
        let mut seen = vec![0; 5];
        let class = BufferHandle::class(2).unwrap_or(buffer);
        for (i, (handle, offset)) in [(buffer, 299), (class, 12_287)].into_iter().enumerate() {
            let at = memory.buffer_range(&stream, handle, offset, 1)?;
            memory.store.read(&stream, at, &mut seen[i..=i])?;
        }
        let new = crate::handle::PoolHandle::from_raw((1 << 32) + 2);
        for (i, (handle, offset)) in [(kept, 39), (new, 69)].into_iter().enumerate() {
            let at = memory.pool_range(handle, offset, 1)?;
            memory.store.read(&stream, at, &mut seen[2 + i..=2 + i])?;
        }
        seen[4] = u8::try_from(memory.pools.charged()).unwrap_or(0);
        memory.free_pool(new)?;
        assert_eq!(memory.pools.charged(), 64);
        Ok(seen)
    }

    #[test]
    fn memory_is_the_same_in_place_and_copied() {
        // Addresses of host and kernels are the same, differ, and kernels have none.
        for profile in ["cpu", "m1-8gb", "mac-runner"] {
            for in_place in [true, false] {
                let seen = work(profile, in_place);
                assert_eq!(seen, Ok(vec![1, 2, 3, 9, 134]), "{profile} {in_place}");
            }
        }
    }

    #[test]
    fn nothing_changes_when_the_work_fails() -> Result<()> {
        let context = open("cpu")?;
        let stream = context.stream();
        let mut memory = Memory::new(&stream)?;
        let pool = memory.allocate_pool(&stream, 16)?;
        let failed: Result<()> = memory.on_host(
            &stream,
            |_| true,
            |host| {
                host.pools.remove(pool.raw());
                Err(BackendError::OutOfMemory { requested: 1 })
            },
        );
        assert!(failed.is_err());
        assert!(memory.pool(pool).is_ok());
        Ok(())
    }
}
