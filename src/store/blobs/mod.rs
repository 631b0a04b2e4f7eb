//! A content-addressed store: each text once, compressed if that saves space, verified on every read.
//!
//! A file is named by the BLAKE3 hash of its uncompressed bytes. Its header has sixteen bytes: `VSB1`, the
//! compression, three zeros, and the uncompressed length. A file is written under a temporary name, synced
//! and renamed, and then its folder is synced: a file with its final name is complete.

mod header;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::header::{Compressor, HEADER, ZSTD, header, parse_header};
use crate::chaos;

/// More new files than this are synced by one `syncfs`, on systems that have it.
const SYNCFS_ABOVE: usize = 8;

/// A BLAKE3 hash, displayed as 64 hexadecimal digits. Its first half is the revision that the tools show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

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
        let wrong = || format!("`{}` is not a hash", text.chars().take(80).collect::<String>());
        let hash = blake3::Hash::from_hex(text).map_err(|_| wrong())?;
        Ok(Self(*hash.as_bytes()))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("the text `{hash}` is not in the store")]
    Missing { hash: BlobHash },
    /// The stored bytes do not match their hash.
    #[error("the text `{hash}` is damaged: {reason}")]
    Damaged { hash: BlobHash, reason: String },
    #[error("could not {action} `{}`: {source}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// A stored blob, by its file's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    pub hash: BlobHash,
    pub bytes: u64,
    pub modified: std::time::SystemTime,
}

/// A text to be written.
struct Fresh<'t> {
    hash: BlobHash,
    text: &'t [u8],
    /// Whether there is a file of its name, damaged or unreadable.
    had: bool,
}

#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
    /// Whether all names in the folder are known to be durable.
    synced: Arc<AtomicBool>,
}

impl Blobs {
    /// The blobs in this folder, which is created when needed.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), synced: Arc::default() }
    }

    fn path_of(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }

    fn failed<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl Fn(io::Error) -> BlobError + use<'a> {
        move |source| BlobError::Io { action, path: path.to_owned(), source }
    }

    /// Stores texts; all of them are durable when this returns. A stored one is verified, and written
    /// again if it is damaged: the caller may hold the last good copy.
    ///
    /// The caller has exclusive access to the journal. Else a call that fails could remove a text that another stored
    /// meanwhile.
    ///
    /// # Errors
    /// [`BlobError::Io`]; some of the texts may be stored then.
    pub fn put(&self, texts: &[&[u8]]) -> Result<Vec<BlobHash>, BlobError> {
        self.put_with_progress(texts, &|_, _| {})
    }

    /// Like [`Self::put`]; calls `stored` with the number of texts written so far and in total.
    pub fn put_with_progress<'t>(
        &self,
        texts: &[&'t [u8]],
        stored: &dyn Fn(usize, usize),
    ) -> Result<Vec<BlobHash>, BlobError> {
        let hashes: Vec<BlobHash> = texts.iter().map(|text| BlobHash::of(text)).collect();
        let fresh = |(hash, &text): (&BlobHash, &&'t [u8])| {
            let error = self.verify(*hash).err()?;
            let had = !matches!(error, BlobError::Missing { .. });
            Some(Fresh { hash: *hash, text, had })
        };
        let mut fresh: Vec<Fresh> = hashes.iter().zip(texts).filter_map(fresh).collect();
        fresh.sort_unstable_by_key(|one| one.hash);
        fresh.dedup_by_key(|one| one.hash);
        if fresh.is_empty() {
            // The process that named them may have ended before the folder was synced.
            if !hashes.is_empty() && !self.synced.load(Ordering::Acquire) {
                self.sync_folder()?;
            }
            return Ok(hashes);
        }
        self.make_folder()?;
        let mut written = Vec::with_capacity(fresh.len());
        let stored = self.write_all(&fresh, &mut written, stored);
        if stored.is_err() {
            // Named files, too: after a failed sync a second one may report success.
            for (temp, one) in written.iter().zip(&fresh) {
                // A file that was there before has the same content, if it was not damaged.
                if std::fs::remove_file(temp).is_err() && !one.had {
                    let _ = std::fs::remove_file(self.path_of(one.hash));
                }
            }
        }
        stored.map(|()| hashes)
    }

    fn write_all(
        &self,
        fresh: &[Fresh],
        written: &mut Vec<PathBuf>,
        stored: &dyn Fn(usize, usize),
    ) -> Result<(), BlobError> {
        let together = cfg!(target_os = "linux") && fresh.len() > SYNCFS_ABOVE;
        let tag = temp_name();
        let mut compressor = Compressor::new().map_err(Self::failed("write", &self.folder))?;
        for one in fresh {
            let temp = self.folder.join(format!("{tag}-{}", written.len()));
            let failed = Self::failed("write", &temp);
            let mut file = create(&temp).map_err(&failed)?;
            written.push(temp.clone());
            let blob = compressor.blob(one.text).map_err(&failed)?;
            chaos::step("write a blob", || file.write_all(&blob)).map_err(&failed)?;
            if !together {
                chaos::step("sync a blob", || file.sync_all()).map_err(&failed)?;
            }
            stored(written.len(), fresh.len());
        }
        if together {
            self.sync_file_system()?;
        }
        self.synced.store(false, Ordering::Release);
        for (temp, one) in written.iter().zip(fresh) {
            let path = self.path_of(one.hash);
            let renamed = chaos::step("name a blob", || std::fs::rename(temp, &path));
            renamed.map_err(Self::failed("name", &path))?;
        }
        self.sync_folder()
    }

    /// Stores everything from `source` without holding it in memory. Returns its hash and length.
    pub fn put_reader(&self, source: &mut impl Read) -> Result<(BlobHash, u64), BlobError> {
        self.make_folder()?;
        let temp = self.folder.join(temp_name());
        let failed = Self::failed("write", &temp);
        let done = (|| {
            let mut file = create(&temp)?;
            // The length is not known yet; the header is rewritten at the end.
            file.write_all(&header(ZSTD, 0))?;
            let mut encoder = zstd::stream::Encoder::new(&mut file, 3)?;
            let (mut hasher, mut length) = (blake3::Hasher::new(), 0);
            each_chunk(
                source,
                |error| error,
                |chunk| {
                    hasher.update(chunk);
                    length += chunk.len() as u64;
                    encoder.write_all(chunk)
                },
            )?;
            encoder.finish()?;
            io::Seek::seek(&mut file, io::SeekFrom::Start(0))?;
            file.write_all(&header(ZSTD, length))?;
            chaos::step("sync a blob", || file.sync_all())?;
            let hash = BlobHash(*hasher.finalize().as_bytes());
            self.synced.store(false, Ordering::Release);
            chaos::step("name a blob", || std::fs::rename(&temp, self.path_of(hash)))?;
            Ok((hash, length))
        })();
        if done.is_err() {
            let _ = std::fs::remove_file(&temp);
        }
        let done = done.map_err(&failed)?;
        self.sync_folder()?;
        Ok(done)
    }

    /// Whether there is a file of this name.
    pub fn has(&self, hash: BlobHash) -> bool {
        self.path_of(hash).is_file()
    }

    /// Reads and verifies a blob.
    pub fn get(&self, hash: BlobHash) -> Result<Vec<u8>, BlobError> {
        let mut bytes = Vec::new();
        self.copy(hash, &mut bytes)?;
        Ok(bytes)
    }

    /// The length of a blob, by its header.
    pub fn length(&self, hash: BlobHash) -> Result<u64, BlobError> {
        self.open(hash).map(|(_, _, length)| length)
    }

    fn open(&self, hash: BlobHash) -> Result<(File, u8, u64), BlobError> {
        let path = self.path_of(hash);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BlobError::Missing { hash });
            }
            Err(error) => return Err(Self::failed("open", &path)(error)),
        };
        let mut head = [0; HEADER];
        let parsed = file.read_exact(&mut head).ok().and_then(|()| parse_header(&head));
        let reason = "its first bytes are not what they should be".to_owned();
        let (compression, length) = parsed.ok_or(BlobError::Damaged { hash, reason })?;
        Ok((file, compression, length))
    }

    /// Writes a blob to `to`. The bytes are verified only when this returns `Ok`.
    pub fn copy(&self, hash: BlobHash, to: &mut impl Write) -> Result<(), BlobError> {
        let damaged = |reason: String| BlobError::Damaged { hash, reason };
        let (file, compression, length) = self.open(hash)?;
        let file = io::BufReader::new(file);
        let mut source: Box<dyn Read> = match compression {
            ZSTD => {
                let decoder = zstd::stream::Decoder::new(file);
                Box::new(decoder.map_err(|error| damaged(error.to_string()))?)
            }
            _ => Box::new(file),
        };
        let (mut hasher, mut hashed_bytes) = (blake3::Hasher::new(), 0);
        let read_error = |error: io::Error| damaged(error.to_string());
        each_chunk(&mut source, read_error, |chunk| {
            hashed_bytes += chunk.len() as u64;
            if hashed_bytes > length {
                return Err(damaged("it is longer than it says".to_owned()));
            }
            hasher.update(chunk);
            to.write_all(chunk).map_err(Self::failed("copy", &self.path_of(hash)))
        })?;
        if hashed_bytes != length || *hasher.finalize().as_bytes() != hash.0 {
            return Err(damaged("its bytes do not have its hash".to_owned()));
        }
        Ok(())
    }

    /// Reads a blob and compares it with its hash.
    pub fn verify(&self, hash: BlobHash) -> Result<(), BlobError> {
        self.copy(hash, &mut io::sink())
    }

    /// All stored blobs, without temporary files.
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

    /// Deletes a blob; a missing one is not an error.
    pub fn remove(&self, hash: BlobHash) -> Result<(), BlobError> {
        let path = self.path_of(hash);
        match chaos::step("remove a blob", || std::fs::remove_file(&path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Self::failed("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Removes temporary files of an earlier run. The caller must hold the vault's lock.
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
        unreachable!("each file is synced on this system")
    }
}

/// Calls `each` with all bytes of `source`, in chunks.
fn each_chunk<E>(
    source: &mut impl Read,
    read_error: impl Fn(io::Error) -> E,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => each(&buffer[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(error)),
        }
    }
}

/// Prefix of temporary files.
const TEMP: &str = ".new-";

fn temp_name() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()));
    format!("{TEMP}{random:016x}")
}

/// Creates a file that only this user can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a folder private to this user, on Unix.
pub(super) fn private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    let _ = folder;
    Ok(())
}

/// Syncs a folder. Windows needs no such call.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = File::open(folder)?;
        folder.sync_all()?;
        // xfs reports success even after it has shut down and dropped the change; `metadata` fails then.
        folder.metadata()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
