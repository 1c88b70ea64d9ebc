//! The `openvm-metal` command.

fn main() {}
