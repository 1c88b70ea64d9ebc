//! Processor time and memory of the memory chips: OpenVM's, or the sparse ones.
//!
//! `memory_tree stock|sparse word|small [SEGMENTS]` runs one program through preflight and trace
//! generation; `memory_tree app word|small` proves it on the CPU device with toy parameters. One
//! process for each figure of memory.

#[path = "../tests/riscv/mod.rs"]
mod riscv;
#[allow(dead_code, reason = "of the tests' settings, only some are used here")]
#[path = "../tests/proving/setup.rs"]
mod setup;
#[path = "../tests/toy/mod.rs"]
mod toy;
#[path = "support/usage.rs"]
mod usage;

use openvm_circuit::arch::{
    instructions::exe::VmExe, MatrixRecordArena, Streams, VirtualMachine, VmBuilder,
};
use openvm_metal_common::Device;
use openvm_metal_sdk::{engine::MetalEngine, system::SparseSystemBuilder, ProveOptions};
use openvm_sdk::StdIn;
use openvm_sdk_config::{SdkVmConfig, SdkVmCpuBuilder};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, baby_bear_poseidon2::BabyBearPoseidon2CpuEngine,
};
use p3_baby_bear::BabyBear as F;
use usage::Phases;

type Engine = BabyBearPoseidon2CpuEngine;

fn executable(config: &SdkVmConfig, program: &str) -> VmExe<F> {
    match program {
        "word" => toy::word_at_64_mib(config),
        "small" => toy::small(config, 1000),
        other => panic!("unknown program {other}: word or small"),
    }
}

fn prove_app(program: &str) {
    let exe = executable(&setup::vm_config(), program);
    let mut phases = Phases::start();
    let sdk = setup::builder::<MetalEngine>(Device::Cpu).build().unwrap();
    phases.end("settings");
    let proved = sdk.prove_app(exe, StdIn::default(), &ProveOptions::default());
    println!("{} segments", proved.unwrap().0.per_segment.len());
    phases.end("keys, commitment of the program, proof");
}

fn run<VB>(builder: VB, program: &str, segments: u64)
where
    VB: VmBuilder<Engine, VmConfig = SdkVmConfig, RecordArena = MatrixRecordArena<F>>,
{
    let config = SdkVmConfig::riscv32();
    let exe = executable(&config, program);
    let engine = Engine::new(app_params_with_100_bits_security(20));
    let (mut vm, _) = VirtualMachine::new_with_keygen(engine, builder, config).unwrap();
    let committed = vm.commit_program_on_device(&exe.program);
    vm.load_program(committed);
    let metered = vm.metered_interpreter(&exe).unwrap();
    let (whole, _) = metered
        .execute_metered(Streams::default(), vm.build_metered_ctx(&exe))
        .unwrap();
    let whole = &whole[0];
    let mut interpreter = vm.preflight_interpreter(&exe).unwrap();
    let mut state = vm.create_initial_state(&exe, Streams::default());

    let mut phases = Phases::start();
    let insns = whole.num_insns.div_ceil(segments);
    for start in (0..whole.num_insns).step_by(insns as usize) {
        println!("segment of instructions from {start} on");
        vm.transport_init_memory_to_device(&state.memory);
        phases.end("  initial memory");
        let insns = insns.min(whole.num_insns - start);
        let out = vm
            .execute_preflight(&mut interpreter, state, Some(insns), &whole.trace_heights)
            .unwrap();
        phases.end("  preflight");
        state = out.to_state;
        vm.generate_proving_ctx(out.system_records, out.record_arenas)
            .unwrap();
        phases.end("  all traces");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (chips, program) = match args.as_slice() {
        [chips, program, ..] => (chips.as_str(), program),
        _ => panic!("usage: memory_tree stock|sparse|app word|small [SEGMENTS]"),
    };
    let segments = args
        .get(2)
        .map_or(1, |count| count.parse().expect("SEGMENTS"));
    match chips {
        "stock" => run(SdkVmCpuBuilder, program, segments),
        "sparse" => run(SparseSystemBuilder(SdkVmCpuBuilder), program, segments),
        "app" => prove_app(program),
        other => panic!("unknown chips {other}: stock or sparse, or app for a proof"),
    }
}
