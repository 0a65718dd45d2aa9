/*
 * Job: the domain's verbs on durable data. SQL exists below this header only (store/sqlite).
 * Ownership: rows that are read have their spans in the arena that the caller gives.
 * Threads: store_open gives the one writing connection; a store_tx exists on the writer thread alone, so the types say
 *      who may write. Each store_reader is a read-only connection of one thread. Readers are short: no snapshot outlives
 *      100 ms or a socket wait.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash128.h"
#include "base/zone.h"
#include "model/aggregate.h"
#include "model/incident.h"
#include "model/job_time.h"
#include "model/metric.h"
#include "model/point.h"
#include "model/query.h"
#include "store/alerts.h"

struct store;
struct store_tx;
struct store_reader;

struct store_options {
	const char *path; /* of the database, which is locked, and PATH.lock with it */
	size_t wal_bytes; /* a checkpoint with RESTART beyond this: 64 MiB */
	size_t writer_cache_bytes; /* 16 MiB */
	size_t reader_cache_bytes; /* 2 MiB */
	size_t search_bytes; /* of properties that searches of jobs keep in memory, over all readers: 512 MiB */
	bool skips_backup; /* else FILE.before-NNNN is made before a migration that older programs cannot live with */
};

/* Takes the lock, opens, migrates. ERR_CONFLICT: another server has it; ERR_UNSUPPORTED: newer than this program, or on a
 * network file system. */
enum status store_open(struct store **out, const struct store_options *options, struct error *err) MUST_CHECK;
void store_free(struct store *store);
/* Before it nobody was silent: whoever was not heard was not listened to. */
void store_listens_since(struct store *store, int64_t since_ms);

enum status store_reader_new(struct store_reader **out, struct store *store, struct error *err) MUST_CHECK;
void store_reader_free(struct store_reader *reader);
/* One consistent view over several reads. Without it each read is its own. */
enum status store_reader_begin(struct store_reader *reader, struct error *err) MUST_CHECK;
void store_reader_end(struct store_reader *reader);
/* Reads of this reader past the deadline fail with ERR_UNAVAILABLE (5 s after begin by default). */
void store_reader_deadline(struct store_reader *reader, int64_t ms);

/* ---- transactions (writer thread) ---- */
enum status store_tx_begin(struct store_tx **out, struct store *store, struct error *err) MUST_CHECK;
/* Durable when OK (synchronous=FULL). On an error the transaction is rolled back. Both end the tx.
 * ERR_UNAVAILABLE: the disk is full or read-only; ERR_IO: it failed. */
enum status store_tx_commit(struct store_tx *tx, struct error *err) MUST_CHECK;
void store_tx_rollback(struct store_tx *tx);
/* Reads inside the transaction see its own writes. */
struct store_reader *store_tx_reader(struct store_tx *tx);
/* A nested step that can be undone alone: a poison slice harms itself only. */
enum status store_tx_savepoint(struct store_tx *tx, struct error *err) MUST_CHECK;
enum status store_tx_release(struct store_tx *tx, struct error *err) MUST_CHECK;
void store_tx_undo(struct store_tx *tx);

/*
 * Is the database still the file at its path, and whole? Each begin and each commit asks: what is in a file without a name is not
 * stored (ERR_UNAVAILABLE, until the next start, with the reason). For times in which nothing is committed.
 */
enum status store_look_at_file(struct store *store, struct error *err) MUST_CHECK;

/* Between transactions: PASSIVE when called idle, RESTART past wal_bytes. */
enum status store_checkpoint(struct store *store, bool is_idle, struct error *err) MUST_CHECK;

struct store_figures {
	uint64_t wal_bytes;
	uint64_t page_count;
	uint64_t freelist_count;
	uint32_t page_bytes;
};
enum status store_figures(struct store_reader *reader, struct store_figures *out, struct error *err) MUST_CHECK;

/* ---- jobs ---- */
struct job_row {
	int64_t job_id; /* 0 in store_put_job: a new one */
	struct span name;
	struct span team;
	struct span document; /* JSON as created and merged, without derived fields */
	struct span status; /* SageMaker's TrainingJobStatus */
	struct span secondary;
	struct span failure_reason;
	int64_t created_ms; /* decided with its life, for all who ask: state/history.h */
	int64_t announced_ms; /* its document or first line came, or an event says it outright; 0 in store_put_job: created_ms */
	int64_t started_ms; /* 0: not yet, as below */
	int64_t ended_ms;
	int64_t modified_ms;
	uint32_t generation; /* of the metric definitions in force */
	bool is_implicit; /* made by its first line, no document was posted */
};
/* Inserts (job_id 0, then set) or updates all columns. ERR_CONFLICT when the name is taken. */
enum status store_put_job(struct store_tx *tx, struct job_row *row, struct error *err) MUST_CHECK;
enum status store_read_job(struct store_reader *reader, struct arena *arena, struct span name, struct job_row *out,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND names the job */
enum status store_read_job_by_id(struct store_reader *reader, struct arena *arena, int64_t job_id, struct job_row *out,
	struct error *err) MUST_CHECK;
/* The job is gone at once, and everything small that belongs to it; its lines in the journal are then nobody's and are skipped.
 * Its text and points are taken away by store_sweep_dead. */
enum status store_delete_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
/* Takes away about `limit` rows of deleted jobs, and of series that are due; *has_more: call again, in another transaction. */
enum status store_sweep_dead(
	struct store_tx *tx, int64_t now_ms, size_t limit, bool *has_more, struct error *err) MUST_CHECK;
enum status store_has_dead(struct store_reader *reader, int64_t now_ms, bool *has_dead, struct error *err) MUST_CHECK;

/* Who said it; whom to trust: state/history.h. The numbers are in the database. */
/* SOURCE_DATED: stated without a time, which is the one at which the job's log ended; SOURCE_BY_HAND: its time was set right, and SOURCE_ASSUMED_BY_HAND
 * that of what is assumed in all else. */
enum transition_source {
	SOURCE_STATED,
	SOURCE_ASSUMED,
	SOURCE_LOG,
	SOURCE_EXIT,
	SOURCE_SESSION,
	SOURCE_DATED,
	SOURCE_BY_HAND,
	SOURCE_ASSUMED_BY_HAND
};
struct transition_row {
	struct span status; /* SageMaker's SecondaryStatus */
	struct span message;
	int64_t start_ms;
	int64_t end_ms; /* 0: the present one */
	enum transition_source source;
};
/* These, and no others: what is shown, made of what was told (store/told.h). */
enum status store_put_transitions(struct store_tx *tx, int64_t job_id, const struct transition_row *rows, size_t count,
	struct error *err) MUST_CHECK;
/* How new the newest EventBridge event was by which the job's document was changed; 0: there was none. */
enum status store_put_newest_event(
	struct store_tx *tx, int64_t job_id, int64_t newest_ms, struct error *err) MUST_CHECK;
enum status store_read_newest_event(
	struct store_reader *reader, int64_t job_id, int64_t *newest_ms, struct error *err) MUST_CHECK;
enum status store_read_transitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct transition_row **out, size_t *count, struct error *err) MUST_CHECK;

/* Between the two times: how long it waited for machines, which nobody is billed for (spot interruptions, retries). */
enum status store_read_idle(struct store_reader *reader, int64_t job_id, int64_t from_ms, int64_t to_ms,
	int64_t *idle_ms, struct error *err) MUST_CHECK;

/* Metric definitions: JSON array as given, one row a generation. */
enum status store_put_definitions(
	struct store_tx *tx, int64_t job_id, uint32_t generation, struct span json, struct error *err) MUST_CHECK;
enum status store_read_definitions(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t generation, struct span *json, struct error *err) MUST_CHECK; /* empty when there are none */
/* The newest that has a row; 0: none has. */
enum status store_newest_generation(
	struct store_reader *reader, int64_t job_id, uint32_t *generation, struct error *err) MUST_CHECK;

/* ---- warm pools: what server/fleet/pool.h derives, and from what ---- */
struct pool_job_row {
	int64_t job_id;
	uint64_t shape; /* below 2^63 */
	int64_t begun_ms;
	int64_t ended_ms; /* 0: it runs */
	int64_t keep_alive_ms; /* 0: none */
	int64_t released_ms; /* 0: not before its time */
	bool is_retained;
	int64_t startup_ms; /* -1: not known */
	struct span told_heir; /* name of the job that a report says got the cluster */
	int64_t told_heir_id; /* read only; 0: there is no such job */
	struct span name; /* of the job, read only; "": it was deleted, what its cluster did was not */
	/* derived */
	int64_t pool_id; /* 0: in no pool */
	uint32_t position;
	bool is_last;
	int state; /* enum pool_state */
	int64_t heir_id; /* 0: none */
	struct span heir; /* its name; read only */
	int64_t retained_ms;
	int64_t until_ms;
	int64_t pool_begun_ms; /* of the pool's first job; read only, as is: */
	int64_t change; /* grows with each row that is written */
};
enum status store_put_pool_job(struct store_tx *tx, const struct pool_job_row *row, struct error *err) MUST_CHECK;
enum status store_delete_pool_job(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;
enum status store_put_pool_shape(struct store_tx *tx, uint64_t shape, struct span fields, struct error *err) MUST_CHECK;
/* "": there is no such shape. */
enum status store_read_pool_shape(struct store_reader *reader, struct arena *arena, uint64_t shape, struct span *fields,
	struct error *err) MUST_CHECK;
/* job_id 0: the job has no part in pools. */
enum status store_read_pool_job(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct pool_job_row *out, struct error *err) MUST_CHECK;
/* Whether any job of the shape keeps its cluster. */
enum status store_has_pools(struct store_reader *reader, uint64_t shape, bool *has, struct error *err) MUST_CHECK;
/* By begun_ms, then job_id: the first `limit` that began at from_ms or later. */
enum status store_read_pool_group(struct store_reader *reader, struct arena *arena, uint64_t shape, int64_t from_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* In no order: those that began before from_ms and whose cluster jobs that began in from_ms..to_ms, or job_id, may have got. */
struct pool_window {
	uint64_t shape;
	int64_t from_ms, to_ms;
	int64_t ended_after_ms; /* a cluster that was free before then is gone, unless it is known who got it */
	int64_t job_id; /* 0: none */
};
enum status store_read_pool_donors(struct store_reader *reader, struct arena *arena, const struct pool_window *window,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* Clusters that were left behind by jobs that ended in from_ms..at_ms, the newest first, of any shape. */
enum status store_read_pools_left(struct store_reader *reader, struct arena *arena, int64_t from_ms, int64_t at_ms,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* By begun_ms, of any shape: those that began in from_ms..to_ms and after the last one of the page before (job_id 0: none). */
enum status store_read_pool_jobs(struct store_reader *reader, struct arena *arena, const struct pool_job_row *after,
	int64_t from_ms, int64_t to_ms, size_t limit, struct pool_job_row **rows, size_t *count,
	struct error *err) MUST_CHECK;
/* When the first job of the shape began whose report says that `name` got its cluster; INT64_MAX: none says so. */
enum status store_read_pool_told(
	struct store_reader *reader, uint64_t shape, struct span name, int64_t *begun_ms, struct error *err) MUST_CHECK;
/* The last jobs of pools that changed after a change, in that order; and the newest change. */
enum status store_read_pool_changes(struct store_reader *reader, struct arena *arena, int64_t after, size_t limit,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
enum status store_last_pool_change(struct store_reader *reader, int64_t *change, struct error *err) MUST_CHECK;
/* The chain of a pool, its first job first; none: there is no such pool. */
enum status store_read_pool(struct store_reader *reader, struct arena *arena, int64_t pool_id,
	struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* The last jobs of pools in a state (0: in any) with numbers below before_id, the newest pool first. */
enum status store_read_pools(struct store_reader *reader, struct arena *arena, int state, int64_t before_id,
	size_t limit, struct pool_job_row **rows, size_t *count, struct error *err) MUST_CHECK;
/* Until training began, of the newest jobs of a shape that got no waiting cluster; at most `limit`, the smallest first. */
enum status store_read_cold_startups(struct store_reader *reader, uint64_t shape, int64_t *out_ms, size_t limit,
	size_t *count, struct error *err) MUST_CHECK;
/* Of available pools the one that goes first; job_id 0: there is none. */
enum status store_next_pool_due(
	struct store_reader *reader, struct arena *arena, struct pool_job_row *out, struct error *err) MUST_CHECK;
struct pool_waiting {
	uint64_t shape;
	struct span fields; /* as pool_shape_print made them */
	int64_t pool_id; /* of those of the shape the one that waits longest */
	struct span job; /* the last one that used it */
	int64_t until_ms;
};
/* One a shape, of clusters that wait at now_ms. */
enum status store_read_pools_waiting(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct pool_waiting **out, size_t *count, struct error *err) MUST_CHECK;

/* ---- back-fills: a job's log extracted again by other definitions ---- */
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
/* Of the jobs whose definitions mean something else since an upgrade, the first; 0: none is left. */
enum status store_next_due_definitions(struct store_reader *reader, int64_t *job_id, struct error *err) MUST_CHECK;
enum status store_forget_due_definitions(struct store_tx *tx, int64_t job_id, struct error *err) MUST_CHECK;

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

/* By the summaries: the metric that answers for the role; "": none, or none was flushed yet. */
enum status store_find_main_metric(struct store_reader *reader, struct arena *arena, int64_t job_id, enum role role,
	struct span *metric, struct error *err) MUST_CHECK;

/* What a metric comes to when jobs are ranked by it (pipeline/jobs/ranking.h). */
struct ranking_row {
	struct span metric;
	uint64_t points; /* it was made from */
	double best;
	int64_t best_step;
	double final;
};
enum status store_put_ranking(
	struct store_tx *tx, int64_t job_id, const struct ranking_row *row, struct error *err) MUST_CHECK;
enum status store_read_ranked_points(struct store_reader *reader, int64_t job_id, struct span metric, uint64_t *points,
	struct error *err) MUST_CHECK; /* 0: none */

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

/* What a query asks of logs no row answers: who searches looks (read/search_jobs.h), as far as it must be known. */
enum log_answer { LOG_NOT_LOOKED, LOG_NO, LOG_YES };
struct log_answers {
	enum log_answer (*look)(void *context, const struct query_term *term, int64_t job_id);
	void *context;
	bool assumes; /* what was not looked up is as it must be for the job to match; else as it must not be */
};

struct job_search {
	const struct query_node *query; /* NULL: all */
	struct span sort; /* "", "name", "-created", "loss", "-metric.NAME.max" …; ERR_SEMANTIC when unknown */
	struct span cursor; /* "" or a next_cursor */
	size_t offset; /* without a cursor: so many jobs of the order are left out */
	size_t limit;
	bool wants_total;
	bool wants_cursors;
	const struct log_answers *logs; /* NULL: ERR_SEMANTIC for a query that asks of logs */
	int64_t limit_ms; /* it ends after so long, with what it has; 0: ERR_UNAVAILABLE at the reader's deadline */
};
struct job_search_result {
	struct job_row *rows;
	struct span *cursors; /* behind each row, when wanted */
	size_t count;
	struct span next_cursor; /* empty on the last page */
	uint64_t total; /* when wanted */
	bool is_partial; /* out of time: there may be more than what was found */
};
enum status store_search_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_result *out, struct error *err) MUST_CHECK;
/* Which of these jobs satisfy the query. */
enum status store_match_jobs(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	const struct log_answers *logs, const struct job_row *rows, size_t count, bool *matches,
	struct error *err) MUST_CHECK;
/* ---- aggregation: what groups of jobs come to ---- */
struct job_aggregation {
	const struct query_node *query; /* NULL: all */
	const struct aggregate_name *names; /* of the groups' keys */
	size_t name_count;
	const struct aggregate_figure *figures;
	size_t figure_count;
	const struct zone *zone; /* whose months and days; NULL: UTC */
	int64_t now_ms; /* until when jobs that run are counted */
	uint64_t max_groups;
	uint64_t max_periods; /* days or months of one job; one with more is left out and counted */
	uint64_t *too_long_jobs; /* so many; zeroed by the caller */
	uint64_t max_values; /* kept for medians and percentiles */
	int64_t time_ms; /* longer it must not take */
	bool wants_unpriced, wants_losses;
	const struct log_answers *logs; /* as in job_search */
};
struct job_group {
	struct span *keys; /* ptr NULL: jobs without one */
	size_t key_count;
	double *figures; /* NAN: no job of the group has a value */
	uint64_t unpriced_jobs; /* without a price: they are in no sum of costs. Counted where wants_unpriced. */
	struct span *unpriced_types; /* of these, each once */
	size_t unpriced_type_count;
	uint64_t unknown_losses; /* breaks that no sum of lost_steps has. Counted where wants_losses. */
};
/*
 * Over all jobs that match. By month or day a job is in each in which it ran; what adds up over time is shared among them: duration
 * by the clock, the rest as the job's days have it. ERR_SEMANTIC with the column: nobody groups by that, or there is no such quantity.
 */
enum status store_aggregate_jobs(struct store_reader *reader, struct arena *arena,
	const struct job_aggregation *aggregation, struct job_group **out, size_t *count, struct error *err) MUST_CHECK;

/* How a search is answered: its terms one by one, and the order. */
struct job_search_step {
	const struct query_node *term; /* NULL: the order */
	struct span columns; /* in memory that are looked at; "": SQL looks job by job */
	uint64_t jobs; /* that satisfy it; of the order, and without columns: 0 */
};
enum status store_explain_jobs(struct store_reader *reader, struct arena *arena, const struct job_search *search,
	struct job_search_step **steps, size_t *count, struct error *err) MUST_CHECK;
/* All jobs whose status is InProgress or Stopping, and all jobs. */
enum status store_count_jobs(struct store_reader *reader, uint64_t *live, uint64_t *all, struct error *err) MUST_CHECK;

/* ---- suggestions: what there is to search for, most frequent first ---- */
enum suggestion_kind { SUGGEST_KEYS, SUGGEST_VALUES, SUGGEST_METRICS, SUGGEST_NAMES, SUGGEST_TEAMS };
struct suggestion_query {
	enum suggestion_kind kind;
	struct span key; /* of SUGGEST_VALUES: "hp.lr", "ResourceConfig.InstanceType"; else "" */
	struct span prefix; /* of values and names in any case of letters */
	size_t limit;
};
struct suggestion {
	struct span text;
	uint64_t count; /* of jobs or their elements; 500: at least so many */
};
/* *is_partial: there were more than are looked at, which are the first in order. */
enum status store_suggest(struct store_reader *reader, struct arena *arena, const struct suggestion_query *query,
	struct suggestion **out, size_t *count, bool *is_partial, struct error *err) MUST_CHECK;

/* ---- saved views ---- */
struct view_row {
	struct span team, owner, name; /* owner: of a token; "": the whole team's */
	struct span query, sort;
	struct span columns; /* JSON array of strings */
	int64_t modified_ms;
};
/* Replaces one of the same name. ERR_TOO_LARGE: its owner has `most` others. */
enum status store_put_view(
	struct store_tx *tx, const struct view_row *row, uint64_t most, struct error *err) MUST_CHECK;
/* The team's and the owner's, by name. */
enum status store_read_views(struct store_reader *reader, struct arena *arena, struct span team, struct span owner,
	struct view_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_delete_view(struct store_tx *tx, struct span team, struct span owner, struct span name,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND */

/* ---- streams and series ---- */
struct stream_row {
	int64_t job_id;
	uint32_t stream_id; /* numbered within the job from 1; 0 in store_put_stream: a new one */
	struct span name;
	struct span host; /* that sends now: stream_hosts.h; a new stream's first */
	int64_t created_ms;
	/* The first sealed_lines lines, and all that was derived from them, are in blocks, chunks and state; the rest is in the
	 * journal. sealed_seq: the newest commit of which something is sealed. */
	uint64_t sealed_seq;
	uint64_t sealed_lines;
	uint64_t sealed_bytes; /* as sent, newlines included */
	int64_t first_ms; /* log times of the sealed lines; 0: none */
	int64_t last_ms;
	struct span state; /* of the stream's consumers as of sealed_seq; opaque here */
};
enum status store_put_stream(struct store_tx *tx, struct stream_row *row, struct error *err) MUST_CHECK;
/* name empty: all streams of the job, in order of their number. */
enum status store_read_streams(struct store_reader *reader, struct arena *arena, int64_t job_id, struct span name,
	struct stream_row **out, size_t *count, struct error *err) MUST_CHECK;

struct series_row {
	int64_t job_id;
	uint32_t series_id; /* unique within the job; 0 in store_put_series: a new one, else inserted or updated */
	uint32_t stream_id;
	struct span metric;
	struct span labels; /* canonical label set, "" */
	struct span unit;
	enum role role;
	uint64_t sealed_points;
	struct summary sealed; /* over the sealed points that are not superseded */
};
enum status store_put_series(struct store_tx *tx, struct series_row *row, struct error *err) MUST_CHECK;
/* Where there is a row it stays as it is: how much is sealed only the sealer knows. */
enum status store_have_series(struct store_tx *tx, const struct series_row *row, struct error *err) MUST_CHECK;
/* stream_id 0: of all streams; metric empty: all. */
enum status store_read_series(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct span metric, struct series_row **out, size_t *count, struct error *err) MUST_CHECK;

/* ---- journal ---- */
enum status store_append_journal(struct store_tx *tx, uint64_t seq, struct span record, struct error *err) MUST_CHECK;
enum status store_read_journal(struct store_reader *reader, struct arena *arena, uint64_t seq, struct span *record,
	struct error *err) MUST_CHECK; /* ERR_NOT_FOUND: sealed and gone */
/* The oldest row with a number >= *seq: sets *seq; record.ptr is NULL when there is none. */
enum status store_next_journal(struct store_reader *reader, struct arena *arena, uint64_t *seq, struct span *record,
	struct error *err) MUST_CHECK;
/* The newest number ever given (its row always stays), 0 in a new database; and what the rows weigh. */
/* The two numbers alone: the sum takes a look at every row. 0: the journal is empty. */
enum status store_journal_range(
	struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq, struct error *err) MUST_CHECK;
enum status store_journal_figures(struct store_reader *reader, uint64_t *newest_seq, uint64_t *oldest_seq,
	uint64_t *bytes, struct error *err) MUST_CHECK;
/* Deletes rows below before_seq, at most limit of them, never the newest. */
enum status store_trim_journal(struct store_tx *tx, uint64_t before_seq, size_t limit, struct error *err) MUST_CHECK;

/* ---- sealed text and points ---- */
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

struct chunk_row {
	int64_t job_id;
	uint32_t series_id;
	uint64_t first_ordinal;
	uint64_t point_count;
	int64_t first_step; /* smallest and largest, and so the times: a reader skips what is outside its window */
	int64_t last_step;
	int64_t first_ms;
	int64_t last_ms;
	struct span data; /* store/pack/chunk.h */
};
enum status store_put_chunk(
	struct store_tx *tx, const struct chunk_row *row, struct error *err) MUST_CHECK; /* replaces */
/* The chunk that holds the point with this ordinal, else the first one behind it; point_count 0: none. */
enum status store_read_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	uint64_t ordinal, struct chunk_row *out, struct error *err) MUST_CHECK;
enum status store_read_last_chunk(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct chunk_row *out, struct error *err) MUST_CHECK;

/* ---- retention: log text is the one thing that limits delete ---- */
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

/* Gives at most `pages` free pages back to the file system; *left: how many there still are. */
enum status store_vacuum(struct store_tx *tx, size_t pages, uint64_t *left, struct error *err) MUST_CHECK;
/* What the file system that the database is on has free for us, in bytes. */
/* "NFS", "Lustre" …, where a database is refused; NULL: not a network's. magic as from statfs. */
const char *network_file_system(unsigned long magic);
enum status store_disk_free(const struct store *store, uint64_t *free_bytes, struct error *err) MUST_CHECK;
/* ---- pyramids: what charts read instead of points ---- */
struct pyramid_row {
	int64_t job_id;
	uint32_t series_id;
	uint64_t points; /* it covers the points before this ordinal; 0: there is none */
	struct span data; /* store/pack/pyramid.h: its heads */
};
/* One level of one attempt and axis. */
struct pyramid_level {
	int64_t job_id;
	uint32_t series_id;
	uint32_t attempt;
	unsigned axis; /* enum pyramid_axis */
	unsigned level;
};
enum status store_put_pyramid(struct store_tx *tx, const struct pyramid_row *row, struct error *err) MUST_CHECK;
enum status store_read_pyramid(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t series_id,
	struct pyramid_row *out, struct error *err) MUST_CHECK;
enum status store_put_buckets(struct store_tx *tx, const struct pyramid_level *level, int64_t position,
	struct span data, struct error *err) MUST_CHECK; /* replaces */
/* The rows with positions first..last that there are, in order, to `take`. */
enum status store_read_buckets(struct store_reader *reader, struct arena *arena, const struct pyramid_level *level,
	int64_t first, int64_t last,
	enum status (*take)(void *context, int64_t position, struct span data, struct error *err), void *context,
	struct error *err) MUST_CHECK;
enum status store_delete_buckets(struct store_tx *tx, const struct pyramid_level *level, struct error *err) MUST_CHECK;
/* Behind *job_id and *series_id, of the next look_at series, the first with at least `lag` sealed points that its pyramid
 * does not cover; both are moved on, and to the front again at the end. */
enum status store_find_lagging_series(struct store_reader *reader, int64_t *job_id, uint32_t *series_id, uint64_t lag,
	size_t look_at, uint64_t *sealed_points, bool *is_found, struct error *err) MUST_CHECK;

/* ---- bodies that are sent again: what their senders sent lately ---- */
struct push_row {
	int64_t job_id;
	uint32_t stream_id;
	struct hash128 hash; /* of all that the body held for the stream */
	int64_t seen_ms;
};
/* Seen since then, within this transaction as well? */
enum status store_is_push_known(struct store_tx *tx, const struct push_row *row, int64_t since_ms, bool *is_known,
	struct error *err) MUST_CHECK;
enum status store_put_push(struct store_tx *tx, const struct push_row *row, struct error *err) MUST_CHECK;
/* *oldest_ms: INT64_MAX when there is none. *surplus_ms: when the newest was seen of those that are more than `kept`; INT64_MIN:
 * there are not so many. */
enum status store_oldest_push(struct store_reader *reader, uint64_t kept, int64_t *oldest_ms, int64_t *surplus_ms,
	struct error *err) MUST_CHECK;
/* Deletes up to `limit` that were seen then or before. */
enum status store_delete_pushes(struct store_tx *tx, int64_t until_ms, size_t limit, struct error *err) MUST_CHECK;

/* ---- tokens and settings ---- */
struct token_row {
	int64_t token_id; /* 0: new */
	struct span name; /* unique */
	struct span hash; /* SHA-256 of the token, 32 bytes */
	struct span scope;
	struct span team;
	int64_t created_ms;
	uint64_t rate_requests, rate_bytes; /* a second; 0: as the options say */
};
enum status store_put_token(
	struct store_tx *tx, struct token_row *row, struct error *err) MUST_CHECK; /* ERR_CONFLICT: name */
enum status store_read_tokens(struct store_reader *reader, struct arena *arena, struct token_row **out, size_t *count,
	struct error *err) MUST_CHECK;
enum status store_delete_token(struct store_tx *tx, struct span name, struct error *err) MUST_CHECK; /* ERR_NOT_FOUND */

enum status store_put_setting(struct store_tx *tx, const char *key, struct span value, struct error *err) MUST_CHECK;
enum status store_read_setting(struct store_reader *reader, struct arena *arena, const char *key, struct span *value,
	struct error *err) MUST_CHECK; /* empty when absent */

/* ---- tools around the file ---- */
/* PATH with the suffix, of the file itself where PATH is a symbolic link to it. NULL: out of memory. */
char *store_beside(const char *path, const char *suffix) __attribute__((warn_unused_result));
/* A server, or a tool that keeps one out, has the file open, under this or another name. Not beside a connection of this process
 * to the same file, whose locks it would end. */
bool store_is_in_use(const char *path, int64_t *pid);

struct store_finding {
	const char *what; /* "block", "chunk", "journal", "pyramid", "filter", "database" … */
	struct span job; /* its name; "" where there is none */
	const char *part; /* "stream", "series", "" */
	uint64_t part_id;
	uint64_t at; /* first line, first point, sequence */
	struct span text; /* what is wrong */
};
struct store_check {
	bool is_quick; /* rows are counted and compared, blocks and chunks are not decoded */
	bool is_online; /* a server has the database: no read lasts longer than one table takes, and free pages are not looked at */
	void (*found)(void *context, const struct store_finding *finding);
	bool (*progress)(void *context, const char *what, uint64_t rows); /* now and then; false ends the check */
	void *context;
};
/* Reads the database at path, which may be in use; *problems: how many were found. An error: it could not go on. */
enum status store_check(
	const char *path, const struct store_check *check, uint64_t *problems, struct error *err) MUST_CHECK;

/*
 * A copy made while the server works, by the writer's own connection, so that what is written meanwhile is in it, too. Writer
 * thread only, between transactions. The copy appears at its path when it is whole; a file that is there is replaced.
 */
struct store_backup;
enum status store_backup_begin(
	struct store_backup **out, struct store *store, const char *path, struct error *err) MUST_CHECK;
/* Copies some pages; *left 0: all are there, in PATH.partial. */
enum status store_backup_step(
	struct store_backup *backup, size_t pages, uint64_t *left, uint64_t *total, struct error *err) MUST_CHECK;
/* Checks the copy (store_check) and puts it in place. */
enum status store_backup_finish(struct store_backup *backup, struct error *err) MUST_CHECK; /* any thread; not freed */
void store_backup_free(struct store_backup *backup); /* unfinished: leaves nothing behind */
/* The same without a server: takes the lock (ERR_CONFLICT: a server has it). */
enum status store_backup_offline(const char *path, const char *copy_path, struct error *err) MUST_CHECK;
/* Puts a copy in the place of a database that no server has; the old one is kept as PATH.before-restore when there is one
 * and `replaces`, else it is a conflict. */
enum status store_restore(const char *copy_path, const char *path, bool replaces, struct error *err) MUST_CHECK;

struct store_migration {
	int64_t number;
	struct span name;
	struct span about; /* the comment at its head */
	bool is_pending;
};
/* What opening the database with this program would do. path need not exist. */
enum status store_plan_migrations(const char *path, struct arena *arena, int64_t *version, uint64_t *bytes,
	struct store_migration **out, size_t *count, struct error *err) MUST_CHECK;

AUTO_TYPE(store)
AUTO_TYPE(store_reader)
AUTO_TYPE(store_backup)
