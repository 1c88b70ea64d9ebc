//! The command as a user runs it: output that can be parsed, clear errors, exit statuses.

mod circuits;
mod devices;
mod folder;
mod kernels;
mod support;
