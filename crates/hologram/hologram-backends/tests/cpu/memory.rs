//! Buffers, pools, the boundary pool, tickets, and what is kept between launches.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{
    Backend, BackendError as Error, BufferHandle, PoolHandle, Program, Register, Ticket, Ty,
};

use super::support::{lanes, program, words};

#[test]
fn buffers_begin_zeroed_also_when_memory_is_used_again() {
    let mut backend = CpuBackend::new();
    for size in [0usize, 1, 63, 4096, 1 << 20] {
        for _ in 0..3 {
            let handle = backend.allocate_buffer(size).unwrap();
            assert_eq!(backend.buffer_size(handle), Ok(size));
            assert!(words(&mut backend, handle, u8::from_le_bytes)
                .iter()
                .all(|&b| b == 0));
            backend.copy_to_buffer(handle, &vec![0xff; size]).unwrap();
            backend.free_buffer(handle).unwrap();
        }
    }
}

#[test]
fn handles_are_given_once() {
    let mut backend = CpuBackend::new();
    let first = backend.allocate_buffer(8).unwrap();
    assert_eq!(first.raw(), 1);
    backend.free_buffer(first).unwrap();
    let second = backend.allocate_buffer(8).unwrap();
    assert_ne!(first, second);
    let gone = Error::InvalidBufferHandle(first);
    assert_eq!(backend.free_buffer(first), Err(gone.clone()));
    assert_eq!(backend.buffer_size(first), Err(gone.clone()));
    assert_eq!(backend.copy_to_buffer(first, &[]), Err(gone.clone()));
    assert_eq!(backend.copy_from_buffer(first, &mut []), Err(gone.clone()));
    assert_eq!(
        backend.copy_buffer(second, 0, first, 0, 0),
        Err(gone.clone())
    );
    assert_eq!(backend.copy_buffer(first, 0, second, 0, 0), Err(gone));
    for handle in [BufferHandle::BOUNDARY, BufferHandle::class(95).unwrap()] {
        assert_eq!(
            backend.free_buffer(handle),
            Err(Error::InvalidBufferHandle(handle))
        );
    }
}

#[test]
fn copies_stay_within_buffers() {
    let mut backend = CpuBackend::new();
    let handle = backend.allocate_buffer(10).unwrap();
    backend.copy_to_buffer_at(handle, 7, &[1, 2, 3]).unwrap();
    let mut data = [0; 4];
    backend.copy_from_buffer_at(handle, 6, &mut data).unwrap();
    assert_eq!(data, [0, 1, 2, 3]);
    for (offset, size) in [(8, 3), (11, 0), (0, 11), (usize::MAX, 1), (usize::MAX, 2)] {
        let error = Error::BufferOutOfBounds {
            handle,
            offset,
            size,
            buffer_size: 10,
        };
        let mut data = vec![0; size];
        assert_eq!(
            backend.copy_to_buffer_at(handle, offset, &data),
            Err(error.clone())
        );
        assert_eq!(
            backend.copy_from_buffer_at(handle, offset, &mut data),
            Err(error)
        );
    }
}

#[test]
fn buffers_are_copied_without_overlap() {
    let mut backend = CpuBackend::new();
    let [a, b] = [0; 2].map(|_| backend.allocate_buffer(10).unwrap());
    backend
        .copy_to_buffer(a, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        .unwrap();
    backend.copy_buffer(a, 2, b, 5, 5).unwrap();
    backend.copy_buffer(a, 0, a, 5, 5).unwrap();
    assert_eq!(
        words(&mut backend, b, u8::from_le_bytes),
        [0, 0, 0, 0, 0, 2, 3, 4, 5, 6]
    );
    assert_eq!(
        words(&mut backend, a, u8::from_le_bytes),
        [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    );
    let overlap = |handle, src_offset, dst_offset, len| Error::OverlappingCopy {
        handle,
        src_offset,
        dst_offset,
        len,
    };
    assert_eq!(backend.copy_buffer(a, 0, a, 4, 5), Err(overlap(a, 0, 4, 5)));
    assert_eq!(backend.copy_buffer(a, 3, a, 3, 1), Err(overlap(a, 3, 3, 1)));
    backend.copy_buffer(a, 3, a, 3, 0).unwrap();
    // A class is part of the boundary pool.
    let (pool, class) = (BufferHandle::BOUNDARY, BufferHandle::class(2).unwrap());
    let error = backend.copy_buffer(pool, 2 * 12288 + 10, class, 0, 11);
    assert_eq!(error, Err(overlap(class, 2 * 12288 + 10, 0, 11)));
    backend
        .copy_buffer(pool, 2 * 12288 + 10, class, 0, 10)
        .unwrap();
}

#[test]
fn memory_that_does_not_exist_is_refused() {
    let mut backend = CpuBackend::new();
    for size in [usize::MAX, usize::MAX - 63, isize::MAX as usize, 1 << 60] {
        let error = Error::OutOfMemory { requested: size };
        assert_eq!(backend.allocate_buffer(size), Err(error.clone()));
        assert_eq!(backend.allocate_pool(size), Err(error));
    }
    assert_eq!(backend.stats().buffers, 0);
}

#[test]
fn the_boundary_pool_is_one_buffer_and_96() {
    let mut backend = CpuBackend::new();
    assert_eq!(backend.buffer_size(BufferHandle::BOUNDARY), Ok(1_179_648));
    let all = words(&mut backend, BufferHandle::BOUNDARY, u8::from_le_bytes);
    assert!(all.iter().all(|&b| b == 0));
    for class in [0, 1, 95] {
        let handle = BufferHandle::class(class).unwrap();
        assert_eq!(backend.buffer_size(handle), Ok(12_288));
        backend.copy_to_buffer_at(handle, 5, &[class + 1]).unwrap();
        let mut byte = [0];
        let at = usize::from(class) * 12_288 + 5;
        backend
            .copy_from_buffer_at(BufferHandle::BOUNDARY, at, &mut byte)
            .unwrap();
        assert_eq!(byte, [class + 1]);
        assert!(backend.copy_to_buffer(handle, &[0; 12_289]).is_err());
    }
    let sum = program("ldg.u8 r1, [phi 0:0:5]\nldg.u8 r2, [phi 95:0:5]\nadd.u8 r3, r1, r2\nstg.u8 r3, [phi 7:47:255]");
    backend
        .execute_program_with_params(&sum, &lanes(1, 1))
        .unwrap();
    let mut last = [0];
    let class = BufferHandle::class(7).unwrap();
    backend
        .copy_from_buffer_at(class, 12_287, &mut last)
        .unwrap();
    assert_eq!(last, [97]);
}

#[test]
fn pools_are_made_by_hosts_and_by_programs() {
    let mut backend = CpuBackend::new();
    let pool = backend.allocate_pool(16).unwrap();
    backend.copy_to_pool(pool, 8, &7u64.to_le_bytes()).unwrap();
    let out = backend.allocate_buffer(8 * 600).unwrap();
    // Each lane keeps a pool with its number plus what the host stored, and frees another.
    let text = "
        pool_alloc r2, 24
        pool_alloc r3, 1000
        mov_imm.u64 r4, 8
        pool_load.u64 r5, r1, r4
        add.u64 r6, r5, r255
        pool_store.u64 r6, r2, r4
        pool_free r3
        mul.u64 r7, r255, r4
        stg.u64 r2, [r8 + r7]";
    let params = lanes(2, 300)
        .with_u64(Register::new(1), pool.raw())
        .with_u64(Register::new(8), out.raw());
    backend
        .execute_program_with_params(&program(text), &params)
        .unwrap();
    assert_eq!(backend.stats().pools, 601);
    assert_eq!(backend.stats().pool_bytes, 16 + 600 * 24);
    for (lane, raw) in words(&mut backend, out, u64::from_le_bytes)
        .into_iter()
        .enumerate()
    {
        let pool = PoolHandle::from_raw(raw);
        assert_eq!(backend.pool_size(pool), Ok(24));
        let mut data = [0; 24];
        backend.copy_from_pool(pool, 0, &mut data).unwrap();
        assert_eq!(data[8..16], (lane as u64 + 7).to_le_bytes());
        backend.free_pool(pool).unwrap();
        assert_eq!(backend.free_pool(pool), Err(Error::InvalidPoolHandle(pool)));
    }
    let error = Error::PoolOutOfBounds {
        handle: pool,
        offset: 9,
        size: 8,
        pool_size: 16,
    };
    assert_eq!(backend.copy_to_pool(pool, 9, &[0; 8]), Err(error.clone()));
    assert_eq!(backend.copy_from_pool(pool, 9, &mut [0; 8]), Err(error));
    backend.free_pool(pool).unwrap();
    let gone = Err(Error::InvalidPoolHandle(pool));
    assert_eq!(backend.copy_to_pool(pool, 0, &[]), gone);
    assert_eq!(backend.pool_size(pool), Err(Error::InvalidPoolHandle(pool)));
}

#[test]
fn a_million_allocations_leave_nothing() {
    let mut backend = CpuBackend::new();
    let kept: Vec<_> = (0..100)
        .map(|i| backend.allocate_buffer(i).unwrap())
        .collect();
    let mut live = Vec::new();
    for i in 0..1_000_000usize {
        live.push(backend.allocate_buffer(i % 1000).unwrap());
        if live.len() == 50 {
            live.drain(..)
                .for_each(|handle| backend.free_buffer(handle).unwrap());
        }
    }
    let stats = backend.stats();
    assert_eq!((stats.buffers, stats.buffer_bytes), (100, 99 * 50));
    kept.into_iter()
        .for_each(|handle| backend.free_buffer(handle).unwrap());
    assert_eq!(backend.stats().buffers, 0);
}

#[test]
fn programs_are_prepared_once() {
    let mut backend = CpuBackend::new();
    let out = backend.allocate_buffer(8).unwrap();
    let text = format!("stg.u64 r7, [buf{} + 0]", out.raw());
    for value in 0..100 {
        // The same program in other words, and in another place.
        let program: Program = format!("; {value}\n{text}").parse().unwrap();
        let params = lanes(1, 1).with_u64(Register::new(7), value);
        backend
            .execute_program_with_params(&program, &params)
            .unwrap();
        assert_eq!(words(&mut backend, out, u64::from_le_bytes), [value]);
    }
    assert_eq!(backend.stats().programs_prepared, 1);
    assert_eq!(backend.stats().launches, 100);
    // Without the register it is not valid, though known.
    let without = backend.execute_program_with_params(&program(&text), &lanes(1, 1));
    assert!(matches!(without, Err(Error::Validation(_))));
    let narrow = lanes(1, 1).with_register(Register::new(7), Ty::U32, 1);
    let other = backend.execute_program_with_params(&program(&text), &narrow);
    assert!(matches!(other, Err(Error::Validation(_))));
}

#[test]
fn tickets_are_waited_for_once() {
    let mut backend = CpuBackend::new();
    let mut other = CpuBackend::new();
    let good = backend.submit(&program("exit"), &lanes(1, 1)).unwrap();
    let bad = backend.submit(&program("ret"), &lanes(1, 1)).unwrap();
    let number = bad.raw();
    let foreign = Ticket::from_raw(number);
    assert_eq!(other.wait(foreign), Err(Error::InvalidTicket(number)));
    assert!(matches!(backend.wait(bad), Err(Error::Fault(_))));
    assert_eq!(backend.wait(good), Ok(()));
    let again = Ticket::from_raw(number);
    assert_eq!(backend.wait(again), Err(Error::InvalidTicket(number)));
}

#[test]
fn launches_over_the_limits_are_refused() {
    let mut backend = CpuBackend::new();
    let exit = program("exit");
    for (grid, block) in [(0, 1), (1, 0), (1, 1025), (u32::MAX, 1)] {
        let error = backend.execute_program_with_params(&exit, &lanes(grid, block));
        assert!(matches!(error, Err(Error::InvalidLaunchConfig { .. })));
    }
    let mut params = lanes(1, 1);
    params.launch = params.launch.with_shared_memory(32769);
    let error = backend.execute_program_with_params(&exit, &params);
    assert!(matches!(
        error,
        Err(Error::SharedMemoryAllocationFailed { .. })
    ));
    let many = program("mov_imm.u64 r1, 1\nfill.u8 r1, 0, 1");
    let error = backend.execute_program_with_params(&many, &lanes(2, 1));
    assert!(matches!(error, Err(Error::Validation(_))));
}
