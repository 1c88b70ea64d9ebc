//! Random loops of one lane: valid, varied, and run alike with many lanes.

use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::validate::validate_launch;
use hologram_conformance::random::{generate_loop, Expected, LoopComparison};
use openvm_metal_common::{Device, MetalContext};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn random_loops_are_valid_and_varied() -> Outcome {
    let mut seen = [0; 4];
    for seed in 0..500 {
        let case = generate_loop(seed, true)?;
        if let Err(error) = validate_launch(&case.program, &case.params) {
            return Err(format!("seed {seed}: {error}\n{}", case.program).into());
        }
        assert_eq!(generate_loop(seed, true)?.program, case.program);
        seen[match case.expected {
            Expected::Lanes => 0,
            Expected::Tree => 1,
            Expected::OneLane => 2,
            Expected::Any => 3,
        }] += 1;
    }
    assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
    Ok(())
}

#[test]
fn random_loops_run_alike() -> Outcome {
    let context = MetalContext::new(Device::Cpu, &[])?;
    let scratch = std::env::temp_dir().join("hologram-loops-test");
    let mut device = MetalBackend::on(&context, scratch, Effort::Least)?;
    let count = std::env::var("HOLOGRAM_LOOPS").map_or(Ok(32), |text| text.parse())?;
    let done = LoopComparison::new(&mut device)?.campaign(0, count, true, |_| ())?;
    assert_eq!(done.programs, count);
    assert!(done.lanes > 0 && done.trees > 0, "{done}");
    println!("{done}");
    Ok(())
}
