#include "cli/http/url.h"
#include "cli/sender/sender_state.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/hash128.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	LEASE_SLACK_MS = 5000, /* over the time at which another's session ends */
	WAITED_LEAST_MS = 100, /* what is shorter is no wait */
};

void sender_carry_out(struct sender *sender, const struct command_list *commands)
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
		char server[1024] = "";
		AUTO_DONE(buf) address = BUF_INIT(sizeof server - 1);
		url_put_canonical(sender->options.server, &address);
		snprintf(server, sizeof server, "%.*s", SPAN_ARGS(buf_span(&address)));
		const char *parts[] = {
			seed, server, sender->options.identity->host, sender->options.identity->job, stream};
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

/* Of what is said of a job. */
static bool is_refused(enum status status)
{
	return status == ERR_INVALID || status == ERR_SEMANTIC || status == ERR_TOO_LARGE;
}

/* An older server does not take how long the process has waited, and wants nothing else otherwise. */
static enum status open_waited(
	struct sender *sender, const struct session_asked *waiting, struct session_told *told, struct error *err)
{
	struct session_asked asked = *waiting;
	enum status status = session_open(sender->options.client, &asked, told, err);

	if (!is_refused(status) || !asked.waited_ms)
		return status;
	asked.waited_ms = 0;
	return session_open(sender->options.client, &asked, told, err);
}

/* What is said of a job, and is wrong, is no reason to keep its lines from the server. */
static enum status open_session(
	struct sender *sender, const struct session_asked *described, struct session_told *told, struct error *err)
{
	struct session_asked asked = *described;

	asked.is_bare = sender->is_bare;
	enum status status = open_waited(sender, &asked, told, err);
	if (!is_refused(status) || asked.is_bare || sender->options.is_import)
		return status;
	struct error why = *err;
	asked.is_bare = true;
	status = open_waited(sender, &asked, told, err);
	sender->is_bare = status == OK || status == ERR_CONFLICT;
	if (sender->is_bare)
		client_say(sender->options.program,
			"the server did not take what is said of job '%s', whose lines go without that: %s", asked.job,
			why.text);
	return status;
}

enum status sender_ask_session(
	struct sender *sender, const struct session_asked *asked, struct session_told *told, struct error *err)
{
	enum status status = open_session(sender, asked, told, err);

	if (status == ERR_CONFLICT && told->expires_in_ms > 0)
		return wait_for_lease(sender, told, err);
	TRY(status);
	sender->refused_until_ms = 0;
	snprintf(sender->job, sizeof sender->job, "%s", told->job);
	return OK;
}

/* What is left of a file goes on with a job of which only its lines say when it was. */
bool sender_is_of_past(const struct sender *sender)
{
	return sender->options.is_import || (sender->options.reads_files && sender->options.resumes);
}

const char *sender_host_of(const struct sender *sender, size_t index)
{
	const char *host = sender->options.hosts ? sender->options.hosts[index] : NULL;

	return host ? host : sender->options.identity->host;
}

/* A command, or who writes the pipe, is at work meanwhile: since it began, or since the server last heard of it. When what left a rest
 * began, another process noted by the time of day. */
static int64_t waited_ms_of(const struct sender *sender)
{
	bool is_of_other = sender->options.rest && !sender->heard_ms;
	int64_t since_ms = sender->heard_ms ? sender->heard_ms : sender->begun_ms;
	int64_t waited_ms = is_of_other ? clock_wall_ms() - sender->options.started_ms : clock_mono_ms() - since_ms;

	return sender->options.has_one_stream && waited_ms >= WAITED_LEAST_MS ? waited_ms : 0;
}

bool sender_hears_orders(const struct sender *sender, size_t index)
{
	return sender->options.has_one_stream && index == 0;
}

/* A file that an earlier start has begun goes on in that one's count. */
static void take_over_source(const struct sender *sender, size_t index)
{
	struct job_imported *imported = &sender->streams[index].imported;
	const char *source =
		sender->options.ledger && !sender->options.has_one_stream && index < sender->options.ledger_streams
			? ledger_source(sender->options.ledger, (unsigned)index)
			: NULL;

	if (source)
		snprintf(imported->source, sizeof imported->source, "%s", source);
}

enum status sender_open_stream(struct sender *sender, size_t index, bool is_first, struct error *err)
{
	struct stream_state *stream = &sender->streams[index];

	take_over_source(sender, index);
	struct session_told told = {0};
	struct session_asked asked = {.identity = sender->options.identity,
		.metrics = sender->options.metrics,
		.job = sender->job,
		.run_key = is_first ? sender->options.identity->run_key : NULL,
		.stream = sender->options.streams[index],
		.source = stream->imported.source[0] ? stream->imported.source : NULL,
		.host = sender_host_of(sender, index),
		.id = stream->session,
		.resumes = !is_first || sender->options.resumes,
		.is_past = sender_is_of_past(sender),
		.waited_ms = waited_ms_of(sender),
		.commands_after = sender->done_command};

	if (!stream->session[0])
		name_session(sender, asked.stream, stream->session);
	TRY(sender_ask_session(sender, &asked, &told, err));
	stream->has_session = true;
	if (!stream->is_known &&
		!(sender->options.ledger && !sender->options.is_import && index < sender->options.ledger_streams &&
			ledger_base(sender->options.ledger, (unsigned)index, &stream->offset)))
		stream->offset = told.next_offset;
	stream->is_known = true;
	if (!sender_hears_orders(sender, index))
		return OK;
	sender->heard_ms = clock_mono_ms();
	sender->heartbeat_ms = told.heartbeat_ms;
	if (sender->done_command < 0)
		sender->done_command = told.commands_after;
	sender_carry_out(sender, &told.commands);
	return OK;
}

enum status sender_lose_session(struct sender *sender, struct stream_state *stream, enum status status)
{
	if (status != ERR_NOT_FOUND || ++sender->conflicts > SENDER_MAX_CONFLICTS)
		return status;
	stream->has_session = false;
	return OK;
}

bool sender_is_beat_due(const struct sender *sender)
{
	return sender->options.has_one_stream && !sender->streams[0].is_sessionless &&
	       (sender->told_command || clock_mono_ms() - sender->heard_ms >= sender->heartbeat_ms);
}

enum status sender_beat(struct sender *sender, struct error *err)
{
	struct stream_state *stream = &sender->streams[0];
	struct command_list commands;

	if (!stream->has_session)
		return sender_open_stream(sender, 0, false, err);
	struct session_beat beat = {
		.id = stream->session, .done_id = sender->told_command, .result = sender->told_result};
	enum status status = session_beat(sender->options.client, &beat, &commands, err);
	if (status == ERR_NOT_FOUND)
		return sender_lose_session(sender, stream, status);
	TRY(status);
	sender->heard_ms = clock_mono_ms();
	sender->told_command = 0;
	sender->conflicts = 0;
	sender_carry_out(sender, &commands);
	return OK;
}

/* The server may not take the time of a machine whose clock is wrong: how the process ended is said without it, then it was now. */
static enum status say_end(struct sender *sender, struct session_beat *beat, struct error *err)
{
	struct command_list commands;
	enum status status = session_beat(sender->options.client, beat, &commands, err);

	if (status == OK || !beat->has_exit || status == ERR_NOT_FOUND || client_is_passing(status))
		return status;
	client_say(sender->options.program, "the server did not take how the process ended: %s", err->text);
	if (status != ERR_SEMANTIC)
		return status;
	beat->exit_ms = 0;
	return session_beat(sender->options.client, beat, &commands, err);
}

enum status sender_close_next(struct sender *sender, struct error *err)
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
	enum status status = OK;

	/* What was left may have been the end alone. */
	bool opens = sender->options.rest && !sender->close_at && !stream->is_sessionless;
	if (sender->close_at >= sender->options.max_streams || (!stream->session[0] && !opens)) {
		sender->close_at++;
		sender->phase = sender->close_at < sender->options.max_streams ? PHASE_CLOSE : PHASE_DONE;
		return OK;
	}
	if (!stream->has_session && (sender->has_exit || opens))
		return sender_open_stream(sender, sender->close_at, false, err);
	if (stream->has_session)
		status = say_end(sender, &beat, err);
	if (status == ERR_NOT_FOUND && (sender->has_exit || opens))
		return sender_lose_session(sender, stream, status);
	if (client_is_passing(status))
		return status;
	sender->told_command = 0;
	sender->close_at++;
	return OK;
}
