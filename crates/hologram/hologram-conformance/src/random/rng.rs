//! Random numbers that are the same on every machine.

use hologram_backends::Ty;

use crate::Numbers;

/// Numbers of a seed, with the draws that programs are made from.
#[derive(Clone, Debug)]
pub struct Rng(Numbers);

impl Rng {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(Numbers::new(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some values.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Bits of a value of a type: edges, small numbers and any.
    pub fn value(&mut self, ty: Ty) -> u64 {
        let top = 1u64 << (ty.bits() - 1);
        let any = self.bits();
        let bits = match ty {
            Ty::F32 => match self.below(5) {
                0 => u64::from(self.pick(&F32_EDGES).to_bits()),
                1 => u64::from((self.below(201) as f32 - 100.0).to_bits()),
                2 => u64::from((((any % 20_001) as f32 - 10_000.0) / 64.0).to_bits()),
                // Exponents around 1.
                3 => (any & 0x807f_ffff) | (120 + (any >> 32) % 16) << 23,
                _ => any,
            },
            Ty::F64 => match self.below(5) {
                0 => self.pick(&F64_EDGES).to_bits(),
                1 => (self.below(201) as f64 - 100.0).to_bits(),
                2 => (((any % 20_001) as f64 - 10_000.0) / 64.0).to_bits(),
                3 => (any & 0x800f_ffff_ffff_ffff) | (1015 + any % 16) << 52,
                _ => any,
            },
            Ty::F16 => self.pick(&[
                0x3c00, 0xbc00, 0, 0x8000, 0x7c00, 0x7bff, 1, 0x7e00, any, any,
            ]),
            Ty::Bf16 => self.pick(&[
                0x3f80, 0xbf80, 0, 0x8000, 0x7f80, 0x7f7f, 1, 0x7fc0, any, any,
            ]),
            _ => match self.below(4) {
                0 => self.pick(&[0, 1, 2, top - 1, top, u64::MAX, u64::MAX - 1]),
                1 => self.below(100) as u64,
                2 => any >> self.below(64),
                _ => any,
            },
        };
        bits & ty.mask()
    }
}

const F32_EDGES: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-45,
    2_147_483_648.0,
];

const F64_EDGES: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    9_223_372_036_854_775_808.0,
];
