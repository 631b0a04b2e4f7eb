-- What the client of a conversation chose for it: the folder it said that it works in, and a mode and a
-- model for this conversation alone.
ALTER TABLE conversation ADD COLUMN cwd TEXT;
ALTER TABLE conversation ADD COLUMN mode TEXT;
ALTER TABLE conversation ADD COLUMN model TEXT;
CREATE INDEX conversation_source ON conversation (source, activity);
