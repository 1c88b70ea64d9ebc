//! Metal's errors as the run time's faults: what happened, in which kernels, what can be done.

use std::sync::atomic::{AtomicBool, Ordering};

use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_foundation::{NSArray, NSError};
use objc2_metal::{
    MTLCommandBufferEncoderInfo, MTLCommandBufferEncoderInfoErrorKey, MTLCommandBufferError,
    MTLCommandBufferErrorDomain, MTLCommandEncoderErrorState,
};

use crate::driver::apple::encoders::{culprit, Encoded, EncoderState};
use crate::driver::apple::remedy::{command_buffer, Severity, COMMAND_BUFFER_ERRORS};
use crate::driver::completion::Submission;
use crate::driver::Fault;

/// The table of remedies has Metal's numbers.
const _: () = {
    let metal = [
        MTLCommandBufferError::None,
        MTLCommandBufferError::Internal,
        MTLCommandBufferError::Timeout,
        MTLCommandBufferError::PageFault,
        MTLCommandBufferError::AccessRevoked,
        MTLCommandBufferError::NotPermitted,
        MTLCommandBufferError::OutOfMemory,
        MTLCommandBufferError::InvalidResource,
        MTLCommandBufferError::Memoryless,
        MTLCommandBufferError::DeviceRemoved,
        MTLCommandBufferError::StackOverflow,
    ];
    let mut i = 0;
    while i < metal.len() {
        assert!(metal[i].0 as isize == COMMAND_BUFFER_ERRORS[i].code);
        i += 1;
    }
    assert!(matches!(
        EncoderState::of(MTLCommandEncoderErrorState::Faulted.0),
        EncoderState::Faulted
    ));
};

/// A command buffer of this process did not complete.
static SEEN: AtomicBool = AtomicBool::new(false);

/// True once a command buffer of this process did not complete.
pub(super) fn seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// The fault behind a command buffer that did not complete, with what it held and where it failed.
pub(super) fn fault(
    error: Option<&NSError>,
    submission: &Submission,
    encoders: &[Encoded],
) -> Fault {
    SEEN.store(true, Ordering::Relaxed);
    let held = submission.held();
    let Some(error) = error else {
        return Fault::Failed(format!("no error was given; submitted: {held}"));
    };
    let (domain, code) = (error.domain(), error.code());
    // SAFETY: a constant string of the framework.
    let known = *domain == *unsafe { MTLCommandBufferErrorDomain };
    let words = error.localizedDescription().to_string();
    let (severity, remedy) = command_buffer(known.then_some(code), &words);
    let mut text = format!("{words} ({domain} {code}); {remedy}; submitted: {held}");
    let names: Vec<&'static str> = submission.operations.iter().map(|work| work.name).collect();
    let place = culprit(encoders, &names, &states(error));
    if !place.is_empty() {
        text = format!("{text}; {place}");
    }
    match severity {
        Severity::Lost => Fault::Lost(text),
        Severity::Failed => Fault::Failed(text),
    }
}

/// Labels and states of the encoders, which Metal gives where a command buffer asks for it.
fn states(error: &NSError) -> Vec<(String, EncoderState)> {
    // SAFETY: a constant string of the framework.
    let key = unsafe { MTLCommandBufferEncoderInfoErrorKey };
    let infos = error.userInfo().objectForKey(key);
    let Some(Ok(infos)) = infos.map(|infos| infos.downcast::<NSArray>()) else {
        return Vec::new();
    };
    infos
        .iter()
        .map(|info| {
            let info: &AnyObject = &info;
            // SAFETY: the array under this key holds encoder infos.
            let info = unsafe {
                &*std::ptr::from_ref(info).cast::<ProtocolObject<dyn MTLCommandBufferEncoderInfo>>()
            };
            let state = EncoderState::of(info.errorState().0);
            (info.label().to_string(), state)
        })
        .collect()
}
