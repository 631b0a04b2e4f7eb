//! The answers of a model server, in each vendor's format.

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::models::Answer;

/// A piece of an answer.
pub enum Piece<'a> {
    Text(&'a str),
    Call(&'a str, &'a str, Value),
}

/// A whole answer.
pub fn answer(wire: Wire, pieces: &[Piece]) -> Answer {
    Answer::stream(body(wire, pieces).into_bytes())
}

/// One text.
pub fn says(wire: Wire, text: &str) -> Answer {
    answer(wire, &[Piece::Text(text)])
}

/// One call.
pub fn calls(wire: Wire, id: &str, tool: &str, arguments: Value) -> Answer {
    answer(wire, &[Piece::Call(id, tool, arguments)])
}

pub fn body(wire: Wire, pieces: &[Piece]) -> String {
    let has_calls = pieces.iter().any(|piece| matches!(piece, Piece::Call(..)));
    match wire {
        Wire::Chat => chat(pieces, has_calls),
        Wire::Anthropic => anthropic(pieces, has_calls),
        Wire::Responses => responses(pieces),
        Wire::Gemini => gemini(pieces),
    }
}

fn chat(pieces: &[Piece], has_calls: bool) -> String {
    let mut index = 0;
    let mut text = String::new();
    let mut line = |value: Value| text.push_str(&format!("data: {value}\n\n"));
    for piece in pieces {
        let delta = match piece {
            Piece::Text(text) => json!({"content": text}),
            Piece::Call(id, tool, arguments) => {
                index += 1;
                json!({"tool_calls": [{"index": index - 1, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": arguments.to_string()}}]})
            }
        };
        line(json!({"choices": [{"index": 0, "delta": delta}]}));
    }
    let reason = if has_calls { "tool_calls" } else { "stop" };
    line(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    line(json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}));
    text + "data: [DONE]\n\n"
}

fn anthropic(pieces: &[Piece], has_calls: bool) -> String {
    let mut text = String::new();
    let mut event = |value: Value| {
        text.push_str(&format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap()));
    };
    event(json!({"type": "message_start", "message": {"id": "msg", "type": "message",
        "role": "assistant", "content": [], "usage": {"input_tokens": 100, "output_tokens": 1}}}));
    for (index, piece) in pieces.iter().enumerate() {
        let (block, delta) = match piece {
            Piece::Text(text) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
            }
            Piece::Call(id, tool, arguments) => (
                json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            ),
        };
        event(json!({"type": "content_block_start", "index": index, "content_block": block}));
        event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        event(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = if has_calls { "tool_use" } else { "end_turn" };
    event(json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 10}}));
    event(json!({"type": "message_stop"}));
    text
}

fn responses(pieces: &[Piece]) -> String {
    let mut text = String::new();
    let mut event = |value: Value| {
        text.push_str(&format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap()));
    };
    event(json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}));
    let mut items = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let item = match piece {
            Piece::Text(text) => {
                event(json!({"type": "response.output_item.added", "output_index": index,
                    "item": {"id": "msg", "type": "message", "content": []}}));
                event(json!({"type": "response.output_text.delta", "output_index": index,
                    "delta": text}));
                json!({"id": "msg", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]})
            }
            Piece::Call(id, tool, arguments) => {
                event(json!({"type": "response.output_item.added", "output_index": index,
                    "item": {"id": "fc", "type": "function_call", "call_id": id, "name": tool,
                        "arguments": ""}}));
                json!({"id": "fc", "type": "function_call", "status": "completed", "call_id": id,
                    "name": tool, "arguments": arguments.to_string()})
            }
        };
        event(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        items.push(item);
    }
    event(json!({"type": "response.completed", "response": {"id": "r", "status": "completed",
        "output": items, "usage": {"input_tokens": 100, "output_tokens": 10}}}));
    text
}

fn gemini(pieces: &[Piece]) -> String {
    let parts: Vec<Value> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => json!({"text": text}),
            Piece::Call(_, tool, arguments) => {
                json!({"functionCall": {"name": tool, "args": arguments}})
            }
        })
        .collect();
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": parts},
        "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10}});
    format!("data: {chunk}\r\n\r\n")
}
