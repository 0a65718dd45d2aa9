/* Job: log text is the one thing that limits delete. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct retention {
	bool is_pinned; /* of a job: its text stays, whatever the limits */
	int64_t max_age_ms; /* after the job's end; 0: the limit of the next wider scope, or none */
	uint64_t max_bytes; /* of one job's text, as sent; 0: as above */
};
struct team_retention {
	struct span team; /* "": the server's */
	struct retention retention;
};
enum status store_put_job_retention(
	struct store_tx *tx, int64_t job_id, const struct retention *retention, struct error *err) MUST_CHECK;
enum status store_read_job_retention(struct store_reader *reader, int64_t job_id, struct retention *out,
	struct error *err) MUST_CHECK; /* zeroes: none */
enum status store_put_team_retention(
	struct store_tx *tx, struct span team, const struct retention *retention, struct error *err) MUST_CHECK;
enum status store_read_team_retentions(struct store_reader *reader, struct arena *arena, struct team_retention **out,
	size_t *count, struct error *err) MUST_CHECK;

/* A job that has ended, is not pinned, and still has text. */
struct expendable {
	int64_t job_id;
	struct span name;
	struct span team;
	int64_t ended_ms; /* its end; of one that nobody ended: its last line's time */
	struct retention retention; /* its own */
	/* store_weigh_text: */
	uint64_t stored_bytes; /* what its blocks take */
	uint64_t text_bytes; /* what its text was, as sent */
};
/* Oldest end first, from behind (after_ms, after_id) on. silent_before_ms: one that nobody ended counts as ended when its last
 * line is older. */
enum status store_read_expendable(struct store_reader *reader, struct arena *arena, int64_t after_ms, int64_t after_id,
	int64_t silent_before_ms, size_t limit, struct expendable **out, size_t *count, struct error *err) MUST_CHECK;

/* Reads every block's row of the job: not for each slice. */
enum status store_weigh_text(struct store_reader *reader, struct expendable *row, struct error *err) MUST_CHECK;

struct doomed_block {
	uint32_t stream_id;
	uint64_t first_line, line_count;
	uint64_t raw_bytes;
	int64_t first_ms, last_ms;
};
/* Up to `limit` blocks that must go so that keep_bytes of text as sent stay, each stream's from its front. 0: all must go, in
 * any order of streams; else the oldest first, for which every block's row of the job is read. */
enum status store_read_doomed(struct store_reader *reader, struct arena *arena, int64_t job_id, uint64_t keep_bytes,
	size_t limit, struct doomed_block **out, size_t *count, struct error *err) MUST_CHECK;

struct text_deletion {
	int64_t job_id;
	int64_t now_ms;
	struct span reason; /* "budget", "age", "size" */
	const struct doomed_block *blocks; /* chosen by a reader: the writer's transaction looks for nothing */
	size_t count;
};
/* *deleted: how many were still there. */
enum status store_delete_text(
	struct store_tx *tx, const struct text_deletion *deletion, size_t *deleted, struct error *err) MUST_CHECK;

struct expired_text {
	uint32_t stream_id;
	uint64_t first_kept_line;
	uint64_t bytes;
	int64_t first_ms, last_ms;
	int64_t deleted_ms;
	struct span reason;
};
/* stream_id 0: of all streams. */
enum status store_read_expired(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct expired_text **out, size_t *count, struct error *err) MUST_CHECK;
