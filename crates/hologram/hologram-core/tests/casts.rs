//! Conversions in one pass over the host's memory against the program that devices run.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::Ty;
use hologram_core::{strided, BackendType, DynBuffer, Executor};

/// Bits of numbers that every type can have some of: zeros, ones, limits, halves, infinities, NaN.
fn bits(ty: Ty, n: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let value = |i: usize, random: u64| -> u64 {
        let small = [
            0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 127.0, 128.0, 65504.0, 65520.0, 3e9, -3e9, 1e19,
        ];
        let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let number = small.iter().chain(&special).nth(i % 20).copied();
        match (ty, number) {
            (Ty::F64, Some(x)) => x.to_bits(),
            (Ty::F32, Some(x)) => u64::from((x as f32).to_bits()),
            (Ty::F16, Some(x)) => u64::from(half::f16::from_f64(x).to_bits()),
            (Ty::Bf16, Some(x)) => u64::from(half::bf16::from_f64(x).to_bits()),
            (_, Some(x)) if x.is_finite() => x as i64 as u64,
            _ => random,
        }
    };
    (0..n)
        .flat_map(|i| value(i, next()).to_le_bytes()[..ty.size()].to_vec())
        .collect()
}

fn cast(exec: &Executor, from: Ty, to: Ty, data: &[u8], n: usize) -> Vec<u8> {
    let src: DynBuffer = exec.allocate_dyn(from, n).unwrap();
    src.write_bytes(0, data).unwrap();
    let dst = exec.allocate_dyn(to, n).unwrap();
    strided::cast(exec, &src, &dst, n).unwrap();
    dst.to_bytes().unwrap()
}

/// NaNs of floats as one: their bits are not defined.
fn plain(ty: Ty, data: &[u8]) -> Vec<u64> {
    let element = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        let nan = match ty {
            Ty::F64 => f64::from_bits(bits).is_nan(),
            Ty::F32 => f32::from_bits(bits as u32).is_nan(),
            Ty::F16 => half::f16::from_bits(bits as u16).is_nan(),
            Ty::Bf16 => half::bf16::from_bits(bits as u16).is_nan(),
            _ => false,
        };
        if nan {
            u64::MAX
        } else {
            bits
        }
    };
    data.chunks(ty.size()).map(element).collect()
}

#[test]
fn one_pass_equals_the_program() {
    let host = Executor::new().unwrap();
    let backend = Box::new(CpuBackend::new());
    let device = Executor::from_backend(backend, BackendType::Cuda, "interpreter".into());
    let n = 1003;
    for from in Ty::ALL {
        let data = bits(from, n);
        for to in Ty::ALL {
            let (a, b) = (
                cast(&host, from, to, &data, n),
                cast(&device, from, to, &data, n),
            );
            assert_eq!(plain(to, &a), plain(to, &b), "{from} to {to}");
        }
    }
    // Numbers of more than 32 bits become halves by the program, which rounds once.
    assert_eq!(host.stats().programs, 10);
    assert_eq!(host.stats().expressions, 12 * 11 - 10);
}
