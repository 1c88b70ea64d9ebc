//! Panics of libraries, which become errors.

use std::{
    any::Any,
    cell::Cell,
    panic::{catch_unwind, AssertUnwindSafe},
    sync::atomic::{AtomicUsize, Ordering},
};

/// The guarded calls of this process that have begun and not ended.
static GUARDED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The guarded calls of this thread that have begun and not ended.
    static GUARDED_HERE: Cell<usize> = const { Cell::new(0) };
}

/// True while this thread is in calls whose panics become errors. It is false on other threads of such a call.
pub fn is_thread_guarded() -> bool {
    GUARDED_HERE.get() > 0
}

/// True while this process is in calls whose panics become errors. A panic's thread does not tell: such a call may be in
/// others', too. A program's panic hook need not print then what the error will say.
pub fn is_guarded() -> bool {
    GUARDED.load(Ordering::SeqCst) > 0
}

/// True if the text of a panic says that the system refused memory, or a thread, whose stack is memory, or that a device did.
pub fn is_lack_of_memory(panic: &str) -> bool {
    let texts = [
        "Cannot allocate memory",
        "kind: OutOfMemory",
        "OutOfMemory { requested",
        "failed to spawn thread",
        "global thread pool has not been initialized",
    ];
    texts.iter().any(|text| panic.contains(text))
}

/// Runs a function of a library that panics on bad input, and makes an error of a panic: its message, which
/// is for logs and not for users. [`is_guarded`] is true meanwhile.
///
/// `f`'s data must not be used again if it panicked; callers drop it. Where panics do not unwind, as in WebAssembly,
/// the instance ends: its caller makes the same error of that.
///
/// # Errors
/// The message of the panic.
pub fn catch_panic<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    GUARDED.fetch_add(1, Ordering::SeqCst);
    GUARDED_HERE.set(GUARDED_HERE.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED_HERE.set(GUARDED_HERE.get() - 1);
    GUARDED.fetch_sub(1, Ordering::SeqCst);
    result.map_err(panic_message)
}

/// The message of a panic, by what it unwound with.
pub fn panic_message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or_else(
            || "a panic without a message".to_owned(),
            |&text| text.to_owned(),
        ),
    }
}
