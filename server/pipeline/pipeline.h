/*
 * Job: the only place that knows the order: journal, extract, detect, rule, seal, publish. Takes batches and control work
 *      from many threads; one writer commits them in groups; consumers of the journal derive everything else.
 * Ownership: new/free; a batch that was submitted with OK is the pipeline's.
 * Threads: its own: writer, extract x N, publisher, maintenance. Calls below from any thread unless they say otherwise.
 */
#pragma once

#include "base/arena.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "live/hub.h"
#include "model/batch.h"
#include "model/stretches.h"
#include "model/totals.h"
#include "store/sessions.h"
#include "store/store.h"

#include <stdatomic.h>

struct pipeline;

/* As was said at an earlier start, else half of what is free on the disk at the first one. */
#define LOG_BYTES_REMEMBERED UINT64_MAX

struct pipeline_options {
	struct store *store;
	struct hub *hub;
	struct span presets; /* presets.json */
	struct span devices; /* devices.json */
	struct span prices; /* prices.json */
	struct span aws_region, aws_account; /* in the ARNs of jobs that AWS gave none */
	struct span signatures; /* signatures.json; "": nothing is looked for */
	size_t queue_items; /* batches that may wait for the writer */
	size_t queue_bytes; /* and their memory; also of batches being filled, and of what extraction is behind: each */
	size_t group_bytes; /* a commit takes at most this much text: 4 MiB */
	int64_t group_ms; /* or this much work: 10 ms */
	uint64_t journal_bytes; /* rows not sealed yet; beyond it ingest answers 429 */
	uint64_t seal_bytes; /* journal size from which on everything is sealed */
	int64_t seal_age_ms; /* or the age of its oldest row */
	unsigned extract_threads;
	unsigned search_threads; /* beside the one that asks */
	uint32_t match_steps; /* a regular expression's limit on one line */
	uint64_t audit_bytes; /* of the log of who changed what */
	uint64_t log_bytes; /* the database may use so much before the oldest text goes; 0: no limit; or: */
	uint64_t min_free_bytes; /* less room than this on the disk stops ingest */
	int64_t delivery_age_ms; /* settled deliveries go after it; 0: they stay */
	int64_t silent_ms; /* who was not heard of for longer is silent */
	size_t max_jobs; /* in RAM: being written, or not sealed yet */
	size_t max_streams_a_job;
	size_t max_series_a_stream;
	size_t max_sources_a_stream;
	int64_t goodput_every_ms; /* how often a job's time is worked out while its lines come */
	int64_t lease_ms; /* of sessions */
	size_t max_statuses; /* that were told of one job */
	int64_t stop_after_ms; /* who was asked to stop and is not heard for so long has stopped */
	int64_t stall_ms; /* a running job's silence is no stall before it; 0: none is */
	struct span on_non_finite; /* emergency.h; "": nothing is done */
	int64_t emergency_grace_ms; /* how long a job may take for its checkpoint before it is stopped */
	/* A command is on disk: those who send the job are to be told. Any thread. */
	void (*command_given)(void *context, const struct command_row *command);
	/* When the last lease on one of the job's streams is, or was, over, by the wall clock; 0: nobody had one. Any thread; may be NULL. */
	int64_t (*lease_end_ms)(void *context, int64_t job_id);
	/* New outbox rows are on disk. Any thread. */
	void (*deliveries_due)(void *context);
	/* Each 50 ms, on the publisher's thread; may be NULL. */
	void (*tick)(void *context);
	void *context;
	struct span public_url; /* for links in messages */
};

/* Replays the journal (state as before the stop or the crash), then starts the threads. */
enum status pipeline_start(struct pipeline **out, const struct pipeline_options *options, struct error *err) MUST_CHECK;
/* No more batches (ERR_UNAVAILABLE); commits what waits, lets the consumers catch up, seals within deadline_ms. */
void pipeline_drain(struct pipeline *pipeline, int64_t deadline_ms);
/* After the drain. Stops the threads. */
void pipeline_free(struct pipeline *pipeline);

struct ingest_result {
	enum status status;
	struct error err;
	size_t accepted;
	size_t refused; /* points of series that the stream has no room for */
	size_t duplicate; /* lines and points that were here already: by an offset, or in a body sent again */
	size_t duplicate_pushes; /* of those bodies: streams */
	uint64_t seq;
	uint64_t next_offset; /* of the stream, when the batch had one part */
};

/*
 * done is called once, on the writer thread, when the batch is durable or refused: it must be quick and must not call back.
 * ERR_BUSY, ERR_UNAVAILABLE: not taken, done is not called, the batch stays the caller's.
 */
enum status pipeline_submit(struct pipeline *pipeline, struct batch *batch,
	void (*done)(void *context, const struct ingest_result *result), void *context, struct error *err) MUST_CHECK;

/*
 * Whoever fills a batch says what it holds, before and now. True: all of those together hold more than queue_bytes, so it
 * should be submitted as it is.
 */
bool pipeline_note_open(struct pipeline *pipeline, size_t before_bytes, size_t now_bytes);

/* A page of this job is opened and will subscribe soon: what comes meanwhile is kept for it. Any thread. */
void pipeline_expect_reader(struct pipeline *pipeline, struct span job);

/* Runs work inside a transaction of the writer, waits until it is durable. Worker threads only (it blocks). */
enum status pipeline_execute(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context,
	struct error *err) MUST_CHECK;

/* ---- jobs (worker threads: they wait for the writer) ---- */
/* A CreateTrainingJob document; is_told: it begins now, and webhooks are told. ERR_CONFLICT: exists (unless it was only made by its
 * first line); ERR_SEMANTIC with field. */
enum status pipeline_create_job(struct pipeline *pipeline, const struct json *document, struct span team,
	int64_t now_ms, bool is_told, struct error *err) MUST_CHECK;
/* Would pipeline_create_job take it? Nothing is stored. */
enum status pipeline_check_job(struct pipeline *pipeline, struct store_reader *reader, const struct json *document,
	struct span team, struct error *err) MUST_CHECK;
/* {"tags", "Tags", "hp", "notes", "labels", "ResourceConfig": {"KeepAlivePeriodInSeconds"}}; ERR_SEMANTIC names the field. */
enum status pipeline_change_job(struct pipeline *pipeline, struct span job, struct span team,
	const struct json *changes, struct error *err) MUST_CHECK;
/* Which settings of `asked` the job states otherwise: "kept": {KEY: what it states}. */
enum status pipeline_write_kept_settings(struct store_reader *reader, struct span job, const struct json *asked,
	struct json_writer *w, struct error *err) MUST_CHECK;
struct job_transition {
	struct span secondary;
	struct span message;
	struct span failure_reason;
	int64_t time_ms;
	bool has_time; /* it is said when that was; else it is said of the present, and time_ms is now */
	const struct json *unless; /* array of statuses in which the job is left as it is; NULL: none */
	/* In the same transaction, before it; NULL: nothing is. */
	enum status (*first)(void *context, struct store_tx *tx, struct error *err);
	void *context;
};
enum { TRANSITION_REASON_BYTES = 256 };
/*
 * ERR_CONFLICT when the job has one of the statuses that `unless` names. ignored: why it changes nothing of what is shown, and
 * will not; "": it does, or is known already; may be NULL.
 */
enum status pipeline_add_transition(struct pipeline *pipeline, struct span job, struct span team,
	const struct job_transition *transition, char ignored[TRANSITION_REASON_BYTES], struct error *err) MUST_CHECK;
/*
 * All of its log was imported, and nobody said how it ended: it is assumed to be Completed where its log ends, as long as nobody
 * says otherwise; more of the log moves that. time_ms: of a job of which no line or point has a time.
 */
enum status pipeline_assume_end(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	struct span team, int64_t time_ms, struct error *err) MUST_CHECK;
/*
 * What EventBridge says of a training job: `detail` is its document with its status. The job is made if it is not there; what
 * is newer changes its document, and all of it its history, where the same told twice and the older after the newer change
 * nothing. ERR_SEMANTIC with the field in `detail`.
 */
enum event_result { EVENT_ACCEPTED, EVENT_DUPLICATE };
enum status pipeline_take_event(struct pipeline *pipeline, const struct json *detail, struct span team, int64_t sent_ms,
	enum event_result *result, struct error *err) MUST_CHECK;
/* ERR_CONFLICT while it runs and was heard of in the last ten minutes. */
enum status pipeline_delete_job(
	struct pipeline *pipeline, struct span job, struct span team, int64_t now_ms, struct error *err) MUST_CHECK;

/* ---- metric definitions (worker threads) ---- */
/*
 * What the job's lines are extracted by from now on: an array as in MetricDefinitions, [{"Preset": name}], or [] for the preset
 * that fits its first lines. With backfill the whole stored log is extracted again in the background, and until that is done
 * readers see what was; ERR_CONFLICT while one runs, or when text that it needs was deleted by a limit. It is also set, and the log
 * extracted again, where the ones before cannot be read: nothing was extracted by them.
 */
enum status pipeline_change_definitions(struct pipeline *pipeline, struct span job, struct span team,
	const struct json *definitions, bool *backfill, struct error *err) MUST_CHECK;
enum status pipeline_cancel_backfill(
	struct pipeline *pipeline, struct span job, struct span team, struct error *err) MUST_CHECK;
/* Those of jobs that are made from now on without any of their own; [] : presets. */
enum status pipeline_change_default_definitions(
	struct pipeline *pipeline, const struct json *definitions, struct error *err) MUST_CHECK;
enum definitions_source {
	DEFINITIONS_NONE, /* no line yet that a preset knows */
	DEFINITIONS_JOB, /* its own */
	DEFINITIONS_SERVER, /* the server's, as they were when the job was made, and still are */
	DEFINITIONS_PRESET /* of the name, asked for or chosen by lines */
};
struct definitions_view {
	enum definitions_source source;
	struct span preset; /* of the stream that has most lines; "": none */
	struct span reason;
	uint32_t generation;
	struct metric_definition *items;
	size_t count;
	struct backfill_row backfill; /* job_id 0: there was none */
	struct span damage; /* why they cannot be read, and what to do; "": they can */
};
struct job_view;
/* The same of the job's definitions alone. */
enum status pipeline_read_damage(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct span *out, struct error *err) MUST_CHECK;
/* view: of the job, with its series. */
enum status pipeline_view_definitions(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct definitions_view *out, struct error *err) MUST_CHECK;
enum status pipeline_view_default_definitions(struct pipeline *pipeline, struct store_reader *reader,
	struct arena *arena, struct definitions_view *out, struct error *err) MUST_CHECK;
/* Into an object that is open. */
void pipeline_write_backfill(const struct backfill_row *row, struct json_writer *w);
/* By number from 0; NULL: there are no more. Its definitions: what is in *out. */
const char *pipeline_preset(
	const struct pipeline *pipeline, struct arena *arena, size_t number, struct definitions_view *out);

/* ---- retention: limits on log text, the one thing that is ever deleted by them (worker threads) ---- */
enum status pipeline_pin_job(
	struct pipeline *pipeline, struct span job, struct span team, bool is_pinned, struct error *err) MUST_CHECK;
/* limits: of the job, which keeps its pin. */
enum status pipeline_limit_job(struct pipeline *pipeline, struct span job, struct span team,
	const struct retention *limits, struct error *err) MUST_CHECK;
/* team "": the server's. */
enum status pipeline_limit_team(
	struct pipeline *pipeline, struct span team, const struct retention *limits, struct error *err) MUST_CHECK;
/* What the database may use; remembered. */
enum status pipeline_limit_space(struct pipeline *pipeline, uint64_t log_bytes, struct error *err) MUST_CHECK;

/*
 * Copies the database to path while work goes on, checks the copy, then puts it in place. Blocks; progress is asked four times
 * a second, in the calling thread; false ends it.
 */
enum status pipeline_backup(struct pipeline *pipeline, const char *path,
	bool (*progress)(void *context, uint64_t left, uint64_t total), void *context, struct error *err) MUST_CHECK;

/* ---- views: what is sealed and what is in RAM, as one ---- */
struct series_view {
	uint32_t series_id;
	struct span metric;
	struct span unit;
	enum role role;
	int higher;
	struct summary summary; /* of the points that are not superseded */
	int64_t min_step, max_step, min_ms, max_ms; /* over all points */
	uint64_t sealed_points;
	struct totals totals; /* of a distribution's counts */
	struct point *tail; /* a copy of the points behind them; NULL unless asked for */
	size_t tail_count;
};
struct health_view {
	struct span name;
	uint64_t tried, matched, not_numeric, limited, missing, without_step;
};
struct stream_view {
	uint32_t stream_id;
	struct span name;
	struct span host;
	uint64_t lines;
	uint64_t extracted_lines; /* so many of them are in first_ms, last_ms and the series */
	uint64_t bytes;
	int64_t first_ms; /* 0: no line yet */
	int64_t last_ms;
	struct stretches
		stretches; /* first_ms and last_ms are of all lines and points, these of those that belong together */
	int64_t last_arrival_ms;
	bool has_skew;
	int64_t skew_ms; /* of its clock: what its log times are ahead of arrival */
	uint64_t sent_points; /* points that came as such */
	uint64_t extracted_points; /* of these, see extracted_lines */
	bool has_hole; /* extraction stopped there for want of memory; it is tried again (mend.h) */
	uint32_t attempt;
	const int64_t *attempt_starts; /* attempt i + 1 opened at step starts[i] */
	size_t attempt_start_count;
	struct span preset; /* "" : definitions of the job, or none recognised yet */
	struct span preset_reason; /* why that one; "" with preset "" */
	uint32_t series_base; /* what the numbers of its series begin with: another after a back-fill */
	struct series_view *series;
	size_t series_count;
	struct health_view *health;
	size_t health_count;
};
struct job_view {
	struct job_row row;
	struct stream_view *streams;
	size_t stream_count;
	uint64_t seq; /* everything up to it is in the view */
};
enum view_parts { VIEW_SERIES = 1, VIEW_TAILS = 2 };
/* stream "": all of them; metric "": all, else it (or the role so called) alone, without health. ERR_NOT_FOUND names the job or stream. */
enum status pipeline_view_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct span metric, unsigned parts, struct job_view *out,
	struct error *err) MUST_CHECK;

/* The stream of rank 0, or of the leading node, and why it is taken for that; stream "": the job has none. */
struct rank_0 {
	struct span stream;
	struct span reason;
};
/* view: with its series. */
enum status pipeline_find_rank_0(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct rank_0 *out, struct error *err) MUST_CHECK;

/* The metric that answers for a role (model/main_metric.h); view: with its series. "": none does. */
enum status pipeline_find_main(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	enum role role, struct span *metric, struct error *err) MUST_CHECK;
enum status pipeline_find_mains(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct span mains[ROLE_COUNT], struct error *err) MUST_CHECK;

struct line_view {
	uint64_t number;
	int64_t ts_ms; /* effective log time */
	struct span text;
	uint32_t flags;
};
/* Lines from..from+limit of one stream (from UINT64_MAX: the last limit ones), fewer when they have more text than
 * max_bytes. *total: lines of the stream. */
enum status pipeline_read_lines(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, uint64_t from, size_t limit, size_t max_bytes, struct line_view **out,
	size_t *count, uint64_t *total, struct error *err) MUST_CHECK;
/* Text of one stream as it came, from line next to end, batch by batch. The call with out NULL settles where it begins (behind
 * what was deleted) and ends; each other one appends a batch and moves next on, until it is end. Lines that were damaged, or
 * deleted meanwhile, become one line that says so. ERR_GONE: the job was deleted. */
struct raw_place {
	uint64_t next, end;
	uint64_t total; /* lines of the stream, at the first call */
	int64_t job_id;
};
enum status pipeline_read_raw(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	struct span stream, struct raw_place *place, struct buf *out, struct error *err) MUST_CHECK;

enum chart_axis { AXIS_STEP, AXIS_TIME, AXIS_RELATIVE };
enum { ATTEMPTS_LIVE = -1, ATTEMPTS_ALL = -2 };
struct chart_query {
	struct span metric; /* its name, or a role: "loss" */
	struct span stream; /* "": folded over all */
	enum chart_axis axis;
	int64_t from; /* inclusive; INT64_MIN: from the first */
	int64_t to; /* inclusive; INT64_MAX: to the last */
	size_t buckets;
	int attempts; /* ATTEMPTS_LIVE, ATTEMPTS_ALL or a number */
};
struct bucket {
	int64_t x; /* of its first point, and of the others */
	int64_t last_x, min_x, max_x;
	double first, last, min, max, sum;
	uint64_t count; /* finite values */
	uint64_t nan_count, inf_count, neg_inf_count;
	uint64_t min_line, max_line, first_line;
	uint32_t min_stream, max_stream, first_stream; /* index into the view's streams */
	uint32_t attempt;
};
struct chart {
	struct span metric; /* the one that was found */
	struct bucket *buckets; /* only those that hold points, in order of x */
	size_t count;
	uint64_t total_points;
	int64_t bucket_width;
	struct job_view view;
	struct chart_link { /* of a chain: whose the next `buckets` buckets are; NULL else */
		struct span job;
		int64_t first_step;
		size_t buckets;
	} * links;
	size_t link_count;
};
enum status pipeline_read_chart(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, struct chart *out, struct error *err) MUST_CHECK;
/* The streams of a job beside each other: means by stream and bucket. AXIS_STEP or AXIS_TIME; the query's stream is not looked at. */
struct heat {
	struct span metric; /* the one that was found */
	double *means; /* row by row; NaN: no point there, infinite: none that is finite */
	uint32_t *row_streams; /* of each row, index into the view's streams; those without a point have none */
	size_t row_count, columns;
	int64_t first_x; /* where the first column begins; each is bucket_width wide */
	int64_t bucket_width;
	struct job_view view;
};
enum status pipeline_read_heat(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, struct heat *out, struct error *err) MUST_CHECK;
/* Over all jobs of its run, by steps: those that a later job prints again are superseded. Streams of the view are of all of them. */
enum { CHAIN_JOBS_MAX = 100 };
enum status pipeline_read_chain(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *query, struct chart *out, struct error *err) MUST_CHECK;
/* A batch of the points of one stream, in order of arrival; ordinal 0, then next_ordinal, until is_end. metric is a name, axis
 * AXIS_STEP or AXIS_TIME; points that the query does not ask are left out, so a batch may be empty. */
struct points_batch {
	struct point *points;
	size_t count;
	uint64_t next_ordinal;
	bool is_end;
	/* With other ones, ordinals are other points': a back-fill took its place. */
	uint32_t generation; /* of the job's definitions */
	uint32_t series_base; /* of the stream */
};
enum status pipeline_read_points(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, const struct chart_query *query, uint64_t ordinal,
	struct points_batch *out, struct error *err) MUST_CHECK;
/* By its name (which, said without labels, means those with labels, too), else by the name of a role: the name of the metric that is meant. */
enum status pipeline_resolve_metric(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, struct span *metric, struct error *err) MUST_CHECK;
/* Every point of the window in order of arrival, stream after stream, to `take`; ends early when that is not OK. */
enum status pipeline_each_point(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query,
	enum status (*take)(void *context, const struct stream_view *stream, const struct series_view *series,
		const struct point *point, int64_t x, struct error *err),
	void *context, struct error *err) MUST_CHECK;

/*
 * Points of a window of time by equal periods, of all attempts and in no order: those that lie in one period as far as pyramids have
 * them as one, the others one by one. query: metric, from and to.
 */
struct period_reading {
	int64_t origin_ms, period_ms;
	/* Finite values of one period, at a time in it; NULL: all come one by one. */
	void (*take_sum)(void *context, int64_t ts_ms, uint64_t count, double sum, double min, double max);
	enum status (*take_point)(void *context, const struct point *point, struct error *err);
	void *context;
};
enum status pipeline_each_period(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct chart_query *query, const struct period_reading *asked,
	struct error *err) MUST_CHECK;

/* What the derived metrics of a job are made from; pipeline_write_derivation says it of one, into its object: "derived":{"formula",
 * "inputs":{NAME:{"value","from"}}}; nothing of a metric that the log prints. */
struct inputs;
enum status pipeline_read_inputs(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct inputs **out, struct error *err) MUST_CHECK;
/* Of the instance type in ResourceConfig; NaN: it is not known. */
double pipeline_devices_each(const struct pipeline *pipeline, const struct json *document);
/* Of a fault by its name in signatures.json: the machine works on, and nothing broke for it. */
bool pipeline_is_nonfatal(const struct pipeline *pipeline, struct span signature);
/* How many processes of a trainer an instance has: of Trainium its cores, as the job's environment puts them together; NaN: not known. */
double pipeline_ranks_each(const struct pipeline *pipeline, const struct json *document);
/* Of the model, as the job's settings say; NaN: they do not. */
enum status pipeline_read_parameters(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, double *parameters, struct error *err) MUST_CHECK;
void pipeline_write_derivation(const struct inputs *inputs, struct span metric, struct json_writer *w);

/* When anything of the stream came last; 0: not since this start. */
int64_t pipeline_stream_heard_ms(struct pipeline *pipeline, struct span job, struct span stream);
/* heard_ms, when it has been too long ago for a job that runs, else 0: heard of so and so long, not more. While the server was
 * down nobody could be heard. */
int64_t pipeline_silent_before(
	const struct pipeline *pipeline, int64_t now_ms); /* who was heard of last before that is */
int64_t pipeline_silent_since(const struct pipeline *pipeline, const struct job_row *row, int64_t heard_ms);

/* How fast jobs go that said something since heard_after_ms, against what is usual of each; those of which both are known. */
struct job_pace {
	struct span job;
	struct span metric;
	struct span unit;
	bool is_step_time; /* now and usual are steps a unit of time then */
	double now, usual;
	int64_t heard_ms;
};
enum status pipeline_read_paces(struct pipeline *pipeline, struct arena *arena, int64_t heard_after_ms,
	struct job_pace **out, size_t *count, struct error *err) MUST_CHECK;

/* A row of the jobs list, as the API and the live events show it. */
enum status pipeline_write_job_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err) MUST_CHECK;
/* Into an object that is open, for a table: as a row, but of metrics only those that answer for a role (else the first one), and
 * neither settings nor tags. */
enum status pipeline_write_slim_row(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, struct json_writer *w, struct error *err) MUST_CHECK;
/* Into an object that is open: the derived fields alone. */
enum status pipeline_write_derived(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, const struct json *document, struct json_writer *w, struct error *err) MUST_CHECK;

/*
 * Tries an array of metric definitions on lines and writes one object: {"lines":[{"index","text","captures":[…]}],"definitions":
 * [{"Name","tried","matched","numeric","limited","match_rate","us_per_line","warnings":[{"code","text"}]} or {"Name","error"}],
 * "partial"?}. start and end are byte columns of the text. Blocks for at most some seconds: worker threads.
 */
enum status pipeline_try_definitions(const struct pipeline *pipeline, const struct json *definitions,
	const struct span *lines, size_t count, struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- rules (worker threads) ---- */
struct rule;
/* rule_id 0: a new one, else in its place: its expression begins anew. ERR_CONFLICT: the name; ERR_TOO_LARGE: there are `most`. */
enum status pipeline_put_rule(struct pipeline *pipeline, struct rule *rule, size_t most, struct error *err) MUST_CHECK;
enum status pipeline_delete_rule(struct pipeline *pipeline, int64_t rule_id, struct error *err) MUST_CHECK;
/* A message that says no more than that it is one. *delivery_id: of the webhook's log. */
enum status pipeline_test_webhook(
	struct pipeline *pipeline, int64_t webhook_id, int64_t *delivery_id, struct error *err) MUST_CHECK;

struct pipeline_figures {
	atomic_uint_fast64_t lines;
	atomic_uint_fast64_t bytes;
	atomic_uint_fast64_t points;
	atomic_uint_fast64_t unextracted_lines; /* of slices whose extraction failed, or waits for a replay */
	atomic_uint_fast64_t memory_waits; /* of extraction */
	atomic_uint_fast64_t refused_points; /* of series beyond max_series_a_stream */
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
	atomic_uint_fast64_t used_bytes; /* of the database's pages */
	atomic_int_fast64_t used_at_ms; /* when that was looked at */
	atomic_int_fast64_t growth_bytes_a_day; /* INT64_MIN: not known yet */
	atomic_uint_fast64_t disk_free_bytes;
	atomic_bool is_disk_low; /* ingest answers 503 */
	atomic_bool is_database_lost; /* and so it does then: see pipeline_database_loss */
};
const struct pipeline_figures *pipeline_figures(const struct pipeline *pipeline);
/* Streams of which nothing is extracted for now: as stream_view's has_hole. Waits for no extraction. */
uint64_t pipeline_held_up_streams(struct pipeline *pipeline);
/* Instead of those of the options, from now on. */
void pipeline_set_limits(struct pipeline *pipeline, uint64_t audit_bytes, uint64_t min_free_bytes);
/* Its file was deleted, replaced or cut under the server: ERR_UNAVAILABLE with the reason, from then on. */
enum status pipeline_database_loss(const struct pipeline *pipeline, struct error *err) MUST_CHECK;

AUTO_TYPE(pipeline)
