// Written by the daemon's own tests from src/protocol; do not edit.
// After a change there: UPDATE_GENERATED=1 cargo test --test protocol

/** The version of the protocol that these types describe. */
export const PROTOCOL_VERSION = 1;

/** A JSON Schema, as the tools carry them. */
export type JsonSchema = Record<string, unknown>;

/** The note that a person has before them. */
export type ActiveNote = {
  /** Its path in the vault. */
  path: string,
  /** The line with the cursor, from 1; left out where it is only being read. */
  line?: number,
  /** What is selected in it. */
  selection?: Selection,
};

/** Another note is open in the client, or none. */
export type ActiveNoteChangedParams = {
  /** Its path in the vault. */
  path: string | null,
};

/** What the daemon can do. */
export type AgentCapabilities = {
  /** Whether `session/load` is there. */
  loadSession: boolean,
  /** What a message may hold beside text. */
  promptCapabilities: PromptCapabilities,
  /** Which kinds of MCP servers `session/new` may name. */
  mcpCapabilities: McpCapabilities,
  /** Which methods for conversations are there. */
  sessionCapabilities: SessionCapabilities,
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
  /** What kind of caller the token makes of the client: `person`, `client`, `acp`, `mcp`, `voice`. */
  scope: string,
  /** What the server takes. */
  limits: Limits,
  /**
   * HMAC-SHA-256 of `vault-steward initialize 127.0.0.1:PORT NONCE`, the 64 characters of the token
   * as key, in hex.
   */
  proof?: string,
};

/** Answers a question that waits for a person. */
export type AnswerParams = {
  /** The question. */
  id: number,
  /** `allow_once`, `allow_always` where it is offered, or `reject_once`. */
  optionId: string,
  /** What the person says with it, such as why not; the caller hears it with a refusal. */
  words?: string,
};

/** A question that was answered. */
export type AnswerResult = {
  /** What was asked about. */
  title: string,
  /** Whether its call waited for the answer; else the answer is kept for the call to be repeated. */
  waited: boolean,
};

/** A tool that needs no further agreement in a folder. */
export type Approval = {
  /** Its number. */
  id: number,
  /** The tool. */
  tool: string,
  /** The folder. */
  folder: string,
  /** The name of the program in which a person agreed. */
  agreedBy: string,
  /** When, as local time. */
  time: string,
};

/** Asks for what was agreed to for good, or takes one of it back. */
export type ApprovalsParams = {
  /** The one to take back first. */
  revoke?: number,
};

/** What was agreed to for good. */
export type ApprovalsResult = {
  /** Oldest first. */
  approvals: Array<Approval>,
  /** Whether the one to take back was there. */
  revoked: boolean,
};

/** Which calls are asked for; all conditions hold together. */
export type AuditParams = {
  /** Of this tool. */
  tool?: string,
  /** Of this caller. */
  caller?: string,
  /** `allowed`, `refused`, `dry_run` or `asked`. */
  decision?: string,
  /** At or after this time, in milliseconds since the Unix epoch. */
  since?: number,
  /** After this number: to follow. */
  after?: number,
  /** At most so many, up to 1000; 100 where it is left out. */
  limit?: number,
};

/** Calls and what was decided on them. */
export type AuditResult = {
  /** Oldest first. */
  calls: Array<AuditedCall>,
};

/** A call and what was decided on it. Never what a note says. */
export type AuditedCall = {
  /** Its number. */
  id: number,
  /** When it came, as local time. */
  time: string,
  /** The name the caller gave of itself. */
  caller: string,
  /** What kind of caller it is. */
  scope: string,
  /** The conversation it belongs to. */
  conversation: string | null,
  /** The tool. */
  tool: string,
  /** The paths it was about. */
  paths: Array<string>,
  /** `allowed`, `refused`, `dry_run` or `asked`. */
  decision: string,
  /** The layer that refused. */
  layer: string | null,
  /** Why. */
  reason: string | null,
  /** Who agreed or refused, where somebody was asked. */
  answeredBy: string | null,
  /** `ok`, or the word for its failure; none while a person is asked. */
  outcome: string | null,
  /** How long it took. */
  microseconds: number,
  /** Bytes written, or of the answer. */
  bytes: number,
  /** The change set it made. */
  changeSet: number | null,
};

/** A way to set up what the agent needs. */
export type AuthMethod = {
  /** What `authenticate` takes. */
  id: string,
  /** For people. */
  name: string,
  /** What it does. */
  description: string,
  /** How it is gone: `terminal`, where the client runs the agent's program with `args`. */
  type: string,
  /** What the program is given. */
  args: Array<string>,
};

/** Asks whether the way in that was offered has been gone. */
export type AuthenticateParams = {
  /** One of `authMethods`. */
  methodId: string,
};

/** It has. */
export type AuthenticateResult = Record<symbol, never>;

/** A branch: what goes on from before a message that was edited. */
export type BranchInfo = {
  /** Its number. */
  number: number,
  /** The branch it came from; none for the first. */
  parent: number | null,
  /** The first item of that one which it no longer has. */
  before: number | null,
  /** When it began, local time. */
  began: string,
  /** How many items were said in it. */
  items: number,
};

/** What goes with a call. */
export type CallMeta = {
  /** Ours. */
  vault?: CallVaultMeta,
};

/** What only the program that calls can say, never the model whose words the arguments are. */
export type CallVaultMeta = {
  /** A person has seen what the call does and agreed. Only a person's own program can say so. */
  confirmed?: boolean,
  /**
   * With `confirmed`: the `identity` of what that person was shown. Where the call comes to anything
   * else by now, nothing is done and they are asked anew.
   */
  agreed?: string,
  /** Only say what the call would do. */
  dryRun?: boolean,
  /**
   * The turn it belongs to, any name of at most 100 characters. What the calls of one turn of
   * one connection change is one change set, and the limits of a turn count them together.
   */
  turn?: string,
  /** The conversation it belongs to, for `list_changes` and the audit; at most 100 characters. */
  conversation?: string,
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

/** The answer to `GET /v1/challenge/NAME/NONCE`. */
export type ChallengeAnswer = {
  /** What the client signs to come in, once and within ten seconds. */
  nonce: string,
  /** The daemon's proof that it knows the token of that name: it signs both nonces. */
  proof: string,
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
  /** The agent's turn it belongs to, as `_meta.vault.turn` of its events. */
  turn?: string,
  /** What it took back: a change set (`17`) or one change (`17.2`). */
  undoes?: string,
  /** Whether every change of it has been undone. */
  undone?: boolean,
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

/**
 * What was applied, for a client to show and undo. The calls of a turn add to one change set: here is
 * what one of them did, and nothing that was told before.
 */
export type ChangesParams = {
  /** What was applied. */
  changeSet: ChangeSetInfo,
  /** The event's number. */
  _meta: EventMeta,
};

/** Ways of setting up an agent. */
export type ClientAuth = {
  /** It can run the agent's program in a terminal for its user. */
  terminal?: boolean,
};

/** What the client can do. */
export type ClientCapabilities = {
  /** Which ways of setting up the agent it can go. */
  auth?: ClientAuth,
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
   * other end of this connection is the daemon.
   */
  nonce?: string,
  /**
   * Whether the client can show a person what is asked (`session/request_permission`) and
   * bring back their answer. Counts only with the token of a person's own program.
   */
  approvals?: boolean,
  /**
   * What the client can do as the program that has the vault open (`_vault/host/*`). Counts only
   * with the token of a person's own program.
   */
  host?: Array<HostOperation>,
  /** Whether it has the focus now; it tells changes by `_vault/host/focus`. */
  focused?: boolean,
};

/** What was typed. */
export type CompleteParams = {
  /** Part of a name or of a path; with nothing, what was changed last. */
  text: string,
  /** How many at most, up to 100; 20 if it is left out. */
  limit?: number,
};

/** What could be meant. */
export type CompleteResult = {
  /** The likeliest first. */
  found: Array<Completion>,
};

/** A note, another file or a folder. */
export type Completion = {
  /** Its path in the vault. */
  path: string,
  /** What people call it: its name, without `.md`. */
  name: string,
  /** The folder it is in; empty at the vault's top. */
  folder: string,
  /** What it is. */
  kind: CompletionKind,
};

/** What something is that can be named. */
export type CompletionKind = "note" | "file" | "folder";

/** Something that can be chosen. */
export type ConfigOption = {
  /** What `session/set_config_option` takes: `mode`, `model`. */
  id: string,
  /** For people. */
  name: string,
  /** What kind of choice it is, which some clients show in its own place: `mode`, `model`. */
  category: string,
  /** Always `select`. */
  type: string,
  /** What is chosen now. */
  currentValue: string,
  /** What can be. */
  options: Array<ConfigValue>,
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

/** A value of an option. */
export type ConfigValue = {
  /** What is set. */
  value: string,
  /** For people. */
  name: string,
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

/** What happened to a conversation. */
export type ConversationChange = "began" | "ended" | "titled" | "noted" | "deleted";

/** Something happened to a conversation as a whole. */
export type ConversationChangedParams = {
  /** The conversation. */
  sessionId: string,
  /** What happened. */
  kind: ConversationChange,
  /** The event's number. */
  _meta: EventMeta,
};

/** A conversation. */
export type ConversationInfo = {
  /** Its number, as text. */
  sessionId: string,
  /** What it is called; none while it goes on. */
  title?: string,
  /** What it was about; none while it goes on. */
  summary?: string,
  /** Who gave it the title: `model`, `extract` or `person`. */
  titledBy?: string,
  /** `open`, `waiting` or `ended`. */
  state: string,
  /** What to show a person: `working`, `waiting_for_you` or `done`. */
  shown: string,
  /** The question that waits for the person. */
  question?: string,
  /** Where its first message came from. */
  source: string,
  /** When it began, local time. */
  began: string,
  /** When something was last said in it, local time. */
  lastActive: string,
  /** When it ended, local time. */
  ended?: string,
  /** What ended it: `idle`, `unanswered`, `agent` or `person`. */
  endedBy?: string,
  /** Why it ended, for people. */
  reason?: string,
  /** The branch that is gone on with. */
  branch: number,
  /** How many items all its branches hold together. */
  items: number,
};

/** Which conversation to show. */
export type ConversationParams = {
  /** Its number; left out, the one that goes on. */
  sessionId?: string,
  /** The branch; left out, the live one. */
  branch?: number,
  /** Only what comes after this item. */
  after?: number,
  /** Only what comes before this item. */
  before?: number,
  /**
   * Of these only the last so many, up to 500: how to show a long conversation from its end. Go
   * on backwards with `before` and the first item of the answer.
   */
  last?: number,
  /** Tell each item also as `session/load` tells it, in `updates`. */
  updates?: boolean,
};

/** A conversation, and what was said in it. */
export type ConversationResult = {
  /** The conversation. */
  conversation: ConversationInfo,
  /** Its branches, in the order in which they began. */
  branches: Array<BranchInfo>,
  /** What was said, in order. */
  items: Array<ItemInfo>,
  /** Whether more follows: ask with `after` the last item. */
  more: boolean,
  /** Whether there is something before the first of these items: ask with `before` its number. */
  earlier: boolean,
  /**
   * With `updates`: the change sets that were applied in the turns of these items, the oldest
   * first, and how they stand.
   */
  changes?: Array<ChangeSetInfo>,
};

/** An estimate. */
export type Cost = {
  /** How much. */
  amount: number,
  /** Of what: `USD`. */
  currency: string,
};

/** What to delete for good. */
export type DeleteConversationParams = {
  /** A conversation. */
  sessionId?: string,
  /** In its place: every conversation that has ended. */
  allEnded?: boolean,
  /** Only say what would be deleted. */
  dryRun?: boolean,
};

/** What was, or would be, deleted. */
export type DeleteConversationResult = {
  /** How many conversations. */
  conversations: number,
  /** The title of the one that was named. */
  title?: string,
  /** Whether it was done. */
  deleted: boolean,
};

/** One change. */
export type DiffChange = {
  /** What names it: `17.2`; `undo` takes it. Of a question its place, from 1. */
  id: string,
  /**
   * `created`, `modified`, `moved`, `deleted`, `restored`, `folder_made` or `folder_removed`; of a
   * question what it is in `session/request_permission`.
   */
  action: string,
  /** The path it has, or had, afterwards. */
  path: string,
  /** The path before, of something moved. */
  from?: string,
  /** The change of its text as a unified diff; left out where it has none. */
  diff?: string,
  /** Why there is no diff, or not all of it, where a text changed. */
  reason?: string,
  /** Lines that were added. */
  added: number,
  /** Lines that were taken away. */
  removed: number,
  /** The files of a folder that was deleted, by their paths below it; the first 1,000. */
  files?: Array<string>,
  /** How many files were in a folder that was deleted. */
  totalFiles?: number,
  /** The change set that took it back. */
  undoneBy?: number,
};

/** Which changes to show. */
export type DiffParams = {
  /** The change set's number, or `question`. */
  changeSet?: number,
  /** A question that waits: the number in `_vault/approvals/pending`. */
  question?: number,
  /** The first change to show, from 1: how to go on where an answer ended. */
  first?: number,
  /**
   * Of a question: the first line of the diff of the change `first`, from 0: how to go on in a
   * diff that an answer cut.
   */
  line?: number,
};

/** The changes. */
export type DiffResult = {
  /** What the change set did, for people. */
  title: string,
  /** Its changes, in the order in which they were made; as many as fit. */
  changes: Array<DiffChange>,
  /** How many there are in all. */
  total: number,
  /** Where to go on: `first` of the next request. */
  next?: number,
  /** Where to go on in the diff of that change: `line` of the next request. */
  nextLine?: number,
};

/** A part of a note. */
export type EmbeddedResource = {
  /**
   * The note's address: a path in the vault, or a `file:` address of one; [`Self::STDIN`] for a text
   * that is no part of a note.
   */
  uri: string,
  /** The part, or the text. */
  text: string,
};

/** A rule that a person enabled. */
export type EnabledRuleInfo = {
  /** Its name. */
  name: string,
  /** Its file: a path in the vault, or an absolute one. */
  source: string,
  /** The hash of what it means. */
  hash: string,
  /** What it does, as a sentence. */
  does: string,
  /** `automatic`, `ask`, `stopped`, or `changed` where its file no longer says what was enabled. */
  state: string,
  /** Why it does not run. */
  reason?: string,
  /** The folders that it may touch; `/` is the whole vault. */
  folders: Array<string>,
  /** The actions it takes: `move`, `set`, `trash` and others. */
  actions: Array<string>,
  /** Whether it may put files into the trash without asking. */
  withTrash: boolean,
  /** When it was enabled, local time. */
  enabled: string,
  /** The program of the person who enabled it. */
  enabledBy: string,
  /** The plan of it that waits for a person. */
  waiting?: number,
  /** What changed in its file since it was enabled, as a unified diff. */
  diff?: string,
};

/** Which conversation to end. */
export type EndParams = {
  /** Its number; left out, the one that goes on. */
  sessionId?: string,
  /** Why, for people. */
  reason?: string,
};

/** What was ended. */
export type EndResult = {
  /** The conversation; none where none goes on. */
  sessionId: string | null,
  /** Whether it had not ended before. */
  ended: boolean,
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

/** Its answer. */
export type ExchangeAnswer = {
  /**
   * The page's token, `NAME.KEY`: of a person's own program, for the challenge and with the page's
   * origin alone. It holds for `days`, over restarts of the daemon, until its token is another.
   */
  token: string,
  /** How long. */
  days: number,
};

/** The body of `POST /v1/exchange`. */
export type ExchangeBody = {
  /** What stood behind `#code=`. */
  code: string,
};

/** Which conversation to write into a note, and where. */
export type ExportConversationParams = {
  /** The conversation. */
  sessionId: string,
  /**
   * The note's path, which must be free. Left out: a note named after the title and the day, in
   * `Conversations`.
   */
  path?: string,
};

/** The note. */
export type ExportConversationResult = {
  /** Its path. */
  path: string,
  /** The change set, which `undo` takes. */
  changeSet: number,
};

/** Where to go on otherwise: one of the two. */
export type ForkParams = {
  /** The conversation. */
  sessionId: string,
  /** A message of the person's: go on from before it. */
  item?: number,
  /** A branch: go on with it again. */
  branch?: number,
};

/** What is gone on with. */
export type ForkResult = {
  /** The conversation, which is the current one. */
  sessionId: string,
  /** The branch. */
  branch: number,
};

/** A conversation in which the words were said. */
export type FoundConversation = {
  /** The conversation. */
  conversation: ConversationInfo,
  /** Where, at most three places; none where only its title or summary has the words. */
  places: Array<ItemInfo>,
};

/** An event that is not for this client, in whose place this stands, so that numbers have no gaps. */
export type HiddenParams = {
  /** The event's number. */
  _meta: EventMeta,
};

/** Which note is open. */
export type HostActiveNoteParams = {
  /**
   * Names the operation, in this run of the daemon and no other. One that was done already is
   * answered with how things stand and not done again.
   */
  opId: string,
  /**
   * In so many milliseconds nobody waits any more: what has not begun by then is not to be
   * begun.
   */
  deadlineMs: number,
};

/** It. */
export type HostActiveNoteResult = {
  /** None where no note is open. */
  note: ActiveNote | null,
};

/** The client has, or has no longer, the focus. */
export type HostFocusParams = {
  /** Whether it has it. */
  focused: boolean,
};

/** Show a notice. */
export type HostNoticeParams = {
  /** What it says: plain text, at most 1,000 characters. */
  text: string,
  /** How long it stays, in seconds; as long as notices do if it is left out. */
  seconds?: number,
  /**
   * Names the operation, in this run of the daemon and no other. One that was done already is
   * answered with how things stand and not done again.
   */
  opId: string,
  /**
   * In so many milliseconds nobody waits any more: what has not begun by then is not to be
   * begun.
   */
  deadlineMs: number,
};

/** Whether it is to be seen. */
export type HostNoticeResult = {
  /** Whether it was shown. */
  shown: boolean,
};

/** Open a note. */
export type HostOpenParams = {
  /** Its path in the vault. */
  path: string,
  /** The line to show, from 1. */
  line?: number,
  /**
   * Names the operation, in this run of the daemon and no other. One that was done already is
   * answered with how things stand and not done again.
   */
  opId: string,
  /**
   * In so many milliseconds nobody waits any more: what has not begun by then is not to be
   * begun.
   */
  deadlineMs: number,
};

/** What is open afterwards. */
export type HostOpenResult = {
  /** The path of the note that is open now. */
  path: string | null,
};

/**
 * Something that only the program can do that has the vault open. A client says in `initialize`
 * which it can.
 */
export type HostOperation = "active_note" | "open" | "notice" | "trash" | "rename" | "unknown";

/**
 * Rename a file or a folder, and let links follow. Asked only where Obsidian does that without
 * asking its user (`alwaysUpdateLinks`).
 */
export type HostRenameParams = {
  /** Its path in the vault. */
  path: string,
  /** The path it is to have; nothing lies there. */
  to: string,
  /**
   * Names the operation, in this run of the daemon and no other. One that was done already is
   * answered with how things stand and not done again.
   */
  opId: string,
  /**
   * In so many milliseconds nobody waits any more: what has not begun by then is not to be
   * begun.
   */
  deadlineMs: number,
};

/** How it stands afterwards. */
export type HostRenameResult = {
  /** Whether something lies at the old path. */
  exists: boolean,
  /** Whether something lies at the new one. */
  toExists: boolean,
};

/** What a person's program asks of the program that has the vault open. */
export type HostRequestParams = { "operation": "active_note" } | { "operation": "open",
/** Its path, found as tools find one. */
path: string,
/** The line to show, from 1. */
line?: number, } | { "operation": "notice",
/** What it says: plain text, at most 1,000 characters. */
text: string,
/** How long it stays, in seconds, up to 60. */
seconds?: number, } | { "operation": "trash",
/** Its path, exactly. */
path: string, } | { "operation": "rename",
/** Its path, exactly. */
path: string,
/** The path it is to have. */
to: string,
};

/** What came of it. */
export type HostRequestResult = {
  /** The name of the client that did it. */
  client: string,
  /** The note that is open: after `active_note` and `open`. */
  note?: ActiveNote,
  /** After `trash` and `rename`, what the disk says: whether it was done. */
  done?: boolean,
};

/** Which client has the vault open. */
export type HostState = {
  /** The name it gave of itself. */
  client: string,
  /** What it can do. */
  operations: Array<HostOperation>,
  /** The note that is open in it, as far as it told. */
  activeNote?: string,
};

/** Delete a file or a folder as the user has set it in Obsidian. */
export type HostTrashParams = {
  /** Its path in the vault. */
  path: string,
  /**
   * Names the operation, in this run of the daemon and no other. One that was done already is
   * answered with how things stand and not done again.
   */
  opId: string,
  /**
   * In so many milliseconds nobody waits any more: what has not begun by then is not to be
   * begun.
   */
  deadlineMs: number,
};

/** How it stands afterwards. */
export type HostTrashResult = {
  /** Whether something lies at the path. */
  exists: boolean,
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

/** A message to be let go of, undone. */
export type InboxDiscardParams = {
  /** Its number. */
  id: number,
};

/** Which messages to list. */
export type InboxListParams = {
  /** This one alone. */
  id?: number,
  /** Those that are done as well. */
  all?: boolean,
  /** At most so many, the last ones; 100 if it is left out. */
  limit?: number,
};

/** Messages. */
export type InboxListResult = {
  /** They, in the order in which they came. */
  messages: Array<InboxMessage>,
};

/** A message that came by voice. */
export type InboxMessage = {
  /** Its number; the order in which they came. */
  id: number,
  /** What was said, as it was heard; empty once it is done, since its conversation has it then. */
  text: string,
  /** How it stands. */
  state: InboxMessageState,
  /** How often it was begun. */
  attempts: number,
  /** Whether another text had come under the same name before. */
  differs: boolean,
  /** When it came, local time. */
  received: string,
  /** What became of it, for people; may be empty. */
  reason: string,
  /** Whether it was typed, not spoken. */
  typed: boolean,
  /** Whether the person called the steward by name; else a router chose it. */
  direct: boolean,
  /** Why the router chose it. */
  routingReason?: string,
  /** The turn that it is, or was, worked on in. */
  turn?: string,
  /** The conversation of that turn. */
  sessionId?: string,
};

/** How a message stands. */
export type InboxMessageState = "new" | "taken" | "done" | "set_aside";

/** A message came, or stands otherwise. */
export type InboxParams = {
  /** It. */
  message: InboxMessage,
  /** The event's number. */
  _meta: EventMeta,
};

/** The message as it stands now. */
export type InboxResult = {
  /** It. */
  message: InboxMessage,
};

/** A message to be tried again. */
export type InboxRetryParams = {
  /** Its number. */
  id: number,
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
  /**
   * How a model can be set up, for an ACP client that can run a program in a terminal; else empty.
   * Who may come in is decided before the upgrade.
   */
  authMethods: Array<AuthMethod>,
};

/** One thing that was said. */
export type ItemInfo = {
  /** Its number in the conversation. */
  item: number,
  /** The turn it belongs to. */
  turn: number | null,
  /** The branch it was said in. */
  branch: number,
  /**
   * `user`, `assistant`, `tool_results`, `notice`, `message`, `question`, `compaction`, `ended`
   * or `note`.
   */
  kind: string,
  /** When, local time. */
  time: string,
  /** What, in plain words. */
  text: string,
  /** The tools that were called with it. */
  tools: Array<string>,
  /** Whether the text was too long and is cut. */
  cut: boolean,
  /**
   * The same as `session/load` tells it: messages with their sources, thinking, calls with their
   * arguments, results. Where it was asked for.
   */
  updates?: Array<SessionUpdate>,
};

/** A job began, came further, or stands otherwise. `list_jobs` has the whole of it. */
export type JobParams = {
  /** The event's number. */
  _meta: EventMeta,
  /** Its number. */
  job: number,
  /** The plan that it applies. */
  plan: number,
  /** `running`, `completed`, `failed`, `interrupted`, `cancelled`, `undone` or `partly_undone`. */
  state: string,
  /** Items that are done. */
  done: number,
  /** All its items. */
  total: number,
  /** The folders that it touches, by name. */
  folders: Array<string>,
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
export type Kind = "parse_error" | "invalid_request" | "batch_not_supported" | "invalid_id" | "missing_id" | "duplicate_id" | "not_initialized" | "already_initialized" | "unknown_method" | "invalid_params" | "unknown_tool" | "overloaded" | "rate_limited" | "cancelled" | "timeout" | "reply_too_large" | "failed" | "invalid_setting" | "not_permitted" | "forbidden" | "not_found" | "turn_running" | "unknown_session" | "model_failed" | "host_unavailable" | "auth_required" | "internal";

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

/** A file that a rule with `once` took. */
export type MarkedFile = {
  /** Where it is now. */
  path: string,
  /** The change set in which the rule took it. */
  changeSet: number,
};

/** A rule with `once`. */
export type MarkedRule = {
  /** Its name. */
  name: string,
  /** Its file: a path in the vault, or an absolute one. */
  source: string,
  /** The files, by path; without those that somebody took back. */
  files: Array<MarkedFile>,
};

/** Which kinds of MCP servers may be named beside those over stdio. None of them is run. */
export type McpCapabilities = {
  /** Over HTTP. */
  http: boolean,
  /** Over HTTP with the older kind of stream. */
  sse: boolean,
};

/** Bytes of memory by part. What a part says of itself leaves the allocator's losses out. */
export type MemoryState = {
  /** All that the process holds; null where the system does not say. */
  total: number | null,
  /**
   * What is in memory of the program's file, and of other files that are mapped: the system
   * shares it between processes and can let go of it; null where it does not say.
   */
  program: number | null,
  /** What is known of each file: its path, size and times. */
  catalogue: number,
  /** Links and tags of all notes; nothing before they are first asked for. */
  links: number,
  /** What the search knows of each note's text. */
  textIndex: number,
  /** Texts of notes that are kept to be searched sooner. */
  residentText: number,
  /** Pages of the database that are kept, at most. */
  store: number,
  /**
   * The rest of it all: compiled patterns, stacks, what is under way, and what the allocator keeps
   * of what was; null where that is not known.
   */
  other: number | null,
};

/** Which kind of message. */
export type MessageKind = "answer" | "part" | "sent" | "question" | "void";

/** A message is whole, and kept; or what was shown of one counts for nothing. */
export type MessageParams = {
  /** The conversation. */
  sessionId: string,
  /** The message whose pieces came before. */
  messageId: string,
  /** Which kind. */
  kind: MessageKind,
  /** All of it; empty for one that counts for nothing. */
  text: string,
  /** The event's number, and the turn. */
  _meta: SessionEventMeta,
};

/** Another mode holds, whoever set it: by `_vault/mode`, or in the settings. */
export type ModeChangedParams = {
  /** The event's number. */
  _meta: EventMeta,
  /** `ask`, `auto` or `read-only`. */
  mode: string,
  /** Whether a person set it while the steward ran; else it is the settings'. */
  setLive: boolean,
};

/** A mode. */
export type ModeInfo = {
  /** `ask`, `auto` or `read-only`. */
  id: string,
  /** For people. */
  name: string,
  /** What it means. */
  description: string,
};

/** Asks for the mode, or sets it. */
export type ModeParams = {
  /**
   * `ask`, `auto` or `read-only`; `settings` goes back to what the settings say. Left out: it
   * is only asked for.
   */
  mode?: string,
};

/** The mode that holds. */
export type ModeResult = {
  /** `ask`, `auto` or `read-only`. */
  mode: string,
  /** Whether a person set it while the steward ran; else it is the settings'. */
  setLive: boolean,
};

/** The modes that a conversation can have. */
export type ModeState = {
  /** The one that holds. */
  currentModeId: string,
  /** Those that are no looser than the vault's. */
  availableModes: Array<ModeInfo>,
};

/** A language model. */
export type ModelInfo = {
  /** How the settings name it: `anthropic/claude-sonnet-4-5`. */
  name: string,
  /** Whether it is the one that is asked first. */
  current: boolean,
  /** Whether it is in the chain. */
  chosen: boolean,
  /** Whether all that it needs, such as a key, is there. */
  ready: boolean,
  /** How many tokens it reads at most, where that is known. */
  window?: number,
  /** Whether it sees images, where that is known. */
  images?: boolean,
};

/** A vendor's key, to be checked and stored. */
export type ModelKeyParams = {
  /** The vendor: `anthropic`, `openai`, `gemini`, or one of the settings. */
  provider: string,
  /** The key. It is sent to that vendor alone, and is in no answer, event or log. */
  key: string,
};

/** What can be asked with the key. */
export type ModelKeyResult = {
  /** The vendor's models as `choose` of `_vault/models` takes them, those to begin with first. */
  models: Array<string>,
};

/** Whether to choose, and whether to ask around. */
export type ModelsParams = {
  /**
   * Put this model first in the chain: it is asked from the next turn on, in every conversation,
   * and the others of the chain where it fails.
   */
  choose?: string,
  /**
   * Ask the vendors that are set up what they offer, which takes a moment. Without it only what
   * the settings name and what is known of these vendors is told.
   */
  ask?: boolean,
};

/** The models. */
export type ModelsResult = {
  /** Those that are asked, in this order: the setting `models.chain`. */
  chain: Array<string>,
  /** Those of the chain first, then the others that could be in it. */
  models: Array<ModelInfo>,
  /** What is wrong with a vendor, one line each. */
  problems: Array<string>,
};

/** That a method is there. */
export type Offered = Record<symbol, never>;

/** What rules are to do. */
export type OrganizeDraftParams = {
  /** In a person's words: "old meeting notes into the archive, by year". */
  text: string,
  /** Rules that are to be changed so, as YAML. */
  rules?: string,
};

/** Rules that a model drafted, and the plan that they make. Nothing is enabled, and nothing but the plan is stored. */
export type OrganizeDraftResult = {
  /** The rules, as YAML. */
  rules: string,
  /** The model that wrote them. */
  model: string,
  /** What the rules mean and whom they take, as a text. */
  text: string,
  /** The plan: what `plan_changes` answers. */
  plan: JsonValue,
};

/** Nothing to say. */
export type PageCodeParams = Record<symbol, never>;

/** A code that opens the page. */
export type PageCodeResult = {
  /** Where the page is, with the code behind `#`, which no browser sends anywhere. */
  url: string,
  /** How long it holds, in seconds. It holds once. */
  seconds: number,
};

/** Asks for the questions that wait for a person. */
export type PendingParams = {
  /** Only this one, with all that a person is shown of it. */
  id?: number,
};

/** A question that waits for a person. */
export type PendingQuestion = {
  /** Its number: that of the call in the audit, until it is answered. */
  id: number,
  /** Since when, as local time. */
  since: string,
  /** The conversation; `direct` for a call outside of one. */
  sessionId: string,
  /** What would be done. */
  title: string,
  /** The tool. */
  tool: string,
  /** The name the caller gave of itself. */
  caller: string,
  /** What kind of caller it is. */
  scope: string,
  /** Why a person is asked. */
  reasons: Array<string>,
  /** How many changes it would make. */
  changes: number,
  /** Whether a connected program shows it; then it waits for as long as one is there. */
  shown: boolean,
  /** Whether its call still waits; else a yes is kept for the call to be repeated. */
  waits: boolean,
  /** All of it, where it was asked for by its number. */
  asked?: RequestPermissionParams,
};

/** The questions that wait for a person. */
export type PendingResult = {
  /** Oldest first. */
  pending: Array<PendingQuestion>,
};

/** What ACP has no place for. */
export type PermissionAnswerMeta = {
  /** Ours. */
  vault: PermissionAnswerVaultMeta,
};

/** What goes with an answer. */
export type PermissionAnswerVaultMeta = {
  /** What the person said with it, such as why not; the caller hears it with a refusal. */
  words?: string,
};

/** One change. */
export type PermissionChange = {
  /** `write`, `create_folder`, `move`, `delete` or `restore`. */
  action: string,
  /** To what, from the vault's root; for a move, its path afterwards. */
  path: string,
  /** For a move, its path before. */
  from: string | null,
  /** The change of its text as a unified diff; `more` says whether that is all of it. */
  diff: string,
  /** Lines that it adds. */
  added: number,
  /** Lines that it takes away. */
  removed: number,
  /** Lines of the diff that are not here, or not to their end: `_vault/diff` has them. */
  more: number,
};

/** A piece of what would be done. */
export type PermissionContent = { "type": "diff",
/** Its absolute path. */
path: string,
/** The text now; none for a new file. */
oldText: string | null,
/** The text afterwards. */
newText: string, } | { "type": "content",
/** The text. */
content: Content,
};

/** A file that is touched. */
export type PermissionLocation = {
  /** Its absolute path. */
  path: string,
};

/** What ACP has no place for. */
export type PermissionMeta = {
  /** Ours. */
  vault: PermissionVaultMeta,
};

/** A possible answer. */
export type PermissionOption = {
  /** What the answer says. */
  optionId: string,
  /** For people. */
  name: string,
  /** `allow_once`, `allow_always` or `reject_once`. */
  kind: string,
};

/** A person's answer. */
export type PermissionOutcome = { "outcome": "cancelled" } | { "outcome": "selected",
/** Which. */
optionId: string,
};

/** The call that waits. */
export type PermissionToolCall = {
  /** Names the call; the same for every client. */
  toolCallId: string,
  /** What it does, for people. */
  title: string,
  /** `edit`, `delete`, `move` or `other`. */
  kind: string,
  /** Always `pending`. */
  status: string,
  /** The files it touches, as absolute paths. */
  locations: Array<PermissionLocation>,
  /** The texts it changes, where they are short, else their diffs. */
  content: Array<PermissionContent>,
};

/** What is asked, in the vault's own terms. */
export type PermissionVaultMeta = {
  /** The question's number: `_vault/diff` has all of its texts, `_vault/approvals/answer` takes it. */
  question: number,
  /** The tool. */
  tool: string,
  /** The name the caller gave of itself. */
  caller: string,
  /** What kind of caller it is. */
  scope: string,
  /** Why a person is asked. */
  reasons: Array<string>,
  /** What would be done; of a plan its first 50 changes. */
  changes: Array<PermissionChange>,
  /** Of a plan, all of it in a few lines. */
  outline?: string,
  /** The folder for which `allow_always` would hold. */
  folder: string | null,
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

/** A plan was made or changed. `show_plan` shows it. */
export type PlanParams = {
  /** The event's number. */
  _meta: EventMeta,
  /** Its number. */
  plan: number,
  /** What `apply_plan` takes to apply exactly this. */
  identity: string,
  /** Notes and attachments that it would change. */
  items: number,
  /** The folders that it touches, by name. */
  folders: Array<string>,
};

/** What a message may hold beside text. */
export type PromptCapabilities = {
  /** Pictures. */
  image: boolean,
  /** Sound. */
  audio: boolean,
  /** Parts of notes. */
  embeddedContext: boolean,
};

/** A piece of a message. */
export type PromptContent = { "type": "text",
/** The text. */
text: string, } | { "type": "resource_link",
/** The address: a path in the vault, or a `file:` address of one. */
uri: string,
/** How it is called. */
name: string, } | { "type": "resource",
/** The part. */
resource: EmbeddedResource, } | { "type": "image",
/** Its kind, such as `image/png`. */
mimeType: string,
/** Its bytes in base64. */
data: string, } | { "type": "other" };

/** What goes with a message. */
export type PromptMeta = {
  /** Ours. */
  vault?: PromptVaultMeta,
};

/** What ACP has no place for. */
export type PromptResultMeta = {
  /** Ours. */
  vault: PromptResultVaultMeta,
};

/** What a turn came to. */
export type PromptResultVaultMeta = {
  /** The conversation that the message went to. */
  sessionId: string,
  /** The turn in which it was heard. */
  turn: string,
  /** The last message of the turn, whole; empty where nothing was said. */
  answer: string,
  /** Whether that is a question that waits for an answer. */
  waiting: boolean,
  /**
   * No model was asked, since none is configured or none of those can be: `answer` is the steward's
   * own word on what to do. Left out where one was.
   */
  noModel?: boolean,
};

/** What a client of this protocol adds to a message. */
export type PromptVaultMeta = {
  /**
   * A name that no other message of the client has, at most 100 characters. The same message
   * sent again under it, after a lost connection, is not heard twice: it gets the same answer.
   */
  clientMessageId?: string,
  /** Where the words came from: `chat`, `cli`, `voice`. What was heard may do less. */
  source?: string,
};

/** A title of a person's own. */
export type RenameConversationParams = {
  /** The conversation. */
  sessionId: string,
  /** What it is to be called: one line of at most 200 characters. No model changes it again. */
  title: string,
};

/** What it is called. */
export type RenameConversationResult = {
  /** The conversation. */
  sessionId: string,
  /** Its title, on one line and without what cannot be seen. */
  title: string,
};

/**
 * What a client calls its request: an integer or a text of at most 256 bytes. Null and
 * fractions are refused, as two languages would not agree on them.
 */
export type RequestId = number | string;

/**
 * What a person is asked. The first valid answer counts; who else was asked gets
 * `$/cancel_request` with this request's id.
 */
export type RequestPermissionParams = {
  /** The conversation; `direct` for a call outside of one. */
  sessionId: string,
  /** What would be done. */
  toolCall: PermissionToolCall,
  /** What can be answered. */
  options: Array<PermissionOption>,
  /** What ACP has no place for. */
  _meta: PermissionMeta,
};

/** A person's answer. */
export type RequestPermissionResult = {
  /** The answer. */
  outcome: PermissionOutcome,
  /** What ACP has no place for. */
  _meta?: PermissionAnswerMeta,
};

/** A rule to disable. */
export type RulesDisableParams = {
  /** Its name. */
  name: string,
};

/** What was disabled. */
export type RulesDisableResult = {
  /** The rule. */
  rule: EnabledRuleInfo,
};

/** Rules to enable. */
export type RulesEnableParams = {
  /**
   * A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
   * `organize.rules`.
   */
  file: string,
  /** Only the rules of these names; otherwise all that say when they run. */
  names?: Array<string>,
  /** They may put files into the trash without asking. */
  withTrash?: boolean,
  /** What they would do waits for a person. */
  ask?: boolean,
  /** The hashes of the rules that the person was shown; with any other nothing is enabled. */
  agreed?: Array<string>,
  /** Only say what would be enabled. */
  dryRun?: boolean,
};

/** What was enabled, or would be. */
export type RulesEnableResult = {
  /** The rules. */
  rules: Array<EnabledRuleInfo>,
};

/** Which enabled rules are told of. */
export type RulesListParams = {
  /** Also show what changed in their files since they were enabled. */
  diff?: boolean,
};

/** The rules that a person enabled. */
export type RulesListResult = {
  /** They, in the order in which they were enabled. */
  rules: Array<EnabledRuleInfo>,
  /** Why none of them runs by itself now: the settings, or the mode. */
  held?: string,
};

/** Which files that rules with `once` took. */
export type RulesMarksParams = {
  /**
   * A rule file of the vault, or an absolute path; or the name of an enabled rule, or of one in a file of
   * `organize.rules`.
   */
  file: string,
  /** Only the rules of these names. */
  names?: Array<string>,
  /** Only this file, by path or name. */
  path?: string,
  /** Forget that the rules took these files, so that they take them again. */
  forget?: boolean,
};

/** The files that rules with `once` took; with `forget` those that were forgotten. */
export type RulesMarksResult = {
  /** The rules that have `once`. */
  rules: Array<MarkedRule>,
};

/** What to look for. */
export type SearchConversationsParams = {
  /**
   * Words, all of which must have been said at one place; what stands in double quotes belongs
   * together. Nothing else has a meaning.
   */
  text: string,
  /** Conversations at most, up to 100; 20 if it is left out. */
  limit?: number,
};

/** What was found. */
export type SearchConversationsResult = {
  /** First those whose title or summary has the words, then those with the newest words. */
  found: Array<FoundConversation>,
};

/** A selected text. It may not have been saved yet. */
export type Selection = {
  /** The text; at most 100,000 characters of it. */
  text: string,
  /** The line it begins in, from 1. */
  startLine: number,
  /** The line it ends in. */
  endLine: number,
};

/** Stops the turn of a conversation, whoever began it. */
export type SessionCancelParams = {
  /** The conversation. */
  sessionId: string,
};

/** Methods for conversations that are there: an object stands for each. */
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

/** What can be chosen for a conversation. */
export type SessionChoices = {
  /** How far its calls are trusted. */
  modes: ModeState,
  /** The same and the model, in ACP's newer shape. */
  configOptions: Array<ConfigOption>,
};

/** Stops what goes on in a conversation, and tells no more of it; it is kept. */
export type SessionCloseParams = {
  /** The conversation. */
  sessionId: string,
};

/** It is closed. */
export type SessionCloseResult = Record<symbol, never>;

/** Deletes a conversation for good. */
export type SessionDeleteParams = {
  /** The conversation. */
  sessionId: string,
};

/** It is gone. */
export type SessionDeleteResult = Record<symbol, never>;

/** What an event of a conversation carries. */
export type SessionEventMeta = {
  /** Ours. */
  vault: SessionEventVaultMeta,
};

/** The event's place among all events. */
export type SessionEventVaultMeta = {
  /**
   * Its number, counted from 1 in each run of the daemon, without gaps. 0 in a history that is
   * told again, which has no place among the events.
   */
  seq: number,
  /** The turn it belongs to. */
  turn?: string,
};

/** A conversation as ACP lists it. */
export type SessionInfo = {
  /** Its number. */
  sessionId: string,
  /** The folder that its client named, else the vault's. */
  cwd: string,
  /** What it is called; none while it goes on. */
  title?: string,
  /** When something was last said in it, local time. */
  updatedAt: string,
  /** What ACP has no place for. */
  _meta: SessionMeta,
};

/** What ACP has no place for. */
export type SessionListMeta = {
  /** Ours. */
  vault?: SessionListVaultMeta,
};

/** Which conversations to list. */
export type SessionListParams = {
  /** Only those of this folder: all of them for the vault's, of another those that were begun with it. */
  cwd?: string,
  /** The `nextCursor` of the answer before. */
  cursor?: string,
  /** What ACP has no place for. */
  _meta?: SessionListMeta,
};

/** Conversations, the one last active first. */
export type SessionListResult = {
  /** At most as many as were asked for. */
  sessions: Array<SessionInfo>,
  /** There are more: `cursor` of the next request. */
  nextCursor?: string,
};

/** How many conversations are wanted. */
export type SessionListVaultMeta = {
  /** At most so many, and as many as fit into an answer; 100 where it is left out, 1,000 at most. */
  limit?: number,
};

/** A conversation that is to be told again and gone on with. */
export type SessionLoadParams = {
  /** The conversation. */
  sessionId: string,
  /** The folder to work in: the vault's root, or left out. */
  cwd?: string,
  /** Programs to run as MCP servers: must be empty, since clients have none run here. */
  mcpServers?: Array<unknown>,
};

/** Its history was told. */
export type SessionLoadResult = {
  /** What ACP has no place for. */
  _meta: SessionMeta,
};

/** What ACP has no place for. */
export type SessionMeta = {
  /** Ours. */
  vault: ConversationInfo,
};

/** A new conversation. */
export type SessionNewParams = {
  /**
   * The folder that the client works in, absolute, or left out. The agent works in the vault: another
   * folder is taken of ACP clients alone, and remembered.
   */
  cwd?: string,
  /**
   * Programs to run as MCP servers. None is run for a client: of ACP clients they are taken and passed
   * over, of others refused.
   */
  mcpServers?: Array<unknown>,
};

/** It has begun. */
export type SessionNewResult = {
  /** Its number. */
  sessionId: string,
};

/** A person's message. */
export type SessionPromptParams = {
  /**
   * The conversation it belongs to. Left out: the current one, or a new one where the last was
   * silent for too long.
   */
  sessionId?: string,
  /** The message. */
  prompt: Array<PromptContent>,
  /** What ACP has no place for. */
  _meta?: PromptMeta,
};

/** The turn is over. */
export type SessionPromptResult = {
  /** Why. */
  stopReason: StopReason,
  /** What ACP has no place for. */
  _meta: PromptResultMeta,
};

/** Goes on with a conversation without telling it again. */
export type SessionResumeParams = {
  /** The conversation. */
  sessionId: string,
  /** As for `session/new`. */
  cwd?: string,
  /** As for `session/new`. */
  mcpServers?: Array<unknown>,
};

/** How a conversation stands. */
export type SessionState = "running" | "requires_action" | "idle";

/** What happened, in ACP's kinds. */
export type SessionUpdate = { "sessionUpdate": "user_message_chunk",
/** What. */
content: Content,
/** The message. */
messageId: string,
/** What ACP has no place for. */
_meta?: UserMessageMeta, } | { "sessionUpdate": "agent_message_chunk",
/** What was added. */
content: Content,
/** The message it belongs to. */
messageId: string, } | { "sessionUpdate": "agent_thought_chunk",
/** What was added. */
content: Content,
/** The thought it belongs to. */
messageId: string, } | { "sessionUpdate": "tool_call",
/** The call. */
toolCallId: string,
/** What it does, for people. */
title: string,
/** `read`, `edit`, `delete`, `move`, `search` or `other`. */
kind: string,
/** How it stands. */
status: ToolCallStatus,
/** The files it names, as absolute paths. */
locations: Array<PermissionLocation>,
/** Its arguments. */
rawInput: unknown,
/** What ACP has no place for. */
_meta: ToolCallMeta, } | { "sessionUpdate": "tool_call_update",
/** The call. */
toolCallId: string,
/** How it stands. */
status: ToolCallStatus,
/** What it waits for, where a person has to agree. */
title?: string,
/** What it answered, for people. */
content?: Array<ToolCallContent>,
/** What it answered, for programs: as `structuredContent` of `tools/call`. */
rawOutput?: unknown, } | { "sessionUpdate": "usage_update",
/** Tokens in use. */
used: number,
/** Tokens there are. */
size: number,
/** What the conversation cost in this run, where prices are known. */
cost?: Cost, } | { "sessionUpdate": "notice",
/** `info`, `warning` or `error`. */
severity: string,
/** It. */
title: string,
/** More. */
description?: string, } | { "sessionUpdate": "session_info_update",
/** What it is called. */
title?: string,
/** When something was last said, local time. */
updatedAt?: string,
};

/** Something happened in a conversation. */
export type SessionUpdateParams = {
  /** The conversation. */
  sessionId: string,
  /** What. */
  update: SessionUpdate,
  /** The event's number, and the turn. */
  _meta: SessionEventMeta,
};

/** Chooses something for a conversation. */
export type SetConfigOptionParams = {
  /** The conversation. */
  sessionId: string,
  /** `mode` or `model`. */
  configId: string,
  /** One of its values. */
  value: string,
};

/** How all options stand now. */
export type SetConfigOptionResult = {
  /** All of them. */
  configOptions: Array<ConfigOption>,
};

/** Sets how far the calls of a conversation are trusted; never further than the vault's own mode. */
export type SetModeParams = {
  /** The conversation. */
  sessionId: string,
  /** `ask`, `auto` or `read-only`. */
  modeId: string,
};

/** It is set. */
export type SetModeResult = Record<symbol, never>;

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
  /**
   * Whether `_vault/settings/set` can change it: what loosens security is for the file alone, and the
   * daemon has to be able to write that.
   */
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

/** How a connection stands. */
export type SmartHoleConnection = "disabled" | "connecting" | "connected" | "refused" | "disconnected";

/** The connection stands otherwise. */
export type SmartHoleParams = {
  /** How. */
  smarthole: SmartHoleState,
  /** The event's number. */
  _meta: EventMeta,
};

/** How the connection to SmartHole stands. */
export type SmartHoleState = {
  /** How. */
  state: SmartHoleConnection,
  /** The name that the steward has there. */
  name: string,
  /** Why it stands so, and what to do; empty where there is nothing to say. */
  reason: string,
  /** Messages that wait or are worked on. */
  waiting: number,
  /** Messages that were set aside. */
  setAside: number,
};

/** How a conversation stands. */
export type StateParams = {
  /** The conversation. */
  sessionId: string,
  /** How it stands. */
  state: SessionState,
  /** How many messages wait to be heard. */
  queued: number,
  /** Whether the person is asked something: the next message is the answer. */
  waiting: boolean,
  /** Why the turn is over; none while it is not, and where it failed. */
  stopReason?: StopReason,
  /** Why it failed, and what can be done about it. */
  error?: string,
  /** The event's number, and the turn. */
  _meta: SessionEventMeta,
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
  /** The connection to SmartHole, which hears what is spoken. */
  smarthole: SmartHoleState,
  /**
   * How far callers are trusted with changes; null while that cannot be read, and nothing is
   * changed then.
   */
  mode: ModeResult | null,
  /**
   * The client that has the vault open, which is asked to open notes; null where none is
   * connected.
   */
  host: HostState | null,
  /** Where the daemon's memory goes. */
  memory: MemoryState,
  /** The vault. */
  vault: VaultState,
};

/** Why a turn is over, in ACP's words. */
export type StopReason = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

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

/** A piece of what a call answered. */
export type ToolCallContent = { "type": "content",
/** The text. */
content: Content,
};

/** What ACP has no place for. */
export type ToolCallMeta = {
  /** Ours. */
  vault: ToolCallVaultMeta,
};

/** How a call stands. */
export type ToolCallStatus = "pending" | "in_progress" | "completed" | "failed";

/** The call in the vault's own terms. */
export type ToolCallVaultMeta = {
  /** The tool. */
  tool: string,
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
  /**
   * These things, as `list_trash` names them or by the change that deleted them (`17.2`). Their
   * texts go from the journal too. None: what is older than `olderThanDays`.
   */
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
  /** What a person should hear: texts that the journal still has, since other changes need them. */
  notes: Array<string>,
};

/** One model on one day. */
export type UsageDay = {
  /** The day where the daemon runs: `2026-11-20`. */
  day: string,
  /** The model. */
  model: string,
  /** In how many conversations that are still kept. */
  conversations: number,
  /** How much. */
  used: UsageInfo,
};

/** Tokens and cost. */
export type UsageInfo = {
  /** Requests. */
  requests: number,
  /** Tokens read, those of the two below included. */
  input: number,
  /** Of these, from the vendor's cache. */
  cacheRead: number,
  /** Of these, written to it. */
  cacheWrite: number,
  /** Tokens written. */
  output: number,
  /** Estimated cost in millionths of a US dollar, of the requests whose price is known. */
  costMillionths: number,
  /** Requests whose price is not known. */
  unpriced: number,
};

/** Of which days, and which conversation. */
export type UsageParams = {
  /** The last so many days, today included; all that is kept if it is left out. */
  days?: number,
  /** Only this conversation. */
  sessionId?: string,
};

/** What models were used for. */
export type UsageResult = {
  /** By day and model, the oldest first. */
  days: Array<UsageDay>,
  /** All together. */
  total: UsageInfo,
};

/** What ACP has no place for. */
export type UserMessageMeta = {
  /** Ours. */
  vault: UserMessageVaultMeta,
};

/** Where a message came from. */
export type UserMessageVaultMeta = {
  /** `chat`, `cli`, `voice`. */
  source: string,
  /** What its client called it. */
  clientMessageId?: string,
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

/** Why a step failed. */
export type WorkflowFault = {
  /** A stable word. */
  code: string,
  /** What went wrong. */
  message: string,
  /** What to do about it. */
  hint?: string,
};

/** A run. */
export type WorkflowInfo = {
  /** Its number. */
  run: number,
  /** The workflow's own name. */
  workflow: string,
  /** What its definition is called: a file. */
  source: string,
  /** `running`, or as in [`WorkflowResult`]. */
  state: string,
  /** When it was started, local time. */
  began: string,
  /** When it ended, local time. */
  ended?: string,
  /** The steps that wait for a person. */
  waiting: Array<string>,
};

/** How many runs to list. */
export type WorkflowListParams = {
  /** At most so many; 20 if it is left out. */
  limit?: number,
};

/** Runs that made changes or were to. */
export type WorkflowListResult = {
  /** They, the newest first. */
  runs: Array<WorkflowInfo>,
};

/** How far a workflow is. */
export type WorkflowParams = {
  /** The event's number. */
  _meta: EventMeta,
  /** The run; none for a dry run. */
  run?: number,
  /** The workflow's own name. */
  workflow: string,
  /** The step's name. */
  step: string,
  /** The place of the element, from 0. */
  item?: number,
  /** `begun`, or how it ended. */
  state: string,
  /** Steps that have ended. */
  done: number,
  /** Steps there are. */
  total: number,
};

/** What came of a run. */
export type WorkflowResult = {
  /** Its number; none for a dry run, which is not recorded. */
  run?: number,
  /** The workflow's own name. */
  workflow: string,
  /** `shown` after a dry run, `done`, `failed`, `waiting` for a person, or `interrupted`. */
  state: string,
  /** The values it ran with, by name. */
  inputs: JsonValue,
  /** What `now()` gave: milliseconds since 1970. */
  now: number,
  /** Seconds east of Greenwich, then and there. */
  offset: number,
  /** Its steps, in the order in which they ended. */
  steps: Array<WorkflowStep>,
  /** Whether inputs and data were left out, since the answer would have been too long. */
  cut?: boolean,
};

/** A run to go on with: one that waits, was cut short, or failed. */
export type WorkflowResumeParams = {
  /** Its number. */
  run: number,
  /** A person agreed beforehand to all that needs it. */
  confirmed?: boolean,
  /**
   * Answers by step: `ask`, or `ask[2]` for the third element of a list. To a change that waits for agreement it
   * is `yes`, which holds for just what was shown, or `no`.
   */
  answers?: { [key in string]: string },
};

/** A workflow to run. */
export type WorkflowRunParams = {
  /** Its definition, as YAML or JSON. */
  text: string,
  /** What errors call it: the name of its file. */
  source?: string,
  /** Its inputs, by name. */
  inputs?: { [key in string]: JsonValue },
  /** Make changes. Without it nothing is changed, and what would be is shown. */
  apply?: boolean,
  /** A person agreed beforehand to all that needs it. */
  confirmed?: boolean,
  /** Answers to questions that its steps ask, by step. */
  answers?: { [key in string]: string },
};

/** A step, or of one with `for_each` one element. */
export type WorkflowStep = {
  /** Its name. */
  step: string,
  /** The place of the element, from 0. */
  item?: number,
  /** The tool, `model` or `ask`. */
  does: string,
  /**
   * `done`, `failed`, `skipped`, `shown` for a change that a dry run shows, `unknown` for what a dry run cannot
   * tell, `waiting`, or `not_run`.
   */
  state: string,
  /** What it was given. */
  input?: JsonValue,
  /** What it answered. */
  data?: JsonValue,
  /** The same for people. */
  text?: string,
  /** Why it failed. */
  error?: WorkflowFault,
  /** What a person has to answer. */
  waits?: WorkflowWaits,
};

/** What a person has to answer. */
export type WorkflowWaits = {
  /** The question. */
  question: string,
  /** The answers there are; none for any text. */
  choices?: Array<string>,
  /** Where a change needs agreement: the changes and the reasons, as in the error `approval_needed`. */
  approval?: JsonValue,
};

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
  /** How far callers are trusted with changes. */
  "_vault/mode": { params: ModeParams; result: ModeResult };
  /** What a person agreed to for good. */
  "_vault/approvals": { params: ApprovalsParams; result: ApprovalsResult };
  /** The questions that wait for a person. */
  "_vault/approvals/pending": { params: PendingParams; result: PendingResult };
  /** Answers one of them. */
  "_vault/approvals/answer": { params: AnswerParams; result: AnswerResult };
  /** Calls, and what was decided on them. */
  "_vault/audit": { params: AuditParams; result: AuditResult };
  /** The conversations, the one last active first. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Tells the history of a conversation again, and what happens in it from then on. */
  "session/load": { params: SessionLoadParams; result: SessionLoadResult };
  /** Whether a model is set up, for clients that offered to do so. */
  "authenticate": { params: AuthenticateParams; result: AuthenticateResult };
  /** Goes on with a conversation, and tells what happens in it from then on. */
  "session/resume": { params: SessionResumeParams; result: SessionChoices };
  /** Stops what goes on in a conversation and tells no more of it; it is kept. */
  "session/close": { params: SessionCloseParams; result: SessionCloseResult };
  /** Deletes a conversation for good. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResult };
  /** Sets how far the calls of a conversation are trusted. */
  "session/set_mode": { params: SetModeParams; result: SetModeResult };
  /** Chooses a mode or a model for a conversation. */
  "session/set_config_option": { params: SetConfigOptionParams; result: SetConfigOptionResult };
  /** One conversation with what was said in it. */
  "_vault/conversation": { params: ConversationParams; result: ConversationResult };
  /** Ends a conversation; the next message begins another. */
  "_vault/end": { params: EndParams; result: EndResult };
  /** Goes on from before an earlier message, or with another branch. */
  "_vault/fork": { params: ForkParams; result: ForkResult };
  /** Finds conversations by what was said in them. */
  "_vault/search_conversations": { params: SearchConversationsParams; result: SearchConversationsResult };
  /** Deletes conversations for good. */
  "_vault/delete_conversation": { params: DeleteConversationParams; result: DeleteConversationResult };
  /** Gives a conversation a title of a person's own. */
  "_vault/rename_conversation": { params: RenameConversationParams; result: RenameConversationResult };
  /** Writes a conversation into a note of the vault. */
  "_vault/export_conversation": { params: ExportConversationParams; result: ExportConversationResult };
  /** What a change set did, text by text. */
  "_vault/diff": { params: DiffParams; result: DiffResult };
  /** Notes and folders for somebody who types part of a name. */
  "_vault/complete": { params: CompleteParams; result: CompleteResult };
  /** Which language models are asked, and which could be. */
  "_vault/models": { params: ModelsParams; result: ModelsResult };
  /** Checks a vendor's key and stores it. */
  "_vault/models/key": { params: ModelKeyParams; result: ModelKeyResult };
  /** Asks something of the program that has the vault open. */
  "_vault/host/request": { params: HostRequestParams; result: HostRequestResult };
  /** A code that opens the daemon's page once. */
  "_vault/page_code": { params: PageCodeParams; result: PageCodeResult };
  /** What models were used for, and what that cost. */
  "_vault/usage": { params: UsageParams; result: UsageResult };
  /** Begins a conversation with the agent. */
  "session/new": { params: SessionNewParams; result: SessionNewResult };
  /** Says something to the agent; answered when the turn is over. */
  "session/prompt": { params: SessionPromptParams; result: SessionPromptResult };
  /** Messages that came by voice, and how they stand. */
  "_vault/inbox/list": { params: InboxListParams; result: InboxListResult };
  /** Has a message that was set aside tried again. */
  "_vault/inbox/retry": { params: InboxRetryParams; result: InboxResult };
  /** Lets go of a message. */
  "_vault/inbox/discard": { params: InboxDiscardParams; result: InboxResult };
  /** Has a model draft rules from a sentence, and plans what they would do. */
  "_vault/organize/draft": { params: OrganizeDraftParams; result: OrganizeDraftResult };
  /** The rules that run by themselves, since a person enabled them. */
  "_vault/rules/list": { params: RulesListParams; result: RulesListResult };
  /** Enables rules, so that they run by themselves. */
  "_vault/rules/enable": { params: RulesEnableParams; result: RulesEnableResult };
  /** Disables a rule. */
  "_vault/rules/disable": { params: RulesDisableParams; result: RulesDisableResult };
  /** The files that rules with `once` took; and has them forgotten. */
  "_vault/rules/marks": { params: RulesMarksParams; result: RulesMarksResult };
  /** Runs a workflow: as a dry run, or for real. */
  "_vault/workflow/run": { params: WorkflowRunParams; result: WorkflowResult };
  /** Goes on with a workflow that waits, was cut short, or failed. */
  "_vault/workflow/resume": { params: WorkflowResumeParams; result: WorkflowResult };
  /** The last runs of workflows, and how they stand. */
  "_vault/workflow/list": { params: WorkflowListParams; result: WorkflowListResult };
  /** Is anybody there: for clients that cannot send a WebSocket ping. */
  "_vault/ping": { params: PingParams; result: PingResult };
}

/** What a client may send without an answer. */
export interface ClientNotifications {
  /** Asks that a request in flight be given up. */
  "$/cancel_request": CancelParams;
  /** Stops the turn of a conversation. */
  "session/cancel": SessionCancelParams;
  /** The client has, or has no longer, the focus. */
  "_vault/host/focus": HostFocusParams;
  /** Another note is open in the client, or none. */
  "_vault/host/active_note_changed": ActiveNoteChangedParams;
}

/** What the daemon asks of a client. */
export interface ServerRequests {
  /** Asks a person whether a call may go on. */
  "session/request_permission": { params: RequestPermissionParams; result: RequestPermissionResult };
  /** Which note is open. */
  "_vault/host/active_note": { params: HostActiveNoteParams; result: HostActiveNoteResult };
  /** Open a note. */
  "_vault/host/open": { params: HostOpenParams; result: HostOpenResult };
  /** Show a notice. */
  "_vault/host/notice": { params: HostNoticeParams; result: HostNoticeResult };
  /** Delete a file as the user has set it. */
  "_vault/host/trash": { params: HostTrashParams; result: HostTrashResult };
  /** Rename a file and let links follow. */
  "_vault/host/rename": { params: HostRenameParams; result: HostRenameResult };
}

/** What the daemon sends by itself. */
export interface ServerNotifications {
  /** Something in the vault changed, through us or from outside. */
  "_vault/changed": ChangedParams;
  /** The steward has applied a change set. */
  "_vault/changes": ChangesParams;
  /** A plan was made or changed. */
  "_vault/plan": PlanParams;
  /** A job began, came further, or stands otherwise. */
  "_vault/job": JobParams;
  /** Something happened to a conversation as a whole. */
  "_vault/conversation_changed": ConversationChangedParams;
  /** A message came by voice, or stands otherwise. */
  "_vault/inbox": InboxParams;
  /** The connection to SmartHole stands otherwise. */
  "_vault/smarthole": SmartHoleParams;
  /** A step of a workflow begins, or has ended. */
  "_vault/workflow": WorkflowParams;
  /** The settings file has changed, and new settings hold. */
  "_vault/config_reloaded": ConfigReloadedParams;
  /** Another mode holds. */
  "_vault/mode_changed": ModeChangedParams;
  /** The settings file has changed and is wrong; the old settings hold. */
  "_vault/config_rejected": ConfigRejectedParams;
  /** Something happened in a conversation. */
  "session/update": SessionUpdateParams;
  /** A message of a conversation is whole, and kept. */
  "_vault/message": MessageParams;
  /** Something happened that is not for this client. */
  "_vault/hidden": HiddenParams;
  /** How a conversation stands. */
  "_vault/state": StateParams;
  /** An answer to a request of the server's is no longer needed. */
  "$/cancel_request": CancelParams;
}
