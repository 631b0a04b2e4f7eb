-- One call of a tool and what was decided on it. Never what a note says.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    caller TEXT NOT NULL,
    scope TEXT NOT NULL,
    conversation TEXT,
    tool TEXT NOT NULL,
    paths TEXT NOT NULL,
    decision TEXT NOT NULL,
    layer TEXT,
    reason TEXT,
    answered_by TEXT,
    outcome TEXT,
    microseconds INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    change_set INTEGER
) STRICT;
CREATE INDEX audit_time ON audit (time);

-- What a person agreed to for good.
CREATE TABLE approval (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tool TEXT NOT NULL,
    folder TEXT NOT NULL,
    agreed_by TEXT NOT NULL,
    time INTEGER NOT NULL,
    UNIQUE (tool, folder)
) STRICT;

-- What a person set while the steward runs.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
