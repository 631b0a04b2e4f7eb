//! Restricts the addresses that are contacted for a sign-in: an untrusted server names them.
//!
//! A server on another machine could name an address within the user's machine or network, and make
//! the steward send requests there. So it may name only public `https` addresses. Hosts in the
//! settings are the user's own choice, and a server on this machine may name others on it. The
//! resolver checks the addresses that are then connected to, so that a name cannot change
//! meanwhile.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::Value;

use super::error::LoginError;
use crate::llm::endpoint::{Address, connection_words, http_client};

/// The time limit of one request.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest document, in bytes.
const MAX_DOCUMENT: usize = 256 << 10;

/// Variables that make a proxy resolve names for us.
const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// The addresses that may be contacted for the sign-in at one server.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    /// Hosts that the settings name.
    named: Vec<String>,
    /// The server is on this machine.
    is_local: bool,
}

impl Addresses {
    /// Those for the server at `url`; `named` are further addresses of the settings.
    pub fn new(url: &Url, named: Option<&Url>) -> Self {
        let hosts = named.into_iter().chain([url]).filter_map(Url::host_str);
        Self { named: hosts.map(str::to_owned).collect(), is_local: is_local(url) }
    }

    /// Reads an address that a document names.
    pub fn read(&self, text: &str) -> Result<Url, LoginError> {
        let bad = || LoginError::BadAddress(text.chars().take(200).collect());
        let url = Url::parse(text).map_err(|_| bad())?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        if is_plain && url.fragment().is_none() && self.may_ask(&url) {
            Ok(url)
        } else {
            Err(bad())
        }
    }

    fn may_ask(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        match url.scheme() {
            "http" => self.is_local && is_local(url),
            "https" if self.is_named(host) => true,
            "https" if is_local(url) => self.is_local,
            "https" => match bare(host).parse::<IpAddr>() {
                Ok(address) => is_public(address),
                Err(_) => !host.ends_with(".localhost"),
            },
            _ => false,
        }
    }

    fn is_named(&self, host: &str) -> bool {
        self.named.iter().any(|named| named == host)
    }

    /// The JSON at an address; `None` if there is none.
    pub async fn document(&self, url: &Url) -> Result<Option<Value>, LoginError> {
        let request = self.client(url)?.get(url.clone()).header(ACCEPT, "application/json");
        let (status, body) = self.answered(url, request).await?;
        match (status, body) {
            (200..=299, Some(body)) => Ok(Some(body)),
            (200..=299, None) => {
                let why = "it is not JSON, or too long".to_owned();
                Err(LoginError::BadDocument { host: host(url), why })
            }
            (500.., _) => {
                let why = format!("HTTP status {status}");
                Err(LoginError::Unreachable { host: host(url), why })
            }
            _ => Ok(None),
        }
    }

    /// Sends a form or JSON; the status and the JSON that came back, if it was some.
    pub async fn post(
        &self,
        url: &Url,
        kind: &'static str,
        body: String,
        authorization: Option<HeaderValue>,
    ) -> Result<(u16, Option<Value>), LoginError> {
        let request = self.client(url)?.post(url.clone()).body(body);
        let request = request.header(CONTENT_TYPE, kind).header(ACCEPT, "application/json");
        let request = authorization
            .into_iter()
            .fold(request, |request, value| request.header(AUTHORIZATION, value));
        self.answered(url, request).await
    }

    async fn answered(
        &self,
        url: &Url,
        request: RequestBuilder,
    ) -> Result<(u16, Option<Value>), LoginError> {
        let unreachable = |error| {
            let why = connection_words(error);
            LoginError::Unreachable { host: host(url), why }
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(unreachable)? {
            if body.len() + part.len() > MAX_DOCUMENT {
                return Ok((status, None));
            }
            body.extend_from_slice(&part);
        }
        Ok((status, serde_json::from_slice(&body).ok()))
    }

    fn client(&self, url: &Url) -> Result<Client, LoginError> {
        if !self.may_ask(url) {
            return Err(LoginError::BadAddress(host(url)));
        }
        let builder = http_client(url.scheme() == "https", LIMIT).timeout(LIMIT);
        let is_checked = !is_local(url)
            && !url.host_str().is_some_and(|host| self.is_named(host))
            && !PROXIES.iter().any(|name| std::env::var_os(name).is_some());
        let builder = if is_checked { builder.dns_resolver(Arc::new(PublicOnly)) } else { builder };
        builder.build().map_err(|error| {
            let why = connection_words(error);
            LoginError::Unreachable { host: host(url), why }
        })
    }
}

/// The host of an address, with its port unless that is the default.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn is_local(url: &Url) -> bool {
    let origin = url.origin().ascii_serialization();
    Address::new(&origin).is_ok_and(|address| address.is_local())
}

/// A host without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Resolves to public addresses only.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(public_addresses(name))
    }
}

async fn public_addresses(name: Name) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    let public: Vec<_> = found.filter(|address| is_public(address.ip())).collect();
    if public.is_empty() {
        Err("it has no public address".into())
    } else {
        Ok(Box::new(public.into_iter()))
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_ipv4(address) {
            Some(inner) => is_public_v4(inner),
            // Global unicast, without documentation.
            None => {
                let [first, second, ..] = address.segments();
                first & 0xe000 == 0x2000 && (first, second) != (0x2001, 0x0db8)
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_special = (a, b, c) == (192, 0, 0) || (a == 198 && (b == 18 || b == 19));
    !(a == 0
        || a >= 224
        || is_shared
        || is_special
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation())
}

/// The IPv4 address in an IPv6 address: mapped, 6to4, or NAT64.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(of(high, low))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    #[test]
    fn a_server_elsewhere_names_public_addresses_alone() {
        let named = url("https://sso.corp.example/realm");
        let far = Addresses::new(&url("https://mcp.example/mcp"), Some(&named));
        for good in [
            "https://auth.example/x?y=z",
            "https://mcp.example:8443/",
            "https://sso.corp.example/token",
            "https://9.9.9.9/",
            "https://[2606:4700::1111]/",
        ] {
            assert!(far.read(good).is_ok(), "{good}");
        }
        for bad in [
            "http://auth.example/",
            "http://127.0.0.1:1/",
            "https://127.0.0.1/",
            "https://localhost/",
            "https://a.localhost/",
            "https://10.0.0.1/",
            "https://192.168.1.1/",
            "https://169.254.169.254/latest",
            "https://100.64.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "https://[2002:7f00:1::]/",
            "https://[64:ff9b::a00:1]/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://me:pass@auth.example/",
            "https://auth.example/#a",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "auth.example",
        ] {
            assert!(matches!(far.read(bad), Err(LoginError::BadAddress(_))), "{bad}");
        }
        let near = Addresses::new(&url("http://localhost:3000/mcp"), None);
        for good in ["http://127.0.0.1:1/", "https://localhost/", "https://auth.example/"] {
            assert!(near.read(good).is_ok(), "{good}");
        }
        assert!(near.read("http://auth.example/").is_err());
        assert!(near.read("https://10.0.0.1/").is_err());
    }

    #[tokio::test]
    async fn a_name_that_stands_for_an_address_within_is_not_connected_to() {
        let name = "localhost".parse().expect("a name");
        let found = PublicOnly.resolve(name).await.map(|_| ());
        assert!(found.expect_err("refused").to_string().contains("no public address"));
    }
}
