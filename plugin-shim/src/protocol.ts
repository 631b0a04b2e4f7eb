// Written by the daemon's own tests from src/protocol; do not edit.
// After a change of the protocol: UPDATE_GENERATED=1 cargo test --test protocol

/** The version of the protocol that these types describe. */
export const PROTOCOL_VERSION = 1;

/** A JSON Schema, as the tools carry them. */
export type JsonSchema = Record<string, unknown>;

/** The note that the person sees, or saw last. */
export type ActiveNote = { path: string,
/** Line number of the cursor, from 1; undefined in reading view. */
line?: number,
/** The selected text. */
selection?: Selection,
};

/** The active note of the client changed. */
export type ActiveNoteChangedParams = {
  /** Its path; none if no note is open. */
  path: string | null,
};

/** The author of a change. */
export type Actor = "person" | "agent" | "voice" | "client" | "mcp" | "acp" | "rule";

/** The daemon's capabilities. */
export type AgentCapabilities = {
  /** Whether the daemon supports `session/load`. */
  loadSession: boolean,
  /** The supported parts of a message besides text. */
  promptCapabilities: PromptCapabilities,
  /** The kinds of MCP servers that `session/new` may name. */
  mcpCapabilities: McpCapabilities,
  /** The supported methods for conversations. */
  sessionCapabilities: SessionCapabilities, _meta: AgentMeta,
};

/** An agent of the settings. */
export type AgentInfo = {
  /** The name, for the option `agent` of a conversation. */
  name: string,
  /** One line for people; may be empty. */
  description: string,
  /** The only model that it asks; left out if it has none of its own. */
  model?: string,
};

/** The daemon's extensions. */
export type AgentMeta = { vault: AgentVaultMeta,
};

/** Members that the daemon adds to ACP's handshake. */
export type AgentVaultMeta = {
  /** The name of the vault. */
  name: string,
  /** The id of this run of the daemon: each run numbers its events from 1. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number,
  /** The scope of the client's token: `person`, `client`, `acp`, `mcp`, `voice`. */
  scope: string,
  /** The oldest version of the plugin that the daemon works with; it refuses an older one. */
  minPlugin?: string,
  /** What the server takes. */
  limits: Limits,
  /**
   * HMAC-SHA-256 of `vault-steward initialize 127.0.0.1:PORT NONCE`, the 64 characters of the
   * token as key, in hex.
   */
  proof?: string,
};

/** Answers a pending approval request. */
export type AnswerParams = { id: number,
/** `allow_once`, `allow_always` if it is offered, or `reject_once`. */
optionId: string,
/**
 * The person's comment, such as the reason of a refusal; the caller receives it with a
 * refusal.
 */
words?: string,
};

/** The request was answered. */
export type AnswerResult = {
  /** The changes, for people. */
  title: string,
  /**
   * Whether its call waited for the answer; otherwise the answer is stored until the call is
   * repeated.
   */
  waited: boolean,
};

/** A standing approval: a tool that needs no further approval in a folder. */
export type Approval = { id: number, tool: string,
/** The folder from the vault's root; empty for a tool of an MCP server, which has none. */
folder: string,
/** The program in which the person agreed. */
agreedBy: string,
/** Local time. */
time: string,
};

/** Lists standing approvals, or revokes one. */
export type ApprovalsParams = {
  /** Number of the approval to revoke first. */
  revoke?: number,
};

/** The standing approvals. */
export type ApprovalsResult = {
  /** Oldest first. */
  approvals: Array<Approval>,
  /** Whether the approval to revoke existed. */
  revoked: boolean,
};

/** The file or folder, and the moment. */
export type AsOfParams = {
  /**
   * A note or another file, by its path or name at that moment or now; or a folder. By default
   * the vault.
   */
  path?: string, at?: At,
  /** For a folder: the first entry to return, from 1: `next` of the last answer. */
  first?: number,
};

/** The file or folder at that moment. */
export type AsOfResult = {
  /** The moment, in local time. */
  time: string,
  /** The last change set by then. */
  changeSet?: number,
  /** The path at that moment; empty for the vault. */
  path: string, kind: EntryThen,
  /** The file's path now; none if the file no longer exists. */
  now?: string,
  /** The file's text. */
  text?: string,
  /** The reason why there is no text. */
  reason?: string,
  /** The change set that left the file in this state. */
  leftBy?: number,
  /** Set if the state at that moment is uncertain: another program changed the file, or may have. */
  unsure?: Unsure,
  /** For a folder: its files and folders, by path; as many as fit. */
  entries?: Array<TreeEntryThen>,
  /** Number of all entries. */
  total?: number,
  /** `first` of the next request. */
  next?: number,
};

/** A moment: a time, or a change set. By default the present. */
export type At = {
  /**
   * An RFC 3339 time, or a time as a person writes it: `2026-11-20 14:30`, `14:02`, `2h`,
   * `yesterday`.
   */
  time?: string,
  /** Number of a change set: the moment after its last change. */
  changeSet?: number,
  /** With `changeSet`: the moment before its first change. */
  before?: boolean,
};

/** An image. */
export type AttachedImage = {
  /** The media type. Empty, as is `data`, for a thumbnail of an image that cannot be decoded. */
  mimeType: string,
  /** In base64. */
  data: string,
};

/** A part of a note, or another text. */
export type AttachedText = {
  /** The path of the note. Left out: the text is from no note. */
  path?: string, text: string,
};

/** The message. */
export type AttachmentsParams = { sessionId: string,
/** Its id in events and in `_vault/conversation` with `updates`. */
messageId: string,
/** Scale the images down to thumbnails, and leave out the texts. */
thumbnails?: boolean,
};

/** What went with the message, in its order. */
export type AttachmentsResult = { images: Array<AttachedImage>, texts?: Array<AttachedText>,
};

/** A filter of audited calls; all conditions must hold. */
export type AuditParams = { tool?: string, caller?: string,
/** `allowed`, `refused`, `dry_run` or `asked`. */
decision?: string,
/** At or after this time, in milliseconds since the Unix epoch. */
since?: number,
/** Only calls with a higher number than this. */
after?: number,
/** Maximum number, up to 1000; 100 by default. */
limit?: number,
};

/** The audited calls. */
export type AuditResult = {
  /** Oldest first. */
  calls: Array<AuditedCall>,
};

/** An audited call. Never contains text of notes. */
export type AuditedCall = { id: number,
/** Local time of the call. */
time: string,
/** The caller's own name. */
caller: string,
/** The caller's scope. */
scope: string, conversation: string | null, tool: string,
/** The paths that the call names. */
paths: Array<string>,
/** `allowed`, `refused`, `dry_run` or `asked`. */
decision: string,
/** The layer that refused. */
layer: string | null, reason: string | null,
/** The program that answered the approval request, if there was one. */
answeredBy: string | null,
/** `ok`, or the error kind; none while it waits for approval. */
outcome: string | null,
/** Duration. */
microseconds: number,
/** Bytes written or returned. */
bytes: number,
/** The change set that the call made. */
changeSet: number | null,
};

/** A way to set up a model. */
export type AuthMethod = {
  /** The id that `authenticate` takes. */
  id: string,
  /** Display name. */
  name: string,
  /** A description for people. */
  description: string,
  /** `terminal`: the client runs the agent's program with `args`. */
  type: string,
  /** Arguments of the program. */
  args: Array<string>,
};

/** Asks whether the authentication method was completed. */
export type AuthenticateParams = {
  /** One of `authMethods`. */
  methodId: string,
};

/** The authentication method was completed. */
export type AuthenticateResult = Record<symbol, never>;

/** Whether a model can be used. */
export type BetterModel = "ready" | "missing" | "damaged";

/** A model of meaning that is installed in addition to the built-in one. */
export type BetterState = { model: string, state: BetterModel,
/** Notes that it has read. */
read: number,
/** Notes that it is to read. */
all: number,
/** Why it does not read the rest now; null if nothing prevents it. */
paused: Pause | null,
};

/** A branch: an edited message and the following items. */
export type BranchInfo = { number: number,
/** The branch that it was forked from; none for the first. */
parent: number | null,
/** The first item of the parent that this branch does not have. */
before: number | null,
/** Local time. */
began: string,
/** Number of its own items. */
items: number,
};

/** The extension member `_meta`. */
export type CallMeta = { vault?: CallVaultMeta,
};

/** Options that only the calling program can set, never the model that wrote the arguments. */
export type CallVaultMeta = {
  /** A person has approved the call. Only a person's own program may set it. */
  confirmed?: boolean,
  /**
   * With `confirmed`: the `identity` of the change that the person was shown. If the call would
   * now make another change, nothing is done and approval is requested again.
   */
  agreed?: string,
  /** Only preview the call. */
  dryRun?: boolean,
  /**
   * The turn that the call belongs to, any text of at most 100 characters. The changes of one
   * turn of one connection make one change set and share the limits of a turn.
   */
  turn?: string,
  /**
   * The conversation that the call belongs to, for `list_changes` and the audit; at most 100
   * characters.
   */
  conversation?: string,
};

/**
 * The request to cancel. One that is unknown or done is ignored.
 *
 * A request that only reads is answered at once with kind `cancelled`. A change that has begun is
 * finished and its result sent: the client must know the file's state.
 */
export type CancelParams = { requestId: RequestId,
};

/** The answer to `GET /v1/challenge/NAME/NONCE`. */
export type ChallengeAnswer = {
  /** The nonce that the client signs to log in, once and within ten seconds. */
  nonce: string,
  /** The daemon's proof that it knows the token of that name: a signature of both nonces. */
  proof: string,
};

/** A change of a change set. */
export type ChangeInfo = {
  /** Number of the change set and of the change: `17.2`. `undo` takes it, too. */
  id: string,
  /** `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`. */
  action: string,
  /** The path after the change. */
  path: string,
  /** The path before a move. */
  from?: string,
};

/** A change set, as in `list_changes`. */
export type ChangeSetInfo = {
  /** Its number, which `undo` takes. */
  id: number, title: string,
  /** Local time of its start. */
  time: string,
  /** The program that requested it. */
  caller: string, conversation?: string,
  /** The agent's turn, as in `_meta.vault.turn` of its events. */
  turn?: string,
  /** The change set (`17`) or change (`17.2`) that it undid. */
  undoes?: string,
  /** Whether all its changes have been undone. */
  undone?: boolean,
  /** At most a hundred. */
  changes: Array<ChangeInfo>,
  /** Number of all changes. */
  total: number,
};

/** The kind of change. */
export type ChangedKind = "created" | "modified" | "removed" | "renamed";

/** A change of a file or folder. */
export type ChangedParams = { kind: ChangedKind,
/** The path; the new one for a rename. */
path: string,
/** The old path for a rename. */
from?: string, entry: EntryKind, _meta: EventMeta,
};

/**
 * A change set was applied, for clients to show and undo. The calls of a turn add to one change set: this event
 * has only the new changes.
 */
export type ChangesParams = { changeSet: ChangeSetInfo, _meta: EventMeta,
};

/** Authentication methods of a client. */
export type ClientAuth = {
  /** The client can run the agent's program in a terminal for its user. */
  terminal?: boolean,
};

/** The client's capabilities. */
export type ClientCapabilities = {
  /** The authentication methods that the client supports. */
  auth?: ClientAuth, _meta?: ClientMeta,
};

/** The client's extensions. */
export type ClientMeta = { vault?: ClientVaultMeta,
};

/** Members that a client of this protocol adds to ACP's handshake. */
export type ClientVaultMeta = {
  /**
   * A random text that the server must sign with the token, at most 128 bytes: proves that the
   * other end of this connection is the daemon.
   */
  nonce?: string,
  /**
   * Whether the client can show an approval request (`session/request_permission`) to a person
   * and return the answer. Counts only with the token of a person's own program.
   */
  approvals?: boolean,
  /**
   * The host operations (`_vault/host/*`) that the client supports, as the program that has the
   * vault open. Counts only with the token of a person's own program.
   */
  host?: Array<HostOperation>,
  /** Whether the client has the focus now; `_vault/host/focus` reports changes. */
  focused?: boolean,
  /** The oldest version of the daemon that the client works with; an older one refuses it. */
  minDaemon?: string,
};

/** The typed text. */
export type CompleteParams = {
  /** Part of a name or path; empty for the most recently changed files. */
  text: string,
  /** Maximum number, up to 100; 20 by default. */
  limit?: number,
};

/** Completions. */
export type CompleteResult = {
  /** Most likely first. */
  found: Array<Completion>,
};

/** A note, another file or a folder. */
export type Completion = { path: string,
/** The name without `.md`. */
name: string,
/** Its folder; empty at the vault's root. */
folder: string, kind: CompletionKind,
/** Its aliases that begin with the text. */
aliases?: Array<string>,
};

/** The kind of a completion. */
export type CompletionKind = "note" | "file" | "folder";

/** An option of a conversation. */
export type ConfigOption = {
  /** The id that `session/set_config_option` takes: `mode`, `model`, `agent`. */
  id: string,
  /** Display name. */
  name: string,
  /** The kind of option, which some clients show in its own place: `mode`, `model`, `_agent`. */
  category: string,
  /** Always `select`. */
  type: string, currentValue: string, options: Array<ConfigValue>,
};

/** The reason why the settings file is invalid. */
export type ConfigProblem = {
  /** The settings file. */
  file: string,
  /** Line number, from 1, if the problem has a position. */
  line?: number,
  /** The column in characters, from 1. */
  column?: number,
  /** The problem. */
  message: string,
  /** Advice. */
  hint?: string,
};

/** The settings file is invalid; the old settings stay in effect. */
export type ConfigRejectedParams = { _meta: EventMeta,
/** The settings file. */
file: string,
/** Line number, from 1, if the problem has a position. */
line?: number,
/** The column in characters, from 1. */
column?: number,
/** The problem. */
message: string,
/** Advice. */
hint?: string,
};

/** New settings are in effect. */
export type ConfigReloadedParams = {
  /** Settings whose value in effect changed. */
  changed: Array<string>,
  /** Settings whose new value takes effect at the next start. */
  needsRestart: Array<string>, _meta: EventMeta,
};

/** A value of an option. */
export type ConfigValue = { value: string,
/** Display name. */
name: string,
/** What it means, for people. */
description?: string,
};

/** The confinement of the daemon. */
export type Confinement = { state: ConfinementState,
/** The missing restrictions, or the reason why the daemon is not confined; one per line. */
lacks: Array<string>,
};

/** The confinement of the daemon. */
export type ConfinementState = "full" | "partial" | "off" | "not_possible";

/** A part of a result. */
export type Content = { "type": "text", text: string,
};

/** The kind of a conversation's change. */
export type ConversationChange = "began" | "ended" | "titled" | "noted" | "decided" | "deleted";

/** A conversation began, ended, got a title, was decided on, or was deleted. */
export type ConversationChangedParams = { sessionId: string, kind: ConversationChange, _meta: EventMeta,
};

/** A conversation. */
export type ConversationInfo = {
  /** The conversation's number, as text. */
  sessionId: string,
  /** None before it ends. */
  title?: string,
  /** None before it ends. */
  summary?: string,
  /** The origin of the title: `model`, `extract` or `person`. */
  titledBy?: string,
  /** `open`, `waiting` or `ended`. */
  state: string,
  /** State for people: `working`, `waiting_for_you` or `done`. */
  shown: string,
  /** The question that waits for the person's answer. */
  question?: string,
  /** The source of its first message. */
  source: string,
  /** Local time. */
  began: string,
  /** Local time of the last message. */
  lastActive: string,
  /** Local time. */
  ended?: string,
  /** The mode that was chosen for it, if any. */
  mode?: string,
  /** The model that was chosen for it, if any. */
  model?: string,
  /** The agent that was chosen for it, where one was. */
  agent?: string,
  /** The mode of that agent, where it has one; of `_vault/conversation` alone. */
  agentMode?: string,
  /** What ended it: `idle`, `unanswered`, `agent` or `person`. */
  endedBy?: string,
  /** The reason of its end, for people. */
  reason?: string,
  /** The live branch. */
  branch: number,
  /** Number of items of all branches. */
  items: number,
};

/** The items to return. */
export type ConversationParams = {
  /** By default the current conversation. */
  sessionId?: string,
  /** By default the live branch. */
  branch?: number,
  /** Only items after this one. */
  after?: number,
  /** Only items before this one. */
  before?: number,
  /**
   * Only this many of the last items, up to 500, to show a long conversation from its end. For
   * earlier items set `before` to the first item of the answer.
   */
  last?: number,
  /** Also return each item as `session/load` does, in `updates`. */
  updates?: boolean,
};

/** A conversation with its items. */
export type ConversationResult = { conversation: ConversationInfo,
/** In the order in which they began. */
branches: Array<BranchInfo>,
/** In order. */
items: Array<ItemInfo>,
/** Whether more items follow: set `after` to the last item. */
more: boolean,
/** Whether there are earlier items: set `before` to the first item. */
earlier: boolean,
/** With `updates`: the change sets of the turns of these items, oldest first, and their state. */
changes?: Array<ChangeSetInfo>,
};

/** An estimated cost. */
export type Cost = { amount: number,
/** `USD`. */
currency: string,
};

/** The conversations to delete permanently. */
export type DeleteConversationParams = { sessionId?: string,
/** Alternatively: all ended conversations. */
allEnded?: boolean,
/** Only preview. */
dryRun?: boolean,
};

/** The conversations that were, or would be, deleted. */
export type DeleteConversationResult = {
  /** Number of conversations. */
  conversations: number,
  /** The title of the conversation, if one was named. */
  title?: string,
  /** Whether it was deleted. */
  deleted: boolean,
};

/** A file that was deleted. */
export type DeletedFile = {
  /** Its last path, by which the time machine finds it. */
  path: string,
  /** When it was deleted, with the offset of the local time. */
  time: string,
};

/** A rule of a plan. */
export type DescribedRule = { name: string,
/** The hash of its meaning. */
hash: string,
/** Its meaning, as a sentence that is generated from the rule. */
does: string,
/** Its file: a path in the vault, or an absolute path; absent if it is not stored in one. */
source?: string,
/** Whether it has a trigger, so that it can be enabled. */
runs: boolean,
/** `automatic`, `ask`, `stopped` or `changed`, if it is enabled with this meaning. */
state?: string,
/** The number of files that it matches now, regardless of earlier rules. */
fits: number,
/** Number of the plan's items that it produced. */
takes: number,
/** The first five of these items. */
examples: Array<RuleExample>,
/** The first three files that fail a single part of its condition, with that part. */
near: Array<RuleExample>,
};

/** A change. */
export type DiffChange = {
  /** Its id: `17.2`, which `undo` takes; in an approval request its number, from 1. */
  id: string,
  /**
   * `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`; in
   * an approval request as in `session/request_permission`.
   */
  action: string,
  /** The path after the change. */
  path: string,
  /** The path before a move. */
  from?: string,
  /** Unified diff of the text; undefined without a text. */
  diff?: string,
  /** The reason why the diff is missing or incomplete. */
  reason?: string,
  /** Number of added lines. */
  added: number,
  /** Number of removed lines. */
  removed: number,
  /** The files of a deleted folder, by their paths below it; the first 1,000. */
  files?: Array<string>,
  /** Number of files in a deleted folder. */
  totalFiles?: number,
  /** The change set that undid it. */
  undoneBy?: number,
};

/** The changes to return. */
export type DiffParams = {
  /** Number of the change set; or set `question` or `path`. */
  changeSet?: number,
  /** Number of a pending approval request in `_vault/approvals/pending`. */
  question?: number,
  /**
   * A note, by its path or name at the later moment: returns its changes between `from` and
   * `to`.
   */
  path?: string, from?: At,
  /** By default the present. */
  to?: At,
  /** The first change to return, from 1: `next` of the last answer. */
  first?: number,
  /**
   * With `question`: the first line to return of the diff of change `first`, from 0: `nextLine` of the
   * last answer.
   */
  line?: number,
};

/** The changes. */
export type DiffResult = {
  /** The change set's title. */
  title: string,
  /** The changes in order; as many as fit. */
  changes: Array<DiffChange>,
  /** Number of all changes. */
  total: number,
  /** `first` of the next request. */
  next?: number,
  /** `line` of the next request. */
  nextLine?: number,
};

/** A part of a note, or another text. */
export type EmbeddedResource = {
  /** A path in the vault, or its `file:` URL; [`Self::STDIN`] for a text that is not from a note. */
  uri: string, text: string,
};

/** An enabled rule. */
export type EnabledRuleInfo = { name: string,
/** Its file: a path in the vault, or an absolute path. */
source: string,
/** The hash of its meaning. */
hash: string,
/** Its meaning, as a sentence. */
does: string,
/** `automatic`, `ask`, `stopped`, or `changed` if its file differs from the enabled version. */
state: string,
/** The reason why it does not run. */
reason?: string,
/** The folders that it may touch; `/` is the whole vault. */
folders: Array<string>,
/** Kinds of actions: `move`, `set`, `trash` and others. */
actions: Array<string>,
/** Whether it may move files to the trash without asking. */
withTrash: boolean,
/** Local time. */
enabled: string,
/** The program in which it was enabled. */
enabledBy: string,
/** The plan that waits for a person's approval. */
waiting?: number,
/** Changes in its file since it was enabled, as a unified diff. */
diff?: string,
};

/** Ends a conversation. */
export type EndParams = {
  /** By default the current conversation. */
  sessionId?: string, reason?: string,
};

/** The conversation that was ended. */
export type EndResult = {
  /** None if there is no current conversation. */
  sessionId: string | null,
  /** Whether the request ended it; false if it had ended before. */
  ended: boolean,
};

/** The kind of a directory entry. */
export type EntryKind = "file" | "folder" | "link" | "other";

/** The kind of an entry. */
export type EntryThen = "file" | "folder" | "other";

/** The `data` of an error. */
export type ErrorData = { kind: Kind,
/** Whether the same request may succeed later. */
retryable: boolean,
/** Advice for a person. */
hint?: string,
/** Details that depend on the kind. */
detail?: JsonValue,
/**
 * The time to wait before the next attempt, in milliseconds; with `overloaded` and
 * `rate_limited`.
 */
retryAfterMs?: number,
};

/** A JSON-RPC error. */
export type ErrorObject = {
  /** The JSON-RPC code. */
  code: number,
  /** The problem, in one line for people. */
  message: string, data: ErrorData,
};

/** The extension member `_meta` of an event. */
export type EventMeta = { vault: EventVaultMeta,
};

/** The event's number. */
export type EventVaultMeta = {
  /** Counted from 1 in each run of the daemon, without gaps. */
  seq: number,
};

/** The page's token. */
export type ExchangeAnswer = {
  /**
   * `NAME.KEY`, of a person's own program; valid only for the challenge and with the page's origin. It is
   * valid for `days`, across restarts of the daemon, until the token of that name changes.
   */
  token: string, days: number,
};

/** The body of `POST /v1/exchange`. */
export type ExchangeBody = {
  /** The fragment after `#code=`. */
  code: string,
};

/** The conversation to write to a note. */
export type ExportConversationParams = { sessionId: string,
/**
 * Path of the note, which must not exist. By default a note in `Conversations`, named after the title and
 * the day.
 */
path?: string,
};

/** The note. */
export type ExportConversationResult = { path: string,
/** The change set, which `undo` takes. */
changeSet: number,
};

/** Continues from an earlier message or on a branch: set `item` or `branch`. */
export type ForkParams = { sessionId: string,
/** A message of the person: continue before it, on a new branch. */
item?: number,
/** A branch to continue. */
branch?: number,
};

/** The point from which the conversation continues. */
export type ForkResult = {
  /** The conversation, which is the current one now. */
  sessionId: string, branch: number,
};

/** A conversation that was found. */
export type FoundConversation = { conversation: ConversationInfo,
/** Items with the words, at most three; none if only the title or summary has them. */
places: Array<ItemInfo>,
};

/** Placeholder for an event that this client may not see, so that numbers have no gaps. */
export type HiddenParams = { _meta: EventMeta,
};

/** Asks for the active note. */
export type HostActiveNoteParams = {
  /**
   * Id of the operation in this run of the daemon. A repeated operation is not executed again;
   * its answer is the current state.
   */
  opId: string,
  /** Time limit in milliseconds: an operation that has not begun by then must not begin. */
  deadlineMs: number,
};

/** The active note. */
export type HostActiveNoteResult = {
  /** None if no note is open. */
  note: ActiveNote | null,
};

/** The client's window gained or lost the focus. */
export type HostFocusParams = { focused: boolean,
};

/** Shows a notice. */
export type HostNoticeParams = {
  /** Plain text, at most 1,000 characters. */
  text: string,
  /** Duration of the notice; by default the program's. */
  seconds?: number,
  /**
   * Id of the operation in this run of the daemon. A repeated operation is not executed again;
   * its answer is the current state.
   */
  opId: string,
  /** Time limit in milliseconds: an operation that has not begun by then must not begin. */
  deadlineMs: number,
};

/** Whether the notice was shown. */
export type HostNoticeResult = { shown: boolean,
};

/** Opens a note. */
export type HostOpenParams = { path: string,
/** Line number to show, from 1. */
line?: number,
/**
 * Id of the operation in this run of the daemon. A repeated operation is not executed again;
 * its answer is the current state.
 */
opId: string,
/** Time limit in milliseconds: an operation that has not begun by then must not begin. */
deadlineMs: number,
};

/** The active note after the request. */
export type HostOpenResult = { path: string | null,
};

/**
 * An operation of the program that has the vault open. A client names those that it supports in
 * `initialize`.
 */
export type HostOperation = "active_note" | "open" | "notice" | "trash" | "rename" | "unknown";

/**
 * Renames a file or a folder and updates links. Requested only if Obsidian does so without asking
 * its user (`alwaysUpdateLinks`).
 */
export type HostRenameParams = { path: string,
/** The new path, which does not exist. */
to: string,
/**
 * Id of the operation in this run of the daemon. A repeated operation is not executed again;
 * its answer is the current state.
 */
opId: string,
/** Time limit in milliseconds: an operation that has not begun by then must not begin. */
deadlineMs: number,
};

/** The state after the request. */
export type HostRenameResult = {
  /** Whether the old path exists. */
  exists: boolean,
  /** Whether the new path exists. */
  toExists: boolean,
};

/** A request of a person's program to the program that has the vault open. */
export type HostRequestParams = { "operation": "active_note" } | { "operation": "open",
/** The path, resolved as in tools. */
path: string,
/** Line number to show, from 1. */
line?: number, } | { "operation": "notice",
/** Plain text, at most 1,000 characters. */
text: string,
/** Duration of the notice, up to 60 seconds. */
seconds?: number, } | { "operation": "trash",
/** The exact path. */
path: string, } | { "operation": "rename",
/** The exact path. */
path: string,
/** The new path. */
to: string,
};

/** The result of a request to the host. */
export type HostRequestResult = {
  /** Name of the client that answered. */
  client: string,
  /** The active note, after `active_note` and `open`. */
  note?: ActiveNote,
  /** Whether the operation succeeded, as verified on disk; after `trash` and `rename`. */
  done?: boolean,
};

/** The client that has the vault open. */
export type HostState = {
  /** The client's own name. */
  client: string, operations: Array<HostOperation>,
  /** The active note, as the client reported. */
  activeNote?: string,
};

/** Deletes a file or a folder with the user's settings in Obsidian. */
export type HostTrashParams = { path: string,
/**
 * Id of the operation in this run of the daemon. A repeated operation is not executed again;
 * its answer is the current state.
 */
opId: string,
/** Time limit in milliseconds: an operation that has not begun by then must not begin. */
deadlineMs: number,
};

/** The state after the request. */
export type HostTrashResult = {
  /** Whether the path exists. */
  exists: boolean,
};

/** A program, in ACP's and MCP's form. */
export type Implementation = {
  /** The name for programs. */
  name: string,
  /** The name for people. */
  title?: string, version: string,
};

/** Discards a message. */
export type InboxDiscardParams = { id: number,
};

/** A filter of messages. */
export type InboxListParams = {
  /** Only this message. */
  id?: number,
  /** Include messages that are done. */
  all?: boolean,
  /** Maximum number, the newest; 100 by default. */
  limit?: number,
};

/** Messages. */
export type InboxListResult = {
  /** In order of arrival. */
  messages: Array<InboxMessage>,
};

/** A voice message. */
export type InboxMessage = {
  /** Increases in order of arrival. */
  id: number,
  /** The transcript; empty once it is done, since its conversation has it. */
  text: string, state: InboxMessageState,
  /** Number of attempts to deliver it. */
  attempts: number,
  /** Whether another text with the same id had arrived before. */
  differs: boolean,
  /** Local time of its arrival. */
  received: string,
  /** The result, for people; may be empty. */
  reason: string,
  /** Whether it was typed. */
  typed: boolean,
  /** Whether the person named the steward; otherwise a router chose it. */
  direct: boolean,
  /** The reason why the router chose the steward. */
  routingReason?: string,
  /** Its turn. */
  turn?: string,
  /** The conversation of that turn. */
  sessionId?: string,
};

/** State of a message. */
export type InboxMessageState = "new" | "taken" | "done" | "set_aside";

/** A message arrived or changed its state. */
export type InboxParams = { message: InboxMessage, _meta: EventMeta,
};

/** The message after the request. */
export type InboxResult = { message: InboxMessage,
};

/** Retries a message. */
export type InboxRetryParams = { id: number,
};

/** The client's identity and capabilities. Members of ACP that this server does not need are ignored. */
export type InitializeParams = {
  /**
   * The protocol version that the client supports: 1. The server answers with its own version; a
   * client that does not support it closes the connection.
   */
  protocolVersion: number,
  /** Name and version of the client, for the log. */
  clientInfo?: Implementation,
  /** The client's capabilities. */
  clientCapabilities?: ClientCapabilities,
};

/** The server's identity and capabilities. */
export type InitializeResult = {
  /** The protocol version of this connection. */
  protocolVersion: number,
  /** The daemon. */
  agentInfo: Implementation,
  /** The daemon's capabilities. */
  agentCapabilities: AgentCapabilities,
  /**
   * The ways to set up a model, for an ACP client that can run a program in a terminal;
   * otherwise empty. Clients authenticate before the upgrade to the WebSocket.
   */
  authMethods: Array<AuthMethod>,
};

/** An item of a conversation. */
export type ItemInfo = {
  /** Its number in the conversation. */
  item: number, turn: number | null, branch: number,
  /**
   * `user`, `assistant`, `tool_results`, `notice`, `message`, `question`, `compaction`, `ended`
   * or `note`.
   */
  kind: string,
  /** Local time. */
  time: string,
  /** The plain text. */
  text: string,
  /** The tools that the model called. */
  tools: Array<string>,
  /** Whether the text is cut. */
  cut: boolean,
  /**
   * If requested, the item as in `session/load`: messages with their sources, thinking, calls with
   * arguments, results.
   */
  updates?: Array<SessionUpdate>,
};

/** A job began, progressed, or changed its state. `list_jobs` has the details. */
export type JobParams = { _meta: EventMeta,
/** The job's number. */
job: number,
/** The plan that it applies. */
plan: number,
/** `running`, `completed`, `failed`, `interrupted`, `cancelled`, `undone` or `partly_undone`. */
state: string,
/** Number of items that are done. */
done: number,
/** Number of all items. */
total: number,
/** The folders that it touches, sorted by name. */
folders: Array<string>,
/** While a job runs that is applied in one piece: how far its change set is. */
progress?: JobProgress,
};

/** Progress of the change set that a job applies. */
export type JobProgress = {
  /** `storing` the texts in the journal, `writing` new texts next to their files, `placing` files. */
  phase: string,
  /** Files of this phase that are done. */
  done: number,
  /** All files of this phase, with those in which links follow. */
  total: number,
};

/** Deletes texts in the journal. */
export type JournalGcParams = {
  /** Only preview. */
  dryRun?: boolean,
};

/** The texts that were, or would be, deleted. */
export type JournalGcResult = {
  /** Number of changes whose texts are beyond the limits. */
  changes: number,
  /** Number of texts. */
  texts: number,
  /** Size on disk. */
  bytes: number,
  /** Whether they were deleted. */
  freed: boolean,
};

/** No params. */
export type JournalVerifyParams = Record<symbol, never>;

/** The state of the journal's texts. */
export type JournalVerifyResult = {
  /** Number of intact texts. */
  sound: number,
  /** Size on disk. */
  bytes: number,
  /** Hashes of damaged texts, with the damage. */
  damaged: Array<string>,
  /** Hashes of missing texts that a change needs. */
  missing: Array<string>,
  /** Number of texts that no change needs, left by an interruption; `_vault/journal/gc` deletes them. */
  unused: number,
};

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/** The kind of an error, as a stable word. */
export type Kind = "parse_error" | "invalid_request" | "batch_not_supported" | "invalid_id" | "missing_id" | "duplicate_id" | "not_initialized" | "already_initialized" | "unknown_method" | "invalid_params" | "unknown_tool" | "overloaded" | "rate_limited" | "cancelled" | "timeout" | "reply_too_large" | "failed" | "invalid_setting" | "not_permitted" | "forbidden" | "not_found" | "turn_running" | "unknown_session" | "model_failed" | "host_unavailable" | "auth_required" | "outdated" | "internal";

/** The state of the indexes that `search_notes` uses. */
export type KnowledgeState = {
  /** Number of notes in the word index; 0 before the first search. */
  notes: number,
  /** The embedding model; null if search by meaning is switched off. */
  model: string | null,
  /** Whether notes still have to be embedded, from the first search on. */
  meaningPending: boolean,
  /** Number of embedded chunks. */
  chunks: number,
  /** The model that can be installed; null if the settings do not name it. */
  better: BetterState | null,
  /** PDFs whose text was read; null if the settings do not allow it. */
  pdfs: number | null,
};

/** The limits of a connection, beyond which the server refuses messages. */
export type Limits = {
  /** The maximum size of a message, in bytes. */
  maxMessageBytes: number,
  /** The maximum size of a frame, in bytes; a larger message is sent as several frames. */
  maxFrameBytes: number,
  /** The maximum number of pending requests. */
  maxInFlight: number,
  /** The sustained limit of messages per second. */
  messagesPerSecond: number,
  /** The maximum number of messages in a burst, after a pause. */
  messageBurst: number,
  /** The time limit of a request, in seconds. */
  requestSeconds: number,
};

/** A file that a rule with `once` has processed. */
export type MarkedFile = {
  /** Its current path. */
  path: string,
  /** The change set in which the rule processed it. */
  changeSet: number,
};

/** A rule with `once`. */
export type MarkedRule = {
  /** The rule's name. */
  name: string,
  /** Its file: a path in the vault, or an absolute path. */
  source: string,
  /** The files, by path; without those whose change was undone. */
  files: Array<MarkedFile>,
};

/** The kinds of MCP servers that may be named besides those over stdio. None of them is run. */
export type McpCapabilities = {
  /** Over HTTP. */
  http: boolean,
  /** Over HTTP with the older streaming transport. */
  sse: boolean,
};

/** Memory use in bytes, by part. A part's own figure does not include the allocator's overhead. */
export type MemoryState = {
  /** All memory of the process; null if the system does not report it. */
  total: number | null,
  /**
   * Mapped files, such as the program's, which the system shares between processes and can
   * evict; null if the system does not report it.
   */
  program: number | null,
  /** The catalogue: path, size and times of each file. */
  catalogue: number,
  /** Links and tags of all notes; 0 before they are first needed. */
  links: number,
  /** The text index. */
  textIndex: number,
  /** Texts of notes that are cached for searching. */
  residentText: number,
  /** The word index of all notes, for ranking; 0 before the first search. */
  words: number,
  /** The embeddings of all notes. */
  meaning: number,
  /** The maximum size of the database's page cache. */
  store: number,
  /**
   * Everything else: compiled patterns, stacks, pending requests, and memory that the allocator
   * keeps; null if it is unknown.
   */
  other: number | null,
};

/** A kind of message. */
export type MessageKind = "answer" | "part" | "sent" | "question" | "void";

/** A message is complete and stored, or its displayed part is void. */
export type MessageParams = { sessionId: string,
/** The id of the message's chunks. */
messageId: string, kind: MessageKind,
/** The whole text; empty if the message is void. */
text: string,
/** The event's number, and the turn. */
_meta: SessionEventMeta,
};

/** The mode changed, by `_vault/mode` or in the settings. */
export type ModeChangedParams = { _meta: EventMeta,
/** `ask`, `auto`, `plan` or `read-only`. */
mode: string,
/** Whether a person set it while the steward ran; otherwise it is from the settings. */
setLive: boolean,
};

/** A mode. */
export type ModeInfo = {
  /** `ask`, `auto`, `plan` or `read-only`. */
  id: string,
  /** Display name. */
  name: string,
  /** A description for people. */
  description: string,
};

/** Gets or sets the mode. */
export type ModeParams = {
  /**
   * `ask`, `auto`, `plan` or `read-only`; `settings` returns to the mode in the settings. By
   * default the mode is not changed.
   */
  mode?: string,
};

/** The mode in effect. */
export type ModeResult = {
  /** `ask`, `auto`, `plan` or `read-only`. */
  mode: string,
  /** Whether a person set it while the steward ran; otherwise it is from the settings. */
  setLive: boolean,
};

/** The modes of a conversation. */
export type ModeState = {
  /** The mode in effect. */
  currentModeId: string,
  /** The modes that allow no more than the vault's mode. */
  availableModes: Array<ModeInfo>,
};

/** A language model. */
export type ModelInfo = {
  /** The name in settings: `anthropic/claude-sonnet-4-5`. */
  name: string,
  /** Whether it is the first of the chain. */
  current: boolean,
  /** Whether it is in the chain. */
  chosen: boolean,
  /** Whether everything that it needs, such as a key, is configured. */
  ready: boolean,
  /** Context window in tokens, if known. */
  window?: number,
  /** Whether it accepts images, if known. */
  images?: boolean,
};

/** A vendor's key, to be checked and stored. */
export type ModelKeyParams = {
  /** The vendor: `anthropic`, `openai`, `gemini`, or one of the settings. */
  provider: string,
  /** The key. It is sent only to that vendor, and is in no answer, event or log. */
  key: string,
};

/** The models that are available with the key. */
export type ModelKeyResult = {
  /** The vendor's models as `choose` of `_vault/models` takes them, recommended ones first. */
  models: Array<string>,
};

/** Lists models, and can choose one. */
export type ModelsParams = {
  /**
   * Put this model first in the chain, from the next turn on in all conversations. The others of
   * the chain are used if it fails.
   */
  choose?: string,
  /**
   * Ask the configured vendors for their models, which takes a moment. By default only models from the
   * settings and built-in knowledge are listed.
   */
  ask?: boolean,
};

/** The models. */
export type ModelsResult = {
  /** The models in use, in order: the setting `models.chain`. */
  chain: Array<string>,
  /** The models of the chain first, then others that could be in it. */
  models: Array<ModelInfo>,
  /** Problems with vendors, one line each. */
  problems: Array<string>,
  /** The user's own agents that can be chosen for a conversation, by name. Left out if there are none. */
  agents?: Array<AgentInfo>,
};

/** The files to name. */
export type NamesSuggestParams = {
  /**
   * The files, by path or name; for a folder, the files directly in it whose names break its
   * convention or are meaningless. At most 100.
   */
  paths: Array<string>,
  /**
   * A pattern, a style or the id of a convention, as `suggest_names` takes it. By default the
   * convention of their folder.
   */
  convention?: string,
};

/** The suggested names. Nothing is renamed. */
export type NamesSuggestResult = {
  /** The model; absent if no file needed one. */
  model?: string,
  /** The files whose first characters the model received. */
  sent: Array<string>,
  /** The names, as in the result of `suggest_names`. */
  names: JsonValue,
  /** The same as text. */
  text: string,
};

/** Marks a supported method. */
export type Offered = Record<symbol, never>;

/** The rules to draft. */
export type OrganizeDraftParams = {
  /** A description: "old meeting notes into the archive, by year". */
  text: string,
  /** Existing rules to change, as YAML. */
  rules?: string,
};

/** The drafted rules and their plan. Nothing is enabled, and only the plan is stored. */
export type OrganizeDraftResult = {
  /** The rules, as YAML. */
  rules: string,
  /** The model that drafted the rules. */
  model: string,
  /** An explanation of the rules and of the notes that they match. */
  text: string,
  /** The plan, as in the result of `plan_changes`. */
  plan: JsonValue,
};

/** A job to stop. */
export type OrganizeStopParams = {
  /** Its number. */
  job: number,
};

/** A job that received the request to stop. */
export type OrganizeStopResult = {
  /** Its number. */
  job: number,
  /**
   * `cancelled`; `completed` if all items were already done; `running` while the current batch
   * is unfinished.
   */
  state: string,
  /** Number of items that are done. They stay. */
  done: number,
  /** Number of all items. */
  total: number,
  /** The change set of the items that are done. */
  changeSet?: number,
};

/** No params. */
export type PageCodeParams = Record<symbol, never>;

/** A code that opens the page. */
export type PageCodeResult = {
  /** URL of the page with the code in the fragment, which browsers do not send. */
  url: string,
  /** The time for which the code is valid, in seconds. It can be used once. */
  seconds: number,
};

/** What prevents work in the background. */
export type Pause = "battery";

/** Lists the pending approval requests. */
export type PendingParams = {
  /** Only this request, complete as a person sees it. */
  id?: number,
};

/** A pending approval request. */
export type PendingQuestion = {
  /** The number of the call in the audit, until it is answered. */
  id: number,
  /** Local time. */
  since: string,
  /** The conversation; `direct` for a call outside of one. */
  sessionId: string,
  /** The changes, for people. */
  title: string, tool: string,
  /** The caller's own name. */
  caller: string,
  /** The caller's scope. */
  scope: string,
  /** The reasons why approval is needed. */
  reasons: Array<string>,
  /** Number of changes. */
  changes: number,
  /** Whether a connected program shows it; it waits as long as one does. */
  shown: boolean,
  /** Whether its call still waits; otherwise an approval is stored until the call is repeated. */
  waits: boolean,
  /** The complete request, if it was selected by its number. */
  asked?: RequestPermissionParams,
};

/** The pending approval requests. */
export type PendingResult = {
  /** Oldest first. */
  pending: Array<PendingQuestion>,
};

/** The extension member `_meta`. */
export type PermissionAnswerMeta = { vault: PermissionAnswerVaultMeta,
};

/** A comment on the answer. */
export type PermissionAnswerVaultMeta = {
  /**
   * The person's comment, such as the reason of a refusal; the caller receives it with a
   * refusal.
   */
  words?: string,
};

/** A change. */
export type PermissionChange = {
  /** `write`, `create_folder`, `remove_folder`, `move`, `delete` or `restore`. */
  action: string,
  /** Path from the vault's root; for a move, the destination. */
  path: string,
  /** For a move, the source. */
  from: string | null,
  /** Unified diff of the text; `more` tells whether it is complete. */
  diff: string,
  /** Number of added lines. */
  added: number,
  /** Number of removed lines. */
  removed: number,
  /** Number of lines of the diff that are missing: `_vault/diff` returns them. */
  more: number,
};

/** A part of the changes. */
export type PermissionContent = { "type": "diff",
/** Its absolute path. */
path: string,
/** The current text; none for a new file. */
oldText: string | null,
/** The new text. */
newText: string, } | { "type": "content", content: Content,
};

/** A file that the call touches. */
export type PermissionLocation = {
  /** Its absolute path. */
  path: string,
};

/** The extension member `_meta`. */
export type PermissionMeta = { vault: PermissionVaultMeta,
};

/** A possible answer. */
export type PermissionOption = { optionId: string,
/** Display name. */
name: string,
/** `allow_once`, `allow_always` or `reject_once`. */
kind: string,
};

/** A person's answer. */
export type PermissionOutcome = { "outcome": "cancelled" } | { "outcome": "selected", optionId: string,
};

/** The call that needs approval. */
export type PermissionToolCall = {
  /** Id of the call; the same for every client. */
  toolCallId: string,
  /** A description of the call, for people. */
  title: string,
  /** `edit`, `delete`, `move` or `other`. */
  kind: string,
  /** Always `pending`. */
  status: string,
  /** The files that the call changes, as absolute paths. */
  locations: Array<PermissionLocation>,
  /** The texts before and after if they are short, otherwise diffs. */
  content: Array<PermissionContent>,
};

/** The request in the vault's terms. */
export type PermissionVaultMeta = {
  /** Number of the request: `_vault/diff` returns all its texts, `_vault/approvals/answer` takes it. */
  question: number, tool: string,
  /** The caller's own name. */
  caller: string,
  /** The caller's scope. */
  scope: string,
  /** The reasons why approval is needed. */
  reasons: Array<string>,
  /** The changes; for a plan the first 50. */
  changes: Array<PermissionChange>,
  /** For a plan, a short outline of the whole plan. */
  outline?: string,
  /** The folder to which `allow_always` would apply. */
  folder: string | null,
};

/** No params. */
export type PingParams = Record<symbol, never>;

/** The last event, so that a client notices missed events after a sleep. */
export type PingResult = {
  /** The id of this run of the daemon. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number,
};

/** A plan was created or changed. `show_plan` shows it. */
export type PlanParams = { _meta: EventMeta,
/** The plan's number. */
plan: number,
/** The hash that `apply_plan` takes, so that exactly this plan is applied. */
identity: string,
/** Number of notes and attachments that the plan would change. */
items: number,
/** The folders that it touches, sorted by name. */
folders: Array<string>,
};

/** The supported parts of a message besides text. */
export type PromptCapabilities = {
  /** Images. */
  image: boolean,
  /** Sound. */
  audio: boolean,
  /** Parts of notes. */
  embeddedContext: boolean,
};

/** A part of a message. */
export type PromptContent = { "type": "text", text: string, } | { "type": "resource_link",
/** A path in the vault, or its `file:` URL. */
uri: string, name: string, } | { "type": "resource", resource: EmbeddedResource, } | { "type": "image",
/** The media type, such as `image/png`. */
mimeType: string,
/** Base64. */
data: string, } | { "type": "other" };

/** An example note that can be added to the folder. */
export type PromptExample = {
  /** The name that follows the slash. */
  name: string,
  /** The note's name. */
  title: string,
  /** A description. */
  description: string,
  /** The path of the note that would be written. */
  path: string,
  /** Its text. */
  text: string,
};

/** The prompt to fill. */
export type PromptGetParams = {
  /** The name that follows the slash. */
  name: string,
  /** The text after the name. */
  arguments?: string,
  /** The note that the prompt is about. By default the note that is open in Obsidian. */
  note?: string,
  /** The selected text in `note`. */
  selection?: string,
};

/** A filled prompt. Nothing was sent. */
export type PromptGetResult = {
  /** The message to send. */
  text: string,
  /** The selected text that the prompt refers to, to be attached. */
  selection?: PromptSelection,
};

/** A note that is a prompt. */
export type PromptInfo = {
  /** The name that follows the slash. */
  name: string,
  /** The note's name. */
  title: string,
  /** A description. */
  description: string, path: string,
  /** The argument that can follow its name, for people. */
  hint?: string,
  /** The inputs that it needs: `arguments`, `note`, `selection`. */
  needs: Array<string>,
};

/** The extension member `_meta`. */
export type PromptMeta = { vault?: PromptVaultMeta,
};

/** The extension member `_meta`. */
export type PromptResultMeta = { vault: PromptResultVaultMeta,
};

/** The result of a turn. */
export type PromptResultVaultMeta = { sessionId: string,
/** The turn to which the message was delivered. */
turn: string,
/** The turn's last message; empty if there is none. */
answer: string,
/** Whether the last message is a question that waits for an answer. */
waiting: boolean,
/**
 * No model was asked, since none is configured or usable: `answer` is the steward's own text
 * with advice. Undefined if false.
 */
noModel?: boolean,
};

/** A part of a note. */
export type PromptSelection = {
  /** The note. */
  path: string, text: string,
};

/** Our extensions of a message. */
export type PromptVaultMeta = {
  /**
   * A unique id of at most 100 characters. A message that is sent again with the same id, after
   * a lost connection, is not delivered twice and gets the same answer.
   */
  clientMessageId?: string,
  /** `chat`, `cli` or `voice`. Voice messages have fewer rights. */
  source?: string,
};

/** Lists the prompts. */
export type PromptsParams = Record<symbol, never>;

/** The person's prompts. */
export type PromptsResult = {
  /** The folder in the settings; empty if none is set. */
  folder: string,
  /** By path. */
  prompts: Array<PromptInfo>,
  /** Example notes that are not in the folder yet. */
  examples: Array<PromptExample>,
};

/** A call that only proposed. */
export type ProposalInfo = {
  /** Its number in the turn, from 1. */
  number: number, title: string, changes: Array<ProposedChange>,
};

/** One proposal, or one hunk of it. */
export type ProposalPart = {
  /** Its number in the turn. */
  proposal: number,
  /** The hunk's number in the proposal. Left out: all that is undecided. */
  hunk?: number,
};

/** The proposals to apply. */
export type ProposalsApplyParams = { sessionId: string,
/** The turn that made the proposals. By default the last turn with proposals. */
turn?: string,
/** Only these parts. Left out: all that is undecided. */
only?: Array<ProposalPart>,
};

/** The applied proposals, in their order. */
export type ProposalsApplyResult = {
  /** Number of applied proposals. */
  applied: number,
  /** How many were to be. */
  total: number,
  /** The change set that they form, which `undo` takes. */
  changeSet?: number,
  /** The reason why the next one and all after it were not applied. */
  failed?: string,
};

/** Which proposals to list. */
export type ProposalsListParams = {
  /** Only those of this conversation. Left out: of those active last, unless a person or the agent ended them. */
  sessionId?: string,
};

/** What waits for the person's decision. */
export type ProposalsListResult = {
  /** The conversation that was active last comes first. */
  waiting: Array<WaitingProposals>,
};

/** The proposals to reject. */
export type ProposalsRejectParams = { sessionId: string,
/** The turn that proposed them. Left out: the last one that proposed something. */
turn?: string,
/** Only these parts. Left out: all that is undecided. */
only?: Array<ProposalPart>,
};

/** What was rejected. */
export type ProposalsRejectResult = {
  /** How many were rejected. */
  rejected: number,
};

/** A change of one file that a call proposed. */
export type ProposedChange = {
  /** `write`, `create_folder`, `remove_folder`, `move`, `delete`, `restore`. */
  action: string,
  /** The path; for a move the new one. */
  path: string,
  /** For a move, the old path. */
  from?: string,
  /** The undecided hunks of an edit. Empty for a change that is decided only as a whole. */
  hunks?: Array<ProposedHunk>,
  /** The diff of a change without hunks; empty where there is none to show. */
  diff?: string,
};

/** Lines that belong together in the diff of an edit. */
export type ProposedHunk = {
  /** Its number in the proposal, from 1. */
  number: number,
  /** Its own diff, from its `@@` on. */
  diff: string,
};

/** A title that a person gives. */
export type RenameConversationParams = { sessionId: string,
/** One line of at most 200 characters. No model changes it. */
title: string,
};

/** The new title. */
export type RenameConversationResult = { sessionId: string,
/** On one line, without invisible characters. */
title: string,
};

/**
 * A request's id: an integer or a text of at most 256 bytes. Null and fractions are refused, since
 * languages disagree about them.
 */
export type RequestId = number | string;

/**
 * An approval request. The first valid answer counts; the other clients get `$/cancel_request` with this
 * request's id.
 */
export type RequestPermissionParams = {
  /** The conversation; `direct` for a call outside of one. */
  sessionId: string, toolCall: PermissionToolCall, options: Array<PermissionOption>, _meta: PermissionMeta,
};

/** A person's answer. */
export type RequestPermissionResult = { outcome: PermissionOutcome, _meta?: PermissionAnswerMeta,
};

/** The link. */
export type ResolveLinkParams = {
  /** As between `[[` and `]]`, without a display text: a name or path, and perhaps a heading or block. */
  link: string,
};

/** The target of the link. */
export type ResolveLinkResult = {
  /** The file; null if there is none. If the file was moved, its present path. */
  path: string | null,
  /** The line of the heading or block, from 1; null if the link names none, or none that is there. */
  line: number | null,
  /** Whether the file is there, with the heading or block that the link names. */
  resolved: boolean,
  /** The file that had the name, if it was deleted. */
  deleted?: DeletedFile,
};

/** A file that a rule matches, or nearly matches. */
export type RuleExample = { path: string,
/** Parts of the rule's condition with the values that they read. */
parts: Array<string>,
};

/** Describes the rules of a plan. */
export type RulesDescribeParams = {
  /** The number of the plan. */
  plan: number,
};

/** The rules of a plan, for the person who decides about them. */
export type RulesDescribeResult = {
  /** The rules as text, if they were given as one text; absent if they come from files. */
  text?: string,
  /** In the order of the text; empty for a plan without rules. */
  rules: Array<DescribedRule>,
  /** Probable mistakes in the rules, each with its place. */
  warnings: Array<string>,
};

/** Disables a rule. */
export type RulesDisableParams = { name: string,
};

/** The rule that was disabled. */
export type RulesDisableResult = { rule: EnabledRuleInfo,
};

/** Enables rules. */
export type RulesEnableParams = {
  /**
   * A rule file in the vault, an absolute path, or the name of a rule: an enabled one, or one in a file of
   * `organize.rules`.
   */
  file: string,
  /** Only rules with these names; by default all with a trigger. */
  names?: Array<string>,
  /** The rules may move files to the trash without asking. */
  withTrash?: boolean,
  /** The rules' plans wait for a person's approval. */
  ask?: boolean,
  /** Hashes of the rules that the person approved; if they differ, nothing is enabled. */
  agreed?: Array<string>,
  /** Only preview. */
  dryRun?: boolean,
};

/** The rules that were, or would be, enabled. */
export type RulesEnableResult = { rules: Array<EnabledRuleInfo>,
};

/** Lists the enabled rules. */
export type RulesListParams = {
  /** Also return changes in their files since they were enabled. */
  diff?: boolean,
};

/** The enabled rules. */
export type RulesListResult = {
  /** In the order in which they were enabled. */
  rules: Array<EnabledRuleInfo>,
  /** The reason why no rule runs automatically now: the settings, or the mode. */
  held?: string,
};

/** The files that rules with `once` have processed. */
export type RulesMarksParams = {
  /**
   * A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
   * `organize.rules`.
   */
  file: string,
  /** Only the rules with these names. */
  names?: Array<string>,
  /** Only this file, by path or name. */
  path?: string,
  /** Reset these files, so that the rules process them again. */
  forget?: boolean,
};

/** The files that rules with `once` have processed; with `forget` those that were reset. */
export type RulesMarksResult = {
  /** The rules that have `once`. */
  rules: Array<MarkedRule>,
};

/** A search for conversations. */
export type SearchConversationsParams = {
  /** Words that must all be in one item; double quotes make a phrase. There is no other syntax. */
  text: string,
  /** Maximum number of conversations, up to 100; 20 by default. */
  limit?: number,
};

/** The search results. */
export type SearchConversationsResult = {
  /** First by title or summary, then by the newest item. */
  found: Array<FoundConversation>,
};

/** Selected text. It may not be saved yet. */
export type Selection = {
  /** At most 100,000 characters. */
  text: string,
  /** First line, from 1. */
  startLine: number,
  /** Last line. */
  endLine: number,
};

/** Cancels the turn of a conversation, whichever client started it. */
export type SessionCancelParams = { sessionId: string,
};

/** The supported methods for conversations, with an object for each. */
export type SessionCapabilities = {
  /** `session/list`. */
  list: Offered,
  /** `session/resume`. */
  resume: Offered,
  /** `session/close`. */
  close: Offered,
  /** `session/delete`. */
  delete: Offered,
};

/** The modes and options of a conversation. */
export type SessionChoices = {
  /** The approval mode: which of its changes need a person's approval. */
  modes: ModeState,
  /** The mode, the model and the agent, in ACP's newer form. An option without a choice is left out. */
  configOptions: Array<ConfigOption>,
};

/** Stops the turn of a conversation and unsubscribes from it. The conversation is kept. */
export type SessionCloseParams = { sessionId: string,
};

/** The conversation was closed. */
export type SessionCloseResult = Record<symbol, never>;

/** Deletes a conversation permanently. */
export type SessionDeleteParams = { sessionId: string,
};

/** The conversation was deleted. */
export type SessionDeleteResult = Record<symbol, never>;

/** The extension member `_meta` of a conversation's event. */
export type SessionEventMeta = { vault: SessionEventVaultMeta,
};

/** The event's number and turn. */
export type SessionEventVaultMeta = {
  /**
   * Counted from 1 in each run of the daemon, without gaps. 0 in a replayed history, which is
   * not part of the event stream.
   */
  seq: number, turn?: string,
};

/** A conversation, as ACP lists it. */
export type SessionInfo = {
  /** The conversation's number. */
  sessionId: string,
  /** The folder that its client named; otherwise the vault's. */
  cwd: string,
  /** None before it ends. */
  title?: string,
  /** Local time of the last message. */
  updatedAt: string, _meta: SessionMeta,
};

/** The extension member `_meta`. */
export type SessionListMeta = { vault?: SessionListVaultMeta,
};

/** A filter of conversations. */
export type SessionListParams = {
  /**
   * Only conversations of this folder: all for the vault's folder; for another folder those that
   * were started with it.
   */
  cwd?: string,
  /** `nextCursor` of the last answer. */
  cursor?: string, _meta?: SessionListMeta,
};

/** Conversations, last active first. */
export type SessionListResult = { sessions: Array<SessionInfo>,
/** `cursor` of the next request, if there are more. */
nextCursor?: string,
};

/** The size of a page of the list. */
export type SessionListVaultMeta = {
  /** Maximum number; 100 by default, 1,000 at most. Fewer are returned if they do not fit into an answer. */
  limit?: number,
};

/** Loads a conversation with its history. */
export type SessionLoadParams = { sessionId: string,
/** The folder to work in: the vault's root, or undefined. */
cwd?: string,
/** MCP servers to run: must be empty, since none are run for clients. */
mcpServers?: Array<unknown>,
};

/** The history was replayed. */
export type SessionLoadResult = { _meta: SessionMeta,
};

/** The extension member `_meta`. */
export type SessionMeta = { vault: ConversationInfo,
};

/** Starts a conversation. */
export type SessionNewParams = {
  /**
   * The client's working folder: absolute, or undefined. The agent works in the vault: another
   * folder is accepted from ACP clients only, and stored.
   */
  cwd?: string,
  /**
   * MCP servers to run. None are run for clients: they are ignored for ACP clients, and refused
   * for others.
   */
  mcpServers?: Array<unknown>,
};

/** The conversation has started. */
export type SessionNewResult = {
  /** The conversation's number. */
  sessionId: string,
};

/** A person's message. */
export type SessionPromptParams = {
  /** The conversation. By default the current one, or a new one if the last message is too old. */
  sessionId?: string, prompt: Array<PromptContent>, _meta?: PromptMeta,
};

/** The turn has ended. */
export type SessionPromptResult = { stopReason: StopReason, _meta: PromptResultMeta,
};

/** Resumes a conversation without replaying its history. */
export type SessionResumeParams = { sessionId: string,
/** As for `session/new`. */
cwd?: string,
/** As for `session/new`. */
mcpServers?: Array<unknown>,
};

/** The state of a conversation's turn. */
export type SessionState = "running" | "requires_action" | "idle";

/** An update, with ACP's kinds. */
export type SessionUpdate = { "sessionUpdate": "user_message_chunk", content: Content,
/** Id of the message. */
messageId: string, _meta?: UserMessageMeta, } | { "sessionUpdate": "agent_message_chunk", content: Content,
/** Id of the message. */
messageId: string, } | { "sessionUpdate": "agent_thought_chunk", content: Content,
/** Id of the thinking. */
messageId: string, } | { "sessionUpdate": "tool_call", toolCallId: string,
/** A description of the call, for people. */
title: string,
/** `read`, `edit`, `delete`, `move`, `search` or `other`. */
kind: string, status: ToolCallStatus,
/** The files that the call names, as absolute paths. */
locations: Array<PermissionLocation>,
/** The arguments. */
rawInput: unknown, _meta: ToolCallMeta, } | { "sessionUpdate": "tool_call_update", toolCallId: string, status: ToolCallStatus,
/** The approval that it waits for. */
title?: string,
/** The result, for people. */
content?: Array<ToolCallContent>,
/** The result, for programs: `structuredContent` of `tools/call`. */
rawOutput?: unknown, } | { "sessionUpdate": "usage_update",
/** Tokens in use. */
used: number,
/** Size of the window in tokens. */
size: number,
/** Cost of the conversation in this run of the daemon, if prices are known. */
cost?: Cost, } | { "sessionUpdate": "notice",
/** `info`, `warning` or `error`. */
severity: string, title: string, description?: string, } | { "sessionUpdate": "session_info_update", title?: string,
/** Local time of the last message. */
updatedAt?: string,
};

/** An update of a conversation. */
export type SessionUpdateParams = { sessionId: string, update: SessionUpdate,
/** The event's number, and the turn. */
_meta: SessionEventMeta,
};

/** Sets an option of a conversation. */
export type SetConfigOptionParams = { sessionId: string,
/** `mode`, `model` or `agent`. */
configId: string,
/** One of the option's values. */
value: string,
};

/** The options after the change. */
export type SetConfigOptionResult = { configOptions: Array<ConfigOption>,
};

/** Sets the mode of a conversation, which cannot allow more than the vault's mode. */
export type SetModeParams = { sessionId: string,
/** `ask`, `auto`, `plan` or `read-only`. */
modeId: string,
};

/** The mode was set. */
export type SetModeResult = Record<symbol, never>;

/** One setting. */
export type Setting = {
  /** Section and name: `server.port`. */
  key: string,
  /** The value in effect; null if there is none. */
  value: JsonValue,
  /** The value without file, environment and flags. */
  default: JsonValue, source: SettingSource,
  /** The variable or flag that sets the value, which the file cannot change. */
  from?: string, takesEffect: TakesEffect,
  /** The value after the next start, if it differs. */
  afterRestart?: JsonValue,
  /**
   * Whether `_vault/settings/set` can change it: settings that weaken security can only be changed in the
   * file, and the daemon must be able to write to the file.
   */
  settable: boolean,
  /** A description of the setting. */
  doc: string,
};

/** The origin of a value. */
export type SettingSource = "default" | "file" | "environment" | "flag";

/** No params. */
export type SettingsGetParams = Record<symbol, never>;

/** All settings in effect. A settings file that has changed and is valid is loaded first. */
export type SettingsGetResult = {
  /** The settings file. */
  file: string,
  /** Whether the file exists; it need not. */
  exists: boolean,
  /** The reason why the file is invalid. */
  problem?: ConfigProblem,
  /** The settings, sorted by name. */
  settings: Array<Setting>,
};

/** The setting to change. */
export type SettingsSetParams = {
  /** Section and name: `server.port`. */
  key: string,
  /** The new value; null removes it from the file. */
  value: JsonValue,
};

/** The effect of the change; the file was written and loaded. */
export type SettingsSetResult = {
  /** Settings whose value in effect changed. */
  changed: Array<string>,
  /** Settings whose new value takes effect at the next start. */
  needsRestart: Array<string>,
  /** The variable or flag that overrides the file. */
  overriddenBy?: string,
};

/** State of the settings file. */
export type SettingsState = {
  /** The file's path; it need not exist. */
  file: string,
  /** The reason why the file is invalid. */
  problem?: ConfigProblem,
  /** Settings whose new value takes effect at the next start. */
  needsRestart: Array<string>,
};

/** State of a connection. */
export type SmartHoleConnection = "disabled" | "connecting" | "connected" | "refused" | "disconnected";

/** The state of the connection changed. */
export type SmartHoleParams = { smarthole: SmartHoleState, _meta: EventMeta,
};

/** State of the connection to SmartHole. */
export type SmartHoleState = { state: SmartHoleConnection,
/** The steward's name in SmartHole. */
name: string,
/** The reason of the state, and advice; may be empty. */
reason: string,
/** Number of messages that wait or are being processed. */
waiting: number,
/** Number of messages that were set aside. */
setAside: number,
};

/** The state of a conversation. */
export type StateParams = { sessionId: string, state: SessionState,
/** Number of messages that wait for delivery. */
queued: number,
/** Whether there is a question, which the next message answers. */
waiting: boolean,
/** The reason of the turn's end; none while it runs, or if it failed. */
stopReason?: StopReason,
/** The reason why the turn failed, and advice. */
error?: string,
/** The event's number, and the turn. */
_meta: SessionEventMeta,
};

/** No params. */
export type StatusParams = Record<symbol, never>;

/** The daemon's state. */
export type StatusResult = {
  /** The daemon's version. */
  version: string,
  /** The daemon's process id. */
  pid: number,
  /** The time since its start, in seconds. */
  uptimeSeconds: number,
  /** Current connections, including this one. */
  connections: number,
  /** The id of this run of the daemon. */
  epoch: string,
  /** The number of the last event so far. */
  seq: number, settings: SettingsState,
  /** The confinement of the daemon by the operating system, in case a bug is exploited. */
  confinement: Confinement,
  /** The connection to SmartHole, which receives voice messages. */
  smarthole: SmartHoleState,
  /** The approval mode; null if it cannot be read: then nothing is changed. */
  mode: ModeResult | null,
  /** The client that has the vault open, which opens notes on request; null if none is connected. */
  host: HostState | null, memory: MemoryState,
  /** The state of the search in notes; null for callers that may not see the whole vault. */
  knowledge: KnowledgeState | null, vault: VaultState,
};

/** The reason of a turn's end, in ACP's terms. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/** The events that follow. */
export type SubscribeMode = "live" | "replay" | "snapshot";

/**
 * The event to start after. Without members: only new events. With both: the events after event
 * `after` of the run `epoch`, for a client that lost its connection.
 */
export type SubscribeParams = {
  /** The run of the daemon in which `after` is counted. */
  epoch?: string,
  /** The last event that the client has received. */
  after?: number,
};

/** The subscription has started. */
export type SubscribeResult = { mode: SubscribeMode,
/** The current run of the daemon. */
epoch: string,
/** Number of the last event so far; a replay ends with it. */
seq: number,
};

/** When a new value takes effect. */
export type TakesEffect = "next_call" | "next_connection" | "restart";

/** A day with changes. */
export type TimelineDay = {
  /** `2026-11-21`, in the daemon's time zone. */
  day: string,
  /** Number of change sets. */
  count: number,
  /** The last change set of the day. */
  last: number,
};

/** The change sets to list. All conditions must hold. */
export type TimelineParams = {
  /** Only change sets before this number: `next` of the last answer. */
  before?: number,
  /** Maximum number, up to 500; 100 by default. */
  limit?: number,
  /**
   * Only change sets that touched this note, under its earlier names too, or a file in this
   * folder.
   */
  path?: string,
  /** Only change sets of this kind of actor. */
  by?: Actor,
  /** Only change sets that a call of this tool made. */
  tool?: string,
};

/** Change sets. */
export type TimelineResult = {
  /** Newest first. */
  sets: Array<TimelineSet>,
  /** `before` of the next request. */
  next?: number,
  /** The days with changes, oldest first, with the number of change sets; without `before` only. */
  days?: Array<TimelineDay>,
};

/** A change set. */
export type TimelineSet = { id: number,
/** The time of its start, in UTC. */
time: string, title: string, by: Actor,
/** The program's own name. */
caller: string,
/** The conversation that led to it. */
sessionId?: string,
/** The change set (`17`) or change (`17.2`) that it undid. */
undoes?: string,
/** Whether all of it is undone. */
undone: boolean,
/** Number of its changes. */
total: number,
/** The first files that it changed. */
paths: Array<string>,
/** The tools that made the changes, if the audit log still has them. */
tools: Array<string>,
};

/** A tool, as in MCP. */
export type Tool = { name: string,
/** Display name. */
title: string,
/** The description for models. */
description: string,
/** The JSON Schema of its arguments. */
inputSchema: JsonSchema,
/** The JSON Schema of `structuredContent`. */
outputSchema: JsonSchema, annotations: ToolAnnotations,
};

/** MCP's hints about a tool. The daemon decides about permissions. */
export type ToolAnnotations = {
  /** Display name, at the place where MCP expects it. */
  title: string, readOnlyHint: boolean,
  /** It may move or delete existing files, or change many at once. */
  destructiveHint: boolean,
  /** A repeated call with the same arguments changes nothing more. */
  idempotentHint: boolean,
  /** It reaches beyond the vault: a tool of somebody else's server may. */
  openWorldHint: boolean,
};

/** A part of a result. */
export type ToolCallContent = { "type": "content", content: Content,
};

/** The extension member `_meta`. */
export type ToolCallMeta = { vault: ToolCallVaultMeta,
};

/** State of a tool call. */
export type ToolCallStatus = "pending" | "in_progress" | "completed" | "failed";

/** Our extensions of a tool call. */
export type ToolCallVaultMeta = { tool: string,
};

/** A tool call. */
export type ToolsCallParams = { name: string,
/** The arguments, validated against the tool's schema. */
arguments?: { [key in string]: JsonValue }, _meta?: CallMeta,
};

/** The result of a tool. A failed tool returns one, too, with `isError`. */
export type ToolsCallResult = {
  /** The result as text, sized for a model's context. */
  content: Array<Content>,
  /** The result as data; for an error `{code, message, hint?, data?}`. */
  structuredContent: unknown, isError: boolean,
};

/** No params. The list is short and has no pages. */
export type ToolsListParams = Record<symbol, never>;

/** The tools, sorted by name. */
export type ToolsListResult = { tools: Array<Tool>,
};

/** The files to delete permanently from the trash. */
export type TrashEmptyParams = {
  /**
   * These files, as in `list_trash` or by the change that deleted them (`17.2`). Their texts are
   * deleted from the journal, too. Empty: the files that are older than `olderThanDays`.
   */
  items?: Array<string>,
  /**
   * Without `items`: the files that were deleted more than this number of days ago. 30 by
   * default.
   */
  olderThanDays?: number,
  /** Only preview. */
  dryRun?: boolean,
};

/** The files that were, or would be, deleted. */
export type TrashEmptyResult = {
  /** The files, as in `list_trash`. */
  items: Array<string>,
  /** Their size. */
  bytes: number,
  /** Whether they were deleted. */
  removed: boolean,
  /** Information for a person: texts that stay in the journal, since other changes need them. */
  notes: Array<string>,
};

/** An entry of a folder. */
export type TreeEntryThen = {
  /** The path in the vault. */
  path: string, kind: EntryThen,
  /**
   * Whether another program created, changed or removed it since, so that its state then is
   * uncertain.
   */
  unsure?: boolean,
};

/** The period in which another program changed a file, or may have. */
export type Unsure = {
  /** The sentence for a person. */
  said: string,
  /**
   * The last time before at which the journal recorded the file, in local time; none if it never
   * did.
   */
  from?: string,
  /**
   * The next time at which the journal recorded the file, in local time; none if that is
   * unknown.
   */
  to?: string,
};

/** Usage of one model on one day. */
export type UsageDay = {
  /** The daemon's local date: `2026-11-20`. */
  day: string, model: string,
  /** Number of conversations that are still stored. */
  conversations: number, used: UsageInfo,
};

/** Tokens and cost. */
export type UsageInfo = { requests: number,
/** Input tokens, including the two below. */
input: number,
/** Input tokens read from the vendor's cache. */
cacheRead: number,
/** Input tokens written to it. */
cacheWrite: number,
/** Output tokens. */
output: number,
/** Estimated cost in millionths of a US dollar, of the requests with a known price. */
costMillionths: number,
/** Number of requests without a known price. */
unpriced: number,
};

/** The usage to return. */
export type UsageParams = {
  /** Only this number of days, including today; all by default. */
  days?: number,
  /** Only this conversation. */
  sessionId?: string,
};

/** Usage of models. */
export type UsageResult = {
  /** By day and model, oldest first. */
  days: Array<UsageDay>, total: UsageInfo,
};

/** The extension member `_meta`. */
export type UserMessageMeta = { vault: UserMessageVaultMeta,
};

/** The origin of a message. */
export type UserMessageVaultMeta = {
  /** `chat`, `cli`, `voice`. */
  source: string,
  /** The client's id for the message. */
  clientMessageId?: string,
};

/** State of the vault. */
export type VaultState = {
  /** The name of its folder. */
  name: string,
  /** Its absolute path. */
  path: string,
  /** Number of Markdown files. */
  notes: number,
  /** Number of all files, including notes. */
  files: number, folders: number,
  /** Symbolic links that lead out of the vault or nowhere; listed, not followed. */
  links: number,
  /** Conflict copies of sync programs, by their names; `list_files` marks them. */
  conflicts: number,
  /** Duration of the last scan in milliseconds. */
  scannedMs: number, watching: Watching,
  /** Information for a person, one line each. */
  warnings: Array<string>,
};

/** A plan, whose jobs tell whether it was applied. */
export type WaitingPlan = { number: number,
/** Its first line. */
title: string,
};

/** What waits in one conversation: proposals, a plan, or both. */
export type WaitingProposals = { sessionId: string,
/** The turn that proposed them. */
turn: string,
/** Local time of the last of them. */
time: string,
/** What is undecided, in the order in which it was proposed. */
proposals?: Array<ProposalInfo>,
/** The plan of `plan_changes` that the agent made last. */
plan?: WaitingPlan,
};

/** The way in which changes by other programs are noticed. */
export type Watching = { "mode": "events" } | { "mode": "polling",
/** The interval in seconds. */
seconds: number,
/** The reason why the system's notifications are not used. */
reason: string, } | { "mode": "off" };

/** The reason of a step's failure. */
export type WorkflowFault = {
  /** A stable word. */
  code: string,
  /** The problem. */
  message: string,
  /** Advice. */
  hint?: string,
};

/** A run of a workflow. */
export type WorkflowInfo = { run: number,
/** The workflow's name. */
workflow: string,
/** The file of its definition. */
source: string,
/** `running`, or as in [`WorkflowResult`]. */
state: string,
/** Local time. */
began: string,
/** Local time. */
ended?: string,
/** Steps that wait for a person. */
waiting: Array<string>,
};

/** Lists runs. */
export type WorkflowListParams = {
  /** Maximum number; 20 by default. */
  limit?: number,
};

/** The stored runs. */
export type WorkflowListResult = {
  /** Newest first. */
  runs: Array<WorkflowInfo>,
};

/** The event of a workflow's progress. */
export type WorkflowParams = { _meta: EventMeta,
/** The run's number; none for a dry run. */
run?: number,
/** The workflow's name. */
workflow: string, step: string,
/** Index of the element, from 0. */
item?: number,
/** `begun`, or the result. */
state: string,
/** Number of steps that have ended. */
done: number,
/** Number of all steps. */
total: number,
};

/** The result of a run. */
export type WorkflowResult = {
  /** The run's number; none for a dry run, which is not stored. */
  run?: number,
  /** The workflow's name. */
  workflow: string,
  /** `shown` after a dry run, `done`, `failed`, `waiting` for a person, or `interrupted`. */
  state: string,
  /** The inputs, by name. */
  inputs: JsonValue,
  /** The value of `now()`: milliseconds since 1970. */
  now: number,
  /** Offset of local time from UTC in seconds. */
  offset: number,
  /** In the order in which they ended. */
  steps: Array<WorkflowStep>,
  /** Whether inputs and data were left out, since the answer would have been too long. */
  cut?: boolean,
};

/** Resumes a run that waits, was interrupted, or failed. */
export type WorkflowResumeParams = { run: number,
/** A person has approved all changes beforehand. */
confirmed?: boolean,
/**
 * Answers by step: `ask`, or `ask[2]` for the third element of a list. For a change that waits
 * for approval: `yes`, which is valid for exactly the change that was shown, or `no`.
 */
answers?: { [key in string]: string },
};

/** Runs a workflow. */
export type WorkflowRunParams = {
  /** The definition, as YAML or JSON. */
  text: string,
  /** The file name, for error messages. */
  source?: string,
  /** The inputs, by name. */
  inputs?: { [key in string]: JsonValue },
  /** Make changes. By default they are only previewed. */
  apply?: boolean,
  /** A person has approved all changes beforehand. */
  confirmed?: boolean,
  /** Answers to the questions of its steps, by step. */
  answers?: { [key in string]: string },
};

/** A step, or one element of a step with `for_each`. */
export type WorkflowStep = { step: string,
/** Index of the element, from 0. */
item?: number,
/** The tool, `model` or `ask`. */
does: string,
/**
 * `done`, `failed`, `skipped`, `shown` for a previewed change, `unknown` if a dry run cannot tell, `waiting`, or
 * `not_run`.
 */
state: string,
/** The step's input. */
input?: JsonValue,
/** The result, for programs. */
data?: JsonValue,
/** The result, for people. */
text?: string,
/** The reason of the failure. */
error?: WorkflowFault,
/** The question that a person must answer. */
waits?: WorkflowWaits,
};

/** A question to a person. */
export type WorkflowWaits = { question: string,
/** The possible answers; empty for any text. */
choices?: Array<string>,
/** For a change that needs approval: the changes and reasons, as in the error `approval_needed`. */
approval?: JsonValue,
};

/** Every request, by its name. */
export interface Methods {
  /** Opens the connection: versions, capabilities, limits, and the server's proof of the token. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** The available tools, sorted by name. */
  "tools/list": { params: ToolsListParams; result: ToolsListResult };
  /** Runs one tool. */
  "tools/call": { params: ToolsCallParams; result: ToolsCallResult };
  /** State of the daemon and the vault. */
  "_vault/status": { params: StatusParams; result: StatusResult };
  /** All settings: value, default, origin, description. */
  "_vault/settings/get": { params: SettingsGetParams; result: SettingsGetResult };
  /** Changes a setting in the settings file and keeps the file's comments. */
  "_vault/settings/set": { params: SettingsSetParams; result: SettingsSetResult };
  /** Subscribes to events: new ones, or those after the last event of a lost connection. */
  "_vault/subscribe": { params: SubscribeParams; result: SubscribeResult };
  /** Deletes files in the trash permanently. */
  "_vault/trash/empty": { params: TrashEmptyParams; result: TrashEmptyResult };
  /** Verifies every text in the journal against its hash. */
  "_vault/journal/verify": { params: JournalVerifyParams; result: JournalVerifyResult };
  /** Deletes texts in the journal that are beyond the limits in the settings. */
  "_vault/journal/gc": { params: JournalGcParams; result: JournalGcResult };
  /** Gets or sets the approval mode: which changes need a person's approval. */
  "_vault/mode": { params: ModeParams; result: ModeResult };
  /** Lists or revokes standing approvals. */
  "_vault/approvals": { params: ApprovalsParams; result: ApprovalsResult };
  /** The approval requests that wait for a person. */
  "_vault/approvals/pending": { params: PendingParams; result: PendingResult };
  /** Answers an approval request. */
  "_vault/approvals/answer": { params: AnswerParams; result: AnswerResult };
  /** The audit log: calls, and the decisions on them. */
  "_vault/audit": { params: AuditParams; result: AuditResult };
  /** The conversations, last active first. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Replays the history of a conversation and subscribes to it. */
  "session/load": { params: SessionLoadParams; result: SessionLoadResult };
  /** Whether a model is set up, for clients that offered to set one up. */
  "authenticate": { params: AuthenticateParams; result: AuthenticateResult };
  /** Resumes a conversation and subscribes to it, without its history. */
  "session/resume": { params: SessionResumeParams; result: SessionChoices };
  /** Stops the turn of a conversation and unsubscribes from it. The conversation is kept. */
  "session/close": { params: SessionCloseParams; result: SessionCloseResult };
  /** Deletes a conversation permanently. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Sets the mode of a conversation. */
  "session/set_mode": { params: SetModeParams; result: SetModeResult };
  /** Sets the mode or the model of a conversation. */
  "session/set_config_option": { params: SetConfigOptionParams; result: SetConfigOptionResult };
  /** A conversation with its items. */
  "_vault/conversation": { params: ConversationParams; result: ConversationResult };
  /** Ends a conversation; the next message begins another. */
  "_vault/end": { params: EndParams; result: EndResult };
  /** Continues from before an earlier message, or on another branch. */
  "_vault/fork": { params: ForkParams; result: ForkResult };
  /** Searches conversations. */
  "_vault/search_conversations": { params: SearchConversationsParams; result: SearchConversationsResult };
  /** Deletes conversations permanently. */
  "_vault/delete_conversation": { params: DeleteConversationParams; result: DeleteConversationResult };
  /** Sets the title of a conversation. */
  "_vault/rename_conversation": { params: RenameConversationParams; result: RenameConversationResult };
  /** Writes a conversation to a note. */
  "_vault/export_conversation": { params: ExportConversationParams; result: ExportConversationResult };
  /** The images and texts that went with a message. */
  "_vault/attachments": { params: AttachmentsParams; result: AttachmentsResult };
  /** Diffs of a change set. */
  "_vault/diff": { params: DiffParams; result: DiffResult };
  /** The changes of the vault, turn by turn, with their authors. */
  "_vault/timeline": { params: TimelineParams; result: TimelineResult };
  /** A note, or the list of all files, at an earlier moment. */
  "_vault/as_of": { params: AsOfParams; result: AsOfResult };
  /** Completes the name of a note or folder. */
  "_vault/complete": { params: CompleteParams; result: CompleteResult };
  /** Says where a link leads. */
  "_vault/resolve_link": { params: ResolveLinkParams; result: ResolveLinkResult };
  /** The person's own prompts. */
  "_vault/prompts": { params: PromptsParams; result: PromptsResult };
  /** Fills one of the person's prompts. */
  "_vault/prompts/get": { params: PromptGetParams; result: PromptGetResult };
  /** Lists what the agent proposed in the mode `plan`, and plans, that wait for the person. */
  "_vault/proposals/list": { params: ProposalsListParams; result: ProposalsListResult };
  /** Applies what the agent proposed in the mode `plan`, or parts of it. */
  "_vault/proposals/apply": { params: ProposalsApplyParams; result: ProposalsApplyResult };
  /** Rejects what the agent proposed in the mode `plan`, or parts of it. */
  "_vault/proposals/reject": { params: ProposalsRejectParams; result: ProposalsRejectResult };
  /** The language models, and which of them are used. */
  "_vault/models": { params: ModelsParams; result: ModelsResult };
  /** Checks a vendor's key and stores it. */
  "_vault/models/key": { params: ModelKeyParams; result: ModelKeyResult };
  /** Forwards a request to the program that has the vault open. */
  "_vault/host/request": { params: HostRequestParams; result: HostRequestResult };
  /** A one-time code that opens the daemon's chat page. */
  "_vault/page_code": { params: PageCodeParams; result: PageCodeResult };
  /** Usage and cost of models. */
  "_vault/usage": { params: UsageParams; result: UsageResult };
  /** Starts a conversation with the agent. */
  "session/new": { params: SessionNewParams; result: SessionNewResult };
  /** Sends a message to the agent; answered at the end of the turn. */
  "session/prompt": { params: SessionPromptParams; result: SessionPromptResult };
  /** Voice messages and their state. */
  "_vault/inbox/list": { params: InboxListParams; result: InboxListResult };
  /** Retries a message that was set aside. */
  "_vault/inbox/retry": { params: InboxRetryParams; result: InboxResult };
  /** Discards a message. */
  "_vault/inbox/discard": { params: InboxDiscardParams; result: InboxResult };
  /** Drafts rules from a sentence with a model, and plans their changes. */
  "_vault/organize/draft": { params: OrganizeDraftParams; result: OrganizeDraftResult };
  /** Has a model suggest names for files. */
  "_vault/names/suggest": { params: NamesSuggestParams; result: NamesSuggestResult };
  /** Stops a running job before its next batch, whichever client started it. */
  "_vault/organize/stop": { params: OrganizeStopParams; result: OrganizeStopResult };
  /** The enabled rules, which run automatically. */
  "_vault/rules/list": { params: RulesListParams; result: RulesListResult };
  /** Enables rules, so that they run automatically. */
  "_vault/rules/enable": { params: RulesEnableParams; result: RulesEnableResult };
  /** Disables a rule. */
  "_vault/rules/disable": { params: RulesDisableParams; result: RulesDisableResult };
  /** Describes the rules of a plan, and the files that they match and nearly match. */
  "_vault/rules/describe": { params: RulesDescribeParams; result: RulesDescribeResult };
  /** The files that rules with `once` have processed; can reset them. */
  "_vault/rules/marks": { params: RulesMarksParams; result: RulesMarksResult };
  /** Runs a workflow, or previews it. */
  "_vault/workflow/run": { params: WorkflowRunParams; result: WorkflowResult };
  /** Resumes a workflow that waits, was interrupted, or failed. */
  "_vault/workflow/resume": { params: WorkflowResumeParams; result: WorkflowResult };
  /** The last workflow runs. */
  "_vault/workflow/list": { params: WorkflowListParams; result: WorkflowListResult };
  /** Checks the connection, for clients that cannot send a WebSocket ping. */
  "_vault/ping": { params: PingParams; result: PingResult };
}

/** What a client may send without an answer. */
export interface ClientNotifications {
  /** Cancels a pending request. */
  "$/cancel_request": CancelParams;
  /** Stops the turn of a conversation. */
  "session/cancel": SessionCancelParams;
  /** The client's window gained or lost the focus. */
  "_vault/host/focus": HostFocusParams;
  /** The active note of the client changed. */
  "_vault/host/active_note_changed": ActiveNoteChangedParams;
}

/** What the daemon asks of a client. */
export interface ServerRequests {
  /** Asks a person to approve a call. */
  "session/request_permission": { params: RequestPermissionParams; result: RequestPermissionResult };
  /** Asks for the active note. */
  "_vault/host/active_note": { params: HostActiveNoteParams; result: HostActiveNoteResult };
  /** Opens a note. */
  "_vault/host/open": { params: HostOpenParams; result: HostOpenResult };
  /** Shows a notice. */
  "_vault/host/notice": { params: HostNoticeParams; result: HostNoticeResult };
  /** Deletes a file with the user's settings. */
  "_vault/host/trash": { params: HostTrashParams; result: HostTrashResult };
  /** Renames a file and updates links. */
  "_vault/host/rename": { params: HostRenameParams; result: HostRenameResult };
}

/** What the daemon sends without a request. */
export interface ServerNotifications {
  /** A file or folder changed, by the steward or another program. */
  "_vault/changed": ChangedParams;
  /** The steward applied a change set. */
  "_vault/changes": ChangesParams;
  /** A plan was created or changed. */
  "_vault/plan": PlanParams;
  /** A job began, progressed, or changed its state. */
  "_vault/job": JobParams;
  /** A conversation began, ended, got a title, or was deleted. */
  "_vault/conversation_changed": ConversationChangedParams;
  /** A voice message arrived or changed its state. */
  "_vault/inbox": InboxParams;
  /** The state of the connection to SmartHole changed. */
  "_vault/smarthole": SmartHoleParams;
  /** A workflow step began or ended. */
  "_vault/workflow": WorkflowParams;
  /** The settings file changed and was loaded. */
  "_vault/config_reloaded": ConfigReloadedParams;
  /** The mode changed. */
  "_vault/mode_changed": ModeChangedParams;
  /** The settings file changed and is invalid; the old settings stay in effect. */
  "_vault/config_rejected": ConfigRejectedParams;
  /** An update of a conversation. */
  "session/update": SessionUpdateParams;
  /** A message of a conversation is complete and stored. */
  "_vault/message": MessageParams;
  /** An event that this client may not see. */
  "_vault/hidden": HiddenParams;
  /** The state of a conversation. */
  "_vault/state": StateParams;
  /** A request to the client no longer needs an answer. */
  "$/cancel_request": CancelParams;
}
