-- A sender's own key of a note (Idempotency-Key): sent again, it is the same note.
ALTER TABLE notes ADD COLUMN idempotency_key text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX notes_by_key ON notes (job_id, idempotency_key) WHERE idempotency_key <> '';
-- Those whose hour is over go with the next note, which must not look at all of them.
CREATE INDEX notes_deleted ON notes (job_id, deleted_ms) WHERE deleted_ms > 0;
