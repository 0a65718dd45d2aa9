/* Job: what is known of a job beside its document: settings, progress, summaries, ranks, attributes. Ownership and threads: as store.h. */
#pragma once

#include "model/metrics/metric.h"
#include "model/metrics/point.h"
#include "store/store.h"

/* Settings found in log lines; the first one of a key stays. Search finds them as hp.KEY where the document states none. */
struct setting_row {
	struct span key;
	struct span value;
	uint32_t stream_id;
	uint64_t line;
	struct span stream; /* its name; when read */
};
enum status store_add_settings(struct store_tx *tx, int64_t job_id, const struct setting_row *rows, size_t count,
	struct error *err) MUST_CHECK;
enum status store_read_settings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct setting_row **out, size_t *count, struct error *err) MUST_CHECK; /* by key */

/* How far a job is: of its last step, and when that will be. */
struct job_progress {
	int64_t total_steps; /* 0: not known, as below */
	struct span total_from;
	int64_t eta_ms;
};
enum status store_put_progress(
	struct store_tx *tx, int64_t job_id, const struct job_progress *progress, struct error *err) MUST_CHECK;
enum status store_read_progress(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct job_progress *out, struct error *err) MUST_CHECK; /* zeroes: none */

/* What a page of jobs shows, per metric, folded over streams; flushed from RAM. */
struct summary_row {
	struct span metric;
	struct span unit;
	enum role role;
	enum role main_role; /* read only: of the job's metrics this one answers for the role; ROLE_OTHER: for none */
	struct summary summary;
};
/* Replaces the job's rows, and its counts. */
struct job_counts {
	uint64_t streams;
	uint64_t lines;
	int64_t last_line_ms; /* log time */
	int64_t last_heard_ms; /* time of arrival */
	uint32_t attempts; /* the highest of its streams; 0: not known */
	int64_t work_to_ms; /* the last line or point that belongs to its work; 0: not known */
};
enum status store_put_summaries(struct store_tx *tx, int64_t job_id, const struct job_counts *counts,
	const struct summary_row *rows, size_t count, struct error *err) MUST_CHECK;
enum status store_read_summaries(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct job_counts *counts, struct summary_row **out, size_t *count, struct error *err) MUST_CHECK;
/* The one that answers for the role, whatever number of metrics the job has. */
enum status store_read_main_summary(struct store_reader *reader, struct arena *arena, int64_t job_id, enum role role,
	struct summary_row *out, bool *is_there, struct error *err) MUST_CHECK;

/* By the summaries: the metric that answers for the role; "": none, or none was flushed yet. */
enum status store_find_main_metric(struct store_reader *reader, struct arena *arena, int64_t job_id, enum role role,
	struct span *metric, struct error *err) MUST_CHECK;

/* What a metric comes to when jobs are ranked by it (pipeline/jobs/ranking.h). */
struct ranking_row {
	struct span metric;
	uint64_t mark; /* of the points that it was made from, by rank_jobs.c; the column is called points */
	double best;
	int64_t best_step;
	double final;
};
enum status store_put_ranking(
	struct store_tx *tx, int64_t job_id, const struct ranking_row *row, struct error *err) MUST_CHECK;
enum status store_read_rankings(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct ranking_row **out, size_t *count, struct error *err) MUST_CHECK; /* by metric */

/* A leaf of the job's document, or a setting out of its log, as search knows it: "hp.lr", "ResourceConfig.InstanceCount". */
struct attribute_row {
	struct span key; /* of several elements of a list the same */
	struct span text;
	bool is_number;
	double number;
};
enum status store_read_attributes(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct attribute_row **out, size_t *count, struct error *err) MUST_CHECK; /* by key */
