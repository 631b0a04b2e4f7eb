-- Workflows that change something: what was started, and each of its steps, written when it begins and when it ends.
CREATE TABLE workflow_run (
    -- Never given twice: change sets are named after it.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow TEXT NOT NULL,
    -- The text it was read from, which is run to its end whatever becomes of the file.
    definition TEXT NOT NULL,
    source TEXT NOT NULL,
    -- JSON.
    inputs TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Milliseconds since 1970; `began` is what `now()` gives in every step.
    began INTEGER NOT NULL,
    ended INTEGER
) STRICT;
CREATE TABLE workflow_step (
    run INTEGER NOT NULL REFERENCES workflow_run (id) ON DELETE CASCADE,
    step TEXT NOT NULL,
    -- The place of the element in `for_each`, from 0; -1 for a step without.
    item INTEGER NOT NULL,
    state TEXT NOT NULL,
    -- JSON: what the step was given, and what came of it.
    input TEXT NOT NULL,
    outcome TEXT,
    PRIMARY KEY (run, step, item)
) STRICT, WITHOUT ROWID;
