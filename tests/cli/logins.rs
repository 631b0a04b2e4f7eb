//! Signing in at a server as a user does: the real program and its daemon, with a server and an
//! authorisation server played by the test, and a browser that is a simple request.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Daemon, Home, Run};

/// What no output may contain.
const SECRETS: [&str; 4] = ["access-canary", "refresh-canary", "code-canary", "secret-canary"];

#[derive(Default)]
struct State {
    /// The number of the valid token.
    token: u64,
    /// Seconds for which a token is valid.
    seconds: u64,
    renewals: u64,
    /// The paths of requests with a token.
    bearers: Vec<String>,
}

/// An MCP server that requires a sign-in, and its authorisation server.
struct Site {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Site {
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State { seconds: 3_600, ..State::default() }));
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&serving);
                std::thread::spawn(move || serve(stream, port, &state));
            }
        });
        Self { port, state }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// A request: its path with the query, its headers, its body.
fn request(stream: &TcpStream) -> Option<(String, HashMap<String, String>, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, headers, String::from_utf8(body).ok()?))
}

fn reply(mut stream: &TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n");
    let _ = stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes());
}

fn serve(stream: TcpStream, port: u16, state: &Mutex<State>) {
    let Some((path, headers, body)) = request(&stream) else { return };
    let host = format!("http://127.0.0.1:{port}");
    let send = |value: Value| {
        reply(&stream, 200, "Content-Type: application/json\r\n", &value.to_string());
    };
    let mut state = state.lock().unwrap();
    let bearer = headers.get("authorization").cloned().unwrap_or_default();
    if bearer.starts_with("Bearer") {
        state.bearers.push(path.clone());
    }
    match path.split('?').next().unwrap() {
        "/.well-known/oauth-protected-resource/mcp" => {
            send(json!({ "resource": format!("{host}/mcp"), "authorization_servers": [host] }));
        }
        "/.well-known/oauth-authorization-server" => send(json!({
            "issuer": host, "authorization_endpoint": format!("{host}/authorize"),
            "token_endpoint": format!("{host}/token"), "registration_endpoint": format!("{host}/register"),
            "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        })),
        "/register" => send(json!({ "client_id": "made", "client_secret": "secret-canary" })),
        "/authorize" => {
            // A person who agrees at once.
            let (_, query) = path.split_once('?').unwrap();
            let of = |name: &str| {
                query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap()
            };
            let back = of("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            let location = format!("Location: {back}?code=code-canary&state={}\r\n", of("state"));
            reply(&stream, 302, &location, "");
        }
        "/token" => {
            assert!(bearer.starts_with("Basic "), "{headers:?}");
            state.renewals += u64::from(body.contains("grant_type=refresh_token"));
            state.token += 1;
            let number = state.token;
            send(
                json!({ "access_token": format!("access-canary-{number}"), "token_type": "Bearer",
                "refresh_token": format!("refresh-canary-{number}"), "expires_in": state.seconds, "scope": "notes" }),
            );
        }
        "/mcp" if state.token == 0 || bearer != format!("Bearer access-canary-{}", state.token) => {
            let place = format!("{host}/.well-known/oauth-protected-resource/mcp");
            let wants = format!("WWW-Authenticate: Bearer resource_metadata=\"{place}\"\r\n");
            reply(&stream, 401, &wants, "");
        }
        "/mcp" => {
            let message: Value = serde_json::from_str(&body).unwrap();
            let result = match message["method"].as_str().unwrap() {
                "server/discover" => {
                    json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
                }
                "tools/list" => {
                    json!({ "tools": [{ "name": "greet", "inputSchema": { "type": "object" } }] })
                }
                _ => json!({ "content": [{ "type": "text", "text": "hello" }] }),
            };
            send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        }
        _ => reply(&stream, 404, "", ""),
    }
}

/// Follows redirects as a browser does; returns the last address and its page.
fn browse(address: &str) -> (String, String) {
    let mut address = address.to_owned();
    loop {
        let rest = address.strip_prefix("http://").expect("an address of this machine");
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let text = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        match answer.lines().find_map(|line| line.strip_prefix("Location: ")) {
            Some(next) => address = next.to_owned(),
            None => {
                let page = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
                return (address, page);
            }
        }
    }
}

/// A `steward servers login` that waits, and the address that it printed.
struct Login {
    child: Child,
    address: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Login {
    fn begin(home: &Home, vault: &Path, more: &[&str]) -> Self {
        let arguments = [&["servers", "login", "wiki", "--no-browser"][..], more].concat();
        let mut command = home.steward(&arguments);
        let mut child = command.current_dir(vault).stdin(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no address: {said}");
            if line.starts_with("http") {
                break line.trim().to_owned();
            }
            said.push_str(&line);
        };
        Self { child, address, stderr }
    }

    fn paste(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn end(mut self) -> Run {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        Run { code: output.status.code().unwrap_or(-1), stdout, stderr: said }
    }
}

struct Ground {
    home: Home,
    vault: PathBuf,
    site: Site,
    /// Everything that was printed.
    said: Mutex<String>,
}

impl Ground {
    fn new() -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        let ground = Self { home, vault, site: Site::new(), said: Mutex::default() };
        ground.steward(&["servers", "add", "wiki", "--url", &ground.site.url()]).expect(0);
        ground
    }

    fn steward(&self, arguments: &[&str]) -> Run {
        let run = self.home.run_in(&self.vault, arguments);
        self.said.lock().unwrap().push_str(&format!("{run:?}"));
        run
    }

    fn login(&self) {
        let login = Login::begin(&self.home, &self.vault, &[]);
        let (_, page) = browse(&login.address);
        assert!(page.contains("You are signed in at wiki"), "{page}");
        let run = login.end().expect(0);
        assert!(run.stdout.contains("renewed automatically; scopes: notes"), "{run:?}");
        self.said.lock().unwrap().push_str(&format!("{run:?}"));
    }

    fn file(&self) -> PathBuf {
        self.home.config_file().with_file_name("logins").join("wiki.json")
    }
}

#[test]
fn a_user_signs_in_in_the_browser_and_out_again() {
    let ground = Ground::new();
    let refused = ground.steward(&["servers", "allow", "wiki", "--yes"]).expect(1);
    assert!(refused.stderr.contains("`steward servers login wiki`"), "{refused:?}");
    ground.login();
    ground.steward(&["servers", "allow", "wiki", "--yes"]).expect(0);
    let shown = ground.steward(&["servers", "show", "wiki"]).expect(0).stdout;
    assert!(
        shown.contains(&format!("signed in at http://127.0.0.1:{}", ground.site.port)),
        "{shown}"
    );
    let call = ["call", "wiki__greet", "{}", "--yes"];
    assert_eq!(ground.steward(&call).expect(0).stdout, "hello\n");
    let text = std::fs::read_to_string(ground.file()).unwrap();
    assert!(text.contains("access-canary-1") && text.contains("secret-canary"), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&ground.file()), 0o600);
        assert_eq!(mode(ground.file().parent().unwrap()), 0o700);
    }
    ground.steward(&["servers", "logout", "wiki"]).expect(0);
    assert!(!ground.file().exists());
    let again = ground.steward(&call).expect(1);
    assert!(again.stderr.contains("login wiki"), "{again:?}");
    ground.login();
    let removed = ground.steward(&["--json", "servers", "remove", "wiki"]).expect(0).json();
    assert_eq!(removed["wasSignedIn"], true, "{removed}");
    assert!(!ground.file().exists());
    let said = ground.said.lock().unwrap().clone();
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

#[test]
fn a_pasted_address_signs_in_and_waiting_has_a_limit() {
    let ground = Ground::new();
    let mut login = Login::begin(&ground.home, &ground.vault, &[]);
    // The callback of another sign-in does not end this one, wherever it comes from.
    let port: u16 = {
        let query = login.address.split("redirect_uri=http%3A%2F%2F127.0.0.1%3A").nth(1).unwrap();
        query.split('%').next().unwrap().parse().unwrap()
    };
    let (_, page) = browse(&format!("http://127.0.0.1:{port}/callback?code=x&state=y"));
    assert!(page.contains("not the sign-in"), "{page}");
    login.paste("https://elsewhere.example/callback?code=x&state=y");
    // Pasted, since this browser cannot reach the port.
    let (_, query) = login.address.split_once("state=").unwrap();
    let state = query.split('&').next().unwrap();
    login.paste(&format!("http://127.0.0.1:{port}/callback?code=code-canary&state={state}"));
    let run = login.end().expect(0);
    assert!(run.stderr.contains("this is not an address of this sign-in"), "{run:?}");
    assert!(ground.file().exists());

    let late = Login::begin(&ground.home, &ground.vault, &["--timeout", "0"]).end().expect(1);
    assert!(late.stderr.contains("nobody signed in at `wiki` within 0 s"), "{late:?}");
    for (arguments, why) in [
        (["servers", "login", "nowhere"], "there is no server `nowhere`"),
        (["servers", "logout", "nowhere"], "there is no server `nowhere`"),
    ] {
        let run = ground.steward(&arguments).expect(1);
        assert!(run.stderr.contains(why), "{run:?}");
    }
}

#[test]
fn a_daemon_renews_tokens_and_tells_nobody() {
    let ground = Ground::new();
    ground.site.state().seconds = 1;
    ground.login();
    ground.site.state().seconds = 3_600;
    ground.steward(&["servers", "allow", "wiki", "--yes"]).expect(0);
    assert_eq!(ground.site.state().renewals, 1);
    // A token that was used up and expired only in the daemon.
    ground.site.state().seconds = 1;
    ground.site.state().token += 1;
    let mut command = ground.home.steward(&["serve", "--json", "--port", "0", "--vault"]);
    let log = ground.home.path("elsewhere/daemon.log");
    command.arg(&ground.vault).env("STEWARD_LOG", "trace");
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut daemon = Daemon::start(command);
    let call = ["call", "wiki__greet", "{}", "--yes"];
    for _ in 0..2 {
        assert_eq!(ground.steward(&call).expect(0).stdout, "hello\n");
    }
    assert!(ground.site.state().renewals >= 3, "each of these ends at once");
    let audit = ground.steward(&["--json", "audit"]).expect(0).stdout;
    assert!(audit.contains("wiki__greet"), "{audit}");
    ground.steward(&["--json", "config", "list"]).expect(0);
    let bearers = ground.site.state().bearers.clone();
    assert!(bearers.iter().all(|path| path == "/mcp"), "{bearers:?}");
    let mut said = ground.said.lock().unwrap().clone();
    daemon.kill();
    let logged = std::fs::read_to_string(log).unwrap();
    assert!(logged.to_lowercase().contains("debug"), "it tells much: {logged}");
    said.push_str(&logged);
    let mut places = vec![ground.home.state()];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(place).unwrap().flatten() {
            if entry.path().is_dir() {
                places.push(entry.path())
            } else {
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                said.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret} was told");
    }
}
