//! Programs at the edges of the machine: each is refused, or ends with one typed error at one place, however it is executed.

use std::ops::Range;

use openvm_circuit::arch::instructions::{exe::VmExe, instruction::Instruction, VmOpcode};
use openvm_continuations::CommitBytes;
use openvm_metal_sdk::{
    decode_elf, digest, executable, executable_with, ignored_traps, ignored_traps_of_elf, replay,
    Access, Fault, ProveOptions, SdkError, Traps,
};
use openvm_sdk::{StdIn, F};
use openvm_sdk_config::{
    deferral::{DeferralCircuitConfig, DeferralConfig, SupportedDeferral},
    SdkVmConfig,
};
use p3_field::PrimeCharacteristicRing as _;

use crate::{
    guest::{elf, elf_bytes, elf_bytes_at},
    riscv::{
        add, addi, auipc, b_type, hint_buffer, hint_input, hint_word, i_type, jal, jalr, lui, lw,
        print, r_type, reveal, reveal_at, s_type, sw, terminate, CUSTOM, TEXT,
    },
    setup::{sdk, vm_config},
};

/// `unimp`, which `abort` compiles to.
const UNIMP: u32 = 0xc000_1073;

const MEMORY: u32 = 1 << 29;

fn run(config: &SdkVmConfig, code: &[u32], input: StdIn) -> Result<Vec<u8>, SdkError> {
    let exe = executable(config, elf(code))?;
    let sdk = openvm_metal_sdk::MetalSdk::builder(openvm_metal_common::Device::Cpu)
        .vm_config(config.clone())
        .build()?;
    sdk.execute(exe, input, &ProveOptions::default())
}

/// Executes a guest purely, metered, and step by step: all say the same. Its instruction at `place` fails.
fn fails(code: &[u32], place: usize) -> SdkError {
    let options = ProveOptions::default();
    let exe = sdk().executable(elf(code)).expect("an executable");
    let input = StdIn::from_bytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
    let pure = sdk().execute(exe.clone(), input.clone(), &options);
    let pure = pure.expect_err("it fails");
    let metered = sdk().execute_metered(exe.clone(), input.clone(), &options);
    let metered = metered.err().expect("it fails");
    let step = replay(&vm_config(), &exe, input, 1000, 4, &()).expect("it ends");
    let again = step.error.expect("it fails");
    assert_eq!(pure.to_string(), metered.to_string());
    assert_eq!(pure.to_string(), again.to_string());
    assert_eq!(pure.pc(), Some(TEXT + 4 * place as u32), "{pure}");
    assert_eq!(step.pc, TEXT + 4 * place as u32);
    pure
}

fn fault(code: &[u32], place: usize) -> Fault {
    match fails(code, place) {
        SdkError::GuestFault { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

/// Pure execution without the checks rounds such an address down, and the preflight of a proof panics.
#[test]
fn memory_that_circuits_do_not_take() {
    let load = |funct3: u32, imm: i32| i_type(3, funct3, 12, 11, imm);
    let store = |funct3: u32, imm: i32| s_type(funct3, 11, 12, imm);
    let base = addi(11, 0, 0x100);
    for (word, access, address, bytes) in [
        (load(2, 1), Access::Reads, 0x101, 4),
        (load(2, 2), Access::Reads, 0x102, 4),
        (load(2, -1), Access::Reads, 0xff, 4),
        (load(1, 1), Access::Reads, 0x101, 2),
        (load(1, 3), Access::Reads, 0x103, 2),
        (load(5, -1), Access::Reads, 0xff, 2),
        // Into x0: the address is checked all the same.
        (i_type(3, 2, 0, 11, 1), Access::Reads, 0x101, 4),
        (store(2, 3), Access::Writes, 0x103, 4),
        (store(1, 1), Access::Writes, 0x101, 2),
    ] {
        let align = bytes;
        let expected = Fault::Misaligned {
            access,
            address,
            bytes,
            align,
        };
        assert_eq!(fault(&[base, word, terminate(0)], 1), expected);
    }
    // One past the end, the last address of 32 bits, and one below the start.
    for (upper, imm) in [(MEMORY >> 12, 0), (0, -4), (0x80000, 0)] {
        let address = (upper << 12).wrapping_add_signed(imm);
        for (word, access, bytes) in [
            (load(2, imm), Access::Reads, 4),
            (load(1, imm), Access::Reads, 2),
            (load(5, imm), Access::Reads, 2),
            (load(0, imm), Access::Reads, 1),
            (load(4, imm), Access::Reads, 1),
            (store(2, imm), Access::Writes, 4),
            (store(1, imm), Access::Writes, 2),
            (store(0, imm), Access::Writes, 1),
        ] {
            let expected = Fault::OutsideMemory {
                access,
                address,
                bytes,
                size: MEMORY,
            };
            assert_eq!(fault(&[lui(11, upper), word, terminate(0)], 1), expected);
        }
    }
}

/// The same instructions at the last places that there are, which have values.
#[test]
fn memory_at_its_ends() {
    let code = [
        lui(11, MEMORY >> 12),
        addi(12, 0, -2),
        sw(12, 11, -4),
        s_type(1, 11, 0, -2),
        s_type(0, 11, 0, -3),
        lw(13, 11, -4),
        reveal(13, 28),
        i_type(3, 1, 13, 11, -2),
        reveal(13, 24),
        i_type(3, 4, 13, 11, -4),
        reveal(13, 20),
        lw(13, 0, 0),
        reveal(13, 0),
        terminate(0),
    ];
    let values = sdk()
        .execute(elf(&code), StdIn::default(), &ProveOptions::default())
        .expect("it ends");
    assert_eq!(values[28..], [0xfe, 0, 0, 0]);
    assert_eq!(values[24..28], [0; 4]);
    assert_eq!(values[20..24], [0xfe, 0, 0, 0]);
}

#[test]
fn public_values_hints_and_prints() {
    let reveals = |offset: i32| [addi(11, 0, offset), reveal_at(11, 0, 0), terminate(0)];
    for offset in [32, 36, 1024] {
        let expected = Fault::OutsidePublicValues {
            offset: offset as u32,
            bytes: 4,
            size: 32,
        };
        assert_eq!(fault(&reveals(offset), 1), expected);
    }
    assert!(fails(&reveals(32), 1)
        .to_string()
        .contains("byte 32 of the public values, of which there are 32"));
    let expected = Fault::MisalignedReveal {
        offset: 2,
        bytes: 4,
        align: 4,
    };
    assert_eq!(fault(&reveals(2), 1), expected);
    assert!(matches!(
        fault(&reveals(-4), 1),
        Fault::OutsidePublicValues { .. }
    ));

    let misaligned = |address, bytes| Fault::Misaligned {
        access: Access::Writes,
        address,
        bytes,
        align: 4,
    };
    let word = [
        hint_input(),
        addi(11, 0, 0x102),
        hint_word(11),
        terminate(0),
    ];
    assert_eq!(fault(&word, 2), misaligned(0x102, 4));
    let words = |pointer: u32, count: i32| {
        [
            hint_input(),
            pointer,
            addi(12, 0, count),
            hint_buffer(11, 12),
            terminate(0),
        ]
    };
    assert_eq!(
        fault(&words(addi(11, 0, 0x101), 2), 3),
        misaligned(0x101, 8)
    );
    let near_the_end = [
        hint_input(),
        lui(11, MEMORY >> 12),
        addi(11, 11, -4),
        addi(12, 0, 2),
        hint_buffer(11, 12),
        terminate(0),
    ];
    let outside = Fault::OutsideMemory {
        access: Access::Writes,
        address: MEMORY - 4,
        bytes: 8,
        size: MEMORY,
    };
    assert_eq!(fault(&near_the_end, 4), outside);
    for count in [0, 1024, -1] {
        let expected = Fault::HintWords {
            words: count as u32,
            most: 1023,
        };
        assert_eq!(fault(&words(addi(11, 0, 0x100), count), 3), expected);
    }
    // More than the input: that is another error.
    let more = fails(&words(addi(11, 0, 0x100), 9), 3);
    assert!(matches!(more, SdkError::InputExhausted { .. }), "{more}");

    let prints = [
        lui(11, MEMORY >> 12),
        addi(12, 0, 1),
        print(11, 12),
        terminate(0),
    ];
    assert!(matches!(fault(&prints, 2), Fault::OutsideMemory { .. }));
    let random = [lui(11, 0x80000), i_type(CUSTOM, 3, 11, 0, 2), terminate(0)];
    assert!(matches!(fault(&random, 1), Fault::RandomWords { .. }));
}

/// OpenVM's interpreter rounds the target of a jump down, and the proof's interactions do not balance.
#[test]
fn jumps_without_a_target() {
    let misaligned = |target| Fault::MisalignedJump { target };
    let outside = |target| Fault::OutsideCode { target };
    // Far and near, over the program's end and before its start.
    let end = TEXT + 4 * 4;
    let to = |target: u32| {
        vec![
            lui(11, target.wrapping_add(0x800) >> 12),
            addi(11, 11, (target as i32) << 20 >> 20),
            jalr(1, 11, 0),
            terminate(0),
        ]
    };
    for target in [TEXT + 2, TEXT + 14, 2, MEMORY * 2 + 2] {
        assert_eq!(fault(&to(target), 2), misaligned(target));
    }
    for target in [0, TEXT - 4, end, MEMORY, MEMORY * 2, u32::MAX - 3] {
        assert_eq!(fault(&to(target), 2), outside(target));
    }
    let odd = [auipc(11, 0), jalr(0, 11, 9), terminate(0)];
    sdk()
        .execute(elf(&odd), StdIn::default(), &ProveOptions::default())
        .expect("the lowest bit of a target is cleared");

    let far = -4096;
    for (word, target) in [
        (jal(1, 6), misaligned(TEXT + 10)),
        (jal(0, -2), misaligned(TEXT + 2)),
        (jal(0, 4096), outside(TEXT + 4 + 4096)),
        (jal(0, -8), outside(TEXT - 4)),
        (b_type(0, 0, 0, 6), misaligned(TEXT + 10)),
        (
            b_type(5, 0, 0, far),
            outside((TEXT + 4).wrapping_add_signed(far)),
        ),
        (b_type(7, 0, 0, 16), outside(TEXT + 20)),
    ] {
        let code = [addi(11, 0, 1), word, terminate(0)];
        assert_eq!(fault(&code, 1), target);
    }
    // Branches that are not taken have no target.
    for funct3 in [1, 4, 6] {
        let code = [
            b_type(funct3, 0, 0, 6),
            b_type(funct3, 0, 0, far),
            terminate(0),
        ];
        sdk()
            .execute(elf(&code), StdIn::default(), &ProveOptions::default())
            .expect("it goes on");
    }
}

/// OpenVM's interpreter adds the offset of such a branch as it is, and goes on at an instruction that the proof does not have.
#[test]
fn branches_of_256_bits_without_a_target() {
    let config = SdkVmConfig::standard();
    // A branch of the base with another major opcode. Both registers point at 0, unless the second points at `other`.
    let beq256 = |offset: i32| b_type(6, 11, 12, offset) & !0x7f | CUSTOM;
    let other = 0x500;
    let code = |second: i32, offset: i32| {
        [
            addi(11, 0, 0x400),
            addi(12, 0, second),
            sw(11, 0, other),
            beq256(offset),
            terminate(0),
        ]
    };
    let branch = TEXT + 4 * 3;
    let end = |second, offset| run(&config, &code(second, offset), StdIn::default());
    let refused = |second, offset: i32| {
        let error = end(second, offset).expect_err("no target");
        assert_eq!(error.pc(), Some(branch), "{error}");
        match error {
            SdkError::GuestFault { fault, .. } => fault,
            other => panic!("{other}"),
        }
    };
    for offset in [6, -2, 2048, -4096, 8] {
        let target = branch.wrapping_add_signed(offset);
        let expected = match target % 4 {
            0 => Fault::OutsideCode { target },
            _ => Fault::MisalignedJump { target },
        };
        assert_eq!(refused(0x600, offset), expected);
        // Not taken, there is no target; pointers are checked all the same.
        end(other, offset).expect("it goes on");
        assert!(matches!(refused(0x402, offset), Fault::Misaligned { .. }));
    }
    end(0x600, 4).expect("the next instruction");
}

#[test]
fn ends_of_a_guest() {
    let code = [addi(11, 0, 1), add(11, 11, 11)];
    assert_eq!(fault(&code, 2), Fault::NoInstruction);
    // A branch to the next instruction ends there too, whether it is taken or not.
    for funct3 in [0, 1] {
        let code = [addi(11, 0, 1), b_type(funct3, 0, 0, 4)];
        assert_eq!(fault(&code, 2), Fault::NoInstruction);
    }
    for code in [1, 2, 3, 255] {
        let error = fails(&[addi(11, 0, 1), terminate(code)], 1);
        assert!(
            matches!(error, SdkError::GuestExit { code: c, .. } if c == code as u32),
            "{error}"
        );
    }
    // The bound counts the instruction that ends the guest, in pure execution as when segments are cut.
    let code = [addi(11, 0, 1), add(11, 11, 11), terminate(0)];
    let bound = |n| ProveOptions::default().with_max_instructions(n);
    let exe = sdk().executable(elf(&code)).expect("an executable");
    for n in [1, 2] {
        let pure = sdk().execute(exe.clone(), StdIn::default(), &bound(n));
        let metered = sdk().execute_metered(exe.clone(), StdIn::default(), &bound(n));
        for error in [pure.err(), metered.err()] {
            assert!(matches!(error, Some(SdkError::InstructionBound { .. })));
        }
    }
    sdk()
        .execute(exe.clone(), StdIn::default(), &bound(3))
        .expect("three instructions");
    sdk()
        .execute_metered(exe, StdIn::default(), &bound(3))
        .expect("three instructions");
}

/// OpenVM's transpiler makes a no-op of `unimp`: a guest that aborts goes on, and the proof of what it then reveals is accepted.
#[test]
fn traps_end_the_guest() {
    let traps = [
        UNIMP,
        0x1073,      // csrrw x0, 0, x0
        0x3000_1073, // csrrw x0, mstatus, x0
        0x0000_0073, // ecall
        0x0010_0073, // ebreak
        0xc000_2573, // csrrs x10, cycle, x0
        0x3005_1073, // csrrw x0, mstatus, x10
        0x3020_0073, // mret
        0x1050_0073, // wfi
    ];
    for trap in traps {
        let code = [addi(11, 0, 1), trap, reveal(11, 0), terminate(0)];
        let error = fails(&code, 1);
        assert!(
            matches!(error, SdkError::GuestExit { code: 2, .. }),
            "{trap:#x}: {error}"
        );
        assert!(error.to_string().contains("abort"), "{error}");
        assert!(error.to_string().contains("no system calls"), "{error}");

        // By the other rule, only some are ignored.
        let exe = executable_with(&vm_config(), elf(&code), Traps::AsCargoOpenvm).expect("one");
        let ignored = usize::from(trap & 0xf_ffff == 0x1073);
        assert_eq!(ignored_traps(&exe), ignored, "{trap:#x}");
        assert_eq!(ignored_traps_of_elf(&elf(&code)), ignored);
        let result = sdk().execute(exe, StdIn::default(), &ProveOptions::default());
        assert_eq!(result.is_ok(), ignored == 1, "{trap:#x}");
    }
    // A proof fails as an execution does, before anything is proved.
    let code = [UNIMP, terminate(0)];
    let proved = sdk().prove_app(elf(&code), StdIn::default(), &ProveOptions::default());
    assert!(matches!(
        proved.err(),
        Some(SdkError::GuestExit { code: 2, pc: TEXT })
    ));
    // Fences do nothing, and are no traps.
    let fence = [0x0ff0_000f, terminate(0)];
    let exe = executable(&vm_config(), elf(&fence)).expect("an executable");
    assert_eq!(ignored_traps(&exe), 0);
    sdk()
        .execute(exe, StdIn::default(), &ProveOptions::default())
        .expect("it ends");
}

/// Executables by cargo-openvm's rule, and by ours if there are no traps, are those of OpenVM's transpiler.
#[test]
fn executables_equal_those_of_openvm() {
    let config = SdkVmConfig::standard();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/guests");
    let mut with_traps = 0;
    for name in ["fibonacci", "sha256", "evm"] {
        let path = format!("{folder}/{name}/{name}.elf");
        let bytes = std::fs::read(path).expect("a file");
        let elf = decode_elf(&bytes).expect("an ELF");
        let openvm = by_openvm(&config, &bytes);
        let as_cargo = executable_with(&config, elf.clone(), Traps::AsCargoOpenvm).expect("one");
        assert_eq!(digest(&as_cargo), digest(&openvm), "{name}");
        let ours = executable(&config, elf.clone()).expect("an executable");
        assert_eq!(ignored_traps(&ours), 0);
        assert_eq!(ignored_traps(&openvm), ignored_traps_of_elf(&elf));
        assert_eq!(
            digest(&ours) == digest(&openvm),
            ignored_traps(&openvm) == 0,
            "{name}"
        );
        with_traps += usize::from(ignored_traps(&openvm) > 0);
    }
    assert!(with_traps > 0, "some guest aborts");
    let plain = elf_bytes(&[addi(11, 0, 1), reveal(11, 0), terminate(0)]);
    let ours = executable(&config, &plain[..]).expect("an executable");
    assert_eq!(digest(&ours), digest(&by_openvm(&config, &plain)));
}

fn by_openvm(config: &SdkVmConfig, bytes: &[u8]) -> VmExe<F> {
    use openvm_sdk_config::TranspilerConfig as _;
    use openvm_transpiler::{elf::Elf, openvm_platform::memory::MEM_SIZE, FromElf as _};
    let elf = Elf::decode(bytes, MEM_SIZE as u32).expect("an ELF");
    VmExe::from_elf(elf, config.transpiler()).expect("an executable")
}

#[test]
fn words_that_are_no_instructions() {
    let config = vm_config();
    let shift = |funct3: u32, imm: i32| i_type(0x13, funct3, 10, 10, imm);
    for (word, reason) in [
        (shift(1, 33), "shifts"),
        (shift(1, 0x400 + 1), "reserved"),
        (shift(5, 32 + 1), "shifts"),
        (shift(5, 0x400 + 33), "shifts"),
        (i_type(0x67, 1, 0, 1, 0), "reserved"),
        (0x0000_4501, "16"),
        (0, "32-bit"),
        (0x0000_100f, "not known"), // fence.i
        (0xffff_ffff, "not known"),
        (r_type(3, 0, 1, 2, 3), "not known"),
        (terminate(256), "0 to 255"),
        (terminate(-1), "0 to 255"),
        (0x0000_0053, "not known"), // fadd.s
        (0x0000_202f, "not known"), // an atomic
    ] {
        let code = [addi(11, 0, 1), word, terminate(0)];
        let error = executable(&config, elf(&code)).expect_err("no instruction");
        let SdkError::UnknownInstruction {
            pc, word: named, ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((pc, named), (TEXT + 4, word));
        let reason = if reason == "16" { "riscv32imc" } else { reason };
        assert!(error.to_string().contains(reason), "{word:#x}: {error}");
    }
    // By the other rule, OpenVM's transpiler decides: it drops the bit.
    let code = [addi(10, 0, 1), shift(1, 33), reveal(10, 0), terminate(0)];
    let exe = executable_with(&config, elf(&code), Traps::AsCargoOpenvm).expect("one");
    let values = sdk().execute(exe, StdIn::default(), &ProveOptions::default());
    assert_eq!(values.expect("it ends")[0], 2);
    // An exit code that does not fit a byte is none of it either.
    let code = [terminate(256)];
    assert!(executable_with(&config, elf(&code), Traps::AsCargoOpenvm).is_err());
}

#[test]
fn places_where_a_program_cannot_begin() {
    let good = executable(&vm_config(), elf(&[terminate(0)])).expect("an executable");
    let with = |change: fn(&mut VmExe<F>)| {
        let mut exe = good.as_ref().clone();
        change(&mut exe);
        executable(&vm_config(), exe)
            .expect_err("it cannot begin")
            .to_string()
    };
    assert!(with(|exe| exe.pc_start += 2).contains("no multiple of 4"));
    assert!(with(|exe| exe.pc_start += 4).contains("outside its code"));
    assert!(with(|exe| exe.program.pc_base -= 2).contains("no multiple of 4"));
    let mut bytes = elf_bytes(&[terminate(0), terminate(0)]);
    bytes[24] += 2;
    assert!(decode_elf(&bytes).is_err());
}

/// The instruction that writes the result of a deferred circuit: register 11 points at the place, register 12 at a commitment of 32 bytes
/// with the length of the result behind it.
#[test]
fn pointers_of_deferred_results() {
    const OUTPUT: usize = 0x801;
    let circuit = DeferralCircuitConfig {
        def_type: SupportedDeferral::VerifyStark,
        commit: CommitBytes::from([F::ONE; 8]),
    };
    let config = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .deferral(DeferralConfig::new(vec![circuit]))
        .build()
        .optimize();
    let fault = |output: u32, key: u32, length: u32| {
        let number = |rd: u32, value: u32| {
            let low = (value << 20) as i32 >> 20;
            [
                lui(rd, value.wrapping_sub(low as u32) >> 12),
                addi(rd, rd, low),
            ]
        };
        let length_at = [addi(14, 0, 0x400), sw(13, 14, 32)];
        let setup = [number(11, output), number(12, key), number(13, length)];
        let place = addi(0, 0, 0);
        let code = [&setup.concat()[..], &length_at, &[place, terminate(0)]].concat();
        let mut exe = executable(&config, elf(&code))
            .expect("an executable")
            .as_ref()
            .clone();
        let slot = exe.program.instructions_and_debug_infos[8].as_mut();
        let instruction = &mut slot.expect("an instruction").0;
        *instruction = Instruction {
            opcode: VmOpcode::from_usize(OUTPUT),
            a: F::from_u32(4 * 11),
            b: F::from_u32(4 * 12),
            c: F::ZERO,
            d: F::ONE,
            e: F::TWO,
            ..Instruction::default()
        };
        let exe = executable(&config, exe).expect("an executable");
        let sdk = openvm_metal_sdk::MetalSdk::builder(openvm_metal_common::Device::Cpu)
            .vm_config(config.clone())
            .build()
            .expect("an SDK");
        let error = sdk.execute(exe, StdIn::default(), &ProveOptions::default());
        let error = error.expect_err("there is no result");
        match error {
            SdkError::GuestFault { pc, fault } => {
                assert_eq!(pc, TEXT + 4 * 8);
                fault
            }
            other => panic!("{other}"),
        }
    };
    let misaligned = |access, address, bytes| Fault::Misaligned {
        access,
        address,
        bytes,
        align: 4,
    };
    let outside = |access, address, bytes| Fault::OutsideMemory {
        access,
        address,
        bytes,
        size: MEMORY,
    };
    let (reads, writes) = (Access::Reads, Access::Writes);
    assert_eq!(fault(0x800, 0x402, 8), misaligned(reads, 0x402, 40));
    let end = MEMORY - 36;
    assert_eq!(fault(0x800, end, 8), outside(reads, end, 40));
    assert_eq!(fault(0x801, 0x400, 8), misaligned(writes, 0x801, 8));
    assert_eq!(fault(0x800, 0x400, MEMORY), outside(writes, 0x800, MEMORY));
    assert_eq!(
        fault(0x800, 0x400, u32::MAX),
        outside(writes, 0x800, u32::MAX)
    );
    // Pointers that are right, also to no bytes at all: the commitment is unknown.
    for (output, length) in [(0x800, 8), (0x801, 0)] {
        let fault = fault(output, 0x400, length);
        assert!(matches!(fault, Fault::Operands { .. }), "{fault}");
    }
}

/// OpenVM's interpreters keep tables for all addresses below the code: gigabytes for a file of a few bytes.
#[test]
fn code_at_a_high_address_is_refused() {
    let at = |address: u32| {
        let image = elf_bytes_at(address, &[terminate(0)]);
        executable(&vm_config(), decode_elf(&image).expect("an ELF"))
    };
    at(1 << 26).expect("the highest address");
    for address in [(1 << 26) + 4, 0x1ff0_0000] {
        let error = at(address).expect_err("too high").to_string();
        assert!(error.contains(&format!("{address:#x}")), "{error}");
        assert!(error.contains("0x4000000 is supported"), "{error}");
    }
}

/// No word of RISC-V jumps by as much, but for -1 MiB; an executable of others may.
#[test]
fn jumps_that_no_circuit_takes() {
    const MIB: u32 = 1 << 20;
    let good = executable(&vm_config(), elf(&[jal(0, 4), terminate(0)])).expect("an executable");
    let with = |offset: F| {
        let mut exe = good.as_ref().clone();
        let slot = exe.program.instructions_and_debug_infos[0].as_mut();
        slot.expect("the jump").0.c = offset;
        executable(&vm_config(), exe)
    };
    let (minus, plus) = (-F::from_u32(MIB), F::from_u32(MIB));
    for offset in [minus, minus - F::ONE, plus, plus + F::from_u32(4)] {
        let error = with(offset).expect_err("no such jump").to_string();
        assert!(error.contains(&format!("{TEXT:#x}")), "{error}");
        assert!(error.contains("1 MiB"), "{error}");
    }
    for offset in [minus + F::from_u32(4), plus - F::from_u32(4)] {
        let exe = with(offset).expect("a jump");
        let error = sdk().execute(exe, StdIn::default(), &ProveOptions::default());
        let error = error.expect_err("outside of the code");
        assert!(matches!(error, SdkError::GuestFault { .. }), "{error}");
    }
}

/// Pointers of the extensions' instructions, in registers 11 (result), 12 and 13.
#[test]
fn pointers_of_extensions() {
    let config = SdkVmConfig::standard();
    let custom1 = |funct3: u32, funct7: u32, opcode: u32| {
        opcode | 11 << 7 | funct3 << 12 | 12 << 15 | 13 << 20 | funct7 << 25
    };
    const ALGEBRA: u32 = 0x2b;
    /// Name, instruction, registers that are pointers with the bytes at each.
    type Case<'a> = (&'a str, u32, &'a [(u32, u32)]);
    let cases: [Case<'_>; 8] = [
        ("keccakf", custom1(4, 0, CUSTOM), &[(11, 200)]),
        ("xorin", custom1(4, 1, CUSTOM), &[(11, 4), (12, 4)]),
        (
            "sha256",
            custom1(4, 2, CUSTOM),
            &[(11, 32), (12, 32), (13, 64)],
        ),
        (
            "add256",
            custom1(5, 0, CUSTOM),
            &[(11, 32), (12, 32), (13, 32)],
        ),
        (
            "mul256",
            custom1(5, 10, CUSTOM),
            &[(11, 32), (12, 32), (13, 32)],
        ),
        (
            "addmod",
            custom1(0, 0, ALGEBRA),
            &[(11, 32), (12, 32), (13, 32)],
        ),
        ("iseq", custom1(0, 4, ALGEBRA), &[(12, 32), (13, 32)]),
        (
            "fp2 add",
            custom1(2, 0, ALGEBRA),
            &[(11, 64), (12, 64), (13, 64)],
        ),
    ];
    let known = |word: u32| executable(&config, elf(&[word, terminate(0)])).is_ok();
    for (name, word, pointers) in cases {
        assert!(known(word), "{name}: {word:#x}");
        let run_with = |registers: Range<u32>, bad: Option<(u32, u32)>| {
            let mut code: Vec<u32> = registers
                .map(|register| addi(register, 0, 0x400 + 0x100 * (register as i32 - 11)))
                .collect();
            if name == "xorin" {
                code.push(addi(13, 0, 4));
            }
            if let Some((register, address)) = bad {
                code.push(lui(register, address.wrapping_add(0x800) >> 12));
                code.push(addi(register, register, (address as i32) << 20 >> 20));
            }
            code.extend([word, terminate(0)]);
            let place = TEXT + 4 * (code.len() as u32 - 2);
            (run(&config, &code, StdIn::default()), place)
        };
        let (good, _) = run_with(11..14, None);
        good.unwrap_or_else(|error| panic!("{name}: {error}"));
        for &(register, bytes) in pointers {
            for address in [0x402, 0x401, MEMORY, MEMORY + 4 - bytes, u32::MAX - 3] {
                let (result, place) = run_with(11..14, Some((register, address)));
                let error = result.expect_err(name);
                assert_eq!(error.pc(), Some(place), "{name}: {error}");
                let SdkError::GuestFault { fault, .. } = error else {
                    panic!("{name}: {error}")
                };
                let named = match fault {
                    Fault::Misaligned { address, .. } | Fault::OutsideMemory { address, .. } => {
                        Some(address)
                    }
                    _ => None,
                };
                assert_eq!(named, Some(address), "{name}, x{register}: {fault}");
            }
            let (last, _) = run_with(11..14, Some((register, MEMORY - bytes)));
            last.unwrap_or_else(|error| panic!("{name}, at the end of memory: {error}"));
        }
    }
    // Lengths of XORIN, numbers that are not reduced, and an inverse of zero, at which OpenVM's executor panics.
    let lengths = |bytes: i32| {
        [
            addi(11, 0, 0x400),
            addi(12, 0, 0x500),
            addi(13, 0, bytes),
            custom1(4, 1, CUSTOM),
            terminate(0),
        ]
    };
    for bytes in [3, 140, -4] {
        let error = run(&config, &lengths(bytes), StdIn::default()).expect_err("a bad length");
        let named = matches!(
            error,
            SdkError::GuestFault {
                fault: Fault::Length { .. },
                ..
            }
        );
        assert!(named, "{error}");
    }
    run(&config, &lengths(0), StdIn::default()).expect("nothing to do");
    let mut large: Vec<u32> = vec![addi(12, 0, 0x400), addi(13, 0, 0x500), addi(14, 0, -1)];
    large.extend((0..8).map(|word| sw(14, 12, 4 * word)));
    large.extend([custom1(0, 4, ALGEBRA), terminate(0)]);
    let error = run(&config, &large, StdIn::default()).expect_err("2^256 - 1");
    let named = matches!(
        error,
        SdkError::GuestFault {
            fault: Fault::NotReduced { address: 0x400 },
            ..
        }
    );
    assert!(named, "{error}");
    let zero = [
        addi(11, 0, 0x400),
        addi(12, 0, 0x500),
        addi(13, 0, 0x600),
        custom1(0, 3, ALGEBRA),
        terminate(0),
    ];
    let error = run(&config, &zero, StdIn::default()).expect_err("0 / 0");
    let named = matches!(
        error,
        SdkError::GuestFault {
            fault: Fault::Operands { .. },
            ..
        }
    );
    assert!(named, "{error}");
    assert_eq!(error.pc(), Some(TEXT + 12));
}

/// The state of a guest before it fails.
#[test]
fn a_replay_stops_at_the_failure() {
    let code = [
        addi(11, 0, 5),
        addi(11, 11, -1),
        b_type(1, 11, 0, -4),
        addi(12, 0, 0x101),
        lw(13, 12, 0),
        terminate(0),
    ];
    let exe = sdk().executable(elf(&code)).expect("an executable");
    let stop = |bound| replay(&vm_config(), &exe, StdIn::default(), bound, 3, &());
    let stopped = stop(1000).expect("it ends");
    let at = |index: u32| TEXT + 4 * index;
    assert_eq!(stopped.pc, at(4));
    assert_eq!(stopped.executed, 1 + 10 + 1);
    assert_eq!(stopped.last, [at(1), at(2), at(3)]);
    assert_eq!(stopped.registers[11..14], [0, 0x101, 0]);
    assert!(matches!(stopped.error, Some(SdkError::GuestFault { .. })));
    assert!(matches!(stop(5), Err(SdkError::InstructionBound { .. })));
    let ends = sdk().executable(elf(&code[..4])).expect("an executable");
    let stopped = replay(&vm_config(), &ends, StdIn::default(), 1000, 2, &()).expect("it ends");
    assert_eq!((stopped.pc, stopped.last), (at(4), vec![at(2), at(3)]));
    let code = [addi(11, 0, 7), terminate(0)];
    let ends = sdk().executable(elf(&code)).expect("an executable");
    let stopped = replay(&vm_config(), &ends, StdIn::default(), 1000, 2, &()).expect("it ends");
    assert!(stopped.error.is_none());
    assert_eq!((stopped.pc, stopped.registers[11]), (at(1), 7));
}

#[test]
fn an_executable_cannot_have_an_unknown_opcode() {
    let good = executable(&vm_config(), elf(&[terminate(0)])).expect("an executable");
    let mut exe = good.as_ref().clone();
    if let Some((instruction, _)) = &mut exe.program.instructions_and_debug_infos[0] {
        instruction.opcode = VmOpcode::from_usize(0xffff);
        instruction.c = F::ONE;
    }
    let error = executable(&vm_config(), exe).expect_err("no such opcode");
    assert!(matches!(error, SdkError::Executable(_)), "{error}");
}
