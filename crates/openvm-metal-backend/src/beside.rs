//! Host work beside a thread that waits for the device.

use std::sync::Mutex;

/// What `work` gives, on a thread of rayon's, and `own`, on this one. `work` that no thread has begun when `own` is done is done here, so
/// that nobody waits for threads that are at other things.
pub(crate) fn beside<A: Send, B>(
    work: impl FnOnce() -> A + Send,
    own: impl FnOnce() -> B,
) -> (A, B) {
    let waiting = Mutex::new(Some(work));
    let done = Mutex::new(None);
    let begin = || {
        let work = waiting.lock().ok().and_then(|mut work| work.take());
        if let (Some(work), Ok(mut done)) = (work, done.lock()) {
            *done = Some(work());
        }
    };
    let own = rayon::in_place_scope(|scope| {
        scope.spawn(|_| begin());
        let own = own();
        begin();
        own
    });
    let done = done.into_inner().ok().flatten();
    (done.expect("one of both did the work"), own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic;

    #[test]
    fn both_are_done_and_a_panic_of_either_goes_on() {
        assert_eq!(beside(|| 2, || 3), (2, 3));
        for first in [false, true] {
            let both = || {
                let of = |fails: bool| assert!(!fails, "meant");
                beside(|| of(first), || of(!first))
            };
            assert!(panic::catch_unwind(both).is_err());
        }
    }
}
