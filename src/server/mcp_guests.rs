//! MCP messages of guests: a call becomes a call of the turn that the guest answers in, and is answered with its result.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::SharedServer;
use super::mcp_streams::json;
use crate::llm::{BlockKind, ToolResult};
use crate::mcp::call::Answered;
use crate::mcp::settings::{Offered, Settings};
use crate::mcp::{self, Call, Dispatched, Headers};
use crate::tools::Registry;

/// Handles a message of the guest whose session has this token.
pub(super) async fn respond(
    shared: &SharedServer,
    secret: &str,
    text: &str,
    headers: Option<&Headers>,
    registry: &Registry,
) -> Response {
    let guests = shared.guests.get();
    let Some((guests, tools)) = guests.and_then(|it| Some((it, it.tools(secret)?))) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let quotes = |name: &String| registry.get(name).is_some_and(|tool| tool.quotes);
    let conversations = tools.iter().any(quotes);
    let tools = Offered::Named(tools);
    let settings = Settings { tools, conversations, ask_in_client: false, tools_alone: true };
    let call = match mcp::dispatch(text, headers, registry, &settings) {
        Dispatched::Nothing | Dispatched::Cancel(_) => return StatusCode::ACCEPTED.into_response(),
        Dispatched::Response(response) => return json((response.status, response.text)),
        Dispatched::Call(call) => call,
        Dispatched::Listen(_) => return StatusCode::FORBIDDEN.into_response(),
        #[cfg(feature = "conformance")]
        Dispatched::Fixture(_) => return StatusCode::FORBIDDEN.into_response(),
    };
    let made = guests.call(secret, &call.tool, call.arguments.clone());
    let result = match made {
        Ok(result) => result.await.unwrap_or(Err("the turn is over")),
        Err(why) => Err(why),
    };
    json(match result {
        Ok(result) => answered(&call, &result),
        Err(why) => call.failed(why, None),
    })
}

fn answered(call: &Call, result: &ToolResult) -> Answered {
    let mut texts: Vec<&str> = Vec::new();
    let mut images = Vec::new();
    for block in &result.content {
        match &block.kind {
            BlockKind::Text { text } => texts.push(text),
            BlockKind::Image { mime, base64 } => images.push((mime.as_str(), base64.as_str())),
            _ => {}
        }
    }
    call.guest_answer(&texts.join("\n"), &images, result.is_error)
}
