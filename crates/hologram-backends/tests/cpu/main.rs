//! `CpuBackend`: memory, control flow, faults, and every instruction on every type.

mod flow;
mod support;
