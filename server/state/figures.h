/*
 * Job: the counters of a pipeline, for /metrics and health.
 * Ownership: the pipeline's; any thread reads them.
 */
#pragma once

#include <stdatomic.h>

struct pipeline_figures {
	atomic_uint_fast64_t lines;
	atomic_uint_fast64_t bytes;
	atomic_uint_fast64_t points;
	atomic_uint_fast64_t unextracted_lines; /* of slices whose extraction failed, or waits for a replay */
	atomic_uint_fast64_t memory_waits; /* of extraction */
	atomic_uint_fast64_t refused_points; /* of series beyond max_series_a_stream, and of parts that had no room */
	atomic_uint_fast64_t old_samples; /* no newer than their series' last: there already, or out of order */
	atomic_uint_fast64_t commits;
	atomic_uint_fast64_t commit_us; /* sum */
	atomic_uint_fast64_t batches;
	atomic_uint_fast64_t duplicate_lines;
	atomic_uint_fast64_t duplicate_pushes;
	atomic_uint_fast64_t cut_lines;
	atomic_uint_fast64_t refused_busy;
	atomic_uint_fast64_t failed_commits;
	atomic_uint_fast64_t journal_bytes;
	atomic_uint_fast64_t committed_seq;
	atomic_uint_fast64_t extracted_seq;
	atomic_uint_fast64_t
		indexed_seq; /* what searches know of logs (summaries, settings) is of all commits up to it */
	atomic_uint_fast64_t sealed_lines;
	atomic_uint_fast64_t sealed_points;
	atomic_uint_fast64_t open_bytes; /* of batches that are being filled */
	atomic_uint_fast64_t lost_lines; /* acknowledged, but their journal record is damaged */
	atomic_uint_fast64_t incidents;
	atomic_uint_fast64_t lines_per_s; /* over the last seconds */
	atomic_int_fast64_t lag_ms; /* of the last second: the longest from a line's arrival until it was extracted */
	atomic_int_fast64_t lag_so_far_ms; /* of this one */
	atomic_uint_fast64_t damaged_rows; /* of the store, met while sealing */
	atomic_uint_fast64_t expired_blocks; /* deleted by a limit */
	atomic_uint_fast64_t log_bytes_limit; /* 0: none */
	atomic_bool is_log_bytes_chosen; /* nobody stated it */
	atomic_uint_fast64_t chosen_disk_bytes; /* by what size of the disk; 0: that is not known */
	atomic_uint_fast64_t used_bytes; /* of the database's pages */
	atomic_int_fast64_t used_at_ms; /* when that was looked at */
	atomic_int_fast64_t growth_bytes_a_day; /* INT64_MIN: not known yet */
	atomic_uint_fast64_t disk_free_bytes;
	atomic_uint_fast64_t disk_owed_bytes; /* by which the file grows yet for what was taken */
	atomic_bool is_disk_low; /* ingest answers 503 */
	atomic_bool is_database_lost; /* and so it does then: see pipeline_database_loss */
};
