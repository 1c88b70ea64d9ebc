//! The headers that stand in for Apple's when compiling for CPUs and NVIDIA GPUs.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::{cache, error::BuildError, files, lexer::Tokens};

macro_rules! shim {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../shim/", $name)))),*] };
}

/// Name and text of each header.
pub const FILES: &[(&str, &str)] = shim![
    "metal_stdlib",
    "msl_types.h",
    "msl_bools.h",
    "msl_vector_gcc.h",
    "msl_traits.h",
    "msl_constants.h",
    "msl_mixed.h",
    "msl_integer.h",
    "msl_float.h",
    "msl_float_ptx.h",
    "msl_relational.h",
    "msl_math.h",
    "msl_packed.h",
    "msl_geometric.h",
    "msl_matrix.h",
    "msl_array.h",
    "msl_pack.h",
    "msl_atomic.h",
    "msl_sync.h",
    "msl_quad.h",
    "msl_simdgroup_matrix.h",
    "msl_mma.h",
    "msl_wrap.h",
    "msl_outside.h",
    "lint_stdlib.h",
    "lanes_scalar.h",
    "lanes_vector.h",
    "lanes_mul.h",
    "lanes_mul52.h",
    "lanes_memory.h",
    "lanes_simd.h",
];

/// Apple's headers that a kernel file may include; the shim has all that is in them.
pub const SYSTEM_HEADERS: &[&str] = &[
    "metal_stdlib",
    "metal_array",
    "metal_atomic",
    "metal_common",
    "metal_compute",
    "metal_config",
    "metal_geometric",
    "metal_graphics",
    "metal_integer",
    "metal_limits",
    "metal_logging",
    "metal_math",
    "metal_matrix",
    "metal_numeric",
    "metal_pack",
    "metal_packed_vector",
    "metal_quadgroup",
    "metal_relational",
    "metal_simdgroup",
    "metal_simdgroup_matrix",
    "metal_texture",
    "metal_tensor",
    "metal_type_traits",
    "metal_types",
    "metal_uniform",
    "metal_vector",
    "simd/simd.h",
    "TargetConditionals.h",
];

type Uses = fn(&str) -> bool;

/// Headers of the shim that only files with one of their names get: every file pays for parsing the others.
const ON_DEMAND: &[(&str, Uses)] = &[
    ("msl_float.h", |word| {
        is_floating(word)
            || is_relational(word)
            || is_rare_math(word)
            || is_geometric(word)
            || is_matrix(word)
            || word.contains("pack")
    }),
    ("msl_relational.h", is_relational),
    ("msl_math.h", is_rare_math),
    ("msl_geometric.h", |word| {
        is_geometric(word) || word.starts_with("packed_") || is_matrix(word)
    }),
    ("msl_packed.h", |word| word.starts_with("packed_")),
    ("msl_matrix.h", is_matrix),
    ("msl_quad.h", |word| word.starts_with("quad_")),
    ("msl_simdgroup_matrix.h", is_simdgroup_matrix),
    ("msl_mma.h", |word| word.starts_with("msl_mma_")),
    ("msl_array.h", |word| word == "array"),
    ("msl_pack.h", |word| {
        word.starts_with("pack_") || word.starts_with("unpack_")
    }),
];

/// True if a word is a floating-point type or literal; a file without such words computes no floats.
pub(crate) fn is_floating(word: &str) -> bool {
    let number = word
        .trim_start_matches('.')
        .starts_with(|c: char| c.is_ascii_digit());
    let literal = number && word.contains('.');
    literal
        || word.contains("float")
        || is_half(word)
        || matches!(word, "double" | "precise" | "fast")
}

/// `half`, `half4`, `packed_half2`, `simdgroup_half8x8`; not `half_size`.
fn is_half(word: &str) -> bool {
    let name = word
        .strip_prefix("packed_")
        .or(word.strip_prefix("simdgroup_"));
    let shape = name.unwrap_or(word).strip_prefix("half");
    shape.is_some_and(|s| s.bytes().all(|b| b.is_ascii_digit() || b == b'x'))
}

fn is_relational(word: &str) -> bool {
    matches!(word, "bool2" | "bool3" | "bool4" | "signbit" | "not")
        || word.strip_prefix("is").is_some_and(|kind| {
            matches!(
                kind,
                "nan" | "inf" | "finite" | "normal" | "ordered" | "unordered"
            )
        })
}

fn is_simdgroup_matrix(word: &str) -> bool {
    let name = word.strip_prefix("simdgroup_").unwrap_or_default();
    matches!(
        name,
        "matrix" | "load" | "store" | "multiply" | "multiply_accumulate"
    ) || name.ends_with("8x8")
        || word.ends_with("_simdgroup_matrix")
}

fn is_geometric(word: &str) -> bool {
    matches!(
        word,
        "cross"
            | "distance"
            | "distance_squared"
            | "dot"
            | "faceforward"
            | "length"
            | "length_squared"
            | "normalize"
            | "reflect"
            | "refract"
    )
}

fn is_rare_math(word: &str) -> bool {
    matches!(
        word,
        "sinpi"
            | "cospi"
            | "tanpi"
            | "sincos"
            | "fmin3"
            | "fmax3"
            | "fmedian3"
            | "median3"
            | "min3"
            | "max3"
            | "frexp"
            | "ilogb"
            | "ldexp"
            | "modf"
            | "nextafter"
    )
}

/// `matrix`, `float2x2` to `half4x4`.
fn is_matrix(word: &str) -> bool {
    let shape = word
        .strip_prefix("float")
        .or_else(|| word.strip_prefix("half"));
    let size = |c: u8| (b'2'..=b'4').contains(&c);
    matches!(shape.unwrap_or("").as_bytes(), [c, b'x', r] if size(*c) && size(*r))
        || word == "matrix"
}

/// The headers of the shim that a file needs beside `metal_stdlib`.
pub fn on_demand(t: &Tokens) -> Vec<&'static str> {
    // Files repeat few words many times, and build scripts are not optimised. `lanes.h` names a type of floats itself.
    let own = (0..t.len()).filter(|&i| t.tokens[i].file.as_ref() != LANES_HEADER);
    let words: HashSet<&str> = own.map(|i| t.at(i)).collect();
    let wanted = ON_DEMAND
        .iter()
        .filter(|(_, uses)| words.iter().any(|w| uses(w)));
    wanted.map(|(name, _)| *name).collect()
}

/// The header that gives lanes: `lanes_scalar.h`, part of the text, where a value belongs to one thread; part of the shim
/// where it belongs to several.
pub const LANES_HEADER: &str = "lanes.h";

/// Hash of the headers, which everything compiled with them depends on.
pub fn version() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let all: Vec<&str> = FILES.iter().map(|f| f.1).collect();
        cache::hash(&all)
    })
}

/// Text of a shim header.
pub fn text(name: &str) -> &'static str {
    FILES
        .iter()
        .find(|(n, _)| *n == name)
        .map_or("", |(_, t)| t)
}

/// The include folder of the shim.
#[derive(Clone, Debug)]
pub struct ShimFolders {
    /// Headers for compiling.
    pub compile: PathBuf,
}

impl ShimFolders {
    /// Writes the headers below `out`, leaving files alone that are already right.
    pub fn write(out: &Path) -> Result<Self, BuildError> {
        let folders = Self {
            compile: out.join("shim"),
        };
        for (name, text) in FILES {
            write_if_changed(&folders.compile.join(name), text)?;
        }
        Ok(folders)
    }
}

/// Writes `text` to `path` unless it is already there.
pub fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if files::is_own(path) && fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        files::make_folder(dir).map_err(|e| BuildError::io(dir, e))?;
    }
    let written = files::remove_foreign(path).and_then(|()| files::write(path, text.as_bytes()));
    written.map_err(|e| BuildError::io(path, e))
}
