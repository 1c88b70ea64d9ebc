//! Helpers of one caller between two of its dispatches.
//!
//! A thread that sleeps takes from some microseconds to ten milliseconds to come back: where processors are virtual, it is often woken
//! on the one that its caller keeps busy. So a helper that has ended its work stays awake while the caller may still be busy with its own
//! last piece, and takes what is offered next.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock;

/// The longest piece of work, unless one unit takes longer.
pub(super) const LONGEST_PIECE: Duration = Duration::from_millis(2);
/// Time for which a caller polls for the end of its helpers' work.
const AWAKE: Duration = LONGEST_PIECE.saturating_mul(2);
/// Time for which a helper polls before the pool's other work may have its turn.
const TURN: Duration = Duration::from_micros(30);

/// Work offered to helpers that are awake. Whoever offers reserves one of them first, so the helpers inside [`Crew::look`] are always
/// those that look and as many as offers that were reserved and not taken; each leaves with an offer, or by reserving itself.
pub(super) struct Crew<T> {
    /// Helpers that look and are not reserved.
    looking: AtomicUsize,
    /// Offers that nobody took yet.
    offered: AtomicUsize,
    offers: Mutex<Vec<T>>,
}

impl<T> Default for Crew<T> {
    fn default() -> Self {
        Self {
            looking: AtomicUsize::new(0),
            offered: AtomicUsize::new(0),
            offers: Mutex::new(Vec::new()),
        }
    }
}

impl<T> Crew<T> {
    /// Hands work to a helper that is awake. Given back if there is none.
    pub fn offer(&self, work: T) -> Option<T> {
        if !self.reserve() {
            return Some(work);
        }
        lock(&self.offers).push(work);
        self.offered.fetch_add(1, Ordering::Release);
        None
    }

    /// Makes one less of those that look; false if there is none.
    fn reserve(&self) -> bool {
        let one_less = |looking: usize| looking.checked_sub(1);
        self.looking
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
            .is_ok()
    }

    fn take(&self) -> Option<T> {
        match self.offered.load(Ordering::Acquire) {
            0 => None,
            _ => {
                let work = lock(&self.offers).pop()?;
                self.offered.fetch_sub(1, Ordering::AcqRel);
                Some(work)
            }
        }
    }

    /// Waits for work for a time. On a thread of a rayon pool, whose other jobs are done meanwhile.
    pub fn look(&self, awake: Duration) -> Option<T> {
        thread_local!(static LOOKS: Cell<bool> = const { Cell::new(false) });
        // A job that is done meanwhile may be such a helper: it does not look as well.
        if LOOKS.replace(true) {
            return None;
        }
        let end = Instant::now() + awake;
        let found = loop {
            self.looking.fetch_add(1, Ordering::AcqRel);
            let turn = Instant::now() + TURN;
            let mut found = poll_until(turn, || self.take());
            // If all are reserved, an offer is about to be there.
            while found.is_none() && !self.reserve() {
                found = self.take();
                std::hint::spin_loop();
            }
            if found.is_some() || Instant::now() >= end {
                break found;
            }
            rayon::yield_now();
            std::thread::yield_now();
        };
        LOOKS.set(false);
        found
    }
}

/// Asks until there is an answer or it is time.
fn poll_until<R>(end: Instant, mut ask: impl FnMut() -> Option<R>) -> Option<R> {
    loop {
        for _ in 0..16 {
            if let Some(answer) = ask() {
                return Some(answer);
            }
            std::hint::spin_loop();
        }
        if Instant::now() >= end {
            return None;
        }
    }
}

/// Waits awake for a condition, for a while.
pub(super) fn wait_awake(condition: impl Fn() -> bool) {
    let end = Instant::now() + AWAKE;
    let is_met = || condition().then_some(());
    while Instant::now() < end {
        if poll_until(Instant::now() + TURN, is_met).is_some() {
            return;
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Every offer that is accepted is taken by exactly one helper, and every helper ends.
    #[test]
    fn offers_are_taken_once() {
        let crew = Arc::new(Crew::<usize>::default());
        assert_eq!(crew.offer(7), Some(7), "nobody looks");
        let taken = Mutex::new(Vec::new());
        let mut accepted = Vec::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(work) = crew.look(AWAKE) {
                        lock(&taken).push(work);
                    }
                });
            }
            for i in 0..2000 {
                if crew.offer(i).is_none() {
                    accepted.push(i);
                }
                if i % 100 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        let mut taken = taken.into_inner().expect("no panic");
        taken.sort_unstable();
        assert_eq!(taken, accepted);
        assert_eq!(crew.offer(7), Some(7), "nobody looks any more");
    }

    #[test]
    fn looking_ends() {
        let start = Instant::now();
        assert_eq!(Crew::<()>::default().look(AWAKE), None);
        wait_awake(|| false);
        assert!(start.elapsed() >= 2 * AWAKE);
        wait_awake(|| true);
    }
}
