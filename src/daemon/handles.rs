//! The limit of open files.

/// The wanted limit. Each connection has a file open, and a change of many notes up to 512 folders.
#[cfg(unix)]
const WANTED: u64 = 8_192;

/// Raises this process's limit of open files as far as allowed and needed. Desktops start programs with a limit of
/// 1,024 or 256, even if the system allows more.
pub fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // macOS rejects more than 10,240 although it reports no limit.
        for target in [WANTED, 10_240] {
            let target = maximum.map_or(target, |most| most.min(target));
            let enough = current.is_none_or(|current| current >= target);
            let limit = Rlimit { current: Some(target), maximum };
            if enough || setrlimit(Resource::Nofile, limit).is_ok() {
                return;
            }
        }
        tracing::debug!("the limit of open files stays as it is");
    }
}
