/* Job: back-fills: a job's log extracted again by other definitions. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

enum backfill_state { BACKFILL_RUNNING, BACKFILL_DONE, BACKFILL_FAILED, BACKFILL_CANCELLED };
struct backfill_row { /* the newest of a job */
	int64_t job_id; /* 0: it never had one */
	uint32_t generation; /* of the definitions that it extracts by */
	enum backfill_state state;
	int64_t started_ms;
	int64_t updated_ms;
	uint64_t lines, lines_total; /* looked at, and all: grows while the job runs */
	uint64_t bytes, bytes_total; /* the same of their text */
	struct span error; /* of a failed one */
};
enum status store_put_backfill(struct store_tx *tx, const struct backfill_row *row, struct error *err) MUST_CHECK;
enum status store_read_backfill(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct backfill_row *out, struct error *err) MUST_CHECK;
/* The running one that began first; job_id 0: none runs. */
enum status store_next_backfill(
	struct store_reader *reader, struct arena *arena, struct backfill_row *out, struct error *err) MUST_CHECK;

/* Where it stands in a stream. */
struct backfill_stream_row {
	int64_t job_id;
	uint32_t stream_id; /* 0: it has not begun */
	uint32_t generation; /* of the definitions */
	uint64_t next_line;
	bool is_final; /* made while the sealer waited for the change */
	struct span state; /* as in stream_row */
	struct span incidents; /* opaque here */
};
enum status store_put_backfill_stream(
	struct store_tx *tx, const struct backfill_stream_row *row, struct error *err) MUST_CHECK;
enum status store_read_backfill_stream(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct backfill_stream_row *out, struct error *err) MUST_CHECK;
/* Every stream's state becomes the one that the back-fill made; where it stood in them is forgotten. */
enum status store_adopt_backfill(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
enum status store_forget_backfill(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Series numbers first..last: their rows, points and pyramids are taken away from not_before_ms on, by store_sweep_dead. */
struct dead_series {
	int64_t job_id;
	uint32_t first_id, last_id;
	int64_t not_before_ms;
};
enum status store_bury_series(struct store_tx *tx, const struct dead_series *dead, struct error *err) MUST_CHECK;
/* Is something of the job still to be taken away? Its numbers are not free yet. */
enum status store_has_dead_series(
	struct store_reader *reader, int64_t job_id, bool *has_dead, struct error *err) MUST_CHECK;
