#include "cli/sender.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/hash128.h"
#include "cli/job_calls.h"
#include "cli/line_body.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
	BATCH_BYTES = 256 << 10,
	BATCH_LINGER_MS = 200,
	IDLE_WAIT_MS = 200,
	FIRST_BACKOFF_MS = 250,
	MAX_BACKOFF_MS = 10000,
	MAX_RETRY_AFTER_MS = 300000,
	MAX_BODY_BYTES = 32 << 20, /* a batch whose every byte needs an escape */
	MAX_CONFLICTS = 8,
	MAX_FAILED_READS = 5,
	REREAD_MS = 200,
	LEASE_SLACK_MS = 5000, /* over the time at which another's session ends */
};

enum phase { PHASE_CREATE, PHASE_START, PHASE_LINES, PHASE_END, PHASE_CLOSE, PHASE_DONE };

struct stream_state {
	uint64_t offset; /* where the server stands */
	uint64_t sent_bytes;
	uint64_t passed_over; /* still: the server has them from an earlier import */
	bool is_known;
	bool has_session;
	char session[SESSION_ID_BYTES];
};

struct sender {
	struct sender_options options;
	pthread_t thread;
	bool is_joined;
	_Atomic bool is_done;
	_Atomic int64_t give_up_ms;
	_Atomic uint64_t sent_lines;
	enum phase phase;
	char job[256]; /* as asked, then as the server has it: perhaps J-2 */
	struct stream_state *streams;
	struct spool_batch batch;
	bool has_batch;
	struct buf body;
	const char *content_type;
	unsigned failed_reads; /* one after the other */
	unsigned conflicts; /* one after the other */
	int64_t refused_until_ms; /* another's session may end by then; 0: none was in the way */
	int64_t heard_ms; /* of the one stream's session, on the monotonic clock */
	int64_t heartbeat_ms;
	int64_t done_command; /* the newest that was carried out; -1: not known yet */
	int64_t told_command; /* what was done of it is yet to be told; 0: nothing */
	char told_result[256];
	size_t close_at; /* of the streams */
	bool has_exit;
	int exit_code, exit_signal;
	const char *end_status;
	const char *end_reason;
	int64_t end_ms;
	int64_t backoff_ms;
	bool is_away; /* the last request failed, and it was said */
	uint64_t noted_offset; /* of the batch in the ledger; UINT64_MAX: this one is not there */
	bool has_told_of_loss, has_told_of_ledger;
	enum status result;
	struct error err;
};

static bool is_over(const struct sender *sender)
{
	int64_t give_up_ms = atomic_load(&sender->give_up_ms);

	return give_up_ms && clock_mono_ms() >= give_up_ms;
}

static void tell_of_loss(struct sender *sender)
{
	if (sender->has_told_of_loss || spool_totals(sender->options.spool).lost_lines == 0)
		return;
	sender->has_told_of_loss = true;
	client_say(sender->options.program,
		"the spool is full (see --spool-bytes): new lines are dropped until the server takes some");
}

static void pause_ms(struct sender *sender, int64_t ms)
{
	int64_t until_ms = clock_mono_ms() + ms;

	for (int64_t rest_ms = ms; rest_ms > 0 && !is_over(sender); rest_ms = until_ms - clock_mono_ms()) {
		poll(NULL, 0, rest_ms < 200 ? (int)rest_ms : 200);
		tell_of_loss(sender);
	}
}

/* ---- sessions ---- */

static void carry_out(struct sender *sender, const struct command_list *commands)
{
	for (size_t i = 0; i < commands->count && !sender->told_command; i++) {
		if (commands->items[i].id <= sender->done_command || !sender->options.orders)
			continue;
		sender->done_command = sender->told_command = commands->items[i].id;
		orders_carry_out(sender->options.orders, commands->items[i].name, sender->told_result,
			sizeof sender->told_result);
		client_say(sender->options.program, "the server says %s: %s", commands->items[i].name,
			sender->told_result);
	}
}

/*
 * With a seed the same again after a kill: who holds the ledger's lock may go on at once. Else, and where that lock is another's, one
 * that nobody has.
 */
static void name_session(const struct sender *sender, const char *stream, char out[SESSION_ID_BYTES])
{
	const char *seed = sender->options.session_seed;
	struct hash128 hash = {0};
	uint64_t random[2];

	if (!seed) {
		crypto_random(random, sizeof random);
		hash = (struct hash128){.low = random[0], .high = random[1]};
	} else {
		const char *parts[] = {seed, sender->options.server, sender->options.identity->host,
			sender->options.identity->job, stream};
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			hash128_add(&hash, span_of(parts[i], strlen(parts[i]) + 1));
	}
	snprintf(out, SESSION_ID_BYTES, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

/* What died with another machine is free when its lease ends; what lives renews it, and keeps the stream. */
static enum status wait_for_lease(struct sender *sender, const struct session_told *told, struct error *err)
{
	int64_t now_ms = clock_mono_ms();

	if (!sender->refused_until_ms) {
		sender->refused_until_ms = now_ms + told->expires_in_ms + LEASE_SLACK_MS;
		client_say(sender->options.program, "%s; waiting for it", err->text);
	}
	if (now_ms >= sender->refused_until_ms)
		return ERR_CONFLICT;
	return err->status = ERR_BUSY;
}

static enum status ask_session(
	struct sender *sender, const struct session_asked *asked, struct session_told *told, struct error *err)
{
	enum status status = session_open(sender->options.client, asked, told, err);

	if (status == ERR_CONFLICT && told->expires_in_ms > 0)
		return wait_for_lease(sender, told, err);
	TRY(status);
	sender->refused_until_ms = 0;
	snprintf(sender->job, sizeof sender->job, "%s", told->job);
	return OK;
}

/* The session that is kept while nothing is sent is that of the first stream: what --system sends beside it has its own. */
static bool hears_orders(const struct sender *sender, size_t index)
{
	return sender->options.has_one_stream && index == 0;
}

/* Of a stream whose place is known already that place stays: a batch whose reply was lost may be behind it. */
static enum status open_stream(struct sender *sender, size_t index, bool is_first, struct error *err)
{
	struct stream_state *stream = &sender->streams[index];
	struct session_told told = {0};
	struct session_asked asked = {.identity = sender->options.identity,
		.metrics = sender->options.metrics,
		.job = sender->job,
		.run_key = is_first ? sender->options.identity->run_key : NULL,
		.stream = sender->options.streams[index],
		.id = stream->session,
		.resumes = !is_first || sender->options.resumes,
		.commands_after = sender->done_command};

	if (!stream->session[0])
		name_session(sender, asked.stream, stream->session);
	TRY(ask_session(sender, &asked, &told, err));
	stream->has_session = true;
	if (!stream->is_known &&
		!(sender->options.ledger && !sender->options.is_import && index < sender->options.ledger_streams &&
			ledger_base(sender->options.ledger, (unsigned)index, &stream->offset)))
		stream->offset = told.next_offset;
	stream->is_known = true;
	if (!hears_orders(sender, index))
		return OK;
	sender->heard_ms = clock_mono_ms();
	sender->heartbeat_ms = told.heartbeat_ms;
	if (sender->done_command < 0)
		sender->done_command = told.commands_after;
	carry_out(sender, &told.commands);
	return OK;
}

/* The server has forgotten it: it was started again, or we were silent for long. */
static enum status lose_session(struct sender *sender, struct stream_state *stream, enum status status)
{
	if (status != ERR_NOT_FOUND || ++sender->conflicts > MAX_CONFLICTS)
		return status;
	stream->has_session = false;
	return OK;
}

static bool is_beat_due(const struct sender *sender)
{
	return sender->options.has_one_stream &&
	       (sender->told_command || clock_mono_ms() - sender->heard_ms >= sender->heartbeat_ms);
}

/* While there is nothing to send; and what was done of a command is told at once. */
static enum status step_beat(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[0];
	struct command_list commands;

	if (!stream->has_session)
		return open_stream(sender, 0, false, err);
	struct session_beat beat = {
		.id = stream->session, .done_id = sender->told_command, .result = sender->told_result};
	enum status status = session_beat(sender->options.client, &beat, &commands, err);
	if (status == ERR_NOT_FOUND)
		return lose_session(sender, stream, status);
	TRY(status);
	sender->heard_ms = clock_mono_ms();
	sender->told_command = 0;
	sender->conflicts = 0;
	carry_out(sender, &commands);
	return OK;
}

static enum status step_create(struct sender *sender, struct error *err)
{
	struct session_told told = {0};
	struct session_asked asked = {.identity = sender->options.identity,
		.metrics = sender->options.metrics,
		.job = sender->job,
		.run_key = sender->options.identity->run_key,
		.resumes = sender->options.resumes,
		.commands_after = -1};

	if (sender->options.has_one_stream)
		TRY(open_stream(sender, 0, true, err));
	else
		TRY(ask_session(sender, &asked, &told, err));
	if (strcmp(sender->job, sender->options.identity->job) != 0)
		client_say(sender->options.program,
			"job '%s' has ended: this run is '%s' (--resume would go on with it)",
			sender->options.identity->job, sender->job);
	sender->phase = PHASE_START;
	return OK;
}

/* A status that the server does not take is no reason to keep the lines from it. */
static enum status tell(struct sender *sender, const struct job_change *change, struct error *err)
{
	enum status status = job_transition(sender->options.client, sender->job, change, err);

	if (status == OK || client_is_passing(status))
		return status;
	if (status != ERR_CONFLICT || !change->unless) /* a conflict: another process was first */
		client_say(sender->options.program, "the server did not take the job's status: %s", err->text);
	return OK;
}

static const char *const ended[] = {"Completed", "Failed", "Stopped", NULL};

static enum status step_start(struct sender *sender, struct error *err)
{
	if (sender->options.is_import) { /* when it was is known from its lines */
		sender->phase = PHASE_LINES;
		return OK;
	}
	TRY(tell(sender,
		&(struct job_change){.secondary_status = "Training",
			.time_ms = sender->options.started_ms,
			.unless = sender->options.resumes ? NULL : ended},
		err));
	sender->phase = PHASE_LINES;
	return OK;
}

/* It ran from the first time that its lines bear to the last. */
static enum status tell_start_of_import(struct sender *sender, int64_t *last_ms, struct error *err)
{
	int64_t first_ms = *last_ms;

	TRY(job_read_times(sender->options.client, sender->job, &first_ms, last_ms, err));
	return tell(sender, &(struct job_change){.secondary_status = "Training", .time_ms = first_ms, .unless = ended},
		err);
}

/* The job ends with its first process, and fails with the first that does: that one is named. */
static enum status step_end(struct sender *sender, struct error *err)
{
	static const char *const failed[] = {"Failed", "Stopped", NULL};
	const struct identity *identity = sender->options.identity;
	bool is_failure = strcmp(sender->end_status, "Failed") == 0;
	char reason[1024];
	struct job_change change = {.secondary_status = sender->end_status,
		.reason = sender->end_reason,
		.time_ms = sender->end_ms,
		.unless = sender->options.is_import ? ended : failed};

	if (sender->options.is_import)
		TRY(tell_start_of_import(sender, &change.time_ms, err));

	if (is_failure && identity->process_count > 1) {
		snprintf(reason, sizeof reason, "%s on %s (rank %" PRId64 "): %s", identity->stream, identity->host,
			identity->rank, sender->end_reason ? sender->end_reason : "failed");
		change.reason = reason;
	}
	if (identity->rank == 0 || is_failure)
		TRY(tell(sender, &change, err));
	sender->phase = PHASE_CLOSE;
	return OK;
}

/* Nobody has to wait for the end of our leases; and how the command ended is kept with its stream. */
static enum status step_close(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->close_at];
	struct session_beat beat = {.id = stream->session,
		.is_end = true,
		.done_id = sender->told_command,
		.result = sender->told_result,
		.has_exit = sender->has_exit,
		.exit_code = sender->exit_code,
		.exit_signal = sender->exit_signal,
		.exit_reason = sender->end_reason,
		.exit_ms = sender->end_ms};
	struct command_list commands;
	enum status status = OK;

	if (sender->close_at >= sender->options.max_streams || !stream->session[0]) {
		sender->close_at++;
		sender->phase = sender->close_at < sender->options.max_streams ? PHASE_CLOSE : PHASE_DONE;
		return OK;
	}
	if (!stream->has_session && sender->has_exit)
		return open_stream(sender, sender->close_at, false, err);
	if (stream->has_session)
		status = session_beat(sender->options.client, &beat, &commands, err);
	if (status == ERR_NOT_FOUND && sender->has_exit)
		return lose_session(sender, stream, status);
	if (client_is_passing(status))
		return status;
	sender->told_command = 0;
	sender->close_at++;
	return OK;
}

static void count_sent(struct sender *sender, struct span text)
{
	uint64_t lines = 0;

	for (ptrdiff_t at; (at = span_find_char(text, '\n')) >= 0; lines++)
		text = span_skip(text, (size_t)at + 1);
	atomic_fetch_add(&sender->sent_lines, lines);
}

/* The server has taken the batch, or the part of it before next. */
static void accept_batch(struct sender *sender, struct stream_state *stream, uint64_t next)
{
	uint64_t base = stream->offset, total = sender->batch.text.len;
	uint64_t taken = next > base && next < base + total ? next - base : total;

	count_sent(sender, span_of(sender->batch.text.ptr, (size_t)taken));
	spool_release(sender->options.spool, (size_t)taken);
	stream->sent_bytes += taken;
	stream->offset = next;
	sender->has_batch = false;
	sender->conflicts = 0;
}

static void note_batch(struct sender *sender, uint64_t offset)
{
	struct error err = {0};

	if (!sender->options.ledger || sender->noted_offset == offset ||
		sender->batch.stream >= sender->options.ledger_streams)
		return;
	if (ledger_note(sender->options.ledger, sender->batch.stream, sender->job, offset, &sender->batch, &err) == OK)
		sender->noted_offset = offset;
	else if (!sender->has_told_of_ledger)
		client_say(sender->options.program, "%s", err.text); /* which matters only if we are killed */
	sender->has_told_of_ledger |= sender->noted_offset != offset;
}

/* Plain lines cannot each bear the time at which they were read: an import's, and bytes that JSON does not take. */
static bool is_plain(const struct sender *sender)
{
	return strcmp(sender->content_type, "text/plain") == 0;
}

static enum status send_batch(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];
	const char *name = sender->options.streams[sender->batch.stream];
	struct command_list commands;
	uint64_t next = 0;
	bool has_next = false;

	if (!stream->has_session || !stream->is_known)
		TRY(open_stream(sender, sender->batch.stream, false, err));
	note_batch(sender, stream->offset);
	struct job_lines lines = {.job = sender->job,
		.stream = name,
		.host = sender->options.identity->host,
		.session = stream->session,
		.offset = stream->offset,
		.written_ms = is_plain(sender) ? sender->batch.runs[0].ts_ms : 0,
		.content_type = sender->content_type,
		.body = buf_span(&sender->body)};
	enum status status = job_send_lines(sender->options.client, &lines, &next, &has_next, &commands, err);
	if (status == ERR_NOT_FOUND)
		return lose_session(sender, stream, status);
	if (status == ERR_CONFLICT && ++sender->conflicts <= MAX_CONFLICTS) {
		client_say(sender->options.program, "%s", err->text);
		stream->is_known = has_next; /* else it is asked for, with the session */
		stream->offset = has_next ? next : stream->offset;
		return OK; /* the same batch again */
	}
	TRY(status);
	accept_batch(sender, stream, has_next ? next : stream->offset + sender->batch.text.len);
	if (hears_orders(sender, sender->batch.stream))
		sender->heard_ms = clock_mono_ms();
	if (hears_orders(sender, sender->batch.stream) || !sender->options.has_one_stream)
		carry_out(sender, &commands);
	return OK;
}

/* An import that was cut off goes on where the server stands. */
static enum status pass_over(struct sender *sender, bool *is_passed, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];

	if (!stream->is_known) {
		TRY(open_stream(sender, sender->batch.stream, false, err));
		stream->passed_over = stream->offset;
	}
	uint64_t bytes = stream->passed_over < sender->batch.text.len ? stream->passed_over : sender->batch.text.len;
	stream->passed_over -= bytes;
	*is_passed = bytes > 0;
	if (bytes)
		spool_release(sender->options.spool, (size_t)bytes);
	return OK;
}

/* Points bear no offset. What the server may have, because it was sent by another process or got no reply, it is asked. */
static enum status send_points(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[sender->batch.stream];
	const char *name = sender->options.streams[sender->batch.stream];
	struct job_points points = {.job = sender->job,
		.stream = name,
		.host = sender->options.identity->host,
		.text = buf_span(&sender->batch.text)};

	points.may_be_there = !stream->is_known;
	stream->is_known = false;
	TRY(job_send_points(sender->options.client, &points, err));
	stream->is_known = true;
	stream->sent_bytes += sender->batch.text.len;
	count_sent(sender, buf_span(&sender->batch.text));
	spool_release(sender->options.spool, sender->batch.text.len);
	sender->has_batch = false;
	return OK;
}

static bool holds_points(const struct sender *sender)
{
	return sender->options.is_points && sender->options.is_points[sender->batch.stream];
}

static enum status step_lines(struct sender *sender, struct error *err)
{
	tell_of_loss(sender);
	if (is_beat_due(sender))
		return step_beat(sender, err);
	if (sender->has_batch)
		return holds_points(sender) ? send_points(sender, err) : send_batch(sender, err);
	switch (spool_wait(sender->options.spool, BATCH_BYTES, BATCH_LINGER_MS, IDLE_WAIT_MS)) {
	case SPOOL_IS_EMPTY:
		return OK;
	case SPOOL_HAS_ENDED:
		sender->phase = PHASE_END;
		return OK;
	case SPOOL_HAS_BATCH:
		break;
	}
	enum status status = spool_take(sender->options.spool, BATCH_BYTES, &sender->batch, err);
	if (status == ERR_IO && ++sender->failed_reads < MAX_FAILED_READS) {
		pause_ms(sender, REREAD_MS); /* whoever watches the file may find the copy that was made before a cut */
		return OK;
	}
	sender->failed_reads = 0;
	if (status == ERR_IO) {
		client_say(sender->options.program, "%s", err->text);
		spool_lose_head(sender->options.spool);
		return OK;
	}
	TRY(status);
	if (sender->options.is_import) {
		bool is_passed = false;
		TRY(pass_over(sender, &is_passed, err));
		if (is_passed)
			return OK;
	}
	if (holds_points(sender)) { /* their body depends on what the server has */
		sender->has_batch = true;
		return OK;
	}
	buf_reset(&sender->body);
	if (sender->options.is_import) { /* the server reads the times that the lines bear */
		sender->content_type = "text/plain";
		buf_append_span(&sender->body, buf_span(&sender->batch.text));
		TRY(buf_status(&sender->body, err));
	} else {
		TRY(line_body_put(&sender->batch, &sender->body, &sender->content_type, err));
	}
	sender->has_batch = true;
	sender->noted_offset = UINT64_MAX;
	return OK;
}

static enum status step(struct sender *sender, struct error *err)
{
	switch (sender->phase) {
	case PHASE_CREATE:
		return step_create(sender, err);
	case PHASE_START:
		return step_start(sender, err);
	case PHASE_LINES:
		return step_lines(sender, err);
	case PHASE_END:
		return step_end(sender, err);
	case PHASE_CLOSE:
		return step_close(sender, err);
	case PHASE_DONE:
		break;
	}
	return OK;
}

static void wait_and_retry(struct sender *sender, const struct error *err)
{
	int64_t wait_ms = sender->backoff_ms, stated_ms = (int64_t)err->retry_after_s * 1000;

	if (!sender->is_away && err->status != ERR_BUSY)
		client_say(sender->options.program, "%s; lines are kept in the spool and sent when the server is back",
			err->text);
	sender->is_away = true;
	sender->err = *err;
	if (stated_ms > wait_ms)
		wait_ms = stated_ms < MAX_RETRY_AFTER_MS ? stated_ms : MAX_RETRY_AFTER_MS;
	sender->backoff_ms = sender->backoff_ms * 2 < MAX_BACKOFF_MS ? sender->backoff_ms * 2 : MAX_BACKOFF_MS;
	pause_ms(sender, wait_ms);
}

static void refuse(struct sender *sender, const struct error *err)
{
	client_say(sender->options.program, "%s refuses: %s; nothing more is sent", sender->options.server, err->text);
	sender->result = err->status;
	sender->err = *err;
	spool_discard(sender->options.spool);
}

static void run_phases(struct sender *sender)
{
	while (sender->phase != PHASE_DONE && !is_over(sender)) {
		struct error err = {0};
		enum phase before = sender->phase;
		bool had_batch = sender->has_batch;
		enum status status = step(sender, &err);
		err.status = status;
		if (status == OK) {
			bool has_talked = before != PHASE_LINES || had_batch;
			if (has_talked) {
				sender->is_away = false;
				sender->backoff_ms = FIRST_BACKOFF_MS;
			}
		} else if (client_is_passing(status)) {
			wait_and_retry(sender, &err);
		} else {
			refuse(sender, &err);
			return;
		}
	}
	sender->result = sender->phase == PHASE_DONE ? OK : ERR_UNAVAILABLE;
}

static void *run(void *argument)
{
	struct sender *sender = argument;

	run_phases(sender);
	atomic_store(&sender->is_done, true);
	pthread_kill(sender->options.waiter, SIGCHLD);
	return NULL;
}

enum status sender_start(struct sender **out, const struct sender_options *options, struct error *err)
{
	struct sender *sender = mem_zeroed(sizeof *sender);
	struct stream_state *streams = mem_zeroed(options->max_streams * sizeof *streams);

	if (!sender || !streams) {
		mem_free(sender);
		mem_free(streams);
		return error_set(err, ERR_MEMORY, "out of memory");
	}
	sender->options = *options;
	sender->streams = streams;
	sender->done_command = -1;
	sender->end_status = "Completed";
	sender->backoff_ms = FIRST_BACKOFF_MS;
	sender->body = BUF_INIT(MAX_BODY_BYTES);
	spool_batch_init(&sender->batch);
	snprintf(sender->job, sizeof sender->job, "%s", options->identity->job);
	if (options->ledger && ledger_job(options->ledger)) { /* it is known, and ours, whatever has become of it */
		snprintf(sender->job, sizeof sender->job, "%s", ledger_job(options->ledger));
		sender->phase = PHASE_LINES;
	}
	int failure = pthread_create(&sender->thread, NULL, run, sender);
	if (failure) {
		sender->is_joined = true;
		sender_free(sender);
		return error_set(err, ERR_MEMORY, "cannot start a thread: %s", strerror(failure));
	}
	*out = sender;
	return OK;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	if (!sender->is_joined) {
		sender_give_up_at(sender, 1);
		pthread_join(sender->thread, NULL);
	}
	spool_batch_done(&sender->batch);
	buf_done(&sender->body);
	mem_free(sender->streams);
	mem_free(sender);
}

void sender_set_exit(struct sender *sender, int code, int number)
{
	sender->has_exit = true;
	sender->exit_code = code;
	sender->exit_signal = number;
}

void sender_set_outcome(struct sender *sender, const char *secondary_status, const char *reason, int64_t time_ms)
{
	sender->end_status = secondary_status; /* spool_end's lock makes them visible to the thread */
	sender->end_reason = reason;
	sender->end_ms = time_ms;
}

void sender_give_up_at(struct sender *sender, int64_t mono_ms)
{
	atomic_store(&sender->give_up_ms, mono_ms);
	http_client_give_up_at(sender->options.client, mono_ms);
}

bool sender_is_done(struct sender *sender)
{
	return atomic_load(&sender->is_done);
}

enum status sender_join(struct sender *sender, struct error *err)
{
	pthread_join(sender->thread, NULL);
	sender->is_joined = true;
	if (sender->result != OK && err)
		*err = sender->err;
	return sender->result;
}

uint64_t sender_sent_lines(const struct sender *sender)
{
	return atomic_load(&sender->sent_lines);
}

const char *sender_job(const struct sender *sender)
{
	return sender->job;
}

uint64_t sender_sent_bytes(const struct sender *sender, unsigned stream)
{
	return sender->streams[stream].sent_bytes;
}
