/*
 * Job: the log of who changed what, and what there is to tell of a thing that can be changed.
 * Ownership: rows that are read have their spans in the caller's arena. Threads: as store.h.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct audit_row {
	int64_t entry_id;
	int64_t time_ms;
	struct span token, team, address;
	struct span verb;
	struct span object;
	struct span before, after; /* JSON objects; empty: it was not there */
};
/* Gives the number; the oldest rows go when all take more than limit_bytes. */
enum status store_put_audit(
	struct store_tx *tx, const struct audit_row *row, uint64_t limit_bytes, struct error *err) MUST_CHECK;
/* Newest first, of those before the entry `after` (0: all); team "": of all teams. */
enum status store_read_audit(struct store_reader *reader, struct arena *arena, struct span team, int64_t after,
	size_t limit, struct audit_row **out, size_t *count, struct error *err) MUST_CHECK;

struct audited_thing {
	struct span kind, id;
	struct span team, token; /* of who acts: of things that each team or person has of its own */
};
/*
 * The thing as a flat JSON object, without what is secret: hashes, sealed secrets, passwords in addresses. kind: "jobs", "webhooks",
 * "rules" …; one that is not known has nothing to tell. id "": the newest of them, or the only one. Nothing is written where it is
 * not there.
 */
enum status store_read_audited(
	struct store_reader *reader, const struct audited_thing *thing, struct buf *out, struct error *err) MUST_CHECK;
