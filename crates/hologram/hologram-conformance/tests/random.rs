//! Random programs: valid, varied, and run alike by two devices.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, Fallback, MetalBackend};
use hologram_backends::native::NativeBackend;
use hologram_backends::validate::validate_launch;
use hologram_backends::{Backend, Instruction};
use hologram_conformance::random::{generate, Comparison, Features, Mismatch};
use hologram_conformance::Promise;
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn programs_are_valid_varied_and_repeatable() -> Outcome {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..1500 {
        let case = generate(seed, &Features::default())?;
        if let Err(error) = validate_launch(&case.program, &case.params) {
            return Err(format!("seed {seed}: {error}\n{}", case.program).into());
        }
        let fallback = Features {
            fallback: true,
            ..Features::default()
        };
        let other = generate(seed, &fallback)?;
        if let Err(error) = validate_launch(&other.program, &other.params) {
            return Err(format!("seed {seed}: {error}\n{}", other.program).into());
        }
        seen.extend(
            other
                .program
                .instructions()
                .iter()
                .map(Instruction::mnemonic),
        );
        seen.extend(
            case.program
                .instructions()
                .iter()
                .map(Instruction::mnemonic),
        );
        assert_eq!(generate(seed, &Features::default())?.program, case.program);
    }
    let missing: Vec<_> = Instruction::ALL
        .iter()
        .map(|&(_, name)| name)
        .filter(|name| !seen.contains(name))
        .collect();
    // Whole-buffer instructions whose order of sums is not defined.
    let left_out = ["gemm", "layer_norm", "softmax", "loss"];
    for name in missing {
        assert!(left_out.contains(&name), "{name} is never generated");
    }
    Ok(())
}

#[test]
fn doubles_can_be_left_out() -> Outcome {
    let features = Features {
        doubles: false,
        ..Features::default()
    };
    for seed in 0..300 {
        let text = generate(seed, &features)?.program.to_string();
        assert!(!text.contains(".f64"), "seed {seed}");
    }
    Ok(())
}

/// Compares two devices; a case that differs is made smaller before it is shown.
fn compare(
    reference: &mut dyn Backend,
    device: &mut dyn Backend,
    seed: u64,
    count: u64,
    features: &Features,
    promise: Promise,
) -> Outcome {
    let mut comparison = Comparison::new(reference, device, promise)?;
    let result = comparison.campaign(seed, count, features, |_| ());
    match result {
        Ok(done) => {
            assert_eq!(done.programs, count);
            println!("{done}");
            Ok(())
        }
        Err(error) => match error.downcast::<Mismatch>() {
            Ok(mismatch) => {
                println!("{}", comparison.smallest(&mismatch));
                Err(format!("seed {}: {}", mismatch.case.seed, mismatch.what).into())
            }
            Err(other) => Err(other),
        },
    }
}

fn cpu(effort: Effort) -> Result<MetalBackend, Box<dyn std::error::Error>> {
    let scratch = std::env::temp_dir().join("hologram-random-test");
    let context = MetalContext::new(Device::Cpu, &[&hologram_backends::metal::LIBRARY])?;
    Ok(MetalBackend::on(&context, scratch, effort)?)
}

#[test]
fn kernels_do_what_the_interpreter_does() -> Outcome {
    let features = Features::default();
    compare(
        &mut CpuBackend::new(),
        &mut cpu(Effort::Least)?,
        1_000,
        150,
        &features,
        Promise::ALL,
    )
}

/// The processor under the profile of an Apple GPU: subnormals are flushed, functions err as far as they may, memory is reached as there.
#[test]
fn kernels_as_on_an_apple_gpu_do_the_same() -> Outcome {
    let context = MetalContext::builder(Device::Cpu)
        .profile(DeviceProfile::named("m1-8gb")?)
        .libraries(&[&hologram_backends::metal::LIBRARY])
        .open()?;
    let promise = Promise::of(context.device_profile());
    assert!(!promise.subnormals && !promise.close_functions);
    let features = Features {
        doubles: false,
        ..Features::default()
    };
    let scratch = std::env::temp_dir().join("hologram-random-apple-test");
    let mut device = MetalBackend::on(&context, scratch, Effort::Least)?;
    compare(
        &mut CpuBackend::new(),
        &mut device,
        0,
        150,
        &features,
        promise,
    )
}

#[test]
fn optimised_kernels_do_the_same() -> Outcome {
    let features = Features::default();
    compare(
        &mut cpu(Effort::Least)?,
        &mut cpu(Effort::Usual)?,
        1,
        16,
        &features,
        Promise::ALL,
    )
}

#[test]
fn kernels_on_host_memory_do_the_same() -> Outcome {
    let folder = std::env::temp_dir().join("hologram-random-native-test");
    let mut native = NativeBackend::with_scratch(folder);
    let features = Features::default();
    compare(
        &mut CpuBackend::new(),
        &mut native,
        90_000,
        48,
        &features,
        Promise::ALL,
    )?;
    let stats = native.stats();
    assert!(stats.kernels.launches > 32, "{stats:?}");
    Ok(())
}

#[test]
fn falling_back_gives_what_the_interpreter_gives() -> Outcome {
    let features = Features {
        fallback: true,
        statements: 24,
        ..Features::default()
    };
    let mut device = cpu(Effort::Least)?.with_fallback(Fallback::WhenUnsupported);
    compare(
        &mut CpuBackend::new(),
        &mut device,
        5_000,
        150,
        &features,
        Promise::ALL,
    )?;
    let stats = device.stats();
    assert!(
        stats.interpreted > 60 && stats.operation_programs > 10,
        "{stats:?}"
    );
    Ok(())
}
