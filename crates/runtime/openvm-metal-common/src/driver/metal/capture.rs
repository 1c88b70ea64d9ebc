//! A trace of everything that the device does for a context, written for Xcode.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use objc2_foundation::NSURL;
use objc2_metal::{MTLCaptureDescriptor, MTLCaptureDestination, MTLCaptureManager};

use super::Device;
use crate::driver::apple::capture::{file, refused, Obstacle};
use crate::driver::CAPTURE_VARIABLE;
use crate::error::Result;

/// A context of this process is writing a trace.
static CAPTURING: AtomicBool = AtomicBool::new(false);

/// The trace is written while this lives.
pub(super) struct Capture(PathBuf);

/// Begins the trace that `OPENVM_METAL_CAPTURE` asks for. Contexts beside the one that writes it go on without.
///
/// # Errors
/// [`MetalError::InvalidSetting`](crate::MetalError::InvalidSetting), [`MetalError::Capture`](crate::MetalError::Capture).
pub(super) fn begin(device: &Device) -> Result<Option<Capture>> {
    let Some(path) = file(std::env::var(CAPTURE_VARIABLE).ok().as_deref())? else {
        return Ok(None);
    };
    if CAPTURING.swap(true, Ordering::AcqRel) {
        tracing::warn!(path = %path.display(), "another context writes the trace; this one is not in it");
        return Ok(None);
    }
    match start(device, &path) {
        Ok(()) => {
            tracing::info!(path = %path.display(), "a trace is written until the context ends");
            Ok(Some(Capture(path)))
        }
        Err(reason) => {
            CAPTURING.store(false, Ordering::Release);
            Err(refused(&path, &reason))
        }
    }
}

fn start(device: &Device, path: &std::path::Path) -> std::result::Result<(), String> {
    // SAFETY: the manager lives as long as the process.
    let manager = unsafe { MTLCaptureManager::sharedCaptureManager() };
    let obstacle = if !manager.supportsDestination(MTLCaptureDestination::GPUTraceDocument) {
        Some(Obstacle::Unsupported)
    } else if path.exists() {
        Some(Obstacle::Exists)
    } else if manager.isCapturing() {
        Some(Obstacle::Busy)
    } else {
        None
    };
    if let Some(obstacle) = obstacle {
        return Err(obstacle.reason().into());
    }
    let descriptor = MTLCaptureDescriptor::new();
    let url = NSURL::from_file_path(path).ok_or("that is no name of a file")?;
    // SAFETY: a device is one of the objects that can be captured.
    unsafe { descriptor.setCaptureObject(Some((**device).as_ref())) };
    descriptor.setDestination(MTLCaptureDestination::GPUTraceDocument);
    descriptor.setOutputURL(Some(&url));
    manager
        .startCaptureWithDescriptor_error(&descriptor)
        .map_err(|error| error.localizedDescription().to_string())
}

impl Drop for Capture {
    fn drop(&mut self) {
        // SAFETY: the manager lives as long as the process.
        unsafe { MTLCaptureManager::sharedCaptureManager() }.stopCapture();
        CAPTURING.store(false, Ordering::Release);
        tracing::info!(path = %self.0.display(), "the trace is written");
    }
}
