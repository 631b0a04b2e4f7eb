//! HTTP clients, and the addresses they may contact.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use chrono::Utc;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url};

use super::classify::{self, Head};
use super::delay;
use super::error::{ErrorKind, LlmError};
use super::message::Wire;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not `http://…` or `https://…`.
    #[error("is not a web address")]
    NoUrl,
    /// Others on the network could read the key and the notes.
    #[error("is not encrypted; `http` is for this machine alone")]
    NotEncrypted,
    /// Keys do not belong in an address, which is shown and logged.
    #[error("contains a user name, a key, a query or a fragment")]
    TooMuch,
}

/// A permitted address, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    is_local: bool,
    is_encrypted: bool,
}

impl Address {
    pub fn new(text: &str) -> Result<Self, BadAddress> {
        let url = Url::parse(text.trim()).map_err(|_| BadAddress::NoUrl)?;
        let host = url.host_str().ok_or(BadAddress::NoUrl)?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = host == "localhost"
            || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        match url.scheme() {
            "https" => {}
            "http" if is_local => {}
            "http" => return Err(BadAddress::NotEncrypted),
            _ => return Err(BadAddress::NoUrl),
        }
        let has_more = !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some();
        if has_more {
            return Err(BadAddress::TooMuch);
        }
        let is_encrypted = url.scheme() == "https";
        let text = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { text, is_local, is_encrypted })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn port(&self) -> Option<u16> {
        Url::parse(&self.text).ok()?.port_or_known_default()
    }

    /// TLS protects what is sent.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The address is on this machine.
    pub fn is_local(&self) -> bool {
        self.is_local
    }
}

/// The HTTP clients, which keep connections open; all endpoints share them.
#[derive(Debug)]
pub(super) struct Http {
    connect: Duration,
    plain: OnceLock<Client>,
    encrypted: OnceLock<Client>,
}

impl Http {
    pub(super) fn new(connect: Duration) -> Self {
        Self { connect, plain: OnceLock::new(), encrypted: OnceLock::new() }
    }

    /// The client for an address, created at first use.
    pub(super) fn client(&self, address: &Address) -> Result<&Client, LlmError> {
        let slot = if address.is_encrypted { &self.encrypted } else { &self.plain };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let builder = builder(address.is_encrypted, self.connect);
        let client = builder.build().map_err(connection_error)?;
        Ok(slot.get_or_init(|| client))
    }
}

/// A client that follows no redirect and repeats nothing, with these certificates and proxies: those of the system for an
/// encrypted address, none for one of this machine.
pub fn builder(is_encrypted: bool, connect: Duration) -> ClientBuilder {
    // If another part of the process installed a provider first, that one works too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("vault-steward/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        // A redirect must not carry the key to another host.
        .redirect(Policy::none())
        .retry(reqwest::retry::never());
    if is_encrypted {
        builder
    } else {
        // A local address needs no proxy, and without TLS no certificates, which a small system may lack.
        builder.no_proxy().tls_certs_only([])
    }
}

pub(super) fn connection_error(error: reqwest::Error) -> LlmError {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Network };
    LlmError::new(kind, connection_words(error))
}

/// Describes a connection error with its causes and without the URL.
pub fn connection_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Reads the status and the headers that errors depend on.
pub(super) fn head(status: u16, headers: &HeaderMap) -> Head {
    Head {
        status: Some(status),
        retry_after: delay::of_headers(
            text(headers, "retry-after-ms"),
            text(headers, "retry-after"),
            Utc::now(),
        ),
        request_id: text(headers, "request-id")
            .or_else(|| text(headers, "x-request-id"))
            .map(str::to_owned),
        should_retry: text(headers, "x-should-retry").and_then(|value| value.parse().ok()),
    }
}

/// The error for a redirect, naming the target host.
pub(super) fn redirect_error(response: &Response) -> Option<LlmError> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return None;
    }
    let location = text(response.headers(), "location").unwrap_or_default();
    let host = response.url().join(location).ok();
    let host = host.as_ref().and_then(Url::host_str).unwrap_or("nowhere");
    let mut error = LlmError::new(
        ErrorKind::NotFound,
        format!("the server points to `{host}`, and a redirect is never followed with a key"),
    );
    error.status = Some(response.status().as_u16());
    Some(error)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyForm {
    Stream,
    /// One JSON document: some servers send it even if asked for a stream.
    Json,
    Error,
}

/// The form of a response with this status and these headers.
pub(super) fn body_form(wire: Wire, status: u16, headers: &HeaderMap) -> BodyForm {
    match media_type(headers).as_str() {
        _ if !(200..300).contains(&status) => BodyForm::Error,
        "application/json" if wire == Wire::Chat => BodyForm::Json,
        "application/json" | "application/problem+json" | "text/html" => BodyForm::Error,
        _ => BodyForm::Stream,
    }
}

/// The error for a response that is not an answer.
pub(super) fn body_error(head: &Head, body: &[u8]) -> LlmError {
    let mut error = classify::from_body(head, body);
    if head.status == Some(200) && error.message.is_empty() {
        "the server did not answer with a stream".clone_into(&mut error.message);
    }
    error
}

/// The media type in lower case, without parameters.
fn media_type(headers: &HeaderMap) -> String {
    let whole = text(headers, "content-type").unwrap_or_default();
    whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_or_local_addresses_are_spoken_to() {
        let read = |text: &str| Address::new(text).map(|address| address.text);
        assert_eq!(
            read("https://api.example.com/v1/").as_deref(),
            Ok("https://api.example.com/v1")
        );
        for local in ["http://127.0.0.1:1/v1", "http://localhost:1", "http://[::1]:1"] {
            assert!(Address::new(local).is_ok_and(|address| address.is_local()), "{local}");
        }
        let far = [
            "http://api.example.com/v1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://192.168.1.5:11434",
            "http://0.0.0.0:1",
        ];
        for address in far {
            assert_eq!(read(address), Err(BadAddress::NotEncrypted), "{address}");
        }
        for odd in ["https://a:b@x", "https://x/?key=1", "https://x/#a", "https://a@x"] {
            assert_eq!(read(odd), Err(BadAddress::TooMuch), "{odd}");
        }
        for none in ["", "x", "ftp://x", "file:///etc", "//x"] {
            assert_eq!(read(none), Err(BadAddress::NoUrl), "{none}");
        }
    }
}
