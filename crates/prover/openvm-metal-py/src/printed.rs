//! Bytes that a guest prints, for a function of the user.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write as _},
    sync::{atomic::Ordering, PoisonError},
};

use openvm_metal_sdk::{plain_text, GuestOutput};
use pyo3::{prelude::*, types::PyBytes};

use crate::work::Stop;

/// Stream of the process for prints of a guest without a function.
#[derive(Clone, Copy)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Calls the user's function with the bytes of each print, or writes them to a stream. An exception from the function ends the work.
pub struct Printed<'a> {
    pub function: Option<&'a Py<PyAny>>,
    pub otherwise: Stream,
    pub stop: &'a Stop,
}

/// The bytes as a stream gets them: a terminal gets text without control characters.
fn shown<'a>(stream: &impl IsTerminal, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    match stream.is_terminal() {
        true => plain_text(&String::from_utf8_lossy(bytes))
            .as_bytes()
            .to_vec()
            .into(),
        false => bytes.into(),
    }
}

impl GuestOutput for Printed<'_> {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(function) = self.function else {
            return match self.otherwise {
                Stream::Stdout => openvm_metal_sdk::Stdout.print(&shown(&io::stdout(), bytes)),
                Stream::Stderr => io::stderr().write_all(&shown(&io::stderr(), bytes)),
            };
        };
        let called = Python::attach(|py| function.call1(py, (PyBytes::new(py, bytes),)).map(drop));
        called.map_err(|error| {
            self.stop.flag.store(true, Ordering::Relaxed);
            let failed = &self.stop.failed;
            failed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(error);
            io::Error::other("the function for the output raised an exception")
        })
    }
}
