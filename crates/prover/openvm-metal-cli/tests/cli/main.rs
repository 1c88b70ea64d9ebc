//! The command as a user runs it: output that can be parsed, clear errors, exit statuses.

#[cfg(feature = "reference")]
mod bench;
mod circuits;
mod devices;
mod folder;
#[cfg(unix)]
mod interrupts;
mod kernels;
mod support;
