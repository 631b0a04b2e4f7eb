//! Signing in at a server, and out again.

use std::sync::Arc;

use reqwest::Url;

use super::connection::{Connection, WaitLimits};
use super::fault::Fault;
use super::oauth::SignedIn;
use super::oauth::challenge::Challenge;
use super::oauth::error::LoginError;
use super::oauth::login::{LoginOptions, Prepared, Waiting};
use super::runtime::wait;
use super::settings::ServerEntry;
use super::{START_SECONDS, Servers, slot};

impl Servers {
    /// Finds out how to sign in at a server. Blocks.
    ///
    /// # Errors
    /// The server cannot be reached, or offers no supported sign-in.
    pub fn prepare_login(&self, server: &str) -> Result<Prepared, Fault> {
        let (entry, url) = self.at_address(server)?;
        let target = slot::target(&self.0, server, url.as_str(), &entry)?;
        if target.has_key() {
            return Err(login_fault(server, LoginError::HasKey));
        }
        // Without a token, so that it answers with its challenge.
        let limits = WaitLimits { seconds: START_SECONDS, withdrawn: &|| false };
        let asked = Connection::reach(server, target, &limits)
            .and_then(|connection| connection.tools(&limits));
        let challenge = match asked {
            Err(Fault::SignIn { challenge, .. }) => *challenge,
            Err(fault @ Fault::Unreachable { .. }) => return Err(fault),
            // It may require one only for calls.
            _ => Challenge::default(),
        };
        let secret = entry.oauth.client_secret.as_deref();
        let secret = secret.map(|value| slot::resolved(value, &self.0)).transpose();
        let missing = |name| Fault::NoValue { server: server.to_owned(), name };
        let options = LoginOptions {
            client_id: entry.oauth.client_id.clone(),
            client_secret: secret.map_err(missing)?,
            issuer: entry.oauth.issuer(),
            redirect_port: entry.oauth.redirect_port,
        };
        let (name, logins) = (server.to_owned(), Arc::clone(&self.0.logins));
        let work = async move { Prepared::new(&name, &url, &challenge, options, logins).await };
        done(server, wait(work))
    }

    /// Begins a sign-in; the browser will be redirected to this port. Blocks.
    ///
    /// # Errors
    /// The authorisation server does not accept the steward.
    pub fn begin_login(&self, prepared: Prepared, port: u16) -> Result<Arc<Waiting>, Fault> {
        let server = prepared.server().to_owned();
        done(&server, wait(async move { prepared.begin(port).await })).map(Arc::new)
    }

    /// Completes a sign-in with the redirect address; `None` if it does not belong to this sign-in.
    /// Blocks.
    ///
    /// # Errors
    /// The answer comes from another server, the user refused, or no tokens were issued.
    pub fn finish_login(
        &self,
        waiting: &Arc<Waiting>,
        address: &str,
    ) -> Result<Option<SignedIn>, Fault> {
        let server = waiting.server();
        let Some(code) = waiting.code(address).map_err(|error| login_fault(server, error))? else {
            return Ok(None);
        };
        let waiting = Arc::clone(waiting);
        let work = async move { waiting.finish(&code).await };
        done(server, wait(work)).map(Some)
    }

    /// The public details of the sign-in at a server, if there is one.
    pub fn signed_in(&self, server: &str) -> Result<Option<SignedIn>, Fault> {
        let entry = self.entry_of(server)?;
        let Some(url) = entry.url.as_deref().and_then(|url| Url::parse(url.trim()).ok()) else {
            return Ok(None);
        };
        let signed_in = slot::tokens(&self.0, server, &url, &entry).signed_in();
        signed_in.map_err(|error| login_fault(server, error))
    }

    /// Deletes the sign-in at a server and revokes it; returns whether there was one. Blocks.
    pub fn logout(&self, server: &str) -> Result<bool, Fault> {
        let entry = self.entry_of(server)?;
        let Some(url) = entry.url.as_deref().and_then(|url| Url::parse(url.trim()).ok()) else {
            return Ok(false);
        };
        let tokens = slot::tokens(&self.0, server, &url, &entry);
        done(server, wait(async move { tokens.forget().await }))
    }

    fn at_address(&self, server: &str) -> Result<(ServerEntry, Url), Fault> {
        let entry = self.entry(server)?;
        let url = entry.url.as_deref().and_then(|url| Url::parse(url.trim()).ok());
        let url = url.ok_or_else(|| login_fault(server, LoginError::IsProgram))?;
        Ok((entry, url))
    }
}

fn login_fault(server: &str, error: LoginError) -> Fault {
    Fault::Login { server: server.to_owned(), error }
}

fn done<T>(server: &str, work: Result<Result<T, LoginError>, String>) -> Result<T, Fault> {
    match work {
        Ok(done) => done.map_err(|error| login_fault(server, error)),
        Err(why) => Err(Fault::Unreachable { server: server.to_owned(), why }),
    }
}
