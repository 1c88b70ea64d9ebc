//! Snapshots of random programs against OpenVM's own executor, and jobs that end early.

use std::{
    cell::RefCell,
    sync::{mpsc::channel, Mutex},
    thread,
    time::Duration,
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment,
        hasher::poseidon2::vm_poseidon2_hasher,
        instructions::{exe::VmExe, program::Program},
        VmExecutor, VmState, CONNECTOR_AIR_ID, MERKLE_AIR_ID,
    },
    system::memory::{
        merkle::MerkleTree,
        online::{GuestMemory, LinearMemory},
    },
};
use openvm_metal_common::Device;
use openvm_sdk::{config::AppConfig, StdIn};
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use openvm_stark_backend::{p3_field::PrimeField32, prover::ProvingContext};
use rand::{rngs::StdRng, seq::SliceRandom, Rng, SeedableRng};

use super::{
    decoded, executors,
    meter::{execute_metered, meter, Follower},
    segment_memory::SegmentMemory,
    snapshot::{Changes, Follow},
    AppKey, SegmentTracer, Snapshotter,
};
use crate::{
    engine::MetalEngine,
    error::SdkError,
    execution::Execution,
    options::ProveOptions,
    parameters::toy_app,
    prelude::{Digest, F},
    progress::{Event, Progress},
    sdk::MetalSdk,
    system::MemoryTree,
    Sdk,
};

#[path = "../../tests/riscv/mod.rs"]
pub(super) mod riscv;

use riscv::*;

/// RV32I with input and output, and 128 KiB of memory.
fn config() -> SdkVmConfig {
    let mut config = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .io(Default::default())
        .build()
        .optimize();
    let memory = &mut config.system.config.memory_config;
    memory.addr_spaces[2].num_cells = 1 << 17;
    // Every check of the metering ends a segment: about 1000 instructions each.
    config.system.config.set_segmentation_max_memory(1);
    config
}

fn sdk() -> MetalSdk {
    Sdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .app_config(AppConfig::new(config(), toy_app(18)))
        .segment_max_memory(1)
        .build()
        .expect("the settings go together")
}

/// Stores words at random addresses, some of them zeros, and a word of a hint each round: of the input, or a random one. Then `end`.
fn program(rounds: i32, is_random: bool, mask: u32, seed: u32, end: &[u32]) -> VmExe<F> {
    let xor = |rd, a, b| r_type(0, 4, rd, a, b);
    let and = |rd, a, b| r_type(0, 7, rd, a, b);
    let slli = |rd, rs, bits| i_type(0x13, 1, rd, rs, bits);
    let srli = |rd, rs, bits| i_type(0x13, 5, rd, rs, bits);
    let mut code = vec![
        addi(10, 0, rounds),
        lui(9, seed | 1),
        lui(11, mask >> 12),
        addi(11, 11, (mask & 0x7fc) as i32),
        addi(15, 0, 1),
        hint_input(),
        // The length.
        addi(14, 0, 64),
        hint_word(14),
    ];
    let mut round = vec![
        slli(13, 9, 13),
        xor(9, 9, 13),
        srli(13, 9, 17),
        xor(9, 9, 13),
        slli(13, 9, 5),
        xor(9, 9, 13),
        and(12, 9, 11),
        lw(13, 12, 0),
        and(13, 13, 15),
        sw(0, 12, 0),
        // Where an odd word was there are zeros now, elsewhere another word.
        bne(13, 0, 8),
        sw(9, 12, 0),
    ];
    if is_random {
        round.push(hint_random(15));
    }
    round.extend([
        addi(14, 12, 4),
        and(14, 14, 11),
        hint_word(14),
        addi(10, 10, -1),
    ]);
    round.push(bne(10, 0, -4 * round.len() as i32));
    code.extend(round);
    code.push(reveal(9, 0));
    code.extend(end);
    let code = config().transpiler().transpile(&code).expect("RISC-V");
    let program = Program::new_without_debug_infos_with_option(&code, TEXT);
    let memory = (0..260).map(|i| ((2, 500 * i), i as u8)).collect();
    VmExe::new(program)
        .with_pc_start(TEXT)
        .with_init_memory(memory)
}

fn input(rounds: i32) -> StdIn {
    let bytes: Vec<u8> = (0..4 * rounds).map(|i| (i * i) as u8).collect();
    StdIn::from_bytes(&bytes)
}

fn root(memory: &GuestMemory) -> Digest {
    let dimensions = config().system.config.memory_config.memory_dimensions();
    MerkleTree::from_memory(&memory.memory, &dimensions, &vm_poseidon2_hasher()).root()
}

fn assert_same(got: &GuestMemory, expected: &GuestMemory) {
    let spaces = got.memory.mem.iter().zip(&expected.memory.mem);
    for (space, (got, expected)) in spaces.enumerate() {
        assert!(got.as_slice() == expected.as_slice(), "space {space}");
    }
}

/// Values that the circuits of a segment make public: program counters and roots, before and after.
fn ends(
    ctx: &ProvingContext<<MetalEngine as openvm_stark_backend::StarkEngine>::PB>,
) -> ([u32; 2], Vec<F>) {
    let values = |air: usize| {
        let found = ctx.per_trace.iter().find(|(id, _)| *id == air);
        found
            .expect("a trace of the system")
            .1
            .public_values
            .clone()
    };
    let connector = values(CONNECTOR_AIR_ID);
    let pcs = [0, 1].map(|i| connector[i].as_canonical_u32());
    (pcs, values(MERKLE_AIR_ID))
}

/// Roots of the memories that changes lead to.
struct Followed {
    layout: MemoryTree,
    follow: Follow,
    roots: Vec<Digest>,
}

impl Followed {
    fn new(key: &AppKey<MetalEngine>) -> Self {
        let system = &key.config.system.config;
        Self {
            layout: MemoryTree::new(&system.memory_config),
            follow: Follow::new(system),
            roots: Vec::new(),
        }
    }

    fn go(&mut self, execution: &Execution<'_>) -> Result<(), SdkError> {
        let changes = Changes::of(execution, &self.layout);
        self.follow.go(self.roots.len(), changes)?;
        self.roots.push(*self.follow.tree().root());
        Ok(())
    }
}

impl Follower for Followed {
    fn before_segment(&mut self, execution: &Execution<'_>) -> Result<(), SdkError> {
        self.go(execution)
    }

    fn segment(&mut self, _: &Segment) -> Result<(), SdkError> {
        Ok(())
    }

    fn end(&mut self, execution: Execution<'_>) -> Result<(), SdkError> {
        self.go(&execution)
    }
}

/// Each boundary has the state of OpenVM's executor after as many instructions, and each segment, recorded from its snapshot in random order by two
/// tracers, begins and ends there.
#[test]
fn segments_from_snapshots_are_those_of_openvms_executor() {
    let sdk = sdk();
    let stock = VmExecutor::<F, _>::new(config()).unwrap();
    for seed in 0..2 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mask = [0x1_f7fc, 0x37fc][rng.random_range(0..2)];
        let (rounds, is_random) = (rng.random_range(150..250), seed % 2 == 1);
        let exe = program(rounds, is_random, mask, rng.random(), &[terminate(0)]);
        let prover = sdk.app_prover(exe).unwrap();
        let (key, exe) = (&prover.keys()[0], prover.exe());
        let segments = meter(key, exe.exe(), input(rounds), &ProveOptions::default());
        let segments = segments.unwrap().segments;
        assert!(segments.len() >= 3, "{} segments", segments.len());

        // The states before the segments and at the end, by OpenVM.
        let instance = stock.instance(exe.exe()).unwrap();
        let starts = segments.iter().map(|segment| segment.instret_start);
        let last = segments.last().unwrap();
        let ends_at = last.instret_start + last.num_insns;
        let states = starts.chain([ends_at]).map(|executed| {
            let state = instance.execute(input(rounds), Some(executed));
            state.unwrap()
        });
        let states: Vec<VmState<F, GuestMemory>> = states.collect();
        let roots: Vec<Digest> = states.iter().map(|state| root(&state.memory)).collect();

        let executors = executors(&key.config, exe.exe()).unwrap();
        let program = decoded(&executors, exe.exe(), Vec::new()).unwrap();
        let mut snapshotter = Snapshotter::new(key, &program, input(rounds));
        let mut snapshots = Vec::new();
        for (index, segment) in segments.iter().enumerate() {
            snapshotter.run_to(index, segment.instret_start).unwrap();
            let snapshot = snapshotter.snapshot(index).unwrap();
            let expected = &states[index];
            assert_eq!(snapshot.state.pc(), expected.pc(), "segment {index}");
            assert_eq!(
                snapshot.state.streams.hint_stream,
                expected.streams.hint_stream
            );
            assert_eq!(
                snapshot.state.streams.input_stream,
                expected.streams.input_stream
            );
            assert_eq!(snapshot.state.rng, expected.rng, "segment {index}");
            assert_eq!(*snapshot.memory.root(), roots[index], "segment {index}");
            snapshots.push(snapshot);
        }

        // Changes, copied while the program is metered, lead to the same memory.
        let mut roots_of_changes = Followed::new(key);
        let options = ProveOptions::default();
        execute_metered(
            &key.circuit,
            &mut SegmentMemory::of(key),
            exe.exe(),
            input(rounds),
            &options,
            &mut roots_of_changes,
        )
        .unwrap();
        assert_eq!(roots_of_changes.roots, roots);

        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.shuffle(&mut rng);
        // One again: a tracer goes back to it.
        order.push(order[0]);
        let tracers = [(); 2].map(|()| SegmentTracer::new(key, exe, 1).unwrap());
        let tracers = tracers.map(RefCell::new);
        for (turn, index) in order.into_iter().enumerate() {
            let mut tracer = tracers[turn % 2].borrow_mut();
            let snapshot = snapshots[index].clone();
            let recorded = tracer.record(index, &segments[index], snapshot).unwrap();
            assert_same(tracer.guest().unwrap(), &states[index + 1].memory);
            let (pcs, public) = ends(&tracer.trace(recorded).unwrap());
            assert_eq!(pcs, [states[index].pc(), states[index + 1].pc()]);
            assert_eq!(public, [roots[index], roots[index + 1]].concat());
        }
        // Nothing of what the tracers did is in the snapshots.
        for (snapshot, root) in snapshots.iter().zip(&roots) {
            assert_eq!(snapshot.memory.root(), root);
        }
    }
}

/// The guest fails after segments of it are under way: its error comes, and no thread waits for a snapshot.
#[test]
fn a_guest_that_fails_late_ends_the_job() {
    let rounds = 200;
    // Above the memory.
    let end = [lui(12, 0x20), lw(13, 12, 0), terminate(0)];
    let exe = program(rounds, false, 0x7fc, 7, &end);
    let options = ProveOptions::default().with_machines(3).with_in_flight(4);
    let error = sdk().prove_app(exe, input(rounds), &options).err();
    let error = error.expect("the guest fails");
    assert!(matches!(error, SdkError::GuestFault { .. }), "{error}");
}

/// Calls of a follower, in order: `None` before a segment and at the end, a segment otherwise.
#[derive(Default)]
struct Calls(Vec<Option<(u64, u64, Vec<u32>)>>);

impl Follower for Calls {
    fn before_segment(&mut self, _: &Execution<'_>) -> Result<(), SdkError> {
        self.0.push(None);
        Ok(())
    }

    fn segment(&mut self, segment: &Segment) -> Result<(), SdkError> {
        let heights = segment.trace_heights.clone();
        self.0
            .push(Some((segment.instret_start, segment.num_insns, heights)));
        Ok(())
    }

    fn end(&mut self, _: Execution<'_>) -> Result<(), SdkError> {
        self.0.push(None);
        Ok(())
    }
}

/// An SDK whose segments are bounded by memory alone if it is below what `2^log_height` rows need.
fn sdk_of_height(log_height: usize) -> MetalSdk {
    Sdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .app_config(AppConfig::new(config(), toy_app(log_height)))
        .segment_max_memory(1 << 30)
        .build()
        .expect("the settings go together")
}

fn exe_of(code: &[u32]) -> VmExe<F> {
    let code = config().transpiler().transpile(code).expect("RISC-V");
    let program = Program::new_without_debug_infos_with_option(&code, TEXT);
    VmExe::new(program).with_pc_start(TEXT)
}

/// Catches first segments whose bound depends on when the devices' bound becomes known.
#[test]
fn large_segments_come_after_two_small_ones() {
    let sdk = sdk_of_height(24);
    let code = [
        lui(10, 4 << 10),
        addi(10, 10, -1),
        bne(10, 0, -4),
        reveal(10, 0),
        terminate(0),
    ];
    let prover = sdk.app_prover(exe_of(&code)).expect("a prover");
    let (circuit, exe) = (&prover.keys()[0].circuit, prover.exe().exe());
    let run = |mut memory: SegmentMemory| {
        let (options, input) = (ProveOptions::default(), StdIn::default());
        let run = execute_metered(circuit, &mut memory, exe, input, &options, &mut ());
        let segments = run.expect("a run").segments;
        segments.iter().map(|s| s.num_insns).collect::<Vec<_>>()
    };
    for bound in [2 << 30, 15 << 30, 20 << 30] {
        let known = run(SegmentMemory::known(bound));
        for wait in [0, 300] {
            let (sender, later) = channel();
            thread::scope(|scope| {
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(wait));
                    sender.send(bound)
                });
                let got = run(SegmentMemory::later(circuit, later));
                assert_eq!(got, known, "a bound of {bound} bytes after {wait} ms");
            });
        }
        let grows = known[0] < known[1] && known[1] < known[2];
        assert_eq!(grows, bound == 20 << 30, "{known:?}");
    }
}

/// Output of a program, and the number of its bytes that are printed before each report of a segment.
#[derive(Default)]
struct Log {
    output: Mutex<Vec<u8>>,
    printed: Mutex<Vec<usize>>,
}

impl Progress for Log {
    fn event(&self, event: Event<'_>) {
        if let Event::SegmentExecuted { .. } = event {
            let bytes = self.output.lock().expect("no panic").len();
            self.printed.lock().expect("no panic").push(bytes);
        }
    }
}

/// Catches segments, prints and calls that depend on when the bound on memory becomes known: at the first check, or after more memory was used.
/// Prints of a segment come before its report.
#[test]
fn a_bound_that_becomes_known_late_cuts_the_same_segments() {
    let sdk = sdk_of_height(18);
    // Prints a byte in each round.
    let code = [
        addi(10, 0, 2000),
        lui(11, 4),
        addi(12, 0, 1),
        sw(10, 11, 0),
        print(11, 12),
        addi(10, 10, -1),
        bne(10, 0, -12),
        reveal(10, 0),
        terminate(0),
    ];
    let prover = sdk.app_prover(exe_of(&code)).expect("a prover");
    let (circuit, exe) = (&prover.keys()[0].circuit, prover.exe().exe());
    let run = |mut memory: SegmentMemory| {
        let (log, mut calls) = (Log::default(), Calls::default());
        let options = ProveOptions::default()
            .with_output(&log.output)
            .with_progress(&log);
        let input = StdIn::default();
        execute_metered(circuit, &mut memory, exe, input, &options, &mut calls).expect("a run");
        let output = log.output.into_inner().expect("no panic");
        (calls.0, output, log.printed.into_inner().expect("no panic"))
    };
    let expected: Vec<u8> = (1..=2000).rev().map(|round| round as u8).collect();
    let mut counts = Vec::new();
    for bound in (14..=30).map(|bits| 1 << bits) {
        let known = run(SegmentMemory::known(bound));
        assert_eq!(known.1, expected);
        assert!(
            known.2[0] > 0,
            "nothing is printed before the first segment"
        );
        counts.push(known.0.len());
        for wait in [0, 20] {
            let (sender, later) = channel();
            thread::scope(|scope| {
                if wait == 0 {
                    sender.send(bound).expect("a receiver");
                } else {
                    scope.spawn(move || {
                        thread::sleep(Duration::from_millis(wait));
                        sender.send(bound)
                    });
                }
                let got = run(SegmentMemory::later(circuit, later));
                assert_eq!(got, known, "a bound of {bound} bytes after {wait} ms");
            });
        }
    }
    // A segment for each check, and one segment.
    assert!(counts[0] > 10 && counts.last() == Some(&3), "{counts:?}");
    // Whoever waits for a bound that nobody will know ends.
    let (sender, later) = channel();
    drop(sender);
    let mut memory = SegmentMemory::later(circuit, later);
    let options = ProveOptions::default();
    let input = StdIn::default();
    let run = execute_metered(circuit, &mut memory, exe, input, &options, &mut ());
    assert!(matches!(run, Err(SdkError::Cancelled)));
}
