//! A thread pool for parallel work in this room.

use std::sync::LazyLock;

use rayon::ThreadPool;

/// One thread per core. Not rayon's global pool: code that holds a lock of the vault waits for this
/// pool, and jobs on the global pool (other rooms read notes there) may wait for such a lock.
static POOL: LazyLock<ThreadPool> = LazyLock::new(|| {
    let pool = rayon::ThreadPoolBuilder::new().thread_name(|_| "vault-walk".to_owned()).build();
    pool.expect("a system that runs a program gives it threads")
});

/// Runs `work` in this room's thread pool. It must take no lock of the vault except that of the
/// watched folders, whose holders never wait.
pub(super) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    POOL.install(work)
}
