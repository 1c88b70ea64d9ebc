//! `CpuBackend`: memory, control flow, faults. What single instructions compute is in the test `table`.

mod faults;
mod flow;
mod lanes;
mod memory;
mod support;
