//! The page that the server serves, and how it authenticates.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use vault_steward::policy::Scope;
use vault_steward::server::Settings;
use vault_steward::server::token::{Proof, Token};

use crate::fake::fake;
use crate::support::{Door, upgrade};

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

fn get(door: &Door, path: &str) -> (String, String) {
    let answer = door.raw(&format!("GET {path} HTTP/1.1\r\n{}\r\n\r\n", door.host()));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

fn page(door: &Door) -> String {
    format!("Origin: http://127.0.0.1:{}", door.port)
}

fn exchange(door: &Door, headers: &[String], body: &str) -> (u16, Value) {
    let answer = door.raw(&format!(
        "POST /v1/exchange HTTP/1.1\r\n{}\r\n{}\r\nContent-Length: {}\r\n\r\n{body}",
        door.host(),
        headers.join("\r\n"),
        body.len()
    ));
    assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

pub fn as_the_page(door: &Door, code: &str) -> (u16, Value) {
    let headers = [page(door), "Content-Type: application/json".to_owned()];
    exchange(door, &headers, &json!({ "code": code }).to_string())
}

/// A code, requested as `steward open` does.
pub fn code(door: &Door) -> String {
    let opened = door.client().call("_vault/page_code", json!({}));
    assert_eq!(opened["result"]["seconds"], 60);
    let url = opened["result"]["url"].as_str().unwrap();
    let start = format!("http://127.0.0.1:{}/#code=", door.port);
    url.strip_prefix(&start).unwrap_or_else(|| panic!("{url}")).to_owned()
}

#[test]
fn the_page_is_served_with_all_that_holds_it_in() {
    let door = door();
    let port = door.port;
    for (path, kind) in [
        ("/", "html"),
        ("/view.js", "javascript"),
        ("/chunk.js", "javascript"),
        ("/cards.js", "javascript"),
        ("/formulas.js", "javascript"),
        ("/view.css", "css"),
    ] {
        let (head, body) = get(&door, path);
        assert!(head.starts_with("http/1.1 200"), "{path}: {head}");
        assert!(head.contains(&format!("content-type: text/{kind}; charset=utf-8")), "{head}");
        let policy = format!(
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
             img-src 'self' data: blob:; connect-src 'self' ws://127.0.0.1:{port} \
             ws://localhost:{port}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        );
        for wanted in [
            policy.as_str(),
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(wanted), "{path} lacks {wanted}: {head}");
        }
        assert!(!head.contains("access-control") && !head.contains("set-cookie"), "{head}");
        assert!(!body.is_empty() && !body.contains(&door.token));
    }
    let (_, index) = get(&door, "/");
    let scripts: Vec<&str> = index.split("<script").skip(1).collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        let (attributes, rest) = script.split_once('>').unwrap();
        assert!(attributes.contains("src="), "a script that is not a file: {attributes}");
        assert!(rest.trim_start().starts_with("</script>"), "{rest:.40}");
    }
    assert!(!index.contains("<style") && !index.contains("style="));
    let is_handler =
        |rest: &str| rest.trim_start_matches(|c: char| c.is_alphabetic()).starts_with('=');
    assert!(!index.split(" on").skip(1).any(is_handler), "a handler in an attribute: {index}");
    // Other sites get none of it.
    let strange = "GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n";
    assert_eq!(door.status(strange), 403);
    let strange = format!("GET / HTTP/1.1\r\n{}\r\nOrigin: http://evil.com\r\n\r\n", door.host());
    assert_eq!(door.status(&strange), 403);
}

#[test]
fn a_code_opens_the_page_once() {
    let door = door();
    let code = code(&door);
    let (status, answer) = as_the_page(&door, &code);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["days"], 30);
    let (name, key) = answer["token"].as_str().unwrap().split_once('.').unwrap();
    let key = Token::parse(key).unwrap();
    assert_ne!(key.reveal(), door.token, "the page gets one of its own");

    // It acts for the person, the daemon proves itself with it, and it is refused elsewhere.
    let stream = std::net::TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    let mut request = format!("ws://127.0.0.1:{}/v1", door.port).into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("origin", format!("http://127.0.0.1:{}", door.port).parse().unwrap());
    let ticket = door.ticket(name, &key);
    let offered = ticket.split_once(": ").unwrap().1.parse().unwrap();
    headers.insert("sec-websocket-protocol", offered);
    let (mut socket, _) = tokio_tungstenite::tungstenite::client(request, stream).unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": 1,
        "clientCapabilities": {"_meta": {"vault": {"nonce": "abc"}}}}});
    socket.send(tokio_tungstenite::tungstenite::Message::text(hello.to_string())).unwrap();
    let answer: Value = serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
    let ours = &answer["result"]["agentCapabilities"]["_meta"]["vault"];
    assert_eq!(ours["scope"], "person");
    assert_eq!(ours["proof"], key.proof(Proof::Initialize, door.port, "abc"));

    let enters = |origin: Vec<String>| {
        let ticket = door.ticket(name, &key);
        door.status(&upgrade("/v1", &[vec![door.host(), ticket], origin].concat()))
    };
    assert_eq!(enters(vec![page(&door)]), 101);
    assert_eq!(enters(vec![]), 401, "without the page's origin");
    assert_eq!(enters(vec!["Origin: app://obsidian.md".to_owned()]), 401, "from another place");
    assert_eq!(enters(vec!["Origin: http://evil.com".to_owned()]), 403);

    // The key that the browser stores admits only the page, and only to this run of the daemon.
    let epoch = ours["epoch"].as_str().unwrap();
    let of_run = key.derived(&format!("run:{epoch}"));
    let kept = format!("{name}-run");
    let headers = |origin| [door.host(), door.ticket(&kept, &of_run), origin];
    assert_eq!(door.handshake(&headers(page(&door))), 101);
    assert_eq!(door.handshake(&headers("X: no origin".to_owned())), 401);
    let of_another = key.derived("run:0000000000000000");
    let (_, answer) = door.challenge(&kept, "0123456789abcdef");
    let proof = of_another.proof(Proof::Ticket, door.port, answer["nonce"].as_str().unwrap());
    let stale = format!("{kept}.{}.{proof}", answer["nonce"].as_str().unwrap());
    let stale = format!("Sec-WebSocket-Protocol: vault.v1, vault.ticket.{stale}");
    assert_eq!(door.handshake(&[door.host(), page(&door), stale]), 401, "another run's");

    // Sent in plain text it authenticates nothing, and a script gets nowhere with it either.
    for shown in [key.reveal(), of_run.reveal(), format!("{name}.{}", key.reveal())] {
        let bearer = format!("Authorization: Bearer {shown}");
        assert_eq!(door.handshake(&[door.host(), page(&door), bearer]), 401);
    }

    assert_eq!(as_the_page(&door, &code).0, 401, "a second time");
}

#[test]
fn an_exchange_is_for_the_page_and_in_its_own_shape() {
    let door = door();
    let right = code(&door);
    let body = json!({ "code": right }).to_string();
    let json_type = "Content-Type: application/json".to_owned();
    let form = "Content-Type: application/x-www-form-urlencoded".to_owned();
    let obsidian = "Origin: app://obsidian.md".to_owned();
    for (headers, body, status) in [
        (vec![json_type.clone()], body.as_str(), 403),
        (vec![json_type.clone(), obsidian], &body, 403),
        (vec![json_type.clone(), "Origin: null".to_owned()], &body, 403),
        (vec![page(&door)], &body, 415),
        (vec![page(&door), form], &body, 415),
        (vec![page(&door), json_type.clone()], "{}", 400),
        (vec![page(&door), json_type.clone()], "code", 400),
        (vec![page(&door), json_type.clone()], &"x".repeat(2_000), 413),
    ] {
        let (found, answer) = exchange(&door, &headers, body);
        assert_eq!(found, status, "{headers:?} {body:.30} {answer}");
        assert!(!answer.to_string().contains(&right));
    }
    // None of these used up the code.
    assert_eq!(as_the_page(&door, &right).0, 200);
}

#[test]
fn guessing_codes_is_slowed_down() {
    let door = door();
    let begun = std::time::Instant::now();
    for guess in 0..8_u8 {
        assert_eq!(as_the_page(&door, &format!("{guess:064x}")).0, 401);
    }
    assert!(begun.elapsed() > std::time::Duration::from_millis(300), "{:?}", begun.elapsed());
}

#[test]
fn only_a_person_gets_a_code() {
    let door = door();
    let token = Token::parse(&door.token).unwrap();
    for scope in Scope::ALL.into_iter().filter(|one| !one.is_person()) {
        let shown = token.scoped(scope).reveal();
        let mut client = crate::support::Client::connect(door.port, &shown).unwrap();
        client.initialize();
        let answer = client.call("_vault/page_code", json!({}));
        // An ACP client gets nothing but ACP.
        let kind = if scope == Scope::Acp { "unknown_method" } else { "forbidden" };
        assert_eq!(answer["error"]["data"]["kind"], kind, "{answer}");
    }
}
