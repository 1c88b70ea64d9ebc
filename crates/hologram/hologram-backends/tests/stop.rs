//! Programs that are ended before their end, on the interpreter, on kernels beside it, and on the device in `OPENVM_METAL_DEVICE`,
//! else the CPU.

use std::time::{Duration, Instant};

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, MetalBackend, MetalStats, LIBRARY};
use hologram_backends::native::NativeBackend;
use hologram_backends::{
    Backend, BackendError, ExecutionParams, Fault, FaultKind, LaunchConfig, Program, Register, Stop,
};
use openvm_metal_common::{Device, InjectedFault, MetalContext, Order};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Far more than ending takes, far less than the programs would.
const PATIENCE: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_millis(150);

const ENDLESS: &str = "mov_imm.u32 r1, 3\n@again:\nadd.u32 r1, r1, r1\nbra @again";

fn backends() -> Result<Vec<Box<dyn Backend>>, Box<dyn std::error::Error>> {
    let name = std::env::var("OPENVM_METAL_DEVICE");
    let device = name.map_or(Ok(Device::Cpu), |name| name.parse())?;
    Ok(vec![
        Box::new(CpuBackend::new()),
        Box::new(MetalBackend::with_scratch(device, folder())?),
        Box::new(NativeBackend::with_scratch(folder())),
    ])
}

fn folder() -> std::path::PathBuf {
    std::env::temp_dir().join("hologram-stop-test")
}

/// Statistics of kernels, where there are any.
fn kernels(backend: &dyn Backend) -> Option<MetalStats> {
    let metal = backend.as_any().downcast_ref().map(MetalBackend::stats);
    let native = backend.as_any().downcast_ref();
    metal.or(native.map(|native: &NativeBackend| native.stats().kernels))
}

/// Compiles a program, so that this does not count when times do.
fn prepare(
    backend: &mut dyn Backend,
    program: &Program,
    params: &ExecutionParams,
) -> hologram_backends::Result<usize> {
    let programs = [(program, params)];
    if let Some(metal) = backend.as_any_mut().downcast_mut::<MetalBackend>() {
        return metal.prepare(&programs);
    }
    match backend.as_any_mut().downcast_mut::<NativeBackend>() {
        Some(native) => native.prepare(&programs),
        None => Ok(0),
    }
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
    prepare(backend, program, params)?;
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

/// Two loops of `count` iterations in one lane that run with many: one that collects a value, one of independent iterations. Each
/// stores the value it ends with to the buffer in `r1`.
fn loops(count: u32) -> Result<[Program; 2], hologram_backends::ProgramError> {
    // Long iterations: nobody has finished two billion of them when the time is up.
    let sines = "sin.f64 r6, r6\n".repeat(40);
    let text = |step: &str| {
        format!(
            "mov_imm.u64 r5, 0\nmov_imm.u64 r8, 1\nmov_imm.u64 r12, 0\nmov_imm.u32 r9, {}\nmov_imm.f64 r10, 1e9\n@body:\n\
             cvt.f64.u64 r6, r5\n{sines}mul.f64 r6, r6, r10\ncvt.i64.f64 r7, r6\ncvt.u64.i64 r7, r7\n{step}\
             add.u64 r5, r5, r8\nloop r9, @body\nstg.u64 r12, [r1 + 0]",
            count - 1
        )
    };
    let collected = text("xor.u64 r12, r12, r7\n").parse()?;
    Ok([collected, text("mov.u64 r12, r7\n").parse()?])
}

#[test]
fn loops_that_run_with_many_lanes_end_too() -> Outcome {
    for (reduced, program) in loops((1 << 31) - 1)?.into_iter().enumerate() {
        for mut backend in backends()? {
            let buffer = backend.allocate_buffer(8)?;
            let params = launch(1, 1).with_u64(Register::new(1), buffer.raw());
            let begin = Instant::now();
            let limited = params.clone().with_time_limit(LIMIT);
            let ended = fault(&mut *backend, &program, &limited)?;
            assert_eq!(ended.kind, FaultKind::TimeLimitExceeded { limit: LIMIT });
            assert!(begin.elapsed() >= LIMIT);
            let stop = Stop::new();
            let asked = stop.clone();
            let other = std::thread::spawn(move || {
                std::thread::sleep(LIMIT);
                asked.request();
            });
            let stopped = fault(&mut *backend, &program, &params.with_stop(stop))?;
            assert_eq!(stopped.kind, FaultKind::Stopped);
            assert!(other.join().is_ok());
            for fault in [ended, stopped] {
                let place = &program.instructions()[fault.pc];
                assert_eq!(fault.lane, 0, "{fault}");
                assert_eq!(fault.instruction, place.to_string());
                assert!(fault.pc >= 5, "{fault}");
            }
            if let Some(stats) = kernels(&*backend) {
                let folded = if reduced == 0 { 2 } else { 0 };
                assert_eq!((stats.rerolled, stats.reduced), (2, folded), "{stats:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_limit_that_is_not_reached_changes_no_result() -> Outcome {
    for program in loops(5000)? {
        let mut results = Vec::new();
        for mut backend in backends()? {
            for watched in [false, true] {
                let buffer = backend.allocate_buffer(8)?;
                let mut params = launch(1, 1).with_u64(Register::new(1), buffer.raw());
                if watched {
                    params = params.with_time_limit(PATIENCE).with_stop(Stop::new());
                }
                backend.execute_program_with_params(&program, &params)?;
                let mut bytes = [0; 8];
                backend.copy_from_buffer(buffer, &mut bytes)?;
                results.push(u64::from_le_bytes(bytes));
            }
            if let Some(stats) = kernels(&*backend) {
                assert_eq!(stats.rerolled, 2, "{stats:?}");
            }
        }
        // Sines of other devices differ in the last bits.
        let equal = results.chunks(2).all(|pair| pair[0] == pair[1]);
        assert!(equal && results[0] != 0, "{results:?}");
        assert_eq!(results[0], results[4], "{results:?}");
    }
    Ok(())
}

/// A backend on a device that begins with its work when it is waited for.
fn later() -> Result<(MetalContext, MetalBackend), Box<dyn std::error::Error>> {
    let order = Order::Shuffled(7);
    let context = MetalContext::with_order(Device::Cpu, &[&LIBRARY], order)?;
    let backend = MetalBackend::on(&context, folder(), Effort::Usual)?;
    Ok((context, backend))
}

#[test]
fn a_backend_that_goes_ends_its_programs() -> Outcome {
    let program: Program = ENDLESS.parse()?;
    let (context, mut backend) = later()?;
    let day = Duration::from_secs(24 * 3600);
    let params = launch(1, 4).with_time_limit(day);
    prepare(&mut backend, &program, &params)?;
    let begin = Instant::now();
    let _ = backend.submit(&program, &params)?;
    drop(backend);
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    // The device has nothing left to do.
    context.stream().wait()?;
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    Ok(())
}

#[test]
fn waits_last_as_long_as_the_limit() -> Outcome {
    let program: Program = ENDLESS.parse()?;
    let (context, mut backend) = later()?;
    let usual = Duration::from_millis(50);
    context.set_wait_limit(usual);
    let params = launch(1, 4).with_time_limit(LIMIT);
    prepare(&mut backend, &program, &params)?;
    let ticket = backend.submit(&program, &params)?;
    assert_eq!(context.wait_limit(), usual + LIMIT);
    match backend.wait(ticket) {
        Err(BackendError::Fault(fault)) => {
            assert_eq!(fault.kind, FaultKind::TimeLimitExceeded { limit: LIMIT });
        }
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(context.wait_limit(), usual);
    // A device that never ends.
    let ticket = backend.submit(&program, &params)?;
    context.inject_fault(InjectedFault::EndlessWait);
    let begin = Instant::now();
    match backend.wait(ticket) {
        Err(BackendError::Device(text)) => assert!(text.contains("200ms"), "{text}"),
        other => return Err(format!("{other:?}").into()),
    }
    assert!(begin.elapsed() >= usual + LIMIT);
    Ok(())
}
