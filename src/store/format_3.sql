-- The days on which the steward ran, each once: a clock can jump, these cannot. With each, what the
-- clock said, the newest operation there was, and the limits that held.
CREATE TABLE day (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    newest_operation INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    days INTEGER NOT NULL
) STRICT;

CREATE INDEX step_deletion ON step (id) WHERE kind = 'delete' AND undone_by IS NULL;
CREATE INDEX step_move ON step (id) WHERE kind = 'move';
CREATE INDEX step_undoes ON step (undoes) WHERE undoes IS NOT NULL;
