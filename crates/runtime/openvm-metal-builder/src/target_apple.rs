//! Source for Apple's compiler: each unit preprocessed once, with Apple's macros.
//!
//! Every rule of the lint reads this text, and the other targets are compiled from it. `#line` directives keep Apple's
//! messages pointing at the original lines.

use crate::{
    error::BuildError,
    lexer::{TokenKind, Tokens},
    preprocess::{self, Preprocessed, Request},
    scan, slices,
};

/// The text that Apple's compiler gets, with comments: no condition and no macro of ours is left. Each token knows the
/// file and line that it was written on. [`embedded`] is what is made of it.
///
/// # Errors
/// If a file cannot be read, or the compiler does not preprocess it.
pub fn text(request: Request<'_>) -> Result<Preprocessed, BuildError> {
    preprocess::apple(request)
}

/// The text of the tokens as it is embedded in programs: kernels take the place of a slice in its grid, see
/// [`slices`], and comments are gone.
pub fn embedded(t: &Tokens) -> String {
    lines(&Tokens::new(slices::with_slices(t, &scan::scan(t))))
}

/// The text of the tokens without comments and empty lines, `#line` where the lines do not follow one another.
fn lines(t: &Tokens) -> String {
    let mut out = String::from("#include <metal_stdlib>\n");
    let (mut file, mut line) = ("", 0);
    let mut fresh = true;
    for (i, token) in t.tokens.iter().enumerate() {
        let text = t.at(i);
        let directive = token.kind == TokenKind::Directive;
        if directive && text.replace(' ', "").starts_with("#include<metal_stdlib>") {
            continue;
        }
        // Pragmas of a loop stand before it in its line.
        let inline = text.strip_prefix("#pragma clang loop ");
        let alone = directive && inline.is_none();
        if token.file.as_ref() != file || token.line != line || (alone && !fresh) {
            let mut next = line + u32::from(!fresh);
            if !fresh {
                out.push('\n');
            }
            while token.file.as_ref() == file
                && (next..next + 4).contains(&token.line)
                && token.line > next
            {
                out.push('\n');
                next += 1;
            }
            if token.file.as_ref() != file || token.line != next {
                out.push_str(&format!("#line {} \"{}\"\n", token.line, token.file));
            }
            (file, line, fresh) = (token.file.as_ref(), token.line, true);
        }
        if !fresh && t.tokens[i - 1].end != token.start {
            out.push(' ');
        }
        match inline {
            Some(what) => out.push_str(&format!("_Pragma(\"clang loop {}\")", what.trim())),
            None => out.push_str(text),
        }
        fresh = false;
        if alone {
            out.push('\n');
            (line, fresh) = (line + 1, true);
        }
    }
    if !fresh {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_and_comments_are_not() {
        let t = Tokens::new(
            "#line 1 \"a.h\"\n#include <metal_stdlib>\n#include <metal_math>\n// one\nint  x; /* two */ int y;\n\n\n\
             #pragma METAL fp contract(off)\n#line 9 \"b.h\"\nfoo( );\n#line 9 \"b.h\"\n#pragma clang loop unroll(full)\n\
             #line 9 \"b.h\"\n  for (;;) ;\n#line 10 \"b.h\"\nz;\n"
                .into(),
        );
        assert_eq!(
            lines(&t),
            "#include <metal_stdlib>\n#line 2 \"a.h\"\n#include <metal_math>\n\nint x; int y;\n\n\n#pragma METAL fp contract(off)\n#line 9 \"b.h\"\nfoo( ); _Pragma(\"clang loop unroll(full)\") for (;;) ;\n\
             z;\n"
        );
    }
}
