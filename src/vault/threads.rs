//! Threads for what is done on all cores at once.

use std::sync::LazyLock;

use rayon::ThreadPool;

/// Threads of this room's own, as many as there are cores. Whoever holds a turn or the catalogue
/// may wait for them, since nothing that runs on them waits for either; those of the common pool do,
/// where other rooms read notes on them.
static POOL: LazyLock<ThreadPool> = LazyLock::new(|| {
    let pool = rayon::ThreadPoolBuilder::new().thread_name(|_| "vault-walk".to_owned()).build();
    pool.expect("a system that runs a program gives it threads")
});

/// Runs work on this room's own threads: see there. It must take no turn and no lock of the vault, but
/// for that of the watched folders, which nobody holds while waiting for anything.
pub(super) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    POOL.install(work)
}
