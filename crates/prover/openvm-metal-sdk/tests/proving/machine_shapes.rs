//! The ends of the ranges that a configuration's numbers may have: machines with them have keys of all extensions, and proofs.

use openvm_circuit::arch::{MemoryConfig, SystemConfig};
use openvm_metal_common::Device;
use openvm_metal_sdk::{parameters::toy_app, MetalSdk, ProveOptions, SdkError};
use openvm_sdk_config::SdkVmConfig;

use crate::{
    guest::{elf, sums},
    setup::input,
};

fn sdk(mut config: SdkVmConfig, change: impl Fn(&mut SystemConfig)) -> Result<MetalSdk, SdkError> {
    change(&mut config.system.config);
    MetalSdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .vm_config(config)
        .app_params(toy_app(22))
        .build()
}

/// Catches a number that is taken and then ends in a panic of OpenVM's libraries.
#[test]
fn ends_of_ranges_have_keys_and_proofs() {
    let memory = |change: fn(&mut MemoryConfig, usize), number| {
        move |system: &mut SystemConfig| change(&mut system.memory_config, number)
    };
    let pointers = |bits| {
        memory(
            |memory, bits| {
                memory.pointer_max_bits = bits;
                for space in &mut memory.addr_spaces {
                    space.num_cells = space.num_cells.min(1 << bits);
                }
            },
            bits,
        )
    };
    let spaces = |height| {
        memory(
            |memory, height| {
                memory.addr_space_height = height;
                let none = memory.addr_spaces[memory.addr_spaces.len() - 1];
                memory.addr_spaces.resize((1 << height) + 1, none);
            },
            height,
        )
    };
    let timestamps = |bits| memory(|memory, bits| memory.timestamp_max_bits = bits, bits);
    let limbs = |bits| memory(|memory, bits| memory.decomp = bits, bits);
    let degrees = |degree| move |system: &mut SystemConfig| system.max_constraint_degree = degree;
    let both = |change: &dyn Fn(&mut SystemConfig)| {
        let riscv = SdkVmConfig::builder()
            .system(Default::default())
            .rv32i(Default::default())
            .io(Default::default())
            .build()
            .optimize();
        let sdk_of_riscv = sdk(riscv, change)?;
        let program = elf(&sums(5));
        let options = ProveOptions::default();
        let (proof, _) = sdk_of_riscv.prove_app(program.clone(), input(), &options)?;
        sdk_of_riscv.verify_app(program, &proof)?;
        sdk(SdkVmConfig::standard(), change)?.app_pk()?;
        Ok::<_, SdkError>(())
    };
    type Change<'a> = (&'a str, &'a dyn Fn(&mut SystemConfig));
    let changes: [Change<'_>; 10] = [
        ("pointers of 24 bits", &pointers(24)),
        ("pointers of 30 bits", &pointers(30)),
        ("4 address spaces", &spaces(2)),
        ("256 address spaces", &spaces(8)),
        ("timestamps of 28 bits", &timestamps(28)),
        ("timestamps of 29 bits", &timestamps(29)),
        ("limbs of 16 bits", &limbs(16)),
        ("limbs of 20 bits", &limbs(20)),
        ("degree 3", &degrees(3)),
        ("degree 6", &degrees(6)),
    ];
    for (name, change) in changes {
        if let Err(error) = both(change) {
            panic!("{name}: {error}");
        }
    }
    let error = sdk(SdkVmConfig::riscv32(), pointers(31)).err();
    let error = error.expect("no such machine").to_string();
    assert!(
        error.contains("pointer_max_bits is 31, it has to be from 24 to 30"),
        "{error}"
    );
}
