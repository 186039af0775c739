//! Thread pools by size, and the peak memory of the process.

/// Runs `work` on `threads` threads. One thread also makes the crate's grinding search return the smallest witness.
#[cfg(feature = "parallel")]
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    static POOLS: Mutex<Option<HashMap<usize, Arc<rayon::ThreadPool>>>> = Mutex::new(None);
    let pool = {
        let mut pools = POOLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let build = || Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool"));
        pools.get_or_insert_default().entry(threads).or_insert_with(build).clone()
    };
    pool.install(work)
}

#[cfg(not(feature = "parallel"))]
pub fn on_threads<T: Send>(_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    work()
}

/// Forgets the peak so far, where the system can (Linux).
pub fn reset_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak resident memory in KiB, where the system tells (Linux).
pub fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
