/*
 * Job: the server's own metric definitions, which a job without any of its own begins with.
 * Ownership: what is read is the arena's. Threads: any with the reader, or the writer's transaction.
 */
#pragma once

#include "base/json/json_read.h"
#include "store/store.h"

/* JSON; "" when none were ever set. */
enum status definitions_read_default(
	struct store_reader *reader, struct arena *arena, struct span *json, struct error *err) MUST_CHECK;
enum status definitions_write_default(struct store_tx *tx, struct span json, struct error *err) MUST_CHECK;
/* As they are stored, a job's or the server's; *out NULL: there are none. What cannot be read is damaged: of that alone an error that
 * is not ERR_MEMORY. */
enum status definitions_parse(struct json **out, struct span text, struct error *err) MUST_CHECK;
/* A new job gets them as its own. */
enum status definitions_put_default(
	struct store_tx *tx, int64_t job_id, uint32_t generation, struct error *err) MUST_CHECK;
