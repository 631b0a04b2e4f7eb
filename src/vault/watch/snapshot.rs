//! The catalogue from one start to the next: a file in the steward's own folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::vault::catalogue::Catalogue;

/// The file in the state folder.
const FILE: &str = "catalogue";

/// What is written before it takes the file's place.
const UNFINISHED: &str = "catalogue.new";

/// A file that is larger is none of ours: ten million notes take less.
const MOST_BYTES: u64 = 2 << 30;

/// The catalogue that was kept in this state folder, if it is whole. What is damaged or of another
/// version is worth no word: the scan that runs beside it finds everything.
pub(super) fn load(state: &Path) -> Option<Catalogue> {
    let mut file = File::open(state.join(FILE)).ok()?;
    let size = file.metadata().ok()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).ok().filter(|_| size < MOST_BYTES)?);
    file.read_to_end(&mut bytes).ok()?;
    let catalogue = Catalogue::from_bytes(&bytes);
    if catalogue.is_none() {
        tracing::info!("what was kept of the catalogue cannot be used; it is made anew");
    }
    catalogue
}

/// Keeps the catalogue, as bytes, for the next start. Nothing depends on it.
pub(super) fn keep(state: &Path, bytes: &[u8]) {
    if let Err(error) = write(state, bytes) {
        tracing::warn!("the catalogue could not be kept for the next start: {error}");
    }
}

/// Whether a catalogue is kept for the next start.
pub(super) fn is_kept(state: &Path) -> bool {
    state.join(FILE).exists()
}

fn write(state: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(state)?;
    let unfinished = state.join(UNFINISHED);
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Not made durable: a hash tells a file that a power cut left half written.
    options.open(&unfinished)?.write_all(bytes)?;
    fs::rename(unfinished, state.join(FILE))
}
