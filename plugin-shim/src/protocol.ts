// Written by the daemon's own tests from src/protocol; do not edit.
// After a change there: UPDATE_GENERATED=1 cargo test --test protocol_types

/** The version of the protocol that these types describe. */
export const PROTOCOL_VERSION = 1;

/** A JSON Schema, as the tools carry them. */
export type JsonSchema = Record<string, unknown>;

/** What the daemon can do. */
export type AgentCapabilities = {
  /** Whether `session/load` is there. */
  loadSession: boolean,
  /** Extensions. */
  _meta: AgentMeta,
};

/** The daemon's extensions. */
export type AgentMeta = {
  /** Ours. */
  vault: AgentVaultMeta,
};

/** What the daemon adds to ACP's handshake. */
export type AgentVaultMeta = {
  /** The name of the vault. */
  name: string,
  /** This run of the daemon: events are numbered anew with each. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number,
  /** What the server takes. */
  limits: Limits,
  /** HMAC-SHA-256 of the client's nonce, the 64 characters of the token as key, in hex. */
  proof?: string,
};

/** What goes with a call. */
export type CallMeta = {
  /** Ours. */
  vault?: CallVaultMeta,
};

/** What only the program that calls can say, never the model whose words the arguments are. */
export type CallVaultMeta = {
  /** A person has seen that the call deletes or moves more than the limits allow, and agreed. */
  confirmed?: boolean,
};

/**
 * Which request to give up. One that is unknown or done already is ignored.
 *
 * A request that only reads is answered at once with kind `cancelled`. A change that has begun is
 * finished, and its true answer sent: the client must know what became of the file.
 */
export type CancelParams = {
  /** The request's id. */
  requestId: RequestId,
};

/** One change of a change set. */
export type ChangeInfo = {
  /** Its number within the change set: `17.2`. `undo` takes it too. */
  id: string,
  /** `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`. */
  action: string,
  /** The path it has, or had, afterwards. */
  path: string,
  /** The path before, of something moved. */
  from?: string,
};

/** Changes that went together, as `list_changes` shows them too. */
export type ChangeSetInfo = {
  /** Its number, which `undo` takes. */
  id: number,
  /** What it did, for people. */
  title: string,
  /** When it was begun, local time. */
  time: string,
  /** The program that asked for it. */
  caller: string,
  /** The conversation it was asked for in. */
  conversation?: string,
  /** What it took back: a change set (`17`) or one change (`17.2`). */
  undoes?: string,
  /** The changes, at most a hundred. */
  changes: Array<ChangeInfo>,
  /** How many changes there are in all. */
  total: number,
};

/** What happened. */
export type ChangedKind = "created" | "modified" | "removed" | "renamed";

/** One change in the vault. */
export type ChangedParams = {
  /** What happened. */
  kind: ChangedKind,
  /** What it happened to; the new path of something renamed. */
  path: string,
  /** The old path of something renamed. */
  from?: string,
  /** What lies, or lay, there. */
  entry: EntryKind,
  /** The event's number. */
  _meta: EventMeta,
};

/** A change set that was applied: what a client can show and undo. */
export type ChangesParams = {
  /** What was applied. */
  changeSet: ChangeSetInfo,
  /** The event's number. */
  _meta: EventMeta,
};

/** What the client can do. */
export type ClientCapabilities = {
  /** Extensions. */
  _meta?: ClientMeta,
};

/** The client's extensions. */
export type ClientMeta = {
  /** Ours. */
  vault?: ClientVaultMeta,
};

/** What a client of this protocol adds to ACP's handshake. */
export type ClientVaultMeta = {
  /**
   * A random text that the server must sign with the token, at most 128 bytes: proves that the
   * program on this port is the daemon and no one who took the port over.
   */
  nonce?: string,
};

/** Why the settings file does not hold. */
export type ConfigProblem = {
  /** The file. */
  file: string,
  /** The line, from 1, where the problem has a place. */
  line?: number,
  /** The column in characters, from 1. */
  column?: number,
  /** What is wrong. */
  message: string,
  /** What to do. */
  hint?: string,
};

/** The settings file is wrong; the old settings hold. */
export type ConfigRejectedParams = {
  /** The event's number. */
  _meta: EventMeta,
  /** The file. */
  file: string,
  /** The line, from 1, where the problem has a place. */
  line?: number,
  /** The column in characters, from 1. */
  column?: number,
  /** What is wrong. */
  message: string,
  /** What to do. */
  hint?: string,
};

/** New settings hold. */
export type ConfigReloadedParams = {
  /** Settings that have another value now. */
  changed: Array<string>,
  /** Settings that the file gives another value from the next start on. */
  needsRestart: Array<string>,
  /** The event's number. */
  _meta: EventMeta,
};

/** What holds the daemon in. */
export type Confinement = {
  /** How far. */
  state: ConfinementState,
  /** What it lacks, or why there is none; a line each. */
  lacks: Array<string>,
};

/** How far the daemon is held in. */
export type ConfinementState = "full" | "partial" | "off" | "not_possible";

/** One piece of an answer. */
export type Content = { "type": "text",
/** The text. */
text: string,
};

/** What lies at a path. */
export type EntryKind = "file" | "folder" | "link" | "other";

/** The `data` of an error. */
export type ErrorData = {
  /** The stable word. */
  kind: Kind,
  /** Whether the same request may succeed later. */
  retryable: boolean,
  /** What to do next, for a person. */
  hint?: string,
  /** Facts that belong to the kind. */
  detail?: JsonValue,
  /**
   * How long to wait before the next try, in milliseconds; with `overloaded` and
   * `rate_limited`.
   */
  retryAfterMs?: number,
};

/** A JSON-RPC error. */
export type ErrorObject = {
  /** The JSON-RPC number. */
  code: number,
  /** What went wrong, in one line for people. */
  message: string,
  /** What programs read. */
  data: ErrorData,
};

/** What every event carries. */
export type EventMeta = {
  /** Ours. */
  vault: EventVaultMeta,
};

/** The event's place among all events. */
export type EventVaultMeta = {
  /** Its number, counted from 1 in each run of the daemon, without gaps. */
  seq: number,
};

/** A program, as ACP and MCP describe one. */
export type Implementation = {
  /** Its name for programs. */
  name: string,
  /** Its name for people. */
  title?: string,
  /** Its version. */
  version: string,
};

/**
 * What the client says of itself. Members that ACP knows and this server does not need are
 * accepted and ignored.
 */
export type InitializeParams = {
  /**
   * The protocol version the client wants: 1. The server answers with the version it speaks;
   * a client that cannot speak that one closes.
   */
  protocolVersion: number,
  /** Name and version of the client, for the log. */
  clientInfo?: Implementation,
  /** What the client can do. */
  clientCapabilities?: ClientCapabilities,
};

/** What the server says of itself. */
export type InitializeResult = {
  /** The version spoken from here on. */
  protocolVersion: number,
  /** The daemon. */
  agentInfo: Implementation,
  /** What it can do. */
  agentCapabilities: AgentCapabilities,
  /** Always empty: who may come in is decided before the upgrade. */
  authMethods: Array<string>,
};

/** Whether to do it. */
export type JournalGcParams = {
  /** Only say what would be freed. */
  dryRun?: boolean,
};

/** What was, or would be, freed. */
export type JournalGcResult = {
  /** Changes whose texts are older than what is kept. */
  changes: number,
  /** Texts. */
  texts: number,
  /** Bytes they took on disk. */
  bytes: number,
  /** Whether it was done. */
  freed: boolean,
};

/** Nothing to say. */
export type JournalVerifyParams = Record<symbol, never>;

/** What was found. */
export type JournalVerifyResult = {
  /** Texts that were read and are as they were kept. */
  sound: number,
  /** Bytes they take on disk. */
  bytes: number,
  /** Texts whose bytes are not what was kept: their hashes, and what is wrong. */
  damaged: Array<string>,
  /** Texts that a change needs and that are not there: their hashes. */
  missing: Array<string>,
  /** Texts that no change needs, left by an interruption; `_vault/journal/gc` frees them. */
  unused: number,
};

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/** What went wrong, as a word that stays the same. */
export type Kind = "parse_error" | "invalid_request" | "batch_not_supported" | "invalid_id" | "missing_id" | "duplicate_id" | "not_initialized" | "already_initialized" | "unknown_method" | "invalid_params" | "unknown_tool" | "overloaded" | "rate_limited" | "cancelled" | "timeout" | "reply_too_large" | "failed" | "invalid_setting" | "not_permitted" | "internal";

/** What the server takes from one connection before it refuses. */
export type Limits = {
  /** The largest message, in bytes. */
  maxMessageBytes: number,
  /** The largest frame, in bytes; a larger message is sent as several frames. */
  maxFrameBytes: number,
  /** Requests that may be unanswered at a time. */
  maxInFlight: number,
  /** Messages a second, in the long run. */
  messagesPerSecond: number,
  /** Messages at once, after a pause. */
  messageBurst: number,
  /** How long one request may take, in seconds. */
  requestSeconds: number,
};

/** Nothing to say. */
export type PingParams = Record<symbol, never>;

/** Where the events stand, so that a client notices a gap after a sleep. */
export type PingResult = {
  /** This run of the daemon. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number,
};

/**
 * What a client calls its request: an integer or a text of at most 256 bytes. Null and
 * fractions are refused, as two languages would not agree on them.
 */
export type RequestId = number | string;

/** One setting. */
export type Setting = {
  /** Its section and its name: `server.port`. */
  key: string,
  /** The value that holds; null where there is none. */
  value: JsonValue,
  /** The value without file, environment and flags. */
  default: JsonValue,
  /** Where the value comes from. */
  source: SettingSource,
  /** The variable or the flag it comes from; the file cannot change it then. */
  from?: string,
  /** From when on a new value holds. */
  takesEffect: TakesEffect,
  /** The value from the next start on, where that is another. */
  afterRestart?: JsonValue,
  /** Whether `_vault/settings/set` may change it. What loosens security is for the file alone. */
  settable: boolean,
  /** What it is for. */
  doc: string,
};

/** Where a value comes from. */
export type SettingSource = "default" | "file" | "environment" | "flag";

/** Nothing to say. */
export type SettingsGetParams = Record<symbol, never>;

/** Every setting as it holds in the daemon. A file that has changed and is right is taken first. */
export type SettingsGetResult = {
  /** The file. */
  file: string,
  /** Whether it is there; it need not be. */
  exists: boolean,
  /** Why the file as it is now does not hold. */
  problem?: ConfigProblem,
  /** The settings, sorted by name. */
  settings: Array<Setting>,
};

/** What to change. */
export type SettingsSetParams = {
  /** Its section and its name: `server.port`. */
  key: string,
  /** Its new value; null takes it out of the file. */
  value: JsonValue,
};

/** What came of it; the file is written and read again. */
export type SettingsSetResult = {
  /** Settings that have another value now. */
  changed: Array<string>,
  /** Settings that the file gives another value from the next start on. */
  needsRestart: Array<string>,
  /** The variable or flag that is stronger than the file and keeps the value as it is. */
  overriddenBy?: string,
};

/** How the settings file stands. */
export type SettingsState = {
  /** The file; it need not exist. */
  file: string,
  /** Why the file as it is now does not hold. */
  problem?: ConfigProblem,
  /** Settings that the file gives another value from the next start on. */
  needsRestart: Array<string>,
};

/** Nothing to say. */
export type StatusParams = Record<symbol, never>;

/** The daemon's state. */
export type StatusResult = {
  /** The daemon's version. */
  version: string,
  /** The daemon's process id. */
  pid: number,
  /** How long it has been running, in seconds. */
  uptimeSeconds: number,
  /** Connections at the moment, this one included. */
  connections: number,
  /** This run of the daemon. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number,
  /** How the settings file stands. */
  settings: SettingsState,
  /** What holds the daemon in, should a fault of its own be turned against its user. */
  confinement: Confinement,
  /** The vault. */
  vault: VaultState,
};

/** What follows the answer to a subscription. */
export type SubscribeMode = "live" | "replay" | "snapshot";

/**
 * From where to hear events. Without members: from now on. With both: from after event `after` of
 * the run `epoch`, as a client does that lost its connection.
 */
export type SubscribeParams = {
  /** The run of the daemon that `after` counts in. */
  epoch?: string,
  /** The last event the client has seen. */
  after?: number,
};

/** What follows this answer. */
export type SubscribeResult = {
  /** What follows. */
  mode: SubscribeMode,
  /** This run of the daemon. */
  epoch: string,
  /** The number of the last event so far; a replay ends with it. */
  seq: number,
};

/** From when on a new value holds. */
export type TakesEffect = "next_call" | "next_connection" | "restart";

/** One tool, as MCP describes it. */
export type Tool = {
  /** The name to call it by. */
  name: string,
  /** Its name for people. */
  title: string,
  /** What a model reads. */
  description: string,
  /** The JSON Schema of its arguments. */
  inputSchema: JsonSchema,
  /** The JSON Schema of `structuredContent`. */
  outputSchema: JsonSchema,
  /** What a client may assume of it. */
  annotations: ToolAnnotations,
};

/** MCP's hints about a tool. Hints: what is allowed is decided by the daemon. */
export type ToolAnnotations = {
  /** Its name for people, once more where MCP looks for it. */
  title: string,
  /** It changes nothing. */
  readOnlyHint: boolean,
  /** It may move or delete what exists, or change much at once. */
  destructiveHint: boolean,
  /** A second call with the same arguments changes nothing more. */
  idempotentHint: boolean,
  /** It reaches beyond the vault: never. */
  openWorldHint: boolean,
};

/** Which tool to run, on what. */
export type ToolsCallParams = {
  /** The tool's name. */
  name: string,
  /** Its arguments, checked against its schema. */
  arguments?: { [key in string]: JsonValue },
  /** What goes with the call and is none of the tool's arguments. */
  _meta?: CallMeta,
};

/** What the tool has to say. A tool that could not do its work answers too, with `isError`. */
export type ToolsCallResult = {
  /** The answer as text, sized for a model's context. */
  content: Array<Content>,
  /** The same facts for programs; of an error `{code, message, hint?, data?}`. */
  structuredContent: unknown,
  /** Whether the tool failed. */
  isError: boolean,
};

/** Nothing to say. The list is short and comes whole. */
export type ToolsListParams = Record<symbol, never>;

/** The tools, sorted by name. */
export type ToolsListResult = {
  /** One entry a tool. */
  tools: Array<Tool>,
};

/** What to remove from the trash for good. */
export type TrashEmptyParams = {
  /** These things, as `list_trash` names them. None: what is older than `olderThanDays`. */
  items?: Array<string>,
  /** Without `items`: what was deleted more than so many days ago. 30 if it is left out. */
  olderThanDays?: number,
  /** Only say what would be removed. */
  dryRun?: boolean,
};

/** What was, or would be, removed. */
export type TrashEmptyResult = {
  /** The things, as `list_trash` names them. */
  items: Array<string>,
  /** Bytes in them. */
  bytes: number,
  /** Whether it was done. */
  removed: boolean,
};

/** What is known of the vault. */
export type VaultState = {
  /** Its name: the name of its folder. */
  name: string,
  /** Where it lies on this machine. */
  path: string,
  /** Markdown files. */
  notes: number,
  /** Files of all kinds, notes included. */
  files: number,
  /** Folders. */
  folders: number,
  /** Symbolic links that lead out of the vault or nowhere; listed, never followed. */
  links: number,
  /** Conflict copies that sync programs left, by their names; `list_files` marks them. */
  conflicts: number,
  /** How long the last scan took, in milliseconds. */
  scannedMs: number,
  /** How changes from outside are noticed. */
  watching: Watching,
  /** What a person should know, one line each. */
  warnings: Array<string>,
};

/** How changes from outside are noticed. */
export type Watching = { "mode": "events" } | { "mode": "polling",
/** How often, in seconds. */
seconds: number,
/** Why the system does not tell. */
reason: string, } | { "mode": "off" };

/** Every request, by its name. */
export interface Methods {
  /** Opens the conversation: versions, capabilities, limits, and the server's proof of itself. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** The tools that can be called, sorted by name. */
  "tools/list": { params: ToolsListParams; result: ToolsListResult };
  /** Runs one tool. */
  "tools/call": { params: ToolsCallParams; result: ToolsCallResult };
  /** What the daemon knows of the vault and of itself. */
  "_vault/status": { params: StatusParams; result: StatusResult };
  /** Every setting: value, default, where it comes from, what it is for. */
  "_vault/settings/get": { params: SettingsGetParams; result: SettingsGetResult };
  /** Changes one setting in the settings file, which keeps its comments. */
  "_vault/settings/set": { params: SettingsSetParams; result: SettingsSetResult };
  /** Starts the events, from now on or from where a lost connection stopped. */
  "_vault/subscribe": { params: SubscribeParams; result: SubscribeResult };
  /** Removes things from the trash for good. */
  "_vault/trash/empty": { params: TrashEmptyParams; result: TrashEmptyResult };
  /** Checks every text the journal keeps against its hash. */
  "_vault/journal/verify": { params: JournalVerifyParams; result: JournalVerifyResult };
  /** Frees what the journal keeps longer than the settings say. */
  "_vault/journal/gc": { params: JournalGcParams; result: JournalGcResult };
  /** Is anybody there: for clients that cannot send a WebSocket ping. */
  "_vault/ping": { params: PingParams; result: PingResult };
}

/** What a client may send without an answer. */
export interface ClientNotifications {
  /** Asks that a request in flight be given up. */
  "$/cancel_request": CancelParams;
}

/** What the daemon sends by itself. */
export interface ServerNotifications {
  /** Something in the vault changed, through us or from outside. */
  "_vault/changed": ChangedParams;
  /** The steward has applied a change set. */
  "_vault/changes": ChangesParams;
  /** The settings file has changed, and new settings hold. */
  "_vault/config_reloaded": ConfigReloadedParams;
  /** The settings file has changed and is wrong; the old settings hold. */
  "_vault/config_rejected": ConfigRejectedParams;
}
