/*
 * Job: states of jobs and streams by name or number, made or loaded on demand.
 * Ownership: what comes back is the directory's, but for what is counted. Threads: the writer, and the start.
 */
#pragma once

#include "state/streams/directory.h"
#include "store/streams.h"

struct pipeline;

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

/* ERR_FORBIDDEN, which does not say whose it is: a token of a team writes that team's jobs alone. */
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
