//! `Line`: who waits for which machine, and how many bytes of the host's memory are given away.

use std::collections::{BTreeMap, VecDeque};

/// Queue of requests and the callers that wait for them.
pub(super) struct Line<R> {
    pub waiting: VecDeque<Waiting<R>>,
    /// Machines without work, by number, with the segment before which each stands.
    pub idle: BTreeMap<usize, usize>,
    /// Number of threads that were begun, and the most that may be.
    pub begun: usize,
    pub most: usize,
    /// Most bytes of records and traces.
    pub bound: u64,
    /// Bytes of requests that were taken and did not leave, and the most that there were.
    held: u64,
    most_held: u64,
    pub ended: bool,
}

/// A request.
pub(super) struct Waiting<R> {
    /// The segment before which it needs a machine.
    pub place: usize,
    /// Bytes of records and traces that the host will hold of it, at most.
    pub bytes: u64,
    pub request: R,
}

impl<R> Line<R> {
    pub fn new(most: usize, bound: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            idle: BTreeMap::new(),
            begun: 0,
            most,
            bound,
            held: 0,
            most_held: 0,
            ended: false,
        }
    }

    /// True if a request waits for which there is no machine without work, and another machine may begin.
    pub fn wants_another(&self) -> bool {
        self.waiting.len() > self.idle.len() && self.begun < self.most
    }

    /// The machine without work that reaches a segment by the shortest way: the nearest one before it. Those behind it have to start
    /// again, of them that which has gone least.
    fn nearest(&self, place: usize) -> Option<usize> {
        let before = self.idle.iter().filter(|(_, &at)| at <= place);
        let nearest = before.max_by_key(|(&number, &at)| (at, usize::MAX - number));
        let nearest = nearest.or_else(|| self.idle.iter().min_by_key(|(_, &at)| at));
        nearest.map(|(&number, _)| number)
    }

    /// The first request and its bytes, if machine `number` is to take it and the host has room for it. A large one holds those behind
    /// it back until there is. Its bytes count until they [leave](Self::leave).
    pub fn take(&mut self, number: usize) -> Option<(R, u64)> {
        let &Waiting { place, bytes, .. } = self.waiting.front()?;
        let room = self.bound.saturating_sub(self.held);
        if bytes > room || self.nearest(place) != Some(number) {
            return None;
        }
        self.idle.remove(&number);
        let Waiting { request, .. } = self.waiting.pop_front()?;
        self.held += bytes;
        self.most_held = self.most_held.max(self.held);
        Some((request, bytes))
    }

    /// The host holds so many bytes less.
    pub fn leave(&mut self, bytes: u64) {
        self.held -= bytes;
    }

    /// Most bytes that the host held at once.
    pub fn most_held(&self) -> u64 {
        self.most_held
    }
}

#[cfg(test)]
mod tests {
    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    fn waiting<R>(place: usize, bytes: u64, request: R) -> Waiting<R> {
        Waiting {
            place,
            bytes,
            request,
        }
    }

    #[test]
    fn a_request_goes_to_the_nearest_machine_before_it() {
        let mut line = Line::new(4, 0);
        line.idle.extend([(0, 7), (1, 3), (2, 5)]);
        for (place, machine) in [(9, 0), (7, 0), (6, 2), (4, 1), (3, 1)] {
            assert_eq!(line.nearest(place), Some(machine), "{place}");
        }
        // All are past it: that which has gone least starts again.
        assert_eq!(line.nearest(1), Some(1));
        line.waiting
            .extend([waiting(6, 0, "six"), waiting(8, 0, "eight")]);
        assert_eq!((line.take(0), line.take(1)), (None, None));
        assert_eq!(line.take(2), Some(("six", 0)));
        assert_eq!((line.take(2), line.take(0)), (None, Some(("eight", 0))));
        assert_eq!(line.idle.len(), 1);
    }

    #[test]
    fn machines_begin_when_none_is_without_work() {
        let mut line = Line::new(2, 0);
        assert!(!line.wants_another());
        line.waiting.push_back(waiting(0, 0, ()));
        assert!(line.wants_another());
        line.begun = 1;
        line.idle.insert(0, 0);
        assert!(!line.wants_another());
        line.waiting.push_back(waiting(1, 0, ()));
        assert!(line.wants_another());
        line.begun = 2;
        assert!(!line.wants_another());
    }

    /// Requests of random sizes, some as large as the bound, that leave in random order.
    #[test]
    fn the_host_never_holds_more_than_the_bound_and_nobody_is_overtaken() {
        for seed in 0..50 {
            let mut rng = StdRng::seed_from_u64(seed);
            let bound = rng.random_range(1..100);
            let mut line = Line::new(1, bound);
            let sizes: Vec<u64> = (0..60).map(|_| rng.random_range(0..=bound)).collect();
            for (number, &bytes) in sizes.iter().enumerate() {
                line.waiting.push_back(waiting(number, bytes, number));
            }
            let (mut held, mut taken) = (Vec::new(), 0);
            while taken < sizes.len() {
                line.idle.insert(0, 0);
                let sum: u64 = held.iter().sum();
                match line.take(0) {
                    Some((number, bytes)) => {
                        assert_eq!((number, bytes), (taken, sizes[taken]));
                        assert!(sum + bytes <= bound);
                        held.push(bytes);
                        taken += 1;
                    }
                    None => {
                        assert!(sum + sizes[taken] > bound, "it would fit");
                        let gone = rng.random_range(0..held.len());
                        line.leave(held.swap_remove(gone));
                    }
                }
            }
            let largest = sizes.iter().copied().max().unwrap_or(0);
            assert!((largest..=bound).contains(&line.most_held()));
            held.into_iter().for_each(|bytes| line.leave(bytes));
            assert_eq!(line.held, 0);
        }
    }
}
