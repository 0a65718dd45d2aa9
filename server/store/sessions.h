/*
 * Job: the durable part of sessions: names of runs, where sources stand, streams that are held, exits, commands with their acknowledgements.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "store/store.h"

/* The name that a start of `asked` has; "": that start is not known. */
enum status store_read_run_name(struct store_reader *reader, struct arena *arena, struct span asked,
	struct span run_key, struct span *name, struct error *err) MUST_CHECK;
enum status store_put_run_name(
	struct store_tx *tx, struct span asked, struct span run_key, struct span name, struct error *err) MUST_CHECK;

struct source_row {
	int64_t job_id;
	uint32_t stream_id;
	struct span source; /* "": all that came with an offset alone; it has a row once something else came, too */
	uint64_t next_byte;
};
/* Reads next_byte; *count: how many named sources the stream has where it is not, *is_known: this one is among them. */
enum status store_read_source(struct store_reader *reader, struct source_row *row, bool *is_known, size_t *count,
	struct error *err) MUST_CHECK;
enum status store_put_source(struct store_tx *tx, const struct source_row *row, struct error *err) MUST_CHECK;

struct exit_row {
	int64_t job_id;
	uint32_t stream_id;
	int32_t code;
	int32_t signal; /* 0: it ended by itself, with `code` */
	struct span reason;
	int64_t at_ms;
};
enum status store_put_exit(struct store_tx *tx, const struct exit_row *row, struct error *err) MUST_CHECK;
enum status store_delete_exit(struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct error *err) MUST_CHECK;
/* Of all streams of the job, by their number. */
enum status store_read_exits(struct store_reader *reader, struct arena *arena, int64_t job_id, struct exit_row **out,
	size_t *count, struct error *err) MUST_CHECK;

/* A stream that has, or had, a session; and how its newest one ended. */
struct held_row {
	uint32_t stream_id;
	struct span stream, host;
	int64_t opened_ms;
	bool has_exit;
	int32_t code, signal;
	struct span reason;
	int64_t exit_ms;
};
enum status store_put_session(
	struct store_tx *tx, int64_t job_id, uint32_t stream_id, int64_t opened_ms, struct error *err) MUST_CHECK;
enum status store_delete_session(struct store_tx *tx, int64_t job_id, uint32_t stream_id, struct error *err) MUST_CHECK;
enum status store_read_held(struct store_reader *reader, struct arena *arena, int64_t job_id, struct held_row **out,
	size_t *count, struct error *err) MUST_CHECK;
/* The same for whoever asks how they ended: none where none has. Of a job's thousand processes nearly always none has. */
enum status store_read_held_if_any_ended(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct held_row **out, size_t *count, struct error *err) MUST_CHECK;

struct command_row {
	int64_t job_id;
	int64_t command_id; /* numbered within the job from 1; 0 in store_add_command, then set */
	struct span command;
	struct span stream; /* "": all */
	int64_t created_ms;
};
enum status store_add_command(struct store_tx *tx, struct command_row *row, struct error *err) MUST_CHECK;
enum status store_read_commands(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct command_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_has_command(
	struct store_reader *reader, int64_t job_id, int64_t command_id, bool *has, struct error *err) MUST_CHECK;
struct command_ack_row {
	int64_t job_id;
	int64_t command_id;
	struct span stream;
	int64_t delivered_ms;
	int64_t acknowledged_ms;
	struct span result; /* what was done */
};
/* The first word stays. */
enum status store_put_command_ack(struct store_tx *tx, const struct command_ack_row *row, struct error *err) MUST_CHECK;
enum status store_read_command_acks(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct command_ack_row **out, size_t *count, struct error *err) MUST_CHECK;
