//! The cache of compiled PTX that NVIDIA's driver keeps: where it is and whether it is on.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::report::CacheReport;

/// Report of the driver's variables. The driver does not tell its cache's contents.
pub(super) fn report(variable: impl Fn(&str) -> Option<OsString>) -> CacheReport {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut report = CacheReport::default();
    if set("CUDA_CACHE_DISABLE").is_some_and(|value| value != "0") {
        report.notes.push("CUDA_CACHE_DISABLE is set".into());
        return report;
    }
    let home = || Some(PathBuf::from(set("HOME")?).join(".nv").join("ComputeCache"));
    let folder = set("CUDA_CACHE_PATH").map(PathBuf::from).or_else(home);
    match folder {
        Some(folder) => report.folder = Some(folder.display().to_string()),
        None => report.notes.push("no home folder".into()),
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> CacheReport {
        report(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn where_the_driver_keeps_its_cache() {
        let home = ("HOME", "/home/ada");
        let folder = |variables: &[_]| with(variables).folder;
        assert_eq!(
            folder(&[home]).as_deref(),
            Some("/home/ada/.nv/ComputeCache")
        );
        assert_eq!(
            folder(&[home, ("CUDA_CACHE_PATH", "/c")]).as_deref(),
            Some("/c")
        );
        assert_eq!(
            folder(&[home, ("CUDA_CACHE_DISABLE", "0")]).as_deref(),
            Some("/home/ada/.nv/ComputeCache")
        );
        let off = with(&[home, ("CUDA_CACHE_DISABLE", "1")]);
        assert_eq!((off.folder, off.notes.len()), (None, 1));
        assert_eq!(with(&[]).notes, ["no home folder"]);
    }
}
