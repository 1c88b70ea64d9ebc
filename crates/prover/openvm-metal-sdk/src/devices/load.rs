//! `Load`: what is reserved, waiting and proved on one device, and whether more fits.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{Station, Work};
use crate::engine::SdkEngine;

/// Work that fits on a device at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// Proofs that it makes at once, at least 1.
    pub proofs: usize,
    /// Bytes of its memory that proofs and traces may take; `u64::MAX` if the engine has no bound of its own.
    pub memory: u64,
    /// Bytes that the proof of one segment needs at most, its traces included.
    pub segment: u64,
}

impl Capacity {
    /// Capacity of the device of a station and an engine, with segments whose proofs need so many bytes.
    pub fn of<E: SdkEngine>(station: &Station<E>, engine: &E, segment: u64) -> Self {
        Self {
            proofs: station.proofs_at_once(),
            memory: engine.memory_budget().unwrap_or(u64::MAX),
            segment,
        }
    }

    /// True if so many bytes of several proofs and of traces fit. An eighth is left for what allocations of different
    /// sizes leave between them. `u64::MAX`, which nobody knows, never fits.
    pub(super) fn holds(&self, bytes: u64) -> bool {
        bytes != u64::MAX && bytes.saturating_add(bytes / 8) <= self.memory
    }
}

/// One device.
pub(super) struct Load {
    /// Reserved and not ended, by kind.
    pub reserved: [usize; 2],
    /// Bytes of the traces of segments that are reserved and whose proofs have not begun.
    pub waiting_bytes: u64,
    /// Tickets of the proofs that were asked for and have not begun; the first one is next.
    pub line: VecDeque<u64>,
    next_ticket: u64,
    proving: Vec<Proving>,
    /// Time in which proofs were made, of which each of several at once gets its part: what one proof would have
    /// counted from the beginning.
    share: Duration,
    /// Until when `share` counts.
    counted: Instant,
    /// Mean of the proofs' shares, by kind, the last ones weighing most.
    pub mean: [Option<Duration>; 2],
}

/// A proof that is made now.
struct Proving {
    ticket: u64,
    kind: usize,
    /// Bytes that it needs; `u64::MAX` if nobody knows.
    bytes: u64,
    /// The device's share when it began.
    share: Duration,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            reserved: [0; 2],
            waiting_bytes: 0,
            line: VecDeque::new(),
            next_ticket: 0,
            proving: Vec::new(),
            share: Duration::ZERO,
            counted: Instant::now(),
            mean: [None; 2],
        }
    }
}

impl Load {
    /// Time of the device that one proof takes, as far as it is known.
    fn time(&self, kind: usize) -> Duration {
        let share = self.share_at(Instant::now());
        let proving = self.proving.iter().filter(|p| p.kind == kind);
        let so_far = proving.map(|p| share - p.share).max();
        self.mean[kind]
            .unwrap_or_default()
            .max(so_far.unwrap_or_default())
    }

    /// When work of a kind would end, if it were reserved now.
    pub fn end(&self, kind: usize) -> Duration {
        let waiting = (0..2).map(|kind| self.time(kind) * self.reserved[kind] as u32);
        waiting.sum::<Duration>() + self.time(kind)
    }

    /// True if the traces may be brought: those of two segments while nothing is proved, else as many as there is room for
    /// beside the proofs that are made, and beside the largest.
    pub fn has_room(&self, trace_bytes: u64, capacity: &Capacity) -> bool {
        if self.proving.is_empty() && self.reserved[0] < 2 {
            return true;
        }
        let proofs = self.proving_bytes().max(capacity.segment);
        let bytes = self
            .waiting_bytes
            .saturating_add(trace_bytes)
            .saturating_add(proofs);
        match self.proving.len() {
            0 | 1 => proofs != u64::MAX && bytes <= capacity.memory,
            _ => capacity.holds(bytes),
        }
    }

    /// Stands in line.
    pub fn ask(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.line.push_back(ticket);
        ticket
    }

    /// True if the proof with this ticket, which needs so many bytes, may begin: it is next, and it is alone or fits beside
    /// those that are made and the traces that wait.
    pub fn may_begin(&self, ticket: u64, work: Work, bytes: u64, capacity: &Capacity) -> bool {
        let others = self.waiting_bytes - work.trace_bytes();
        self.line.front() == Some(&ticket)
            && (self.proving.is_empty()
                || (self.proving.len() < capacity.proofs
                    && capacity.holds(
                        self.proving_bytes()
                            .saturating_add(bytes)
                            .saturating_add(others),
                    )))
    }

    /// The proof that is next begins.
    pub fn begin(&mut self, work: Work, bytes: u64) {
        self.count();
        let ticket = self.line.pop_front().expect("it is next");
        self.waiting_bytes -= work.trace_bytes();
        self.proving.push(Proving {
            ticket,
            kind: work.kind(),
            bytes,
            share: self.share,
        });
    }

    /// The proof with this ticket ended. Gives its share of the device's time.
    pub fn ended(&mut self, ticket: u64) -> Duration {
        self.count();
        let index = self.proving.iter().position(|p| p.ticket == ticket);
        let ended = self.proving.swap_remove(index.expect("it began"));
        self.share - ended.share
    }

    /// Takes a proof's share into the mean of its kind.
    pub fn measured(&mut self, work: Work, share: Duration) {
        let mean = &mut self.mean[work.kind()];
        *mean = Some(mean.map_or(share, |mean| (mean * 3 + share) / 4));
    }

    fn proving_bytes(&self) -> u64 {
        let bytes = self.proving.iter().map(|p| p.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    fn share_at(&self, now: Instant) -> Duration {
        match self.proving.len() {
            0 => self.share,
            proofs => self.share + (now - self.counted) / proofs as u32,
        }
    }

    /// Counts the time until now.
    fn count(&mut self) {
        let now = Instant::now();
        self.share = self.share_at(now);
        self.counted = now;
    }
}
