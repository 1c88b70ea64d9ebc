//! A machine without a compiler. One test, because it sets the environment of its process.

use hologram_backends::metal::{Fallback, MetalBackend};
use hologram_backends::{Backend, BackendError, LaunchConfig, Program};
use openvm_metal_common::Device;

#[test]
fn programs_are_refused_or_interpreted() -> Result<(), Box<dyn std::error::Error>> {
    std::env::set_var("OPENVM_METAL_CXX", "hologram-no-such-compiler");
    let scratch = std::env::temp_dir().join(format!("hologram-none-{}", std::process::id()));
    let mut backend = MetalBackend::with_scratch(Device::Cpu, scratch.clone())?;
    let buffer = backend.allocate_buffer(16)?;
    let text = format!("mov_imm.u32 r1, 6\nstg.u32 r1, [buf{} + 4]", buffer.raw());
    let program: Program = text.parse()?;
    let launch = LaunchConfig::default();
    match backend.execute_program(&program, &launch) {
        Err(BackendError::NoCompiler(text)) => {
            assert!(text.contains("hologram-no-such-compiler"), "{text}");
            assert!(text.contains("when-unsupported"), "{text}");
        }
        other => return Err(format!("{other:?}").into()),
    }
    backend.set_fallback(Fallback::WhenUnsupported);
    backend.execute_program(&program, &launch)?;
    let mut bytes = [0; 8];
    backend.copy_from_buffer(buffer, &mut bytes)?;
    assert_eq!(bytes, [0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(backend.stats().interpreted, 1);
    // What the compiler would reject or the validator does reject is not hidden.
    let wrong: Program = "add.u32 r1, r2, r3".parse()?;
    let error = backend.execute_program(&wrong, &launch);
    assert!(
        matches!(error, Err(BackendError::Validation(_))),
        "{error:?}"
    );
    let _ = std::fs::remove_dir_all(scratch);
    Ok(())
}
