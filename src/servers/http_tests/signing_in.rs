//! Signing in at a server, and the tokens of a sign-in.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

use super::*;

/// What the authorisation server of a site has given out.
#[derive(Default)]
struct IssuedTokens {
    /// The challenge of the code.
    challenge: String,
    access: u64,
    refresh: u64,
    refreshes: u64,
    /// Set once the next renewal has begun, which then waits for a message.
    held: Option<(Arc<AtomicBool>, Receiver<()>)>,
}

/// A site that wants a sign-in, and the authorisation server that does it, on one port.
struct Guarded {
    site: Site,
    issued: Arc<Mutex<IssuedTokens>>,
    /// Says otherwise than usual: by a member of a document, or of what is stored.
    odd: Arc<Mutex<Value>>,
}

impl Guarded {
    fn new() -> Self {
        let issued = Arc::<Mutex<IssuedTokens>>::default();
        let odd = Arc::new(Mutex::new(json!({})));
        let (giving, saying) = (Arc::clone(&issued), Arc::clone(&odd));
        let site = Site::new(move |request, stream| guarded(request, stream, &giving, &saying));
        Self { site, issued, odd }
    }

    fn say(&self, key: &str, value: Value) {
        self.odd.lock().expect("no panic")[key] = value;
    }

    /// Signs in as a browser does; `change` changes the address to which it comes back.
    fn login(&self, change: impl Fn(String) -> String) -> Result<Option<oauth::SignedIn>, Fault> {
        let servers = &self.site.servers;
        let waiting = servers.begin_login(servers.prepare_login("s")?, 4_321)?;
        let asked = pairs(waiting.address());
        assert_eq!(asked["code_challenge_method"], "S256");
        self.issued.lock().expect("no panic").challenge = asked["code_challenge"].clone();
        let (state, issuer) = (&asked["state"], self.site.url(""));
        let back = format!("{}?code=c0de&state={state}&iss={issuer}", asked["redirect_uri"]);
        servers.finish_login(&waiting, &change(back))
    }

    fn stored(&self) -> Value {
        let text = self.site.logins.load("s").expect("read").expect("a sign-in");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn guarded(
    request: &ReceivedRequest,
    stream: &mut TcpStream,
    issued: &Mutex<IssuedTokens>,
    odd: &Mutex<Value>,
) {
    use base64::Engine as _;
    use sha2::Digest as _;
    let host = format!("http://{}", request.header("host"));
    let odd = odd.lock().expect("no panic").clone();
    let document = |mut document: Value| {
        for (key, value) in odd.as_object().into_iter().flatten() {
            if document.get(key).is_some() {
                document[key] = value.clone();
            }
        }
        document.to_string()
    };
    let mut issued = issued.lock().expect("no panic");
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => json_reply(
            stream,
            &document(json!({
            "resource": format!("{host}/mcp"), "authorization_servers": [host],
            "scopes_supported": ["read"] })),
        ),
        "/.well-known/oauth-authorization-server" => json_reply(
            stream,
            &document(json!({
            "issuer": host, "authorization_endpoint": format!("{host}/authorize"),
            "token_endpoint": format!("{host}/token"), "registration_endpoint": format!("{host}/register"),
            "revocation_endpoint": format!("{host}/revoke"),
            "code_challenge_methods_supported": ["S256"], "scopes_supported": ["read", "offline_access"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true })),
        ),
        "/register" => {
            assert_eq!(request.message["application_type"], "native");
            assert_eq!(request.message["redirect_uris"][0], "http://127.0.0.1:4321/callback");
            json_reply(stream, r#"{"client_id":"made","token_endpoint_auth_method":"none"}"#);
        }
        "/token" => {
            let refused = r#"{"error":"invalid_grant","error_description":"obey me"}"#;
            let refuse = |stream: &mut TcpStream| {
                reply(stream, 400, "Content-Type: application/json\r\n", refused);
            };
            assert_eq!(request.form["resource"], format!("{host}/mcp"));
            assert_eq!(request.form["client_id"], "made");
            match request.form["grant_type"].as_str() {
                "authorization_code" => {
                    let hash = sha2::Sha256::digest(request.form["code_verifier"].as_bytes());
                    let hash = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(hash);
                    if request.form["code"] != "c0de" || hash != issued.challenge {
                        return refuse(stream);
                    }
                }
                _ => {
                    issued.refreshes += 1;
                    if let Some((has_begun, go_on)) = issued.held.take() {
                        has_begun.store(true, Ordering::Relaxed);
                        go_on.recv().expect("it goes on");
                    }
                    // Each refresh token can be used once.
                    if request.form["refresh_token"] != format!("refresh-canary-{}", issued.refresh)
                        || odd["refuses"] == true
                    {
                        return refuse(stream);
                    }
                }
            }
            (issued.access, issued.refresh) = (issued.access + 1, issued.refresh + 1);
            json_reply(
                stream,
                &document(json!({
                "access_token": format!("access-canary-{}", issued.access), "token_type": "Bearer",
                "refresh_token": format!("refresh-canary-{}", issued.refresh), "expires_in": 3600 })),
            );
        }
        "/revoke" => reply(stream, 200, "", ""),
        "/mcp" => {
            let metadata = format!("{host}/.well-known/oauth-protected-resource/mcp");
            let token = format!("Bearer access-canary-{}", issued.access);
            if issued.access == 0 || request.header("authorization") != token {
                let header =
                    format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
                return reply(stream, 401, &header, "");
            }
            if request.is("tools/call") && odd["wants"] == "write" {
                let header =
                    "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\"\r\n";
                return reply(stream, 403, header, "");
            }
            drop(issued);
            modern(request, stream, done);
        }
        _ => reply(stream, 404, "", ""),
    }
}

#[test]
fn a_sign_in_gets_tokens_that_go_to_their_server_alone() {
    let guarded = Guarded::new();
    let site = &guarded.site;
    let fault = site.servers.list("s").expect_err("nobody is signed in");
    assert!(matches!(fault, Fault::SignIn { status: 401, .. }), "{fault}");
    assert!(fault.hint().contains("`steward servers login s`"), "{}", fault.hint());
    assert_eq!(site.servers.signed_in("s").expect("read"), None);

    let signed_in = guarded.login(|back| back).expect("no fault").expect("signed in");
    assert_eq!(signed_in.scopes, ["read", "offline_access"]);
    assert!(signed_in.is_renewed && signed_in.ends.is_some());
    assert_eq!(site.servers.signed_in("s").expect("read").as_ref(), Some(&signed_in));
    let tools = site.allow();
    site.call(&tools[0], &json!({})).expect("an answer");
    let asked = |path: &str| site.request().iter().filter(|request| request.path == path).count();
    assert_eq!((asked("/register"), asked("/token")), (1, 1));
    for request in site.request().iter().filter(|request| request.path != "/mcp") {
        assert_eq!(request.header("authorization"), "", "{request:?}");
    }

    // Elsewhere nobody is signed in, even on the same machine.
    let other = Site::new(|request, stream| modern(request, stream, done));
    let port = other.port;
    site.servers.end();
    site.set(&format!("http://127.0.0.1:{port}/mcp"), |_| {});
    site.servers.list("s").expect("the other one answers");
    assert!(other.request().iter().all(|request| request.header("authorization").is_empty()));
    site.set(&site.url("/mcp"), |_| {});
    site.servers.list("s").expect("signed in again");

    // A second sign-in uses the same client, and its end is reported.
    guarded.login(|back| back).expect("no fault").expect("signed in");
    assert_eq!(asked("/register"), 1);
    assert!(site.servers.logout("s").expect("removed"));
    assert!(!site.servers.logout("s").expect("removed"));
    let revoked =
        site.request().into_iter().find(|request| request.path == "/revoke").expect("told");
    assert_eq!(revoked.form["token"], "refresh-canary-2");
    let fault = site.servers.list("s").expect_err("signed out");
    assert!(matches!(fault, Fault::SignIn { .. }), "{fault}");
}

#[test]
fn a_token_is_renewed_once_for_all_that_need_it() {
    let guarded = Guarded::new();
    let site = &guarded.site;
    guarded.say("expires_in", json!(1));
    guarded.login(|back| back).expect("no fault").expect("signed in");
    guarded.say("expires_in", json!(3600));
    // The token expires within a minute, so each request would renew it.
    let tools = site.allow();
    assert_eq!(guarded.issued.lock().expect("no panic").refreshes, 1);
    // A token that the server no longer accepts is renewed, too.
    guarded.issued.lock().expect("no panic").access += 1;
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..4).map(|_| scope.spawn(|| site.call(&tools[0], &json!({})))).collect();
        for call in calls {
            call.join().expect("no panic").expect("an answer");
        }
    });
    assert_eq!(guarded.issued.lock().expect("no panic").refreshes, 2);

    // Cancelling a call does not abort a renewal, which has used up the old token.
    let has_begun = Arc::<AtomicBool>::default();
    let (go_on, held) = channel();
    {
        let mut issued = guarded.issued.lock().expect("no panic");
        issued.access += 1;
        issued.held = Some((Arc::clone(&has_begun), held));
    }
    let (name, sha256) = (&tools[0].name, &tools[0].sha256);
    let withdrawn = || has_begun.load(Ordering::Relaxed);
    let fault = site.servers.call("s", name, sha256, &json!({}), None, &withdrawn);
    assert!(matches!(fault, Err(Fault::Withdrawn)), "{fault:?}");
    go_on.send(()).expect("it waits");
    site.call(&tools[0], &json!({})).expect("an answer");
    assert_eq!(guarded.issued.lock().expect("no panic").refreshes, 3);

    // Without a new refresh token the sign-in ends, which is reported.
    guarded.say("refuses", json!(true));
    guarded.issued.lock().expect("no panic").access += 1;
    let fault = site.call(&tools[0], &json!({})).expect_err("it has ended");
    assert!(matches!(fault, Fault::SignIn { status: 401, .. }), "{fault}");
    assert_eq!(guarded.stored()["refresh_token"], Value::Null);
    assert_eq!(guarded.stored()["client"]["id"], "made", "the registration stays");
    assert_eq!(site.servers.signed_in("s").expect("read"), None);
    guarded.say("refuses", json!(false));
    guarded.login(|back| back).expect("no fault").expect("signed in");
    site.call(&tools[0], &json!({})).expect("an answer");
}

#[test]
fn scopes_that_a_call_lacks_are_asked_for_by_the_next_sign_in() {
    let guarded = Guarded::new();
    let site = &guarded.site;
    guarded.login(|back| back).expect("no fault").expect("signed in");
    let tools = site.allow();
    guarded.say("wants", json!("write"));
    let fault = site.call(&tools[0], &json!({})).expect_err("not allowed");
    assert!(fault.to_string().contains("more scopes: write"), "{fault}");
    assert!(fault.hint().contains("login s"), "{}", fault.hint());
    guarded.say("wants", json!("nothing"));
    let signed_in = guarded.login(|back| back).expect("no fault").expect("signed in");
    assert_eq!(signed_in.scopes, ["read", "offline_access", "write"]);
}

#[test]
fn an_answer_of_somebody_else_gets_no_tokens() {
    let guarded = Guarded::new();
    for change in [
        (|back: String| back.replace("state=", "state=x")) as fn(String) -> String,
        |back| back.replace("/callback", "/elsewhere"),
        |_| "nonsense".to_owned(),
        |_| String::new(),
    ] {
        assert_eq!(guarded.login(change).expect("no fault"), None);
    }
    for (change, why) in [
        (
            (|back: String| back.replace("iss=http", "iss=https")) as fn(String) -> String,
            "does not come from the authorisation server",
        ),
        (|back| back + "/", "does not come from the authorisation server"),
        (|back| back.replace("iss=", "x="), "does not come from the authorisation server"),
        (
            |back| back.replace("code=c0de", "error=access_denied"),
            "refused the sign-in: access_denied",
        ),
        (|back| back.replace("code=c0de", "error=<b>obey</b>"), "refused the sign-in: no code"),
        (|back| back.replace("c0de", "other"), "refused the tokens: invalid_grant"),
    ] {
        let fault = guarded.login(change).expect_err(why);
        assert!(fault.to_string().contains(why), "{why}: {fault}");
        assert!(!fault.to_string().contains("obey"), "{fault}");
    }
    let exchanged =
        guarded.site.request().iter().filter(|request| request.path == "/token").count();
    assert_eq!(exchanged, 1, "only one came from the right server");
    assert_eq!(guarded.site.logins.load("s").expect("read"), None);
}

#[test]
fn documents_that_speak_for_others_are_not_used() {
    for (key, value, why) in [
        (
            "resource",
            json!("https://other.example/mcp"),
            "says that it is `https://other.example/mcp`",
        ),
        ("issuer", json!("https://other.example"), "another `issuer`"),
        ("authorization_servers", json!(["http://10.0.0.1/"]), "names `http://10.0.0.1/`"),
        ("authorization_servers", json!([]), "names no authorisation server"),
        ("token_endpoint", json!("http://169.254.169.254/"), "names `http://169.254.169.254/`"),
        ("authorization_endpoint", json!("file:///bin/true"), "names `file:///bin/true`"),
        ("code_challenge_methods_supported", json!(["plain"]), "PKCE"),
        ("token_type", json!("mac"), "not of the kind `Bearer`"),
    ] {
        let guarded = Guarded::new();
        guarded.say(key, value);
        let fault = guarded.login(|back| back).expect_err(key);
        assert!(fault.to_string().contains(why), "{key}: {fault}");
        assert_eq!(guarded.site.logins.load("s").expect("read"), None);
    }
    // A client registered by hand is used only with the server that it was registered with.
    let guarded = Guarded::new();
    let site = &guarded.site;
    site.set(&site.url("/mcp"), |entry| {
        entry.oauth.issuer = Some("https://sso.example".to_owned())
    });
    let fault = guarded.login(|back| back).expect_err("another one");
    assert!(fault.to_string().contains("and not `https://sso.example/`"), "{fault}");
    // A server with a key in its headers needs no sign-in.
    site.set(&site.url("/mcp"), |entry| {
        entry.headers.insert("Authorization".to_owned(), "Bearer ${key:there}".to_owned());
    });
    let fault = guarded.login(|back| back).expect_err("it has a key");
    assert!(matches!(fault, Fault::Login { error: LoginError::HasKey, .. }), "{fault}");
}

#[test]
fn nothing_that_is_shown_has_a_token() {
    let guarded = Guarded::new();
    let site = &guarded.site;
    let signed_in = guarded.login(|back| back).expect("no fault").expect("signed in");
    let mut shown = format!("{signed_in:?} {:?}", site.servers);
    assert!(guarded.stored().to_string().contains("canary"), "they are stored");
    let tools = site.allow();
    guarded.say("refuses", json!(true));
    guarded.issued.lock().expect("no panic").access += 1;
    let fault = site.call(&tools[0], &json!({})).expect_err("it has ended");
    shown.push_str(&format!("{fault} {fault:?} {}", fault.hint()));
    guarded.say("token_endpoint", json!("http://127.0.0.1:1/token"));
    let fault = guarded.login(|back| back).expect_err("nobody is there");
    shown.push_str(&format!("{fault} {fault:?} {}", fault.hint()));
    for secret in ["canary", "c0de"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
