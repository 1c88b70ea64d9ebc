//! Records of random programs against those of OpenVM's interpreter.

use openvm_circuit::{
    arch::{
        execution_mode::PreflightCtx,
        instructions::{exe::VmExe, program::Program},
        ExecutionState, PreflightExecutionOutput, VmExecState, VmState,
    },
    system::{
        memory::online::{LinearMemory, TracingMemory},
        SystemRecords,
    },
};
use openvm_metal_common::Device;
use openvm_sdk::{config::AppConfig, StdIn};
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::{
    decoded, executors,
    meter::{meter, virtual_machine},
    tests::riscv::*,
};
use crate::{
    engine::MetalEngine,
    execution::{Execution, Recorder, Rows},
    options::ProveOptions,
    parameters::toy_app,
    prelude::F,
    vm::{segment_arenas, TraceArena},
    Sdk,
};

type Output = PreflightExecutionOutput<F, TraceArena>;

fn config() -> SdkVmConfig {
    let mut config = SdkVmConfig::riscv32();
    config.system.config.memory_config.addr_spaces[2].num_cells = 1 << 17;
    config
}

/// Instructions of every kind with registers 8 to 15, whose values are often those at an edge, and accesses to the memory around register 16.
fn program(seed: u64) -> VmExe<F> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut code = vec![lui(16, 1), addi(17, 0, 5)];
    for register in 8..16 {
        let edges = [0, 1, 0x7_ffff, 0x8_0000, 0xf_ffff];
        code.push(lui(register, edges[rng.random_range(0..edges.len())]));
        code.push(addi(register, register, rng.random_range(-3..4)));
    }
    let start = code.len();
    for _ in 0..rng.random_range(100..400) {
        let [rd, x, y] = std::array::from_fn(|_| rng.random_range(8..16u32));
        let immediate = rng.random_range(-2048..2048);
        match rng.random_range(0..12) {
            0 | 1 => {
                let funct3 = rng.random_range(0..8);
                let is_other = matches!(funct3, 0 | 5) && rng.random();
                code.push(r_type(if is_other { 0x20 } else { 0 }, funct3, rd, x, y));
            }
            2 => code.push(r_type(1, rng.random_range(0..8), rd, x, y)),
            3 | 4 => {
                let funct3 = rng.random_range(0..8);
                let shift = rng.random_range(0..32) | if rng.random() { 0x400 } else { 0 };
                let immediate = match funct3 {
                    1 => shift & 0x1f,
                    5 => shift,
                    _ => immediate,
                };
                code.push(i_type(0x13, funct3, rd, x, immediate));
            }
            5 | 6 => {
                let (funct3, align) =
                    [(0, 1), (1, 2), (2, 4), (4, 1), (5, 2)][rng.random_range(0..5)];
                code.push(i_type(0x03, funct3, rd, 16, immediate / align * align));
            }
            7 | 8 => {
                let funct3 = rng.random_range(0..3);
                let align = 1 << funct3;
                code.push(s_type(funct3, 16, x, immediate / align * align));
            }
            9 => {
                let funct3 = [0, 1, 4, 5, 6, 7][rng.random_range(0..6)];
                code.push(b_type(funct3, x, y, 8));
                code.push(addi(rd, rd, 1));
            }
            10 => match rng.random() {
                true => code.extend([jal(rng.random_range(0..2), 8), addi(rd, rd, 1)]),
                false => {
                    let link = [0, rd][rng.random_range(0..2)];
                    code.extend([auipc(18, 0), jalr(link, 18, 12), addi(rd, rd, 1)]);
                }
            },
            _ => code.push(match rng.random() {
                true => lui(rd, rng.random_range(0..1 << 20)),
                false => auipc(rd, rng.random_range(0..1 << 20)),
            }),
        }
    }
    // Some rounds: branches backwards.
    code.push(addi(17, 17, -1));
    let back = 4 * (code.len() - start) as i32;
    code.push(bne(17, 0, -back));
    code.extend([reveal(9, 0), terminate(0)]);
    let code = config().transpiler().transpile(&code).expect("RISC-V");
    let program = Program::new_without_debug_infos_with_option(&code, TEXT);
    let memory = (0..1500)
        .map(|i| ((2, 0x800 + 3 * i), rng.random()))
        .collect();
    VmExe::new(program)
        .with_pc_start(TEXT)
        .with_init_memory(memory)
}

fn assert_same(got: &Output, expected: &Output) {
    for (air, (got, expected)) in got
        .record_arenas
        .iter()
        .zip(&expected.record_arenas)
        .enumerate()
    {
        match (got, expected) {
            (TraceArena::Rows(got), TraceArena::Rows(expected)) => {
                assert_eq!(got.trace_offset, expected.trace_offset, "AIR {air}");
                assert!(got.trace_buffer == expected.trace_buffer, "AIR {air}");
            }
            (TraceArena::Records(got), TraceArena::Records(expected)) => {
                assert!(got.bytes() == expected.bytes(), "AIR {air}");
            }
            _ => panic!("arenas of two kinds"),
        }
    }
    let [a, b] = [got, expected].map(|output| &output.system_records);
    assert_eq!((a.from_state, a.to_state), (b.from_state, b.to_state));
    assert_eq!(a.exit_code, b.exit_code);
    assert_eq!(a.filtered_exec_frequencies, b.filtered_exec_frequencies);
    assert_eq!(a.touched_memory.len(), b.touched_memory.len());
    for ((at, a), (expected_at, b)) in a.touched_memory.iter().zip(&b.touched_memory) {
        assert_eq!(
            (at, a.timestamp, a.values),
            (expected_at, b.timestamp, b.values)
        );
    }
    assert_eq!(got.to_state.pc(), expected.to_state.pc());
    let memories = [got, expected].map(|output| &output.to_state.memory.memory.mem);
    for (a, b) in memories[0].iter().zip(memories[1]) {
        assert!(a.as_slice() == b.as_slice());
    }
}

/// Whole executions and the second half of them, in both kinds of arenas.
#[test]
fn records_are_those_of_openvms_interpreter() {
    for is_on_device in [false, true] {
        let sdk = Sdk::builder(Device::Cpu)
            .min_security_bits(0.0)
            .app_config(AppConfig::new(config(), toy_app(18)))
            .traces_on_device(is_on_device)
            .build()
            .expect("the settings go together");
        for seed in 0..10 {
            let prover = sdk.app_prover(program(seed)).unwrap();
            let (key, exe) = (&prover.keys()[0], prover.exe().exe());
            let run = meter::<MetalEngine>(key, exe, StdIn::default(), &ProveOptions::default());
            let [segment] = <[_; 1]>::try_from(run.unwrap().segments).expect("one segment");
            let (vm, builder) = virtual_machine(key, exe).unwrap();
            let chips = builder.uploader().device_chips();
            assert_eq!(chips.is_some(), is_on_device);
            let executors = executors(&key.config, exe).unwrap();
            let airs = vm.executor_idx_to_air_idx();
            let mut recorder = Recorder::new(&executors, exe, airs).unwrap();
            let mut interpreter = vm.preflight_interpreter(exe).unwrap();
            let program = decoded(&executors, exe, Vec::new()).unwrap();
            for skipped in [0, segment.num_insns / 2] {
                let mut segment = segment.clone();
                segment.num_insns -= skipped;
                let begin = || {
                    let system = &key.config.system.config;
                    let rows = Rows::uncounted(&system.memory_config);
                    let mut execution = Execution::new(&program, system, StdIn::default(), rows);
                    execution.run_to(skipped).unwrap();
                    assert_eq!(execution.executed(), skipped);
                    execution.into_state()
                };
                let arenas = segment_arenas(&vm, &segment, chips);
                let got = recorder.record(&executors, exe, begin(), &segment, arenas);

                let from = begin();
                let ctx = PreflightCtx {
                    arenas: segment_arenas(&vm, &segment, chips),
                    instret_left: segment.num_insns,
                };
                let (pc, memory) = (from.pc(), TracingMemory::from_image(from.memory));
                let time = memory.timestamp();
                let state = VmState::new(pc, memory, from.streams, from.rng);
                let mut state = VmExecState::new(state, ctx);
                interpreter.reset_execution_frequencies();
                interpreter.execute_from_state(&mut state).unwrap();
                let touched_memory = state.vm_state.memory.finalize::<F>();
                let end = state.vm_state;
                let expected = Output {
                    system_records: SystemRecords {
                        from_state: ExecutionState::new(pc, time),
                        to_state: ExecutionState::new(end.pc(), end.memory.timestamp()),
                        exit_code: state.exit_code.unwrap(),
                        filtered_exec_frequencies: interpreter.filtered_execution_frequencies(),
                        touched_memory,
                    },
                    record_arenas: state.ctx.arenas,
                    to_state: VmState::new(end.pc(), end.memory.data, end.streams, end.rng),
                };
                assert_same(&got.unwrap(), &expected);
            }
        }
    }
}

/// Instructions in front of an end, a jump, a gap and the end of the code, as many as blocks have and more.
#[test]
fn blocks_of_any_length_are_executed() {
    /// No AIR of the system.
    const AIR: usize = 4;
    let config = config();
    let system = &config.system.config;
    for length in (0..4).chain(110..130).chain(230..250u32) {
        for last in 0..4 {
            let mut code = vec![addi(8, 8, 1); length as usize];
            match last {
                0 => code.push(terminate(0)),
                1 => code.extend([jal(0, 8), addi(8, 8, 1), terminate(0)]),
                2 => code.extend([addi(8, 8, 1), terminate(0)]),
                _ => {}
            }
            let mut code = config.transpiler().transpile(&code).expect("RISC-V");
            if last == 2 {
                code[length as usize] = None;
            }
            let program = Program::new_without_debug_infos_with_option(&code, TEXT);
            let exe = VmExe::new(program).with_pc_start(TEXT);
            let executors = executors(&config, &exe).unwrap();
            let airs = vec![AIR; executors.executors.len()];
            let program = decoded(&executors, &exe, airs.clone()).unwrap();
            let rows = Rows::new(vec![0; 8], &system.memory_config);
            let mut execution = Execution::new(&program, system, StdIn::default(), rows);
            let result = execution.run_to(u64::MAX);
            let executed = u64::from(length) + [1, 2, 1, 1][last];
            assert_eq!(result.is_ok(), last < 2, "{length}, {last}");
            assert_eq!(execution.executed(), executed, "{length}, {last}");
            let registers = execution.state().memory.memory.mem[1].as_slice();
            assert_eq!(registers[32..36], length.to_le_bytes(), "{length}, {last}");
            if last < 2 {
                assert_eq!(execution.exit_code(), Some(0));
                let mut heights = vec![0; 8];
                execution.rows().write_heights(&mut heights);
                assert_eq!(heights[AIR], length + [0, 1][last], "{length}, {last}");
            }
            assert!(Recorder::new(&executors, &exe, airs).is_ok());
        }
    }
}
