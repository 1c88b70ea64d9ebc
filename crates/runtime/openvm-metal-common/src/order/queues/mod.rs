//! Operations on several queues of a device, each serial, with waits between them.

use std::ops::Range;

use super::Access;

/// Most queues: an operation that fills the device, one that fills what it leaves, a spare, and [`COPY_QUEUE`].
pub(crate) const MAX_QUEUES: usize = 4;
/// The queue of large uploads, which go on while others compute. Nothing else is placed in it.
pub(crate) const COPY_QUEUE: usize = MAX_QUEUES - 1;
/// Shorter operations follow what they depend on: a wait between queues costs as much. In nanoseconds.
const WORTH_MOVING: f64 = 30_000.0;
/// Nanoseconds that an operation has to gain from another queue than that of what it depends on.
const MOVE_COST: f64 = 15_000.0;
/// Uses that are remembered at most.
const MAX_USES: usize = 192;

/// Queue and waits of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub queue: usize,
    /// Queues whose operations so far it waits for.
    pub waits: [bool; MAX_QUEUES],
}

/// Use of memory by an operation that may not have ended.
struct Use {
    access: Access,
    queue: usize,
    /// Number of the operation in its queue, from 1.
    number: u64,
    /// When it ends, see [`Queues::free`].
    ends: f64,
}

/// Decides which queue an operation goes to and what it waits for, so that it comes after every earlier operation
/// whose memory it meets.
pub(crate) struct Queues {
    count: usize,
    /// Operations given to each queue.
    issued: [u64; MAX_QUEUES],
    /// `seen[a][b]`: the next operation of queue `a` comes after so many of queue `b`.
    seen: [[u64; MAX_QUEUES]; MAX_QUEUES],
    /// When each queue would be idle if every operation took its modelled time, in nanoseconds.
    free: [f64; MAX_QUEUES],
    uses: Vec<Use>,
}

impl Queues {
    /// `count` queues; with one, nothing is tracked.
    pub fn new(count: usize) -> Self {
        Self {
            count: count.clamp(1, MAX_QUEUES),
            issued: [0; MAX_QUEUES],
            seen: [[0; MAX_QUEUES]; MAX_QUEUES],
            free: [0.0; MAX_QUEUES],
            uses: Vec::new(),
        }
    }

    /// Places an operation of so many modelled nanoseconds; `fixed` is the queue that it has to go to, if any.
    pub fn place(
        &mut self,
        accesses: impl Iterator<Item = Access> + Clone,
        modelled: f64,
        fixed: Option<usize>,
    ) -> Placement {
        let mut placement = Placement {
            queue: 0,
            waits: [false; MAX_QUEUES],
        };
        if self.count == 1 {
            return placement;
        }
        // The newest operation of each queue that it has to come after, and when the last of them ends.
        let mut after = [0; MAX_QUEUES];
        let (mut ready, mut last) = (0.0, None);
        for access in accesses.clone() {
            for used in self
                .uses
                .iter()
                .filter(|used| used.access.conflicts(&access))
            {
                after[used.queue] = used.number.max(after[used.queue]);
                if used.queue != COPY_QUEUE && (last.is_none() || used.ends > ready) {
                    (ready, last) = (used.ends, Some(used.queue));
                }
            }
        }
        let home = last.unwrap_or(0);
        let queue = fixed.unwrap_or_else(|| {
            let start = |queue: usize| {
                let moved = if queue == home { 0.0 } else { MOVE_COST };
                self.free[queue].max(ready) + moved
            };
            let mut best = home;
            if modelled >= WORTH_MOVING {
                (0..self.count.min(COPY_QUEUE))
                    .filter(|&queue| start(queue) < start(home))
                    .for_each(|queue| {
                        if start(queue) < start(best) {
                            best = queue;
                        }
                    });
            }
            best
        });
        placement.queue = queue;
        for (other, newest) in after.into_iter().enumerate() {
            if other != queue && newest > self.seen[queue][other] {
                placement.waits[other] = true;
                self.follow(queue, other);
            }
        }
        self.issued[queue] += 1;
        self.seen[queue][queue] = self.issued[queue];
        let ends = self.free[queue].max(ready) + modelled;
        self.free[queue] = ends;
        self.remember(accesses, queue, ends);
        placement
    }

    /// Makes queue 0 wait for all others: which it has to wait for.
    #[cfg(any(test, not(target_vendor = "apple")))]
    pub fn join(&mut self) -> [bool; MAX_QUEUES] {
        let mut waits = [false; MAX_QUEUES];
        for (other, wait) in waits.iter_mut().enumerate().take(self.count).skip(1) {
            if self.issued[other] > self.seen[0][other] {
                *wait = true;
                self.follow(0, other);
            }
        }
        waits
    }

    /// Operations of each queue that come before whatever queue 0 is given next, for [`Queues::ended`].
    #[cfg(any(test, not(target_vendor = "apple")))]
    pub fn before_next(&self) -> [u64; MAX_QUEUES] {
        self.seen[0]
    }

    /// Operations given to each queue so far, for [`Queues::ended`].
    pub fn issued(&self) -> [u64; MAX_QUEUES] {
        self.issued
    }

    /// These operations have ended.
    pub fn ended(&mut self, issued: [u64; MAX_QUEUES]) {
        self.uses.retain(|used| used.number > issued[used.queue]);
        if self.uses.is_empty() {
            self.free = [0.0; MAX_QUEUES];
        }
        for seen in &mut self.seen {
            for (seen, issued) in std::iter::zip(seen, issued) {
                *seen = issued.max(*seen);
            }
        }
    }

    /// Orders later operations of `queue` after all operations given to `other`.
    fn follow(&mut self, queue: usize, other: usize) {
        let known = self.seen[other];
        for (seen, known) in std::iter::zip(&mut self.seen[queue], known) {
            *seen = known.max(*seen);
        }
        self.seen[queue][other] = self.issued[other];
    }

    fn remember(&mut self, accesses: impl Iterator<Item = Access>, queue: usize, ends: f64) {
        let number = self.issued[queue];
        for access in accesses {
            // Who comes after this operation comes after those that it came after: all that met a range that it
            // writes, and those before it in its queue.
            self.uses.retain(|used| {
                let earlier = if access.writes {
                    used.number != number || used.queue != queue
                } else {
                    used.queue == queue && used.number != number && !used.access.writes
                };
                !(earlier && access.covers(&used.access))
            });
            self.uses.push(Use {
                access,
                queue,
                number,
                ends,
            });
        }
        if self.uses.len() > MAX_USES {
            self.forget();
        }
    }

    /// Keeps fewer uses: none that everything to come follows anyway; then, for each queue, one range in place of
    /// all.
    fn forget(&mut self) {
        let (seen, count) = (self.seen, self.count);
        let followed = |used: &Use| (0..count).all(|queue| seen[queue][used.queue] >= used.number);
        self.uses.retain(|used| !followed(used));
        if self.uses.len() <= MAX_USES / 2 {
            return;
        }
        let mut merged: Vec<Use> = Vec::new();
        for used in self.uses.drain(..) {
            let same =
                |m: &&mut Use| m.queue == used.queue && m.access.writes == used.access.writes;
            match merged.iter_mut().find(same) {
                Some(whole) => {
                    whole.access.range = hull(&whole.access.range, &used.access.range);
                    whole.number = whole.number.max(used.number);
                    whole.ends = whole.ends.max(used.ends);
                }
                None => merged.push(used),
            }
        }
        self.uses = merged;
    }
}

fn hull(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    a.start.min(b.start)..a.end.max(b.end)
}

#[cfg(test)]
mod tests;
