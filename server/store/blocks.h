/* Job: sealed text. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

struct block_row {
	int64_t job_id;
	uint32_t stream_id;
	uint64_t first_line;
	uint64_t line_count;
	int64_t first_ms; /* smallest and largest log time */
	int64_t last_ms;
	uint64_t raw_bytes;
	struct span data; /* store/pack/block.h */
	struct span filter; /* store/pack/log_filter.h: put with the block (empty: none); not read with it */
};
/* Replaces a block that starts at the same line (the open last block grows by being written again). */
enum status store_put_block(struct store_tx *tx, const struct block_row *row, struct error *err) MUST_CHECK;
/* The block that holds the line, else the first one behind it; data empty and line_count 0 when there is none. */
enum status store_read_block(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t line, struct block_row *out, struct error *err) MUST_CHECK;
enum status store_read_last_block(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct block_row *out, struct error *err) MUST_CHECK;
/* The same without its text. */
enum status store_read_last_block_head(struct store_reader *reader, int64_t job_id, uint32_t stream_id,
	struct block_row *out, struct error *err) MUST_CHECK;

/* What a search plans by: the blocks of a job (stream_id 0: of all its streams) without their text, by stream and line. */
struct block_head {
	uint32_t stream_id;
	uint64_t first_line;
	uint64_t line_count;
	int64_t first_ms;
	int64_t last_ms;
};
enum status store_read_block_heads(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct block_head **out, size_t *count, struct error *err) MUST_CHECK;
/* What a block's text may hold; empty when nobody knows. */
enum status store_read_log_filter(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	uint64_t first_line, struct span *filter, struct error *err) MUST_CHECK;

/* Behind *after, of the next look_at blocks, the first without a filter; *after is moved on. *is_end: there are no more. */
struct block_place {
	int64_t job_id;
	uint32_t stream_id;
	uint64_t first_line;
};
enum status store_find_unfiltered_block(struct store_reader *reader, struct block_place *after, size_t look_at,
	bool *is_found, bool *is_end, struct error *err) MUST_CHECK;
/* The filter of a block that has none; nothing happens when it has one now, or is not what it was (row: without data). */
enum status store_add_log_filter(struct store_tx *tx, const struct block_row *row, struct error *err) MUST_CHECK;
