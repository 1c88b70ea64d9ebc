//! Whole programs through OpenVM's virtual machine: the sparse system chips give the proving
//! contexts of the stock ones.

use openvm_circuit::{
    arch::{
        hasher::poseidon2::vm_poseidon2_hasher, instructions::exe::VmExe, MatrixRecordArena,
        PreflightExecutionOutput, Streams, VirtualMachine, VmBuilder, VmState, MERKLE_AIR_ID,
    },
    system::memory::{merkle::public_values::UserPublicValuesProof, online::GuestMemory, CHUNK},
};
use openvm_cpu_backend::CpuBackend;
use openvm_metal_sdk::system::{initial_memory_root, SparseSystemBuilder};
use openvm_sdk_config::{SdkVmConfig, SdkVmCpuBuilder};
use openvm_stark_backend::{
    prover::{AirProvingContext, ProvingContext},
    StarkEngine,
};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2Config, BabyBearPoseidon2CpuEngine},
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use crate::toy;

type Engine = BabyBearPoseidon2CpuEngine;
type Backend = CpuBackend<BabyBearPoseidon2Config>;
type Context = ProvingContext<Backend>;

/// RV32I with input and output: without M, whose lookup table is the tallest.
fn config() -> SdkVmConfig {
    let config = SdkVmConfig::builder().system(Default::default());
    let config = config.rv32i(Default::default()).io(Default::default());
    config.build().optimize()
}

fn engine() -> Engine {
    Engine::new(app_params_with_100_bits_security(18))
}

/// Results of a program's segments.
struct Run {
    contexts: Vec<Context>,
    public_values: UserPublicValuesProof<CHUNK, F>,
}

/// Runs programs one after another in one virtual machine, each cut into segments of `insns`
/// instructions. `give` says for which segments, but the first, the memory is given.
fn run<VB>(builder: VB, programs: &[VmExe<F>], insns: u64, give: impl Fn(usize) -> bool) -> Vec<Run>
where
    VB: VmBuilder<Engine, VmConfig = SdkVmConfig, RecordArena = MatrixRecordArena<F>>,
{
    let (mut vm, _) = VirtualMachine::new_with_keygen(engine(), builder, config()).unwrap();
    programs
        .iter()
        .map(|exe| run_program(&mut vm, exe, insns, &give))
        .collect()
}

fn run_program<VB>(
    vm: &mut VirtualMachine<Engine, VB>,
    exe: &VmExe<F>,
    insns: u64,
    give: impl Fn(usize) -> bool,
) -> Run
where
    VB: VmBuilder<Engine, VmConfig = SdkVmConfig, RecordArena = MatrixRecordArena<F>>,
{
    let program = vm.commit_program_on_device(&exe.program);
    vm.load_program(program);
    let metered = vm.metered_interpreter(exe).unwrap();
    let (segments, _) = metered
        .execute_metered(Streams::default(), vm.build_metered_ctx(exe))
        .unwrap();
    let [whole] = segments.as_slice() else {
        panic!("{} segments", segments.len());
    };
    let mut interpreter = vm.preflight_interpreter(exe).unwrap();
    let mut state: VmState<F, GuestMemory> = vm.create_initial_state(exe, Streams::default());
    let mut contexts = vec![];
    for start in (0..whole.num_insns).step_by(insns as usize) {
        if start == 0 || give(contexts.len()) {
            vm.transport_init_memory_to_device(&state.memory);
        }
        let insns = insns.min(whole.num_insns - start);
        let PreflightExecutionOutput {
            system_records,
            record_arenas,
            to_state,
        } = vm
            .execute_preflight(&mut interpreter, state, Some(insns), &whole.trace_heights)
            .unwrap();
        state = to_state;
        contexts.push(
            vm.generate_proving_ctx(system_records, record_arenas)
                .unwrap(),
        );
    }
    let system = &vm.config().system.config;
    let public_values = UserPublicValuesProof::compute(
        system.memory_config.memory_dimensions(),
        system.num_public_values,
        &vm_poseidon2_hasher(),
        &state.memory.memory,
        vm.memory_top_tree().unwrap(),
    );
    Run {
        contexts,
        public_values,
    }
}

fn commitments(ctx: &AirProvingContext<Backend>) -> Vec<[F; CHUNK]> {
    let cached = ctx.cached_mains.iter();
    cached.map(|cached| cached.commitment).collect()
}

fn assert_equal(got: &Run, expected: &Run) {
    assert_eq!(got.contexts.len(), expected.contexts.len());
    for (segment, (got, expected)) in got.contexts.iter().zip(&expected.contexts).enumerate() {
        assert_eq!(got.per_trace.len(), expected.per_trace.len());
        for ((air, got), (expected_air, expected)) in got.per_trace.iter().zip(&expected.per_trace)
        {
            assert_eq!(air, expected_air);
            let place = format!("segment {segment}, AIR {air}");
            assert!(got.common_main == expected.common_main, "{place}: trace");
            assert_eq!(got.public_values, expected.public_values, "{place}");
            assert_eq!(commitments(got), commitments(expected), "{place}");
        }
    }
    let (got, expected) = (&got.public_values, &expected.public_values);
    assert_eq!(got.proof, expected.proof);
    assert_eq!(got.public_values, expected.public_values);
    assert_eq!(got.public_values_commit, expected.public_values_commit);
}

/// On one thread, where the stock Poseidon2 trace has a fixed order.
fn on_one_thread(run: impl FnOnce() + Send) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(run)
}

#[test]
fn segments_of_two_programs_give_the_stock_contexts() {
    on_one_thread(|| {
        let config = config();
        let programs = [toy::small(&config, 30), toy::small(&config, 25)];
        // The second program, in the same machine, starts from another memory.
        let expected = run(SdkVmCpuBuilder, &programs, 70, |_| true);
        assert!(expected.iter().all(|run| run.contexts.len() >= 3));
        let sparse = SparseSystemBuilder(SdkVmCpuBuilder);
        for (name, give) in [("none", [false; 3]), ("some", [true, true, false])] {
            println!("memory given to {name} of the segments");
            let got = run(sparse, &programs, 70, |segment| give[segment % 3]);
            for (got, expected) in got.iter().zip(&expected) {
                assert_equal(got, expected);
            }
        }
    });
}

#[test]
#[should_panic(expected = "memory has to be given")]
fn a_program_after_another_needs_its_memory() {
    let config = config();
    let exe = toy::small(&config, 10);
    let builder = SparseSystemBuilder(SdkVmCpuBuilder);
    let (mut vm, _) = VirtualMachine::new_with_keygen(engine(), builder, config).unwrap();
    run_program(&mut vm, &exe, 1 << 20, |_| true);
    // A second run whose first segment is not given its memory.
    let mut interpreter = vm.preflight_interpreter(&exe).unwrap();
    let state = vm.create_initial_state(&exe, Streams::default());
    let heights = vec![1 << 10; vm.num_airs()];
    let out = vm
        .execute_preflight(&mut interpreter, state, Some(5), &heights)
        .unwrap();
    let _ = vm.generate_proving_ctx(out.system_records, out.record_arenas);
}

/// A program whose memory the stock chips would hash up to 64 MiB: its roots against commitments
/// and a public value.
#[test]
fn a_word_at_64_mib() {
    let config = config();
    let exe = toy::word_at_64_mib(&config);
    let runs = run(
        SparseSystemBuilder(SdkVmCpuBuilder),
        std::slice::from_ref(&exe),
        10,
        |_| false,
    );
    let system = &config.system.config.memory_config;
    let segments = &runs[0].contexts;
    assert_eq!(segments.len(), 3);
    let mut root = initial_memory_root(system, &exe.init_memory).unwrap();
    for segment in segments {
        let (_, merkle) = segment
            .per_trace
            .iter()
            .find(|(air, _)| *air == MERKLE_AIR_ID)
            .unwrap();
        let (first, last) = merkle.public_values.split_at(CHUNK);
        assert_eq!(first, root);
        root = last.try_into().unwrap();
    }
    let values = &runs[0].public_values;
    let dimensions = system.memory_dimensions();
    values
        .verify(&vm_poseidon2_hasher(), dimensions, root)
        .unwrap();
    assert_eq!(values.public_values[0], F::from_u8(5 + 77));
}
