//! Text on a terminal. Names, paths and what a guest prints may be a stranger's: control characters in them would move the cursor, hide
//! lines or set the terminal up.

use std::{fmt::Display, io::IsTerminal, path::Path};

use openvm_metal_sdk::plain_text;

/// The text as a stream gets it: a terminal gets no control characters, files and pipes get every byte.
pub fn on(stream: &impl IsTerminal, text: impl Display) -> String {
    let text = text.to_string();
    match stream.is_terminal() {
        true => plain_text(&text).into_owned(),
        false => text,
    }
}

/// The name of a file for a line of a report, with the replacement character in place of line ends, after which the name would make lines of its
/// own, and of other control characters.
pub fn name(file: &Path) -> String {
    let name = file.display().to_string();
    name.replace(char::is_control, "\u{fffd}")
}
