//! Resources that a process has used so far.

/// Processor seconds of this process, and the most memory that it held, in MiB.
fn usage() -> (f64, i64) {
    // SAFETY: rusage is plain data, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage of ours.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    assert_eq!(failed, 0, "getrusage");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let unit = if cfg!(target_os = "macos") {
        1 << 20
    } else {
        1 << 10
    };
    let time = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    (time, usage.ru_maxrss / unit)
}

/// Prints the processor time between its calls, and the peak of memory.
pub struct Phases((f64, i64));

impl Phases {
    pub fn start() -> Self {
        let now = usage();
        println!("before: {:.2} CPU-s, {} MiB", now.0, now.1);
        Self(now)
    }

    pub fn end(&mut self, name: &str) {
        let now = usage();
        println!("{name}: {:.3} CPU-s, peak {} MiB", now.0 - self.0 .0, now.1);
        self.0 = now;
    }
}
