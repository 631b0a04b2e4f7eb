//! `steward models`: the configured models and those that vendors offer.

use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;

use super::output::Paint;
use super::{Output, Result, Session};
use crate::config::keyring::Keyring;
use crate::config::vendor_keys;
use crate::llm::endpoint::Connections;
use crate::llm::settings::{KeyNeed, split_reference};
use crate::llm::{Endpoint, Facts, LlmError, Settings, Wire, facts, setup};

/// The most models shown per vendor.
const SHOWN: usize = 12;
/// The time limit for finding an unconfigured Ollama.
const LISTING_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    chain: Vec<Link>,
    providers: Vec<Provider>,
    /// Models of a local Ollama that is not configured.
    found: Option<OfferedModels>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    name: String,
    window: Option<u64>,
    max_output: Option<u32>,
    images: Option<bool>,
    price: Option<Dollars>,
}

/// US dollars per million tokens.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Dollars {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Link {
    fn of(name: &str, facts: Facts) -> Self {
        let price = facts.price.map(|price| Dollars {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
        });
        let Facts { window, max_output, vision, .. } = facts;
        Self { name: name.to_owned(), window, max_output, images: vision, price }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    name: String,
    wire: Option<Wire>,
    base_url: Option<String>,
    key_needed: Option<bool>,
    key: Option<vendor_keys::Source>,
    offered: Option<Vec<String>>,
    error: Option<String>,
    hint: Option<String>,
}

/// The models of a program on this machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OfferedModels {
    pub(super) provider: &'static str,
    pub(super) base_url: String,
    pub(super) offered: Vec<String>,
}

/// Prints the configured models and the models that configured providers and a local Ollama offer.
/// Contacts no one else.
///
/// # Errors
/// stdout cannot be written. An error of a provider is part of the answer.
pub fn run(session: &Session) -> Result<()> {
    let settings = &session.settings.config.models;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(report(session, settings));
    session.output.answer(&report, text(&report, &session.output))
}

async fn report(session: &Session, settings: &Settings) -> Report {
    let link = |reference: &String| {
        let (name, model) = split_reference(reference)?;
        let known = setup::provider(settings, name).ok();
        let facts = known.map(|known| Facts::of(known.wire, model, &settings.facts));
        Some(Link::of(reference, facts.unwrap_or_default()))
    };
    let names = setup::configured(settings);
    let connections = Connections::new(&settings.limits());
    let mut asked = JoinSet::new();
    let mut providers = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let mut provider = Provider {
            name: name.clone(),
            wire: None,
            base_url: None,
            key_needed: None,
            key: None,
            offered: None,
            error: None,
            hint: None,
        };
        match look_up(session, settings, name) {
            Ok((known, found)) => {
                let (key, source) = found.unzip();
                provider.wire = Some(known.wire);
                provider.base_url = Some(known.address.as_str().to_owned());
                provider.key_needed = Some(known.need == KeyNeed::Required);
                provider.key = source;
                let service = known.service(key);
                let limits = settings.limits();
                let endpoint =
                    Endpoint::new(&service, "models", Facts::default(), limits, &connections);
                asked.spawn(async move { (index, endpoint.offered().await) });
            }
            Err((error, hint)) => {
                provider.error = Some(error);
                provider.hint = Some(hint);
            }
        }
        providers.push(provider);
    }
    while let Some(answer) = asked.join_next().await {
        let Ok((index, offered)) = answer else { continue };
        let provider = &mut providers[index];
        match offered {
            Ok(offered) => provider.offered = Some(offered),
            Err(error) => {
                provider.error = Some(error.to_string());
                provider.hint = error.hint();
            }
        }
    }
    let is_configured = names.iter().any(|name| name == "ollama");
    let found = if is_configured { None } else { ollama(settings, &connections).await };
    Report { chain: settings.chain.iter().filter_map(link).collect(), providers, found }
}

type LookedUp = (setup::ProviderConfig, Option<(crate::llm::Key, vendor_keys::Source)>);

fn look_up(
    session: &Session,
    settings: &Settings,
    name: &str,
) -> Result<LookedUp, (String, String)> {
    let known = setup::provider(settings, name).map_err(|e| (e.to_string(), e.hint()))?;
    let keyring = settings.keyring.then(|| keyring(session));
    let (environment, folders) = (&session.environment, &session.folders);
    let found = vendor_keys::find_anywhere(&known, environment, folders, keyring.as_ref())
        .map_err(|e| (e.to_string(), e.hint()))?;
    Ok((known, found))
}

/// The keyring of this user; its program is never one inside the vault.
pub(super) fn keyring(session: &Session) -> Keyring {
    let vault = session.choose().ok().map(|choice| choice.root);
    Keyring::new(&session.environment, vault.as_deref())
}

/// Looks for Ollama at its default address, or at the one in its variable.
pub(super) async fn ollama(
    settings: &Settings,
    connections: &Connections,
) -> Option<OfferedModels> {
    let known = setup::local_ollama(settings)?;
    let service = known.service(None);
    let limits = settings.limits();
    let endpoint = Endpoint::new(&service, "models", Facts::default(), limits, connections);
    let offered: Result<Vec<String>, LlmError> =
        tokio::time::timeout(LISTING_TIMEOUT, endpoint.offered()).await.ok()?;
    Some(OfferedModels {
        provider: "ollama",
        base_url: known.address.as_str().to_owned(),
        offered: offered.ok()?,
    })
}

fn text(report: &Report, output: &Output) -> String {
    let mut lines = Vec::new();
    if report.chain.is_empty() {
        lines.push("no model is configured".to_owned());
    } else {
        lines.push(output.paint(Paint::Bold, "Models, tried in this order:"));
        for link in &report.chain {
            lines.push(format!("  {}{}", link.name, link_line(link)));
        }
    }
    for provider in &report.providers {
        let address = provider.base_url.as_deref().unwrap_or("no address");
        let key = match (&provider.key, provider.key_needed) {
            (Some(source), _) => format!("key from {}", place(source)),
            (None, Some(true)) => output.paint(Paint::Yellow, "no key"),
            (None, _) => "needs no key".to_owned(),
        };
        let name = output.paint(Paint::Bold, &provider.name);
        lines.push(format!("{name}  {address}  {key}"));
        if let Some(error) = &provider.error {
            lines.push(format!("  {} {error}", output.paint(Paint::Red, "error:")));
        }
        lines.extend(provider.hint.as_ref().map(|hint| format!("  hint: {hint}")));
        lines.extend(provider.offered.as_deref().map(offered_models));
    }
    if let Some(found) = &report.found {
        lines.push(format!("found Ollama at {}", found.base_url));
        lines.push(offered_models(&found.offered));
        let model = found.offered.first().map_or("MODEL", String::as_str);
        if report.chain.is_empty() {
            lines.push(format!("to use it: `steward config set models.chain ollama/{model}`"));
        }
    } else if report.chain.is_empty() {
        let model = facts::known(Wire::Anthropic).into_iter().rfind(|name| name.contains("sonnet"));
        lines.push(format!(
            "to add one: `steward key set anthropic`, then `steward config set models.chain \
             anthropic/{}`; or start Ollama for a model on this machine",
            model.unwrap_or("MODEL")
        ));
    }
    lines.join("\n")
}

fn offered_models(models: &[String]) -> String {
    let mut shown: Vec<&str> = models.iter().take(SHOWN).map(String::as_str).collect();
    let more = format!("and {} more (--json lists them)", models.len().saturating_sub(SHOWN));
    if models.len() > SHOWN {
        shown.push(&more);
    }
    if shown.is_empty() {
        return "  offers no models".to_owned();
    }
    format!("  offers {}", shown.join(", "))
}

fn link_line(link: &Link) -> String {
    let window = link.window.map(|window| format!("reads {window} tokens"));
    let output = link.max_output.map(|most| format!("writes {most} tokens"));
    let vision = link.images.unwrap_or(false).then(|| "sees images".to_owned());
    let parts: Vec<String> = [window, output, vision].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) }
}

pub(super) fn place(source: &vendor_keys::Source) -> String {
    match source {
        vendor_keys::Source::Environment { variable } => format!("${variable}"),
        vendor_keys::Source::Credential { path } | vendor_keys::Source::File { path } => {
            path.display().to_string()
        }
        vendor_keys::Source::Keyring => "the keyring".to_owned(),
    }
}
