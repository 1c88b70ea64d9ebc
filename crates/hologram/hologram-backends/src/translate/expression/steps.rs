//! Steps of expressions as text.

use hologram_kernels::host::expression::{FoldOp, StepOp};

use super::super::types::{bits, constant, msl, wide};
use super::super::value::{compare, convert, divide, extremes, infix, least, one};
use crate::isa::{BinaryOp, Condition, MapOp, Ty};

/// Text of a step on elements of `ty`; what no device has is an error that names it.
pub fn text(op: StepOp, ty: Ty, args: &[String]) -> Result<String, String> {
    let a = args.first().map_or("", String::as_str);
    let b = args.get(1).map_or("", String::as_str);
    let m = msl(ty);
    let truth = |cond| format!("(uchar)({} ? 1 : 0)", compare(cond, ty, a, b));
    Ok(match op {
        StepOp::Map(op) => map(op, ty, a)?,
        StepOp::Binary(op) => binary(op, ty, a, b)?,
        StepOp::Not => format!("({m})(~({}){a})", wide(ty)),
        // Of both zeros 0, and a NaN stays.
        StepOp::Sign if ty.is_float() => {
            format!("{a} > 0 ? ({m})1 : {a} < 0 ? ({m})-1 : {a} + ({m})0")
        }
        StepOp::Sign if ty.is_signed_int() => {
            format!("{a} > 0 ? ({m})1 : {a} < 0 ? ({m})-1 : {a}")
        }
        StepOp::Sign => format!("({m})({a} > 0 ? 1 : 0)"),
        StepOp::Trunc => format!("hg_trunc_{}({a})", ty.name()),
        StepOp::FloorDiv | StepOp::Remainder if ty.is_float() => {
            return Err(format!("{op:?} of {ty}"));
        }
        StepOp::FloorDiv => format!("hg_floor_div<{m}>({a}, {b})"),
        StepOp::Remainder => format!("hg_remainder<{m}>({a}, {b})"),
        StepOp::Maximum => format!("hg_maximum<{m}>({a}, {b})"),
        StepOp::Minimum => format!("hg_minimum<{m}>({a}, {b})"),
        StepOp::And => infix(ty, "&", a, b),
        StepOp::Or => infix(ty, "|", a, b),
        StepOp::Xor => infix(ty, "^", a, b),
        StepOp::ShiftLeft => shift(ty, a, b, "0"),
        StepOp::ShiftRight => shift_right(ty, a, b),
        StepOp::Equal => truth(Condition::Eq),
        StepOp::NotEqual => truth(Condition::Ne),
        StepOp::Less => truth(Condition::Lt),
        StepOp::LessEqual => truth(Condition::Le),
        StepOp::Select => {
            let c = args.get(2).map_or("", String::as_str);
            format!("{a} != 0 ? {b} : {c}")
        }
        StepOp::Convert(to) => convert(to, ty, a),
    })
}

fn map(op: MapOp, ty: Ty, x: &str) -> Result<String, String> {
    let (m, t, w) = (msl(ty), ty.name(), wide(ty));
    let float = ty.is_float();
    Ok(match op {
        MapOp::Abs | MapOp::Neg if float => format!("hg_{}_{t}({x})", op.name()),
        MapOp::Abs if ty.is_signed_int() => {
            format!("({m})({x} < 0 ? 0 - ({w}){x} : ({w}){x})")
        }
        MapOp::Abs => x.into(),
        MapOp::Neg => format!("({m})(0 - ({w}){x})"),
        MapOp::Relu => format!("{x} > 0 ? {x} : ({m})0"),
        MapOp::Exp
        | MapOp::Log
        | MapOp::Sqrt
        | MapOp::Sin
        | MapOp::Cos
        | MapOp::Tan
        | MapOp::Tanh
        | MapOp::Ceil
        | MapOp::Floor
        | MapOp::Round => format!("hg_{}_{t}({x})", op.name()),
        MapOp::Rsqrt => format!("({m})1 / hg_sqrt_{t}({x})"),
        MapOp::Reciprocal => format!("({m})1 / {x}"),
        MapOp::Sigmoid => format!("({m})1 / (({m})1 + hg_exp_{t}(hg_neg_{t}({x})))"),
        MapOp::Gelu => format!("hg_gelu_{t}({x})"),
        MapOp::Erf => return Err(format!("{op} of {ty}")),
    })
}

fn binary(op: BinaryOp, ty: Ty, a: &str, b: &str) -> Result<String, String> {
    Ok(match op {
        BinaryOp::Add => infix(ty, "+", a, b),
        BinaryOp::Sub => infix(ty, "-", a, b),
        BinaryOp::Mul => infix(ty, "*", a, b),
        BinaryOp::Div => divide(ty, a, b),
        BinaryOp::Pow => format!("hg_pow_{}({a}, {b})", ty.name()),
        BinaryOp::Min => least(ty, "min", a, b),
        BinaryOp::Max => least(ty, "max", a, b),
        BinaryOp::Atan2 => return Err(format!("{op} of {ty}")),
    })
}

/// A shift to the left; `over` for amounts from the width on, negative ones among them.
fn shift(ty: Ty, a: &str, b: &str, over: &str) -> String {
    let (m, w, n) = (msl(ty), wide(ty), ty.bits());
    let u = unsigned(ty);
    format!("({u}){b} >= {n} ? ({m}){over} : ({m})(({w}){a} << (uint){b})")
}

fn shift_right(ty: Ty, a: &str, b: &str) -> String {
    let (m, n, u) = (msl(ty), ty.bits(), unsigned(ty));
    let over = match ty.is_signed_int() {
        true => format!("({a} < 0 ? -1 : 0)"),
        false => "0".into(),
    };
    format!("({u}){b} >= {n} ? ({m}){over} : ({m})({a} >> (uint){b})")
}

/// The unsigned type in which amounts are compared.
fn unsigned(ty: Ty) -> &'static str {
    bits(ty)
}

/// Result of a fold of nothing.
pub fn empty(op: FoldOp, ty: Ty) -> String {
    let (low, high) = extremes(ty);
    constant(
        ty,
        match op {
            FoldOp::Sum => 0,
            FoldOp::Product => one(ty),
            FoldOp::Minimum => high,
            FoldOp::Maximum => low,
        },
    )
}

/// Two values folded.
pub fn folded(op: FoldOp, ty: Ty, a: &str, b: &str) -> String {
    match op {
        FoldOp::Sum => infix(ty, "+", a, b),
        FoldOp::Product => infix(ty, "*", a, b),
        FoldOp::Minimum => format!("hg_minimum<{}>({a}, {b})", msl(ty)),
        FoldOp::Maximum => format!("hg_maximum<{}>({a}, {b})", msl(ty)),
    }
}
