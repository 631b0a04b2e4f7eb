//! What one answer of a model took, as it is counted.

use std::collections::BTreeMap;

use crate::llm::{Facts, Turn};
use crate::store::usage::Used;

/// The model that answered and what that took; `facts` are what the settings say of models. The
/// cost is an estimate by list prices, and none where no price is known or the vendor told no tokens.
pub fn used(turn: &Turn, facts: &BTreeMap<String, Facts>) -> (String, Used) {
    let price = Facts::of(turn.origin.wire, &turn.origin.model, facts).price;
    let cost = price.zip(turn.usage).map(|(price, usage)| price.of(&usage) * 1_000_000.0);
    // Out of bounds a cast stays at the nearest bound, and what is no number is nothing.
    let cost = cost.map(|millionths| millionths.round() as u64);
    let usage = turn.usage.unwrap_or_default();
    let used = Used {
        requests: 1,
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
        cost: cost.unwrap_or(0),
        unpriced: u64::from(cost.is_none()),
    };
    (turn.origin.model.clone(), used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Origin, Stop, Usage, Wire};

    #[test]
    fn the_cost_is_estimated_where_a_price_is_known() {
        let turn = |model: &str, usage| Turn {
            content: Vec::new(),
            stop: Stop::EndTurn,
            usage,
            origin: Origin { wire: Wire::Chat, endpoint: "https://x".into(), model: model.into() },
            request_id: None,
        };
        let priced: Facts =
            serde_json::from_str("{\"price\": {\"input\": 2.0, \"output\": 8.0}}").unwrap();
        let facts = BTreeMap::from([("m".to_owned(), priced)]);
        let usage = Usage { input: 1000, output: 500, ..Usage::default() };
        let (model, counted) = used(&turn("m", Some(usage)), &facts);
        assert_eq!((&*model, counted.cost, counted.unpriced), ("m", 6_000, 0));
        assert_eq!((counted.requests, counted.input, counted.output), (1, 1000, 500));
        assert_eq!(used(&turn("m", None), &facts).1.unpriced, 1);
        assert_eq!(used(&turn("other", Some(usage)), &facts).1.unpriced, 1);
    }
}
