//! The headers that stand in for Apple's when compiling for CPUs and NVIDIA GPUs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::error::BuildError;

macro_rules! shim {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../shim/", $name)))),*] };
}

/// Name and text of each header.
pub const FILES: &[(&str, &str)] = shim![
    "metal_stdlib",
    "msl_types.h",
    "msl_vector_gcc.h",
    "msl_traits.h",
    "msl_integer.h",
    "msl_float.h",
    "msl_float_ptx.h",
    "msl_atomic.h",
    "msl_sync.h",
    "msl_wrap.h",
    "msl_outside.h",
    "lint_stdlib.h",
    "lanes.h",
    "lanes_scalar.h",
    "lanes_vector.h",
    "lanes_mul.h",
    "lanes_memory.h",
    "lanes_simd.h",
];

/// Apple's headers that a kernel file may include; while preprocessing they are empty.
pub const SYSTEM_HEADERS: &[&str] = &[
    "metal_stdlib",
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

/// The header that gives lanes; inlined for Apple, part of the shim elsewhere.
pub const LANES_HEADER: &str = "lanes.h";

/// Text of a shim header.
pub fn text(name: &str) -> &'static str {
    FILES
        .iter()
        .find(|(n, _)| *n == name)
        .map_or("", |(_, t)| t)
}

/// The two include folders of the shim.
#[derive(Clone, Debug)]
pub struct ShimFolders {
    /// Headers for compiling.
    pub compile: PathBuf,
    /// Empty headers for preprocessing.
    pub preprocess: PathBuf,
}

impl ShimFolders {
    /// Writes the headers below `out`, leaving files alone that are already right.
    pub fn write(out: &Path) -> Result<Self, BuildError> {
        let folders = Self {
            compile: out.join("shim"),
            preprocess: out.join("shim-pp"),
        };
        for (name, text) in FILES {
            write_if_changed(&folders.compile.join(name), text)?;
        }
        for name in SYSTEM_HEADERS {
            write_if_changed(&folders.preprocess.join(name), "")?;
        }
        // The only macro of the shim that conditional compilation may ask for.
        write_if_changed(
            &folders.preprocess.join(LANES_HEADER),
            "#pragma once\n#define LANE_WIDTH MSL_LANES\n",
        )?;
        Ok(folders)
    }
}

/// Writes `text` to `path` unless it is already there.
pub fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|e| BuildError::io(dir, e))?;
    }
    fs::write(path, text).map_err(|e| BuildError::io(path, e))
}
