//! Metal's validation of calls and of kernels, which users turn on by environment variables, and what it changes.
//! Metal reads the variables when a process makes its first device.

use std::ffi::OsString;

use crate::kernel::KernelSpec;

/// Threadgroup memory that checked kernels may declare: the checks take some of the device's 32 KiB.
const CHECKED_THREADGROUP_MEMORY: u32 = (32 << 10) - 1;

/// The checks that are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Validation {
    /// `MTL_DEBUG_LAYER`: calls are checked, and wrong ones end the process.
    pub calls: bool,
    /// `MTL_SHADER_VALIDATION`: kernels are compiled with checks of every access.
    pub kernels: bool,
}

impl Validation {
    /// Reads the variables; Metal takes anything but `0` for yes.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let on = |name: &str| variable(name).is_some_and(|v| !v.is_empty() && v != "0");
        Self {
            calls: on("MTL_DEBUG_LAYER"),
            kernels: on("MTL_SHADER_VALIDATION"),
        }
    }

    /// Reason why a kernel is not prepared, if so.
    pub fn refuses(self, kernel: &KernelSpec) -> Option<String> {
        let bytes = kernel.static_threadgroup_bytes;
        (self.kernels && bytes > CHECKED_THREADGROUP_MEMORY).then(|| {
            format!(
                "it declares {bytes} bytes of threadgroup memory, and MTL_SHADER_VALIDATION needs some of the 32768 \
                 for its checks: run without it"
            )
        })
    }

    /// The checks that are on and their effects, in words.
    pub fn summary(self) -> String {
        let mut parts = Vec::new();
        if self.calls {
            parts.push("calls are checked, a wrong one ends the process (MTL_DEBUG_LAYER)");
        }
        if self.kernels {
            parts.push(
                "kernels are checked (MTL_SHADER_VALIDATION): many times slower, fewer threads per threadgroup, no \
                 archives, kernels with 32 KiB of threadgroup memory are missing",
            );
        }
        match parts.is_empty() {
            true => "off".into(),
            false => parts.join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelKind;

    fn with(variables: &[(&str, &str)]) -> Validation {
        Validation::of(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    fn kernel(bytes: u32) -> KernelSpec {
        KernelSpec {
            name: "gemm_f32_128",
            ptx_entry: "",
            unit: "gemm",
            library: "test",
            args: &[],
            kind: KernelKind::Barrier,
            max_threads: 256,
            static_threadgroup_bytes: bytes,
            any_threadgroup_size: true,
            cpu: &[],
            fiber: None,
            ptx_params: &[],
            slices: false,
            clauses: None,
            safe: false,
        }
    }

    #[test]
    fn what_the_variables_mean() {
        assert_eq!(with(&[]), Validation::default());
        assert_eq!(
            with(&[("MTL_SHADER_VALIDATION", "0")]),
            Validation::default()
        );
        assert_eq!(with(&[]).summary(), "off");
        let both = with(&[("MTL_SHADER_VALIDATION", "1"), ("MTL_DEBUG_LAYER", "1")]);
        assert!(both.calls && both.kernels);
        let summary = both.summary();
        assert!(
            summary.contains("MTL_DEBUG_LAYER") && summary.contains("slower"),
            "{summary}"
        );
    }

    #[test]
    fn kernels_with_all_threadgroup_memory_are_missing_when_kernels_are_checked() {
        let checked = with(&[("MTL_SHADER_VALIDATION", "1")]);
        let reason = checked.refuses(&kernel(32 << 10)).expect("no room");
        assert!(reason.contains("32768 bytes"), "{reason}");
        assert_eq!(checked.refuses(&kernel(24 << 10)), None);
        assert_eq!(
            with(&[("MTL_DEBUG_LAYER", "1")]).refuses(&kernel(32 << 10)),
            None
        );
    }
}
