//! The configuration against OpenVM's own.

use openvm_circuit::arch::{
    instructions::{exe::VmExe, VmOpcode},
    VmExecutor,
};
use openvm_sdk_config::TranspilerConfig;

use super::*;

/// Catches an extension in another place, which would give its records to another chip, and one that is missing.
#[test]
fn executors_are_openvm_s_in_its_order() {
    for config in [SdkVmConfig::standard(), SdkVmConfig::riscv32()] {
        let theirs = VmExecutionConfig::<F>::create_executors(&config).expect("executors");
        let ours = GuestConfig::new(config, &Program::<F>::from_instructions(&[]));
        let ours = ours.create_executors().expect("executors");
        assert_eq!(ours.executors.len(), theirs.executors.len());
        let numbers = |lookup: &rustc_hash::FxHashMap<VmOpcode, u32>| {
            let mut numbers: Vec<_> = lookup
                .iter()
                .map(|(code, id)| (code.as_usize(), *id))
                .collect();
            numbers.sort();
            numbers
        };
        // The checks have an instruction of their own, for traps.
        let mut known = ours.instruction_lookup;
        known.retain(|code, _| theirs.instruction_lookup.contains_key(code));
        assert_eq!(numbers(&known), numbers(&theirs.instruction_lookup));
    }
}

/// Catches random hints that differ from OpenVM's: the same program would reveal something else there.
#[test]
fn random_hints_are_openvm_s() {
    // x8 = 4; x6 = 0x300000; as many words of random hints as x8 has; as many to memory at x6; the end.
    let code = [
        0x0040_0413,
        0x0030_0337,
        0x0000_300b | 8 << 7 | 2 << 20,
        0x0000_100b | 6 << 7 | 8 << 15 | 1 << 20,
        0x0000_000b,
    ];
    let config = SdkVmConfig::riscv32();
    let code = config.transpiler().transpile(&code).expect("known words");
    let code: Vec<_> = code.into_iter().flatten().collect();
    let exe = VmExe::new(Program::from_instructions(&code));
    let theirs = VmExecutor::<F, _>::new(config.clone()).expect("an executor");
    let theirs = theirs.instance(&exe).expect("an instance");
    let theirs = theirs.execute(vec![], None).expect("it ends");
    let ours =
        VmExecutor::<F, _>::new(GuestConfig::new(config, &exe.program)).expect("an executor");
    let ours = ours.instance(&exe).expect("an instance");
    let ours = ours.execute(vec![], None).expect("it ends");
    let [ours, theirs] = [ours, theirs]
        .map(|state| state.memory.memory.mem[MEMORY].as_slice()[0x0030_0000..0x0030_0020].to_vec());
    assert_eq!(ours, theirs);
    assert!(ours[..16].iter().any(|&byte| byte != 0), "no hints");
    assert!(ours[16..].iter().all(|&byte| byte == 0), "more hints");
}
