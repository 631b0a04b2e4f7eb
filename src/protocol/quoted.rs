//! Writing a text as a JSON string.

/// Bytes that the compiler can check with one vector instruction.
const STEP: usize = 16;

/// Appends `text` as a JSON string to `json`, byte for byte as serde_json does. Text without characters to
/// escape, which is most of a note, is copied in one piece.
pub fn write(text: &str, json: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    json.push(b'"');
    loop {
        let plain = plain(rest);
        json.extend_from_slice(&rest[..plain]);
        let Some(byte) = rest.get(plain) else { break };
        escape(*byte, json);
        rest = &rest[plain + 1..];
    }
    json.push(b'"');
}

/// Number of bytes before the first one that must be escaped.
fn plain(bytes: &[u8]) -> usize {
    let (steps, _) = bytes.as_chunks::<STEP>();
    let is_plain =
        |step: &[u8; STEP]| !step.iter().fold(false, |any, byte| any | is_escaped(*byte));
    let before = steps.iter().take_while(|step| is_plain(step)).count() * STEP;
    let rest = &bytes[before..];
    before + rest.iter().position(|byte| is_escaped(*byte)).unwrap_or(rest.len())
}

fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

fn escape(byte: u8, json: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            json.extend_from_slice(b"\\u00");
            json.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
            return;
        }
    };
    json.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_written_as_serde_json_writes_it(
            text in "([a-z ]{0,40}|[\\x00-\\x7f\u{80}é\u{2028}\u{1f600}]{0,8}){0,6}",
        ) {
            let mut json = Vec::new();
            write(&text, &mut json);
            prop_assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn each_character_is_written_as_serde_json_writes_it() {
        let all: String = (0..=0x100).filter_map(char::from_u32).collect();
        let mut json = Vec::new();
        write(&all, &mut json);
        assert_eq!(String::from_utf8(json).unwrap(), serde_json::to_string(&all).unwrap());
    }
}
