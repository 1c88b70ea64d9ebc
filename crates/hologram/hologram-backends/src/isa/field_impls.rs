//! [`Field`] of every type that instructions have.

use half::{bf16, f16};

use super::field::{required, Field, Reader};
use super::{
    Address, BinaryOp, Condition, Epsilon, Label, LossOp, MapOp, MemoryScope, Predicate, ReduceOp,
    Register, Ty,
};

macro_rules! coded {
    ($($name:ident $what:literal),*) => {$(
        impl Field for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.code());
            }
            fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
                let [code] = input.array()?;
                Self::from_code(code).ok_or_else(|| format!(concat!("no ", $what, " has code {}"), code))
            }
            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
            fn parse(text: Option<&str>) -> Result<Self, String> {
                let text = required(text, $what)?;
                Self::from_name(text).ok_or_else(|| format!(concat!("unknown ", $what, " `{}`"), text))
            }
        }
    )*};
}
coded!(Ty "type", Condition "condition", MemoryScope "scope", MapOp "operation", BinaryOp "operation", ReduceOp "operation", LossOp "operation");

/// The bits of a float of type `ty`, rounded to the nearest.
fn float_bits(ty: Ty, text: &str) -> Option<u64> {
    let text = text.trim();
    Some(match ty {
        Ty::F16 => u64::from(f16::from_f64(text.parse().ok()?).to_bits()),
        Ty::Bf16 => u64::from(bf16::from_f64(text.parse().ok()?).to_bits()),
        Ty::F32 => u64::from(text.parse::<f32>().ok()?.to_bits()),
        Ty::F64 => text.parse::<f64>().ok()?.to_bits(),
        _ => return None,
    })
}

/// The type and the number of a float's bits, as `f32(1.5)`.
fn typed_float(text: &str) -> Option<(Ty, &str)> {
    let (name, value) = text.strip_suffix(')')?.split_once('(')?;
    let ty = Ty::from_name(name).filter(|ty| ty.is_float())?;
    Some((ty, value))
}

/// An integer in decimal (signed ones as two's complement), `0x` hexadecimal, or a float's bits as `f32(1.5)`.
fn number(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is not a number");
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).map_err(|_| bad());
    }
    if let Some((ty, value)) = typed_float(text) {
        return float_bits(ty, value).ok_or_else(bad);
    }
    match text.strip_prefix('-') {
        Some(_) => text.parse::<i64>().map(|v| v as u64).map_err(|_| bad()),
        None => text.parse().map_err(|_| bad()),
    }
}

/// The float type of a constant of the instruction's own type, by the name of its field; counts are none.
fn float_constant(name: &str, ty: Option<Ty>) -> Option<Ty> {
    let constant = matches!(name, "value" | "low" | "high");
    ty.filter(|ty| constant && ty.is_float())
}

/// The bits of a constant of a float type: a number is its value, `0x` are the bits.
fn float_value(ty: Ty, text: &str) -> Result<u64, String> {
    if text.starts_with("0x") {
        return number(text);
    }
    let value = match typed_float(text) {
        Some((other, _)) if other != ty => {
            return Err(format!("`{text}` is no {ty}: write the number alone"));
        }
        Some((_, value)) => value,
        None => text,
    };
    float_bits(ty, value).ok_or_else(|| format!("`{text}` is not a number"))
}

/// The number that [`float_value`] reads as these bits; hexadecimal of a NaN and of bits that the type does not have.
fn show_float(ty: Ty, bits: u64) -> String {
    let value = match ty {
        Ty::F16 => format!("{:?}", f16::from_bits(bits as u16).to_f32()),
        Ty::Bf16 => format!("{:?}", bf16::from_bits(bits as u16).to_f32()),
        Ty::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        _ => format!("{:?}", f64::from_bits(bits)),
    };
    match float_bits(ty, &value) {
        Some(same) if same == bits && value != "NaN" => value,
        _ => format!("{bits:#x}"),
    }
}

macro_rules! integer {
    ($($name:ident { $($more:item)* })*) => {$(
        impl Field for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
                Ok(Self::from_le_bytes(input.array()?))
            }
            fn show(&self) -> Option<String> {
                Some(if u64::from(*self) > 0xffff { format!("{self:#x}") } else { self.to_string() })
            }
            fn parse(text: Option<&str>) -> Result<Self, String> {
                let text = required(text, "number")?;
                Self::try_from(number(text)?)
                    .map_err(|_| format!("`{text}` does not fit {}", stringify!($name)))
            }
            $($more)*
        }
    )*};
}
integer! {
    u8 {}
    u16 {}
    u32 {}
    u64 {
        fn show_in(&self, name: &str, ty: Option<Ty>) -> Option<String> {
            match float_constant(name, ty) {
                Some(ty) => Some(show_float(ty, *self)),
                None => self.show(),
            }
        }
        fn parse_in(text: Option<&str>, name: &str, ty: Option<Ty>) -> Result<Self, String> {
            match float_constant(name, ty) {
                Some(ty) => float_value(ty, required(text, "number")?),
                None => Self::parse(text),
            }
        }
    }
}

/// The number after a register's letter.
fn indexed(text: &str, letter: char) -> Option<u8> {
    let digits = text.strip_prefix(letter)?;
    if digits.bytes().all(|c| c.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    }
}

impl Field for Register {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.index());
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        let [index] = input.array()?;
        Ok(Self::new(index))
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn parse(text: Option<&str>) -> Result<Self, String> {
        let text = required(text, "register")?;
        indexed(text, 'r')
            .map(Self::new)
            .ok_or_else(|| format!("`{text}` is not a register r0 to r255"))
    }
}

impl Field for Predicate {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.index());
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        let [index] = input.array()?;
        Self::new(index).map_err(|e| e.to_string())
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn parse(text: Option<&str>) -> Result<Self, String> {
        let text = required(text, "predicate")?;
        indexed(text, 'p')
            .and_then(|index| Self::new(index).ok())
            .ok_or_else(|| format!("`{text}` is not a predicate p0 to p15"))
    }
}

impl Field for Option<Predicate> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.map_or(u8::MAX, Predicate::index));
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        match input.array()? {
            [u8::MAX] => Ok(None),
            [index] => Predicate::new(index).map(Some).map_err(|e| e.to_string()),
        }
    }
    fn show(&self) -> Option<String> {
        self.map(|predicate| predicate.to_string())
    }
    fn parse(text: Option<&str>) -> Result<Self, String> {
        text.map(|text| Predicate::parse(Some(text))).transpose()
    }
}

impl Field for Epsilon {
    fn encode(&self, out: &mut Vec<u8>) {
        self.bits().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        u64::decode(input).map(Self::from_bits)
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn parse(text: Option<&str>) -> Result<Self, String> {
        let text = required(text, "number")?;
        if text.starts_with("0x") {
            return number(text).map(Self::from_bits);
        }
        text.parse()
            .map(Self::new)
            .map_err(|_| format!("`{text}` is not a number"))
    }
}

impl Field for Label {
    fn encode(&self, out: &mut Vec<u8>) {
        // A label has at most 255 bytes.
        out.push(self.name().len() as u8);
        out.extend_from_slice(self.name().as_bytes());
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        let [len] = input.array()?;
        let bytes = input.take(len as usize)?;
        let name = std::str::from_utf8(bytes).map_err(|_| "label is not UTF-8".to_owned())?;
        Self::new(name).map_err(|e| e.to_string())
    }
    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
    fn parse(text: Option<&str>) -> Result<Self, String> {
        let text = required(text, "label")?;
        let name = text
            .strip_prefix('@')
            .ok_or_else(|| format!("`{text}` is not a label: it needs a leading @"))?;
        Self::new(name).map_err(|e| e.to_string())
    }
}

impl Field for Address {
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::BufferOffset { handle, offset } => {
                out.push(0);
                handle.encode(out);
                (offset as u64).encode(out);
            }
            Self::PhiCoordinate { class, page, byte } => {
                out.extend_from_slice(&[1, class, page, byte]);
            }
            Self::RegisterIndirect { base, offset } => {
                out.extend_from_slice(&[2, base.index()]);
                out.extend_from_slice(&offset.to_le_bytes());
            }
            Self::RegisterIndirectComputed {
                handle_reg,
                offset_reg,
            } => out.extend_from_slice(&[3, handle_reg.index(), offset_reg.index()]),
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, String> {
        match input.array()? {
            [0] => Ok(Self::BufferOffset {
                handle: u64::decode(input)?,
                offset: usize::try_from(u64::decode(input)?)
                    .map_err(|_| "offset does not fit this machine".to_owned())?,
            }),
            [1] => {
                let [class, page, byte] = input.array()?;
                Ok(Self::PhiCoordinate { class, page, byte })
            }
            [2] => Ok(Self::RegisterIndirect {
                base: Register::decode(input)?,
                offset: i32::from_le_bytes(input.array()?),
            }),
            [3] => Ok(Self::RegisterIndirectComputed {
                handle_reg: Register::decode(input)?,
                offset_reg: Register::decode(input)?,
            }),
            [mode] => Err(format!("no address mode has code {mode}")),
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn parse(text: Option<&str>) -> Result<Self, String> {
        let text = required(text, "address")?;
        let inner = text
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .ok_or_else(|| format!("`{text}` is not an address in brackets"))?;
        parse_address(inner.trim()).ok_or_else(|| {
            format!("`{text}` is none of [buf1 + 0], [phi 0:0:0], [r1 + 0], [r1 - 4], [r1 + r2]")
        })
    }
}

fn parse_address(inner: &str) -> Option<Address> {
    if let Some(coordinates) = inner.strip_prefix("phi ") {
        let mut parts = coordinates.split(':').map(|part| part.trim().parse().ok());
        let (class, page, byte) = (parts.next()??, parts.next()??, parts.next()??);
        return parts
            .next()
            .is_none()
            .then_some(Address::PhiCoordinate { class, page, byte });
    }
    let split = inner.find(['+', '-']);
    let (head, sign, tail) = match split {
        Some(at) => (&inner[..at], &inner[at..=at], inner[at + 1..].trim()),
        None => (inner, "+", "0"),
    };
    let head = head.trim();
    if let Some(handle) = head.strip_prefix("buf") {
        let handle = number(handle).ok()?;
        let offset = usize::try_from(number(tail).ok()?).ok()?;
        let plain = sign == "+" && !tail.starts_with('-');
        return plain.then_some(Address::BufferOffset { handle, offset });
    }
    let base = Register::new(indexed(head, 'r')?);
    if let Some(offset) = indexed(tail, 'r') {
        return (sign == "+").then_some(Address::RegisterIndirectComputed {
            handle_reg: base,
            offset_reg: Register::new(offset),
        });
    }
    let magnitude = i64::from(u32::try_from(number(tail).ok()?).ok()?);
    let signed = if sign == "-" { -magnitude } else { magnitude };
    Some(Address::RegisterIndirect {
        base,
        offset: i32::try_from(signed).ok()?,
    })
}
