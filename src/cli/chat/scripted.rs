//! A chat with a program: one message, and the events until its answer, one JSON value per line.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::super::client::ClientError;
use super::interrupts::Interrupts;
use super::link::{ChatEvent, Link};
use super::names::Names;
use super::{prompts, safe};
use crate::cli::failure;
use crate::cli::{Failure, Output, Result};
use crate::protocol::session::{PromptContent, SessionUpdate, StopReason};

/// Sends `message` and prints each event of its conversation as `{"event", "params"}`, named as in
/// the protocol; the last line is the event `answer`.
pub async fn run(
    mut link: Link<'_>,
    conversation: Option<&str>,
    message: Vec<PromptContent>,
    output: &Output,
) -> Result<ExitCode> {
    let message = prompts::expanded(&Names::default(), &mut link, message).await?;
    let name = link.send_prompt(message, conversation).await?;
    let mut shown: Option<String> = None;
    let mut stop = Interrupts::new()?;
    let answer = loop {
        let received = tokio::select! {
            received = link.next() => received,
            () = stop.next() => {
                // Before the turn has begun, only this program can be stopped.
                let Some(conversation) = &shown else {
                    let hint = "the daemon may have received the message";
                    return Err(Failure::other("cancelled", "stopped waiting for the answer", hint));
                };
                let _ = link.cancel(conversation).await;
                continue;
            }
        };
        let Ok((received, raw)) = received else {
            link.reconnect().await?;
            continue;
        };
        let of = match &received {
            ChatEvent::Update(update) => {
                // The answer says to which conversation the message went.
                if let SessionUpdate::UserMessageChunk { meta: Some(meta), .. } = &update.update
                    && meta.vault.client_message_id.as_ref() == Some(&name)
                {
                    shown = Some(update.session_id.clone());
                }
                &update.session_id
            }
            ChatEvent::Message(message) => &message.session_id,
            ChatEvent::State(state) => &state.session_id,
            ChatEvent::Conversation(changed) => &changed.session_id,
            ChatEvent::Answered(_) => {
                if let ChatEvent::Answered(answer) = received {
                    break answer;
                }
                continue;
            }
            _ => continue,
        };
        if shown.as_ref() == Some(of) {
            line(&raw["method"], &raw["params"], output)?;
        }
    };
    link.close().await;
    let answer = answer.map_err(|error| Failure::from(ClientError::Answer(error)))?;
    if answer.meta.vault.no_model {
        return Err(Failure::no_model(safe::line(&answer.meta.vault.answer)));
    }
    let params = json!({
        "sessionId": answer.meta.vault.session_id,
        "turn": answer.meta.vault.turn,
        "stopReason": answer.stop_reason,
        "answer": answer.meta.vault.answer,
        "waiting": answer.meta.vault.waiting,
    });
    line(&Value::from("answer"), &params, output)?;
    match answer.stop_reason {
        StopReason::Cancelled => Ok(ExitCode::from(failure::OTHER)),
        StopReason::Refusal => Ok(ExitCode::from(failure::DECLINED)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn line(event: &Value, params: &Value, output: &Output) -> Result<()> {
    output.text(&json!({ "event": event, "params": params }).to_string())
}
