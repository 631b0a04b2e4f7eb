//! A sign-in as it is stored between runs.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::LoginError;

/// A token that expires within this time is renewed before use.
const EARLY: Duration = Duration::from_secs(60);

/// Stores sign-ins, one per server, readable only by this user.
pub trait Logins: Send + Sync {
    /// The text of a server's sign-in, if there is one.
    ///
    /// # Errors
    /// The file cannot be read, or other users can read it.
    fn load(&self, server: &str) -> Result<Option<String>, LoginError>;

    /// Stores a sign-in, replacing the previous one.
    fn store(&self, server: &str, text: &str) -> Result<(), LoginError>;

    /// Removes a sign-in; returns whether there was one.
    fn remove(&self, server: &str) -> Result<bool, LoginError>;

    /// Locks this sign-in against other processes until the file is closed. Blocks.
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
    /// When the access token expires, in seconds since the Unix epoch.
    pub ends: Option<u64>,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The requested scopes.
    pub requested: Vec<String>,
    /// Further scopes that the server has required since.
    pub wanted: Vec<String>,
}

/// The steward's client registration at an authorisation server.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Client {
    pub id: String,
    pub secret: Option<String>,
    /// Its authentication method.
    pub method: String,
    /// The registered redirect address.
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
    /// The sign-in at the server with this address, if there is a readable one.
    pub fn load(logins: &dyn Logins, server: &str, url: &str) -> Result<Option<Self>, LoginError> {
        let text = logins.load(server)?;
        let login = text.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        Ok(login.filter(|login| login.url == url))
    }

    pub fn store(&self, logins: &dyn Logins, server: &str) -> Result<(), LoginError> {
        logins.store(server, &serde_json::to_string(self).unwrap_or_default())
    }

    /// Whether the access token expires soon.
    pub fn is_ending(&self) -> bool {
        self.ends.is_some_and(|ends| now().saturating_add(EARLY.as_secs()) >= ends)
    }

    pub fn has_ended(&self) -> bool {
        self.ends.is_some_and(|ends| now() >= ends)
    }
}

/// Waits for the lock of a sign-in without blocking other requests.
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
