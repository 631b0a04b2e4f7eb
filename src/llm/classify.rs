//! Classifies a vendor's error: first by the vendor's own codes, then by the HTTP status.

use serde_json::Value;

use super::delay;
use super::error::{ErrorKind, LlmError};

/// Status and headers of a response, as far as errors depend on them.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    pub status: Option<u16>,
    pub retry_after: Option<std::time::Duration>,
    pub request_id: Option<String>,
    pub should_retry: Option<bool>,
}

/// The error for a response body that is not a stream: a JSON error, or a page.
pub(super) fn from_body(head: &Head, body: &[u8]) -> LlmError {
    let text = String::from_utf8_lossy(body);
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        // Without `alt=sse`, Gemini sends a list with one element.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
        return from_json(head, value);
    }
    let kind = by_status(head.status).unwrap_or(ErrorKind::Protocol);
    let page = text.trim_start().get(..1).is_some_and(|first| first == "<");
    let message = if page { "the server answered with an HTML page".into() } else { text };
    with_head(LlmError::new(kind, message), head)
}

/// The error for a JSON value from a body or a stream.
pub(super) fn from_json(head: &Head, value: &Value) -> LlmError {
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let error_text = text(error)
        .or_else(|| text(&error["message"]))
        .or_else(|| text(&value["message"]))
        .or_else(|| text(&value["detail"]))
        .unwrap_or_default();
    let mut words: Vec<String> = ["code", "type", "status", "reason"]
        .iter()
        .filter_map(|key| text(&error[*key]))
        .filter(|word| word != "error")
        .collect();
    words.extend(text(&error["details"]["error_code"]));
    for detail in error["details"].as_array().into_iter().flatten() {
        words.extend(text(&detail["reason"]));
    }
    // Some vendors report the HTTP status in the body of a stream that began with 200.
    let status = head.status.filter(|status| *status >= 400).or_else(|| {
        let code = error["code"].as_u64().or_else(|| error["code"].as_str()?.parse().ok())?;
        u16::try_from(code).ok().filter(|code| (400..600).contains(code))
    });
    let kind = by_words(&words, &error_text, status)
        .or_else(|| by_status(status))
        .unwrap_or(ErrorKind::Protocol);
    let mut failure = LlmError::new(kind, &error_text);
    failure.detail.code = words.into_iter().next();
    failure.detail.request_id = text(&value["request_id"]);
    failure.retry_after = delay::of_google_details(&error["details"]);
    let mut failure = with_head(failure, head);
    failure.status = status.or(head.status);
    failure
}

fn with_head(mut error: LlmError, head: &Head) -> LlmError {
    error.status = head.status;
    error.retry_after = head.retry_after.or(error.retry_after);
    error.detail.request_id = head.request_id.clone().or(error.detail.request_id.take());
    error.detail.should_retry = head.should_retry;
    if error.kind == ErrorKind::Billing {
        // Some vendors report an exhausted budget as a rate limit; waiting would not help.
        error.detail.should_retry = Some(false);
    }
    error
}

/// Values of `type`, `code`, `status` and `reason`. The order matters: vendors also report an
/// exhausted budget as a rate limit, and a wrong key as an invalid argument.
const WORDS: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::Billing,
        &[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "enforced_spend_limit_reached",
        ],
    ),
    (
        ErrorKind::Auth,
        &[
            "authentication_error",
            "permission_error",
            "invalid_api_key",
            "API_KEY_INVALID",
            "UNAUTHENTICATED",
            "PERMISSION_DENIED",
        ],
    ),
    (
        ErrorKind::ContextLength,
        &["context_length_exceeded", "exceed_context_size_error", "request_too_large"],
    ),
    (
        ErrorKind::RateLimit,
        &["rate_limit_error", "rate_limit_exceeded", "too_many_requests", "RESOURCE_EXHAUSTED"],
    ),
    (
        ErrorKind::Overloaded,
        &[
            "overloaded_error",
            "server_error",
            "api_error",
            "internal_error",
            "internal_server_error",
            "UNAVAILABLE",
            "INTERNAL",
        ],
    ),
    (ErrorKind::Timeout, &["timeout_error", "DEADLINE_EXCEEDED"]),
    (ErrorKind::NotFound, &["not_found_error", "model_not_found", "NOT_FOUND"]),
    (ErrorKind::Refused, &["content_policy_violation", "content_filter", "cyber_policy"]),
    (ErrorKind::InvalidRequest, &["invalid_request_error", "INVALID_ARGUMENT", "invalid_prompt"]),
];

fn by_words(words: &[String], error_text: &str, status: Option<u16>) -> Option<ErrorKind> {
    let error_text = error_text.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| error_text.contains(part));
    let found = WORDS
        .iter()
        .find(|(_, known)| words.iter().any(|word| known.contains(&word.as_str())))
        .map(|(kind, _)| *kind);
    match found {
        // Only the message distinguishes these from an ordinary invalid request.
        Some(ErrorKind::InvalidRequest) | None if status.is_none_or(|status| status < 429) => {
            let full = [
                "prompt is too long",
                "maximum context length",
                "context length",
                "context window",
                "context size",
                "exceeds the maximum number of tokens",
            ];
            if says(&full) {
                Some(ErrorKind::ContextLength)
            } else if says(&["credit balance is too low", "spend limit", "usage limits"]) {
                Some(ErrorKind::Billing)
            } else if says(&["api key not valid", "incorrect api key"]) {
                Some(ErrorKind::Auth)
            } else {
                found
            }
        }
        // One gateway reports a misplaced thinking block as a rate limit.
        Some(ErrorKind::RateLimit) if says(&["signature"]) && says(&["thinking"]) => {
            Some(ErrorKind::InvalidRequest)
        }
        found => found,
    }
}

fn by_status(status: Option<u16>) -> Option<ErrorKind> {
    Some(match status? {
        402 => ErrorKind::Billing,
        401 | 403 => ErrorKind::Auth,
        404 => ErrorKind::NotFound,
        408 | 504 => ErrorKind::Timeout,
        413 => ErrorKind::ContextLength,
        429 => ErrorKind::RateLimit,
        409 | 500.. => ErrorKind::Overloaded,
        400.. => ErrorKind::InvalidRequest,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(status: u16, value: Value) -> ErrorKind {
        let head = Head { status: Some(status), ..Head::default() };
        from_body(&head, value.to_string().as_bytes()).kind
    }

    #[test]
    fn each_vendors_words_are_known() {
        use ErrorKind as K;
        let anthropic =
            |word: &str| json!({"type": "error", "error": {"type": word, "message": "m"}});
        let openai = |word: &str, code: &str| json!({"error": {"type": word, "code": code}});
        let gemini = |code: u16, word: &str| json!({"error": {"code": code, "status": word}});
        let cases = [
            (401, anthropic("authentication_error"), K::Auth),
            (403, anthropic("permission_error"), K::Auth),
            (402, anthropic("billing_error"), K::Billing),
            (404, anthropic("not_found_error"), K::NotFound),
            (413, anthropic("request_too_large"), K::ContextLength),
            (429, anthropic("rate_limit_error"), K::RateLimit),
            (500, anthropic("api_error"), K::Overloaded),
            (504, anthropic("timeout_error"), K::Timeout),
            (529, anthropic("overloaded_error"), K::Overloaded),
            (400, anthropic("invalid_request_error"), K::InvalidRequest),
            (401, openai("invalid_request_error", "invalid_api_key"), K::Auth),
            (429, openai("tokens", "rate_limit_exceeded"), K::RateLimit),
            (429, openai("insufficient_quota", "insufficient_quota"), K::Billing),
            (400, openai("invalid_request_error", "context_length_exceeded"), K::ContextLength),
            (400, openai("exceed_context_size_error", ""), K::ContextLength),
            (404, openai("invalid_request_error", "model_not_found"), K::NotFound),
            (429, gemini(429, "RESOURCE_EXHAUSTED"), K::RateLimit),
            (503, gemini(503, "UNAVAILABLE"), K::Overloaded),
            (400, gemini(400, "INVALID_ARGUMENT"), K::InvalidRequest),
            (403, gemini(403, "PERMISSION_DENIED"), K::Auth),
            (400, json!({"error": "model is required"}), K::InvalidRequest),
            (418, json!({"detail": "tea"}), K::InvalidRequest),
            (200, json!({"error": {"message": "?"}}), K::Protocol),
            (200, json!({"error": {"code": 502, "message": "?"}}), K::Overloaded),
        ];
        for (status, value, expected) in cases {
            assert_eq!(kind(status, value.clone()), expected, "{status} {value}");
        }
    }

    #[test]
    fn errors_are_classified_by_their_text() {
        use ErrorKind as K;
        let invalid =
            |message: &str| json!({"error": {"type": "invalid_request_error", "message": message}});
        assert_eq!(
            kind(400, invalid("prompt is too long: 9 tokens > 8 maximum")),
            K::ContextLength
        );
        assert_eq!(kind(400, invalid("Your credit balance is too low")), K::Billing);
        let spend = json!({"error": {"type": "rate_limit_error", "message": "m",
            "details": {"error_code": "enforced_spend_limit_reached"}}});
        assert_eq!(kind(429, spend), K::Billing);
        let key = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
            "details": [{"reason": "API_KEY_INVALID"}]}});
        assert_eq!(kind(400, key), K::Auth);
        let signature = json!({"error": {"type": "rate_limit_error",
            "message": "invalid signature in thinking block"}});
        assert_eq!(kind(429, signature), K::InvalidRequest);
    }

    #[test]
    fn an_html_page_is_named_and_plain_text_stays() {
        let head = Head { status: Some(502), ..Head::default() };
        let page = from_body(&head, b"<html><body>Bad gateway</body></html>");
        assert_eq!(page.kind, ErrorKind::Overloaded);
        assert!(!page.message.contains("Bad gateway"));
        assert_eq!(from_body(&head, b"no upstream").message, "no upstream");
        assert_eq!(from_body(&Head::default(), b"").kind, ErrorKind::Protocol);
    }
}
