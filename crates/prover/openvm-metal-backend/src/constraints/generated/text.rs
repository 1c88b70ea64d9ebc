//! Rules as kernels in Metal Shading Language.

use std::{fmt::Write, ops::Range};

use openvm_metal_builder::{lexer::Tokens, scan, slices};
use openvm_metal_common::DeviceKind;

use crate::{
    constraints::eval_field::EvalField,
    prelude::montgomery,
    programs::{Operation, Piece, Place, Repeat, Rule, Rules, Statement, Target},
};

/// Headers that the kernels call, in the order of inclusion.
const HEADERS: [&str; 5] = [
    include_str!("../../../metal/field/baby_bear.h"),
    include_str!("../../../metal/field/fp_ext.h"),
    include_str!("../../../metal/field/lane_ops.h"),
    include_str!("../../../metal/constraints/points.h"),
    include_str!("../../../metal/constraints/rules.h"),
];
/// The same as Apple's compiler gets it: without conditions and macros.
const APPLE_HEADERS: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.h"));

/// Prefix of a loop that is not unrolled: a macro of the headers, and its expansion for Apple's compiler, which a test compares.
const ROLLED: &str = "MSL_ROLLED";
const APPLE_ROLLED: &str = r#"_Pragma("clang loop unroll(disable)")"#;

/// Rules of a program that are one kernel.
#[derive(Clone, Debug)]
pub struct KernelGroup<'a> {
    pub rules: &'a Rules,
    pub members: Range<usize>,
    /// The field of the variables: the base field in round 0, the extension in the rounds over the hypercube.
    pub field: EvalField,
    /// Points of a thread.
    pub points: u32,
}

/// Name of the kernel of a group.
pub fn kernel_name(group: usize) -> String {
    format!("rules_{group}")
}

/// The unit of some groups for a kind of device.
pub fn for_device(kind: DeviceKind, groups: &[KernelGroup<'_>]) -> String {
    match kind {
        DeviceKind::Metal => apple_unit(groups),
        DeviceKind::Cuda | DeviceKind::Cpu => unit(groups),
    }
}

/// A unit with the kernels of some groups, for the toolchain.
pub fn unit(groups: &[KernelGroup<'_>]) -> String {
    let mut text = String::new();
    for line in HEADERS.iter().flat_map(|header| header.lines()) {
        // Headers come one after another here, each once.
        if line != "#pragma once" && !line.starts_with("#include \"") {
            text.push_str(line);
            text.push('\n');
        }
    }
    with_kernels(text, groups)
}

/// The same as Apple's compiler gets it; kernels take the place of a slice in their grid.
pub fn apple_unit(groups: &[KernelGroup<'_>]) -> String {
    let headers = format!("{APPLE_HEADERS}#line 1 \"rules\"\n");
    let text = with_kernels(headers, groups).replace(ROLLED, APPLE_ROLLED);
    let tokens = Tokens::new(text);
    slices::with_slices(&tokens, &scan::scan(&tokens))
}

fn with_kernels(mut text: String, groups: &[KernelGroup<'_>]) -> String {
    for (k, group) in groups.iter().enumerate() {
        for index in group.members.clone() {
            function(&mut text, k, index, &group.rules.list[index]);
        }
    }
    for (k, group) in groups.iter().enumerate() {
        kernel(&mut text, k, group);
    }
    text
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// The function of a rule: one use at the points of a thread.
fn function(text: &mut String, group: usize, index: usize, rule: &Rule) {
    put!(text, "template <typename C> inline void rule_{group}_{index}(C c, device const uint* o, thread typename C::Sum* sums) {{");
    put!(text, "    typedef typename C::Value W;");
    let mut known = Known {
        variables: vec![false; rule.variables as usize],
        uniforms: vec![false; rule.uniforms.len()],
    };
    for (number, piece) in rule.pieces().iter().enumerate() {
        match piece {
            Piece::Statement(at) => {
                let statement = &rule.statements[*at];
                known.load(text, rule, statement, [true; 3]);
                let value = expression(statement, statement.operands.map(operand));
                put!(text, "    {}", result(rule, statement, &value, ""));
            }
            Piece::Repeat(repeat) => self::repeat(text, rule, &mut known, number, repeat),
        }
    }
    put!(text, "}}");
}

/// A loop. What does not move is loaded before it, what moves by each time for itself.
fn repeat(text: &mut String, rule: &Rule, known: &mut Known, number: usize, repeat: &Repeat) {
    let body = || {
        rule.statements[repeat.body.clone()]
            .iter()
            .zip(&repeat.moves)
    };
    for (statement, moves) in body() {
        known.load(text, rule, statement, moves.map(|moves| !moves));
    }
    for v in &repeat.carried {
        put!(text, "    W c{number}_{v} = t{v};");
    }
    put!(
        text,
        "    {ROLLED} for (uint k = 0; k < {}u; k++) {{",
        repeat.times
    );
    if repeat.variables > 0 {
        put!(
            text,
            "        device const uint* q = o + k * {}u;",
            repeat.variables
        );
    }
    let mut loaded = Vec::new();
    for (statement, moves) in body() {
        let names = std::array::from_fn(|slot| match statement.operands[slot] {
            Place::Variable(v) if moves[slot] => {
                if !loaded.contains(&v) {
                    loaded.push(v);
                    put!(text, "        W y{v} = rule_load(c, q[{v}]);");
                }
                format!("y{v}")
            }
            Place::Value(v) if moves[slot] && v < repeat.first_value => format!("c{number}_{v}"),
            place => operand(place),
        });
        let value = expression(statement, names);
        let moved = match repeat.coefficients {
            0 => String::new(),
            by => format!(" + k * {by}u"),
        };
        put!(text, "        {}", result(rule, statement, &value, &moved));
    }
    for v in &repeat.carried {
        put!(text, "        c{number}_{v} = t{};", v + repeat.values);
    }
    put!(text, "    }}");
    for &v in &repeat.carried {
        put!(text, "    W t{} = c{number}_{v};", repeat.last(v));
    }
}

/// The statement that takes a value; `moved` is added to the place of its coefficient.
fn result(rule: &Rule, statement: &Statement, value: &str, moved: &str) -> String {
    match statement.target {
        Target::Value(v) => format!("W t{v} = {value};"),
        Target::Accumulator(a, c) => {
            let word = rule.variables + rule.uniforms.len() as u32 + c;
            format!("sums[{a}] = rule_add(c, o[{word}{moved}], {value}, sums[{a}]);")
        }
    }
}

/// Units that were loaded already.
struct Known {
    variables: Vec<bool>,
    uniforms: Vec<bool>,
}

impl Known {
    /// Loads what a statement reads for the first time, of the operands that are `wanted`.
    fn load(&mut self, text: &mut String, rule: &Rule, statement: &Statement, wanted: [bool; 3]) {
        let operands = statement.operands.iter().zip(wanted);
        for (&place, wanted) in operands.take(statement.operation.arity()) {
            match place {
                _ if !wanted => {}
                Place::Variable(v) if !std::mem::replace(&mut self.variables[v as usize], true) => {
                    put!(text, "    W x{v} = rule_load(c, o[{v}]);");
                }
                Place::Uniform(u) if !std::mem::replace(&mut self.uniforms[u as usize], true) => {
                    match rule.uniforms[u as usize] {
                        Some(constant) => {
                            let word = montgomery(constant);
                            put!(text, "    FpL u{u} = fp_lanes(Fp{{{word}u}});");
                        }
                        None => {
                            let word = rule.variables + u;
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

/// The value of a statement, of type `W`, with so named operands.
fn expression(statement: &Statement, names: [String; 3]) -> String {
    let [a, b, c] = names;
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

/// The kernel of a group.
fn kernel(text: &mut String, number: usize, group: &KernelGroup<'_>) {
    let (rules, members, points) = (group.rules, group.members.clone(), group.points);
    let (kind, context) = match group.field {
        EvalField::Base => ("RuleBase", "rule_base"),
        EvalField::Extension => ("RuleExt", "rule_ext"),
    };
    let accumulators = rules.accumulators;
    let uses = |of: &dyn Fn(&Rule) -> u64| -> u64 {
        let members = rules.list[members.clone()].iter();
        members.map(|rule| u64::from(rule.uses) * of(rule)).sum()
    };
    let loads = uses(&|rule| u64::from(rule.variables));
    let launch = "(p.jobs << p.log_threads)";
    let (products, read) = match group.field {
        EvalField::Base => {
            let products = u64::from(points) * uses(&Rule::products);
            (format!("{products} * {launch} products"), 4 * loads)
        }
        EvalField::Extension => {
            let [full, by_uniform] =
                [0, 1].map(|k| u64::from(points) * uses(&|rule| rule.ext_products()[k]));
            let products = 4 * by_uniform;
            let both = format!("{full} * {launch} ext products, {products} * {launch} products");
            (both, 32 * loads)
        }
    };
    put!(text, "/// Rules {members:?} at {points} points of each thread: reads the columns that its section names, writes its sums.");
    put!(
        text,
        "/// Cost: {products}, {} * {launch} + {} * p.threads bytes per launch.",
        u64::from(points) * read,
        u64::from(points) * 16 * u64::from(accumulators)
    );
    put!(text, "/// Registers: {MAX_REGISTERS} per thread.");
    put!(
        text,
        "/// Safety: ranges, operands and the columns, uniforms and coefficients that they name lie in their buffers, and so do the results."
    );
    put!(text, "[[max_total_threads_per_threadgroup({MAX_THREADS})]]");
    put!(
        text,
        "kernel void {}(device const Fp* arena [[buffer(0)]], device Fp* partials [[buffer(1)]], \
         device const FpExt* coefficients [[buffer(2)]], device const Fp* uniforms [[buffer(3)]], \
         device const uint* use_ranges [[buffer(4)]], device const uint* operands [[buffer(5)]], \
         constant RuleParams& p [[buffer(6)]], gid_l gid [[thread_position_in_grid]]) {{",
        kernel_name(number)
    );
    put!(text, "    if (gid >= p.threads) return;");
    put!(text, "    RuleShare at = rule_share(p, index_l(gid));");
    put!(text, "    if (rule_inside(p, at.place)) {{");
    put!(
        text,
        "        {kind}<{points}u> c = {context}<{points}u>(p, at, arena, coefficients, uniforms);"
    );
    put!(text, "        {kind}Sum<{points}u> sums[{accumulators}];");
    for a in 0..accumulators {
        put!(text, "        sums[{a}] = rule_sum(c);");
    }
    put!(
        text,
        "        uint end = use_ranges[p.table + at.section + 1u];"
    );
    put!(
        text,
        "        for (uint r = use_ranges[p.table + at.section]; r < end; r += 3u) {{"
    );
    put!(
        text,
        "            device const uint* o = operands + p.operands + use_ranges[r + 1u];"
    );
    put!(text, "            uint uses = use_ranges[r + 2u];");
    put!(text, "            switch (use_ranges[r]) {{");
    for index in members {
        let words = rules.list[index].words;
        put!(text, "            case {index}u: for (uint k = 0; k < uses; k++) rule_{number}_{index}(c, o + k * {words}u, sums); break;");
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
/// Registers of a thread on NVIDIA GPUs: five threadgroups on a multiprocessor. Long rules would have up to 200.
const MAX_REGISTERS: u32 = 96;
