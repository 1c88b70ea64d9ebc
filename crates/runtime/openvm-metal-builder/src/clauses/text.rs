//! Finds clauses in a comment.

/// A keyword and what follows it, up to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClauseText {
    /// `Given`, `Cost`, `Lengths`, `InPlace`, `Requires`, `Registers` or `Safety`.
    pub keyword: &'static str,
    /// Without the final period; lines are joined by spaces.
    pub body: String,
    /// The line within the comment, from 0.
    pub line: usize,
}

const KEYWORDS: [&str; 7] = [
    "Given",
    "Cost",
    "Lengths",
    "InPlace",
    "Requires",
    "Registers",
    "Safety",
];

fn keyword(line: &str) -> Option<(&'static str, &str)> {
    KEYWORDS
        .iter()
        .find_map(|&k| Some((k, line.strip_prefix(k)?.strip_prefix(':')?)))
}

/// The clauses of a comment. A clause begins a line and ends with the first period that ends a sentence, a
/// `Safety:` clause with the comment or the next clause.
pub(super) fn clauses(doc: &str) -> Vec<ClauseText> {
    let lines: Vec<&str> = doc.lines().map(str::trim).collect();
    let mut out = Vec::new();
    for (line, &text) in lines.iter().enumerate() {
        let Some((keyword, first)) = keyword(text) else {
            continue;
        };
        let rest = lines[line + 1..]
            .iter()
            .take_while(|l| !l.is_empty() && self::keyword(l).is_none());
        let body = std::iter::once(&first)
            .chain(rest)
            .map(|l| l.trim())
            .collect::<Vec<_>>()
            .join(" ");
        let body = if keyword == "Safety" {
            body
        } else {
            sentence(&body).to_string()
        };
        out.push(ClauseText {
            keyword,
            body,
            line,
        });
    }
    out
}

/// Text before the first period at the end of a word.
fn sentence(text: &str) -> &str {
    let end = text
        .match_indices('.')
        .map(|(i, _)| i)
        .find(|&i| text[i + 1..].chars().next().is_none_or(char::is_whitespace));
    &text[..end.unwrap_or(text.len())]
}

/// The comment as Rust documentation: what callers of an `unsafe` launcher see to is a section of its own.
pub(crate) fn documentation(doc: &str) -> Vec<String> {
    let (mut out, mut safety) = (Vec::new(), Vec::new());
    let mut inside = false;
    for line in doc.lines() {
        match keyword(line.trim()) {
            Some(("Safety", first)) => {
                inside = true;
                safety.push(first.trim().to_string());
                continue;
            }
            Some((other, rest)) => {
                inside = false;
                // A paragraph of its own.
                out.extend([String::new(), format!("{other}:{rest}")]);
                continue;
            }
            None if line.trim().is_empty() => inside = false,
            None => {}
        }
        if inside { &mut safety } else { &mut out }.push(line.to_string());
    }
    if !safety.is_empty() {
        out.extend([String::new(), "# Safety".into()]);
        out.append(&mut safety);
    }
    out
}
