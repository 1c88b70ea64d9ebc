//! Floats as integers: truncated and bounded, NaN is 0.

/// Conversion to the integer `D`.
pub(super) trait Whole<D> {
    fn whole(self) -> D;
}

/// Conversions on x86, whose instruction gives one wrong value for all floats that do not fit: what `as` does about that is several
/// times slower in vectors than bounds that are compared before and after. `$wide` is an integer that instructions convert to.
#[cfg(target_arch = "x86_64")]
macro_rules! whole {
    ($($a:ident: $($d:ident $wide:ident)*;)*) => {$($(
        impl Whole<$d> for $a {
            #[inline(always)]
            fn whole(self) -> $d {
                const LEAST: $a = $d::MIN as $a;
                // A power of two, so exact.
                const OVER: $a = ($d::MAX as u128 + 1) as $a;
                let inside = if (LEAST..OVER).contains(&self) { self } else { 0.0 };
                // SAFETY: truncated it is at least MIN and at most MAX.
                let whole = unsafe { inside.to_int_unchecked::<$wide>() };
                let whole = if self >= OVER { $d::MAX as $wide } else { whole };
                (if self < LEAST { $d::MIN as $wide } else { whole }) as $d
            }
        }
    )*)*};
}

/// Conversions on other machines, which have an instruction for it.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! whole {
    ($($a:ident: $($d:ident $wide:ident)*;)*) => {$($(
        impl Whole<$d> for $a {
            #[inline(always)]
            fn whole(self) -> $d {
                self as $d
            }
        }
    )*)*};
}

whole! {
    f32: i8 i32 i16 i32 i32 i32 i64 i64 u8 i32 u16 i32 u32 u32 u64 u64;
    f64: i8 i32 i16 i32 i32 i32 i64 i64 u8 i32 u16 i32 u32 u32 u64 u64;
}

#[cfg(test)]
mod tests {
    use crate::host::expression::{Expression, Step, StepOp, View};
    use crate::Ty;

    /// Number of elements that fills blocks, pieces and a rest.
    const COUNT: usize = 20_011;

    macro_rules! check {
        ($a:ident $from:ident: $($d:ident $to:ident)*) => {{
            // Random bits, random integers, and what lies around the bounds of each type.
            let bounds = [$($d::MIN as $a, $d::MAX as $a,)* 0.0, -0.0, -0.5, -1.0, $a::NAN, -$a::NAN, $a::INFINITY, $a::NEG_INFINITY];
            let mut bits = 0x9e37_79b9_7f4a_7c15u64;
            let mut next = || {
                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                bits.wrapping_mul(0x2545_f491_4f6c_dd1d)
            };
            let mut values: Vec<$a> = (0..COUNT)
                .map(|i| match i % 4 {
                    0 => $a::from_bits(next() as _),
                    1 => next() as i64 as $a,
                    2 => (next() >> 40) as i32 as $a / 64.0 - 100_000.0,
                    _ => {
                        let near = bounds[next() as usize % bounds.len()].to_bits();
                        $a::from_bits(near.wrapping_add(next() as u8 as _).wrapping_sub(128))
                    }
                })
                .collect();
            values[..bounds.len()].copy_from_slice(&bounds);
            $({
                let step = Step { op: StepOp::Convert(Ty::$to), ty: Ty::$from, args: vec![0] };
                let convert = Expression::new(&[Ty::$from], &[], vec![step], vec![1], None);
                let convert = convert.expect("an expression");
                let mut found: Vec<$d> = vec![7; COUNT];
                let view = |ptr: *mut u8, size: usize| View { ptr, strides: vec![size as isize] };
                let read = [view(values.as_mut_ptr().cast(), size_of::<$a>())];
                let written = [view(found.as_mut_ptr().cast(), size_of::<$d>())];
                // SAFETY: vectors of `COUNT` elements of their own.
                unsafe { convert.run(&[COUNT], &read, &[], &written, &[false], None) };
                for (&x, &y) in values.iter().zip(&found) {
                    assert_eq!(y, x as $d, "{x:e} as {}", stringify!($d));
                }
            })*
        }};
    }

    #[test]
    fn floats_become_integers_as_by_definition() {
        check!(f32 F32: i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);
        check!(f64 F64: i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);
    }
}
