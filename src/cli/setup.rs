//! `steward setup`: finds a model on this machine or through a key, and tests it before anything is
//! written.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use serde_json::json;

use super::models::{keyring, ollama};
use super::{Failure, Result, Session, client, key};
use crate::config::change;
use crate::config::vendor_keys::{self, KeyError};
use crate::llm::endpoint::Connections;
use crate::llm::settings::split_reference;
use crate::llm::{
    Endpoint, Facts, Item, Message, Provider as _, Settings, TurnEvent, TurnRequest, facts, setup,
};

/// The local model servers besides Ollama.
const LOCAL: [&str; 2] = ["lmstudio", "llamacpp"];

/// The provider whose key is asked for if no model is found.
const VENDORS: [&str; 3] = ["anthropic", "openai", "gemini"];

/// The time limit for a local server to list its models.
const LISTING_TIMEOUT: Duration = Duration::from_secs(1);

/// The time limit for a test answer; a local model may have to be loaded first.
const TRY: Duration = Duration::from_secs(180);

/// Models offered for a choice.
const MAX_CHOICES: usize = 12;

#[derive(Debug, Args)]
pub struct SetupArguments {
    /// The model, as PROVIDER/MODEL; nothing is looked for and nothing asked
    #[arg(long)]
    pub model: Option<String>,
}

/// Finds a model, tests it and configures it.
///
/// # Errors
/// No model is found or chosen, it does not answer, or the settings cannot be written. Nothing has
/// changed then, except that an entered key is stored.
pub fn run(session: &Session, arguments: &SetupArguments) -> Result<()> {
    let settings = &session.settings.config.models;
    let model = match &arguments.model {
        Some(model) => model.clone(),
        None => choose(session, settings)?,
    };
    session.output.notice(&format!("{model} is tried"));
    let answer = client::runtime()?.block_on(tried(session, settings, &model))?;
    let others = settings.chain.iter().filter(|other| **other != model).cloned();
    let chain: Vec<String> = std::iter::once(model.clone()).chain(others).collect();
    change::set(&session.settings.file, "models.chain", &json!(chain))?;
    let excerpt: String = answer.split_whitespace().take(12).collect::<Vec<_>>().join(" ");
    let text =
        format!("{model} answers: {excerpt}\nit is used from now on; `steward chat` talks to it");
    session.output.answer(&json!({ "model": model, "chain": chain, "answer": answer }), text)
}

/// A model found on this machine, or reached with a key.
fn choose(session: &Session, settings: &Settings) -> Result<String> {
    if let Some((provider, address, offered)) =
        client::runtime()?.block_on(find_model_server(settings))
    {
        // The daemon may run without the variable that has this address.
        let stored = Settings { ollama: None, ..settings.clone() };
        let known = setup::provider(&stored, provider).map_err(KeyError::from)?;
        if known.address.as_str() != address {
            let file = session.settings.file.display();
            return Err(Failure::other(
                "elsewhere",
                format!(
                    "{provider} listens at {address}, and the settings say {}",
                    known.address.as_str()
                ),
                format!(
                    "put `[models]`, `chain = []`, `[models.providers.{provider}]` and `base_url = \"{address}\"` \
                     into {file}, a line each, and run this again"
                ),
            ));
        }
        session.output.notice(&format!("{provider} runs on this machine"));
        let models: Vec<&str> = offered.iter().map(String::as_str).take(MAX_CHOICES).collect();
        return Ok(format!("{provider}/{}", pick("Which model?", &models)?));
    }
    session
        .output
        .notice("no model server was found on this machine; a provider's model needs an API key");
    let vendor = pick("Which provider?", &VENDORS)?;
    let known = setup::provider(settings, vendor).map_err(KeyError::from)?;
    let has_key = vendor_keys::find(&known, &session.environment, &session.folders)?.is_some();
    if !has_key {
        key::set(session, vendor, false, false)?;
    }
    let key = vendor_keys::find(&known, &session.environment, &session.folders)?;
    let service = known.service(key.map(|(key, _)| key));
    let offered = client::runtime()?.block_on(offers(settings, &service));
    // The newest known models come first.
    let mut models: Vec<String> =
        facts::known(known.wire).into_iter().rev().map(str::to_owned).collect();
    if let Some(offered) = offered {
        models.retain(|model| offered.contains(model));
        let more = offered.iter().filter(|model| !models.contains(model)).cloned();
        let more: Vec<String> = more.collect();
        models.extend(more);
    }
    let models: Vec<&str> = models.iter().map(String::as_str).take(MAX_CHOICES).collect();
    Ok(format!("{vendor}/{}", pick("Which model?", &models)?))
}

/// The model servers on this machine and their addresses.
async fn find_model_server(settings: &Settings) -> Option<(&'static str, String, Vec<String>)> {
    let connections = Connections::new(&settings.limits());
    if let Some(found) = ollama(settings, &connections).await
        && !found.offered.is_empty()
    {
        return Some((found.provider, found.base_url, found.offered));
    }
    for name in LOCAL {
        let Ok(known) = setup::provider(settings, name) else { continue };
        let asked =
            tokio::time::timeout(LISTING_TIMEOUT, offers(settings, &known.service(None))).await;
        if let Ok(Some(offered)) = asked
            && !offered.is_empty()
        {
            return Some((name, known.address.as_str().to_owned(), offered));
        }
    }
    None
}

async fn offers(
    settings: &Settings,
    service: &crate::llm::endpoint::Service,
) -> Option<Vec<String>> {
    let limits = settings.limits();
    let connections = Connections::new(&limits);
    let endpoint = Endpoint::new(service, "models", Facts::default(), limits, &connections);
    endpoint.offered().await.ok()
}

/// Requests a test answer from a model; returns it.
async fn tried(session: &Session, settings: &Settings, model: &str) -> Result<String> {
    if split_reference(model).is_none() {
        let message = format!("`{}` names no model", model.escape_debug());
        return Err(Failure::usage(message, "name it with its provider: `ollama/qwen3:8b`"));
    }
    let alone = Settings { chain: vec![model.to_owned()], retries: 0, ..settings.clone() };
    let keyring = alone.keyring.then(|| keyring(session));
    let (environment, folders) = (&session.environment, &session.folders);
    let key = |known: &setup::ProviderConfig| -> Result<_, KeyError> {
        let found = vendor_keys::find_anywhere(known, environment, folders, keyring.as_ref())?;
        Ok(found.map(|(key, _)| key))
    };
    let chain = setup::chain(&alone, key)?;
    let chain =
        chain.ok_or_else(|| Failure::usage("no model is named", "use `--model PROVIDER/MODEL`"))?;
    let request = TurnRequest::new(vec![Message::user("Say in three words that you are ready.")]);
    let mut stream = chain.stream(std::sync::Arc::new(request));
    let mut text = String::new();
    let answered = async {
        while let Some(item) = stream.next().await {
            match item? {
                Item::Event(TurnEvent::Text { delta, .. }) => text.push_str(&delta),
                Item::Event(_) => {}
                Item::Done(_) => break,
            }
        }
        Ok::<(), crate::llm::LlmError>(())
    };
    let failed = |message: String, hint: Option<String>| {
        let hint = hint.unwrap_or_else(|| "nothing was changed; choose another".to_owned());
        Failure::other("model_failed", message, hint)
    };
    match tokio::time::timeout(TRY, answered).await {
        Ok(Ok(())) => Ok(text.trim().to_owned()),
        Ok(Err(error)) => Err(failed(format!("{model}: {error}"), error.hint())),
        Err(_) => Err(failed(format!("{model} did not answer within {} s", TRY.as_secs()), None)),
    }
}

/// Lets a person choose by number; an empty line takes the first.
fn pick<'a>(question: &str, from: &[&'a str]) -> Result<&'a str> {
    if let [only] = from {
        return Ok(only);
    }
    let mut terminal = io::stderr().lock();
    for (at, one) in from.iter().enumerate() {
        writeln!(terminal, "  {}  {one}", at + 1)?;
    }
    write!(terminal, "{question} [1] ")?;
    terminal.flush()?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 && !io::stdin().is_terminal() {
        let hint = "`steward setup --model PROVIDER/MODEL` asks no questions";
        return Err(Failure::usage("there is no terminal to choose a model on", hint));
    }
    let chosen = match line.trim() {
        "" => from.first(),
        number => match number.parse::<usize>() {
            Ok(number) => number.checked_sub(1).and_then(|at| from.get(at)),
            Err(_) => from.iter().find(|one| **one == number),
        },
    };
    chosen.copied().ok_or_else(|| {
        let message = format!("`{}` is not one of them", line.trim().escape_debug());
        Failure::usage(message, format!("type a number from 1 to {}", from.len()))
    })
}
