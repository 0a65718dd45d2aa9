/*
 * Job: the pipeline itself, and what waits for the writer.
 * Ownership: pipeline_free's. Threads: said at each field.
 */
#pragma once

#include "base/log_pace.h"
#include "base/queue.h"
#include "base/turn.h"
#include "extract/line/signature.h"
#include "model/known.h"
#include "state/streams/directory.h"
#include "state/figures.h"
#include "state/group.h"
#include "state/kept_groups.h"
#include "state/options.h"
#include "store/pack/journal_record.h"

#include <pthread.h>
#include <stdatomic.h>

enum { EXTRACT_THREADS_MAX = 64, PACKERS_MAX = 4, REPORT_WAITS_MAX = 32 };

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

/* A report of a day that could not be told at its time. */
struct report_wait {
	int64_t webhook_id, due_ms;
	int64_t until_ms; /* as clock_mono_ms */
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
	atomic_size_t kept_filter_bytes;
	struct kept_groups kept_groups;
	pthread_t writer, publisher, maintenance;
	bool has_writer, has_publisher, has_maintenance;
	unsigned extract_count;
	struct extract_worker extract[EXTRACT_THREADS_MAX];
	struct search_pool *search_pool;
	struct pipeline_figures figures;
	bool is_recovering; /* the journal is read again; no thread runs yet */
	uint64_t next_seq; /* writer */
	uint64_t round; /* writer: counts transactions */
	struct log_pace commit_failures, checkpoint_failures, disk_failures; /* writer */
	atomic_int_fast64_t
		writing_since_ms; /* of the transaction or checkpoint that the writer is at; 0: it is at none */
	atomic_int_fast64_t
		failing_since_ms; /* when the first of the transactions failed that failed one after the other; 0: the last one did not */
	atomic_int_fast64_t
		stamping_since_ms; /* wall clock: when the writer's open transaction began; 0: none is open */
	uint64_t load_round; /* writer: the newest one in which lines brought a job back into RAM */
	atomic_uint settling_jobs; /* so many requests wait for one to be settled: pipeline/jobs/settle.h */
	uint64_t deletion_round; /* writer: the newest one that deletes a job */
	struct error database_loss; /* set by the writer before figures.is_database_lost */
	atomic_uint_fast64_t audit_bytes, min_free_bytes; /* of the options; may change */
	/* disk_room.h: promised to who writes; of that, what need not be any more once the disk was looked at again */
	atomic_uint_fast64_t room_taken_bytes, room_given_back_bytes;
	pthread_key_t actor_key; /* audit.h: each thread's */
	pthread_mutex_t tick_mutex; /* wakes publisher and maintenance at the stop, and drain */
	pthread_cond_t tick;
	bool must_end;
	pthread_t backfill;
	bool has_backfill;
	atomic_bool summaries_due; /* a job has ended: who asks then is to see its last values */
	atomic_bool ends_due; /* some job's is_end_due */
	atomic_bool backfill_due; /* look for one now */
	pthread_mutex_t seal_mutex; /* held while streams are sealed: no watermark moves under who holds it */
	struct turn
		goodput_turn; /* from when jobs' time is worked out until that is stored: nothing older comes behind it */
	atomic_uint waiting_requests; /* patience.h */
	atomic_bool goodput_sweeps; /* all jobs are to be worked out again: look where that stands */
	atomic_bool retention_changed; /* limits or pins: look again now */
	int64_t drain_ms; /* how long the last seal may take */
	struct report_wait report_waits[REPORT_WAITS_MAX]; /* maintenance */
	size_t report_waits_used; /* maintenance: ever */
};
