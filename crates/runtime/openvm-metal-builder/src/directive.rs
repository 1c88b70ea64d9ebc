//! Lines of the preprocessor as text: words, names of headers, comments.

/// The first word and what stands behind it.
pub(crate) fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// The macro of `#ifndef X`, `#define X` at the head of a text.
pub(crate) fn include_guard(text: &str) -> Option<&str> {
    let mut directives = text
        .lines()
        .filter_map(|l| l.trim_start().strip_prefix('#').map(str::trim_start));
    let name = split_word(directives.next()?.strip_prefix("ifndef")?).0;
    let again = split_word(directives.next()?.strip_prefix("define")?).0;
    (name == again).then_some(name)
}

/// The header that an `#include` names.
pub(crate) fn included(rest: &str) -> Option<&str> {
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let body = &rest[1..];
    body.find(close).map(|end| &body[..end])
}

/// True if a block comment is open after the line.
pub(crate) fn ends_in_comment(line: &str, inside: bool) -> bool {
    let mut rest = line;
    if inside {
        let Some(end) = rest.find("*/") else {
            return true;
        };
        rest = &rest[end + 2..];
    }
    let block = rest.find("/*");
    let line_comment = rest.find("//");
    match (block, line_comment) {
        (Some(b), l) if l.is_none_or(|l| b < l) => ends_in_comment(&rest[b + 2..], true),
        _ => false,
    }
}

/// A text with its comments taken out.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = rest[at..].split_once("*/").map_or("", |(_, r)| r);
    }
    out.push_str(rest);
    out.split("//").next().unwrap_or_default().to_string()
}

/// The identifiers of a text, in order.
pub(crate) fn identifiers(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(String::from)
        .collect()
}

/// True if a text has one of the words as an identifier.
pub(crate) fn mentions(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|w| words.contains(&w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_hide_directives() {
        assert!(ends_in_comment("int a; /* b", false));
        assert!(!ends_in_comment("a /* b */ c", false));
        assert!(!ends_in_comment("a // b /* c", false));
        assert!(!ends_in_comment("b */ c", true));
        assert!(ends_in_comment("b */ c /* d", true));
        assert_eq!(without_comments("A /* B */ && C // D"), "A   && C ");
    }

    #[test]
    fn guards_are_known() {
        assert_eq!(
            include_guard("// x\n#ifndef A_H\n#define A_H\n#endif"),
            Some("A_H")
        );
        assert_eq!(include_guard("#ifndef A\n#define B\n#endif"), None);
        assert_eq!(include_guard("#if A\n#endif"), None);
    }
}
