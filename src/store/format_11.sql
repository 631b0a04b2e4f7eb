-- The agent of the settings that answers in a conversation; none: the steward's own.
ALTER TABLE conversation ADD COLUMN agent TEXT;
