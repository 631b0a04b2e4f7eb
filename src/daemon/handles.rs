//! How many files may be open at once.

/// What is asked for: a move that rewrites links in ten thousand notes holds each of their folders
/// open until all of them are written, and where names cannot be exchanged a file for each note.
#[cfg(unix)]
const WANTED: u64 = 65_536;

/// Raises this process's limit as far as it may and needs. Desktops start programs with room for
/// 1,024 open files, or 256, whatever the system could do.
pub fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // macOS refuses more than 10,240 though it says there is no limit.
        for wanted in [WANTED, 10_240] {
            let wanted = maximum.map_or(wanted, |most| most.min(wanted));
            let enough = current.is_none_or(|current| current >= wanted);
            let limit = Rlimit { current: Some(wanted), maximum };
            if enough || setrlimit(Resource::Nofile, limit).is_ok() {
                return;
            }
        }
        tracing::debug!("the limit of open files stays as it is");
    }
}
