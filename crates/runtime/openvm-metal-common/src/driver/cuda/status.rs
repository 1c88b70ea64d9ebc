//! Meaning of a driver call's status for the run time.

use std::ffi::CStr;

use cudarc::driver::sys::{self, CUresult};

use crate::device_kind::DeviceKind;
use crate::driver::{DriverResult, Fault};
use crate::error::MetalError;

/// Turns the status of a driver call into a result.
pub(super) fn call(name: &'static str, status: CUresult) -> DriverResult {
    result(name, status, text)
}

/// The same with the words of `text` for the status: without a driver, which would give its own.
fn result(name: &'static str, status: CUresult, text: impl Fn(CUresult) -> String) -> DriverResult {
    use CUresult::*;
    let reason = || format!("{name}: {}", text(status));
    Err(match status {
        CUDA_SUCCESS => return Ok(()),
        CUDA_ERROR_OUT_OF_MEMORY => Fault::OutOfMemory,
        CUDA_ERROR_DEINITIALIZED
        | CUDA_ERROR_NO_DEVICE
        | CUDA_ERROR_DEVICE_UNAVAILABLE
        | CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUDA_ERROR_ECC_UNCORRECTABLE
        | CUDA_ERROR_NVLINK_UNCORRECTABLE
        | CUDA_ERROR_SYSTEM_NOT_READY
        | CUDA_ERROR_MPS_SERVER_NOT_READY
        | CUDA_ERROR_UNKNOWN => Fault::Lost(reason()),
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_LAUNCH_TIMEOUT
        | CUDA_ERROR_LAUNCH_FAILED
        | CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC
        | CUDA_ERROR_ASSERT => Fault::Failed(reason()),
        _ => Fault::Error(MetalError::Driver {
            device: DeviceKind::Cuda,
            call: name,
            message: text(status),
        }),
    })
}

/// The driver's own words for a status.
pub(super) fn text(status: CUresult) -> String {
    let (mut name, mut detail) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both calls store a pointer to a constant string or leave null.
    unsafe {
        sys::cuGetErrorName(status, &mut name);
        sys::cuGetErrorString(status, &mut detail);
        let read = |s: *const std::ffi::c_char| {
            if s.is_null() {
                "unknown".into()
            } else {
                CStr::from_ptr(s).to_string_lossy()
            }
        };
        format!("{} ({})", read(name), read(detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consequence of a status, with its words.
    #[derive(Debug, PartialEq, Eq)]
    enum Kind {
        Done,
        OutOfMemory,
        Lost(String),
        Failed(String),
        Driver(&'static str, String),
    }

    fn kind(status: CUresult) -> Kind {
        match result("cuCall", status, |status| format!("{status:?}")) {
            Ok(()) => Kind::Done,
            Err(Fault::OutOfMemory) => Kind::OutOfMemory,
            Err(Fault::Lost(reason)) => Kind::Lost(reason),
            Err(Fault::Failed(reason)) => Kind::Failed(reason),
            Err(Fault::Error(MetalError::Driver {
                device: DeviceKind::Cuda,
                call,
                message,
            })) => Kind::Driver(call, message),
            Err(other) => panic!("{status:?} gives {other:?}"),
        }
    }

    #[test]
    fn success_is_no_fault_and_memory_can_be_freed() {
        assert_eq!(kind(CUresult::CUDA_SUCCESS), Kind::Done);
        assert_eq!(kind(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Kind::OutOfMemory);
    }

    #[test]
    fn a_device_that_is_gone_stays_gone() {
        use CUresult::*;
        for status in [
            CUDA_ERROR_DEINITIALIZED,
            CUDA_ERROR_NO_DEVICE,
            CUDA_ERROR_DEVICE_UNAVAILABLE,
            CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUDA_ERROR_ECC_UNCORRECTABLE,
            CUDA_ERROR_NVLINK_UNCORRECTABLE,
            CUDA_ERROR_SYSTEM_NOT_READY,
            CUDA_ERROR_MPS_SERVER_NOT_READY,
            CUDA_ERROR_UNKNOWN,
        ] {
            let reason = format!("cuCall: {status:?}");
            assert_eq!(kind(status), Kind::Lost(reason));
        }
    }

    #[test]
    fn what_a_kernel_did_wrong_is_a_failure_of_what_was_submitted() {
        use CUresult::*;
        for status in [
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_LAUNCH_FAILED,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_ASSERT,
        ] {
            let reason = format!("cuCall: {status:?}");
            assert_eq!(kind(status), Kind::Failed(reason));
        }
    }

    #[test]
    fn other_errors_are_of_the_call_and_the_device_stays() {
        use CUresult::*;
        for status in [
            CUDA_ERROR_INVALID_VALUE,
            CUDA_ERROR_INVALID_CONTEXT,
            CUDA_ERROR_INVALID_HANDLE,
            CUDA_ERROR_INVALID_PTX,
            CUDA_ERROR_NOT_FOUND,
            CUDA_ERROR_NOT_READY,
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
            CUDA_ERROR_NO_BINARY_FOR_GPU,
        ] {
            let expected = Kind::Driver("cuCall", format!("{status:?}"));
            assert_eq!(kind(status), expected);
        }
    }
}
