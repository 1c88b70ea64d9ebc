//! When the interpreter runs, and that it leaves what it should.

use hologram_backends::metal::Fallback;
use hologram_backends::{
    Backend, BackendError, BinaryOp, BufferHandle, Dim3, ExecutionParams, FaultKind, IntrinsicCall,
    LaunchConfig, PoolHandle, Program, Register, Ty,
};
use openvm_metal_common::DeviceKind;

use crate::support::{device, Outcome, Pair, POOL};

/// Makes two pools, uses both and the one of r4, frees the first and that of r4, stores the handles.
const POOLS: &str = "
    pool_alloc r10, 24
    pool_alloc r11, 1000
    mov_imm.u64 r12, 16
    pool_load.u64 r13, r4, r12
    pool_store.u64 r13, r11, r12
    mov_imm.u64 r14, 0x1234
    pool_store.u64 r14, r10, r12
    pool_load.u64 r15, r10, r12
    stg.u64 r15, [r1 + 0]
    stg.u64 r10, [r1 + 8]
    stg.u64 r11, [r1 + 16]
    stg.u64 r14, [phi 5:2:8]
    pool_free r10
    pool_free r4
    pool_alloc r16, 40
    stg.u64 r16, [r1 + 24]
    pool_store.u64 r14, r16, r12";

#[test]
fn never_is_an_error_that_names_the_remedy() -> Outcome {
    let mut backend = device(Fallback::default())?;
    assert_eq!(backend.fallback(), Fallback::Never);
    let program: Program = "mov_imm.u64 r2, 1\npool_alloc r1, 16".parse()?;
    let launch = LaunchConfig::default();
    match backend.execute_program(&program, &launch) {
        Err(BackendError::UnsupportedInstruction { pc: 1, reason, .. }) => {
            assert!(reason.contains("when-unsupported"), "{reason}");
        }
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(backend.stats().interpreted, 0);
    backend.set_fallback(Fallback::WhenUnsupported);
    backend.execute_program(&program, &launch)?;
    assert_eq!(backend.stats().interpreted, 1);
    assert_eq!(backend.stats().launches, 0);
    assert_eq!(backend.pool_size(PoolHandle::from_raw(1))?, 16);
    Ok(())
}

#[test]
fn pools_of_programs_live_on() -> Outcome {
    let mut pair = Pair::new(Fallback::WhenUnsupported)?;
    // The first use of a slot, then later ones.
    for run in 0..3 {
        if run > 0 {
            for backend in [&mut pair.cpu as &mut dyn Backend, &mut pair.device] {
                let pool = backend.allocate_pool(POOL)?;
                let params = Pair::params().with_u64(Register::new(4), pool.raw());
                backend.execute_program_with_params(&POOLS.parse()?, &params)?;
            }
            assert_eq!(pair.run("exit")?, None, "equal memory");
        } else {
            assert_eq!(pair.run(POOLS)?, None);
        }
    }
    assert_eq!(pair.device.stats().interpreted, 3);
    let launches = pair.device.stats().launches;
    // A kernel finds the pools too, by handles from memory.
    let kernel = "ldg.u64 r10, [r1 + 16]\nldg.u64 r11, [r1 + 24]\nmov_imm.u64 r12, 16\n\
        pool_load.u64 r13, r10, r12\npool_load.u64 r14, r11, r12\nadd.u64 r13, r13, r14\n\
        pool_store.u64 r13, r10, r12\nstg.u64 r13, [r2 + 0]";
    assert_eq!(pair.run(kernel)?, None);
    assert_eq!(pair.device.stats().launches, launches + 1);
    // The freed one is no pool, for a kernel or anyone, and its slot's next one is.
    let fault =
        pair.run("ldg.u64 r10, [r1 + 8]\nmov_imm.u64 r12, 0\npool_load.u8 r13, r10, r12")?;
    assert!(
        matches!(&fault, Some(BackendError::Fault(f)) if f.pc == 2),
        "{fault:?}"
    );
    assert_eq!(pair.device.stats().interpreted, 3);
    Ok(())
}

#[test]
fn faults_are_the_interpreters() -> Outcome {
    let mut pair = Pair::new(Fallback::WhenUnsupported)?;
    let cases = [
        "pool_alloc r9, 8\npool_free r9\npool_free r9",
        "pool_alloc r9, 8\npool_free r9\nmov_imm.u64 r10, 0\npool_load.u8 r11, r9, r10",
        "pool_alloc r9, 8\nmov_imm.u64 r10, 5\npool_store.u64 r10, r9, r10",
        "pool_alloc r9, 0x40000001",
        "pool_alloc r9, 8\nldg.u8 r10, [r1 + 4096]",
        "pool_alloc r9, 8\nldg.u8 r10, [r9 + 4]\nldg.u8 r10, [buf77 + 4]",
        "pool_alloc r9, 8\nmov_imm.u32 r10, 0\ndiv.u32 r10, r10, r10",
        "@l:\npool_alloc r9, 8\nbra @l",
    ];
    for (count, text) in (1..).zip(cases) {
        let params = Pair::params().with_step_budget(1000);
        let fault = pair.run_with(text, &params)?;
        assert!(
            matches!(fault, Some(BackendError::Fault(_))),
            "{text}: {fault:?}"
        );
        assert_eq!(pair.device.stats().faults, count);
        assert_eq!(pair.device.stats().interpreted, count);
    }
    // Pools that programs hold count together, over launches.
    let half = format!("pool_alloc r9, {}", 3 << 28);
    assert_eq!(pair.run("pool_free r4\npool_alloc r9, 8")?, None);
    let mut fresh = Pair::new(Fallback::WhenUnsupported)?;
    for backend in [&mut fresh.cpu as &mut dyn Backend, &mut fresh.device] {
        let program: Program = format!("{half}\npool_free r9\npool_alloc r9, 1000").parse()?;
        backend.execute_program(&program, &LaunchConfig::default())?;
    }
    let fault = fresh.run(&format!("pool_alloc r9, {}", (1 << 30) - 999))?;
    let exhausted = |e: &BackendError| matches!(e, BackendError::Fault(f) if matches!(f.kind, FaultKind::PoolMemoryExhausted { .. }));
    assert!(fault.as_ref().is_some_and(exhausted), "{fault:?}");
    // Not valid is not valid.
    let wrong = pair.run("pool_alloc r9, 8\nadd.u32 r10, r20, r20")?;
    assert!(
        matches!(wrong, Some(BackendError::Validation(_))),
        "{wrong:?}"
    );
    let launch = LaunchConfig::new(Dim3::linear(1), Dim3::linear(2000));
    let wrong = pair.run_with("pool_alloc r9, 8", &launch.into())?;
    assert!(matches!(
        wrong,
        Some(BackendError::InvalidLaunchConfig { .. })
    ));
    Ok(())
}

#[test]
fn blocks_and_lanes_run_as_on_the_interpreter() -> Outcome {
    let mut pair = Pair::new(Fallback::WhenUnsupported)?;
    let text =
        "pool_alloc r9, 8\nmov_imm.u64 r10, 3\nshl.u64 r11, r255, r12\nstg.u64 r9, [r1 + r11]";
    let mut params = Pair::params();
    params.launch = LaunchConfig::new(Dim3::linear(3), Dim3::new(7, 2, 1));
    let params = params.with_register(Register::new(12), Ty::U32, 3);
    assert_eq!(pair.run_with(text, &params)?, None);
    Ok(())
}

#[test]
fn work_before_is_seen_and_work_behind_sees() -> Outcome {
    let mut backend = device(Fallback::WhenUnsupported)?;
    let buffer = backend.allocate_buffer(4 * 1024)?;
    let r1 = Register::new(1);
    let lanes: ExecutionParams = LaunchConfig::new(Dim3::linear(4), Dim3::linear(256)).into();
    let lanes = lanes.with_u64(r1, buffer.raw());
    let one = ExecutionParams::default().with_u64(r1, buffer.raw());
    // Every lane: x = 3 x + 1.
    let kernel: Program =
        "mov_imm.u64 r2, 4\nmul.u64 r2, r255, r2\nmov_imm.u32 r5, 3\nmov_imm.u32 r6, 1\n\
        ldg.u32 r3, [r1 + r2]\nmad.u32 r3, r3, r5, r6\nstg.u32 r3, [r1 + r2]"
            .parse()?;
    // The same for the first by the interpreter, through a pool.
    let interpreted: Program = "pool_alloc r9, 4\nmov_imm.u64 r2, 0\nldg.u32 r3, [r1 + 0]\n\
        pool_store.u32 r3, r9, r2\npool_load.u32 r4, r9, r2\nmov_imm.u32 r5, 3\nmov_imm.u32 r6, 1\n\
        mad.u32 r4, r4, r5, r6\nstg.u32 r4, [r1 + 0]\npool_free r9"
        .parse()?;
    let mut tickets = Vec::new();
    let rounds = 20u32;
    for _ in 0..rounds {
        tickets.push(backend.submit(&kernel, &lanes)?);
        tickets.push(backend.submit(&interpreted, &one)?);
        // Memory that is made between may move everything.
        let other = backend.allocate_buffer(1 << 17)?;
        backend.copy_buffer(buffer, 0, other, 0, 64)?;
    }
    let mut bytes = vec![0; 8];
    backend.copy_from_buffer(buffer, &mut bytes)?;
    for ticket in tickets {
        backend.wait(ticket)?;
    }
    let steps = |n: u32| (0..n).fold(0u32, |x, _| x.wrapping_mul(3).wrapping_add(1));
    assert_eq!(bytes[..4], steps(2 * rounds).to_le_bytes());
    assert_eq!(bytes[4..], steps(rounds).to_le_bytes());
    assert_eq!(backend.stats().interpreted, u64::from(rounds));
    assert_eq!(backend.stats().launches, u64::from(rounds));
    Ok(())
}

#[test]
fn small_programs_are_interpreted_until_they_are_compiled() -> Outcome {
    let mut backend = device(Fallback::Adaptive { work: 100 })?;
    if !backend.context().device_profile().unified {
        println!("skipped: this device has memory of its own");
        return Ok(());
    }
    let buffer = backend.allocate_buffer(64)?;
    let store = |value: u32| -> Outcome<Program> {
        let text = format!(
            "mov_imm.u32 r1, {value}\nstg.u32 r1, [buf{} + 4]",
            buffer.raw()
        );
        Ok(text.parse()?)
    };
    let value = |backend: &mut dyn Backend| -> Outcome<u32> {
        let mut bytes = [0; 4];
        backend.copy_from_buffer_at(BufferHandle::from_raw(buffer.raw()), 4, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    };
    let lanes = |n| ExecutionParams::from(LaunchConfig::new(Dim3::linear(1), Dim3::linear(n)));
    backend.execute_program_with_params(&store(5)?, &lanes(50))?;
    assert_eq!(value(&mut backend)?, 5);
    let stats = backend.stats();
    assert_eq!((stats.interpreted, stats.launches), (1, 0));
    // Too much work, and a loop.
    backend.execute_program_with_params(&store(6)?, &lanes(51))?;
    assert_eq!(value(&mut backend)?, 6);
    let looped: Program = "mov_imm.u32 r1, 3\n@l:\nloop r1, @l".parse()?;
    backend.execute_program_with_params(&looped, &lanes(1))?;
    let stats = backend.stats();
    assert_eq!((stats.interpreted, stats.launches), (1, 2));
    // Once compiled it is launched.
    let program = store(6)?;
    backend.execute_program_with_params(&program, &lanes(1))?;
    let stats = backend.stats();
    assert_eq!((stats.interpreted, stats.launches), (1, 3));
    assert_eq!(value(&mut backend)?, 6);
    Ok(())
}

#[test]
fn policies_have_names() -> Outcome {
    for name in Fallback::NAMES {
        assert_eq!(name.parse::<Fallback>()?.to_string(), name);
    }
    assert!("sometimes".parse::<Fallback>().is_err());
    Ok(())
}

#[test]
fn doubles_run_everywhere() -> Outcome {
    let mut pair = Pair::new(Fallback::WhenUnsupported)?;
    // Exact, so that kernels give the same bits.
    let text = "ldg.f64 r10, [r1 + 8]\nadd.f64 r12, r10, r10\nstg.f64 r12, [r1 + 8]";
    assert_eq!(pair.run(text)?, None);
    assert_eq!(pair.run("fill.f64 r2, f64(3.0), 100")?, None);
    // The whole-buffer operation on its own.
    let call = IntrinsicCall::MapScalar {
        op: BinaryOp::Mul,
        ty: Ty::F64,
        dst: BufferHandle::from_raw(3).into(),
        src: BufferHandle::from_raw(2).into(),
        value: 2f64.to_bits(),
        count: 100,
    };
    for backend in [&mut pair.cpu as &mut dyn Backend, &mut pair.device] {
        backend.execute_intrinsic(&call)?;
    }
    assert_eq!(pair.run("exit")?, None, "equal memory");
    let doubles = pair.device.context().device_profile().double_precision;
    assert_eq!(pair.device.stats().interpreted, if doubles { 0 } else { 3 });
    Ok(())
}

/// Loads, sums and stores in a row, in no order that could be a loop: compilers take longer than in proportion.
fn long_program(instructions: usize) -> String {
    let mut text = String::from("mov_imm.u32 r11, 0\n");
    for n in 0..instructions / 3 {
        let (from, to) = (n * 7919 % 1000 * 4, n * 104_729 % 1000 * 4);
        text += &format!(
            "ldg.u32 r10, [r2 + {from}]\nadd.u32 r11, r11, r10\nstg.u32 r11, [r1 + {to}]\n"
        );
    }
    text
}

#[test]
fn a_kernel_that_would_compile_for_too_long_is_refused() -> Outcome {
    let mut pair = Pair::new(Fallback::Never)?;
    let kind = pair.device.context().info().kind;
    // Metal compiles by itself, and knows no limit.
    if kind == DeviceKind::Metal {
        return Ok(());
    }
    let on_processor = kind == DeviceKind::Cpu;
    let long = long_program(9000);
    let program: Program = long.parse()?;
    // Two lanes: no loop of one lane is made of it.
    let mut params = Pair::params();
    params.launch = LaunchConfig::new(Dim3::linear(1), Dim3::linear(2));
    pair.device.set_compile_limit(Some(2));
    for _ in 0..2 {
        let refused = pair.device.execute_program_with_params(&program, &params);
        let Err(BackendError::CompilationLimit(text)) = refused else {
            return Err(format!("{refused:?}").into());
        };
        assert_eq!(text.contains("not tried"), on_processor, "{text}");
        for part in ["2 s", "set_compile_limit", "when-unsupported"] {
            assert!(text.contains(part), "{text}");
        }
    }
    // What is compiled with it is not held up.
    let short: Program = "stg.u64 r255, [r1 + 0]".parse()?;
    assert_eq!(
        pair.device
            .prepare(&[(&program, &params), (&short, &params)])?,
        1
    );
    assert_eq!(pair.device.stats().kernels_compiled, 1);
    let again = pair.device.execute_program_with_params(&program, &params);
    assert!(matches!(again, Err(BackendError::CompilationLimit(_))));
    // The policy lets the interpreter run it.
    pair.device.set_fallback(Fallback::WhenUnsupported);
    assert_eq!(pair.run_with(&long, &params)?, None);
    assert_eq!(pair.device.stats().interpreted, 1);
    assert_eq!(pair.device.stats().kernels_compiled, 1);
    Ok(())
}
