//! Programs that are ended before their end: by a time limit, or because another thread asks for it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use openvm_metal_common::Signal;

use crate::error::{BackendError, FaultKind, Result};

/// Ends the programs that were started with it ([`ExecutionParams::with_stop`](crate::ExecutionParams::with_stop)), from any thread: they have the fault
/// [`FaultKind::Stopped`]. Clones are the same.
///
/// It is asked for once and for good: programs that are started with it later end at once.
#[derive(Clone, Default)]
pub struct Stop(Arc<Requests>);

#[derive(Default)]
struct Requests {
    requested: AtomicBool,
    /// Flags of the programs that run.
    flags: Mutex<Vec<Arc<dyn Flag>>>,
}

/// Flag that a running program polls: 0, or the reason to end.
pub(crate) trait Flag: Send + Sync {
    /// Sets it, if it is not set.
    fn raise(&self, why: Why);
    /// Reason of the stop, if it is set.
    fn raised(&self) -> Option<Why>;
}

/// Reason for which a program is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    TimeLimit = 1,
    Request = 2,
}

impl Why {
    fn of(word: u32) -> Option<Self> {
        [Self::TimeLimit, Self::Request]
            .into_iter()
            .find(|&why| why as u32 == word)
    }
}

impl Flag for AtomicU32 {
    fn raise(&self, why: Why) {
        // Of two reasons the first counts.
        let _ = self.compare_exchange(0, why as u32, Ordering::AcqRel, Ordering::Acquire);
    }

    fn raised(&self) -> Option<Why> {
        Why::of(self.load(Ordering::Acquire))
    }
}

impl Flag for Signal {
    fn raise(&self, why: Why) {
        Self::raise(self, why as u32);
    }

    fn raised(&self) -> Option<Why> {
        Why::of(self.get())
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stop {
    /// Nothing is asked for yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the programs to end. They do within some milliseconds; who runs them gets the fault.
    pub fn request(&self) {
        let flags = lock(&self.0.flags);
        self.0.requested.store(true, Ordering::Release);
        flags.iter().for_each(|flag| flag.raise(Why::Request));
    }

    /// True if it was requested.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Acquire)
    }

    fn attach(&self, flag: &Arc<dyn Flag>) {
        let mut flags = lock(&self.0.flags);
        flags.push(flag.clone());
        if self.is_requested() {
            flag.raise(Why::Request);
        }
    }

    fn detach(&self, flag: &Arc<dyn Flag>) {
        lock(&self.0.flags).retain(|other| !Arc::ptr_eq(other, flag));
    }
}

impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stop {}

impl Hash for Stop {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Stop");
        shown
            .field("requested", &self.is_requested())
            .finish_non_exhaustive()
    }
}

/// Raises the flag of a running program when its time is up or its [`Stop`] is asked for, until it is dropped.
pub(crate) struct Watch {
    flag: Arc<dyn Flag>,
    stop: Option<Stop>,
    limit: Option<Duration>,
    timer: Option<Arc<Timer>>,
}

/// Timer of a time limit's thread.
#[derive(Default)]
struct Timer {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Watch {
    /// Begins to watch: the time of the limit begins now.
    ///
    /// # Errors
    /// The system gives no thread for the time limit.
    pub fn start(
        limit: Option<Duration>,
        stop: Option<&Stop>,
        flag: Arc<dyn Flag>,
    ) -> Result<Self> {
        // A limit beyond what clocks count is none.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let timer = match deadline {
            Some(deadline) => Some(Timer::start(deadline, flag.clone())?),
            None => None,
        };
        stop.into_iter().for_each(|stop| stop.attach(&flag));
        Ok(Self {
            flag,
            stop: stop.cloned(),
            limit,
            timer,
        })
    }

    /// The fault of a program that saw the flag raised.
    pub fn kind(&self) -> FaultKind {
        match (self.flag.raised(), self.limit) {
            (Some(Why::TimeLimit), Some(limit)) => FaultKind::TimeLimitExceeded { limit },
            _ => FaultKind::Stopped,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            *lock(&timer.ended) = true;
            timer.changed.notify_all();
        }
        if let Some(stop) = &self.stop {
            stop.detach(&self.flag);
        }
    }
}

impl Timer {
    fn start(deadline: Instant, flag: Arc<dyn Flag>) -> Result<Arc<Self>> {
        let timer = Arc::new(Self::default());
        let own = timer.clone();
        let thread = std::thread::Builder::new().name("hologram time limit".into());
        thread
            .spawn(move || own.run(deadline, &*flag))
            .map_err(|error| {
                BackendError::Device(format!("no thread for a time limit: {error}"))
            })?;
        Ok(timer)
    }

    /// Waits for the deadline or the end. The flag is raised under the lock: not behind the end, when it may be another
    /// program's.
    fn run(&self, deadline: Instant, flag: &dyn Flag) {
        let mut ended = lock(&self.ended);
        while !*ended {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return flag.raise(Why::TimeLimit);
            };
            if left.is_zero() {
                return flag.raise(Why::TimeLimit);
            }
            let waited = self.changed.wait_timeout(ended, left);
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag() -> (Arc<AtomicU32>, Arc<dyn Flag>) {
        let word = Arc::new(AtomicU32::new(0));
        (word.clone(), word)
    }

    #[test]
    fn a_request_reaches_what_runs_and_what_starts_later() -> Result<()> {
        let stop = Stop::new();
        let (ended, first) = flag();
        drop(Watch::start(None, Some(&stop), first)?);
        let (running, second) = flag();
        let watch = Watch::start(None, Some(&stop), second)?;
        stop.request();
        assert_eq!(
            (ended.raised(), running.raised()),
            (None, Some(Why::Request))
        );
        assert_eq!(watch.kind(), FaultKind::Stopped);
        let (later, third) = flag();
        let _watch = Watch::start(None, Some(&stop), third)?;
        assert_eq!(later.raised(), Some(Why::Request));
        Ok(())
    }

    #[test]
    fn a_limit_is_over_in_its_time_and_not_behind_the_end() -> Result<()> {
        let limit = Duration::from_millis(30);
        let (ended, first) = flag();
        drop(Watch::start(Some(limit), None, first)?);
        let (running, second) = flag();
        let begin = Instant::now();
        let watch = Watch::start(Some(limit), None, second)?;
        while running.raised().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
        assert!(begin.elapsed() >= limit);
        assert_eq!(watch.kind(), FaultKind::TimeLimitExceeded { limit });
        assert_eq!(ended.raised(), None);
        // A limit that no clock reaches.
        drop(Watch::start(Some(Duration::MAX), None, flag().1)?);
        Ok(())
    }
}
