//! The token: 256 random bits, with which a client authenticates.
//!
//! It is stored in one file in our state folder, readable only by its owner, until it is rotated,
//! so that a client is paired once. It is never logged and never part of a URL.

#![expect(clippy::disallowed_methods, reason = "the token file, in our own state folder")]

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};
use tokio::sync::watch;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use super::private::{self, NotPrivate};
use crate::policy::Scope;

/// The interval at which an active connection checks whether its token is still valid.
pub const TOKEN_CHECK: Duration = Duration::from_secs(1);

/// A token. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

/// The purpose of a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The daemon's proof, before a client identifies itself.
    Challenge,
    /// The client's proof, instead of its token.
    Ticket,
    /// The daemon's proof on the established connection.
    Initialize,
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("could not get random bytes for a token: {0}")]
    Random(getrandom::Error),
    /// The file or its folder is accessible to others.
    #[error("refused to use the token file `{path}`: {reason}")]
    Unsafe { path: PathBuf, reason: NotPrivate },
    /// The file's content is not a token.
    #[error("`{path}` holds no token")]
    Malformed { path: PathBuf },
    #[error("could not {doing} `{path}`")]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

impl TokenError {
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
    pub fn generate() -> Result<Self, TokenError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(TokenError::Random)?;
        Ok(Self(bytes))
    }

    /// The 64 hex characters that a client sends.
    pub fn reveal(&self) -> String {
        hex(self.0)
    }

    /// Reads the 64 hex characters; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }

    /// Compares in constant time.
    pub fn matches(&self, shown: &[u8]) -> bool {
        self.reveal().as_bytes().ct_eq(shown).into()
    }

    /// The token for callers of this scope, derived from this one, so that nothing more is stored
    /// and all end when this one is rotated. The derivation cannot be reversed.
    pub fn scoped(&self, scope: Scope) -> Self {
        if scope.is_person() {
            return self.clone();
        }
        self.derived(&format!("scope:{}", scope.word()))
    }

    /// Derives a token for `purpose`. The derivation cannot be reversed. No purpose is a prefix of
    /// another, or of a proof's text.
    pub fn derived(&self, purpose: &str) -> Self {
        Self(self.sign(purpose))
    }

    /// The name of this token, which is not secret.
    pub fn name(&self) -> String {
        hex(self.sign("vault-steward name"))[..32].to_owned()
    }

    /// A proof, in hex, that this token is known. It is valid only for this purpose, for a daemon
    /// on this port, and for these nonces (`about`), so relaying it to another daemon is useless.
    pub fn proof(&self, of: Proof, port: u16, about: &str) -> String {
        let word = match of {
            Proof::Challenge => "challenge",
            Proof::Ticket => "ticket",
            Proof::Initialize => "initialize",
        };
        hex(self.sign(&format!("vault-steward {word} 127.0.0.1:{port} {about}")))
    }

    /// HMAC-SHA-256 with the 64 characters of the token as key: browsers offer it, unlike faster
    /// hashes.
    fn sign(&self, text: &str) -> [u8; 32] {
        let key = self.reveal();
        let mut mac =
            Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Reads the token from `path`, or creates it.
    ///
    /// A missing folder is created with mode 0700; an existing one is made private.
    ///
    /// # Errors
    /// [`TokenError::Unsafe`] where the file or its folder is a symlink or belongs to another user,
    /// or the file is open to others; otherwise errors of the file system or of the file's content.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        secure_folder(path)?;
        match Self::load(path) {
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let token = Self::generate()?;
                match store(path, &token, Replace::No) {
                    // Another process created the token first; use that one.
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
    pub fn load(path: &Path) -> Result<Self, TokenError> {
        let metadata = private::check_file(path).map_err(not_ours("look at", path))?;
        if metadata.len() > 128 {
            return Err(TokenError::Malformed { path: path.to_owned() });
        }
        let text = fs::read_to_string(path).map_err(failed("read", path))?;
        Self::parse(text.trim_end()).ok_or_else(|| TokenError::Malformed { path: path.to_owned() })
    }

    /// Replaces the token atomically. A running daemon uses it from the next connection on.
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

/// Writes a temporary file and renames it, so that no reader ever sees half a token.
fn store(path: &Path, token: &Token, replace: Replace) -> Result<(), TokenError> {
    let mut new_file = path.as_os_str().to_owned();
    new_file.push(format!(".{}.new", &Token::generate()?.reveal()[..16]));
    let new_file = PathBuf::from(new_file);
    let written = private::write_new(&new_file, format!("{}\n", token.reveal()).as_bytes())
        .and_then(|()| {
            if replace == Replace::Yes {
                fs::rename(&new_file, path)
            } else {
                // Unlike a rename, a hard link does not replace another process's file. Some file
                // systems have no hard links.
                match fs::hard_link(&new_file, path) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        fs::rename(&new_file, path)
                    }
                    linked => linked,
                }
            }
        });
    if replace == Replace::No || written.is_err() {
        let _ = fs::remove_file(&new_file);
    }
    written.map_err(failed("write", path))
}

/// Creates the folder of `path` if it is missing and makes it private.
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

/// The current token of a running server. It reads the file again for each handshake and while
/// connections are active, so that a rotation takes effect at once and ends the connections of the
/// old token.
#[derive(Debug)]
pub struct TokenKeeper {
    path: PathBuf,
    last: watch::Sender<Token>,
}

impl TokenKeeper {
    /// Follows the file at `path`, which is created if it is missing.
    pub fn follow(path: &Path) -> Result<Self, TokenError> {
        let token = Token::load_or_create(path)?;
        Ok(Self { path: path.to_owned(), last: watch::Sender::new(token) })
    }

    /// The current token. While the file is unreadable, the last one stays valid.
    pub fn current(&self) -> Token {
        match Token::load(&self.path) {
            Ok(token) => {
                self.last.send_if_modified(|last| std::mem::replace(last, token.clone()) != token);
            }
            Err(error) => tracing::warn!(%error, "could not reread the token file"),
        }
        self.last.borrow().clone()
    }

    /// Follows changes of the token.
    pub fn watch(&self) -> watch::Receiver<Token> {
        self.last.subscribe()
    }
}

/// The credentials of an admitted request.
#[derive(Debug, Clone)]
pub struct Entry {
    pub scope: Scope,
    /// The token that it sent, or proved to know.
    pub token: Token,
    /// Whether it is the token of a guest's session, which is valid for MCP messages alone.
    pub is_guest: bool,
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
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no other file is left"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_file_must_be_private() {
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
