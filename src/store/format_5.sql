-- How far the index of what was said goes: items up to this one are in it. What is newer is put there
-- some at a time, and before a search: an index that is written with every message costs as much as
-- the message. Never ahead of the newest item, since its number may be given again once it is deleted.
CREATE TABLE item_indexed (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    newest INTEGER NOT NULL
) STRICT;
INSERT INTO item_indexed (only, newest) SELECT 1, coalesce(max(id), 0) FROM item;

DROP TRIGGER item_text_new;
DROP TRIGGER item_text_gone;
CREATE TRIGGER item_text_gone AFTER DELETE ON item BEGIN
    INSERT INTO item_text (item_text, rowid, text)
    SELECT 'delete', old.id, old.text
    WHERE old.id <= (SELECT newest FROM item_indexed);
    UPDATE item_indexed SET newest = (SELECT coalesce(max(id), 0) FROM item)
    WHERE newest > (SELECT coalesce(max(id), 0) FROM item);
END;

-- Calls that nobody has answered yet: each start looks for them.
CREATE INDEX audit_asked ON audit (id) WHERE decision = 'asked';
