//! Servers at addresses: real connections to a small HTTP server of the tests, which can misbehave.

mod questions;
mod signing_in;
mod transport;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::json;

use super::oauth::error::LoginError;
use super::oauth::stored::Logins;
use super::*;

/// A request as the site has it.
#[derive(Debug, Clone)]
struct ReceivedRequest {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    message: Value,
    form: HashMap<String, String>,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn is(&self, method: &str) -> bool {
        self.message["method"] == method
    }

    fn answer(&self, result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.message["id"], "result": result }).to_string()
    }
}

type Does = dyn Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync;

/// Sign-ins in memory, under a lock of a file.
pub(super) struct MemoryLogins {
    texts: Mutex<HashMap<String, String>>,
    lock: PathBuf,
}

impl MemoryLogins {
    pub fn new(folder: &Path) -> Arc<Self> {
        Arc::new(Self { texts: Mutex::default(), lock: folder.join("lock") })
    }
}

impl Logins for MemoryLogins {
    fn load(&self, server: &str) -> Result<Option<String>, LoginError> {
        Ok(self.texts.lock().expect("no panic").get(server).cloned())
    }

    fn store(&self, server: &str, text: &str) -> Result<(), LoginError> {
        self.texts.lock().expect("no panic").insert(server.to_owned(), text.to_owned());
        Ok(())
    }

    fn remove(&self, server: &str) -> Result<bool, LoginError> {
        Ok(self.texts.lock().expect("no panic").remove(server).is_some())
    }

    fn lock(&self, _: &str) -> Result<File, LoginError> {
        let file = File::create(&self.lock).expect("a file");
        file.lock().expect("a lock");
        Ok(file)
    }
}

/// A server at an address of this machine, `s` in the settings, and the requests that it got.
struct Site {
    _folder: tempfile::TempDir,
    servers: Servers,
    logins: Arc<MemoryLogins>,
    now: Arc<AtomicU64>,
    port: u16,
    request: Arc<Mutex<Vec<ReceivedRequest>>>,
    does: Arc<Mutex<Arc<Does>>>,
}

fn reply(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes());
}

fn json_reply(stream: &mut TcpStream, body: &str) {
    reply(stream, 200, "Content-Type: application/json\r\n", body);
}

fn stream_reply(stream: &mut TcpStream, events: &str) {
    let head = "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
    let _ = stream.write_all(format!("{head}{events}").as_bytes());
}

fn tools() -> Value {
    json!({ "tools": [
        { "name": "one", "description": "first", "inputSchema": { "type": "object", "properties": {
            "place": { "type": "string", "x-mcp-header": "Place" } } } },
        { "name": "two", "description": "second" },
    ] })
}

/// A server of the newer version, except for calls.
fn modern(
    request: &ReceivedRequest,
    stream: &mut TcpStream,
    call: impl Fn(&ReceivedRequest, &mut TcpStream),
) {
    match request.message["method"].as_str() {
        Some("server/discover") => json_reply(
            stream,
            &request.answer(&json!({
                "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })),
        ),
        Some("tools/list") => json_reply(stream, &request.answer(&tools())),
        Some("tools/call") => call(request, stream),
        _ => reply(stream, 404, "", ""),
    }
}

/// A server of the older versions with the session `a`, except for calls and unsolicited messages.
fn legacy(
    request: &ReceivedRequest,
    stream: &mut TcpStream,
    call: impl Fn(&ReceivedRequest, &mut TcpStream),
) {
    if request.method != "POST" {
        return reply(stream, 405, "", "");
    }
    match request.message["method"].as_str() {
        Some("initialize") => reply(
            stream,
            200,
            "Content-Type: application/json\r\nMcp-Session-Id: a\r\n",
            &request.answer(&json!({ "protocolVersion": "2025-06-18",
                "capabilities": { "tools": { "listChanged": true } } })),
        ),
        _ if request.header("mcp-session-id") != "a" => reply(stream, 400, "", "no session"),
        Some("tools/list") => json_reply(stream, &request.answer(&tools())),
        Some("tools/call") => call(request, stream),
        _ => reply(stream, 202, "", ""),
    }
}

fn done(request: &ReceivedRequest, stream: &mut TcpStream) {
    json_reply(
        stream,
        &request.answer(&json!({ "content": [{ "type": "text", "text": "done" }] })),
    );
}

impl Site {
    fn new(does: impl Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let request = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let does: Arc<Mutex<Arc<Does>>> = Arc::new(Mutex::new(Arc::new(does)));
        let (all, doing) = (Arc::clone(&request), Arc::clone(&does));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, doing) = (Arc::clone(&all), Arc::clone(&doing));
                std::thread::spawn(move || serve(stream, &all, &doing));
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        let vault = folder.path().join("vault");
        let place = folder.path().join("servers");
        let sandbox = ServerSandbox { vault, folder: place, hidden: Vec::new(), confines: None };
        let values: Values = Box::new(|reference| match reference {
            Reference::Key("there") => Some("sk-secret".to_owned()),
            Reference::Key("lines") => Some("a\r\nX: 1".to_owned()),
            _ => None,
        });
        let now = Arc::new(AtomicU64::new(0));
        let seconds = Arc::clone(&now);
        let clock: Clock = Arc::new(move || Duration::from_secs(seconds.load(Ordering::Relaxed)));
        let logins = MemoryLogins::new(folder.path());
        let stored = Arc::clone(&logins) as Arc<dyn Logins>;
        let servers = Servers::new(Settings::default(), sandbox, values, stored, clock);
        let site = Self { _folder: folder, servers, logins, now, port, request, does };
        site.set(&site.url("/mcp"), |_| {});
        site
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn set(&self, url: &str, change: impl Fn(&mut ServerEntry)) {
        let mut entry = ServerEntry { timeout_seconds: 5, ..ServerEntry::remote(url) };
        change(&mut entry);
        assert_eq!(entry.fault(), None);
        self.servers.replace(Settings { entries: [("s".to_owned(), entry)].into() });
    }

    fn does(&self, does: impl Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync + 'static) {
        *self.does.lock().expect("no panic") = Arc::new(does);
    }

    fn allow(&self) -> Vec<Described> {
        std::fs::create_dir_all(self.servers.place()).expect("made");
        let tools = self.servers.list("s").expect("the server answers");
        let pin = Pin::new(&self.servers.entry("s").expect("the server"), &tools);
        pin.store(self.servers.place(), "s").expect("saved");
        tools
    }

    fn call(&self, tool: &Described, arguments: &Value) -> Result<Value, Fault> {
        self.servers.call("s", &tool.name, &tool.sha256, arguments, None, &|| false)
    }

    fn request(&self) -> Vec<ReceivedRequest> {
        self.request.lock().expect("no panic").clone()
    }

    fn methods(&self) -> Vec<String> {
        let name = |request: &ReceivedRequest| match request.message["method"].as_str() {
            Some(method) => method.to_owned(),
            None => request.method.clone(),
        };
        self.request().iter().map(name).collect()
    }
}

/// What the query of an address says.
fn pairs(address: &str) -> HashMap<String, String> {
    let address = reqwest::Url::parse(address).expect("an address");
    address.query_pairs().into_owned().collect()
}

fn serve(mut stream: TcpStream, all: &Mutex<Vec<ReceivedRequest>>, does: &Mutex<Arc<Does>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or_default() == 0 {
        return;
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let form = if headers.get("content-type").is_some_and(|it| it.contains("form")) {
        pairs(&format!("http://x/?{text}"))
    } else {
        HashMap::new()
    };
    let request = ReceivedRequest { method, path, headers, message, form };
    all.lock().expect("no panic").push(request.clone());
    let does = Arc::clone(&does.lock().expect("no panic"));
    does(&request, &mut stream);
}

/// Waits for something that happens on another thread.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::yield_now();
    }
}
