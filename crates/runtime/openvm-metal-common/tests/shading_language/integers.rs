//! Integer functions against arithmetic of 128 bits.

use crate::harness::{on_devices, Kernels, Outcome, Source};
use crate::numbers::Random;

pub const SOURCE: Source = Source::new("integer", include_str!("integer.metal"));

/// An integer type.
#[derive(Clone, Copy)]
struct Type {
    bits: u32,
    signed: bool,
}

impl Type {
    fn low(self) -> i128 {
        if self.signed {
            -(1 << (self.bits - 1))
        } else {
            0
        }
    }

    fn high(self) -> i128 {
        self.low() + (1 << self.bits) - 1
    }

    /// The value whose low bits are those of `x`.
    fn wrap(self, x: i128) -> i128 {
        (x - self.low()).rem_euclid(1 << self.bits) + self.low()
    }

    fn saturate(self, x: i128) -> i128 {
        x.clamp(self.low(), self.high())
    }

    fn unsigned(self, x: i128) -> u128 {
        x.rem_euclid(1 << self.bits) as u128
    }

    /// Results in the order of the kernel.
    fn results(
        self,
        a: i128,
        b: i128,
        c: i128,
        offset: u32,
        bits: u32,
    ) -> Vec<(&'static str, i128)> {
        let width = self.bits;
        let ua = self.unsigned(a);
        let turn = (self.unsigned(b) % u128::from(width)) as u32;
        let rotated = (ua << turn) | (ua >> ((width - turn) % width));
        let field = (ua >> offset) & ((1 << bits) - 1);
        let negative = self.signed && bits > 0 && field >> (bits - 1) == 1;
        let extracted = field as i128 - if negative { 1 << bits } else { 0 };
        let mask = ((1u128 << bits) - 1) << offset;
        let inserted = (ua & !mask) | ((self.unsigned(b) << offset) & mask);
        let leading = ua.leading_zeros() - (128 - width);
        let reversed = ua.reverse_bits() >> (128 - width);
        // Products of unsigned numbers of 64 bits fit the unsigned type of 128 bits only.
        let high = if self.signed {
            (a * b) >> width
        } else {
            ((a as u128 * b as u128) >> width) as i128
        };
        let madsat = if self.signed {
            self.saturate(a * b + c)
        } else {
            (a as u128 * b as u128 + c as u128).min(self.high() as u128) as i128
        };
        let mut sorted = [a, b, c];
        sorted.sort_unstable();
        vec![
            ("abs", a.abs().min(self.high())),
            ("absdiff", (a - b).abs()),
            ("addsat", self.saturate(a + b)),
            ("subsat", self.saturate(a - b)),
            ("hadd", (a + b) >> 1),
            ("rhadd", (a + b + 1) >> 1),
            ("clz", leading.into()),
            ("ctz", ua.trailing_zeros().min(width).into()),
            ("popcount", ua.count_ones().into()),
            ("reverse_bits", self.wrap(reversed as i128)),
            ("rotate", self.wrap((rotated & ((1 << width) - 1)) as i128)),
            ("mulhi", high),
            ("madhi", self.wrap(high + c)),
            ("madsat", madsat),
            ("min", a.min(b)),
            ("max", a.max(b)),
            ("min3", sorted[0]),
            ("max3", sorted[2]),
            ("median3", sorted[1]),
            ("clamp", a.clamp(b.min(c), b.max(c))),
            ("extract_bits", extracted),
            ("insert_bits", self.wrap(inserted as i128)),
        ]
    }

    fn check(self, kernels: &Kernels, name: &str) -> Outcome<()> {
        const WORDS: usize = 45;
        let mut random = Random(u64::from(self.bits) + u64::from(self.signed));
        let edges = [
            0,
            1,
            2,
            -1,
            self.low(),
            self.low() + 1,
            self.high(),
            self.high() - 1,
        ];
        let mut values = Vec::new();
        for n in 0..1000u64 {
            let mut pick = |k: u64| {
                let edge = edges[(n / k % 8) as usize];
                let any = i128::from(random.next());
                self.wrap(if n < 512 {
                    edge
                } else {
                    any >> random.below(64)
                })
            };
            let (a, b, c) = (pick(1), pick(8), pick(64));
            let offset = random.below(self.bits.into()) as u32;
            let bits = random.below(u64::from(self.bits - offset) + 1) as u32;
            values.push((a, b, c, offset, bits));
        }
        let words = |x: i128| [x as u32, (x >> 32) as u32];
        let input: Vec<u32> = values
            .iter()
            .flat_map(|v| [words(v.0), words(v.1), words(v.2), [v.3, v.4]].concat())
            .collect();
        let out = kernels.run(name, &input, values.len() * WORDS, values.len(), 64)?;
        for (v, out) in values.iter().zip(out.chunks_exact(WORDS)) {
            let want = self.results(v.0, v.1, v.2, v.3, v.4);
            for ((function, want), got) in want.into_iter().zip(out[1..].chunks_exact(2)) {
                assert_eq!(
                    got,
                    words(want),
                    "{name}: {function} of {v:?}, {:?}",
                    kernels.device
                );
            }
            assert_eq!(out[0], 0, "{name}: vectors of {v:?}, {:?}", kernels.device);
        }
        Ok(())
    }
}

#[test]
fn integers_of_every_size() -> Outcome<()> {
    on_devices(SOURCE, |kernels| {
        for (name, bits, signed) in [
            ("integers_char", 8, true),
            ("integers_uchar", 8, false),
            ("integers_short", 16, true),
            ("integers_ushort", 16, false),
            ("integers_int", 32, true),
            ("integers_uint", 32, false),
            ("integers_long", 64, true),
            ("integers_ulong", 64, false),
        ] {
            Type { bits, signed }.check(kernels, name)?;
        }
        Ok(())
    })
}

#[test]
fn products_of_24_bits() -> Outcome<()> {
    on_devices(SOURCE, |kernels| {
        let mut random = Random(24);
        let input: Vec<u32> = (0..512).map(|_| random.next() as u32).collect();
        let out = kernels.run("products", &input, 1024, 256, 64)?;
        for (i, out) in input.chunks_exact(2).zip(out.chunks_exact(4)) {
            let product = (i[0] >> 8).wrapping_mul(i[1] >> 8);
            let signed = ((i[0] as i32) >> 8).wrapping_mul((i[1] as i32) >> 8);
            let want = [
                product,
                product.wrapping_add(7),
                signed as u32,
                signed.wrapping_sub(7) as u32,
            ];
            assert_eq!(out, want, "{i:?}, {:?}", kernels.device);
        }
        Ok(())
    })
}
