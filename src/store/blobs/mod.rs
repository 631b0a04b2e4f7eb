//! Bytes by their hash: each text once, compressed where it pays, checked on every read.
//!
//! A file is named by the BLAKE3 of its bytes as they were given. It begins with sixteen bytes:
//! `VSB1`, how it is packed, three zeros, and how long the bytes are unpacked. It is written under
//! another name, made durable, renamed, and the folder made durable: what has its name is whole.

mod packing;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::packing::{HEADER, ZSTD, header, parse_header, write_packed};
use crate::chaos;

/// From how many new files on they are made durable by one call for the whole file system, where
/// the system has one.
const MANY: usize = 8;

/// The hash of some bytes: their BLAKE3, written as 64 hexadecimal digits. Its first half is the
/// revision that the tools show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Its 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobHash({self})")
    }
}

impl FromStr for BlobHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{}` is no hash", text.chars().take(80).collect::<String>());
        let hash = blake3::Hash::from_hex(text).map_err(|_| wrong())?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// Why bytes could not be kept or fetched.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// They are not in the store.
    #[error("the text `{hash}` is not in the store")]
    Missing {
        /// What was asked for.
        hash: BlobHash,
    },
    /// They are not what they were when they were put there.
    #[error("the text `{hash}` is damaged: {reason}")]
    Damaged {
        /// What was asked for.
        hash: BlobHash,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused.
    #[error("could not {action} `{}`: {source}", place.display())]
    Io {
        /// What was being done.
        action: &'static str,
        place: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// What is known of a stored text without unpacking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub hash: BlobHash,
    /// Bytes it takes on the disk, as far as its file goes.
    pub bytes: u64,
    /// When it was put there.
    pub modified: std::time::SystemTime,
}

/// The folder of texts.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
    /// Whether every name in the folder is known to be durable.
    synced: Arc<AtomicBool>,
}

impl Blobs {
    /// The texts in this folder, which is made when it is needed.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), synced: Arc::default() }
    }

    fn place(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }

    fn failed<'a>(
        action: &'static str,
        place: &'a Path,
    ) -> impl Fn(io::Error) -> BlobError + use<'a> {
        move |source| BlobError::Io { action, place: place.to_owned(), source }
    }

    /// Keeps these texts; all of them are durable when this returns. One that is there is read
    /// through, and written anew if it is damaged: the caller may hold the last good copy.
    ///
    /// # Errors
    /// [`BlobError::Io`]; those that were put before may be there.
    pub fn put(&self, texts: &[&[u8]]) -> Result<Vec<BlobHash>, BlobError> {
        let hashes: Vec<BlobHash> = texts.iter().map(|text| BlobHash::of(text)).collect();
        let mut fresh: Vec<(BlobHash, &[u8])> = hashes
            .iter()
            .zip(texts)
            .filter(|(hash, _)| self.verify(**hash).is_err())
            .map(|(hash, text)| (*hash, *text))
            .collect();
        fresh.sort_unstable_by_key(|(hash, _)| *hash);
        fresh.dedup_by_key(|(hash, _)| *hash);
        if fresh.is_empty() {
            // Found, but named by a process that may have ended before the name was durable.
            if !hashes.is_empty() && !self.synced.load(Ordering::Acquire) {
                self.sync_folder()?;
            }
            return Ok(hashes);
        }
        self.make_folder()?;
        let mut written = Vec::with_capacity(fresh.len());
        let stored = self.write_all(&fresh, &mut written);
        if stored.is_err() {
            // The named ones, too: a sync that failed once says nothing when it is asked again.
            for (temp, hash, had) in &written {
                // What was there before is whole or was damaged, and is the same text now.
                if std::fs::remove_file(temp).is_err() && !had {
                    let _ = std::fs::remove_file(self.place(*hash));
                }
            }
        }
        stored.map(|()| hashes)
    }

    fn write_all(
        &self,
        fresh: &[(BlobHash, &[u8])],
        written: &mut Vec<(PathBuf, BlobHash, bool)>,
    ) -> Result<(), BlobError> {
        let together = cfg!(target_os = "linux") && fresh.len() > MANY;
        for (hash, text) in fresh {
            let temp = self.folder.join(temp_name());
            let failed = Self::failed("write", &temp);
            let mut file = create(&temp).map_err(&failed)?;
            let had = !matches!(self.place(*hash).try_exists(), Ok(false));
            written.push((temp.clone(), *hash, had));
            chaos::step("write a blob", || write_packed(&mut file, text)).map_err(&failed)?;
            if !together {
                chaos::step("sync a blob", || file.sync_all()).map_err(&failed)?;
            }
        }
        if together {
            self.sync_file_system()?;
        }
        self.synced.store(false, Ordering::Release);
        for (temp, hash, _) in written.iter() {
            let place = self.place(*hash);
            let renamed = chaos::step("name a blob", || std::fs::rename(temp, &place));
            renamed.map_err(Self::failed("name", &place))?;
        }
        self.sync_folder()
    }

    /// Keeps all that `source` gives, however much, without holding it.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn put_reader(&self, source: &mut impl Read) -> Result<(BlobHash, u64), BlobError> {
        self.make_folder()?;
        let temp = self.folder.join(temp_name());
        let failed = Self::failed("write", &temp);
        let done = (|| {
            let mut file = create(&temp)?;
            // The length is not known yet; it is written at the end.
            file.write_all(&header(ZSTD, 0))?;
            let mut packer = zstd::stream::Encoder::new(&mut file, 3)?;
            let (mut hasher, mut length) = (blake3::Hasher::new(), 0);
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = match source.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                hasher.update(&buffer[..read]);
                packer.write_all(&buffer[..read])?;
                length += read as u64;
            }
            packer.finish()?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(0))?;
            file.write_all(&header(ZSTD, length))?;
            chaos::step("sync a blob", || file.sync_all())?;
            let hash = BlobHash(*hasher.finalize().as_bytes());
            self.synced.store(false, Ordering::Release);
            chaos::step("name a blob", || std::fs::rename(&temp, self.place(hash)))?;
            Ok((hash, length))
        })();
        if done.is_err() {
            let _ = std::fs::remove_file(&temp);
        }
        let done = done.map_err(&failed)?;
        self.sync_folder()?;
        Ok(done)
    }

    /// Whether this text is there, as far as its name goes.
    pub fn has(&self, hash: BlobHash) -> bool {
        self.place(hash).is_file()
    }

    /// Fetches a text and checks that it is the one that was put there.
    ///
    /// # Errors
    /// [`BlobError::Missing`], [`BlobError::Damaged`], [`BlobError::Io`].
    pub fn get(&self, hash: BlobHash) -> Result<Vec<u8>, BlobError> {
        let mut bytes = Vec::new();
        self.copy(hash, &mut bytes)?;
        Ok(bytes)
    }

    /// How many bytes this text has, by what its file says.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn length(&self, hash: BlobHash) -> Result<u64, BlobError> {
        self.open(hash).map(|(_, _, length)| length)
    }

    fn open(&self, hash: BlobHash) -> Result<(File, u8, u64), BlobError> {
        let place = self.place(hash);
        let mut file = match File::open(&place) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlobError::Missing { hash });
            }
            Err(error) => return Err(Self::failed("open", &place)(error)),
        };
        let mut head = [0; HEADER];
        let read = file.read_exact(&mut head);
        let parsed = read.ok().and_then(|()| parse_header(&head));
        let reason = "its first bytes are not what they should be".to_owned();
        let (packing, length) = parsed.ok_or(BlobError::Damaged { hash, reason })?;
        Ok((file, packing, length))
    }

    /// Writes a text to `to`; whether it is the right one is known only when this returns well.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn copy(&self, hash: BlobHash, to: &mut impl Write) -> Result<(), BlobError> {
        let damaged = |reason: String| BlobError::Damaged { hash, reason };
        let (file, packing, length) = self.open(hash)?;
        let file = io::BufReader::new(file);
        let mut source: Box<dyn Read> = match packing {
            ZSTD => {
                let unpacked = zstd::stream::Decoder::new(file);
                Box::new(unpacked.map_err(|error| damaged(error.to_string()))?)
            }
            _ => Box::new(file),
        };
        let (mut hasher, mut seen) = (blake3::Hasher::new(), 0);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(damaged(error.to_string())),
            };
            seen += read as u64;
            if seen > length {
                return Err(damaged("it is longer than it says".to_owned()));
            }
            hasher.update(&buffer[..read]);
            let written = to.write_all(&buffer[..read]);
            written.map_err(Self::failed("copy", &self.place(hash)))?;
        }
        if seen != length || *hasher.finalize().as_bytes() != hash.0 {
            return Err(damaged("its bytes do not have its hash".to_owned()));
        }
        Ok(())
    }

    /// Reads a text through and compares it with its hash.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn verify(&self, hash: BlobHash) -> Result<(), BlobError> {
        self.copy(hash, &mut io::sink())
    }

    /// Everything that is stored. Unfinished files of an earlier run are left out.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn list(&self) -> Result<Vec<Stored>, BlobError> {
        let failed = Self::failed("list", &self.folder);
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut stored = Vec::new();
        for entry in entries {
            let entry = entry.map_err(&failed)?;
            let name = entry.file_name();
            let Some(hash) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            let meta = entry.metadata().map_err(&failed)?;
            let modified = meta.modified().unwrap_or(std::time::SystemTime::UNIX_EPOCH);
            stored.push(Stored { hash, bytes: meta.len(), modified });
        }
        stored.sort_unstable_by_key(|stored| stored.hash);
        Ok(stored)
    }

    /// Takes a text away for good; one that is gone already is no error.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn remove(&self, hash: BlobHash) -> Result<(), BlobError> {
        let place = self.place(hash);
        match chaos::step("remove a blob", || std::fs::remove_file(&place)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Self::failed("remove", &place)(error))
            }
            _ => Ok(()),
        }
    }

    /// Removes what an earlier run left half-written, for whoever holds the vault alone: no row
    /// names it.
    pub fn sweep(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMP) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn make_folder(&self) -> Result<(), BlobError> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let failed = Self::failed("make", &self.folder);
        std::fs::create_dir_all(&self.folder).map_err(&failed)?;
        private(&self.folder).map_err(&failed)?;
        let above = self.folder.parent().expect("the folder lies in the state folder");
        sync_folder(above).map_err(&failed)
    }

    fn sync_folder(&self) -> Result<(), BlobError> {
        chaos::step("sync the blobs", || sync_folder(&self.folder))
            .map_err(Self::failed("make durable", &self.folder))?;
        self.synced.store(true, Ordering::Release);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn sync_file_system(&self) -> Result<(), BlobError> {
        let failed = Self::failed("make durable", &self.folder);
        let folder = File::open(&self.folder).map_err(&failed)?;
        let synced = chaos::step("sync many blobs", || rustix::fs::syncfs(&folder));
        synced.map_err(|error| failed(error.into()))
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_file_system(&self) -> Result<(), BlobError> {
        unreachable!("files are made durable one by one here")
    }
}

/// What the names of unfinished files begin with.
const TEMP: &str = ".new-";

fn temp_name() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    format!("{TEMP}{random:016x}")
}

/// A new file for this user alone.
fn create(place: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(place)
}

/// Keeps a folder from other users, where the system knows how.
pub(super) fn private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    let _ = folder;
    Ok(())
}

/// Makes the names in a folder durable. Windows does that by itself.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = File::open(folder)?;
        folder.sync_all()?;
        // xfs reports success even after it has shut itself down and dropped the change, which only
        // a look at the folder tells.
        folder.metadata()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
