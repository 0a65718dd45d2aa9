/*
 * Job: what the files of the sender share: its state, and the steps of one file that another takes.
 * Ownership: sender.h's. Threads: the sender's own, but for the atomic members.
 */
#pragma once

#include "cli/sender/job_calls.h"
#include "cli/sender/sender_options.h"

#include <stdatomic.h>

enum { SENDER_MAX_CONFLICTS = 8 };

enum phase { PHASE_AWAIT, PHASE_REST, PHASE_CREATE, PHASE_START, PHASE_LINES, PHASE_END, PHASE_CLOSE, PHASE_DONE };

struct stream_state {
	uint64_t offset; /* where the server stands */
	uint64_t sent_bytes;
	uint64_t passed_over, to_pass; /* of an import: bytes that the server has from an earlier one */
	bool is_counted; /* to_pass */
	struct job_imported imported; /* when it was counted */
	bool is_known;
	bool has_news; /* points of an import that the server has not: the job goes on */
	struct stored_points *stored_points; /* what the server had when it was asked; NULL: it was not */
	bool has_session;
	bool is_sessionless; /* its lines are sent to a job that has its end: nothing else is said of it */
	bool has_told_rejected; /* points */
	bool has_told_refused; /* a whole batch */
	char session[SESSION_ID_BYTES];
};

enum { SENDER_OTHER_SETTINGS_BYTES = 800 };

struct sender {
	struct sender_options options;
	pthread_t thread;
	bool is_joined;
	_Atomic bool is_done;
	_Atomic int64_t give_up_ms;
	_Atomic uint64_t sent_lines;
	uint64_t dropped_lines; /* beside the training's stream: the server did not take them */
	_Atomic uint64_t there_before; /* of an import's lines and points */
	_Atomic uint64_t new_to_server; /* lines and points that it had not */
	enum phase phase;
	char job[256]; /* as asked, then as the server has it: perhaps J-2 */
	bool has_job; /* the server has it */
	struct buf other_settings; /* of the start that goes on with it: those that it states otherwise */
	struct stream_state *streams;
	uint64_t compare_room; /* so many more points of the server may be held, to be compared */
	struct spool_batch batch;
	bool has_batch;
	struct buf body;
	const char *content_type;
	unsigned failed_reads; /* one after the other */
	unsigned waited_beats; /* that the server answered while lines had to wait */
	unsigned conflicts; /* one after the other */
	bool is_bare; /* the server does not take what is said of the job: its lines go without that */
	int64_t refused_until_ms; /* another's session may end by then; 0: none was in the way */
	int64_t begun_ms; /* on the monotonic clock */
	int64_t heard_ms; /* of the one stream's session, on the monotonic clock */
	int64_t heartbeat_ms;
	int64_t done_command; /* the newest that was carried out; -1: not known yet */
	int64_t told_command; /* what was done of it is yet to be told; 0: nothing */
	char told_result[256];
	size_t close_at; /* of the streams */
	bool is_unreadable; /* what there was to read is damaged: where that leaves nothing, no job is made */
	bool has_exit;
	int exit_code, exit_signal;
	const char *end_status;
	const char *end_reason;
	int64_t end_ms;
	int64_t backoff_ms;
	bool is_away; /* the last request failed, and it was said */
	uint64_t noted_offset; /* of the batch in the ledger; UINT64_MAX: this one is not there */
	unsigned told_lost_to; /* what of losses was said */
	bool has_told_of_ledger;
	enum status result;
	struct error err;
};

/* ---- sender.c ---- */
bool sender_is_over(const struct sender *sender);
void sender_tell_of_loss(struct sender *sender);
void sender_pause(struct sender *sender, int64_t ms);

/* ---- sender_sessions.c ---- */
enum status sender_ask_session(struct sender *sender, const struct session_asked *asked, struct session_told *told,
	struct error *err) MUST_CHECK;
/* Of a stream whose place is known already that place stays: a batch whose reply was lost may be behind it. */
enum status sender_open_stream(struct sender *sender, size_t index, bool is_first, struct error *err) MUST_CHECK;
/* The server has forgotten it: it was started again, or we were silent for long. */
enum status sender_lose_session(struct sender *sender, struct stream_state *stream, enum status status) MUST_CHECK;
/* The session that is kept while nothing is sent is that of the first stream: what --system sends beside it has its own. */
bool sender_is_of_past(const struct sender *sender);
/* The machine that a stream is of; "": not known. */
const char *sender_host_of(const struct sender *sender, size_t index);
bool sender_hears_orders(const struct sender *sender, size_t index);
void sender_carry_out(struct sender *sender, const struct command_list *commands);
bool sender_is_beat_due(const struct sender *sender);
/* While there is nothing to send; and what was done of a command is told at once. */
enum status sender_beat(struct sender *sender, struct error *err) MUST_CHECK;
/* Nobody has to wait for the end of our leases; and how the command ended is kept with its stream. */
enum status sender_close_next(struct sender *sender, struct error *err) MUST_CHECK;

/* ---- sender_batches.c ---- */
/* One batch on its way, or one heartbeat. */
enum status sender_send_lines(struct sender *sender, struct error *err) MUST_CHECK;
/* The server has refused what is sent now, of --system, and may take the rest. */
bool sender_may_drop(const struct sender *sender, enum status status);
void sender_drop_batch(struct sender *sender, const struct error *err);
