//! Sizes as the C++ compiler sees them, read from the assembly of a probe.

use std::collections::HashMap;

/// Size and alignment of a type in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `sizeof`
    pub size: u32,
    /// `alignof`
    pub align: u32,
}

/// Sizes that the probe of a unit found.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Layout of the target type of parameter `.1` of entry `.0`.
    pub args: HashMap<(usize, usize), Layout>,
    /// Bytes of the threadgroup arrays in the body of each entry, each rounded up to 16.
    pub threadgroup: HashMap<usize, u32>,
}

/// Starts of comments in assembly: x86, Arm on Apple systems, Arm elsewhere. Clang writes comments
/// of inline assembly anew.
const COMMENTS: [&str; 3] = ["#", ";", "//"];

/// The text of a comment that `codegen_cpp` put into the assembly, from `MSL_` on.
fn marker(line: &str) -> Option<&str> {
    let at = line.find("MSL_")?;
    let before = line[..at].trim_end();
    COMMENTS
        .iter()
        .any(|c| before.ends_with(c))
        .then(|| &line[at..])
}

/// Reads the `#MSL_` comments that `codegen_cpp` put into the assembly.
pub fn parse(assembly: &str) -> Sizes {
    let mut out = Sizes::default();
    let mut entry = None;
    for line in assembly.lines() {
        let Some(text) = marker(line) else {
            continue;
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |i: usize| {
            words
                .get(i)
                .and_then(|w| w.trim_start_matches(['$', '#']).parse::<u32>().ok())
        };
        match (words[0], number(1)) {
            ("MSL_ARG", Some(n)) => {
                if let (Some(p), Some(size), Some(align)) = (number(2), number(3), number(4)) {
                    out.args
                        .insert((n as usize, p as usize), Layout { size, align });
                }
            }
            ("MSL_BODY", Some(n)) => entry = Some(n as usize),
            ("MSL_END", _) => entry = None,
            ("MSL_TG", _) => {
                if let (Some(e), Some(size)) = (entry, number(2)) {
                    *out.threadgroup.entry(e).or_default() += size.div_ceil(16) * 16;
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_comments_of_every_assembler() {
        for (comment, immediate) in [("#", "$"), (";", ""), ("//", "#"), ("; ", "")] {
            let text = "x:\n\t?MSL_ARG 0 2 !16 !4\n ?MSL_BODY 0\n  ?MSL_TG buf 20\n?MSL_TG t 4\n?MSL_END\n?MSL_TG z 4\n\tMSL_TG y 8";
            let s = parse(&text.replace('?', comment).replace('!', immediate));
            assert_eq!(s.args[&(0, 2)], Layout { size: 16, align: 4 }, "{comment}");
            assert_eq!(s.threadgroup[&0], 48, "{comment}");
        }
    }
}
