//! The messages of panics: none where an error follows, else one line in the user's terms.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    fmt::Display,
    panic::PanicHookInfo,
};

use crate::{memory, table::note};

/// Installs the messages for the panics of all threads.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let message = message(info);
        if openvm_metal_sdk::is_lack_of_memory(message) {
            // Threads may wait for one that could not begin, so that an error of it might never be said.
            memory::end(format_args!(
                "the system or the device refuses memory, or a thread"
            ));
        }
        if !openvm_metal_sdk::is_guarded() {
            say_bug(
                info.location().map(|location| location as &dyn Display),
                message,
            );
        }
    }));
}

/// The text of a panic.
fn message<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

fn say_bug(place: Option<&dyn Display>, message: &str) {
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    note(format_args!(
        "error: this is a bug of openvm-metal{place}: {message}"
    ));
    let trace = Backtrace::capture();
    match trace.status() {
        BacktraceStatus::Captured => note(trace),
        _ => note(
            "hint: please report it with what you did; RUST_BACKTRACE=1 prints where it comes from",
        ),
    }
}
