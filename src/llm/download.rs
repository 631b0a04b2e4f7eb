//! Downloads of files from an address that the user has agreed to.

use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;

use super::error::{ErrorKind, LlmError};
use super::http::{Address, connection_error};

/// The longest time without a byte.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most redirects: the content is verified by its checksum, not by its origin.
const REDIRECTS: usize = 5;

/// The content of a file of at most `most` bytes. `progress` gets the bytes so far.
///
/// # Errors
/// The server cannot be reached, refuses, or sends more.
pub async fn download(
    address: &Address,
    most: u64,
    mut progress: impl FnMut(u64),
) -> Result<Vec<u8>, LlmError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("vault-steward/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(PATIENCE)
        .read_timeout(PATIENCE);
    let builder = if address.is_local() {
        builder.no_proxy().redirect(Policy::none())
    } else {
        builder.https_only(true).redirect(Policy::limited(REDIRECTS))
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
            let message = format!("the file has more than the {most} bytes that it should have");
            return Err(LlmError::new(ErrorKind::Network, message));
        }
        content.extend_from_slice(&piece);
        progress(content.len() as u64);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Downloads at most ten bytes from a server that gives this answer; also returns the reported progress.
    async fn downloaded(answer: &'static str) -> (Result<Vec<u8>, String>, u64) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}/model", listener.local_addr().expect("an address"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            lines.take_while(|line| line.as_ref().is_ok_and(|it| !it.is_empty())).for_each(drop);
            let _ = stream.write_all(answer.as_bytes());
        });
        let mut progress = 0;
        let address = Address::new(&address).expect("an address");
        let content = download(&address, 10, |bytes| progress = bytes).await;
        server.join().expect("it answered");
        (content.map_err(|error| error.to_string()), progress)
    }

    #[tokio::test]
    async fn a_file_is_downloaded_as_a_whole_and_no_more_than_expected() {
        let (content, progress) =
            downloaded("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbytes").await;
        assert_eq!((content.as_deref(), progress), (Ok(&b"bytes"[..]), 5));
        for (answer, message) in [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nmuch longer", "more than the 10 bytes"),
            (
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                "302",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", ""),
        ] {
            let error = downloaded(answer).await.0.expect_err("it is refused");
            assert!(error.contains(message), "{error}");
        }
    }
}
