//! The metadata that servers publish about a sign-in: where it is, and how it is validated. Pure.

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::addresses::{Addresses, host};
use super::challenge::scopes;
use super::error::LoginError;

/// The metadata of a server (RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// Its resource identifier, which token requests name.
    pub name: String,
    /// Its authorisation servers.
    pub issuers: Vec<String>,
    pub scopes: Vec<String>,
}

/// The metadata of an authorisation server (RFC 8414, or OpenID Connect Discovery).
#[derive(Debug, Clone)]
pub(super) struct AuthorizationServer {
    pub issuer: String,
    pub authorization: Url,
    pub token: Url,
    pub registration: Option<Url>,
    pub revocation: Option<Url>,
    /// Its client authentication methods.
    pub methods: Vec<String>,
    pub scopes: Vec<String>,
    /// A client id may be the address of a metadata document.
    pub takes_documents: bool,
    /// Its redirects name their issuer.
    pub says_issuer: bool,
}

/// Where to look for a server's document if no challenge names it.
pub(super) fn resource_places(url: &Url) -> Vec<Url> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let path = url.path().trim_end_matches('/');
    let mut candidates = vec![at(url, &format!("{NAME}{path}"))];
    if !path.is_empty() {
        candidates.push(at(url, NAME));
    }
    candidates
}

/// Where to look for an authorisation server's document.
pub(super) fn issuer_places(issuer: &Url) -> Vec<Url> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let path = issuer.path().trim_end_matches('/');
    let mut candidates = vec![at(issuer, &format!("{OAUTH}{path}"))];
    candidates.push(at(issuer, &format!("{OPENID}{path}")));
    if !path.is_empty() {
        candidates.push(at(issuer, &format!("{path}{OPENID}")));
    }
    candidates
}

fn at(url: &Url, path: &str) -> Url {
    let mut place = url.clone();
    place.set_path(path);
    place.set_query(None);
    place
}

/// Parses the metadata of the server at `url`.
///
/// # Errors
/// The document is about another server, or names no authorisation server.
pub(super) fn resource(document: &Value, url: &Url, from: &Url) -> Result<Resource, LoginError> {
    #[derive(Deserialize)]
    struct Document {
        resource: String,
        #[serde(default)]
        authorization_servers: Vec<String>,
        scopes_supported: Option<Vec<String>>,
    }
    let bad = |why: &str| LoginError::BadDocument { host: host(from), why: why.to_owned() };
    let read = Document::deserialize(document);
    let read = read.map_err(|_| bad("it does not say which server it is about"))?;
    if !is_about(&read.resource, url) {
        return Err(LoginError::WrongResource(read.resource.chars().take(200).collect()));
    }
    if read.authorization_servers.is_empty() {
        return Err(bad("it names no authorisation server"));
    }
    Ok(Resource {
        name: read.resource,
        issuers: read.authorization_servers,
        scopes: scopes(&read.scopes_supported.unwrap_or_default().join(" ")),
    })
}

/// Whether a name is the address of the server at `url`, or one above it on the same origin.
fn is_about(name: &str, url: &Url) -> bool {
    let Ok(named) = Url::parse(name) else { return false };
    let (whole, part) = (named.path().trim_end_matches('/'), url.path().trim_end_matches('/'));
    let is_within =
        part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_plain = named.query().is_none() && named.fragment().is_none();
    named.origin() == url.origin() && is_within && is_plain
}

/// Parses an authorisation server's metadata; `issuer` is the name by which it was found.
///
/// # Errors
/// The document has another `issuer`, names a forbidden address, or lacks PKCE.
pub(super) fn authorization_server(
    document: &Value,
    issuer: &str,
    from: &Url,
    addresses: &Addresses,
) -> Result<AuthorizationServer, LoginError> {
    #[derive(Deserialize)]
    struct Document {
        issuer: String,
        authorization_endpoint: String,
        token_endpoint: String,
        registration_endpoint: Option<String>,
        revocation_endpoint: Option<String>,
        token_endpoint_auth_methods_supported: Option<Vec<String>>,
        code_challenge_methods_supported: Option<Vec<String>>,
        scopes_supported: Option<Vec<String>>,
        #[serde(default)]
        client_id_metadata_document_supported: bool,
        #[serde(default)]
        authorization_response_iss_parameter_supported: bool,
    }
    let bad = |why: &str| LoginError::BadDocument { host: host(from), why: why.to_owned() };
    let read = Document::deserialize(document);
    let read = read.map_err(|_| bad("it lacks an `issuer` or an address"))?;
    // Byte by byte: a server that could claim another's name would get its codes.
    if read.issuer != issuer {
        return Err(bad("it is about another `issuer`"));
    }
    let methods = read.code_challenge_methods_supported.unwrap_or_default();
    if !methods.iter().any(|method| method == "S256") {
        return Err(bad("it does not offer PKCE with S256"));
    }
    let usual = || vec!["client_secret_basic".to_owned()];
    let address = |text: Option<String>| text.map(|text| addresses.read(&text)).transpose();
    Ok(AuthorizationServer {
        authorization: addresses.read(&read.authorization_endpoint)?,
        token: addresses.read(&read.token_endpoint)?,
        registration: address(read.registration_endpoint)?,
        revocation: address(read.revocation_endpoint)?,
        methods: read.token_endpoint_auth_methods_supported.unwrap_or_else(usual),
        scopes: scopes(&read.scopes_supported.unwrap_or_default().join(" ")),
        takes_documents: read.client_id_metadata_document_supported,
        says_issuer: read.authorization_response_iss_parameter_supported,
        issuer: read.issuer,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    #[test]
    fn documents_are_looked_for_where_the_standards_say() {
        let text = |candidates: Vec<Url>| candidates.iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            text(resource_places(&url("https://a.example/public/mcp/"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            text(resource_places(&url("https://a.example"))),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            text(issuer_places(&url("https://a.example/tenant1"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant1",
                "https://a.example/.well-known/openid-configuration/tenant1",
                "https://a.example/tenant1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(text(issuer_places(&url("https://a.example"))).len(), 2);
    }

    #[test]
    fn a_document_is_about_the_server_that_was_asked() {
        let server = url("https://a.example/one/mcp");
        let read = |name: &str| {
            let document = json!({ "resource": name, "authorization_servers": ["https://b"] });
            resource(&document, &server, &server)
        };
        for good in ["https://a.example/one/mcp", "https://a.example", "https://A.example/one/"] {
            assert_eq!(read(good).expect(good).name, good);
        }
        for bad in [
            "https://b.example/one/mcp",
            "http://a.example/one/mcp",
            "https://a.example:8443/one/mcp",
            "https://a.example/on",
            "https://a.example/one/mcp/more",
            "https://a.example/one?x",
            "a.example",
        ] {
            assert!(matches!(read(bad), Err(LoginError::WrongResource(_))), "{bad}");
        }
        let none = json!({ "resource": "https://a.example" });
        assert!(matches!(resource(&none, &server, &server), Err(LoginError::BadDocument { .. })));
    }

    #[test]
    fn an_authorisation_server_speaks_for_itself_and_protects_codes() {
        let issuer = "https://auth.example";
        let addresses = Addresses::new(&url("https://a.example/mcp"), None);
        let good = json!({
            "issuer": issuer, "authorization_endpoint": "https://auth.example/authorize",
            "token_endpoint": "https://auth.example/token",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        let read = |change: &dyn Fn(&mut Value)| {
            let mut document = good.clone();
            change(&mut document);
            authorization_server(&document, issuer, &url(issuer), &addresses)
        };
        let server = read(&|_| {}).expect("a good one");
        assert_eq!(server.methods, ["client_secret_basic"]);
        assert!(!server.says_issuer && !server.takes_documents && server.registration.is_none());
        for (key, value) in [
            ("issuer", json!("https://auth.example/")),
            ("issuer", json!("https://evil.example")),
            ("issuer", Value::Null),
            ("code_challenge_methods_supported", Value::Null),
            ("code_challenge_methods_supported", json!(["plain"])),
            ("token_endpoint", json!("http://auth.example/token")),
            ("token_endpoint", json!("https://10.0.0.1/token")),
            ("authorization_endpoint", json!("file:///usr/bin/true")),
            ("registration_endpoint", json!("http://127.0.0.1:9/")),
        ] {
            assert!(read(&|it| it[key] = value.clone()).is_err(), "{key}: {value}");
        }
    }
}
