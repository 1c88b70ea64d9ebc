//! Rules as kernels in Metal Shading Language.

use std::{fmt::Write, ops::Range};

use openvm_metal_builder::{lexer::Tokens, scan, slices};
use openvm_metal_common::DeviceKind;

use crate::{
    prelude::montgomery,
    programs::{Operation, Place, Rules, Shape, Statement, Target},
};

/// What the kernels call, in the order of inclusion.
const HEADERS: [&str; 5] = [
    include_str!("../../../metal/field/baby_bear.h"),
    include_str!("../../../metal/field/fp_ext.h"),
    include_str!("../../../metal/field/lane_ops.h"),
    include_str!("../../../metal/constraints/points.h"),
    include_str!("../../../metal/constraints/rules.h"),
];
/// The same as Apple's compiler gets it: without conditions and macros.
const APPLE_HEADERS: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.h"));

/// Shapes of a program that are one kernel.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    pub rules: &'a Rules,
    pub shapes: Range<usize>,
    /// Points of a thread.
    pub points: u32,
}

/// Name of the kernel of a part.
pub fn kernel_name(part: usize) -> String {
    format!("rules_{part}")
}

/// The unit of some parts for a kind of device.
pub fn for_device(kind: DeviceKind, parts: &[Part<'_>]) -> String {
    match kind {
        DeviceKind::Metal => apple_unit(parts),
        DeviceKind::Cuda | DeviceKind::Cpu => unit(parts),
    }
}

/// A unit with the kernels of some parts, for the toolchain.
pub fn unit(parts: &[Part<'_>]) -> String {
    let mut text = String::new();
    for line in HEADERS.iter().flat_map(|header| header.lines()) {
        // Headers come one after another here, each once.
        if line != "#pragma once" && !line.starts_with("#include \"") {
            text.push_str(line);
            text.push('\n');
        }
    }
    with_kernels(text, parts)
}

/// The same as Apple's compiler gets it; kernels take the place of a slice in their grid.
pub fn apple_unit(parts: &[Part<'_>]) -> String {
    let headers = format!("{APPLE_HEADERS}#line 1 \"rules\"\n");
    let tokens = Tokens::new(with_kernels(headers, parts));
    slices::with_slices(&tokens, &scan::scan(&tokens))
}

fn with_kernels(mut text: String, parts: &[Part<'_>]) -> String {
    for (k, part) in parts.iter().enumerate() {
        for index in part.shapes.clone() {
            rule(&mut text, k, index, &part.rules.shapes[index]);
        }
    }
    for (k, part) in parts.iter().enumerate() {
        kernel(&mut text, k, part);
    }
    text
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// The function of a shape: one row of operands at the points of a thread.
fn rule(text: &mut String, part: usize, index: usize, shape: &Shape) {
    put!(text, "template <typename C> inline void rule_{part}_{index}(C c, device const uint* o, thread typename C::Sum* sums) {{");
    put!(text, "    typedef typename C::Value W;");
    let mut known = Known {
        variables: vec![false; shape.variables as usize],
        uniforms: vec![false; shape.uniforms.len()],
    };
    for statement in &shape.statements {
        known.load(text, shape, statement);
        let value = expression(statement);
        match statement.target {
            Target::Value(v) => {
                put!(text, "    W t{v} = {value};");
            }
            Target::Accumulator(a, c) => {
                let word = shape.variables + shape.uniforms.len() as u32 + c;
                put!(
                    text,
                    "    sums[{a}] = rule_add(c, o[{word}], {value}, sums[{a}]);"
                );
            }
        }
    }
    put!(text, "}}");
}

/// What was loaded already.
struct Known {
    variables: Vec<bool>,
    uniforms: Vec<bool>,
}

impl Known {
    /// Loads what a statement reads for the first time.
    fn load(&mut self, text: &mut String, shape: &Shape, statement: &Statement) {
        for &place in &statement.operands[..statement.operation.arity()] {
            match place {
                Place::Variable(v) if !std::mem::replace(&mut self.variables[v as usize], true) => {
                    put!(text, "    W x{v} = rule_load(c, o[{v}]);");
                }
                Place::Uniform(u) if !std::mem::replace(&mut self.uniforms[u as usize], true) => {
                    match shape.uniforms[u as usize] {
                        Some(constant) => {
                            let word = montgomery(constant);
                            put!(text, "    FpL u{u} = fp_lanes(Fp{{{word}u}});");
                        }
                        None => {
                            let word = shape.variables + u;
                            put!(text, "    FpL u{u} = rule_uniform(c, o[{word}]);");
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn operand(place: Place) -> String {
    match place {
        Place::Value(v) => format!("t{v}"),
        Place::Variable(v) => format!("x{v}"),
        Place::Uniform(u) => format!("u{u}"),
    }
}

/// The value of a statement, of type `W`.
fn expression(statement: &Statement) -> String {
    let [a, b, c] = statement.operands.map(operand);
    let uniform = |place: Place| matches!(place, Place::Uniform(_));
    let [ua, ub, _] = statement.operands.map(uniform);
    // One operand at least must be a `W`; a uniform comes second where the order is free.
    let wide = |name: &str| format!("rule_value(c, {name})");
    let sum = |a: &str, ua: bool, b: &str, ub: bool, sign: &str| match (ua, ub, sign) {
        (true, true, _) => format!("{} {sign} {b}", wide(a)),
        (true, false, "+") => format!("{b} + {a}"),
        _ => format!("{a} {sign} {b}"),
    };
    let product = match (ua, ub) {
        (true, true) => format!("{} * {b}", wide(&a)),
        (true, false) => format!("{b} * {a}"),
        _ => format!("{a} * {b}"),
    };
    match statement.operation {
        Operation::Copy if ua => wide(&a),
        Operation::Copy => a,
        Operation::Add => sum(&a, ua, &b, ub, "+"),
        Operation::Sub => sum(&a, ua, &b, ub, "-"),
        Operation::Mul | Operation::MulU => product,
        Operation::MulAdd | Operation::MulAddU => format!("{product} + {c}"),
        Operation::MulSub | Operation::MulSubU => format!("{product} - {c}"),
        Operation::NegMulAdd | Operation::NegMulAddU => format!("{c} - {product}"),
    }
}

/// The kernel over some shapes.
fn kernel(text: &mut String, number: usize, part: &Part<'_>) {
    let (rules, shapes, points) = (part.rules, part.shapes.clone(), part.points);
    let accumulators = rules.accumulators;
    let (products, loads): (u64, u64) = rules.shapes[shapes.clone()]
        .iter()
        .map(|s| {
            let rows = u64::from(s.rows);
            (rows * s.products(), rows * u64::from(s.variables))
        })
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    put!(text, "/// Rules {shapes:?} at {points} points of each thread: reads the columns that its section names, writes its sums.");
    put!(
        text,
        "/// Cost: {} * (p.jobs << p.log_threads) products, {} * (p.jobs << p.log_threads) + {} * p.threads bytes per launch.",
        u64::from(points) * products,
        u64::from(points) * 4 * loads,
        u64::from(points) * 16 * u64::from(accumulators)
    );
    put!(
        text,
        "/// Safety: runs, rows and the columns, uniforms and coefficients that they name lie in their buffers, and so do the results."
    );
    put!(text, "[[max_total_threads_per_threadgroup({MAX_THREADS})]]");
    put!(
        text,
        "kernel void {}(device const Fp* arena [[buffer(0)]], device Fp* partials [[buffer(1)]], \
         device const FpExt* coefficients [[buffer(2)]], device const Fp* uniforms [[buffer(3)]], \
         device const uint* runs [[buffer(4)]], device const uint* operands [[buffer(5)]], \
         constant RuleParams& p [[buffer(6)]], gid_l gid [[thread_position_in_grid]]) {{",
        kernel_name(number)
    );
    put!(text, "    if (gid >= p.threads) return;");
    put!(text, "    RuleShare at = rule_share(p, index_l(gid));");
    put!(text, "    if (rule_inside(p, at.place)) {{");
    put!(
        text,
        "        RuleBase<{points}u> c = rule_base<{points}u>(p, at, arena, coefficients, uniforms);"
    );
    put!(text, "        RuleBaseSum<{points}u> sums[{accumulators}];");
    for a in 0..accumulators {
        put!(text, "        sums[{a}] = rule_sum(c);");
    }
    put!(text, "        uint end = runs[p.table + at.section + 1u];");
    put!(
        text,
        "        for (uint r = runs[p.table + at.section]; r < end; r += 3u) {{"
    );
    put!(
        text,
        "            device const uint* o = operands + p.operands + runs[r + 1u];"
    );
    put!(text, "            uint rows = runs[r + 2u];");
    put!(text, "            switch (runs[r]) {{");
    for index in shapes {
        let words = rules.shapes[index].words;
        put!(text, "            case {index}u: for (uint k = 0; k < rows; k++) rule_{number}_{index}(c, o + k * {words}u, sums); break;");
    }
    put!(text, "            default: break;");
    put!(text, "            }}");
    put!(text, "        }}");
    put!(
        text,
        "        device Fp* out = partials + p.partials + ulong(at.job) * p.partials_stride + ulong(at.section) * p.section_stride;"
    );
    for a in 0..accumulators {
        put!(
            text,
            "        rule_store(c, out + {}ul * p.plane_stride, p.plane_stride, sums[{a}]);",
            4 * a
        );
    }
    put!(text, "    }}");
    put!(text, "}}");
}

/// Threads of a threadgroup.
pub const MAX_THREADS: u32 = 128;
