//! The token: 256 random bits that a client shows before it may say anything.
//!
//! It lives in one file in our state folder, readable by its owner alone, and persists until it is
//! rotated, so that a client is paired once. It is never logged and never part of a URL.

#![expect(clippy::disallowed_methods, reason = "the token file, in our own state folder")]

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tokio::sync::watch;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::private::{self, NotPrivate};
use crate::policy::Scope;

/// A token. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

/// What a proof is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The daemon's, before a client says anything of itself.
    Challenge,
    /// The client's, in the place of its token.
    Ticket,
    /// The daemon's, on the connection that is then used.
    Initialize,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The system has no randomness to give.
    #[error("could not get random bytes for a token: {0}")]
    Random(getrandom::Error),
    /// The file or its folder is not ours alone.
    #[error("refused to use the token file `{path}`: {reason}")]
    Unsafe {
        /// The file or the folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: NotPrivate,
    },
    /// The file holds something else.
    #[error("`{path}` holds no token")]
    Malformed { path: PathBuf },
    /// The file system said no.
    #[error("could not {doing} `{path}`")]
    Io {
        /// What was being done.
        doing: &'static str,
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl TokenError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unsafe { path, .. } => Some(format!(
                "remove `{}`, or give it to yourself alone (chmod 600 for the file, 700 for the \
                 folder); a new token is then made",
                path.display()
            )),
            Self::Malformed { .. } => Some("`steward token --rotate` makes a new one".to_owned()),
            Self::Random(_) | Self::Io { .. } => None,
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A new one from the system's randomness.
    ///
    /// # Errors
    /// [`TokenError::Random`].
    pub fn generate() -> Result<Self, TokenError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
        Ok(Self(bytes))
    }

    /// The 64 hex characters that a client sends.
    #[must_use]
    pub fn reveal(&self) -> String {
        hex(self.0)
    }

    /// Reads the 64 hex characters; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }

    /// Whether `shown` is this token, in a time that does not depend on where they differ.
    #[must_use]
    pub fn matches(&self, shown: &[u8]) -> bool {
        self.reveal().as_bytes().ct_eq(shown).into()
    }

    /// The token for callers of this kind: made of this one, so that there is nothing more to keep
    /// and all end when this one is rotated. From it this one cannot be found.
    #[must_use]
    pub fn scoped(&self, scope: Scope) -> Self {
        if scope.is_person() {
            return self.clone();
        }
        self.derived(&format!("scope:{}", scope.word()))
    }

    /// A token of its own for `purpose`, from which this one cannot be found. No purpose is the
    /// beginning of another, nor of a proof.
    #[must_use]
    pub fn derived(&self, purpose: &str) -> Self {
        Self(self.sign(purpose))
    }

    /// What this token is called where it must not be shown: nothing can be done with the name.
    #[must_use]
    pub fn name(&self) -> String {
        hex(self.sign("vault-steward name"))[..32].to_owned()
    }

    /// Proves that this token is known, in hex. The proof holds for this purpose, at a daemon on this
    /// port, and for these nonces (`about`): whoever passes it on to another daemon has nothing.
    #[must_use]
    pub fn proof(&self, of: Proof, port: u16, about: &str) -> String {
        let word = match of {
            Proof::Challenge => "challenge",
            Proof::Ticket => "ticket",
            Proof::Initialize => "initialize",
        };
        hex(self.sign(&format!("vault-steward {word} 127.0.0.1:{port} {about}")))
    }

    /// HMAC-SHA-256 with the 64 characters of the token as key. Not a faster hash, because this is
    /// one that a browser can do by itself.
    fn sign(&self, text: &str) -> [u8; 32] {
        let key = self.reveal();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Reads the token from `path`, or makes one there.
    ///
    /// The folder is made with mode 0700 where it is missing, and closed where it is open.
    ///
    /// # Errors
    /// [`TokenError::Unsafe`] where the file or its folder is a symlink or belongs to another user,
    /// or the file is open to others; otherwise what the file system or the file's content is to blame for.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        secure_folder(path)?;
        match Self::load(path) {
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let token = Self::generate()?;
                match store(path, &token, Replace::No) {
                    // Another process was faster: its token counts.
                    Err(TokenError::Io { source, .. })
                        if source.kind() == io::ErrorKind::AlreadyExists =>
                    {
                        Self::load(path)
                    }
                    other => other.map(|()| token),
                }
            }
            other => other,
        }
    }

    /// Reads the token from `path`, which must exist.
    ///
    /// # Errors
    /// As [`Token::load_or_create`].
    pub fn load(path: &Path) -> Result<Self, TokenError> {
        let metadata = private::check_file(path).map_err(not_ours("look at", path))?;
        if metadata.len() > 128 {
            return Err(TokenError::Malformed { path: path.to_owned() });
        }
        let text = fs::read_to_string(path).map_err(failed("read", path))?;
        Self::parse(text.trim_end()).ok_or_else(|| TokenError::Malformed { path: path.to_owned() })
    }

    /// Puts a new token in the place of the old one, in one step. A running daemon takes it up
    /// with the next connection.
    ///
    /// # Errors
    /// As [`Token::load_or_create`].
    pub fn rotate(path: &Path) -> Result<Self, TokenError> {
        secure_folder(path)?;
        let token = Self::generate()?;
        store(path, &token, Replace::Yes)?;
        Ok(token)
    }
}

fn hex(bytes: [u8; 32]) -> String {
    blake3::Hash::from_bytes(bytes).to_hex().to_string()
}

#[derive(PartialEq)]
enum Replace {
    Yes,
    No,
}

/// Writes beside and moves into place, so that no reader ever sees half a token.
fn store(path: &Path, token: &Token, replace: Replace) -> Result<(), TokenError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", &Token::generate()?.reveal()[..16]));
    let beside = PathBuf::from(beside);
    let written = write_new(&beside, format!("{}\n", token.reveal()).as_bytes()).and_then(|()| {
        if replace == Replace::Yes {
            fs::rename(&beside, path)
        } else {
            // A hard link, unlike a rename, does not replace what another process has put there.
            // Some file systems have none.
            match fs::hard_link(&beside, path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    fs::rename(&beside, path)
                }
                linked => linked,
            }
        }
    });
    if replace == Replace::No || written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed("write", path))
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The folder of `path`, made where it is missing, ours alone.
fn secure_folder(path: &Path) -> Result<(), TokenError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private::folder(folder).map_err(not_ours("use the folder", folder))
}

fn not_ours(doing: &'static str, path: &Path) -> impl FnOnce(NotPrivate) -> TokenError {
    let path = path.to_owned();
    move |reason| match reason {
        NotPrivate::Io(source) => TokenError::Io { doing, path, source },
        reason => TokenError::Unsafe { path, reason },
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TokenError {
    let path = path.to_owned();
    move |source| TokenError::Io { doing, path, source }
}

/// The token a running server compares with: the file's, read anew for each handshake, so that a
/// rotation counts at once; and by each connection, so that it ends what the old one let in.
#[derive(Debug)]
pub struct TokenKeeper {
    path: Option<PathBuf>,
    last: watch::Sender<Token>,
}

impl TokenKeeper {
    /// Follows the file at `path`, which is made where it is missing.
    ///
    /// # Errors
    /// As [`Token::load_or_create`].
    pub fn follow(path: &Path) -> Result<Self, TokenError> {
        let token = Token::load_or_create(path)?;
        Ok(Self { path: Some(path.to_owned()), last: watch::Sender::new(token) })
    }

    /// Keeps to one token, for tests and for a daemon without a state folder.
    #[must_use]
    pub fn fixed(token: Token) -> Self {
        Self { path: None, last: watch::Sender::new(token) }
    }

    /// The token that counts now. While the file cannot be read the last good one does.
    #[must_use]
    pub fn current(&self) -> Token {
        if let Some(path) = &self.path {
            match Token::load(path) {
                Ok(token) => {
                    self.last
                        .send_if_modified(|last| std::mem::replace(last, token.clone()) != token);
                }
                Err(error) => tracing::warn!(%error, "could not read the token file anew"),
            }
        }
        self.last.borrow().clone()
    }

    /// Tells of another token from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Token> {
        self.last.subscribe()
    }
}

/// What a request is let in with.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which kind of caller the token makes of it.
    pub scope: Scope,
    /// The token that it showed, or proved that it knows.
    pub token: Token,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_hmac_sha_256_and_good_for_one_thing() {
        let token = Token::parse(&"00".repeat(32)).expect("64 hex characters");
        // From Python: hmac.new(b"00" * 32, b"…", "sha256").hexdigest()
        for (of, expected) in [
            (Proof::Challenge, "30e40a6db6c9ccc9d004940db7c6f1ad09c16befdb08b7eb701d034990e3113d"),
            (Proof::Ticket, "67f3f506e0eb6e07bc32ac510642b02ae56bdb09ff15079846fdcc8414836b63"),
            (Proof::Initialize, "0606b2f846600df8a2c37849bf8b331907ef210c9822e9457fbbe0f3d9fb74fc"),
        ] {
            assert_eq!(token.proof(of, 27180, "abc"), expected);
            assert_ne!(token.proof(of, 27181, "abc"), expected, "at another port");
            assert_ne!(token.proof(of, 27180, "abd"), expected, "of another nonce");
        }
        assert_eq!(token.name(), "ab30a2df8984823a4493268a9a8b0ea1");
        assert_ne!(token.derived("a"), token.derived("b"));
    }

    #[test]
    fn a_token_survives_its_text_and_hides_from_debug() {
        let token = Token::generate().unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert_eq!(Token::parse(&token.reveal()), Some(token.clone()));
        assert!(token.matches(token.reveal().as_bytes()));
        assert!(!token.matches(&token.reveal().as_bytes()[..63]));
        assert!(!token.matches(b""));
        assert!(!format!("{token:?}").contains(&token.reveal()[..8]));
    }

    #[test]
    fn it_persists_until_rotated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/token");
        let keeper = TokenKeeper::follow(&path).unwrap();
        let first = keeper.current();
        assert_eq!(Token::load_or_create(&path).unwrap(), first);
        let second = Token::rotate(&path).unwrap();
        assert_ne!(first, second);
        assert_eq!(keeper.current(), second);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing left beside");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_alone_and_traps_are_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/token");
        let token = Token::load_or_create(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

        let refused =
            |path: &Path| matches!(Token::load_or_create(path), Err(TokenError::Unsafe { .. }));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused(&path), "a file open to others");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Token::load_or_create(&path).unwrap(), token);

        let planted = folder.path().join("state/planted");
        symlink(&path, &planted).unwrap();
        assert!(refused(&planted), "a symlink");
        symlink(folder.path().join("state"), folder.path().join("alias")).unwrap();
        assert!(refused(&folder.path().join("alias/token")), "a folder that is a symlink");
        fs::set_permissions(folder.path().join("state"), fs::Permissions::from_mode(0o755))
            .unwrap();
        assert_eq!(Token::load_or_create(&path).unwrap(), token);
        assert_eq!(mode(path.parent().unwrap()), 0o700, "a folder that stood open is closed");
    }
}
