-- Limits, each with the one that is wanted in its place and since when: one that lets more go holds
-- only after a while. Those of texts count days by their numbers.
CREATE TABLE held (
    name TEXT PRIMARY KEY,
    holds INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT;
ALTER TABLE day DROP COLUMN versions;
ALTER TABLE day DROP COLUMN days;
