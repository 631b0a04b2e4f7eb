//! URIs of files as resources: `vault:///Folder/A%20note.md`.

/// Precedes the path.
const PREFIX: &str = "vault:///";

/// The URI template for clients that build URIs; the path is not encoded.
pub const TEMPLATE: &str = "vault:///{+path}";

pub fn from_path(path: &str) -> String {
    let mut uri = String::with_capacity(PREFIX.len() + path.len() + 16);
    uri.push_str(PREFIX);
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `vault:` URI; `None` for other URIs. Unencoded characters are literal, since
/// clients fill the template in different ways.
pub fn path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(PREFIX)?;
    let bytes = rest.as_bytes();
    let mut path = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let coded = (*byte == b'%').then(|| hex(bytes.get(at + 1..at + 3)?)).flatten();
        path.push(coded.unwrap_or(*byte));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(path).ok()
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back_as_it_was() {
        for name in ["a.md", "Ein Ordner/100% für #2?.md", "日本/[x] & y.md", "a+b=c:d", "%20.md"]
        {
            assert_eq!(path(&from_path(name)).as_deref(), Some(name));
            let uri = from_path(name);
            assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()) && !uri.contains('#'), "{uri}");
        }
        assert_eq!(from_path("A note.md"), "vault:///A%20note.md");
        assert_eq!(path("vault:///100% sure#x.md").as_deref(), Some("100% sure#x.md"));
        for other in ["", "vault://a.md", "file:///a.md", "vault:///%ff", "VAULT"] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
