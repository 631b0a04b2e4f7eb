//! OAuth 2.1 sign-in at third-party servers, as MCP specifies it: published metadata, a browser,
//! tokens.
//!
//! `challenge` (what a server requires), `metadata` (what it publishes) and `addresses` (which
//! addresses are contacted) validate what untrusted servers send; `login` obtains tokens, `token`
//! requests them, `stored` keeps them between runs; this file adds them to requests.
//!
//! Invariants: a token goes only to the `url` of the settings for which it was issued, and to its authorisation server;
//! no error, `Debug` or log has a token; all processes renew under one lock, since a refresh token may be valid only once.

mod addresses;
pub mod challenge;
pub mod error;
pub mod login;
mod metadata;
pub mod stored;
mod token;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;
use reqwest::header::HeaderValue;

use addresses::Addresses;
use error::LoginError;
use stored::{Login, Logins, locked};

/// The tokens for one server.
#[derive(Clone)]
pub(super) struct Tokens {
    server: String,
    /// The address in the settings.
    url: Url,
    named: Option<Url>,
    logins: Arc<dyn Logins>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The public details of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The authorisation server.
    pub issuer: String,
    pub scopes: Vec<String>,
    /// When it expires, in seconds since the Unix epoch, if known.
    pub ends: Option<u64>,
    /// Whether it is renewed without the user.
    pub is_renewed: bool,
}

impl Tokens {
    /// The tokens for the server at `url`; `named` is the authorisation server of the settings.
    pub fn new(server: &str, url: &Url, named: Option<Url>, logins: Arc<dyn Logins>) -> Self {
        Self { server: server.to_owned(), url: url.clone(), named, logins }
    }

    fn load(&self) -> Result<Option<Login>, LoginError> {
        Login::load(&*self.logins, &self.server, self.url.as_str())
    }

    fn addresses(&self) -> Addresses {
        Addresses::new(&self.url, self.named.as_ref())
    }

    /// The current token without a renewal, for a request that must not wait.
    pub fn present(&self) -> Option<HeaderValue> {
        self.load().ok().flatten().as_ref().and_then(header)
    }

    /// The header of a request; `None` without a sign-in. A token that expires soon is renewed
    /// first.
    pub async fn header(&self) -> Result<Option<HeaderValue>, LoginError> {
        match self.load()? {
            Some(login) if login.is_ending() => match self.renewed(None).await {
                Err(error) if !login.has_ended() => {
                    tracing::info!(server = self.server, %error, "a token that ends soon was not renewed");
                    Ok(header(&login))
                }
                renewed => renewed,
            },
            login => Ok(login.as_ref().and_then(header)),
        }
    }

    /// A header to replace one that was refused or expires soon; `None` if there is none.
    ///
    /// The renewal completes even if the caller goes away: the refresh token is used up once it is
    /// sent, and using it again ends the sign-in (RFC 9700, section 4.14.2).
    pub async fn renewed(
        &self,
        refused: Option<&HeaderValue>,
    ) -> Result<Option<HeaderValue>, LoginError> {
        let (tokens, refused) = (self.clone(), refused.cloned());
        let renewal = tokio::spawn(async move { tokens.renew(refused.as_ref()).await });
        renewal.await.unwrap_or_else(|error| {
            let (path, why) = (PathBuf::new(), error.to_string());
            Err(LoginError::Store { doing: "renew", path, why })
        })
    }

    async fn renew(
        &self,
        refused: Option<&HeaderValue>,
    ) -> Result<Option<HeaderValue>, LoginError> {
        let _lock = locked(&self.logins, &self.server).await?;
        // Another process may have renewed it meanwhile.
        let Some(mut login) = self.load()? else { return Ok(None) };
        let present = header(&login);
        if !login.is_ending() && present.is_some() && present.as_ref() != refused {
            return Ok(present);
        }
        let Some(refresh) = login.refresh_token.clone() else {
            // Without a new token the old one may still be valid, unless it was refused.
            return Ok(present.filter(|_| refused.is_none()));
        };
        let addresses = self.addresses();
        let endpoint = addresses.read(&login.token_endpoint)?;
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", &*refresh),
            ("resource", &*login.resource),
        ];
        match token::ask(&addresses, &endpoint, &login.client, &form).await {
            Ok(issued) => issued.put_into(&mut login),
            Err(LoginError::Refused { code, .. }) if code == "invalid_grant" => {
                tracing::info!(server = self.server, "a sign-in has ended");
                (login.access_token, login.refresh_token, login.ends) = (None, None, None);
            }
            Err(error) => return Err(error),
        }
        login.store(&*self.logins, &self.server)?;
        Ok(header(&login))
    }

    /// Stores scopes that the server required, for the next sign-in.
    pub async fn request_scopes(&self, scopes: Vec<String>) -> Result<(), LoginError> {
        let _lock = locked(&self.logins, &self.server).await?;
        let Some(mut login) = self.load()? else { return Ok(()) };
        login.wanted = scopes;
        login.store(&*self.logins, &self.server)
    }

    /// The public details of the sign-in, if there is one.
    pub fn signed_in(&self) -> Result<Option<SignedIn>, LoginError> {
        let login = self.load()?.filter(|login| login.access_token.is_some());
        Ok(login.map(|login| SignedIn {
            issuer: login.issuer,
            scopes: login.scopes,
            ends: login.ends,
            is_renewed: login.refresh_token.is_some(),
        }))
    }

    /// Deletes the sign-in and revokes it; returns whether there was one.
    pub async fn forget(&self) -> Result<bool, LoginError> {
        // A renewal in progress would store the sign-in again. It is removed even without a lock.
        let lock = locked(&self.logins, &self.server).await.ok();
        let login = self.load().ok().flatten();
        let removed = self.logins.remove(&self.server)?;
        drop(lock);
        let addresses = self.addresses();
        if let Some(login) = login
            && let Some(endpoint) = login.revocation_endpoint.as_deref()
            && let Ok(endpoint) = addresses.read(endpoint)
            && let Some(token) = login.refresh_token.as_deref().or(login.access_token.as_deref())
        {
            token::revoke(&addresses, &endpoint, &login.client, token).await;
        }
        Ok(removed)
    }
}

fn header(login: &Login) -> Option<HeaderValue> {
    token::sensitive(&format!("Bearer {}", login.access_token.as_deref()?))
}
