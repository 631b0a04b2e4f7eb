//! Imports of every tool's file.

pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};

pub(super) use super::context::Context;
pub(super) use super::error::ToolError;
pub(super) use super::tool::{Answer, Tier, Tool, ToolKind, Touch, argument, touches};
