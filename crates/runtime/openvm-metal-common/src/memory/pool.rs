//! The pool: best fit over the free blocks of all segments, splitting and merging.

use std::collections::{BTreeMap, BTreeSet};

use super::size::ALIGNMENT;
use super::span::{Segment, Span};
use super::{is_small, MemoryStats, PeakTracker};

/// Number of too recently used free blocks that a host-written request skips.
const RECENT_SEARCH: usize = 64;

/// A live block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolBlock {
    segment: u32,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    free: bool,
    /// The last submission that may still use the bytes.
    epoch: u64,
}

struct SegmentState {
    segment: Segment,
    small: bool,
    live_blocks: usize,
    /// By offset; the blocks tile the segment, and two free ones never touch.
    blocks: BTreeMap<u64, Block>,
}

/// Bookkeeping only: it neither calls the driver nor touches the memory.
pub(crate) struct Pool {
    stats: MemoryStats,
    segments: Vec<Option<SegmentState>>,
    /// Free blocks as (bytes, segment, offset), for [large, small] segments.
    free: [BTreeSet<(u64, u32, u64)>; 2],
    trackers: Vec<PeakTracker>,
    next_tracker: u64,
}

impl Pool {
    pub fn new(budget: u64) -> Self {
        Self {
            stats: MemoryStats {
                budget,
                ..Default::default()
            },
            segments: Vec::new(),
            free: Default::default(),
            trackers: Vec::new(),
            next_tracker: 0,
        }
    }

    pub fn stats(&self) -> MemoryStats {
        self.stats
    }

    /// True if a rounded request fits beside what is live.
    pub fn within_budget(&self, rounded: u64) -> bool {
        self.stats
            .live
            .checked_add(rounded)
            .is_some_and(|live| live <= self.stats.budget)
    }

    /// Takes a block of at least `rounded` bytes from the free ones, best fit first. With
    /// `finished_by` only blocks whose last submission is not newer are taken.
    pub fn take(&mut self, rounded: u64, finished_by: Option<u64>) -> Option<PoolBlock> {
        self.take_at_most(rounded, u64::MAX, finished_by)
    }

    /// Does the work of [`Pool::take`] from free blocks of at most `most` bytes.
    pub fn take_at_most(
        &mut self,
        rounded: u64,
        most: u64,
        finished_by: Option<u64>,
    ) -> Option<PoolBlock> {
        let small = is_small(rounded);
        let mut candidates = self.free[small as usize]
            .range((rounded, 0, 0)..=(most.max(rounded), u32::MAX, u64::MAX))
            .take(RECENT_SEARCH);
        let &(bytes, segment, offset) = candidates.find(|&&(_, segment, offset)| {
            finished_by.is_none_or(|done| {
                self.segments[segment as usize]
                    .as_ref()
                    .is_some_and(|s| s.blocks[&offset].epoch <= done)
            })
        })?;
        self.free[small as usize].remove(&(bytes, segment, offset));
        let state = self.segments[segment as usize].as_mut()?;
        let block = state.blocks.get_mut(&offset)?;
        block.free = false;
        let rest = bytes - rounded;
        let span_bytes = if rest >= ALIGNMENT {
            block.bytes = rounded;
            let tail = Block {
                bytes: rest,
                free: true,
                epoch: block.epoch,
            };
            state.blocks.insert(offset + rounded, tail);
            self.free[small as usize].insert((rest, segment, offset + rounded));
            rounded
        } else {
            bytes
        };
        state.live_blocks += 1;
        self.stats.allocations += 1;
        self.stats.live += span_bytes;
        self.stats.largest = self.stats.largest.max(span_bytes);
        self.stats.peak = self.stats.peak.max(self.stats.live);
        for tracker in &mut self.trackers {
            tracker.peak = tracker.peak.max(self.stats.live);
        }
        let span = Span {
            segment: state.segment,
            offset,
            bytes: span_bytes,
        };
        Some(PoolBlock { segment, span })
    }

    /// Gives a block back; `epoch` is the last submission that may still use it.
    pub fn give(&mut self, block: PoolBlock, epoch: u64) {
        let Some(state) = self.segments[block.segment as usize].as_mut() else {
            return;
        };
        let free = &mut self.free[state.small as usize];
        let (mut offset, mut bytes, mut epoch) = (block.span.offset, block.span.bytes, epoch);
        self.stats.live -= bytes;
        state.live_blocks -= 1;
        if let Some((&next, &after)) = state.blocks.range(offset + bytes..).next() {
            if after.free {
                free.remove(&(after.bytes, block.segment, next));
                state.blocks.remove(&next);
                bytes += after.bytes;
                epoch = epoch.max(after.epoch);
            }
        }
        if let Some((&previous, &before)) = state.blocks.range(..offset).next_back() {
            if before.free {
                free.remove(&(before.bytes, block.segment, previous));
                state.blocks.remove(&offset);
                offset = previous;
                bytes += before.bytes;
                epoch = epoch.max(before.epoch);
            }
        }
        state.blocks.insert(
            offset,
            Block {
                bytes,
                free: true,
                epoch,
            },
        );
        free.insert((bytes, block.segment, offset));
    }

    /// Keeps the first `rounded` bytes of a live block and gives the rest back.
    pub fn shrink(&mut self, block: &mut PoolBlock, rounded: u64, epoch: u64) {
        let Some(rest) = block.span.bytes.checked_sub(rounded) else {
            return;
        };
        let Some(state) = self.segments[block.segment as usize].as_mut() else {
            return;
        };
        if rest < ALIGNMENT {
            return;
        }
        let (offset, mut tail) = (block.span.offset, *block);
        tail.span.offset += rounded;
        tail.span.bytes = rest;
        block.span.bytes = rounded;
        let live = |bytes: u64| Block {
            bytes,
            free: false,
            epoch,
        };
        state.blocks.insert(offset, live(rounded));
        state.blocks.insert(offset + rounded, live(rest));
        state.live_blocks += 1;
        self.give(tail, epoch);
    }

    /// Takes `bytes` of the budget for a segment, before it is fetched; false if they are not left.
    pub fn reserve(&mut self, bytes: u64) -> bool {
        let reserved = self.stats.reserved.saturating_add(bytes);
        let room = reserved <= self.stats.budget;
        if room {
            self.stats.reserved = reserved;
            self.stats.peak_reserved = self.stats.peak_reserved.max(reserved);
        }
        room
    }

    /// Takes [`Pool::reserve`] back: there is no segment.
    pub fn unreserve(&mut self, bytes: u64) {
        self.stats.reserved -= bytes;
    }

    /// Adds a segment fresh from the device, whose bytes are reserved.
    pub fn add_segment(&mut self, segment: Segment, small: bool) {
        let slot = self
            .segments
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                self.segments.push(None);
                self.segments.len() - 1
            });
        let whole = Block {
            bytes: segment.bytes,
            free: true,
            epoch: 0,
        };
        self.segments[slot] = Some(SegmentState {
            segment,
            small,
            live_blocks: 0,
            blocks: BTreeMap::from([(0, whole)]),
        });
        self.free[small as usize].insert((segment.bytes, slot as u32, 0));
        self.stats.device_allocations += 1;
    }

    /// Removes every segment without a live block, for the caller to release.
    pub fn trim(&mut self) -> Vec<Segment> {
        let mut released = Vec::new();
        for (slot, entry) in self.segments.iter_mut().enumerate() {
            if entry.as_ref().is_none_or(|state| state.live_blocks > 0) {
                continue;
            }
            if let Some(state) = entry.take() {
                self.free[state.small as usize].remove(&(state.segment.bytes, slot as u32, 0));
                self.stats.reserved -= state.segment.bytes;
                released.push(state.segment);
            }
        }
        released
    }

    /// Starts to follow the peak of live bytes.
    pub fn track(&mut self) -> u64 {
        self.next_tracker += 1;
        self.trackers.push(PeakTracker {
            id: self.next_tracker,
            peak: self.stats.live,
        });
        self.next_tracker
    }

    /// The peak since [`Pool::track`] returned this id.
    pub fn tracked(&self, id: u64) -> u64 {
        self.trackers
            .iter()
            .find(|t| t.id == id)
            .map_or(0, |t| t.peak)
    }

    /// Ends [`Pool::track`] and returns the peak.
    pub fn untrack(&mut self, id: u64) -> u64 {
        let peak = self.tracked(id);
        self.trackers.retain(|t| t.id != id);
        peak
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounded;
    use super::*;
    use crate::checks::Random;

    fn segment(address: u64, bytes: u64) -> Segment {
        Segment {
            address,
            reached: address,
            object: 0,
            bytes,
        }
    }

    fn add(pool: &mut Pool, segment: Segment, small: bool) {
        assert!(pool.reserve(segment.bytes));
        pool.add_segment(segment, small);
    }

    #[test]
    fn blocks_are_reused_split_and_merged() {
        let mut pool = Pool::new(1 << 30);
        add(&mut pool, segment(1 << 40, 64 << 20), false);
        let size = rounded(10 << 20);
        let a = pool.take(size, None).unwrap();
        let b = pool.take(size, None).unwrap();
        let c = pool.take(size, None).unwrap();
        assert_eq!([a, b, c].map(|x| x.span.offset), [0, size, 2 * size]);
        pool.give(a, 0);
        pool.give(c, 0);
        // Best fit: the hole at 0, not the tail.
        let again = pool.take(size, None).unwrap();
        assert_eq!(again.span.offset, 0);
        pool.give(again, 0);
        pool.give(b, 0);
        assert_eq!(pool.stats().live, 0);
        assert_eq!(pool.stats().peak, 3 * size);
        // All merged into one.
        assert_eq!(pool.take(64 << 20, None).unwrap().span.bytes, 64 << 20);
    }

    #[test]
    fn host_written_requests_avoid_blocks_in_flight() {
        let mut pool = Pool::new(1 << 30);
        add(&mut pool, segment(1 << 40, 8 << 20), true);
        let a = pool.take(4096, None).unwrap();
        let b = pool.take(4096, None).unwrap();
        pool.give(a, 7);
        assert_eq!(pool.take(4096, Some(6)).unwrap().span.offset, 8192);
        assert_eq!(pool.take(4096, Some(7)).unwrap().span.offset, 0);
        pool.give(b, 0);
    }

    /// A merged block is in use until the last of its parts is, whichever side they join from.
    #[test]
    fn merged_blocks_remember_their_last_use() {
        // Of the first, the middle and the last of three blocks, which are given back in this order.
        for (epochs, order) in [
            ([9, 1, 2], [0, 2, 1]),
            ([1, 9, 2], [0, 2, 1]),
            ([1, 2, 9], [0, 2, 1]),
            ([9, 1, 2], [0, 1, 2]),
            ([2, 1, 9], [2, 1, 0]),
        ] {
            let mut pool = Pool::new(1 << 30);
            add(&mut pool, segment(1 << 40, 3 << 20), false);
            let blocks = [(); 3].map(|()| pool.take(1 << 20, None).unwrap());
            for at in order {
                pool.give(blocks[at], epochs[at]);
            }
            let whole = 3 << 20;
            assert!(pool.take(whole, Some(8)).is_none(), "{epochs:?} {order:?}");
            assert!(pool.take(whole, Some(9)).is_some(), "{epochs:?} {order:?}");
        }
    }

    /// A part that is cut off is in use as long as the block was.
    #[test]
    fn parts_of_a_block_remember_its_last_use() {
        let mut pool = Pool::new(1 << 30);
        add(&mut pool, segment(1 << 40, 4 << 20), false);
        let whole = pool.take(4 << 20, None).unwrap();
        pool.give(whole, 5);
        // The rest of a block that is split, while its first part is live.
        let _first = pool.take(1 << 20, None).unwrap();
        assert!(pool.take(1 << 20, Some(4)).is_none());
        let mut second = pool.take(3 << 20, Some(5)).unwrap();
        // The tail of a block that shrinks.
        pool.shrink(&mut second, 1 << 20, 7);
        assert!(pool.take(1 << 20, Some(6)).is_none());
        assert_eq!(pool.take(1 << 20, Some(7)).unwrap().span.offset, 2 << 20);
    }

    #[test]
    fn only_blocks_of_at_most_so_many_bytes() {
        let mut pool = Pool::new(1 << 40);
        add(&mut pool, segment(1 << 40, 256 << 20), false);
        add(&mut pool, segment(1 << 41, 128 << 20), false);
        let (size, most) = (100 << 20, 112 << 20);
        assert!(pool.take_at_most(size, most, None).is_none());
        let block = pool.take_at_most(size, 128 << 20, None).unwrap();
        assert_eq!(block.span.segment.bytes, 128 << 20);
        pool.give(block, 0);
        assert!(pool.take_at_most(256 << 20, 0, None).is_some());
    }

    #[test]
    fn the_tail_of_a_shrunk_block_is_free() {
        let mut pool = Pool::new(1 << 30);
        add(&mut pool, segment(1 << 40, 64 << 20), false);
        let mut a = pool.take(32 << 20, None).unwrap();
        pool.shrink(&mut a, 8 << 20, 0);
        assert_eq!(pool.stats().live, 8 << 20);
        let b = pool.take(56 << 20, None).unwrap();
        assert_eq!(b.span.offset, 8 << 20);
        pool.give(a, 0);
        pool.give(b, 0);
        assert_eq!(pool.stats().live, 0);
        assert_eq!(pool.trim().len(), 1);
    }

    #[test]
    fn only_empty_segments_are_trimmed() {
        let mut pool = Pool::new(1 << 40);
        add(&mut pool, segment(1 << 40, 64 << 20), false);
        add(&mut pool, segment(1 << 41, 128 << 20), false);
        let a = pool.take(32 << 20, None).unwrap();
        assert_eq!(pool.trim(), vec![segment(1 << 41, 128 << 20)]);
        assert_eq!(pool.stats().reserved, 64 << 20);
        pool.give(a, 0);
        assert_eq!(pool.trim().len(), 1);
        assert!(pool.take(4 << 20, None).is_none());
    }

    #[test]
    fn what_is_reserved_stays_within_the_budget() {
        let mut pool = Pool::new(100 << 20);
        assert!(pool.reserve(64 << 20) && !pool.reserve(37 << 20));
        assert!(pool.reserve(36 << 20) && !pool.reserve(1));
        assert!(!pool.reserve(u64::MAX), "no overflow");
        pool.unreserve(36 << 20);
        assert_eq!(pool.stats().reserved, 64 << 20);
        assert_eq!(pool.stats().peak_reserved, 100 << 20);
    }

    /// Random traffic beside a list of the last use of each unit: what the host is given was used by nothing newer.
    #[test]
    fn random_traffic_waits_for_the_last_use() {
        const UNIT: u64 = 1 << 20;
        let units = 64;
        let mut pool = Pool::new(1 << 40);
        add(&mut pool, segment(1 << 40, units * UNIT), false);
        let mut last = vec![0u64; units as usize];
        let range = |block: &PoolBlock| {
            let start = block.span.offset / UNIT;
            start as usize..(start + block.span.bytes / UNIT) as usize
        };
        let (mut live, mut refused): (Vec<PoolBlock>, _) = (Vec::new(), 0);
        let mut random = Random::new(1);
        for epoch in 1..4000 {
            let pick = random.below(1 << 31);
            match pick % 4 {
                0 | 1 if !live.is_empty() => {
                    let block = live.swap_remove(pick / 4 % live.len());
                    last[range(&block)].fill(epoch);
                    pool.give(block, epoch);
                }
                2 if !live.is_empty() => {
                    let at = pick / 4 % live.len();
                    let before = range(&live[at]);
                    pool.shrink(&mut live[at], UNIT, epoch);
                    last[before.start + 1..before.end].fill(epoch);
                }
                _ => {
                    let done = epoch.saturating_sub((pick / 4 % 40) as u64);
                    let bytes = (1 + (pick / 256 % 6) as u64) * UNIT;
                    match pool.take(bytes, Some(done)) {
                        Some(block) => {
                            assert_eq!(block.span.bytes, bytes);
                            let newest = last[range(&block)].iter().max();
                            assert!(newest <= Some(&done), "{newest:?} > {done}");
                            live.push(block);
                        }
                        None => refused += 1,
                    }
                }
            }
        }
        assert!(refused > 0, "the host never had to wait");
        live.drain(..).for_each(|block| pool.give(block, 4000));
        assert!(pool.take(units * UNIT, Some(3999)).is_none());
        assert!(pool.take(units * UNIT, Some(4000)).is_some());
    }

    #[test]
    fn random_traffic_never_overlaps() {
        let mut pool = Pool::new(1 << 40);
        add(&mut pool, segment(1 << 40, 256 << 20), false);
        let mut live: Vec<PoolBlock> = Vec::new();
        let mut random = Random::new(1);
        for _ in 0..4000 {
            let pick = random.below(1 << 31);
            let bytes = rounded((1 << 20) + random.below(1 << 24) as u64);
            if pick % 5 < 2 && !live.is_empty() {
                pool.give(live.swap_remove(pick % live.len()), 0);
            } else if let Some(block) = pool.take(bytes, None) {
                for other in &live {
                    let (s, o) = (block.span, other.span);
                    assert!(s.offset + s.bytes <= o.offset || o.offset + o.bytes <= s.offset);
                }
                live.push(block);
            } else if let Some(block) = live.pop() {
                pool.give(block, 0);
            }
        }
        assert_eq!(
            pool.stats().live,
            live.iter().map(|b| b.span.bytes).sum::<u64>()
        );
        live.drain(..).for_each(|block| pool.give(block, 0));
        assert_eq!(pool.trim().len(), 1);
    }
}
