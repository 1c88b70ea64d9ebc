//! Text on a terminal. Names, paths and what a guest prints may be a stranger's: control characters in them would move the cursor, hide
//! lines or set the terminal up.

use std::{borrow::Cow, fmt::Display, io::IsTerminal};

/// The text as a stream gets it: a terminal gets no control characters, files and pipes get every byte.
pub fn on(stream: &impl IsTerminal, text: impl Display) -> String {
    let text = text.to_string();
    match stream.is_terminal() {
        true => plain(&text).into_owned(),
        false => text,
    }
}

/// The text with the replacement character in place of control characters other than line ends and tabs.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    match text.contains(is_control) {
        true => text.replace(is_control, "\u{fffd}").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert!(matches!(plain("a\tb\n\u{e4}\u{2588}"), Cow::Borrowed(_)));
        let codes = "\u{1b}[2J\r\u{7}\u{0}\u{7f}\u{9b}31m\n";
        assert_eq!(
            plain(codes),
            "\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}31m\n"
        );
    }
}
