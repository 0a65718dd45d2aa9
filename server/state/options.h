/*
 * Job: what a pipeline is started with: where to store, limits, ages, who is told.
 * Ownership: plain values; what they point to outlives the pipeline.
 */
#pragma once

#include "live/hub.h"
#include "store/sessions.h"

/* As was said at an earlier start, else what is used at the first one, and half of what is free on the disk. */
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
	unsigned waiting_requests; /* so many may wait long for what runs behind them: patience.h */
	uint32_t match_steps; /* a regular expression's limit on one line */
	uint64_t audit_bytes; /* of the log of who changed what */
	uint64_t log_bytes; /* the database may use so much before the oldest text goes; 0: no limit; or: */
	uint64_t min_free_bytes; /* less room than this on the disk stops ingest */
	int64_t trash_ms; /* how long deleted jobs can be restored; 0: they cannot */
	int64_t delivery_age_ms; /* settled deliveries go after it; 0: they stay */
	int64_t silent_ms; /* who was not heard of for longer is silent */
	size_t max_jobs; /* in RAM: being written, or not sealed yet */
	size_t max_streams_a_job;
	size_t max_series_a_stream;
	size_t max_sampled_series; /* the same of samples */
	uint64_t max_evaluations; /* scores of a job */
	size_t max_sources_a_stream;
	int64_t goodput_every_ms; /* how often a job's time is worked out while its lines come */
	int64_t lease_ms; /* of sessions */
	size_t max_statuses; /* that were told of one job */
	int64_t stop_after_ms; /* who was asked to stop and is not heard for so long has stopped */
	int64_t tracker_wait_ms; /* so long a tracker may tell what lines print without a step; 0: they are read at once */
	int64_t stall_ms; /* a running job's silence is no stall before it; 0: none is */
	struct span on_non_finite; /* emergency.h; "": nothing is done */
	int64_t emergency_grace_ms; /* how long a job may take for its checkpoint before it is stopped */
	/* A command is on disk: those who send the job are to be told. Any thread. */
	void (*command_given)(void *context, const struct command_row *command);
	/* When the last lease on one of the job's streams is, or was, over, by the wall clock; 0: nobody had one. Any thread; may be NULL. */
	int64_t (*lease_end_ms)(void *context, int64_t job_id);
	/* New outbox rows are on disk. Any thread. */
	void (*deliveries_due)(void *context);
	void *context;
	struct span public_url; /* for links in messages */
	bool are_reads_own; /* --team-reads=own: who reads a job of a team may not read one of no team */
};
