/* Job: metric definitions by generation. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

/* Metric definitions: JSON array as given, one row a generation. */
enum status store_put_definitions(
	struct store_tx *tx, int64_t job_id, uint32_t generation, struct span json, struct error *err) MUST_CHECK;
enum status store_read_definitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t generation, struct span *json, struct error *err) MUST_CHECK; /* empty when there are none */
/* The newest that has a row; 0: none has. */
enum status store_newest_generation(
	struct store_reader *reader, int64_t job_id, uint32_t *generation, struct error *err) MUST_CHECK;

/* Of the jobs whose definitions mean something else since an upgrade, the first; 0: none is left. */
enum status store_next_due_definitions(struct store_reader *reader, int64_t *job_id, struct error *err) MUST_CHECK;
enum status store_forget_due_definitions(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
