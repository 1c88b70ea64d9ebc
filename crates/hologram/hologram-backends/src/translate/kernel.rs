//! The kernel around a translated program.

use super::emit::{declarations, Emitter};
use super::fault;
use super::graph::{Flow, Graph};
use super::handles;
use super::plan::{Options, Plan, Slot, FIXED_SLOTS};
use super::returns::Returns;
use super::structure::structured;
use super::types::{from_bits, local};
use crate::isa::{Instruction, Register, Ty};
use crate::program::Program;

/// Bytes of threadgroup memory before the program's shared memory: three sets of four counters, padded.
pub const CONTROL_BYTES: usize = 64;

/// Effect of each instruction on the flow of control.
pub fn flows(program: &Program) -> Vec<Flow> {
    let target = |name: &str| program.resolve_label(name).unwrap_or(program.len());
    program
        .instructions()
        .iter()
        .map(|instruction| match instruction {
            Instruction::Bra {
                target: t,
                pred: None,
            } => Flow::Jump(target(t.name())),
            Instruction::Bra { target: t, .. } => Flow::Branch(target(t.name())),
            Instruction::Loop { body, .. } => Flow::Loop(target(body.name())),
            Instruction::Call { target: t } => Flow::Call(target(t.name())),
            Instruction::Ret {} => Flow::Ret,
            Instruction::Exit {} => Flow::Exit,
            Instruction::BarSync { .. } => Flow::Barrier,
            _ => Flow::Next,
        })
        .collect()
}

/// Makes the plan of a valid program.
pub fn plan(program: &Program, options: &Options) -> Plan {
    let flows = flows(program);
    let graph = Graph::new(&flows);
    let barriers = flows.contains(&Flow::Barrier);
    let shared = program
        .instructions()
        .iter()
        .any(|i| matches!(i, Instruction::Lds { .. } | Instruction::Sts { .. }));
    let cooperative = barriers || shared;
    let mut emitter = Emitter::new(program, &graph, FIXED_SLOTS.to_vec());
    emitter.in_bounds = options.in_bounds;
    emitter.handles = handles::sources(program, &graph, &options.initial);
    let repeats = || {
        graph.sequence.iter().any(|&b| {
            matches!(graph.blocks[b].flow, Flow::Call(_) | Flow::Ret)
                || graph
                    .successors(b)
                    .any(|s| graph.order[s] <= graph.order[b])
        })
    };
    emitter.counted = options.tight_budget || (!options.unlimited && repeats());
    if barriers {
        emitter.leave_fault = "st = 3u; break;";
    }
    let form = if barriers {
        None
    } else {
        structured(&graph, &mut emitter)
    };
    let switched = form.is_none() && !program.is_empty();
    let body = match form {
        Some(text) => text,
        None if program.is_empty() => String::new(),
        None => {
            emitter.leave_fault = "st = 3u; break;";
            emitter.returns = Returns::new(program, &graph, options.apple);
            switch(&graph, &mut emitter, barriers)
        }
    };
    let (locals, declared) = declarations(program);
    let linear = options.linear && !cooperative;
    let specials = specials(&locals, options, linear, &mut emitter.slots);
    let counter = if emitter.counted {
        // A lane that takes few steps does not look at what ends the program.
        "    ulong n = 0, L = hg_mark(0ul, B, 256ul);\n"
    } else {
        ""
    };
    let (table, boundary) = (emitter.table, emitter.boundary);
    let slots = emitter.slots;
    let mut text = format!(
        "struct $K_p {{ ulong v[{}]; }};\n[[max_total_threads_per_threadgroup(1024)]] kernel void $K(device uchar* mem [[buffer(0)]], \
         constant $K_p& P [[buffer(1)]], device atomic_uint* F [[buffer(2)]], device const ulong* T [[buffer(3)]], \
         device const atomic_uint* Q [[buffer(4)]]",
        slots.len()
    );
    if cooperative {
        text.push_str(", threadgroup uchar* sh [[threadgroup(0)]]");
    }
    text.push_str(&position(linear));
    text.push_str(
        "    const ulong B = P.v[0]; (void)B; (void)F; (void)T; (void)Q; (void)mem; (void)lane;\n",
    );
    text.push_str(&declared);
    text.push_str(&specials);
    text.push_str(counter);
    if cooperative {
        text.push_str(
            "    threadgroup atomic_uint* C = (threadgroup atomic_uint*)sh; (void)C;\n\
             \x20   threadgroup uchar* S = sh + 64; (void)S;\n\
             \x20   for (uint i = index; i < 16u; i += total) atomic_store_explicit(C + i, 0u, memory_order_relaxed);\n\
             \x20   for (ulong i = index; i < P.v[7]; i += total) S[i] = 0;\n\
             \x20   threadgroup_barrier(mem_flags::mem_threadgroup);\n",
        );
    }
    text.push_str(&body);
    text.push_str("}\n");
    Plan {
        text,
        slots,
        table,
        boundary,
        cooperative,
        switched,
        vectors: options.in_bounds,
    }
}

/// Builtin parameters, and the place of the lane.
fn position(linear: bool) -> String {
    if linear {
        return ", uint3 gid [[thread_position_in_grid]]) {\n    const uint lane = gid.x;\n\
                \x20   const uint bx = (uint)P.v[8]; (void)bx;\n"
            .into();
    }
    ", uint3 tid [[thread_position_in_threadgroup]], uint3 bid [[threadgroup_position_in_grid]], \
     uint3 bdim [[threads_per_threadgroup]], uint3 gdim [[threadgroups_per_grid]]) {\n\
     \x20   const uint total = bdim.x * bdim.y * bdim.z, index = tid.x + bdim.x * (tid.y + bdim.y * tid.z);\n\
     \x20   const uint lane = (bid.x + gdim.x * (bid.y + gdim.y * bid.z)) * total + index;\n"
        .into()
}

/// Values of the special and the initial registers, and of the Atlas state.
fn specials(
    locals: &std::collections::BTreeSet<(Register, Ty)>,
    options: &Options,
    linear: bool,
    slots: &mut Vec<Slot>,
) -> String {
    let by_grid = |a: &'static str, b: &'static str| if linear { a } else { b };
    // Lanes may be as many as 32 bits hold.
    let [within, block] = match options.apple {
        true => ["lane - hg_quotient(lane, bx) * bx", "hg_quotient(lane, bx)"],
        false => ["lane % bx", "lane / bx"],
    };
    let values = [
        (Register::LANE_X, Ty::U32, by_grid(within, "tid.x")),
        (Register::BLOCK_X, Ty::U32, by_grid(block, "bid.x")),
        (Register::BLOCK_DIM_X, Ty::U32, by_grid("bx", "bdim.x")),
        (Register::GLOBAL_LANE, Ty::U64, "lane"),
    ];
    let mut out = String::new();
    for (register, ty, value) in values {
        if locals.contains(&(register, ty)) {
            out.push_str(&format!("    {} = {value};\n", local(register, ty)));
        }
    }
    for &(register, ty) in &options.initial {
        if locals.contains(&(register, ty)) {
            let slot = Slot::Initial(register);
            let index = slots.iter().position(|&s| s == slot).unwrap_or_else(|| {
                slots.push(slot);
                slots.len() - 1
            });
            let word = format!("P.v[{index}]");
            out.push_str(&format!(
                "    {} = {};\n",
                local(register, ty),
                from_bits(ty, &word)
            ));
        }
    }
    out.push_str(&format!(
        "    const uint hg_class = P.v[6] != 0 ? ({}) % 96u : 0u; (void)hg_class;\n    uint phase = 0u; (void)phase;\n",
        by_grid(block, "bid.x")
    ));
    out
}

/// One case per block; with barriers, all lanes of a block meet at one place after each interval.
fn switch(graph: &Graph, emitter: &mut Emitter<'_>, barriers: bool) -> String {
    let mut cases = String::new();
    for &block in &graph.sequence {
        emitter.case(block, &mut cases);
    }
    // Places behind calls are reached by returns only.
    for block in 0..graph.blocks.len() {
        if graph.order[block] == usize::MAX {
            emitter.case(block, &mut cases);
        }
    }
    let mut out = format!(
        "    uint pc = {}u, st = 0u, at = 0u; (void)at;\n",
        emitter.returns.case(0)
    );
    out.push_str(&emitter.returns.declaration());
    let run =
        format!("while (st == 0u) {{\nswitch (pc) {{\n{cases}default: st = 2u; break;\n}}\n}}\n");
    if !barriers {
        return out + &run;
    }
    out.push_str(&format!(
        "    uint set = 0u;\n    for (;;) {{\n{run}\
         if (st == 1u) {{\n\
         atomic_fetch_add_explicit(C + set, 1u, memory_order_relaxed);\n\
         atomic_fetch_max_explicit(C + set + 2, at, memory_order_relaxed);\n\
         atomic_fetch_max_explicit(C + set + 3, ~at, memory_order_relaxed);\n\
         }}\n\
         if (st == 3u) atomic_fetch_add_explicit(C + set + 1, 1u, memory_order_relaxed);\n\
         const uint next = set == 8u ? 0u : set + 4u;\n\
         if (index == 0u) for (uint i = 0u; i < 4u; i++) atomic_store_explicit(C + next + i, 0u, memory_order_relaxed);\n\
         threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n\
         const uint waiting = atomic_load_explicit(C + set, memory_order_relaxed);\n\
         const uint faults = atomic_load_explicit(C + set + 1, memory_order_relaxed);\n\
         const uint high = atomic_load_explicit(C + set + 2, memory_order_relaxed);\n\
         const uint low = ~atomic_load_explicit(C + set + 3, memory_order_relaxed);\n\
         set = next;\n\
         if (faults != 0u || waiting == 0u) break;\n\
         if (waiting != total || high != low) {{\n\
         if (st == 1u) hg_fault(F, lane, {}u, at, 0ul, 0ul, 0ul);\n\
         break;\n}}\n\
         st = 0u;\n}}\n",
        fault::DIVERGENCE
    ));
    out
}
