//! ELFs: whole ones give the executable that OpenVM's own decoder gives; others are errors.

use std::{collections::BTreeMap, time::Instant};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{
    decode_elf, digest, executable, executable_with, ExecutableFormat, ProgramSource, SdkError,
    Traps,
};
use openvm_sdk::config::AppConfig;
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use openvm_transpiler::{elf::Elf, openvm_platform::memory::MEM_SIZE, FromElf};

const TEXT: u32 = 0x0020_0800;
const DATA: u32 = 0x0030_0000;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;

/// `addi x10, x0, 1` and the end of the program.
const CODE: [u8; 8] = [0x13, 0x05, 0x10, 0, 0x0b, 0, 0, 0];

/// A program header, without where the bytes are.
#[derive(Clone)]
struct Segment {
    start: u32,
    bytes: Vec<u8>,
    in_file: u32,
    in_memory: u32,
    flags: u32,
}

impl Segment {
    fn new(start: u32, bytes: &[u8], flags: u32) -> Self {
        let size = bytes.len() as u32;
        let bytes = bytes.to_vec();
        Self {
            start,
            bytes,
            in_file: size,
            in_memory: size,
            flags,
        }
    }

    fn in_memory(self, in_memory: u32) -> Self {
        Self { in_memory, ..self }
    }

    fn in_file(self, in_file: u32) -> Self {
        Self { in_file, ..self }
    }
}

/// The bytes of an ELF that starts at [`TEXT`].
fn elf(segments: &[Segment]) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
    bytes.resize(16, 0);
    let halves =
        |bytes: &mut Vec<u8>, x: &[u16]| bytes.extend(x.iter().flat_map(|x| x.to_le_bytes()));
    let words =
        |bytes: &mut Vec<u8>, x: &[u32]| bytes.extend(x.iter().flat_map(|x| x.to_le_bytes()));
    halves(&mut bytes, &[2, 243]);
    words(&mut bytes, &[1, TEXT, 52, 0, 0]);
    halves(&mut bytes, &[52, 32, segments.len() as u16, 0, 0, 0]);
    let mut offset = 52 + 32 * segments.len() as u32;
    for s in segments {
        let header = [
            1,
            offset,
            s.start,
            s.start,
            s.in_file,
            s.in_memory,
            s.flags,
            4,
        ];
        words(&mut bytes, &header);
        offset += s.bytes.len() as u32;
    }
    segments.iter().for_each(|s| bytes.extend(&s.bytes));
    bytes
}

fn code() -> Segment {
    Segment::new(TEXT, &CODE, READ_EXECUTE)
}

/// A program with initialised data and zeros behind it.
pub fn two_segments() -> Vec<u8> {
    elf(&[
        code(),
        Segment::new(DATA, b"five!", READ_WRITE).in_memory(100),
    ])
}

/// The memory that is not zero.
fn memory(exe: &VmExe<F>) -> BTreeMap<(u32, u32), u8> {
    let bytes = exe.init_memory.iter().filter(|(_, &byte)| byte != 0);
    bytes.map(|(&at, &byte)| (at, byte)).collect()
}

/// The executable is that of OpenVM's decoder, without zeros behind the bytes of the file.
fn assert_same(config: &SdkVmConfig, bytes: &[u8]) {
    let elf = decode_elf(bytes).expect("an ELF");
    let ours = executable_with(config, elf, Traps::AsCargoOpenvm).expect("an executable");
    let elf = Elf::decode(bytes, MEM_SIZE as u32).expect("an ELF");
    for traps in [Traps::End, Traps::AsCargoOpenvm] {
        let of = |source: ProgramSource| {
            digest(&executable_with(config, source, traps).expect("an executable"))
        };
        let guest = of(decode_elf(bytes).expect("an ELF").into());
        assert_eq!(of(bytes.into()), guest);
        assert_eq!(of(bytes.to_vec().into()), guest);
        assert_eq!(of(elf.clone().into()), guest);
        assert_eq!(of(ExecutableFormat::Elf(elf.clone()).into()), guest);
    }
    let theirs = VmExe::<F>::from_elf(elf, config.transpiler()).expect("an executable");
    let slots = |exe: &VmExe<F>| format!("{:?}", exe.program.instructions_and_debug_infos);
    assert_eq!(slots(&ours), slots(&theirs));
    assert_eq!(ours.program.pc_base, theirs.program.pc_base);
    assert_eq!(ours.pc_start, theirs.pc_start);
    assert_eq!(memory(&ours), memory(&theirs));
    assert!(ours.init_memory.len() <= theirs.init_memory.len());
    assert_eq!(digest(&ours), digest(&theirs));
}

#[test]
fn executables_are_those_of_openvms_decoder() {
    macro_rules! guests {
        ($($name:literal),*) => {
            [$((
                include_bytes!(concat!("../../../../../examples/guests/", $name, "/", $name, ".elf")).as_slice(),
                include_str!(concat!("../../../../../examples/guests/", $name, "/openvm.toml")),
            )),*]
        };
    }
    let guests = guests![
        "bigint",
        "ecdsa",
        "evm",
        "fibonacci",
        "json",
        "keccak256",
        "kzg",
        "sha256",
        "words"
    ];
    for (bytes, toml) in guests {
        let config: AppConfig<SdkVmConfig> = toml::from_str(toml).expect("a configuration");
        assert_same(&config.app_vm_config, bytes);
    }
    let config = SdkVmConfig::riscv32();
    assert_same(&config, &two_segments());
    // A last word that is not whole, and segments out of order that touch.
    let before = Segment::new(DATA - 8, b"before", READ_WRITE).in_memory(8);
    let zeros = Segment::new(DATA + 8, b"", READ_WRITE).in_memory(64);
    let data = Segment::new(DATA, b"data", READ_WRITE);
    assert_same(&config, &elf(&[zeros, data, code().in_memory(64), before]));
    // Code in two pieces.
    let more = Segment::new(TEXT + 8, &CODE, READ_EXECUTE);
    assert_same(&config, &elf(&[more, code()]));
    // The last bytes of memory.
    let last = Segment::new(MEM_SIZE as u32 - 8, b"the last", READ_WRITE);
    assert_same(&config, &elf(&[code(), last]));
    // An executable segment without bytes is no code: OpenVM's decoder would move the code to its address.
    let empty = Segment::new(TEXT - 8, b"", READ_EXECUTE).in_memory(8);
    let moved = decode_elf(&elf(&[empty, code()])).expect("an ELF");
    assert_eq!(moved.pc_base(), TEXT);
    assert_eq!(moved.code().len(), 2);
}

/// Random segments: both decoders give the same executable, or the reason why one refuses is one of these.
#[test]
fn random_elves_are_read_as_by_openvms_decoder() {
    let mut state = 1_u64;
    let mut below = |bound: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % bound
    };
    let config = SdkVmConfig::riscv32();
    let (mut same, mut refused) = (0, 0);
    for _ in 0..2_000 {
        let mut at = TEXT;
        let mut segments = vec![];
        for index in 0..1 + below(5) {
            // Whole words of code, and any bytes of data.
            let is_code = index == 0 || below(4) == 0;
            let bytes = match is_code {
                true => CODE.repeat(1 + below(3) as usize),
                false => (0..below(40)).map(|_| below(256) as u8).collect(),
            };
            let size = bytes.len() as u32;
            let flags = if is_code { READ_EXECUTE } else { READ_WRITE };
            let more = [0, 0, 1, 4, 60][below(5) as usize];
            segments.push(Segment::new(at, &bytes, flags).in_memory(size + more));
            at = (at + size + more).next_multiple_of(4) + [0, 0, 4, 64][below(4) as usize];
        }
        for index in 1..segments.len() {
            segments.swap(index, below(index as u32 + 1) as usize);
        }
        let bytes = elf(&segments);
        let theirs = Elf::decode(&bytes, MEM_SIZE as u32);
        match (decode_elf(&bytes), theirs) {
            (Ok(_), Ok(_)) => {
                assert_same(&config, &bytes);
                same += 1;
            }
            // Ours refuses code behind zeros, which OpenVM's decoder moves or refuses.
            (Err(error), _) => {
                let reason = "is code and does not begin where the code before ends";
                assert!(error.to_string().contains(reason), "{error}");
                refused += 1;
            }
            // OpenVM's decoder compares with the end of the segment in memory, which is no whole word.
            (Ok(_), Err(error)) => {
                assert!(error.to_string().contains("Non-contiguous"), "{error}");
            }
        }
    }
    assert!(same > 1_000 && refused > 100, "{same} {refused}");
}

/// Zeros take neither time nor memory.
#[test]
fn zeros_need_no_entries() {
    let most = MEM_SIZE as u32 - DATA;
    for zeros in [16 << 20, most] {
        let clock = Instant::now();
        let bytes = elf(&[code(), Segment::new(DATA, b"", READ_WRITE).in_memory(zeros)]);
        let exe = executable(&SdkVmConfig::riscv32(), decode_elf(&bytes).expect("an ELF"));
        assert_eq!(exe.expect("an executable").init_memory.len(), CODE.len());
        assert!(clock.elapsed().as_secs_f64() < 2.0, "{:?}", clock.elapsed());
    }
}

#[test]
fn segments_that_do_not_fit_are_refused() {
    let data = |start| Segment::new(start, b"data", READ_WRITE);
    let cases: Vec<(&str, Vec<Segment>)> = vec![
        (
            "outside the guest's memory",
            vec![code(), data(DATA).in_memory(u32::MAX)],
        ),
        (
            "outside the guest's memory",
            vec![code(), data(DATA).in_memory(MEM_SIZE as u32)],
        ),
        (
            "outside the guest's memory",
            vec![code(), data(0xffff_fff0)],
        ),
        (
            "overlaps",
            vec![code(), data(DATA).in_memory(100), data(DATA + 96)],
        ),
        ("overlaps", vec![code(), data(DATA), data(DATA)]),
        ("overlaps", vec![code(), data(TEXT + 4)]),
        ("overlaps", vec![code(), code()]),
        (
            "more bytes in the file than in memory",
            vec![code(), data(DATA).in_memory(3)],
        ),
        (
            "behind the end of the file",
            vec![code(), data(DATA).in_file(5).in_memory(5)],
        ),
        ("multiple of 4", vec![code(), data(DATA + 2)]),
        (
            "multiple of 4",
            vec![Segment::new(TEXT + 1, &CODE, READ_EXECUTE)],
        ),
        // Zeros between code: OpenVM's decoder moves the code behind them.
        (
            "does not begin where the code before ends",
            vec![
                code().in_memory(24),
                Segment::new(TEXT + 24, &CODE, READ_EXECUTE),
            ],
        ),
        (
            "does not begin where the code before ends",
            vec![code(), Segment::new(TEXT + 24, &CODE, READ_EXECUTE)],
        ),
    ];
    for (text, segments) in cases {
        let error = decode_elf(&elf(&segments)).expect_err(text);
        assert!(matches!(error, SdkError::Elf(_)), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    let many = vec![data(DATA).in_memory(4); 257];
    assert!(decode_elf(&elf(&many)).is_err());
}

#[test]
fn files_that_are_no_elf_of_a_guest() {
    let good = elf(&[code()]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (bytes, text) in [
        (vec![], "it is no ELF"),
        (b"#!/bin/sh\n".to_vec(), "it is no ELF"),
        (with(4, 2), "it is a 64-bit ELF"),
        (with(5, 2), "it is a big-endian ELF"),
        (good[..60].to_vec(), "it is cut off"),
        (with(4, 3), "damaged"),
        (with(18, 62), "another processor than RISC-V (machine 62)"),
        (with(16, 1), "link it as a static executable"),
        (with(16, 3), "link it as a static executable"),
        (with(24, 2), "no multiple of 4"),
        (with(27, 0x20), "outside the guest's memory"),
        (elf(&vec![code(); 257]), "more than 256 program headers"),
    ] {
        let error = decode_elf(&bytes).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
        let error = executable(&SdkVmConfig::riscv32(), bytes).expect_err(text);
        assert!(matches!(error, SdkError::Elf(_)), "{error}");
    }
    let no_code = elf(&[Segment::new(DATA, b"data", READ_WRITE)]);
    let error = executable(&SdkVmConfig::riscv32(), no_code).expect_err("no code");
    assert!(error.to_string().contains("no instructions"), "{error}");
}

/// A file of some kilobytes cannot name its bytes again for each header.
#[test]
fn segments_cannot_share_bytes_of_the_file() {
    let page = vec![1; 4096];
    let of = |index: u32| Segment::new(DATA + 4096 * index, &page, READ_WRITE);
    let mut bytes = elf(&[code(), of(0), of(1)]);
    decode_elf(&bytes).expect("an ELF");
    // The third segment has the offset of the second.
    let offset = 52 + 32 + 4;
    bytes.copy_within(offset..offset + 4, offset + 32);
    decode_elf(&bytes).expect("still fewer bytes than the file");
    bytes.truncate(bytes.len() - 4096);
    let error = decode_elf(&bytes).expect_err("shared bytes");
    assert!(error.to_string().contains("share"), "{error}");
}

/// Words on which OpenVM's transpilers panic are told as unknown ones are.
#[test]
fn words_that_no_transpiler_takes_are_named() {
    // An exit code of 256; the setup of a modulus with the wrong register, as in no compiled guest.
    for word in [0x1000_000bu32, 0x0a50_002b, 0] {
        let code = [0x0010_0513u32.to_le_bytes(), word.to_le_bytes()].concat();
        let bytes = elf(&[Segment::new(TEXT, &code, READ_EXECUTE)]);
        for config in [SdkVmConfig::riscv32(), SdkVmConfig::standard()] {
            let error = executable(&config, decode_elf(&bytes).expect("an ELF"));
            let error = error.expect_err("no such instruction");
            let named = matches!(
                error,
                SdkError::UnknownInstruction { pc, word: w, .. } if w == word && pc == TEXT + 4
            );
            assert!(named, "{error}");
        }
    }
}
