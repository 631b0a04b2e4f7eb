//! Obtains tokens: discovery, registration, the user's browser, the authorization code.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::SignedIn;
use super::addresses::{Addresses, host};
use super::challenge::Challenge;
use super::error::LoginError;
use super::metadata::{
    AuthorizationServer, Resource, authorization_server, issuer_places, resource, resource_places,
};
use super::stored::{Client, Login, Logins, locked};
use super::token;

/// The path of the redirect address.
pub const CALLBACK: &str = "/callback";

/// The scope for tokens that can be renewed without the user.
const OFFLINE: &str = "offline_access";

/// The settings of a sign-in.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// The registered client id, or the address of a client metadata document.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The authorisation server.
    pub issuer: Option<Url>,
    pub redirect_port: Option<u16>,
}

/// A sign-in whose authorisation server is known.
pub struct Prepared {
    server: String,
    url: Url,
    options: LoginOptions,
    addresses: Addresses,
    resource: Resource,
    issuer: AuthorizationServer,
    scopes: Vec<String>,
    before: Option<Login>,
    logins: Arc<dyn Logins>,
}

/// A sign-in that waits for the browser.
pub struct Waiting {
    prepared: Prepared,
    client: Client,
    redirect: String,
    state: String,
    verifier: String,
    address: Url,
}

impl Prepared {
    /// Finds out how to sign in at the server at `url`, which answered with this challenge.
    ///
    /// # Errors
    /// The server offers no sign-in, or only one that is unsafe with an untrusted server.
    pub async fn new(
        server: &str,
        url: &Url,
        challenge: &Challenge,
        options: LoginOptions,
        logins: Arc<dyn Logins>,
    ) -> Result<Self, LoginError> {
        let addresses = Addresses::new(url, options.issuer.as_ref());
        let resource = described(&addresses, url, challenge).await?;
        let issuer = choose_server(&addresses, &resource, options.issuer.as_ref()).await?;
        let before = Login::load(&*logins, server, url.as_str())?;
        let is_bound = |before: &&Login| before.client.is_given && !is_document(&before.client.id);
        if let Some(before) = before.as_ref().filter(is_bound)
            && before.issuer != issuer.issuer
            && options.issuer.is_none()
        {
            // A client registered by hand was registered with one issuer, and its secret is for
            // that one.
            let (before, now) = (before.issuer.clone(), issuer.issuer);
            return Err(LoginError::AnotherIssuer { before, now });
        }
        let before = before.filter(|before| before.issuer == issuer.issuer);
        let scopes = scopes(challenge, &resource, &issuer, before.as_ref());
        let (server, url) = (server.to_owned(), url.clone());
        Ok(Self { server, url, options, addresses, resource, issuer, scopes, before, logins })
    }

    /// The server at which the user signs in.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The port of the redirect address, and whether it is fixed.
    pub fn port(&self) -> Option<(u16, bool)> {
        let registered = || {
            let redirect = self.before.as_ref()?.client.redirect.as_deref()?;
            Some((Url::parse(redirect).ok()?.port()?, false))
        };
        self.options.redirect_port.map(|port| (port, true)).or_else(registered)
    }

    /// Registers the steward if needed, and begins. The browser will be redirected to this port.
    pub async fn begin(self, port: u16) -> Result<Waiting, LoginError> {
        let redirect = format!("http://127.0.0.1:{port}{CALLBACK}");
        let client = self.client(&redirect).await?;
        let (state, verifier) = (random()?, random()?);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut address = self.issuer.authorization.clone();
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &self.resource.name);
        if !self.scopes.is_empty() {
            address.query_pairs_mut().append_pair("scope", &self.scopes.join(" "));
        }
        Ok(Waiting { prepared: self, client, redirect, state, verifier, address })
    }

    /// The client from the settings, the one already registered there, or a new one.
    async fn client(&self, redirect: &str) -> Result<Client, LoginError> {
        let method = |secret: bool| method(&self.issuer.methods, secret).to_owned();
        let id = self.options.client_id.clone();
        if let Some(id) = id.filter(|id| self.issuer.takes_documents || !is_document(id)) {
            let secret = self.options.client_secret.clone();
            let method = method(secret.is_some());
            return Ok(Client { id, secret, method, redirect: None, is_given: true });
        }
        let known = self.before.as_ref().map(|before| &before.client);
        if let Some(known) = known.filter(|known| known.redirect.as_deref() == Some(redirect)) {
            return Ok(known.clone());
        }
        let Some(endpoint) = &self.issuer.registration else {
            return Err(LoginError::NoClient(self.issuer.issuer.clone()));
        };
        let wanted = method(true);
        let wanted = if self.issuer.methods.iter().any(|method| method == "none") {
            "none"
        } else {
            wanted.as_str()
        };
        let body = json!({
            "client_name": "Vault Steward",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": wanted,
            "application_type": "native",
        });
        let json = "application/json";
        let (status, answer) = self.addresses.post(endpoint, json, body.to_string(), None).await?;
        let answer = answer.unwrap_or_default();
        let Some(id) = answer["client_id"].as_str().filter(|_| (200..300).contains(&status)) else {
            let code =
                token::error_code(&answer).unwrap_or_else(|| format!("HTTP status {status}"));
            return Err(LoginError::Refused { host: host(endpoint), what: "to register", code });
        };
        let secret = answer["client_secret"].as_str().map(str::to_owned);
        let method = match answer["token_endpoint_auth_method"].as_str() {
            Some(method) => method.to_owned(),
            None => method(secret.is_some()),
        };
        let redirect = Some(redirect.to_owned());
        Ok(Client { id: id.to_owned(), secret, method, redirect, is_given: false })
    }
}

impl Waiting {
    /// The server at which the user signs in.
    pub fn server(&self) -> &str {
        &self.prepared.server
    }

    /// The address that the user opens.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// The host where the user signs in.
    pub fn host(&self) -> String {
        host(&self.address)
    }

    /// The code in the redirect address; `None` if it does not belong to this sign-in.
    ///
    /// # Errors
    /// The answer comes from another server, or the user refused.
    pub fn code(&self, address: &str) -> Result<Option<String>, LoginError> {
        let Ok(base) = Url::parse(&self.redirect) else { return Ok(None) };
        let Ok(address) = base.join(address.trim()) else { return Ok(None) };
        let value = |name: &str| {
            let mut pairs = address.query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        if address.path() != CALLBACK || value("state").as_deref() != Some(&*self.state) {
            return Ok(None);
        }
        let issuer = &self.prepared.issuer;
        match value("iss") {
            // Compared verbatim: two spellings of one address are two names.
            Some(from) if from != issuer.issuer => return Err(LoginError::WrongIssuer),
            None if issuer.says_issuer => return Err(LoginError::WrongIssuer),
            _ => {}
        }
        match value("code") {
            Some(code) => Ok(Some(code)),
            None => {
                let code = token::error_code(&json!({ "error": value("error") }));
                let (host, what) = (self.host(), "the sign-in");
                Err(LoginError::Refused { host, what, code: code.unwrap_or("no code".to_owned()) })
            }
        }
    }

    /// Exchanges the code for tokens, and stores them.
    pub async fn finish(&self, code: &str) -> Result<SignedIn, LoginError> {
        let Self { prepared, client, redirect, verifier, .. } = self;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", prepared.resource.name.as_str()),
        ];
        let issuer = &prepared.issuer;
        let issued = token::ask(&prepared.addresses, &issuer.token, client, &form).await?;
        let mut login = Login {
            url: prepared.url.as_str().to_owned(),
            resource: prepared.resource.name.clone(),
            issuer: issuer.issuer.clone(),
            token_endpoint: issuer.token.as_str().to_owned(),
            revocation_endpoint: issuer.revocation.as_ref().map(|it| it.as_str().to_owned()),
            client: client.clone(),
            scopes: prepared.scopes.clone(),
            requested: prepared.scopes.clone(),
            ..Login::default()
        };
        issued.put_into(&mut login);
        let (server, logins) = (&prepared.server, &prepared.logins);
        let _lock = locked(logins, server).await?;
        login.store(&**logins, server)?;
        Ok(SignedIn {
            issuer: login.issuer,
            scopes: login.scopes,
            ends: login.ends,
            is_renewed: login.refresh_token.is_some(),
        })
    }
}

/// The server's metadata.
async fn described(
    addresses: &Addresses,
    url: &Url,
    challenge: &Challenge,
) -> Result<Resource, LoginError> {
    let places = match &challenge.resource_metadata {
        Some(place) => vec![addresses.read(place)?],
        None => resource_places(url),
    };
    for place in places {
        if let Some(document) = addresses.document(&place).await? {
            return resource(&document, url, &place);
        }
    }
    Err(LoginError::NotOffered)
}

/// The first usable authorisation server, or the one in the settings.
async fn choose_server(
    addresses: &Addresses,
    resource: &Resource,
    named: Option<&Url>,
) -> Result<AuthorizationServer, LoginError> {
    let is_named = |issuer: &&String| {
        named.is_none_or(|named| Url::parse(issuer).is_ok_and(|issuer| issuer == *named))
    };
    let Some(name) = resource.issuers.iter().find(is_named) else {
        let before = named.map(Url::to_string).unwrap_or_default();
        let now = resource.issuers.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        return Err(LoginError::AnotherIssuer { before, now });
    };
    let issuer = addresses.read(name)?;
    for place in issuer_places(&issuer) {
        if let Some(document) = addresses.document(&place).await? {
            return authorization_server(&document, name, &place, addresses);
        }
    }
    let why = "there is no such document".to_owned();
    Err(LoginError::BadDocument { host: host(&issuer), why })
}

/// The scopes that the server now requires, else those it publishes, plus all requested before.
fn scopes(
    challenge: &Challenge,
    resource: &Resource,
    issuer: &AuthorizationServer,
    before: Option<&Login>,
) -> Vec<String> {
    let first = if challenge.scopes.is_empty() { &resource.scopes } else { &challenge.scopes };
    let before = before.into_iter().flat_map(|login| login.requested.iter().chain(&login.wanted));
    let mut scopes = Vec::<String>::new();
    for scope in before.chain(first) {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let is_offered = issuer.scopes.iter().any(|scope| scope == OFFLINE);
    if is_offered && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    scopes
}

/// How a client authenticates: the first of our methods that the server accepts.
fn method(taken: &[String], has_secret: bool) -> &'static str {
    let ours: &[&'static str] =
        if has_secret { &["client_secret_basic", "client_secret_post", "none"] } else { &["none"] };
    ours.iter().find(|ours| taken.iter().any(|taken| taken == *ours)).copied().unwrap_or(ours[0])
}

/// Whether a client id is the address of a metadata document.
fn is_document(id: &str) -> bool {
    id.starts_with("https://")
}

/// 256 random bits as text.
fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(LoginError::Random)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
