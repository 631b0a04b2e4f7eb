//! Finding things by what is in them. Derived from the vault and safe to lose.
//!
//! May import `note` and `vault`. Today that is [`search`], which reads the files each time;
//! whatever is kept beside them later never changes what a search answers, only how soon.

pub mod search;
