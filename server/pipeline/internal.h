/*
 * Job: what the pipeline's files share: the pipeline itself, a committed group, the verbs between the threads.
 * Ownership: a group is counted: one reference an extract thread; the last frees it.
 * Threads: each verb says whose it is.
 */
#pragma once

#include "alert/rule.h"
#include "base/clock.h"
#include "base/queue.h"
#include "extract/signature.h"
#include "pipeline/directory.h"
#include "pipeline/pipeline.h"
#include "pipeline/search_pool.h"
#include "store/block.h"
#include "store/chunk.h"
#include "store/journal_record.h"
#include "store/sessions.h"

enum { EXTRACT_THREADS_MAX = 64, PACKERS_MAX = 4 };

/* A line this much older than its arrival is the past: an import or a catch-up, nobody is paged for it. */
enum { HISTORIC_MS = 15 * 60 * 1000 };

/* One commit on its way through the consumers. */
struct group {
	atomic_uint refs;
	uint64_t seq;
	struct buf plain; /* the record, not compressed */
	struct arena *arena;
	struct journal_slice *slices;
	struct stream_state **streams; /* parallel to slices; NULL: its job is gone. Counted by `jobs` below */
	struct definitions **definitions;
	struct buf *contents; /* of the slices that are blocks, else empty */
	size_t count;
	size_t bytes; /* all of this, for --queue-bytes */
};

struct extract_item {
	struct queue_item item;
	struct group *group;
};

struct extract_worker {
	struct pipeline *pipeline;
	unsigned number;
	pthread_t thread;
	struct queue *queue;
	struct regex_scratch *scratch;
	struct extracted_list found;
	int64_t waits_since_ms; /* for memory, in this slice; 0: it does not */
	atomic_uint_fast64_t done_seq;
};

/* What waits for the writer starts like this. */
struct work {
	struct queue_item item;
	bool is_control;
};

/* Control work: runs in its own savepoint of the next commit. */
struct control {
	struct work work_item;
	bool is_kept; /* our own: after a failed commit it is tried again with the next one, until it is durable */
	enum status (*work)(void *context, struct store_tx *tx, struct error *err);
	/* After the commit (or its failure), on the writer thread; frees what it must. Sees what was returned. */
	void (*done)(void *context, enum status status, const struct error *err);
	void *context;
	struct pipeline *owner; /* for callbacks whose context is the control itself */
	enum status status;
	struct error err;
};

struct pipeline {
	struct pipeline_options options;
	struct directory *directory;
	struct definition_set *presets;
	struct devices *devices;
	struct signature_set *signatures; /* NULL: nothing is looked for */
	pthread_mutex_t rules_mutex; /* over the pointer; the set is immutable */
	struct rule_set *rules;
	uint64_t rules_version; /* writer */
	int64_t started_ms;
	int64_t pool_change; /* the newest before the start */
	struct queue *queue;
	struct zstd *zstd; /* writer */
	struct journal_writer journal; /* writer */
	pthread_mutex_t packers_mutex;
	struct zstd *packers[PACKERS_MAX]; /* under the mutex */
	size_t packer_count;
	atomic_bool is_stopping;
	atomic_size_t backlog_bytes; /* of groups that are not extracted yet */
	pthread_t writer, publisher, maintenance;
	bool has_writer, has_publisher, has_maintenance;
	unsigned extract_count;
	struct extract_worker extract[EXTRACT_THREADS_MAX];
	struct search_pool *search_pool;
	struct pipeline_figures figures;
	uint64_t next_seq; /* writer */
	uint64_t round; /* writer: counts transactions */
	uint64_t deletion_round; /* writer: the newest one that deletes a job */
	struct error database_loss; /* set by the writer before figures.is_database_lost */
	atomic_uint_fast64_t audit_bytes, min_free_bytes; /* of the options; may change */
	pthread_key_t actor_key; /* audit.h: each thread's */
	pthread_mutex_t tick_mutex; /* wakes publisher and maintenance at the stop, and drain */
	pthread_cond_t tick;
	bool must_end;
	pthread_t backfill;
	bool has_backfill;
	atomic_bool backfill_due; /* look for one now */
	pthread_mutex_t seal_mutex; /* held while streams are sealed: no watermark moves under who holds it */
	atomic_bool goodput_sweeps; /* all jobs are to be worked out again: look where that stands */
	atomic_bool retention_changed; /* limits or pins: look again now */
	int64_t drain_ms; /* how long the last seal may take */
};

/* ---- queue items: who they are ---- */
struct ingest {
	struct work work_item;
	struct batch *batch;
	void (*done)(void *context, const struct ingest_result *result);
	void *context;
	struct ingest_result result;
	struct source_row source; /* writer; job_id 0: the stream's own count */
};

/* ---- control.c ---- */
enum status pipeline_push_control(struct pipeline *pipeline, struct control *control, struct error *err) MUST_CHECK;
/* Waits until the pipeline's end or the timeout; true: it ends. */
bool pipeline_wait_tick(struct pipeline *pipeline, int64_t timeout_ms);
/* Writer: was the job deleted, before or earlier in the transaction that is open? RAM hears of the latter by its commit. */
enum status is_job_gone(struct pipeline *pipeline, struct store_tx *tx, const struct job_state *job, bool *is_gone,
	struct error *err) MUST_CHECK;

/* ---- host_lines.c ---- */
/* Another machine begins to send with that line: known to readers with the commit. False: out of memory. */
bool host_lines_add(struct stream_state *stream, uint64_t from_line);
enum status host_lines_load(struct store_reader *reader, struct stream_state *stream, struct error *err) MUST_CHECK;
/* Under the stream's lock: did another machine begin to send behind that line, up to this one? */
bool host_lines_change_within(const struct stream_state *stream, uint64_t behind, uint64_t line);

/* ---- resolve.c: writer and start-up: states by name, made or loaded on demand ---- */
struct claim {
	struct span team; /* of the token, "" for any: what it does not own it does not write */
	struct span said; /* of a job that is made without: what its sender's labels say */
};
enum status resolve_job(struct pipeline *pipeline, struct store_tx *tx, struct span name, const struct claim *claim,
	int64_t now_ms, struct job_state **out, bool *is_new, struct error *err) MUST_CHECK;
enum status resolve_stream(struct pipeline *pipeline, struct store_tx *tx, struct job_state *job, struct span name,
	struct span host, int64_t now_ms, struct stream_state **out, bool *is_new, struct error *err) MUST_CHECK;
/* A stream that the job does not have yet; ERR_TOO_LARGE beyond --max-streams. */
enum status put_new_stream(struct pipeline *pipeline, struct store_tx *tx, struct span job, struct stream_row *row,
	struct error *err) MUST_CHECK;
/* ERR_FORBIDDEN, with the owner's name: a token of a team writes that team's jobs alone. */
enum status check_team(struct span owner, struct span job, struct span team, struct error *err) MUST_CHECK;
/* Start-up: by number, from the store alone; *out NULL when the job or stream was deleted. */
enum status resolve_by_id(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, uint32_t stream_id,
	struct stream_state **out, struct error *err) MUST_CHECK;
/* As its row says, with the state of what is sealed: of nobody yet. */
enum status load_stream(struct store_reader *reader, struct job_state *job, const struct stream_row *row,
	struct stream_state **out, struct error *err) MUST_CHECK;
/* The definitions of a generation, counted, and nobody's yet. */
enum status make_definitions(struct pipeline *pipeline, struct store_reader *reader, const struct job_state *job,
	uint32_t generation, struct definitions **out, struct error *err) MUST_CHECK;
/* Writer, after a commit: the job and all of its streams in RAM. *out counted; NULL: there is no such job. */
enum status resolve_whole_job(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id,
	struct job_state **out, struct error *err) MUST_CHECK;
/* The definitions of a generation, counted. Makes job->definitions current when it is the job's present one. */
enum status resolve_definitions(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job,
	uint32_t generation, struct definitions **out, struct error *err) MUST_CHECK;

/* ---- past.c: any thread that brings a batch ---- */
/* Times whose zone batch.zone_ms says, and those of lines without one that are the time of the line before them. */
void past_fill_times(struct pipeline *pipeline, struct batch *batch);
/* Under the stream's lock: its lines are on disk. */
void past_note(struct stream_state *stream, const struct batch *batch, const struct batch_part *part);

/* ---- pack.c: any thread that brings a batch ---- */
enum status pack_batch(struct pipeline *pipeline, struct batch *batch, struct error *err) MUST_CHECK;
struct zstd *pack_borrow(struct pipeline *pipeline) __attribute__((warn_unused_result));
void pack_give_back(struct pipeline *pipeline, struct zstd *zstd);

/* ---- writer.c ---- */
void *writer_run(void *pipeline);

/* ---- execute.c: like pipeline_execute; after runs on the writer thread when the commit is on disk ---- */
enum status pipeline_execute_then(struct pipeline *pipeline,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void (*after)(void *context),
	void *context, struct error *err) MUST_CHECK;

/*
 * ---- consume.c: extraction and detection of one slice; takes the stream's lock ----
 * A slice that fails for want of memory ends the extraction of its stream until it is replayed from the journal (mend.h), or by the next start:
 * half of it is in the state, so it can be neither taken again nor passed over, and nothing from it on is sealed.
 */
enum status consume_slice(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;
/* The same of a stream that is held up, which it stays: whoever listens is not sent it. */
enum status consume_again(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err) MUST_CHECK;
/* It cannot be read: what is behind it goes on. */
void consume_pass_over(struct stream_state *stream, uint64_t seq, const struct journal_slice *slice);
bool consume_has(const struct stream_state *stream, const struct journal_slice *slice);
/* False: more was committed than was extracted, and it stays held up. */
bool consume_close_hole(struct stream_state *stream);

/* ---- stream_swap.c ---- */
void stream_swap_derived(struct stream_state *a, struct stream_state *b);
void stream_swap_consumers(struct stream_state *a, struct stream_state *b);
/* Under the stream's lock. *out NULL: there is none, and there may be no more. */
enum status consume_find_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct metric_definition *definition, struct series_state **out, struct error *err) MUST_CHECK;
enum status consume_find_derived(
	struct stream_state *stream, enum derived derived, struct series_state **out, struct error *err) MUST_CHECK;
enum status consume_point(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;
/* When a line or a point that was sent as such is of, under the stream's lock. */
void consume_time(struct stream_state *stream, int64_t ts_ms);
/* ---- consume_settings.c: what a line says of the job's settings, under the stream's lock ---- */
enum status consume_settings(
	struct stream_state *stream, struct span text, uint64_t number, struct error *err) MUST_CHECK;
/* ---- consume_derived.c: what follows from the line whose points were consumed, under the stream's lock ---- */
enum status consume_derived(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err) MUST_CHECK;
/* ---- consume_points.c: a slice of points that were sent as such, under the stream's lock ---- */
enum status consume_points(struct pipeline *pipeline, struct stream_state *stream, const struct journal_slice *slice,
	struct error *err) MUST_CHECK;
void *extract_run(void *worker);
void group_unref(struct pipeline *pipeline, struct group *group);
/* Everything up to this number was extracted. */
uint64_t pipeline_extracted_seq(struct pipeline *pipeline);

/* ---- derivation.c: total_from lives as long as the job ---- */
void pipeline_find_progress(struct job_state *job, struct job_progress *out);

/* ---- rules.c ---- */
/* As of now, counted. */
struct rule_set *pipeline_rules(struct pipeline *pipeline);
/* Writer. A query that cannot be asked is no job's, and told in the log: it must not cost the incident. */
enum status rules_match_job(
	const struct rule *rule, struct store_tx *tx, struct span job, bool *is_match, struct error *err) MUST_CHECK;
enum status rules_load(struct pipeline *pipeline, struct error *err) MUST_CHECK; /* at the start */

/* ---- incidents.c: hand-over of what detectors said to the writer; under the stream's lock ---- */
enum status incidents_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct incident *incident, struct error *err) MUST_CHECK;

/* With members of a JSON object: what it is about beside figures. */
enum status incidents_hand_over_facts(struct pipeline *pipeline, struct stream_state *stream,
	struct series_state *series, const struct incident *incident, struct span facts, struct error *err) MUST_CHECK;

/* Any incident, with its outbox rows, inside a transaction; then, after the commit, who must hear of it. */
struct incident_told {
	bool has_news;
	bool has_deliveries;
	struct command_row command; /* command_id 0: none was given */
	char facts[600];
};
enum status incidents_write(struct pipeline *pipeline, struct store_tx *tx, struct incident_row *row, struct span team,
	struct incident_told *told, struct error *err) MUST_CHECK;
void incidents_say(struct pipeline *pipeline, const struct incident_row *row, const struct incident_told *told);
/* Maintenance thread, every few seconds: ends what is open of jobs that have ended. */
void incident_ends_run(struct pipeline *pipeline, struct store_reader *reader);

/* ---- stream_pack.c: the state of a stream's consumers, for stream_row.state ---- */
void stream_pack(const struct stream_state *stream, struct buf *out);
enum status stream_unpack(struct stream_state *stream, struct span state, struct error *err) MUST_CHECK;

/* ---- seal.c: maintenance thread ---- */
/* Seals what is due: large, or with lines of commit due_seq or before. *has_more: call again, with the same due_seq, or
 * streams that get lines all the time keep the others from ever being sealed. */
enum status seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err) MUST_CHECK;

void *maintenance_run(void *pipeline);
void *publisher_run(void *pipeline);

/* ---- job_times.c: TrainingTimeInSeconds and BillableTimeInSeconds, into an object that is open ---- */
/* paused_ms: of its goodput. */
enum status job_write_seconds(struct store_reader *reader, const struct job_row *row, const struct json *document,
	int64_t paused_ms, struct json_writer *w, struct error *err) MUST_CHECK;

/* ---- job_change.c: documents; what a caller changed of a job before its document came stays where that says nothing ---- */
enum status job_change_document(
	struct span old, const struct json *changes, struct buf *out, struct error *err) MUST_CHECK;
enum status job_keep_changes(struct span old, struct span new, struct buf *out, struct error *err) MUST_CHECK;

/* ---- audit.c ---- */
struct actor;
/* This thread's; NULL: nobody acts on it. */
const struct actor *audit_actor(const struct pipeline *pipeline);
/* The work, and in its transaction what there is to tell of it. actor NULL: the work alone. */
enum status audit_run(struct pipeline *pipeline, const struct actor *actor, struct store_tx *tx,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context,
	struct error *err) MUST_CHECK;

/* ---- recover.c ---- */
enum status recover_journal(struct pipeline *pipeline, struct error *err) MUST_CHECK;

/* ---- stated.c ---- */
int64_t job_stated_count(const struct json *node); /* of a number in a document; 0: it is none of nodes */
int64_t job_stated_nodes(const struct json *document); /* 0: it does not say */
int64_t job_stated_billable_ms(const struct job_row *row,
	const struct json *document); /* by its BillableTimeInSeconds; -1: it states none, or by hand another */
