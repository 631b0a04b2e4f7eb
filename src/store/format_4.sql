-- The turns between two boundaries. Times are milliseconds since the Unix epoch.
CREATE TABLE conversation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    began INTEGER NOT NULL,
    last_active INTEGER NOT NULL,
    -- Counts up over all conversations: an order that no clock disturbs.
    activity INTEGER NOT NULL,
    source TEXT NOT NULL,
    branch INTEGER NOT NULL,
    branches INTEGER NOT NULL,
    -- The number of the newest item, on whichever branch.
    items INTEGER NOT NULL DEFAULT 0,
    ended INTEGER,
    end_kind TEXT,
    end_reason TEXT,
    title TEXT,
    summary TEXT,
    titled_by TEXT,
    -- How often a model was asked for a title; none: it is not wanted from one.
    title_tries INTEGER,
    -- Whether a look back is wanted.
    note_wanted INTEGER NOT NULL DEFAULT 0,
    waiting_since INTEGER,
    question TEXT,
    -- What the model was given at the beginning, as JSON: it never changes.
    context TEXT,
    CHECK ((ended IS NULL) = (end_kind IS NULL)),
    CHECK ((waiting_since IS NULL) = (question IS NULL))
) STRICT;
CREATE UNIQUE INDEX conversation_activity ON conversation (activity);
CREATE INDEX conversation_open ON conversation (activity) WHERE ended IS NULL;

-- A branch goes on from the items of its parent that have a smaller number than `before`.
CREATE TABLE branch (
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    number INTEGER NOT NULL,
    parent INTEGER,
    before INTEGER,
    began INTEGER NOT NULL,
    PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE turn (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    began INTEGER NOT NULL,
    ended INTEGER,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX turn_conversation ON turn (conversation);
-- One turn at a time.
CREATE UNIQUE INDEX turn_running ON turn (conversation) WHERE state = 'running';

CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversation (id),
    number INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    turn INTEGER REFERENCES turn (id),
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    body TEXT,
    -- Of what the item says; SQLite's own check misses a bit flipped in a text.
    checksum TEXT NOT NULL,
    UNIQUE (conversation, number)
) STRICT;
CREATE INDEX item_turn ON item (turn);

-- Three characters at a time: finds parts of words, and words of scripts without blanks.
CREATE VIRTUAL TABLE item_text USING fts5 (
    text, content = 'item', content_rowid = 'id', detail = full,
    tokenize = 'trigram remove_diacritics 1'
);
CREATE TRIGGER item_text_new AFTER INSERT ON item BEGIN
    INSERT INTO item_text (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER item_text_gone AFTER DELETE ON item BEGIN
    INSERT INTO item_text (item_text, rowid, text) VALUES ('delete', old.id, old.text);
END;

-- What models were used for. Conversation 0: those that were deleted.
CREATE TABLE usage (
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    conversation INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    input INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output INTEGER NOT NULL,
    -- Millionths of a US dollar, of the requests whose price was known.
    cost INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (day, model, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_conversation ON usage (conversation);

-- Messages as they came, kept before they are acknowledged. The order is that of `id`.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    -- The sender's own name for the message, and a hash of its text.
    message TEXT NOT NULL,
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    -- The rest of what the sender said, as JSON.
    body TEXT,
    state TEXT NOT NULL,
    -- Whether another text came under the same name before.
    differs INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL,
    turn INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    UNIQUE (source, message, hash)
) STRICT;
CREATE INDEX inbox_state ON inbox (state, id);
