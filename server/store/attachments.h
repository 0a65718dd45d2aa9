/*
 * Job: small files of a job. A file is begun, its parts are put, and it is ended: until then nobody finds it.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

enum { ATTACHMENT_PART_BYTES = 1 << 20 };

struct attachment_row {
	int64_t job_id, attachment_id;
	struct span path, content_type;
	uint64_t bytes;
	struct span sha256; /* in hex */
	int64_t created_ms;
	struct span author;
	bool is_whole;
};

struct attachment_limits {
	uint64_t files, bytes; /* of a job */
	uint64_t file_bytes; /* of one file: the caller's to check */
};

/*
 * Sets row->attachment_id. What the same path has now is not counted: it will be replaced. ERR_TOO_LARGE: no room. Those that were begun
 * long ago and never ended, because the server was, are deleted.
 */
enum status store_begin_attachment(struct store_tx *tx, struct attachment_row *row,
	const struct attachment_limits *limits, struct error *err) MUST_CHECK;
/* The same for a job that nobody sees yet and whose attachments were counted: without a look at the others. */
enum status store_import_attachment(struct store_tx *tx, struct attachment_row *row, struct error *err) MUST_CHECK;
/* packed: a zstd frame. ERR_CONFLICT: it is not there any more. */
enum status store_put_attachment_part(struct store_tx *tx, const struct attachment_row *row, uint64_t part,
	struct span packed, struct error *err) MUST_CHECK;
/* In place of others at its path. ERR_CONFLICT as above. */
enum status store_end_attachment(struct store_tx *tx, const struct attachment_row *row, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND */
enum status store_delete_attachment(
	struct store_tx *tx, struct arena *arena, int64_t job_id, struct span path, struct error *err) MUST_CHECK;

/* Whole ones by path, behind `after`. */
enum status store_read_attachments(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span after,
	size_t limit, struct attachment_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Whole ones of all jobs by number, behind these, for the check. */
enum status store_next_attachments(struct store_reader *reader, struct arena *arena, int64_t job_id,
	int64_t attachment_id, size_t limit, struct attachment_row **out, size_t *count, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND */
enum status store_find_attachment(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span path,
	struct attachment_row *out, struct error *err) MUST_CHECK;
/* A zstd frame. ERR_GONE: it was replaced or deleted meanwhile. */
enum status store_read_attachment_part(struct store_reader *reader, struct arena *arena,
	const struct attachment_row *row, uint64_t part, struct span *packed, struct error *err) MUST_CHECK;
