//! A sign-in as it is stored between runs.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::LoginError;

/// A token that ends within this time is renewed before it is used.
const EARLY: Duration = Duration::from_secs(60);

/// The place of sign-ins, one for each server, that only this user can read.
pub trait Logins: Send + Sync {
    /// The text of a server's sign-in, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or others can read it.
    fn load(&self, server: &str) -> Result<Option<String>, LoginError>;

    /// Stores a sign-in in place of the one before.
    ///
    /// # Errors
    /// It cannot be written.
    fn store(&self, server: &str, text: &str) -> Result<(), LoginError>;

    /// Removes a sign-in; whether there was one.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&self, server: &str) -> Result<bool, LoginError>;

    /// Waits until no other process changes this sign-in, and keeps them out as long as the file is open. Blocks.
    ///
    /// # Errors
    /// There is no such lock.
    fn lock(&self, server: &str) -> Result<File, LoginError>;
}

/// A sign-in at a server. `Debug` shows no token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Login {
    /// The address in the settings; the tokens go nowhere else.
    pub url: String,
    /// The server's name for its authorisation server.
    pub resource: String,
    pub issuer: String,
    pub token_endpoint: String,
    pub revocation_endpoint: Option<String>,
    pub client: Client,
    pub access_token: Option<String>,
    pub refresh_token: Option<String>,
    /// When the access token ends, in seconds since the Unix epoch.
    pub ends: Option<u64>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// What was asked for.
    pub requested: Vec<String>,
    /// What the server has wanted since.
    pub wanted: Vec<String>,
}

/// What the steward is to an authorisation server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Client {
    pub id: String,
    pub secret: Option<String>,
    /// How it proves who it is.
    pub method: String,
    /// Where the browser comes back to, if that was registered.
    pub redirect: Option<String>,
    /// It comes from the settings.
    pub is_given: bool,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("url", &self.url).finish_non_exhaustive()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Login {
    /// The sign-in at the server with this address, if there is one. One that cannot be read is none.
    ///
    /// # Errors
    /// As [`Logins::load`].
    pub fn load(logins: &dyn Logins, server: &str, url: &str) -> Result<Option<Self>, LoginError> {
        let text = logins.load(server)?;
        let login = text.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        Ok(login.filter(|login| login.url == url))
    }

    /// Stores it.
    ///
    /// # Errors
    /// As [`Logins::store`].
    pub fn store(&self, logins: &dyn Logins, server: &str) -> Result<(), LoginError> {
        logins.store(server, &serde_json::to_string(self).unwrap_or_default())
    }

    /// Whether the access token ends soon.
    pub fn is_ending(&self) -> bool {
        self.ends.is_some_and(|ends| now().saturating_add(EARLY.as_secs()) >= ends)
    }

    pub fn has_ended(&self) -> bool {
        self.ends.is_some_and(|ends| now() >= ends)
    }
}

/// Waits for the lock of a sign-in without holding up other requests.
///
/// # Errors
/// As [`Logins::lock`].
pub(super) async fn locked(logins: &Arc<dyn Logins>, server: &str) -> Result<File, LoginError> {
    let (logins, server) = (Arc::clone(logins), server.to_owned());
    let lock = tokio::task::spawn_blocking(move || logins.lock(&server)).await;
    lock.unwrap_or_else(|error| {
        let (path, why) = (PathBuf::new(), error.to_string());
        Err(LoginError::Store { doing: "lock", path, why })
    })
}

/// Seconds since the Unix epoch.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}
