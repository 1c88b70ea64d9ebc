//! Launches of kernels.

use std::ffi::c_void;

use cudarc::driver::sys;

use super::modules::{Function, Modules};
use super::status::call;
use crate::driver::{Dispatch, DriverResult};
use crate::error::{MetalError, Result};
use crate::kernel::{PtxParam, MAX_BUFFERS, MAX_THREADGROUP_ARGS};

/// Most parameters a kernel can have.
const MAX_PARAMS: usize = 2 + MAX_BUFFERS + MAX_THREADGROUP_ARGS;
/// Threadgroup memory that a kernel has without asking for it (`modules.rs`).
const PLAIN_SHARED_BYTES: u32 = 48 << 10;
/// Threadgroups along y and z.
const MAX_GROUPS_YZ: u32 = 65_535;

/// The function of a kernel, if it can be launched in this shape.
pub(super) fn function(modules: &Modules, dispatch: &Dispatch) -> Result<Function> {
    let name = dispatch.kernel.name;
    let function = modules.get(dispatch.kernel)?;
    let requested = dispatch
        .shape
        .threads_per_group
        .iter()
        .map(|&t| t as u64)
        .product();
    if requested > function.threads as u64 {
        let limit = function.threads;
        return Err(MetalError::TooManyThreads {
            kernel: name,
            requested,
            limit,
        });
    }
    let [_, y, z] = dispatch.slice.groups;
    if y > MAX_GROUPS_YZ || z > MAX_GROUPS_YZ {
        return Err(MetalError::GridTooLarge {
            kernel: name,
            threadgroups: dispatch.shape.groups.map(u64::from),
            limit: [i32::MAX as u64, MAX_GROUPS_YZ as u64, MAX_GROUPS_YZ as u64],
        });
    }
    Ok(function)
}

/// Launches a function in a stream.
pub(super) fn launch(
    function: &Function,
    dispatch: &Dispatch,
    stream: sys::CUstream,
) -> DriverResult {
    let mut words = [0u64; MAX_PARAMS];
    let mut params = [std::ptr::null_mut::<c_void>(); MAX_PARAMS];
    let mut shared_bytes = 0u32;
    let place = [dispatch.slice.first, dispatch.shape.groups];
    let slots = words.iter_mut().zip(&mut params);
    for (param, (word, pointer)) in dispatch.kernel.ptx_params.iter().zip(slots) {
        *word = match *param {
            PtxParam::Threads => dispatch.shape.threads[0] as u64,
            PtxParam::Buffer(index) => {
                dispatch.buffers[index as usize].map_or(0, |span| span.address())
            }
            PtxParam::Value { index, .. } => {
                let bytes = dispatch.values[index as usize].unwrap_or_default();
                *pointer = bytes.as_ptr() as *mut c_void;
                continue;
            }
            PtxParam::Threadgroup(index) => {
                let offset = shared_bytes;
                shared_bytes += dispatch.threadgroup_bytes[index as usize];
                offset as u64
            }
            PtxParam::Slice => {
                *pointer = std::ptr::from_ref(&place).cast_mut().cast();
                continue;
            }
        };
        *pointer = std::ptr::from_mut(word).cast();
    }
    if shared_bytes + dispatch.kernel.static_threadgroup_bytes > PLAIN_SHARED_BYTES {
        prefer_shared(function)?;
    }
    let ([gx, gy, gz], [tx, ty, tz]) = (dispatch.slice.groups, dispatch.shape.threads_per_group);
    // SAFETY: the parameters match the signature that the builder recorded, in number, order and
    // size; the driver copies them before it returns.
    let status = unsafe {
        sys::cuLaunchKernel(
            function.handle,
            gx,
            gy,
            gz,
            tx,
            ty,
            tz,
            shared_bytes,
            stream,
            params.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    call("cuLaunchKernel", status)
}

/// Multiprocessors that run this function keep as much of their memory for threadgroups as they can, so that several fit.
fn prefer_shared(function: &Function) -> DriverResult {
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    let most = sys::CUshared_carveout::CU_SHAREDMEM_CARVEOUT_MAX_SHARED as i32;
    // SAFETY: the function of a loaded module; nothing else is passed by address.
    let status = unsafe { sys::cuFuncSetAttribute(function.handle, attribute, most) };
    call("cuFuncSetAttribute", status)
}
