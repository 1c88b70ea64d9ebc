//! Numbers of the twelve types, as text and as bits.

use half::{bf16, f16};
use hologram_backends::Ty;

/// The bits of a number of type `ty`: decimal, `0x` bits, or a float's usual text.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_bits(ty: Ty, text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no {ty}");
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).map_err(|_| wrong())?;
        return if bits & !ty.mask() == 0 {
            Ok(bits)
        } else {
            Err(format!("`{text}` has more than {} bits", ty.bits()))
        };
    }
    match ty {
        Ty::F32 => text.parse::<f32>().map(|v| v.to_bits().into()),
        Ty::F64 => text.parse::<f64>().map(f64::to_bits),
        Ty::F16 => text.parse().map(|v| f16::from_f64(v).to_bits().into()),
        Ty::Bf16 => text.parse().map(|v| bf16::from_f64(v).to_bits().into()),
        _ => return integer(ty, text).ok_or_else(wrong),
    }
    .map_err(|_| wrong())
}

fn integer(ty: Ty, text: &str) -> Option<u64> {
    let value: i128 = text.parse().ok()?;
    let (low, high) = if ty.is_signed_int() {
        (-1i128 << (ty.bits() - 1), (1i128 << (ty.bits() - 1)) - 1)
    } else {
        (0, i128::from(ty.mask()))
    };
    // The cast keeps the low bits, which are the number's in two's complement.
    (low..=high)
        .contains(&value)
        .then_some(value as u64 & ty.mask())
}

/// Text of one number; `bytes` are its [`Ty::size`] bytes, little-endian.
pub fn show(ty: Ty, bytes: &[u8]) -> String {
    let mut wide = [0; 8];
    let len = bytes.len().min(8);
    wide[..len].copy_from_slice(&bytes[..len]);
    let bits = u64::from_le_bytes(wide);
    match ty {
        Ty::I8 => (bits as i8).to_string(),
        Ty::I16 => (bits as i16).to_string(),
        Ty::I32 => (bits as i32).to_string(),
        Ty::I64 => (bits as i64).to_string(),
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => bits.to_string(),
        Ty::F16 => f16::from_bits(bits as u16).to_string(),
        Ty::Bf16 => bf16::from_bits(bits as u16).to_string(),
        Ty::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        Ty::F64 => format!("{:?}", f64::from_bits(bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_bits, show};
    use hologram_backends::Ty;

    #[test]
    fn numbers_become_bits_and_back() {
        let cases = [
            (Ty::I8, "-128", 0x80),
            (Ty::U8, "255", 0xff),
            (Ty::I16, "-1", 0xffff),
            (Ty::I64, "-9223372036854775808", 1 << 63),
            (Ty::U64, "18446744073709551615", u64::MAX),
            (Ty::F32, "1.5", 0x3fc0_0000),
            (Ty::F64, "-0.0", 1 << 63),
            (Ty::F16, "65504", 0x7bff),
            (Ty::Bf16, "1", 0x3f80),
            (Ty::F32, "inf", 0x7f80_0000),
        ];
        for (ty, text, bits) in cases {
            assert_eq!(parse_bits(ty, text), Ok(bits), "{ty} {text}");
            let bytes = &bits.to_le_bytes()[..ty.size()];
            assert_eq!(show(ty, bytes), text, "{ty}");
        }
        assert_eq!(parse_bits(Ty::F32, "0x7fc00001"), Ok(0x7fc0_0001));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let cases = [
            (Ty::I8, "128"),
            (Ty::I8, "-129"),
            (Ty::U8, "-1"),
            (Ty::U64, "18446744073709551616"),
            (Ty::U8, "0x100"),
            (Ty::I32, "1.0"),
            (Ty::F32, "one"),
            (Ty::F64, ""),
            (Ty::U64, "0x"),
        ];
        for (ty, text) in cases {
            assert!(parse_bits(ty, text).is_err(), "{ty} {text}");
        }
    }
}
