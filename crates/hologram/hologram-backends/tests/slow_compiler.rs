//! A compiler that takes too long for vector code: the process's environment names it.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;

use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, ExecutionParams, LaunchConfig, Program, Register};
use openvm_metal_builder::Compiler;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const N: u64 = 100_000;

#[test]
fn programs_whose_vector_code_takes_too_long_run_without() -> Outcome {
    let folder = tempfile::tempdir()?;
    let compiler = folder.path().join("slow");
    let script = format!(
        "#!/bin/sh\nlevel=\nfor a in \"$@\"; do case \"$a\" in -O*) level=$a;; esac; done\n\
         if [ \"$level\" = -O3 ]; then while :; do :; done; fi\nexec {} \"$@\"\n",
        Compiler::find()?.program
    );
    std::fs::write(&compiler, script)?;
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755))?;
    std::env::set_var("OPENVM_METAL_CXX", &compiler);
    let mut backend = NativeBackend::with_scratch(folder.path().join("kernels"));
    backend.set_compile_limit(Some(2));
    let buffer = backend.allocate_buffer(8 * N as usize)?;
    let program: Program = "mul.u64 r5, r255, r4\nstg.u64 r5, [r1 + r5]".parse()?;
    let launch = ExecutionParams::new(LaunchConfig::linear(N, 250))
        .with_u64(Register::new(1), buffer.raw())
        .with_u64(Register::new(4), 8);
    for _ in 0..2 {
        backend.execute_program_with_params(&program, &launch)?;
    }
    let mut bytes = [0; 8];
    backend.copy_from_buffer_at(buffer, 8 * (N as usize - 1), &mut bytes)?;
    assert_eq!(u64::from_le_bytes(bytes), 8 * (N - 1));
    let stats = backend.stats();
    assert_eq!(
        (stats.interpreted, stats.kernels.in_bounds),
        (0, 0),
        "{stats:?}"
    );
    assert_eq!(
        (stats.kernels.launches, stats.kernels.units_compiled),
        (2, 1),
        "{stats:?}"
    );
    Ok(())
}
