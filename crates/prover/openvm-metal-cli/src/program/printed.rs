//! Text of a guest on the command line.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

use indicatif::ProgressBar;
use openvm_metal_sdk::{plain_text, GuestOutput};

/// Begins each line of a guest where other text is printed too.
const LABEL: &str = "guest: ";

/// Most bytes of a line that wait for its end where lines are labelled. A longer line is printed in pieces.
const LONGEST: usize = 64 << 10;

/// Receives what a guest prints. A terminal gets text, with the replacement character for bytes that are no UTF-8 and for control characters
/// other than line ends and tabs; files and pipes get the bytes. Dropping it ends a line that the guest left open.
pub struct Printed {
    target: Target,
    line: Mutex<Line>,
}

enum Target {
    /// Standard output, as it comes.
    Plain { is_terminal: bool },
    /// Standard error, each line after [`LABEL`], above the line of a progress bar if there is one.
    Labelled(Option<ProgressBar>),
}

/// The line that the guest has not ended.
#[derive(Default)]
struct Line {
    is_open: bool,
    /// Bytes of it that are not written yet.
    rest: Vec<u8>,
}

impl Printed {
    /// Standard output; or labelled on standard error if standard output is for JSON.
    pub fn plain(json: bool) -> Self {
        Self::new(match json {
            true => Target::Labelled(None),
            false => Target::Plain {
                is_terminal: io::stdout().is_terminal(),
            },
        })
    }

    /// Labelled on standard error, above the line of a progress bar.
    pub fn above(bar: &ProgressBar) -> Self {
        Self::new(Target::Labelled(Some(bar.clone())))
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            line: Mutex::default(),
        }
    }
}

impl GuestOutput for Printed {
    fn print(&self, bytes: &[u8]) -> io::Result<()> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.target {
            Target::Plain { is_terminal } => {
                line.write(&mut io::stdout().lock(), bytes, *is_terminal)
            }
            Target::Labelled(bar) => {
                line.write_whole(bytes, |line| labelled(bar.as_ref(), line));
                Ok(())
            }
        }
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        let line = self.line.get_mut().unwrap_or_else(PoisonError::into_inner);
        match &self.target {
            // Standard output that is lost shows when the report is written.
            Target::Plain { .. } => drop(line.end(&mut io::stdout().lock())),
            Target::Labelled(bar) if line.is_open => labelled(bar.as_ref(), &line.rest),
            Target::Labelled(_) => {}
        }
    }
}

/// Prints a line of a guest on standard error. One that takes nothing ends no work.
fn labelled(bar: Option<&ProgressBar>, line: &[u8]) {
    let print = || {
        let mut error = io::stderr().lock();
        let text = match error.is_terminal() {
            true => plain_text(&String::from_utf8_lossy(line))
                .as_bytes()
                .to_vec(),
            false => line.to_vec(),
        };
        // In one piece: lines of other processes on the same terminal stay apart from it.
        let _ = error.write_all(&[LABEL.as_bytes(), &text, b"\n"].concat());
    };
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

impl Line {
    /// Writes what a guest prints as it is; on a terminal the replacement character for bytes that are no text and for control characters. The
    /// beginning of a character waits for the next print.
    fn write(&mut self, out: &mut impl Write, bytes: &[u8], is_terminal: bool) -> io::Result<()> {
        let Some(&last) = bytes.last() else {
            return Ok(());
        };
        self.is_open = last != b'\n';
        if !is_terminal {
            return out.write_all(bytes);
        }
        let mut text = std::mem::take(&mut self.rest);
        text.extend_from_slice(bytes);
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            out.write_all(plain_text(chunk.valid()).as_bytes())?;
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(invalid) {
                self.rest = invalid.to_vec();
            } else if !invalid.is_empty() {
                out.write_all(REPLACEMENT)?;
            }
        }
        out.flush()
    }

    /// Gives `print` each line that has ended, without its end, and pieces of lines longer than [`LONGEST`].
    fn write_whole(&mut self, bytes: &[u8], mut print: impl FnMut(&[u8])) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.is_open = !part.ends_with(b"\n");
            self.rest
                .extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            let mut start = 0;
            while self.rest.len() - start > LONGEST {
                let mut end = start + LONGEST;
                // A character, of at most four bytes, stays whole.
                while end > start + LONGEST - 3 && self.rest[end] & 0xc0 == 0x80 {
                    end -= 1;
                }
                print(&self.rest[start..end]);
                start = end;
            }
            self.rest.drain(..start);
            if !self.is_open {
                print(&std::mem::take(&mut self.rest));
            }
        }
    }

    /// Ends an open line.
    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        if !std::mem::take(&mut self.rest).is_empty() {
            out.write_all(REPLACEMENT)?;
        }
        if std::mem::take(&mut self.is_open) {
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

/// U+FFFD.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// True if more bytes can make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(prints: &[&[u8]], is_terminal: bool) -> Vec<u8> {
        let (mut out, mut line) = (Vec::new(), Line::default());
        for bytes in prints {
            line.write(&mut out, bytes, is_terminal)
                .expect("memory takes all");
        }
        line.end(&mut out).expect("memory takes all");
        out
    }

    /// Catches a guest without line ends whose text fills the memory, and pieces that lose bytes or cut a character.
    #[test]
    fn long_lines_come_in_pieces() {
        let mut line = Line::default();
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        let long = ["a".repeat(LONGEST - 1), "\u{e4}".repeat(LONGEST)].concat();
        for bytes in long.as_bytes().chunks(1000) {
            line.write_whole(bytes, |piece| pieces.push(piece.to_vec()));
            assert!(line.rest.len() <= LONGEST);
        }
        line.write_whole(b"\nb\n\n", |piece| pieces.push(piece.to_vec()));
        assert!(!line.is_open && line.rest.is_empty());
        assert_eq!(pieces.pop().as_deref(), Some(&b""[..]));
        assert_eq!(pieces.pop().as_deref(), Some(&b"b"[..]));
        assert_eq!(pieces.concat(), long.as_bytes());
        assert_eq!(pieces.len(), 3);
        for piece in pieces {
            assert!(piece.len() <= LONGEST && std::str::from_utf8(&piece).is_ok());
        }
    }

    /// Catches bytes that a file loses, text that a terminal loses, and lines without an end.
    #[test]
    fn bytes_in_files_and_on_terminals() {
        let replaced = "a\u{fffd}b\n".as_bytes();
        /// Pieces that are printed, and the bytes in a file and on a terminal.
        type Case<'a> = (&'a [&'a [u8]], &'a [u8], &'a [u8]);
        let cases: [Case<'_>; 10] = [
            (&[], b"", b""),
            (&[b"a\n"], b"a\n", b"a\n"),
            (&[b"a\n", b""], b"a\n", b"a\n"),
            (&[b"a", b"b"], b"ab\n", b"ab\n"),
            (&[b"a\xff", b"b\n"], b"a\xffb\n", replaced),
            // A character in two prints, one that never ends, and one that something else follows.
            (&[b"\xc3", b"\xa4\n"], b"\xc3\xa4\n", b"\xc3\xa4\n"),
            (&[b"a\xe2\x82"], b"a\xe2\x82\n", "a\u{fffd}\n".as_bytes()),
            (&[b"a\xe2\x82", b"b"], b"a\xe2\x82b\n", replaced),
            // Control characters of one byte, and one of two bytes in two prints.
            (
                &[b"\x1b[2Ja\tb\r\n"],
                b"\x1b[2Ja\tb\r\n",
                "\u{fffd}[2Ja\tb\u{fffd}\n".as_bytes(),
            ),
            (&[b"a\xc2", b"\x9bb\n"], b"a\xc2\x9bb\n", replaced),
        ];
        for (prints, file, terminal) in cases {
            assert_eq!(printed(prints, false), file, "{prints:?}");
            assert_eq!(printed(prints, true), terminal, "{prints:?}");
        }
    }
}
