//! Instructions that compute a register from registers, as expressions.

use super::types::{bits, constant, local, msl, predicate, wide};
use crate::isa::{Condition, Instruction, Register, Ty};

/// Terms of a reduction in one expression: a parenthesis is open for each, and compilers limit brackets.
const TERMS: usize = 16;

/// Statements that give `target` the value of an instruction; `None` for instructions that do more.
pub fn assignment(instruction: &Instruction, target: &str) -> Option<String> {
    let parts = reduction(instruction).unwrap_or_default();
    let Some((first, rest)) = parts.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Some(format!("{target} = {};\n", expression(instruction)?));
    };
    // The target may be one of the terms.
    let (_, ty) = instruction.def()?;
    let mut out = format!("{{ {} {PART} = {first};\n", msl(ty));
    for part in rest {
        out.push_str(&format!("{PART} = {part};\n"));
    }
    out.push_str(&format!("{target} = {PART}; }}\n"));
    Some(out)
}

/// True if an instruction only computes a register from registers.
pub fn is_computed(instruction: &Instruction) -> bool {
    reduction(instruction).is_some() || expression(instruction).is_some()
}

/// Expression of the value that an instruction writes, but for long reductions.
fn expression(instruction: &Instruction) -> Option<String> {
    use Instruction as I;
    Some(match *instruction {
        I::Mov { ty, src, .. } => local(src, ty),
        I::Cvt {
            dst_ty,
            src_ty,
            src,
            ..
        } => convert(dst_ty, src_ty, &local(src, src_ty)),
        I::ReduceAdd { .. } | I::ReduceMul { .. } | I::ReduceMin { .. } | I::ReduceMax { .. } => {
            reduction(instruction)?.swap_remove(0)
        }
        I::Mirror { src, .. } => format!("hg_mirror({})", local(src, Ty::U8)),
        _ => {
            return arithmetic(instruction)
                .or_else(|| logic(instruction))
                .or_else(|| function(instruction))
        }
    })
}

/// Sums, products and their kin.
fn arithmetic(instruction: &Instruction) -> Option<String> {
    use Instruction as I;
    let v = local;
    Some(match *instruction {
        I::Add { ty, src1, src2, .. } => infix(ty, "+", &v(src1, ty), &v(src2, ty)),
        I::Sub { ty, src1, src2, .. } => infix(ty, "-", &v(src1, ty), &v(src2, ty)),
        I::Mul { ty, src1, src2, .. } => infix(ty, "*", &v(src1, ty), &v(src2, ty)),
        I::Div { ty, src1, src2, .. } => divide(ty, &v(src1, ty), &v(src2, ty)),
        I::Mad { ty, a, b, c, .. } => {
            infix(ty, "+", &infix(ty, "*", &v(a, ty), &v(b, ty)), &v(c, ty))
        }
        I::Fma { ty, a, b, c, .. } if ty.is_float() => format!(
            "hg_fma_{}({}, {}, {})",
            ty.name(),
            v(a, ty),
            v(b, ty),
            v(c, ty)
        ),
        I::Min { ty, src1, src2, .. } => least(ty, "min", &v(src1, ty), &v(src2, ty)),
        I::Max { ty, src1, src2, .. } => least(ty, "max", &v(src1, ty), &v(src2, ty)),
        I::Abs { ty, src, .. } => {
            let x = v(src, ty);
            let (w, m) = (wide(ty), msl(ty));
            if ty.is_float() {
                format!("hg_abs_{}({x})", ty.name())
            } else {
                format!("({m})({x} < 0 ? 0 - ({w}){x} : ({w}){x})")
            }
        }
        I::Neg { ty, src, .. } => {
            let x = v(src, ty);
            if ty.is_float() {
                format!("hg_neg_{}({x})", ty.name())
            } else {
                format!("({})(0 - ({}){x})", msl(ty), wide(ty))
            }
        }
        _ => return None,
    })
}

/// Bits, shifts, comparisons, selection.
fn logic(instruction: &Instruction) -> Option<String> {
    use Instruction as I;
    let v = local;
    Some(match *instruction {
        I::And { ty, src1, src2, .. } => infix(ty, "&", &v(src1, ty), &v(src2, ty)),
        I::Or { ty, src1, src2, .. } => infix(ty, "|", &v(src1, ty), &v(src2, ty)),
        I::Xor { ty, src1, src2, .. } => infix(ty, "^", &v(src1, ty), &v(src2, ty)),
        I::Not { ty, src, .. } => format!("({})(~({}){})", msl(ty), wide(ty), v(src, ty)),
        I::Shl {
            ty, src, amount, ..
        } => format!(
            "({})(({}){} << ({} & {}u))",
            msl(ty),
            wide(ty),
            v(src, ty),
            v(amount, Ty::U32),
            ty.bits() - 1
        ),
        I::Shr {
            ty, src, amount, ..
        } => format!(
            "({})({} >> ({} & {}u))",
            msl(ty),
            v(src, ty),
            v(amount, Ty::U32),
            ty.bits() - 1
        ),
        I::SetCc {
            cond,
            ty,
            src1,
            src2,
            ..
        } => compare(cond, ty, &v(src1, ty), &v(src2, ty)),
        I::Sel {
            ty,
            pred,
            src_true,
            src_false,
            ..
        } => format!(
            "{} ? {} : {}",
            predicate(pred),
            v(src_true, ty),
            v(src_false, ty)
        ),
        _ => return None,
    })
}

/// Exponentials, logarithms, roots, circular functions.
fn function(instruction: &Instruction) -> Option<String> {
    use Instruction as I;
    let v = local;
    Some(match *instruction {
        I::Rsqrt { ty, src, .. } => {
            format!(
                "({m})1 / hg_sqrt_{}({})",
                ty.name(),
                v(src, ty),
                m = msl(ty)
            )
        }
        I::Sigmoid { ty, src, .. } => format!(
            "({m})1 / (({m})1 + hg_exp_{t}(hg_neg_{t}({})))",
            v(src, ty),
            m = msl(ty),
            t = ty.name()
        ),
        I::Pow { ty, src1, src2, .. } => {
            format!("hg_pow_{}({}, {})", ty.name(), v(src1, ty), v(src2, ty))
        }
        I::Exp { ty, src, .. }
        | I::Log { ty, src, .. }
        | I::Log2 { ty, src, .. }
        | I::Log10 { ty, src, .. }
        | I::Sqrt { ty, src, .. }
        | I::Sin { ty, src, .. }
        | I::Cos { ty, src, .. }
        | I::Tan { ty, src, .. }
        | I::Tanh { ty, src, .. } => {
            format!(
                "hg_{}_{}({})",
                instruction.mnemonic(),
                ty.name(),
                v(src, ty)
            )
        }
        _ => return None,
    })
}

/// The value so far in the later expressions of a long reduction.
const PART: &str = "part";

/// Expressions of a reduction, [`TERMS`] registers in each; all but the first begin with [`PART`].
fn reduction(instruction: &Instruction) -> Option<Vec<String>> {
    use Instruction as I;
    Some(match *instruction {
        I::ReduceAdd {
            ty,
            src_base,
            count,
            ..
        } => fold(ty, src_base, count, constant(ty, 0), |a, b| {
            infix(ty, "+", &a, &b)
        }),
        I::ReduceMul {
            ty,
            src_base,
            count,
            ..
        } => fold(ty, src_base, count, constant(ty, one(ty)), |a, b| {
            infix(ty, "*", &a, &b)
        }),
        I::ReduceMin {
            ty,
            src_base,
            count,
            ..
        } => fold(ty, src_base, count, constant(ty, extremes(ty).1), |a, b| {
            least(ty, "min", &a, &b)
        }),
        I::ReduceMax {
            ty,
            src_base,
            count,
            ..
        } => fold(ty, src_base, count, constant(ty, extremes(ty).0), |a, b| {
            least(ty, "max", &a, &b)
        }),
        _ => return None,
    })
}

pub fn one(ty: Ty) -> u64 {
    match ty {
        Ty::F32 => u64::from(1f32.to_bits()),
        Ty::F64 => 1f64.to_bits(),
        _ => 1,
    }
}

/// Smallest and largest value, for floats the infinities, as bits.
pub fn extremes(ty: Ty) -> (u64, u64) {
    match ty {
        Ty::F32 => (
            u64::from(f32::NEG_INFINITY.to_bits()),
            u64::from(f32::INFINITY.to_bits()),
        ),
        Ty::F64 => (f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits()),
        _ if ty.is_signed_int() => (1 << (ty.bits() - 1), ty.mask() >> 1),
        _ => (0, ty.mask()),
    }
}

pub fn infix(ty: Ty, operator: &str, a: &str, b: &str) -> String {
    if ty.is_float() {
        format!("({a} {operator} {b})")
    } else {
        let w = wide(ty);
        format!("({})(({w}){a} {operator} ({w}){b})", msl(ty))
    }
}

pub fn divide(ty: Ty, a: &str, b: &str) -> String {
    if ty.is_float() {
        format!("{a} / {b}")
    } else if ty.is_signed_int() {
        format!(
            "{b} == -1 ? ({m})(0 - ({}){a}) : hg_quotient(({m}){a}, ({m}){b})",
            wide(ty),
            m = msl(ty)
        )
    } else {
        format!("hg_quotient(({m}){a}, ({m}){b})", m = msl(ty))
    }
}

pub fn least(ty: Ty, which: &str, a: &str, b: &str) -> String {
    if ty.is_float() {
        format!("hg_{which}_{}({a}, {b})", ty.name())
    } else {
        format!("hg_{which}_int<{}>({a}, {b})", msl(ty))
    }
}

pub fn compare(cond: Condition, ty: Ty, a: &str, b: &str) -> String {
    let operator = match cond {
        Condition::Eq => "==",
        Condition::Ne => "!=",
        Condition::Lt | Condition::Ltu => "<",
        Condition::Le | Condition::Leu => "<=",
        Condition::Gt | Condition::Gtu => ">",
        Condition::Ge | Condition::Geu => ">=",
    };
    if cond.is_unsigned() {
        let u = bits(ty);
        format!("({u}){a} {operator} ({u}){b}")
    } else {
        format!("{a} {operator} {b}")
    }
}

/// Left fold over consecutive registers.
fn fold(
    ty: Ty,
    base: Register,
    count: u32,
    identity: String,
    combine: impl Fn(String, String) -> String,
) -> Vec<String> {
    let first = u32::from(base.index());
    let terms: Vec<String> = (first..(first + count).min(256))
        .map(|index| local(Register::new(index as u8), ty))
        .collect();
    if terms.is_empty() {
        return vec![identity];
    }
    let part = |(n, terms): (usize, &[String])| {
        let before = (n > 0).then(|| PART.to_string());
        let all = before.into_iter().chain(terms.iter().cloned());
        all.reduce(&combine).unwrap_or_default()
    };
    terms.chunks(TERMS).enumerate().map(part).collect()
}

/// Every pair of types: integers truncate or extend, floats truncate and saturate, NaN gives 0.
pub fn convert(dst: Ty, src: Ty, x: &str) -> String {
    if dst == src {
        return x.into();
    }
    let float = match src {
        Ty::F16 => format!("(float)as_type<half>({x})"),
        Ty::Bf16 => format!("hg_bf({x})"),
        _ => x.into(),
    };
    // The type that the value now has.
    let from = match src {
        Ty::F16 | Ty::Bf16 => Ty::F32,
        other => other,
    };
    match dst {
        Ty::F16 if from == Ty::F64 => format!("hg_f16_f64({float})"),
        Ty::Bf16 if from == Ty::F64 => format!("hg_bf16_f64({float})"),
        Ty::F16 if from.is_int() => format!("hg_f16_{}({float})", narrow_source(from)),
        Ty::Bf16 if from.is_int() => format!("hg_bf16_{}({float})", narrow_source(from)),
        Ty::F16 => format!("as_type<ushort>((half)({float}))"),
        Ty::Bf16 => format!("hg_to_bf({float})"),
        Ty::F32 | Ty::F64 => format!("({})({float})", msl(dst)),
        _ if from.is_float() => format!("hg_{}_{}({float})", dst.name(), from.name()),
        _ => format!("({})({float})", msl(dst)),
    }
}

/// Integers go to narrow floats through the widest integer of their sign.
fn narrow_source(ty: Ty) -> &'static str {
    if ty.is_signed_int() {
        "i64"
    } else {
        "u64"
    }
}
