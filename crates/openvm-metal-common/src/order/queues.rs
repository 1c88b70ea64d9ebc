//! Operations on several queues of a device, each serial, with waits between them.

use std::ops::Range;

use super::Access;

/// Most queues: an operation that fills the device, one that fills what it leaves, a spare, and [`COPY_QUEUE`].
pub(crate) const MAX_QUEUES: usize = 4;
/// The queue of large uploads, which go on while others compute. Nothing else is placed in it.
pub(crate) const COPY_QUEUE: usize = MAX_QUEUES - 1;
/// Shorter operations follow what they depend on: a wait between queues costs as much. In nanoseconds.
const WORTH_MOVING: f64 = 30_000.0;
/// What an operation has to gain from another queue than that of what it depends on.
const MOVE_COST: f64 = 15_000.0;
/// Uses that are remembered at most.
const MAX_USES: usize = 192;

/// Where an operation goes.
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

    /// What follows in `queue` comes after all that `other` was given.
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
mod tests {
    use super::*;

    const LONG: f64 = 1e6;
    const NO_WAIT: [bool; MAX_QUEUES] = [false; MAX_QUEUES];

    fn access(start: u64, writes: bool) -> Access {
        Access {
            range: start..start + 10,
            writes,
        }
    }

    fn place(queues: &mut Queues, reads: &[u64], writes: &[u64], modelled: f64) -> Placement {
        let reads = reads.iter().map(|&start| access(start, false));
        let writes = writes.iter().map(|&start| access(start, true));
        queues.place(reads.chain(writes), modelled, None)
    }

    #[test]
    fn a_chain_stays_in_its_queue_and_waits_for_nothing() {
        let mut queues = Queues::new(MAX_QUEUES);
        for step in 0..100 {
            let from = [step * 10];
            let placed = place(&mut queues, &from, &[step * 10 + 10], LONG);
            assert_eq!((placed.queue, placed.waits), (0, NO_WAIT));
        }
    }

    #[test]
    fn long_independent_work_spreads_and_its_user_waits_once() {
        let mut queues = Queues::new(2);
        let first = place(&mut queues, &[0], &[10], LONG);
        let second = place(&mut queues, &[0], &[20], LONG);
        assert_eq!((first.queue, second.queue), (0, 1));
        assert_eq!(second.waits, NO_WAIT);
        let user = place(&mut queues, &[10, 20], &[30], LONG);
        let other = 1 - user.queue;
        assert!(user.waits[other] && !user.waits[user.queue]);
        // Known from then on.
        let again = place(&mut queues, &[20, 30], &[40], 1.0);
        assert_eq!((again.queue, again.waits), (user.queue, NO_WAIT));
    }

    #[test]
    fn short_work_follows_what_it_depends_on() {
        let mut queues = Queues::new(MAX_QUEUES);
        place(&mut queues, &[], &[10], LONG);
        assert_eq!(place(&mut queues, &[], &[20], 10.0).queue, 0);
        let moved = place(&mut queues, &[], &[30], LONG);
        assert_eq!(moved.queue, 1);
        assert_eq!(place(&mut queues, &[30], &[40], 10.0).queue, 1);
    }

    #[test]
    fn reads_wait_for_writes_and_writes_for_reads() {
        let mut queues = Queues::new(2);
        queues.place([access(0, false)].into_iter(), LONG, Some(0));
        let write = queues.place([access(5, true)].into_iter(), LONG, Some(1));
        assert!(write.waits[0]);
        let write = queues.place([access(0, true)].into_iter(), LONG, Some(0));
        assert!(write.waits[1]);
        // Both read, then one writes.
        queues.place([access(100, false)].into_iter(), LONG, Some(0));
        queues.place([access(100, false)].into_iter(), LONG, Some(1));
        assert!(
            queues
                .place([access(100, true)].into_iter(), LONG, Some(1))
                .waits[0]
        );
    }

    #[test]
    fn uploads_go_beside_everything_and_their_users_wait() {
        let mut queues = Queues::new(MAX_QUEUES);
        let write = |start| [access(start, true)].into_iter();
        place(&mut queues, &[0], &[10], LONG);
        let upload = queues.place(write(100), 0.0, Some(COPY_QUEUE));
        assert_eq!((upload.queue, upload.waits), (COPY_QUEUE, NO_WAIT));
        // A user does not move to the queue of uploads, however short it is.
        let user = place(&mut queues, &[100], &[110], 1.0);
        assert_eq!(user.queue, 0);
        assert!(user.waits[COPY_QUEUE]);
        // Memory that is still used is not written.
        let next = queues.place(write(100), 0.0, Some(COPY_QUEUE));
        assert!(next.waits[0]);
        // Queue 0 has to wait for the second, but has come after the first.
        assert_eq!(queues.before_next(), [2, 0, 0, 1]);
        assert!(queues.join()[COPY_QUEUE]);
        assert_eq!(queues.before_next(), [2, 0, 0, 2]);
    }

    /// An upload is given to its stream after it was placed. In between, another thread makes a queue wait for that stream, or waits
    /// for all of it. The second placement, after the copy, is what users of the target wait for.
    #[test]
    fn an_upload_that_comes_late_is_waited_for_by_its_second_placement() {
        for (wanted, ended) in [
            (0, false),
            (0, true),
            (COPY_QUEUE, false),
            (COPY_QUEUE, true),
        ] {
            let mut queues = Queues::new(MAX_QUEUES);
            let write = |start| [access(start, true)].into_iter();
            let read = |start| [access(start, false)].into_iter();
            queues.place(write(500), LONG, Some(wanted));
            queues.place(write(100), 0.0, Some(wanted));
            // The other thread: its work in queue 1 needs what came before the upload.
            assert!(queues.place(read(500), LONG, Some(1)).waits[wanted]);
            if ended {
                let issued = queues.issued();
                queues.ended(issued);
            }
            queues.place(write(100), 0.0, Some(wanted));
            let user = queues.place(read(100), LONG, Some(1));
            assert!(user.waits[wanted], "queue {wanted}, ended: {ended}");
        }
    }

    #[test]
    fn what_has_ended_is_not_waited_for() {
        let mut queues = Queues::new(2);
        queues.place([access(0, true)].into_iter(), LONG, Some(1));
        let issued = queues.issued();
        queues.place([access(50, true)].into_iter(), LONG, Some(1));
        queues.ended(issued);
        let reads = |start| [access(start, false)].into_iter();
        assert_eq!(queues.place(reads(0), LONG, Some(0)).waits, NO_WAIT);
        assert!(queues.place(reads(50), LONG, Some(0)).waits[1]);
        assert_eq!(queues.join(), NO_WAIT);
        queues.place([access(70, true)].into_iter(), LONG, Some(1));
        assert!(queues.join()[1]);
        assert_eq!(queues.join(), NO_WAIT);
    }

    #[test]
    fn everything_that_meets_is_ordered_whatever_is_forgotten() {
        let mut seed = 1u64;
        let mut next = move |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut queues = Queues::new(MAX_QUEUES);
        // For each operation its accesses, queue, number, and for each queue how many operations come before it.
        let mut all: Vec<(Vec<Access>, usize, u64, [u64; MAX_QUEUES])> = Vec::new();
        let mut heads = [[0u64; MAX_QUEUES]; MAX_QUEUES];
        let mut counts = [0u64; MAX_QUEUES];
        for _ in 0..3000 {
            let accesses: Vec<Access> = (0..1 + next(3))
                .map(|_| {
                    let start = next(1 << 20);
                    let most = if next(50) == 0 { 1 << 19 } else { 500 };
                    Access {
                        range: start..start + 1 + next(most),
                        writes: next(2) == 0,
                    }
                })
                .collect();
            let modelled = if next(2) == 0 { LONG } else { 10.0 };
            let fixed = match next(20) {
                0 => Some(0),
                1 => Some(COPY_QUEUE),
                _ => None,
            };
            let placed = queues.place(accesses.iter().cloned(), modelled, fixed);
            let q = placed.queue;
            for other in 0..MAX_QUEUES {
                if placed.waits[other] {
                    let known = heads[other];
                    for k in 0..MAX_QUEUES {
                        heads[q][k] = heads[q][k].max(known[k]);
                    }
                    heads[q][other] = heads[q][other].max(counts[other]);
                }
            }
            for (earlier, queue, number, _) in &all {
                let meet = earlier
                    .iter()
                    .any(|a| accesses.iter().any(|b| a.conflicts(b)));
                assert!(!meet || heads[q][*queue] >= *number, "not ordered");
            }
            counts[q] += 1;
            heads[q][q] = counts[q];
            all.push((accesses, q, counts[q], heads[q]));
        }
        assert!(counts.iter().all(|&n| n > 50), "{counts:?}");
    }
}
