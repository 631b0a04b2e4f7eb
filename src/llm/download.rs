//! Downloads of files from an address that the user has agreed to.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

use super::error::{ErrorKind, LlmError};
use super::http::{Address, connection_error};

/// The longest time without a byte.
const PATIENCE: Duration = Duration::from_secs(60);

/// Redirects that are followed: the content is checked by its sum, not by where it comes from.
const REDIRECTS: usize = 5;

/// The content of a file of at most `most` bytes. `told` gets the bytes so far.
///
/// # Errors
/// The server cannot be reached, refuses, or sends more.
pub async fn download(
    address: &Address,
    most: u64,
    mut told: impl FnMut(u64),
) -> Result<Vec<u8>, LlmError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("vault-steward/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(PATIENCE)
        .read_timeout(PATIENCE);
    let builder = match address.is_local() {
        true => builder.no_proxy().redirect(Policy::none()),
        false => builder.https_only(true).redirect(Policy::limited(REDIRECTS)),
    };
    let client = builder.build().map_err(connection_error)?;
    let mut response = client.get(address.as_str()).send().await.map_err(connection_error)?;
    let status = response.status();
    if !status.is_success() {
        return Err(LlmError::new(ErrorKind::Network, format!("the server answers {status}")));
    }
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(connection_error)? {
        if content.len() as u64 + piece.len() as u64 > most {
            let said = format!("the file has more than the {most} bytes that it should have");
            return Err(LlmError::new(ErrorKind::Network, said));
        }
        content.extend_from_slice(&piece);
        told(content.len() as u64);
    }
    Ok(content)
}
