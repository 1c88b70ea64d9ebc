//! The command as a user runs it: results, clear errors, exit statuses.

mod programs;
mod running;
mod selftest;
mod support;
