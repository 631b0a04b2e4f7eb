//! Decodes server-sent events from bytes that may be cut anywhere.
//!
//! Follows the standard, with two exceptions: `finish` also returns a last event without its blank
//! line, because some servers omit it, and invalid UTF-8 becomes U+FFFD.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's name, or empty.
    pub event: String,
    /// The data lines, joined by `\n`.
    pub data: String,
}

/// The error for an event above the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {limit} bytes")]
pub struct EventTooLarge {
    pub limit: usize,
}

/// Turns bytes into events.
#[derive(Debug)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: String,
    data: String,
    has_data: bool,
    /// No line was read yet, so the next one may start with a byte order mark.
    at_start: bool,
    /// The last byte was `\r`; a `\n` that follows belongs to it.
    after_cr: bool,
    /// Bytes of lines that belong to no event.
    passed_over: usize,
    last_id: String,
    retry_ms: Option<u64>,
    limit: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl SseDecoder {
    /// `limit`: the largest event, in bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: String::new(),
            data: String::new(),
            has_data: false,
            at_start: true,
            after_cr: false,
            passed_over: 0,
            last_id: String::new(),
            retry_ms: None,
            limit,
        }
    }

    /// The number of bytes so far in lines that belong to no event: comments, unknown fields, blank
    /// lines.
    pub fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// The id of the last event that had one, by which a broken stream is resumed; or empty.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// How long to wait before the stream is resumed, as the server wants it.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Reads more bytes and appends the events that they complete to `out`.
    ///
    /// # Errors
    /// [`EventTooLarge`]; `out` gets the events before the large one.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.len() + part.len() > self.limit {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.take_line(out);
        }
        Ok(())
    }

    /// Call at the end of the bytes: returns the last event even without its blank line.
    pub fn finish(&mut self, out: &mut Vec<SseEvent>) {
        if !self.line.is_empty() {
            self.take_line(out);
        }
        self.dispatch(out);
    }

    fn take_line(&mut self, out: &mut Vec<SseEvent>) {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.passed_over += 1;
            self.dispatch(out);
        } else {
            let text = String::from_utf8_lossy(bytes);
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    if self.has_data {
                        self.data.push('\n');
                    }
                    self.has_data = true;
                    self.data.push_str(value);
                }
                "event" => value.clone_into(&mut self.event),
                // Comments, `id`, `retry` and unknown fields.
                _ => {
                    self.passed_over += bytes.len();
                    match field {
                        "id" if !value.contains('\0') => value.clone_into(&mut self.last_id),
                        "retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
                        _ => {}
                    }
                }
            }
        }
        // Reuse the allocation.
        self.line = line;
        self.line.clear();
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            out.push(SseEvent { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], chunk: usize) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::new(1 << 20);
        let mut out = Vec::new();
        for part in bytes.chunks(chunk.max(1)) {
            decoder.feed(part, &mut out).unwrap();
        }
        decoder.finish(&mut out);
        out.into_iter().map(|event| (event.event, event.data)).collect()
    }

    #[test]
    fn every_spelling_of_a_stream_means_the_same() {
        let expected = vec![
            (String::new(), "a\nb".to_owned()),
            ("x".to_owned(), "ü🌱".to_owned()),
            (String::new(), String::new()),
            (String::new(), " last".to_owned()),
        ];
        let text = "data: a\ndata:b\n\n: note\nevent: x\nid: 3\ndata: ü🌱\n\nevent: none\n\n\
                    data\n\ndata:  last";
        for end in ["\n", "\r\n", "\r"] {
            for mark in ["", "\u{feff}"] {
                let stream = format!("{mark}{}", text.replace('\n', end));
                for chunk in 1..stream.len() {
                    assert_eq!(read(stream.as_bytes(), chunk), expected, "{stream:?} by {chunk}");
                }
            }
        }
    }

    #[test]
    fn a_stream_says_how_it_is_resumed() {
        let mut decoder = SseDecoder::new(100);
        let mut out = Vec::new();
        decoder.feed(b"id: 7\nretry: 500\ndata: a\n\nretry: soon\nid: \0\n\n", &mut out).unwrap();
        assert_eq!((decoder.last_id(), decoder.retry_ms(), out.len()), ("7", Some(500), 1));
    }

    #[test]
    fn bytes_that_are_no_text_spoil_nothing_else() {
        let read = read(b"data: a\xFFb\n\ndata: c\n\n", 1);
        assert_eq!(read[0].1, "a\u{fffd}b");
        assert_eq!(read[1].1, "c");
    }

    #[test]
    fn an_event_has_a_largest_size() {
        let mut decoder = SseDecoder::new(100);
        let mut out = Vec::new();
        decoder.feed(b"data: whole\n\n", &mut out).unwrap();
        let long = "data: x\n".repeat(200);
        let refused = long.as_bytes().chunks(7).find_map(|part| decoder.feed(part, &mut out).err());
        assert_eq!(refused, Some(EventTooLarge { limit: 100 }));
        assert_eq!(out.len(), 1);
        let endless = SseDecoder::new(100).feed(&[b'x'; 101], &mut out);
        assert_eq!(endless, Err(EventTooLarge { limit: 100 }));
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            pieces in prop::collection::vec(prop::sample::select(vec![
                &b"data: "[..], b"data:", b"event: ", b"\n", b"\r", b"\r\n", b"\n\n", b"a", b":",
                b" ", b"\xC3", b"\xBC", b"\xFF", b"\xEF\xBB\xBF", b"id: 1", b": c",
            ]), 0..40),
            chunk in 1_usize..9,
        ) {
            let bytes = pieces.concat();
            prop_assert_eq!(read(&bytes, chunk), read(&bytes, bytes.len()));
        }
    }
}
