//! Memory: what is written is read, what is dropped is freed, what is wrong is an error.

use half::{bf16, f16};
use hologram_backends::metal::MetalBackend;
use hologram_backends::{BackendError, ExecutionParams, LaunchConfig, Program, Register, Ty};
use hologram_core::{BackendType, Element, Error, Executor};

fn cpu() -> Executor {
    Executor::new().expect("the CPU's backend")
}

fn round_trip<T: Element>(values: &[T]) {
    let exec = cpu();
    let buffer = exec.from_slice(values).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), values);
    assert_eq!(buffer.ty(), T::TY);
    assert_eq!(buffer.size_bytes(), values.len() * T::TY.size());
    assert_eq!(buffer.get(1).unwrap(), values[1]);
    let fresh = exec.allocate::<T>(3).unwrap();
    assert_eq!(fresh.to_vec().unwrap(), [T::default(); 3]);
}

#[test]
fn every_type_round_trips() {
    round_trip(&[-1i8, 2]);
    round_trip(&[-1i16, 2]);
    round_trip(&[-1i32, 2]);
    round_trip(&[i64::MIN, 2]);
    round_trip(&[255u8, 2]);
    round_trip(&[65535u16, 2]);
    round_trip(&[u32::MAX, 2]);
    round_trip(&[u64::MAX, 2]);
    round_trip(&[f16::from_f32(1.5), f16::MAX]);
    round_trip(&[bf16::from_f32(1.5), bf16::MIN]);
    round_trip(&[1.5f32, f32::INFINITY]);
    round_trip(&[1.5f64, f64::MIN_POSITIVE]);
}

#[test]
fn dropped_buffers_are_freed() {
    let exec = cpu();
    let kept = exec.allocate::<f32>(10).unwrap();
    // 97 was the limit of the old system, over the executor's whole life.
    for _ in 0..20_000 {
        let buffer = exec.allocate::<u64>(100).unwrap();
        buffer.copy_from_slice(&[1; 100]).unwrap();
    }
    let stats = exec.stats();
    assert_eq!(stats.allocations, 20_001);
    assert_eq!(stats.frees, 20_000);
    assert_eq!((stats.live_buffers, stats.live_bytes), (1, 40));
    assert_eq!(stats.peak_bytes, 840);
    assert_eq!(stats.bytes_to_device, 20_000 * 800);
    // A clone is the same memory and keeps it.
    let clone = kept.clone();
    drop(kept);
    assert_eq!(exec.stats().live_buffers, 1);
    clone.copy_from_slice(&[2.0; 10]).unwrap();
    let handle = clone.handle();
    drop(clone);
    assert_eq!(exec.stats().live_buffers, 0);
    let freed = exec.with_backend(|backend| backend.buffer_size(handle));
    assert_eq!(freed, Err(BackendError::InvalidBufferHandle(handle)));
}

#[test]
fn buffers_outlive_their_executor_and_may_be_dropped_anywhere() {
    let exec = cpu();
    let buffer = exec.from_slice(&[1u8, 2, 3]).unwrap();
    let (other, again) = (exec.allocate::<u8>(1).unwrap(), exec.clone());
    // The lock is held here; the memory is freed by the next call.
    exec.with_backend(|_| drop(other));
    assert_eq!(exec.stats().live_buffers, 1);
    drop((exec, again));
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
}

#[test]
fn boundary_classes_are_given_once_at_a_time() {
    let exec = cpu();
    let class = exec.allocate_boundary::<f32>(5, 48, 256).unwrap();
    assert!(class.is_boundary());
    assert_eq!((class.class(), class.len()), (Some(5), 3072));
    class.copy_from_slice(&[1.0; 3072]).unwrap();
    let taken = exec.allocate_boundary::<f32>(5, 1, 4);
    assert!(matches!(taken, Err(Error::InvalidClass { class: 5, .. })));
    drop(class);
    // The memory stays, as that of the boundary pool does.
    let again = exec.allocate_boundary::<f32>(5, 2, 2).unwrap();
    assert_eq!(again.to_vec().unwrap(), [1.0]);
    assert!(again.read_bytes(4, &mut [0]).is_err());
    for (class, width, height) in [(96, 1, 4), (1, 49, 4), (1, 48, 257), (1, 1, 3)] {
        assert!(exec.allocate_boundary::<f32>(class, width, height).is_err());
    }
    assert_eq!(exec.stats().live_buffers, 0);
}

#[test]
fn bad_accesses_are_errors() {
    let exec = cpu();
    let buffer = exec.allocate::<u32>(4).unwrap();
    let length = Error::LengthMismatch {
        argument: "data",
        expected: 4,
        actual: 3,
    };
    assert_eq!(buffer.copy_from_slice(&[0; 3]), Err(length.clone()));
    assert_eq!(buffer.copy_to_slice(&mut [0; 3]), Err(length));
    for (offset, len) in [(0, 17), (16, 1), (usize::MAX, 1), (15, usize::MAX)] {
        let invalid = matches!(buffer.slice(offset, len), Err(Error::InvalidView(_)));
        assert!(invalid, "{offset} {len}");
    }
    assert!(buffer.write_bytes(13, &[0; 4]).is_err());
    assert!(buffer.write_bytes(usize::MAX, &[0; 4]).is_err());
    assert!(buffer.get(4).is_err());
    assert!(buffer.slice(4, 0).is_ok());
    let huge = exec.allocate::<f64>(usize::MAX / 4);
    assert!(matches!(huge, Err(Error::TooLarge { .. })), "{huge:?}");
    let huge = exec.allocate::<u8>(isize::MAX as usize - 4096);
    let none = Error::Backend(BackendError::OutOfMemory {
        requested: isize::MAX as usize - 4096,
    });
    assert_eq!(huge.err(), Some(none));
    assert!(matches!(
        buffer.typed::<f32>(),
        Err(Error::TypeMismatch {
            expected: Ty::F32,
            actual: Ty::U32,
            ..
        })
    ));
    assert!(buffer.typed::<u32>().unwrap().same_memory(&buffer));
    assert_eq!(exec.allocate::<f64>(0).unwrap().to_vec(), Ok(vec![]));
}

#[test]
fn canonical_bytes() {
    let exec = cpu();
    let buffer = exec.from_slice(&[1u8, 2, 255]).unwrap();
    assert_eq!(buffer.is_canonical(), Ok(false));
    buffer.canonicalize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [0, 2, 254]);
    assert_eq!(buffer.is_canonical(), Ok(true));
}

#[test]
fn programs_run_on_buffers() {
    let exec = cpu();
    let text =
        "set.ge.u64 p0, r255, r2\n bra @end, p0\n ldg.i32 r3, [r1 + r4]\n add.i32 r3, r3, r3\n \
                stg.i32 r3, [r1 + r4]\n @end:";
    let buffer = exec.from_slice(&[21i32, 7]).unwrap();
    let params = |count| {
        ExecutionParams::new(LaunchConfig::linear(1, 1))
            .with_u64(Register::new(1), buffer.handle().raw())
            .with_u64(Register::new(2), count)
            .with_u64(Register::new(4), 0)
    };
    let program: Program = text.parse().unwrap();
    exec.run(&program, &params(1)).unwrap();
    exec.submit(&program, &params(0)).unwrap();
    exec.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [42, 7]);
    assert_eq!(exec.stats().programs, 2);
    let outside = params(1).with_u64(Register::new(4), 6);
    let fault = exec.run(&program, &outside);
    assert!(
        matches!(fault, Err(Error::Backend(BackendError::Fault(_)))),
        "{fault:?}"
    );
    assert!(exec.run(&program, &ExecutionParams::default()).is_err());
    // A fault leaves the executor usable.
    exec.run(&program, &params(1)).unwrap();
}

#[test]
fn backends_by_name() {
    assert_eq!("cpu".parse(), Ok(BackendType::Cpu));
    assert!("tpu".parse::<BackendType>().is_err());
    let exec = cpu();
    assert_eq!(exec.backend_type(), BackendType::Cpu);
    assert!(exec.device().contains("CPU"));
    for backend in [BackendType::Metal, BackendType::Cuda] {
        match (
            hologram_core::device::find(backend),
            Executor::new_with_backend(backend),
        ) {
            (Ok(name), made) => assert_eq!(made.unwrap().device(), name),
            (Err(error), made) => {
                assert!(matches!(error, Error::BackendUnavailable { .. }));
                assert_eq!(made.err(), Some(error));
            }
        }
    }
    let metal = hologram_core::device::find(BackendType::Metal);
    assert_eq!(MetalBackend::is_available(), metal.is_ok());
    let auto = Executor::new_auto().unwrap();
    let first = [BackendType::Metal, BackendType::Cuda, BackendType::Cpu]
        .into_iter()
        .find(|&backend| hologram_core::device::find(backend).is_ok());
    assert_eq!(Some(auto.backend_type()), first);
}
