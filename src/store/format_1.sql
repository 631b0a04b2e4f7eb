-- One turn, plan or command: what `undo` takes.
CREATE TABLE change_set (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    caller TEXT NOT NULL,
    conversation TEXT,
    turn TEXT,
    undoes_set INTEGER,
    undoes_number INTEGER,
    began INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX change_set_turn ON change_set (turn) WHERE turn IS NOT NULL;

-- One call that changes the vault: all or nothing. A change set has one or, in a turn, several.
CREATE TABLE operation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    change_set INTEGER NOT NULL REFERENCES change_set (id),
    state TEXT NOT NULL CHECK (state IN ('intended', 'applied', 'taken_back')),
    began INTEGER NOT NULL,
    ended INTEGER
) STRICT;
CREATE INDEX operation_set ON operation (change_set);
CREATE INDEX operation_unfinished ON operation (id) WHERE state = 'intended';

-- One step of an operation, in the order in which it is done. `number` counts the changes of the
-- change set; several steps may belong to one change.
CREATE TABLE step (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    operation INTEGER NOT NULL REFERENCES operation (id),
    change_set INTEGER NOT NULL REFERENCES change_set (id),
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    other TEXT,
    before_text TEXT,
    after_text TEXT,
    notes INTEGER NOT NULL DEFAULT 0,
    detail TEXT NOT NULL,
    undoes INTEGER,
    undone_by INTEGER,
    texts_kept INTEGER NOT NULL DEFAULT 1,
    -- Of what the step says; SQLite's own check misses a bit flipped in a text.
    checksum TEXT NOT NULL
) STRICT;
CREATE INDEX step_operation ON step (operation);
CREATE INDEX step_set ON step (change_set, number);
CREATE INDEX step_path ON step (path);
CREATE INDEX step_other ON step (other) WHERE other IS NOT NULL;

-- The files of a folder that a step took away, below its path.
CREATE TABLE step_file (
    step INTEGER NOT NULL REFERENCES step (id),
    path TEXT NOT NULL,
    text TEXT,
    PRIMARY KEY (step, path)
) STRICT, WITHOUT ROWID;
