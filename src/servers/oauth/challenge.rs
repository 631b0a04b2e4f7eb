//! `WWW-Authenticate`: what a server requires if the token is missing or insufficient.

/// The longest header that is read, in bytes.
const MAX_HEADER: usize = 8 << 10;

/// The most scopes that are read, and the most characters of one.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE: usize = 256;

/// The Bearer challenge of a response; empty if it has no parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// The address of the document that describes the server.
    pub resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub scopes: Vec<String>,
    /// Why the token was refused.
    pub error: Option<String>,
}

impl Challenge {
    /// The first Bearer challenge of these headers.
    pub fn read<'a>(headers: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut all = headers.into_iter().flat_map(challenges);
        let (_, parameters) = all.find(|(scheme, _)| scheme == "bearer")?;
        let parameter = |name: &str| {
            let value = parameters.iter().find(|(key, _)| key == name);
            value.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        Some(Self {
            resource_metadata: parameter("resource_metadata"),
            scopes: scopes(&parameter("scope").unwrap_or_default()),
            error: parameter("error"),
        })
    }

    /// Whether the token is valid but lacks scopes.
    pub fn wants_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The scopes of a list separated by blanks, without duplicates.
pub fn scopes(text: &str) -> Vec<String> {
    let mut scopes = Vec::<String>::new();
    for scope in text.split(' ').filter(|scope| is_scope(scope)) {
        if scopes.len() < MAX_SCOPES && !scopes.iter().any(|other| other == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

fn is_scope(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    (1..=MAX_SCOPE).contains(&text.len()) && text.bytes().all(plain)
}

/// Schemes in lower case, each with its parameters. Skips unreadable parts up to the next comma.
fn challenges(header: &str) -> Vec<(String, Vec<(String, String)>)> {
    const BLANK: [char; 2] = [' ', '\t'];
    let mut all = Vec::<(String, Vec<(String, String)>)>::new();
    let mut rest = header.get(..MAX_HEADER).unwrap_or(header);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return all;
        }
        let (word, after) = rest.split_at(rest.find(|c| !is_token(c)).unwrap_or(rest.len()));
        let behind = after.trim_start_matches(BLANK);
        match (behind.strip_prefix('='), all.last_mut()) {
            (Some(value), Some((_, parameters))) if !word.is_empty() => {
                let (value, after) = value_of(value.trim_start_matches(BLANK));
                parameters.push((word.to_ascii_lowercase(), value));
                rest = after;
            }
            (None, _) if !word.is_empty() => {
                all.push((word.to_ascii_lowercase(), Vec::new()));
                rest = behind;
            }
            _ => rest = &rest[rest.find(',').unwrap_or(rest.len())..],
        }
    }
}

/// A parameter's value, in quotes or not, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => value.push(c),
        }
    }
    (value, "")
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let read = |header: &str| Challenge::read([header]);
        let full = "Negotiate abc/def==, Basic realm=\"a, Bearer \\\"x\\\"\", bearer  error = \
                    insufficient_scope,scope=\"files:read  files:read files:write\" , \
                    resource_metadata=\"https://a.example/x\"";
        let challenge = Challenge {
            resource_metadata: Some("https://a.example/x".to_owned()),
            scopes: vec!["files:read".to_owned(), "files:write".to_owned()],
            error: Some("insufficient_scope".to_owned()),
        };
        assert!(challenge.wants_more());
        assert_eq!(read(full), Some(challenge));
        assert_eq!(read("Bearer"), Some(Challenge::default()));
        assert_eq!(Challenge::read(["Basic realm=\"x\"", "BEARER"]), Some(Challenge::default()));
        for none in ["", "Basic realm=\"Bearer\"", "=, ,\"", "Basic Bearer=\"", "\u{e9} Bearer"] {
            assert_eq!(read(none), None, "{none}");
        }
        let open = read("Bearer scope=\"a \u{e9} b").expect("one");
        assert_eq!(open.scopes, ["a", "b"], "what no scope can be is left out");
        let unquoted = read("Bearer resource_metadata=https://a/b?c=d, scope=a").expect("one");
        assert_eq!(unquoted.resource_metadata.as_deref(), Some("https://a/b?c=d"));
        assert_eq!(unquoted.scopes, ["a"]);
    }
}
