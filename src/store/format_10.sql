-- Rules that a person enabled, so that they run by themselves: the exact text, and what that may touch. One that was
-- disabled or enabled anew stays, `off`, since `why` names it.
CREATE TABLE enabled_rule (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The rule file: a path in the vault, or an absolute one.
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Of what the rule means.
    hash TEXT NOT NULL,
    -- The text of the file, as it was.
    definition TEXT NOT NULL,
    -- What it does, as a sentence.
    sentence TEXT NOT NULL,
    -- JSON lists: the folders that it may touch, and the words for what it does.
    folders TEXT NOT NULL,
    actions TEXT NOT NULL,
    with_trash INTEGER NOT NULL,
    -- `automatic`, `ask`, `stopped` or `off`.
    state TEXT NOT NULL,
    -- Why it is stopped.
    reason TEXT,
    -- Milliseconds since 1970, and the program of the person.
    enabled INTEGER NOT NULL,
    enabled_by TEXT NOT NULL,
    -- Files that changed until then are not looked at.
    since INTEGER NOT NULL,
    -- The time of a schedule that it ran for last.
    last_run INTEGER,
    -- The plan of it that waits for a person.
    waiting INTEGER
) STRICT;
CREATE UNIQUE INDEX enabled_rule_name ON enabled_rule (name) WHERE state != 'off';

-- What rules did by themselves, file by file.
CREATE TABLE rule_hit (
    rule INTEGER NOT NULL REFERENCES enabled_rule (id) ON DELETE CASCADE,
    -- Milliseconds since 1970.
    time INTEGER NOT NULL,
    job INTEGER NOT NULL,
    -- The change of the journal that left the file at `left_at`.
    change_set INTEGER NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    left_at TEXT NOT NULL,
    -- The revision that it had before; empty where nobody had read it.
    revision TEXT NOT NULL,
    -- What it did and why, as JSON.
    why TEXT NOT NULL,
    PRIMARY KEY (rule, change_set, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX rule_hit_time ON rule_hit (time);
CREATE INDEX rule_hit_set ON rule_hit (change_set);

-- The enabled rules by whom a job was begun, as a JSON list; empty for one that somebody asked for.
ALTER TABLE job ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
