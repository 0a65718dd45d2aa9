/*
 * Job: what the calls of the door for W&B share.
 * Ownership: what a call has is in its arena, and ends with its reply. Threads: a worker.
 */
#pragma once

#include "base/arena.h"
#include "pipeline/jobs/tracked_projects.h"
#include "pipeline/jobs/tracked_runs.h"
#include "tracker/graphql.h"
#include "tracker/wandb_replies.h"
#include "wandb/stream_in.h"
#include "wandb/wandb_options.h"

/* W&B's own limits, in bytes. */
enum {
	WANDB_NOTES_MAX_BYTES = 8000,
	WANDB_HOST_MAX_BYTES = 128,
	WANDB_TAGS_MAX = 100,
	WANDB_KEY_MAX_BYTES = 1024,
};

/* Of a run's job: what has its history, its console, and what it says by run.alert(). */
#define WANDB_STREAM "algo-1"
#define WANDB_CONSOLE_STREAM "console"
/* Of a run: the last thing that was not kept, and why. */
#define WANDB_NOT_KEPT_TAG "smfleet.not_kept"
/* Files of a run that are this door's own notes (store/tracked_runs.h). */
#define WANDB_RUN_FILE "run"
#define WANDB_CONFIG_FILE "config"
#define WANDB_TIMES_FILE "times" /* {"history","events"}: of what was sent (sent_times.h) */
#define WANDB_LABEL_FILE "label"
#define WANDB_ALERTS_FILE "alerts"

/* By sm-ship's relay, which tells of it later. */
struct relayed {
	int64_t at_ms; /* when its client called; without a relay: now */
	struct span job; /* of the training's log; "": no relay says */
	struct span log; /* the same, of a sm-ship that was killed */
	bool has_system; /* sm-ship measures its machine */
	struct span key; /* of all tries of the call; "": none */
};

struct wandb_call {
	const struct wandb_options *options;
	struct pipeline *pipeline;
	void *worker;
	struct store_reader *reader;
	const struct http_request *request;
	struct http_response *response;
	bool has_own_reply; /* which is no object */
	struct span team; /* the principal's */
	int64_t now_ms;
	struct relayed relayed;
	struct arena *arena;
	struct json_writer w; /* an object is open: of GraphQL the "data" */
};

struct wandb {
	struct wandb_options options;
	struct http_route *routes;
	size_t route_count;
};

/* ---- call.c: a call from its body to its reply ---- */
typedef enum status wandb_operation(struct wandb_call *call, const struct graphql_request *request, struct error *err);
enum status wandb_graphql(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;
enum status wandb_file_stream(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;
enum status wandb_file_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;
enum status wandb_file_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err) MUST_CHECK;
enum status wandb_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
void wandb_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* ---- relayed.c ---- */
enum status wandb_read_relayed(struct wandb_call *call, struct error *err) MUST_CHECK;
/* The job is that of the training's log: sm-ship says how it ends, and what it printed. */
bool wandb_is_shipped(const struct wandb_call *call, struct span job);
/* The same, or sm-ship was killed, and what it printed is there by --send-rest. */
bool wandb_has_log(const struct wandb_call *call, struct span job);
/* What comes again under the call's key is known. */
void wandb_mark_part(const struct wandb_call *call, struct batch_part *part);

/* ---- identity.c: which run is meant ---- */
struct wandb_run {
	struct span entity; /* as it is shown */
	struct span project, id;
	struct span key; /* TEAM/PROJECT/ID: the run's id in the store */
};
enum status wandb_identify(const struct wandb_call *call, struct span project, struct span id, struct wandb_run *out,
	struct error *err) MUST_CHECK;
/* By the key that it was given. ERR_NOT_FOUND: it is of another team, or none. */
enum status wandb_identify_key(
	const struct wandb_call *call, struct span key, struct wandb_run *out, struct error *err) MUST_CHECK;
/* A name that a client made for itself is 8 letters and digits; so is this one. */
enum status wandb_make_id(const struct wandb_call *call, struct span *out, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND. */
enum status wandb_find_run(const struct wandb_call *call, const struct wandb_run *run, struct tracked_run_row *row,
	struct error *err) MUST_CHECK;
bool wandb_is_over(struct span status); /* of its row: it has ended, as far as is known */

/* ---- settings.c: a run's config ---- */
struct wandb_settings {
	struct tracked_pairs pairs; /* HyperParameters */
	struct buf config; /* {"lr":{"value":0.1}}: what a client that goes on is given; no secrets */
	struct buf note; /* of WANDB_RUN_FILE: {"host","start","sync","session","axes":[[metric, axis]…]} */
	bool has_own; /* what a process says of itself, as wandb.Api() does not: start and axes */
	int64_t start_ms; /* as the config says; 0: it does not */
	bool is_shared; /* by several processes at once: mode="shared" */
	struct span origin; /* id of the run that this one was forked from; "": none */
	double origin_step;
};
/* What is noted of a run beside its config's own words. */
struct wandb_noting {
	struct span host;
	bool is_sync; /* its process sends what another one has trained */
	int64_t session; /* when that process was first heard of */
	const struct json
		*before; /* whose axes are the run's as long as nothing else is said of their metrics; NULL: none */
};
enum status settings_read(struct arena *arena, struct span config, const struct wandb_noting *noting,
	struct wandb_settings *out, struct error *err) MUST_CHECK;
/* Of the note of WANDB_RUN_FILE, or of the run's. */
enum status wandb_note_axes(struct arena *arena, const struct json *note, struct history_axis **out, size_t *count,
	struct error *err) MUST_CHECK;
enum status wandb_read_axes(struct wandb_call *call, int64_t job_id, struct history_axis **out, size_t *count,
	struct error *err) MUST_CHECK;
void wandb_settings_done(struct wandb_settings *settings);
AUTO_DONE_TYPE(wandb_settings)

/* ---- operations ---- */
wandb_operation wandb_viewer, wandb_upsert_run, wandb_resume_status, wandb_create_files, wandb_alert, wandb_read_run,
	wandb_read_state, wandb_rewind_run, wandb_read_runs, wandb_read_history, wandb_sample_history,
	wandb_sample_history_by_keys, wandb_read_history_keys, wandb_read_parquet, wandb_read_files,
	wandb_create_artifact, wandb_delete_run;
/* A run as one is told that makes it or goes back in it. */
struct wandb_bucket {
	struct span config; /* "": none */
	uint64_t history_lines; /* behind which the client goes on */
};
void wandb_write_bucket(struct wandb_call *call, const char *key, const struct wandb_run *run,
	const struct tracked_run_row *row, const struct wandb_bucket *bucket);
/* Members of a run that are tags here: its tags, notes, group and job type. */
enum status wandb_write_tags(struct wandb_call *call, const struct tracked_run_row *row, struct error *err) MUST_CHECK;

/* ---- alert.c ---- */
/* By the program that a process says it is: it sends a run of the past, perhaps again. */
bool wandb_is_sync(struct span program);
/* Of a process that begins: where its alerts stand among those that the run has told already. */
enum status wandb_begin_alerts(struct wandb_call *call, int64_t job_id, bool is_sync, struct batch_file *out,
	bool *has_any, struct error *err) MUST_CHECK;

/* ---- artifacts.c ---- */
/* The run's tag says what it lacks here. *job: its name. */
enum status wandb_put_loss(struct wandb_call *call, const struct tracked_run_row *row, struct span text,
	struct span *job, struct error *err) MUST_CHECK;
/* The same with what and why, and in the server's log. */
enum status wandb_tell_loss(struct wandb_call *call, const struct tracked_run_row *row, struct span what,
	struct span why, struct error *err) MUST_CHECK;

/* ---- file_address.c ---- */
/* Of a file of the run. is_signed: whoever has it may put the file there, for a day. */
enum status wandb_write_address(struct wandb_call *call, const char *key, const struct wandb_run *run, struct span path,
	bool is_signed, struct error *err) MUST_CHECK;
enum status wandb_admit_file(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;

/* ---- files.c ---- */
/* Calls of the address that a file of a run has. */
enum status wandb_put_file(struct wandb_call *call, struct error *err) MUST_CHECK;
enum status wandb_get_file(struct wandb_call *call, struct error *err) MUST_CHECK;
/* Of wandb.Api().run().files(): {"fileCount", "files"}. */
enum status wandb_write_files(struct wandb_call *call, const struct graphql_request *request,
	const struct wandb_run *run, const struct tracked_run_row *row, struct error *err) MUST_CHECK;

/* ---- rewind.c ---- */
/* A process of the run begins with this batch: if its steps go back, they are an attempt. */
enum status wandb_begin_attempt(
	struct wandb_call *call, struct batch *batch, int64_t job_id, struct error *err) MUST_CHECK;

/* ---- read.c ---- */
void wandb_write_time(struct json_writer *w, const char *key, int64_t ms);
const char *wandb_state_of(struct span status); /* in W&B's words */
/* Of a run, into an object that is open: what even a list has of it. */
enum status wandb_write_members(struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row,
	struct error *err) MUST_CHECK;
/* All of it, as an object. */
enum status wandb_write_run(struct wandb_call *call, const struct wandb_run *run, const struct tracked_run_row *row,
	struct error *err) MUST_CHECK;

/* ---- history.c ---- */
/* {"lastStep", "keys": {NAME: {}}} */
enum status wandb_write_history_keys(
	struct wandb_call *call, const struct tracked_run_row *run, struct error *err) MUST_CHECK;

/* ---- stream.c ---- */
enum status wandb_take_stream(struct wandb_call *call, struct span body, struct error *err) MUST_CHECK;
