//! Mistakes of users: a typed error that says what to do, never a panic.

use openvm_continuations::CommitBytes;
use openvm_metal_backend::MetalProverError;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    decode_elf, parameters::toy_app, Access, Fault, MetalSdk, ProveOptions, Sdk, SdkError,
};
use openvm_sdk::{config::AppConfig, StdIn, F};
use openvm_sdk_config::{
    deferral::{DeferralCircuitConfig, DeferralConfig, SupportedDeferral},
    SdkVmConfig,
};
use openvm_stark_sdk::config::{app_params_with_100_bits_security, MAX_APP_LOG_STACKED_HEIGHT};
use p3_field::PrimeCharacteristicRing as _;

use crate::{
    guest::{elf, elf_bytes, endless, keccak, sum, sums, wants_input, wild_load},
    riscv::{terminate, TEXT},
    setup::{agg_params, app_params, builder, input, sdk, vm_config},
};

fn execute(code: &[u32], input: StdIn, bound: u64) -> SdkError {
    let options = ProveOptions::default().with_max_instructions(bound);
    let executed = sdk().execute(elf(code), input.clone(), &options);
    let executed = executed.expect_err("the guest fails when it is executed");
    let proved = sdk().prove_app(elf(code), input, &options);
    let proved = proved.err().expect("the guest fails when it is proved");
    assert_eq!(
        std::mem::discriminant(&executed),
        std::mem::discriminant(&proved),
        "{executed}, but {proved}"
    );
    executed
}

#[test]
fn guests_that_fail() {
    let any = u64::MAX >> 1;
    let error = execute(&[terminate(3)], StdIn::default(), any);
    assert!(
        matches!(error, SdkError::GuestExit { code: 3, .. }),
        "{error}"
    );

    let error = execute(&wants_input(), StdIn::default(), any);
    assert!(
        matches!(error, SdkError::InputExhausted { given: 0, .. }),
        "{error}"
    );

    let error = execute(&endless(), StdIn::default(), 10_000);
    assert!(
        matches!(error, SdkError::InstructionBound { bound: 10_000, .. }),
        "{error}"
    );

    let error = execute(&wild_load(), StdIn::default(), any);
    let memory = Fault::OutsideMemory {
        access: Access::Reads,
        address: u32::MAX - 15,
        bytes: 4,
        size: 1 << 29,
    };
    assert!(
        matches!(&error, SdkError::GuestFault { fault, .. } if *fault == memory),
        "{error}"
    );

    // Threads that wait for segments to aggregate are told, too.
    let options = ProveOptions::default();
    let error = sdk().prove(elf(&[terminate(3)]), StdIn::default(), &options);
    assert!(matches!(
        error.err(),
        Some(SdkError::GuestExit { code: 3, .. })
    ));

    // After all that, the same SDK proves a guest that is fine.
    let (proof, _) = sdk().prove_app(elf(&sums(5)), input(), &options).unwrap();
    sdk().verify_app(elf(&sums(5)), &proof).unwrap();
}

#[test]
fn executables_that_do_not_fit() {
    let error = decode_elf(b"not an ELF").unwrap_err();
    assert!(matches!(error, SdkError::Elf(_)), "{error}");
    let mut x86 = elf_bytes(&[terminate(0)]);
    x86[18..20].copy_from_slice(&62u16.to_le_bytes());
    assert!(matches!(decode_elf(&x86), Err(SdkError::Elf(_))));

    let error = sdk().executable(elf(&keccak())).unwrap_err();
    let named = |error: &SdkError| {
        matches!(
            error,
            SdkError::UnknownInstruction {
                extension: Some("keccak"),
                pc: TEXT,
                ..
            }
        )
    };
    assert!(named(&error), "{error}");

    // An executable that was made with the extension.
    let with = AppConfig::new(
        SdkVmConfig::builder()
            .system(Default::default())
            .rv32i(Default::default())
            .io(Default::default())
            .keccak(Default::default())
            .build(),
        app_params(),
    );
    let with: MetalSdk = Sdk::builder(Device::Cpu).app_config(with).build().unwrap();
    let exe = with.executable(elf(&keccak())).unwrap();
    let error = sdk().executable(exe.clone()).unwrap_err();
    assert!(error.to_string().contains("keccak"), "{error}");

    let mut outside = exe.as_ref().clone();
    outside.init_memory.insert((2, u32::MAX), 1);
    assert!(matches!(
        with.executable(outside),
        Err(SdkError::Executable(_))
    ));
    let mut empty = exe.as_ref().clone();
    empty.program.instructions_and_debug_infos.clear();
    assert!(matches!(
        with.executable(empty),
        Err(SdkError::Executable(_))
    ));
}

#[test]
fn keys_and_parameters_that_do_not_go_together() {
    let mut odd = agg_params();
    odd.internal.whir.folding_pow_bits = 0;
    let sdk_odd: MetalSdk = Sdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .vm_config(vm_config())
        .app_params(app_params())
        .agg_params(odd)
        .build()
        .unwrap();
    let error = sdk_odd.agg_vk().unwrap_err();
    assert!(matches!(error, SdkError::Config(_)), "{error}");

    // The application key of one configuration with the settings of another.
    let key = sdk().app_pk().unwrap().as_ref().clone();
    let error = builder::<openvm_metal_sdk::engine::MetalEngine>(Device::Cpu)
        .app_pk(key.clone())
        .app_params(toy_app(19))
        .build();
    assert!(matches!(error.err(), Some(SdkError::ForeignKey { .. })));
    let error = Sdk::<openvm_metal_sdk::engine::MetalEngine>::builder(Device::Cpu)
        .vm_config(SdkVmConfig::riscv32())
        .app_pk(key)
        .build();
    assert!(matches!(error.err(), Some(SdkError::ForeignKey { .. })));

    let error =
        Sdk::<openvm_metal_sdk::engine::MetalEngine>::builder(Device::Cpu).toml("[app_vm_config");
    assert!(matches!(error.err(), Some(SdkError::Config(_))));
}

#[test]
fn a_proof_of_another_program_is_rejected() {
    let options = ProveOptions::default();
    let proved = sdk().prove(elf(&sums(7)), input(), &options).unwrap();
    let other = sdk().baseline(elf(&sums(8))).unwrap();
    let error = sdk().verify(&other, &proved.proof).unwrap_err();
    assert!(matches!(error, SdkError::Rejected(_)), "{error}");
}

/// A proof that does not fit is refused with the numbers. Budgets are per process, so another one tries.
#[test]
fn too_little_memory() {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bad_input::in_a_small_budget", "--ignored"])
        .env(openvm_metal_common::BUDGET_VARIABLE, "64M")
        .output()
        .unwrap();
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stdout)
    );
}

#[test]
#[ignore = "too_little_memory runs it in a process with a small budget"]
fn in_a_small_budget() {
    let options = ProveOptions::default();
    let error = sdk().prove_app(elf(&sums(5)), input(), &options);
    let error = error.err().expect("64 MiB are too little");
    let SdkError::Engine { source, .. } = &error else {
        panic!("{error}");
    };
    assert!(source.downcast_ref::<MetalProverError>().is_some());
    let text = error.to_string();
    assert!(text.contains("67108864"), "{text}");
}

/// Programs that defer to other circuits are not aggregated without these: said before anything is proved.
#[test]
fn deferral_circuits_that_are_not_given() {
    let circuit = DeferralCircuitConfig {
        def_type: SupportedDeferral::VerifyStark,
        commit: CommitBytes::from([F::ONE; 8]),
    };
    let config = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .io(Default::default())
        .deferral(DeferralConfig::new(vec![circuit]))
        .build()
        .optimize();
    let sdk: MetalSdk = Sdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .vm_config(config)
        .app_params(app_params())
        .agg_params(agg_params())
        .build()
        .unwrap();
    let options = ProveOptions::default();
    let aggregated = sdk.prove(elf(&sums(5)), input(), &options).err();
    for error in [aggregated, sdk.agg_vk().err(), sdk.agg_pk().err()] {
        let error = error.expect("the circuits are missing");
        assert!(matches!(error, SdkError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("deferral"), "{error}");
    }
}

/// The configurations by name are the stock SDK's, with its parameters.
#[test]
fn configurations_by_name() {
    let ours = [
        MetalSdk::riscv32(Device::Cpu),
        MetalSdk::standard(Device::Cpu),
    ];
    let theirs = [AppConfig::riscv32, AppConfig::standard];
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        let ours = ours.unwrap();
        let theirs = theirs(app_params_with_100_bits_security(
            MAX_APP_LOG_STACKED_HEIGHT,
        ));
        let own = ours.app_config();
        let toml = |config: &SdkVmConfig| config.to_toml().unwrap();
        assert_eq!(toml(&own.app_vm_config), toml(&theirs.app_vm_config));
        assert_eq!(own.system_params, theirs.system_params);
        let options = ProveOptions::default();
        let values = ours.execute(elf(&sums(7)), input(), &options).unwrap();
        assert_eq!(values[..4], sum(7).to_le_bytes());
    }
    // Extensions that only the second has.
    let [riscv32, standard] = [MetalSdk::riscv32, MetalSdk::standard].map(|f| f(Device::Cpu));
    assert!(riscv32.unwrap().executable(elf(&keccak())).is_err());
    standard.unwrap().executable(elf(&keccak())).unwrap();
}
