//! `GuestOutput`: the receiver of the bytes that a guest prints.
//!
//! OpenVM's phantom instruction prints each time it is executed, and a proof executes a guest several times. Here it gives its bytes to
//! the receiver of the execution that runs on its thread, if there is one: the first execution of a job has one, those that
//! record segments have none.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    io::{self, Write},
    ptr::NonNull,
    sync::{Mutex, PoisonError},
};

use crate::{error::SdkError, slot::lock};

/// Receives what a guest prints: bytes of any encoding, standard output and standard error of a guest alike. A job calls it on one
/// thread, in the guest's order, once for each print.
pub trait GuestOutput: Send + Sync {
    /// Takes the bytes of one print.
    ///
    /// # Errors
    /// An error ends the execution with [`SdkError::GuestOutput`].
    fn print(&self, bytes: &[u8]) -> io::Result<()>;
}

/// Drops everything.
impl GuestOutput for () {
    fn print(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps prints until they are released or dropped, if it begins so, and passes later ones on at once.
pub(crate) struct HeldOutput<'a> {
    output: &'a dyn GuestOutput,
    held: Mutex<Option<Vec<Vec<u8>>>>,
}

impl<'a> HeldOutput<'a> {
    pub fn new(output: &'a dyn GuestOutput, is_held: bool) -> Self {
        Self {
            output,
            held: Mutex::new(is_held.then(Vec::new)),
        }
    }

    /// Passes on what was printed.
    ///
    /// # Errors
    /// [`SdkError::GuestOutput`] if the output refuses bytes.
    pub fn release(&self) -> Result<(), SdkError> {
        let held = lock(&self.held).take();
        let mut prints = held.iter().flatten();
        prints
            .try_for_each(|bytes| self.output.print(bytes))
            .map_err(SdkError::GuestOutput)
    }

    /// Forgets what was printed. Later prints are passed on at once.
    pub fn drop_all(&self) {
        *lock(&self.held) = None;
    }
}

impl GuestOutput for HeldOutput<'_> {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut *lock(&self.held) {
            Some(held) => {
                held.push(bytes.to_vec());
                Ok(())
            }
            None => self.output.print(bytes),
        }
    }
}

/// Writes to anything that takes bytes: `Mutex<Vec<u8>>` collects them.
impl<W: Write + Send> GuestOutput for Mutex<W> {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        self.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(bytes)
    }
}

/// Writes to the standard output of the process, as OpenVM's SDK does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdout;

impl GuestOutput for Stdout {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }
}

/// The text for a terminal: with the replacement character in place of control characters other than line ends and tabs, which would move the
/// cursor, hide lines or set the terminal up, and of those that turn the direction of text around.
pub fn plain_text(text: &str) -> Cow<'_, str> {
    let is_control = |letter: char| match letter {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => letter.is_control(),
    };
    match text.contains(is_control) {
        true => text.replace(is_control, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Most bytes of a panic's message that are compared with what follows it.
const PANIC_BYTES: usize = 1 << 16;

/// Begins the message of Rust's panic hook, after the thread's name.
const PANICKED: &[u8] = b"panicked at ";

/// An execution whose guest prints.
struct Printing<'a> {
    output: &'a dyn GuestOutput,
    text: RefCell<Text>,
}

/// Recent output. Rust's standard library reports a panic twice on OpenVM: its hook prints place and message, and then its runtime
/// gives the message alone to the host, which ends the guest. The second is held back; it is printed if the guest goes on.
#[derive(Default)]
struct Text {
    /// The end of the last print, in which [`PANICKED`] may begin.
    end: Vec<u8>,
    /// Output since the last [`PANICKED`].
    panic: Option<Vec<u8>>,
    held: Vec<u8>,
    error: Option<io::Error>,
}

impl Text {
    /// Takes a print. True if it repeats the message of the panic.
    fn repeats_panic(&mut self, bytes: &[u8]) -> bool {
        if let Some(panic) = &mut self.panic {
            let line = |at: usize| panic.get(at + bytes.len()) == Some(&b'\n');
            let found = |at: usize| panic[at..].starts_with(bytes) && line(at);
            // The message follows the place, which ends with a colon and a newline.
            let start = find(panic, b":\n").map(|at| at + 2);
            if !bytes.is_empty() && start.is_some_and(found) {
                return true;
            }
            if panic.len() + bytes.len() <= PANIC_BYTES {
                panic.extend_from_slice(bytes);
            }
        }
        self.end.extend_from_slice(bytes);
        if let Some(at) = find(&self.end, PANICKED) {
            self.panic = Some(self.end.split_off(at));
        }
        let kept = self.end.len().saturating_sub(PANICKED.len() - 1);
        self.end.drain(..kept);
        false
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

impl Printing<'_> {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        let mut text = self.text.borrow_mut();
        let held = std::mem::take(&mut text.held);
        let repeats = text.repeats_panic(bytes);
        let give = || {
            if !held.is_empty() {
                self.output.print(&held)?;
            }
            match repeats {
                true => Ok(()),
                false => self.output.print(bytes),
            }
        };
        let given = give();
        if repeats {
            text.held = bytes.to_vec();
        }
        given.map_err(|error| {
            let kind = error.kind();
            text.error = Some(error);
            kind.into()
        })
    }
}

thread_local! {
    static CURRENT: Cell<Option<NonNull<Printing<'static>>>> = const { Cell::new(None) };
}

/// Restores what was current, also when a panic passes.
struct Restore(Option<NonNull<Printing<'static>>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Executes a guest on this thread whose prints go to `output`.
///
/// # Errors
/// Errors of `work`; [`SdkError::GuestOutput`] if the output refused bytes.
pub(crate) fn printing<T>(
    output: &dyn GuestOutput,
    work: impl FnOnce() -> Result<T, SdkError>,
) -> Result<T, SdkError> {
    let printing = Printing {
        output,
        text: RefCell::default(),
    };
    let result = {
        let current = NonNull::from(&printing).cast::<Printing<'static>>();
        let _restore = Restore(CURRENT.replace(Some(current)));
        work()
    };
    let text = printing.text.into_inner();
    if let Some(error) = text.error {
        return Err(SdkError::GuestOutput(error));
    }
    let value = result?;
    if !text.held.is_empty() {
        output.print(&text.held).map_err(SdkError::GuestOutput)?;
    }
    Ok(value)
}

/// Gives the bytes of a guest's print to the output of the execution on this thread, if there is one.
///
/// # Errors
/// The kind of the output's error.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    match CURRENT.get() {
        // SAFETY: the pointer is that of a `Printing` in a call of `printing` on this thread that has not returned: `Restore` takes it away
        // before the value is moved, also when a panic passes. It is one value, not read past its end.
        Some(printing) => unsafe { printing.as_ref() }.print(bytes),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that reaches the output, and how the execution ended.
    fn printed(prints: &[&str], ends_well: bool) -> (String, Result<(), SdkError>) {
        let output = Mutex::new(Vec::new());
        let result = printing(&output, || {
            for text in prints {
                print(text.as_bytes()).expect("memory takes all");
            }
            match ends_well {
                true => Ok(()),
                false => Err(SdkError::GuestExit { code: 1, pc: 0 }),
            }
        });
        let bytes = output.into_inner().expect("no panic");
        (String::from_utf8(bytes).expect("texts"), result)
    }

    #[test]
    fn control_characters_are_replaced() {
        let plain = "a\tb\n\u{e4}\u{2588}\u{200f}";
        assert!(matches!(plain_text(plain), Cow::Borrowed(_)));
        let codes = "\u{1b}[2J\r\u{7}\u{0}\u{7f}\u{9b}31m\u{202e}\u{2067}\n";
        let shown = "\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}31m\u{fffd}\u{fffd}\n";
        assert_eq!(plain_text(codes), shown);
    }

    #[test]
    fn a_panic_is_printed_once() {
        // As std prints it in pieces, and as it gives the message to the host.
        let pieces = [
            "before\n",
            "\nthread 'main' panic",
            "ked at src/main.rs:4:5:\nno such",
            " value\nnote: run\n",
        ];
        let once = pieces.concat();
        let with = |last| [&pieces[..], &[last]].concat();
        assert_eq!(printed(&with("no such value"), false).0, once);
        // A guest that goes on has said something else.
        let all = format!("{once}no such value");
        assert_eq!(printed(&with("no such value"), true).0, all);
        let more = [&with("no such value")[..], &["more"]].concat();
        assert_eq!(printed(&more, false).0, format!("{all}more"));
        let other = format!("{once}no such");
        assert_eq!(printed(&with("no such"), false).0, other);
        // A message is repeated only after a panic.
        let prints = ["no such value\n", "no such value"];
        assert_eq!(printed(&prints, false).0, prints.concat());
    }

    #[test]
    fn outputs_of_nested_executions_are_apart() {
        print(b"nobody listens").expect("dropped");
        let (outer, inner) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        printing(&outer, || {
            print(b"a").expect("taken");
            printing(&inner, || {
                print(b"\xff").expect("taken");
                Ok(())
            })?;
            print(b"c").expect("taken");
            Ok(())
        })
        .expect("no error");
        assert_eq!(outer.into_inner().expect("no panic"), b"ac");
        assert_eq!(inner.into_inner().expect("no panic"), b"\xff");
        print(b"nobody listens").expect("dropped");
    }

    #[test]
    fn an_output_that_takes_no_more_ends_the_execution() {
        struct Full;
        impl GuestOutput for Full {
            fn print(&self, _: &[u8]) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let result = printing(&Full, || {
            print(b"a").map_err(|_| SdkError::GuestExit { code: 1, pc: 0 })?;
            Ok(())
        });
        assert!(
            matches!(&result, Err(SdkError::GuestOutput(error)) if error.kind() == io::ErrorKind::BrokenPipe),
            "{result:?}"
        );
    }
}
