//! A machine without a compiler: all tests of this process set its environment alike.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Fallback, MetalBackend};
use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, BackendError, ExecutionParams, LaunchConfig, Program, Register};
use hologram_conformance::hostile::attempt;
use hologram_conformance::random::{Comparison, Features};
use hologram_conformance::Promise;
use openvm_metal_common::Device;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A backend on the CPU that cannot compile.
fn open() -> Result<MetalBackend, Box<dyn std::error::Error>> {
    std::env::set_var("OPENVM_METAL_CXX", "hologram-no-such-compiler");
    let scratch = std::env::temp_dir().join(format!("hologram-none-{}", std::process::id()));
    Ok(MetalBackend::with_scratch(Device::Cpu, scratch)?)
}

#[test]
fn random_programs_are_interpreted_alike() -> Outcome {
    let mut device = open()?.with_fallback(Fallback::WhenUnsupported);
    let features = Features {
        fallback: true,
        ..Features::default()
    };
    let mut reference = CpuBackend::new();
    let mut comparison = Comparison::new(&mut reference, &mut device, Promise::ALL)?;
    let done = comparison.campaign(40_000, 500, &features, |_| ())?;
    let stats = device.stats();
    assert_eq!(done.programs, 500);
    assert_eq!(stats.interpreted + stats.operation_programs, 500);
    assert!(stats.operation_programs > 20, "{stats:?}");
    assert_eq!(stats.launches, 0);
    Ok(())
}

#[test]
fn wrong_programs_end_alike() -> Outcome {
    let mut device = open()?.with_fallback(Fallback::WhenUnsupported);
    let mut reference = CpuBackend::new();
    for seed in 0..5_000 {
        let ends =
            [&mut reference as &mut dyn Backend, &mut device].map(|backend| attempt(backend, seed));
        assert_eq!(ends[0], ends[1], "seed {seed}");
        assert_eq!(reference.pools(), device.pools(), "seed {seed}");
    }
    assert!(device.stats().interpreted > 1000);
    Ok(())
}

#[test]
fn programs_are_refused_or_interpreted() -> Outcome {
    let mut backend = open()?;
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
    Ok(())
}

#[test]
fn the_processor_interprets_and_says_so() -> Outcome {
    // Sets the environment.
    open()?;
    let folder = std::env::temp_dir().join(format!("hologram-none-{}", std::process::id()));
    let mut backend = NativeBackend::with_scratch(folder);
    let buffer = backend.allocate_buffer(8 * 1000)?;
    let text = "mov_imm.u64 r2, 8\nmul.u64 r3, r255, r2\nstg.u64 r255, [r1 + r3]";
    let program: Program = text.parse()?;
    // Too many lanes for a program that is better interpreted than compiled.
    let wide = "mov_imm.u64 r2, 8\n".to_owned() + &"mul.u64 r3, r255, r2\n".repeat(100);
    let wide: Program = format!("{wide}stg.u64 r255, [r1 + r3]").parse()?;
    let launch = ExecutionParams::new(LaunchConfig::linear(1000, 1000))
        .with_u64(Register::new(1), buffer.raw());
    backend.execute_program_with_params(&program, &launch)?;
    let stats = backend.stats();
    assert_eq!((stats.interpreted, stats.without_compiler), (1, 0));
    backend.execute_program_with_params(&wide, &launch)?;
    let mut bytes = [0; 8];
    backend.copy_from_buffer_at(buffer, 8 * 999, &mut bytes)?;
    assert_eq!(u64::from_le_bytes(bytes), 999);
    let stats = backend.stats();
    assert_eq!((stats.interpreted, stats.without_compiler), (2, 1));
    assert_eq!(stats.kernels.launches, 0);
    Ok(())
}
