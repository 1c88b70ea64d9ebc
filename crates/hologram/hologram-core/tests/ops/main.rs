//! Operations against plain loops, at sizes that fill no vector.

mod elementwise;
mod operands;
mod rows;
mod support;
