//! What Metal's errors mean and what can be done about them.

use objc2_foundation::NSError;
use objc2_metal::{MTLCommandBufferError, MTLCommandBufferErrorDomain};

use crate::driver::Fault;

/// The fault behind a command buffer that did not complete, with what it held.
pub(super) fn fault(error: Option<&NSError>, held: &str) -> Fault {
    let Some(error) = error else {
        return Fault::Failed(format!("no error was given; submitted: {held}"));
    };
    let (domain, code) = (error.domain(), error.code());
    // SAFETY: a constant string of the framework.
    let known = *domain == *unsafe { MTLCommandBufferErrorDomain };
    let kind = usize::try_from(code)
        .ok()
        .filter(|_| known)
        .map(MTLCommandBufferError);
    let remedy = kind.and_then(remedy).unwrap_or_default();
    let text = format!(
        "{} ({domain} {code}){remedy}; submitted: {held}",
        error.localizedDescription()
    );
    match kind {
        Some(MTLCommandBufferError::DeviceRemoved) => Fault::Lost(text),
        _ => Fault::Failed(text),
    }
}

fn remedy(kind: MTLCommandBufferError) -> Option<&'static str> {
    Some(match kind {
        MTLCommandBufferError::Timeout => {
            "; the system ends GPU work that takes too long: close programs that use the GPU, or make a smaller proof"
        }
        MTLCommandBufferError::PageFault | MTLCommandBufferError::InvalidResource => {
            "; a kernel used memory outside its buffers: please report it with `openvm-metal selftest --json`"
        }
        MTLCommandBufferError::AccessRevoked => {
            "; after GPU errors the system refuses all work of a process: start it again"
        }
        MTLCommandBufferError::OutOfMemory => {
            "; the GPU had no memory left: set OPENVM_METAL_MEMORY_BUDGET lower"
        }
        MTLCommandBufferError::StackOverflow => "; a kernel needs more stack than there is",
        _ => return None,
    })
}
