//! Token requests: exchange of a code, renewal and revocation.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde_json::Value;

use super::addresses::{Addresses, host};
use super::challenge::scopes;
use super::error::LoginError;
use super::stored::{Client, Login, now};

/// The media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Tokens as they were issued.
pub(super) struct Issued {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub ends: Option<u64>,
    /// `None` if they equal the requested ones.
    pub scopes: Option<Vec<String>>,
}

impl Issued {
    /// Stores them in a sign-in.
    pub fn put_into(self, login: &mut Login) {
        login.access_token = Some(self.access_token);
        login.refresh_token = self.refresh_token.or(login.refresh_token.take());
        login.ends = self.ends;
        if let Some(scopes) = self.scopes {
            login.scopes = scopes;
        }
    }
}

/// Requests tokens with this form.
///
/// # Errors
/// They are not issued; [`LoginError::Refused`] with `invalid_grant` if the code or refresh token
/// is no longer valid.
pub(super) async fn ask(
    addresses: &Addresses,
    endpoint: &Url,
    client: &Client,
    form: &[(&str, &str)],
) -> Result<Issued, LoginError> {
    let (status, answer) = post(addresses, endpoint, client, form).await?;
    let answer = answer.unwrap_or_default();
    if !(200..300).contains(&status) {
        let code = error_code(&answer).unwrap_or_else(|| format!("HTTP status {status}"));
        return Err(LoginError::Refused { host: host(endpoint), what: "the tokens", code });
    }
    read_tokens(&answer).map_err(|why| LoginError::BadDocument { host: host(endpoint), why })
}

/// Revokes a token. The answer is ignored.
pub(super) async fn revoke(addresses: &Addresses, endpoint: &Url, client: &Client, token: &str) {
    let _ = post(addresses, endpoint, client, &[("token", token)]).await;
}

async fn post(
    addresses: &Addresses,
    endpoint: &Url,
    client: &Client,
    form: &[(&str, &str)],
) -> Result<(u16, Option<Value>), LoginError> {
    let mut form = form.to_vec();
    let secret = client.secret.as_deref().unwrap_or_default();
    let mut authorization = None;
    match client.method.as_str() {
        "client_secret_basic" => authorization = basic(&client.id, secret),
        "client_secret_post" => {
            form.extend([("client_id", &*client.id), ("client_secret", secret)])
        }
        _ => form.push(("client_id", &*client.id)),
    }
    addresses.post(endpoint, FORM, encoded(&form), authorization).await
}

fn basic(id: &str, secret: &str) -> Option<HeaderValue> {
    // Form-encoded, so that a colon in either is not a separator.
    let part = |text: &str| encoded(&[("x", text)]).split_off("x=".len());
    let pair = BASE64_STANDARD.encode(format!("{}:{}", part(id), part(secret)));
    sensitive(&format!("Basic {pair}"))
}

/// A header that is not logged.
pub(super) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A form as a body.
fn encoded(form: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://form/").ok();
    if let Some(url) = &mut url {
        url.query_pairs_mut().extend_pairs(form);
    }
    url.as_ref().and_then(Url::query).unwrap_or_default().to_owned()
}

/// The error code of an authorisation server's answer, if it can be shown.
pub(super) fn error_code(answer: &Value) -> Option<String> {
    let code = answer["error"].as_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (code.len() <= 64 && !code.is_empty() && code.chars().all(plain)).then(|| code.to_owned())
}

fn read_tokens(answer: &Value) -> Result<Issued, String> {
    let token = |key: &str| {
        let token = answer[key].as_str().filter(|token| !token.is_empty())?;
        token.bytes().all(|byte| byte.is_ascii_graphic()).then(|| token.to_owned())
    };
    if !answer["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("its tokens are not of the kind `Bearer`".to_owned());
    }
    let access_token = token("access_token").ok_or("it issued no token")?;
    let ends = answer["expires_in"].as_u64().map(|seconds| now().saturating_add(seconds));
    let scopes = answer["scope"].as_str().map(scopes);
    Ok(Issued { access_token, refresh_token: token("refresh_token"), ends, scopes })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_token_that_a_header_can_carry_is_taken() {
        let read = |answer: Value| read_tokens(&answer).map(|it| (it.access_token, it.scopes));
        let good = json!({ "access_token": "a.b-c", "token_type": "bearer", "scope": "x y" });
        let scopes = Some(vec!["x".to_owned(), "y".to_owned()]);
        assert_eq!(read(good), Ok(("a.b-c".to_owned(), scopes)));
        for bad in [
            json!({ "access_token": "a" }),
            json!({ "access_token": "a", "token_type": "DPoP" }),
            json!({ "access_token": "a\r\nX: 1", "token_type": "Bearer" }),
            json!({ "access_token": "", "token_type": "Bearer" }),
            json!([]),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        assert_eq!(
            error_code(&json!({ "error": "invalid_grant" })).as_deref(),
            Some("invalid_grant")
        );
        assert_eq!(error_code(&json!({ "error": "<b>obey me</b>" })), None);
    }

    #[test]
    fn a_client_proves_itself_with_encoded_parts() {
        let value = basic("a:b", "c d").expect("a header");
        assert!(value.is_sensitive());
        let expected = format!("Basic {}", BASE64_STANDARD.encode("a%3Ab:c+d"));
        assert_eq!(value.to_str().expect("text"), expected);
        assert_eq!(encoded(&[("a", "b&c"), ("d", "é")]), "a=b%26c&d=%C3%A9");
    }
}
