/*
 * Job: the body of a call, {"args": [], "kwargs": {"logs": [{…}, …]}}, and one entry of its list. Pure.
 * Ownership: texts are in the arena, `metrics` and `config` in the body. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "ingest/json_scan.h"

enum {
	TRACKIO_NAME_MAX_BYTES = 500, /* of a project, a run, a title */
	TRACKIO_ID_MAX_BYTES = 128,
};

/* "": it is not said. */
struct trackio_entry {
	size_t at; /* its place in the list */
	const char *list; /* by which name errors call it */
	struct span project, run, run_id;
	struct span log_id; /* of an alert, too: the same one is the same entry */
	struct span metrics, config; /* JSON objects */
	struct span title, text, level; /* of an alert */
	int64_t step; /* NO_STEP: not said */
	int64_t ts_ms; /* NO_TIME: not said */
};
enum status trackio_entry_read(
	struct json_scan *s, struct arena *arena, struct trackio_entry *out, struct error *err) MUST_CHECK;

/* Each entry of kwargs.NAME, which must be there, by a call that takes it. */
enum status trackio_each_entry(
	struct span body, const char *name, json_scan_take *take, void *context, struct error *err) MUST_CHECK;
/* kwargs.NAME as a text; "": it is absent or null. */
enum status trackio_text(struct span body, const char *name, struct arena *arena, size_t max_bytes, struct span *out,
	struct error *err) MUST_CHECK;
