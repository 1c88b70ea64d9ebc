//! Elements of views in memory, as text: one access for all elements of a thread where they lie together.

use super::super::types::{bits, from_bits, msl, to_bits};
use super::layout::Inner;
use crate::isa::Ty;

/// Vector type of so many bytes.
fn vector(bytes: usize, size: usize) -> &'static str {
    match (bytes, size) {
        (16, 8) => "ulong2",
        (16, _) => "uint4",
        (8, _) => "uint2",
        (4, _) => "uint",
        _ => "ushort",
    }
}

const COMPONENTS: [&str; 4] = [".x", ".y", ".z", ".w"];

/// Component `index` of a vector of `count`; one is no vector.
fn component(index: usize, count: usize) -> &'static str {
    if count == 1 {
        ""
    } else {
        COMPONENTS[index]
    }
}

/// Element `i` of `name`, which holds `width` of them.
fn element(name: &str, ty: Ty, width: usize, i: usize) -> String {
    let size = ty.size();
    let text = match size {
        4 | 8 => format!("{name}{}", component(i, width)),
        _ => {
            let each = 4 / size;
            let word = component(i / each, (width * size).div_ceil(4));
            format!("({name}{word} >> {})", 8 * size * (i % each))
        }
    };
    from_bits(ty, &text)
}

/// Declares elements `{name}_0` and on of a view whose first one is at byte `at`; gives their names.
pub fn load(
    out: &mut String,
    name: &str,
    ty: Ty,
    inner: Inner,
    width: usize,
    at: &str,
    stride: &str,
) -> Vec<String> {
    let m = msl(ty);
    let one = |at: &str| format!("hg_at<{m}>(mem, {at})");
    match inner {
        Inner::Same => {
            out.push_str(&format!("const {m} {name} = {};\n", one(at)));
            vec![name.into(); width]
        }
        Inner::Vector if width > 1 => {
            let held = vector(width * ty.size(), ty.size());
            out.push_str(&format!(
                "const {held} {name} = hg_at<{held}>(mem, {at});\n"
            ));
            (0..width).map(|i| element(name, ty, width, i)).collect()
        }
        Inner::Vector | Inner::Apart => (0..width)
            .map(|i| {
                let place = if i == 0 {
                    at.into()
                } else {
                    format!("{at} + {i}ul * {stride}")
                };
                out.push_str(&format!("const {m} {name}_{i} = {};\n", one(&place)));
                format!("{name}_{i}")
            })
            .collect(),
    }
}

/// Stores elements at byte `at` of a view and behind it.
pub fn store(out: &mut String, values: &[String], ty: Ty, inner: Inner, at: &str, stride: &str) {
    let (m, size, width) = (msl(ty), ty.size(), values.len());
    if inner != Inner::Vector || width == 1 {
        for (i, value) in values.iter().enumerate() {
            let place = if i == 0 {
                at.into()
            } else {
                format!("{at} + {i}ul * {stride}")
            };
            out.push_str(&format!("hg_put<{m}>(mem, {place}, {value});\n"));
        }
        return;
    }
    let bytes = width * size;
    let held = vector(bytes, size);
    let words: Vec<String> = match size {
        4 | 8 => values.iter().map(|value| to_bits(ty, value)).collect(),
        _ => values
            .chunks(4 / size)
            .map(|chunk| {
                let part = |(i, value): (usize, &String)| {
                    format!("(uint)({})({value}) << {}", bits(ty), 8 * size * i)
                };
                let parts: Vec<String> = chunk.iter().enumerate().map(part).collect();
                format!("({})", parts.join(" | "))
            })
            .collect(),
    };
    let value = match &words[..] {
        [word] => format!("({held}){word}"),
        words => format!("{held}({})", words.join(", ")),
    };
    out.push_str(&format!("hg_put<{held}>(mem, {at}, {value});\n"));
}
