//! Threadgroups whose threads are coroutines: real barriers, 32-lane simdgroups, checks.
//!
//! All threads of a threadgroup run in turns on one operating system thread. A turn ends at a barrier or a
//! simdgroup operation. When no thread can go on, every group of waiting threads that is complete and
//! waits at one place is released; if there is none, the barrier is divergent. Turns alternate
//! between ascending and descending order, so that a missing barrier tends to show.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Mutex;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::dispatch::{missing, with_arena, SharedLaunch};
use super::subnormals::Flushing;
use crate::error::{MetalError, Result};
use crate::kernel::{CpuHooks, CpuThread, CpuThreadFn, KernelSpec};
use crate::lock;
use crate::memory::POISON;
use crate::parallel;

const STACK_BYTES: usize = 64 << 10;
const SIMD_WIDTH: usize = 32;
/// Bytes between the values of two lanes in an exchange.
const LANE_BYTES: usize = 16;

type Fiber = Coroutine<(), (), (), DefaultStack>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier(u32),
    AtSimd(u32),
    Done,
}

/// Values published by the lanes of a simdgroup, for two exchanges in turn.
#[repr(align(16))]
#[derive(Clone)]
struct Exchange([[u8; SIMD_WIDTH * LANE_BYTES]; 2]);

struct Group {
    states: Vec<State>,
    yielders: Vec<*const Yielder<(), ()>>,
    /// The exchange buffer, of two, that each thread uses next.
    parity: Vec<bool>,
    exchanges: Vec<Exchange>,
    arrays: Vec<*mut c_void>,
    current: usize,
    poison: bool,
}

thread_local! {
    static GROUP: Cell<*mut Group> = const { Cell::new(std::ptr::null_mut()) };
    static STACKS: Cell<Vec<DefaultStack>> = const { Cell::new(Vec::new()) };
}

static HOOKS: CpuHooks = CpuHooks {
    barrier,
    simd_barrier,
    simd_exchange,
    simd_lane,
    simd_threads,
    threadgroup_array,
};

/// The group that the current coroutine belongs to.
///
/// # Safety
/// To be called from a kernel that [`run_group`] runs on this thread. The reference must not live
/// across a suspension.
unsafe fn group<'a>() -> &'a mut Group {
    // SAFETY: `run_group` set the pointer before it resumed the coroutine that calls this; groups of
    // one operating system thread do not nest, and no other reference is live while a coroutine runs.
    unsafe { &mut *GROUP.get() }
}

/// Ends the turn of the current thread.
///
/// # Safety
/// As for [`group`].
unsafe fn suspend(state: State) {
    // SAFETY: passed on from the caller; the yielder lives on the stack of the running coroutine.
    unsafe {
        let group = group();
        group.states[group.current] = state;
        let yielder = group.yielders[group.current];
        (*yielder).suspend(());
    }
}

unsafe extern "C" fn barrier(line: u32) {
    // SAFETY: called by a kernel on a fiber.
    unsafe { suspend(State::AtBarrier(line)) }
}

unsafe extern "C" fn simd_barrier(line: u32) {
    // SAFETY: called by a kernel on a fiber.
    unsafe { suspend(State::AtSimd(line)) }
}

unsafe extern "C" fn simd_exchange(value: *const c_void, size: u32, line: u32) -> *const u8 {
    // SAFETY: called by a kernel on a fiber with `size` readable bytes at `value`. The exchanges are
    // not moved while the group runs, so the pointer stays good after the suspension.
    unsafe {
        let group = group();
        let (simd, lane) = (group.current / SIMD_WIDTH, group.current % SIMD_WIDTH);
        let side = group.parity[group.current];
        group.parity[group.current] = !side;
        let slots = group.exchanges[simd].0[side as usize].as_mut_ptr();
        let slot = slots.add(lane * LANE_BYTES);
        slot.copy_from_nonoverlapping(value.cast(), (size as usize).min(LANE_BYTES));
        suspend(State::AtSimd(line));
        slots
    }
}

unsafe extern "C" fn simd_lane() -> u32 {
    // SAFETY: called by a kernel on a fiber.
    unsafe { (group().current % SIMD_WIDTH) as u32 }
}

unsafe extern "C" fn simd_threads() -> u32 {
    // SAFETY: called by a kernel on a fiber.
    let group = unsafe { group() };
    let first = group.current / SIMD_WIDTH * SIMD_WIDTH;
    (group.states.len() - first).min(SIMD_WIDTH) as u32
}

unsafe extern "C" fn threadgroup_array(data: *mut c_void, bytes: u32) {
    // SAFETY: called by a kernel on a fiber with the address and size of an array of its own.
    unsafe {
        let group = group();
        if group.poison && !group.arrays.contains(&data) {
            group.arrays.push(data);
            data.cast::<u8>().write_bytes(POISON, bytes as usize);
        }
    }
}

/// Runs these threadgroups of a launch on fibers.
pub(super) fn run(
    kernel: &'static KernelSpec,
    launch: &SharedLaunch,
    groups: Range<u64>,
    poison: bool,
    flush: bool,
) -> Result<()> {
    let Some(function) = kernel.fiber else {
        return Err(missing(kernel, "it has barriers but no fiber version"));
    };
    let failure: Mutex<Option<MetalError>> = Mutex::new(None);
    parallel::run(
        groups.end - groups.start,
        1,
        parallel::BETWEEN_DISPATCHES,
        &|begin, end| {
            for index in groups.start + begin..groups.start + end {
                if lock(&failure).is_some() {
                    return;
                }
                let _flushing = Flushing::begin(flush);
                if let Err(error) = run_group(kernel, function, launch, index, poison) {
                    lock(&failure).get_or_insert(error);
                }
            }
        },
    );
    let failure = lock(&failure).take();
    failure.map_or(Ok(()), Err)
}

fn run_group(
    kernel: &'static KernelSpec,
    function: CpuThreadFn,
    launch: &SharedLaunch,
    index: u64,
    poison: bool,
) -> Result<()> {
    let ([groups_x, groups_y, _], per_group) = (launch.0.ntg, launch.0.tpg);
    let position = [
        (index % groups_x as u64) as u32,
        (index / groups_x as u64 % groups_y as u64) as u32,
        (index / groups_x as u64 / groups_y as u64) as u32,
    ];
    // The last threadgroups of a grid given in threads may be cut short.
    let mut size = [0u32; 3];
    for axis in 0..3 {
        let rest = launch.0.threads[axis] as u64 - position[axis] as u64 * per_group[axis] as u64;
        size[axis] = rest.min(per_group[axis] as u64) as u32;
    }
    with_arena(|arena, bytes| {
        if poison {
            let lens = launch.0.tg_len.iter();
            let used: usize = lens.map(|len| len.next_multiple_of(16) as usize).sum();
            // SAFETY: no more than the arena of this thread, lent for the duration of this closure.
            unsafe { arena.write_bytes(POISON, used.min(bytes)) };
        }
        let threads = (0..size.iter().product::<u32>()).map(|i| CpuThread {
            hooks: &HOOKS,
            tid: [i % size[0], i / size[0] % size[1], i / size[0] / size[1]],
            group: position,
            index: i,
        });
        let threads: Vec<CpuThread> = threads.collect();
        let mut group = Group::new(threads.len(), poison);
        // One pointer for all: a second reference would end the first, which the coroutines hold.
        let group = &raw mut group;
        let mut fibers = match spawn(function, launch, arena, &threads, group) {
            Ok(fibers) => fibers,
            Err(error) => return Err(missing(kernel, &format!("no stack for a fiber: {error}"))),
        };
        let previous = GROUP.replace(group);
        let outcome = schedule(&mut fibers, group);
        GROUP.set(previous);
        recycle(fibers);
        outcome.map_err(|detail| MetalError::DivergentBarrier {
            kernel: kernel.name,
            threadgroup: position,
            detail,
        })
    })
}

impl Group {
    fn new(threads: usize, poison: bool) -> Self {
        Self {
            states: vec![State::Ready; threads],
            yielders: vec![std::ptr::null(); threads],
            parity: vec![false; threads],
            exchanges: vec![
                Exchange([[POISON; SIMD_WIDTH * LANE_BYTES]; 2]);
                threads.div_ceil(SIMD_WIDTH)
            ],
            arrays: Vec::new(),
            current: 0,
            poison,
        }
    }
}

/// One suspended coroutine per thread.
fn spawn(
    function: CpuThreadFn,
    launch: &SharedLaunch,
    arena: *mut u8,
    threads: &[CpuThread],
    group: *mut Group,
) -> std::io::Result<Vec<Fiber>> {
    let mut stacks = STACKS.take();
    let launch: *const _ = &launch.0;
    let mut fibers = Vec::with_capacity(threads.len());
    for (index, thread) in threads.iter().enumerate() {
        let stack = match stacks.pop() {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES)?,
        };
        let thread: *const CpuThread = thread;
        fibers.push(Fiber::with_stack(stack, move |yielder, ()| {
            // SAFETY: the group, the launch and the thread outlive the coroutine (`run_group` owns
            // them until all fibers are recycled), everything runs on this operating system thread,
            // and the arguments were checked against the kernel's signature.
            unsafe {
                (&mut (*group).yielders)[index] = yielder;
                function(launch, arena, thread);
            }
        }));
    }
    STACKS.set(stacks);
    Ok(fibers)
}

/// Runs all threads to their end, or says why they cannot get there.
fn schedule(fibers: &mut [Fiber], group: *mut Group) -> std::result::Result<(), String> {
    let count = fibers.len();
    for round in 0usize.. {
        for turn in 0..count {
            let index = if round % 2 == 0 {
                turn
            } else {
                count - 1 - turn
            };
            // SAFETY: no coroutine runs now, so this is the only access to the group.
            unsafe {
                if (&(*group).states)[index] != State::Ready {
                    continue;
                }
                (*group).current = index;
            }
            if let CoroutineResult::Return(()) = fibers[index].resume(()) {
                // SAFETY: as above.
                unsafe { (&mut (*group).states)[index] = State::Done };
            }
        }
        // SAFETY: as above.
        let group = unsafe { &mut *group };
        if group.states.iter().all(|&state| state == State::Done) {
            return Ok(());
        }
        release(&mut group.states)?;
    }
    Ok(())
}

/// Lets complete groups of waiting threads go on; an error if there is none.
fn release(states: &mut [State]) -> std::result::Result<(), String> {
    if let State::AtBarrier(line) = states[0] {
        if states.iter().all(|&state| state == State::AtBarrier(line)) {
            states.fill(State::Ready);
            return Ok(());
        }
    }
    let mut any = false;
    for simd in states.chunks_mut(SIMD_WIDTH) {
        if let State::AtSimd(line) = simd[0] {
            if simd.iter().all(|&state| state == State::AtSimd(line)) {
                simd.fill(State::Ready);
                any = true;
            }
        }
    }
    if any {
        return Ok(());
    }
    Err(describe(states))
}

fn describe(states: &[State]) -> String {
    let mut seen: Vec<(State, usize, usize)> = Vec::new();
    for (index, &state) in states.iter().enumerate() {
        match seen.iter_mut().find(|(known, ..)| *known == state) {
            Some((_, _, count)) => *count += 1,
            None => seen.push((state, index, 1)),
        }
    }
    let parts = seen.into_iter().map(|(state, first, count)| {
        let place = match state {
            State::Ready => "running".into(),
            State::AtBarrier(line) => format!("at threadgroup_barrier in line {line}"),
            State::AtSimd(line) => format!("at a simdgroup operation in line {line}"),
            State::Done => "finished".into(),
        };
        format!("{count} threads {place} (first: {first})")
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Keeps the stacks for the next group.
fn recycle(fibers: Vec<Fiber>) {
    let mut stacks = STACKS.take();
    for mut fiber in fibers {
        if !fiber.done() {
            // SAFETY: what is on the stack is the kernel's own frames, plain data without destructors
            // (C++ without exceptions), and the closure above, which owns nothing.
            unsafe { fiber.force_reset() };
        }
        stacks.push(fiber.into_stack());
    }
    STACKS.set(stacks);
}
