-- What would happen to a vault, as JSON, and the rules it was made from, as they were given. `whole` says whether
-- its maker saw the whole vault: what else it says
-- than its items is for those alone who do.
CREATE TABLE plan (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL,
    made INTEGER NOT NULL,
    caller TEXT NOT NULL,
    whole INTEGER NOT NULL,
    content TEXT NOT NULL,
    rules TEXT NOT NULL
) STRICT;

-- What was applied of a plan: its items and the pieces they are applied in, as JSON. What is done of it is what the
-- journal has of the turn `job-ID`. A job that came to nothing is forgotten, and its number given again.
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    plan INTEGER NOT NULL,
    identity TEXT NOT NULL,
    state TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    caller TEXT NOT NULL,
    whole INTEGER NOT NULL,
    items TEXT NOT NULL,
    pieces TEXT NOT NULL,
    failure TEXT
) STRICT;

-- Which files a rule took that takes each a single time: by the hash of what the rule means, and the change of the
-- journal that left the file at this path.
CREATE TABLE rule_mark (
    rule TEXT NOT NULL,
    change_set INTEGER NOT NULL,
    number INTEGER NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (rule, change_set, number)
) STRICT, WITHOUT ROWID;
