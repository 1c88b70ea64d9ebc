//! Programs as kernels on the host's memory, against the interpreter.

use std::path::PathBuf;
use std::time::Instant;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::native::NativeBackend;
use hologram_backends::{
    Backend, BackendError, BufferHandle, ExecutionParams, FaultKind, LaunchConfig, Program,
    Register,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const N: u64 = 100_003;

fn folder() -> PathBuf {
    std::env::temp_dir().join("hologram-native-test")
}

/// Both backends with two buffers of N floats, and what they hold afterwards.
fn both(text: &str, params: &ExecutionParams) -> Outcome<(NativeBackend, [Vec<u8>; 2])> {
    let program: Program = text.parse()?;
    let (mut reference, mut native) = (CpuBackend::new(), NativeBackend::with_scratch(folder()));
    let input: Vec<u8> = (0..N)
        .flat_map(|i| ((i % 1013) as f32 / 7.0 - 40.0).to_le_bytes())
        .collect();
    let mut left = Vec::new();
    let mut ends = Vec::new();
    for backend in [&mut reference as &mut dyn Backend, &mut native] {
        let a = backend.allocate_buffer(input.len())?;
        let b = backend.allocate_buffer(input.len())?;
        assert_eq!([a.raw(), b.raw()], [1, 2]);
        backend.copy_to_buffer(a, &input)?;
        ends.push(backend.execute_program_with_params(&program, params));
        let mut bytes = vec![0; input.len()];
        backend.copy_from_buffer(b, &mut bytes)?;
        left.push(bytes);
    }
    assert_eq!(ends[0], ends[1], "{text}");
    // What lanes stored before a fault is not defined.
    if ends[0].is_ok() {
        assert!(left[0] == left[1], "{text}");
    }
    let [one, other] = [left.remove(0), left.remove(0)];
    Ok((native, [one, other]))
}

fn params(lanes: u64) -> ExecutionParams {
    ExecutionParams::new(LaunchConfig::linear(lanes, 256))
        .with_u64(Register::new(1), 1)
        .with_u64(Register::new(2), 2)
        .with_u64(Register::new(3), N)
        .with_u64(Register::new(4), 4)
}

const BODY: &str = "mul.u64 r5, r255, r4\nldg.f32 r6, [r1 + r5]\nmul.f32 r7, r6, r6\n\
                    add.f32 r7, r7, r6\nstg.f32 r7, [r2 + r5]\n";

#[test]
fn elementwise_programs_need_no_tests() -> Outcome {
    let skip = format!("set.ge.u64 p0, r255, r3\nbra @end, p0\n{BODY}@end:");
    let skip_exit =
        format!("mov_imm.u64 r9, {N}\nset.ge.u64 p0, r255, r9\nbra @end, p0\n{BODY}exit\n@end:");
    let keep = format!("set.ltu.u64 p3, r255, r3\nbra @work, p3\nexit\n@work:\n{BODY}");
    let shift = keep.replace(
        "mul.u64 r5, r255, r4",
        "mov_imm.u32 r8, 2\nshl.u64 r5, r255, r8",
    );
    // Some of the lanes do less.
    let parts =
        "set.ge.u64 p0, r255, r3\nbra @end, p0\nmul.u64 r5, r255, r4\nldg.f32 r6, [r1 + r5]\nmov_imm.f32 r8, 0\n\
         set.lt.f32 p1, r6, r8\nbra @less, p1\nadd.f32 r6, r6, r6\n@less:\nstg.f32 r6, [r2 + r5]\n@end:"
        .to_string();
    for text in [&skip, &skip_exit, &keep, &shift, &parts] {
        let (native, left) = both(text, &params(N))?;
        let stats = native.stats();
        assert_eq!(
            (stats.kernels.in_bounds, stats.interpreted),
            (1, 0),
            "{text}\n{stats:?}"
        );
        assert!(left[1].iter().any(|&byte| byte != 0));
    }
    Ok(())
}

#[test]
fn programs_that_leave_their_buffers_fault_as_the_interpreter_says() -> Outcome {
    // One element more than there is; elements twice as far apart; a smaller budget than the program.
    let skip = format!("set.ge.u64 p0, r255, r3\nbra @end, p0\n{BODY}@end:");
    let wide = params(N).with_u64(Register::new(4), 8);
    let long = params(N + 256).with_u64(Register::new(3), N + 1);
    for launch in [wide, long, params(N).with_step_budget(3)] {
        let (native, _) = both(&skip, &launch)?;
        assert_eq!(native.stats().kernels.in_bounds, 0);
    }
    // Divisors that may be 0.
    let divided =
        "set.ge.u64 p0, r255, r3\nbra @end, p0\nmul.u64 r5, r255, r4\ndiv.u64 r8, r5, r255\n\
                   cvt.u32.u64 r9, r8\nstg.u32 r9, [r2 + r5]\n@end:";
    let (native, _) = both(divided, &params(N))?;
    assert_eq!(native.stats().kernels.in_bounds, 0);
    Ok(())
}

#[test]
fn memory_is_the_hosts_whatever_runs_on_it() -> Outcome {
    let mut backend = NativeBackend::with_scratch(folder());
    let run = |backend: &mut NativeBackend, text: &str, handle: BufferHandle| {
        let program: Program = text.parse()?;
        let launch = ExecutionParams::default().with_u64(Register::new(1), handle.raw());
        backend.execute_program_with_params(&program, &launch)?;
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    // A kernel, although small: it loops. Then one that the interpreter runs, because nothing is worth compiling.
    let count = "mov_imm.u32 r2, 99\nmov_imm.u64 r4, 0\nldg.u64 r3, [r1 + r4]\nmov_imm.u64 r5, 1\n\
                 @again:\nadd.u64 r3, r3, r5\nset.eq.u64 p0, r3, r4\nbra @out, p0\nloop r2, @again\n@out:\nstg.u64 r3, [r1 + r4]";
    let add = "mov_imm.u64 r4, 0\nldg.u64 r3, [r1 + r4]\nmov_imm.u64 r5, 7\nadd.u64 r3, r3, r5\nstg.u64 r3, [r1 + r4]";
    let mut first = None;
    for round in 0..3u64 {
        let buffer = backend.allocate_buffer(8)?;
        run(&mut backend, count, buffer)?;
        run(&mut backend, add, buffer)?;
        let pointer = backend
            .host_pointer(buffer)?
            .ok_or("no memory of the host")?;
        // SAFETY: eight bytes that live as long as the buffer; no program runs.
        let value = unsafe { pointer.as_ptr().cast::<u64>().read_unaligned() };
        assert_eq!(value, 107, "round {round}");
        // Buffers come and go between programs.
        if let Some(old) = first.replace(buffer) {
            backend.free_buffer(old)?;
        }
    }
    let stats = backend.stats();
    assert_eq!(
        (stats.kernels.launches, stats.interpreted),
        (3, 3),
        "{stats:?}"
    );
    // Pools that a program makes are the interpreter's, and kernels find them.
    let buffer = first.ok_or("no buffer")?;
    let made: Program = "pool_alloc r3, 64\nmov_imm.u64 r4, 0\nstg.u64 r3, [r1 + r4]".parse()?;
    let launch = ExecutionParams::default().with_u64(Register::new(1), buffer.raw());
    backend.execute_program_with_params(&made, &launch)?;
    let handle = *backend.pools().first().ok_or("no pool")?;
    let fill: Program =
        "mov_imm.u32 r2, 99\nmov_imm.u64 r4, 8\nmov_imm.u64 r6, 1\nmov_imm.u64 r7, 0\n\
                         @again:\nadd.u64 r7, r7, r6\npool_store.u64 r7, r5, r4\nloop r2, @again"
            .parse()?;
    let launch = ExecutionParams::default().with_u64(Register::new(5), handle.raw());
    backend.execute_program_with_params(&fill, &launch)?;
    let mut bytes = [0; 8];
    backend.copy_from_pool(handle, 8, &mut bytes)?;
    assert_eq!(u64::from_le_bytes(bytes), 100);
    Ok(())
}

#[test]
fn without_a_step_left_the_program_ends() -> Outcome {
    let mut native = NativeBackend::with_scratch(folder());
    let endless: Program = "mov_imm.u32 r1, 3\n@again:\nadd.u32 r1, r1, r1\nbra @again".parse()?;
    let launch = ExecutionParams::default().with_step_budget(1_000_000);
    match native.execute_program_with_params(&endless, &launch) {
        Err(BackendError::Fault(fault)) => {
            assert_eq!(
                fault.kind,
                FaultKind::StepBudgetExceeded { budget: 1_000_000 }
            );
        }
        other => return Err(format!("{other:?}").into()),
    }
    assert_eq!(native.stats().kernels.launches, 1);
    Ok(())
}

#[test]
fn kernels_that_are_ready_are_used_however_small_the_program() -> Outcome {
    let mut native = NativeBackend::with_scratch(folder());
    let buffer = native.allocate_buffer(4 * 512)?;
    let launch = ExecutionParams::new(LaunchConfig::linear(512, 256))
        .with_u64(Register::new(1), buffer.raw())
        .with_u64(Register::new(4), 4);
    let square =
        "mul.u64 r5, r255, r4\ncvt.u32.u64 r6, r255\nmul.u32 r6, r6, r6\nstg.u32 r6, [r1 + r5]";
    let square: Program = square.parse()?;
    let other: Program =
        "mul.u64 r5, r255, r4\ncvt.u32.u64 r6, r5\nstg.u32 r6, [r1 + r5]".parse()?;
    assert_eq!(native.prepare(&[(&square, &launch)])?, 1);
    native.execute_program_with_params(&square, &launch)?;
    let mut bytes = [0; 4];
    native.copy_from_buffer_at(buffer, 4 * 511, &mut bytes)?;
    assert_eq!(u32::from_le_bytes(bytes), 511 * 511);
    native.execute_program_with_params(&other, &launch)?;
    let stats = native.stats();
    assert_eq!(
        (stats.kernels.in_bounds, stats.interpreted),
        (1, 1),
        "{stats:?}"
    );
    Ok(())
}

/// Loads, sums and stores in a row, in no order that could be a loop.
fn long_program(instructions: usize) -> String {
    let mut text = String::from("mov_imm.u32 r11, 0\n");
    for n in 0..instructions / 3 {
        let (from, to) = (n * 7919 % 1000 * 4, n * 104_729 % 1000 * 4);
        text += &format!(
            "ldg.u32 r10, [r1 + {from}]\nadd.u32 r11, r11, r10\nstg.u32 r11, [r2 + {to}]\n"
        );
    }
    text
}

#[test]
fn programs_that_would_compile_for_long_are_interpreted_at_once() -> Outcome {
    // Too much work for the policy to interpret it anyway.
    let launch = params(4096);
    let text = long_program(10_000);
    let start = Instant::now();
    let (mut native, left) = both(&text, &launch)?;
    let seconds = start.elapsed().as_secs_f64();
    assert!(left[1].iter().any(|&byte| byte != 0));
    let stats = native.stats();
    assert_eq!(
        (stats.interpreted, stats.without_compiler),
        (1, 0),
        "{stats:?}"
    );
    assert_eq!(
        (stats.kernels.launches, stats.kernels.units_compiled),
        (0, 0),
        "{stats:?}"
    );
    // Compiling would take a minute.
    assert!(seconds < 20.0, "{seconds} s");
    // It is counted each time, and left out where programs are compiled before they run.
    let program: Program = text.parse()?;
    assert_eq!(native.prepare(&[(&program, &launch)])?, 0);
    native.execute_program_with_params(&program, &launch)?;
    assert_eq!(native.stats().interpreted, 2);
    assert_eq!(native.stats().kernels.units_compiled, 0);
    Ok(())
}

#[test]
fn the_limit_says_which_programs_are_worth_compiling() -> Outcome {
    let folder = tempfile::tempdir()?;
    let program: Program = long_program(600).parse()?;
    let launch = params(4096);
    let run = |limit: Option<u32>| {
        let mut native = NativeBackend::with_scratch(folder.path().to_path_buf());
        native.set_compile_limit(limit);
        for _ in 0..2 {
            native.allocate_buffer(4 * N as usize)?;
        }
        native.execute_program_with_params(&program, &launch)?;
        Ok::<_, BackendError>((
            native.stats().interpreted,
            native.stats().kernels.units_compiled,
        ))
    };
    // It takes about two seconds.
    assert_eq!(run(Some(1))?, (1, 0));
    assert_eq!(run(Some(60))?, (0, 1));
    // What lies in the folder needs no compiler.
    assert_eq!(run(Some(1))?, (0, 1));
    Ok(())
}

#[test]
fn without_a_folder_for_kernels_programs_are_interpreted() -> Outcome {
    let own = tempfile::tempdir()?;
    let file = own.path().join("file");
    std::fs::write(&file, "no folder")?;
    // One kernel: what reads its lane's number is run by no other lanes.
    let text = "mov.u64 r6, r255\nmov_imm.u32 r2, 99\nmov_imm.u64 r4, 0\nmov_imm.u64 r3, 1\n\
                @again:\nadd.u64 r4, r4, r3\nloop r2, @again\nstg.u64 r4, [r1 + 0]";
    let program: Program = text.parse()?;
    let run = |folder: PathBuf| {
        let mut native = NativeBackend::with_scratch(folder);
        let buffer = native.allocate_buffer(8)?;
        let launch = ExecutionParams::default().with_u64(Register::new(1), buffer.raw());
        native.execute_program_with_params(&program, &launch)?;
        let mut bytes = [0; 8];
        native.copy_from_buffer(buffer, &mut bytes)?;
        assert_eq!(u64::from_le_bytes(bytes), 100);
        let stats = native.stats();
        Ok::<_, BackendError>((stats.kernels.launches, stats.without_compiler))
    };
    // One that cannot be made.
    assert_eq!(run(file.join("kernels"))?, (0, 1));
    // One that can be made, and again with files that cannot be loaded, as on a disk that was full: they are made again.
    let folder = own.path().join("kernels");
    assert_eq!(run(folder.clone())?, (1, 0));
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "so") {
            // Another file of the name: the process may still use the one that it loaded.
            std::fs::remove_file(&path)?;
            std::fs::write(&path, "")?;
        }
    }
    assert_eq!(run(folder)?, (1, 0));
    Ok(())
}
