//! The file in the state folder that holds the catalogue between two runs.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::vault::catalogue::Catalogue;

const FILE: &str = "catalogue";

const UNFINISHED: &str = "catalogue.new";

/// Larger files are ignored; ten million notes take less.
const MAX_BYTES: u64 = 2 << 30;

/// Loads the catalogue, if the file is valid. It is only an optimization: the scan finds
/// everything.
pub(super) fn load(state: &Path) -> Option<Catalogue> {
    let mut file = File::open(state.join(FILE)).ok()?;
    let size = file.metadata().ok()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).ok().filter(|_| size < MAX_BYTES)?);
    file.read_to_end(&mut bytes).ok()?;
    let catalogue = Catalogue::from_bytes(&bytes);
    if catalogue.is_none() {
        tracing::info!("the saved catalogue cannot be used; it is rebuilt");
    }
    catalogue
}

/// Saves the catalogue for the next start.
pub(super) fn save(state: &Path, bytes: &[u8]) {
    if let Err(error) = write(state, bytes) {
        tracing::warn!("the catalogue could not be saved for the next start: {error}");
    }
}

pub(super) fn exists(state: &Path) -> bool {
    state.join(FILE).exists()
}

fn write(state: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(state)?;
    let unfinished = state.join(UNFINISHED);
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // No fsync: the hash detects a file that a power cut truncated.
    options.open(&unfinished)?.write_all(bytes)?;
    fs::rename(unfinished, state.join(FILE))
}
