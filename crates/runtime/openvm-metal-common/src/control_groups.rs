//! Memory that the control groups of this process leave it.

use std::{
    fs::read_to_string,
    path::{Path, PathBuf},
};

/// The files of a group in one version of the kernel's interface.
struct Files {
    /// The file system.
    kind: &'static str,
    max: &'static str,
    current: &'static str,
    /// In `memory.stat`: files that nobody used lately, of the groups below too. They go when memory is needed.
    inactive: &'static str,
}

static FIRST: Files = Files {
    kind: "cgroup",
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    inactive: "total_inactive_file",
};

static SECOND: Files = Files {
    kind: "cgroup2",
    max: "memory.max",
    current: "memory.current",
    inactive: "inactive_file",
};

/// Bytes that the process's group and the groups above it leave: that of them counts which leaves least. Nothing if none has a bound.
/// `root` is the folder that `/` stands for.
pub(crate) fn free(root: &Path) -> Option<u64> {
    let own = |name: &str| read_to_string(root.join("proc/self").join(name)).ok();
    let (groups, mounts) = (own("cgroup")?, own("mountinfo")?);
    let bounds = groups.lines().filter_map(|group| {
        let (files, path) = group_of(group)?;
        mounts
            .lines()
            .filter_map(|line| mount_of(line, files))
            .filter_map(|(top, at)| least_free(root, at, below(path, top), files))
            .min()
    });
    bounds.min()
}

/// The version and the path of a line of `/proc/self/cgroup`, if it is about memory: `0::/a/b`, or `9:memory:/a/b`.
fn group_of(line: &str) -> Option<(&'static Files, &str)> {
    let (number, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    if number == "0" && controllers.is_empty() {
        Some((&SECOND, path))
    } else if controllers.split(',').any(|name| name == "memory") {
        Some((&FIRST, path))
    } else {
        None
    }
}

/// Reads a line of `/proc/self/mountinfo`: the group that is mounted, and where; nothing if it is another file system.
fn mount_of<'a>(line: &'a str, files: &Files) -> Option<(&'a str, &'a str)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut system = system.split(' ');
    if system.next()? != files.kind {
        return None;
    }
    // The options of the first version name the controllers.
    let mut options = system.nth(1).unwrap_or_default().split(',');
    if files.kind == FIRST.kind && !options.any(|name| name == "memory") {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    Some((fields.next()?, fields.next()?))
}

/// The path of a group from the group that is mounted. A container often sees its own group alone, mounted as if it were the top.
fn below<'a>(path: &'a str, top: &str) -> &'a str {
    match path.strip_prefix(top.trim_end_matches('/')) {
        Some(rest) if (rest.is_empty() || rest.starts_with('/')) && !rest.contains("..") => rest,
        _ => "",
    }
}

/// Bytes that the groups from the mounted one to that at `path` leave at least.
fn least_free(root: &Path, mounted: &str, path: &str, files: &Files) -> Option<u64> {
    let mut folder: PathBuf = root.join(mounted.trim_start_matches('/'));
    let mut least = free_in(&folder, files);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        folder.push(name);
        least = least.into_iter().chain(free_in(&folder, files)).min();
    }
    least
}

/// Bytes that one group leaves; nothing if it has no bound.
fn free_in(folder: &Path, files: &Files) -> Option<u64> {
    let file = |name| read_to_string(folder.join(name)).ok();
    let max: u64 = file(files.max)?.trim().parse().ok()?;
    let current: u64 = file(files.current)?.trim().parse().ok()?;
    let inactive = file("memory.stat").and_then(|stat| number_behind(&stat, files.inactive));
    Some(max.saturating_sub(current.saturating_sub(inactive.unwrap_or(0))))
}

/// The number behind a name at the start of a line.
pub(crate) fn number_behind(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    /// A folder in place of `/`.
    struct Root(TempDir);

    impl Root {
        fn new(cgroup: &str, mountinfo: &str) -> Self {
            let root = Self(tempfile::tempdir().expect("a folder"));
            root.file("proc/self/cgroup", cgroup);
            root.file("proc/self/mountinfo", mountinfo);
            root
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }

        /// A group with bound, use and files that nobody used lately.
        fn group(&self, path: &str, files: &Files, max: &str, current: u64, inactive: u64) {
            self.file(&format!("{path}/{}", files.max), max);
            self.file(&format!("{path}/{}", files.current), &current.to_string());
            let stat = format!("anon 5\n{} {inactive}\n", files.inactive);
            self.file(&format!("{path}/memory.stat"), &stat);
        }
    }

    #[test]
    fn the_tightest_of_a_group_and_those_above_it_counts() {
        let root = Root::new("0::/user.slice/job\n", V2);
        assert_eq!(free(root.0.path()), None, "the top has no bound");
        let (slice, job) = ("sys/fs/cgroup/user.slice", "sys/fs/cgroup/user.slice/job");
        root.group(job, &SECOND, "max\n", 700, 0);
        assert_eq!(free(root.0.path()), None);
        root.group(slice, &SECOND, "1000\n", 800, 300);
        assert_eq!(free(root.0.path()), Some(500));
        root.group(job, &SECOND, "600\n", 200, 0);
        assert_eq!(free(root.0.path()), Some(400));
        root.group(job, &SECOND, "100\n", 800, 0);
        assert_eq!(free(root.0.path()), Some(0));
        // Another one's.
        root.group("sys/fs/cgroup/other", &SECOND, "1\n", 0, 0);
        root.group(job, &SECOND, "900\n", 0, 0);
        assert_eq!(free(root.0.path()), Some(500));
    }

    #[test]
    fn the_first_version_has_a_folder_for_memory() {
        let mounts = "33 32 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      34 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      35 32 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "4:cpu,cpuacct:/a\n9:memory:/a/b\n0::/c\n";
        let root = Root::new(groups, mounts);
        let unbounded = "9223372036854771712\n";
        root.group("sys/fs/cgroup/memory", &FIRST, unbounded, 7, 0);
        root.group("sys/fs/cgroup/memory/a", &FIRST, "3000\n", 1000, 100);
        root.group("sys/fs/cgroup/memory/a/b", &FIRST, "4000\n", 500, 0);
        root.group("sys/fs/cgroup/cpu/a", &FIRST, "1\n", 0, 0);
        assert_eq!(free(root.0.path()), Some(2100));
    }

    /// A container of the first version without a name space of its own: the host's path, and its own group as the top.
    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let mounts = "34 32 0:30 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup ro,memory\n";
        let root = Root::new("9:memory:/docker/1/inner\n", mounts);
        root.group("sys/fs/cgroup/memory", &FIRST, "900\n", 100, 0);
        assert_eq!(free(root.0.path()), Some(800));
        root.group("sys/fs/cgroup/memory/inner", &FIRST, "500\n", 100, 0);
        assert_eq!(free(root.0.path()), Some(400));
        // A path that is not below what is mounted, and one outside of the name space.
        for path in ["/docker/12", "/../other"] {
            root.file("proc/self/cgroup", &format!("9:memory:{path}\n"));
            assert_eq!(free(root.0.path()), Some(800), "{path}");
        }
    }

    #[test]
    fn a_system_without_groups_has_no_bound() {
        let root = Root::new("", "");
        assert_eq!(free(root.0.path()), None);
        assert_eq!(free(&root.0.path().join("nowhere")), None);
    }
}
