//! Programs that are ended before their end, on the interpreter and on the device in `OPENVM_METAL_DEVICE`, else the CPU.

use std::time::{Duration, Instant};

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::{
    Backend, BackendError, ExecutionParams, Fault, FaultKind, LaunchConfig, Program, Register, Stop,
};
use openvm_metal_common::Device;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Far more than ending takes, far less than the programs would.
const PATIENCE: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_millis(150);

const ENDLESS: &str = "mov_imm.u32 r1, 3\n@again:\nadd.u32 r1, r1, r1\nbra @again";

fn backends() -> Result<Vec<Box<dyn Backend>>, Box<dyn std::error::Error>> {
    let name = std::env::var("OPENVM_METAL_DEVICE");
    let device = name.map_or(Ok(Device::Cpu), |name| name.parse())?;
    let scratch = std::env::temp_dir().join("hologram-stop-test");
    Ok(vec![
        Box::new(CpuBackend::new()),
        Box::new(MetalBackend::with_scratch(device, scratch)?),
    ])
}

fn launch(grid: u32, block: u32) -> ExecutionParams {
    let lanes = LaunchConfig::new(
        hologram_backends::Dim3::linear(grid),
        hologram_backends::Dim3::linear(block),
    );
    // No number of steps ends it.
    ExecutionParams::new(lanes).with_step_budget(u64::MAX)
}

/// The fault of a program, which must come long before the program's own end.
fn fault(
    backend: &mut dyn Backend,
    program: &Program,
    params: &ExecutionParams,
) -> Result<Fault, Box<dyn std::error::Error>> {
    // Compiled before the time counts.
    if let Some(metal) = backend.as_any_mut().downcast_mut::<MetalBackend>() {
        metal.prepare(&[(program, params)])?;
    }
    let begin = Instant::now();
    let ended = backend.execute_program_with_params(program, params);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    match ended {
        Err(BackendError::Fault(fault)) => Ok(fault),
        other => Err(format!("no fault: {other:?}").into()),
    }
}

#[test]
fn a_time_limit_ends_an_endless_loop_and_nothing_else() -> Outcome {
    let program: Program = ENDLESS.parse()?;
    let store: Program = "mov_imm.u32 r2, 7\nstg.u32 r2, [r1 + 0]".parse()?;
    let out = |handle: u64| launch(1, 1).with_u64(Register::new(1), handle);
    for mut backend in backends()? {
        let buffer = backend.allocate_buffer(4)?;
        for (grid, block) in [(1, 1), (40, 64)] {
            let params = launch(grid, block).with_time_limit(LIMIT);
            let begin = Instant::now();
            let fault = fault(&mut *backend, &program, &params)?;
            assert!(begin.elapsed() >= LIMIT);
            assert_eq!(fault.kind, FaultKind::TimeLimitExceeded { limit: LIMIT });
            let text = fault.to_string();
            assert!(text.contains("time limit of 0.15 s"), "{text}");
            // Where it was: in the loop.
            assert!((1..=2).contains(&fault.pc), "{text}");
            assert_eq!(
                fault.instruction,
                program.instructions()[fault.pc].to_string()
            );
        }
        // What ended one program does not end the next, nor does a limit that is not reached.
        backend.execute_program_with_params(&store, &out(buffer.raw()))?;
        let enough = out(buffer.raw()).with_time_limit(PATIENCE);
        backend.execute_program_with_params(&store, &enough)?;
        let mut bytes = [0; 4];
        backend.copy_from_buffer(buffer, &mut bytes)?;
        assert_eq!(bytes, [7, 0, 0, 0]);
        // Of two budgets the one that is reached first counts.
        let steps = launch(1, 1)
            .with_step_budget(1000)
            .with_time_limit(PATIENCE);
        let fault = fault(&mut *backend, &program, &steps)?;
        assert_eq!(fault.kind, FaultKind::StepBudgetExceeded { budget: 1000 });
    }
    Ok(())
}

#[test]
fn another_thread_ends_a_program() -> Outcome {
    // Lanes that part, call, and meet at barriers.
    let calls = "@again:\ncall @sub\nbra @again\n@sub:\nret";
    let parts = "mov_imm.u32 r1, 1\nand.u32 r2, r252, r1\nmov_imm.u32 r3, 0\nset.eq.u32 p0, r2, r3\n\
                 @again:\nbra @other, p0\nadd.u32 r1, r1, r1\nbra @again\n@other:\nmul.u32 r1, r1, r1\nbra @again";
    let meet = "@again:\nbar_sync 0\nbra @again";
    for text in [ENDLESS, calls, parts, meet] {
        let program: Program = text.parse()?;
        for mut backend in backends()? {
            let stop = Stop::new();
            let params = launch(2, 32).with_stop(stop.clone());
            let asked = stop.clone();
            let other = std::thread::spawn(move || {
                std::thread::sleep(LIMIT);
                asked.request();
            });
            let ended = fault(&mut *backend, &program, &params)?;
            assert_eq!(ended.kind, FaultKind::Stopped, "{text}");
            assert!(other.join().is_ok() && stop.is_requested());
            // Asked for once and for good.
            let ended = fault(&mut *backend, &program, &params)?;
            assert_eq!(ended.kind, FaultKind::Stopped);
        }
    }
    Ok(())
}

#[test]
fn lanes_that_did_not_begin_do_not() -> Outcome {
    // Every lane ends, but there are four billion.
    let program: Program = "mov_imm.u32 r2, 7\nexp.f64 r4, r3\nstg.u32 r2, [r1 + 0]".parse()?;
    for mut backend in backends()? {
        let buffer = backend.allocate_buffer(4)?;
        let params = launch((1 << 22) - 1, 1024)
            .with_u64(Register::new(1), buffer.raw())
            .with_register(Register::new(3), hologram_backends::Ty::F64, 0)
            .with_time_limit(LIMIT);
        let ended = fault(&mut *backend, &program, &params)?;
        assert_eq!(ended.kind, FaultKind::TimeLimitExceeded { limit: LIMIT });
        assert!(ended.lane > 0, "{ended}");
    }
    Ok(())
}

#[test]
fn whole_buffer_instructions_end_between_two() -> Outcome {
    const N: u32 = 128;
    let one = format!("gemm.f32 r1, r2, r3, {N}, {N}, {N}");
    let program: Program = vec![one.as_str(); 20_000].join("\n").parse()?;
    for mut backend in backends()? {
        let mut params = launch(1, 1).with_time_limit(LIMIT);
        for register in 1..=3 {
            let buffer = backend.allocate_buffer((4 * N * N) as usize)?;
            params = params.with_u64(Register::new(register), buffer.raw());
        }
        let ended = fault(&mut *backend, &program, &params)?;
        assert_eq!(ended.kind, FaultKind::TimeLimitExceeded { limit: LIMIT });
        assert!(ended.pc > 0, "{ended}");
    }
    Ok(())
}
