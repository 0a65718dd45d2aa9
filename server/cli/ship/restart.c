#include "cli/ship/restart.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/http/url.h"
#include "cli/process/shell_command.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	PATH_BYTES_MAX = 8192,
	REPLY_BYTES_MAX = 16 << 20,
	LIST_BYTES_MAX = 64 * 1024, /* of one variable: a command line has 128 KiB for each */
	EXTRACT_POLL_MS = 200,
	EXTRACT_TRIES = 50, /* for the server to look at the last lines */
	DELAY_MAX_MS = 3600 * 1000,
};

struct told { /* by the server */
	struct http_reply reply;
	struct json *document;
	bool is_due, is_extracted;
	int64_t failures_in_row;
};

static void told_done(struct told *told)
{
	json_free(told->document);
	http_reply_done(&told->reply);
}
AUTO_DONE_TYPE(told)

/* The whole time, or until a signal asks to stop: true. */
static bool wait_for(const struct restart *restart, int64_t ms)
{
	int64_t until_ms = clock_mono_ms() + ms;

	for (int64_t left_ms = ms; left_ms > 0; left_ms = until_ms - clock_mono_ms())
		if (restart->wait(left_ms))
			return true;
	return false;
}

static enum status ask_once(const struct restart *restart, struct told *told, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(PATH_BYTES_MAX);
	struct http_request request = {.method = "GET"};

	told_done(told);
	*told = (struct told){0};
	http_reply_init(&told->reply, REPLY_BYTES_MAX);
	url_put_value(&path, "/api/v1/jobs/", span_from(restart->job));
	buf_append_text(&path, "/restart");
	TRY(buf_status(&path, err));
	request.path = buf_span(&path);
	TRY(client_call(restart->client, &request, &told->reply, err));
	TRY(json_parse(&told->document, buf_span(&told->reply.body), err));
	TRY(json_want_bool(told->document, "due", &told->is_due, err));
	TRY(json_want_bool(told->document, "extracted", &told->is_extracted, err));
	return json_want_i64(told->document, "failures_in_row", &told->failures_in_row, err);
}

/* The last checkpoint may be in the last lines. A server that stays behind is believed as it is. */
static enum status ask(const struct restart *restart, struct told *told, struct error *err)
{
	enum status status = OK;

	for (int tries = 0; tries < EXTRACT_TRIES; tries++) {
		status = ask_once(restart, told, err);
		if (status == OK ? told->is_extracted : !client_is_passing(status))
			return status;
		if (wait_for(restart, EXTRACT_POLL_MS))
			return error_set(err, ERR_UNAVAILABLE, "a signal came");
	}
	return status;
}

/* ---- whether ---- */

static bool number_of(char *const *environment, const char *name, int64_t *number)
{
	const char *text = environment_find(environment, name);

	return text && span_parse_i64(span_from(text), number);
}

/* torchrun around us starts its workers again by itself, as often as it says. */
static bool is_restarted_by_torchrun(const struct restart *restart)
{
	int64_t count, most;

	if (!number_of(restart->environment, "TORCHELASTIC_RESTART_COUNT", &count) ||
		!number_of(restart->environment, "TORCHELASTIC_MAX_RESTARTS", &most) || count >= most)
		return false;
	client_say(restart->program,
		"--on-restart is not run: torchrun starts it again itself (%" PRId64 " of %" PRId64 " times so far)",
		count, most);
	return true;
}

/* One of all processes of the job asks: the first. */
static bool is_ours(const struct restart *restart)
{
	const struct identity *identity = restart->identity;

	return restart->end->exit_code && identity->local_rank == 0 && (!identity->has_rank || identity->rank == 0);
}

static bool is_due(const struct restart *restart, const struct told *told)
{
	int64_t limit = options_i64(restart->options, "restart-limit");
	struct span why = json_string_of(json_get(told->document, "why"));

	if (!told->is_due)
		client_say(restart->program, "--on-restart is not run: %.*s", SPAN_ARGS(why));
	else if (told->failures_in_row > limit)
		client_say(restart->program,
			"--on-restart is not run: the job failed %" PRId64
			" times without a new checkpoint in between, and --restart-limit is %" PRId64,
			told->failures_in_row, limit);
	return told->is_due && told->failures_in_row <= limit;
}

/* It doubles with each failure in a row. */
static int64_t delay_of(const struct restart *restart, int64_t failures)
{
	int64_t delay_ms = options_i64(restart->options, "restart-delay");

	for (int64_t i = 1; i < failures && delay_ms < DELAY_MAX_MS; i++)
		delay_ms *= 2;
	return delay_ms < DELAY_MAX_MS ? delay_ms : DELAY_MAX_MS;
}

/* Asked again behind the delay: somebody may have started it meanwhile, and one delay may be too short by then. */
static enum status wait_until_due(const struct restart *restart, struct told *told, bool *due, struct error *err)
{
	*due = false;
	TRY(ask(restart, told, err));
	if (!is_due(restart, told))
		return OK;
	int64_t delay_ms = delay_of(restart, told->failures_in_row);
	if (delay_ms >= 1000)
		client_say(restart->program, "--on-restart is run in %" PRId64 " s", delay_ms / 1000);
	if (wait_for(restart, delay_ms)) {
		client_say(restart->program, "--on-restart is not run: a signal asked to end");
		return OK;
	}
	TRY(ask(restart, told, err));
	*due = is_due(restart, told);
	return OK;
}

/* ---- the command ---- */

static void put_drained(const struct json *document, struct buf *out)
{
	const struct json *list = json_get(document, "drained");
	const char *separator = "";

	for (const struct json *node = list ? json_first(list) : NULL; node; node = json_next(node)) {
		struct span host = json_string_of(json_get(node, "host"));
		if (json_get(node, "place")) /* no name that a scheduler knows */
			continue;
		if (out->len + host.len + 1 > LIST_BYTES_MAX)
			return;
		buf_append_text(out, separator);
		separator = ",";
		buf_append_span(out, host);
	}
}

static void put_checkpoint(const struct json *document, struct buf *step, struct buf *path)
{
	const struct json *checkpoint = json_get(document, "checkpoint");
	double number;

	if (checkpoint && json_number_of(json_get(checkpoint, "step"), &number))
		buf_printf(step, "%.0f", number);
	if (checkpoint)
		buf_append_span(path, json_string_of(json_get(checkpoint, "path")));
}

static enum status run(const struct restart *restart, const struct told *told, int *exit_code, struct error *err)
{
	struct buf values[] = {BUF_INIT(PATH_BYTES_MAX), BUF_INIT(PATH_BYTES_MAX), BUF_INIT(PATH_BYTES_MAX),
		BUF_INIT(2 * LIST_BYTES_MAX), BUF_INIT(PATH_BYTES_MAX), BUF_INIT(PATH_BYTES_MAX)};
	enum { COUNT = sizeof values / sizeof *values };
	static const char *const names[COUNT] = {"SMFLEET_RESTART_JOB", "SMFLEET_RESTART_STEP",
		"SMFLEET_RESTART_CHECKPOINT", "SMFLEET_RESTART_DRAINED", "SMFLEET_RESTART_EXIT",
		"SMFLEET_RESTART_FAILURES"};
	char *variables[COUNT + 1] = {0};
	enum status status = OK;

	for (size_t i = 0; i < COUNT; i++)
		buf_printf(&values[i], "%s=", names[i]);
	buf_append_text(&values[0], restart->job);
	put_checkpoint(told->document, &values[1], &values[2]);
	put_drained(told->document, &values[3]);
	buf_printf(&values[4], "%d", restart->end->exit_code);
	buf_printf(&values[5], "%" PRId64, told->failures_in_row);
	for (size_t i = 0; i < COUNT && status == OK; i++) {
		buf_append_span(&values[i], (struct span){"", 1}); /* its end */
		status = buf_status(&values[i], err);
		variables[i] = values[i].ptr;
	}
	if (status == OK)
		status = shell_command_run(options_text(restart->options, "on-restart"), buf_span(&told->reply.body),
			variables, exit_code, err);
	for (size_t i = 0; i < COUNT; i++)
		buf_done(&values[i]);
	return status;
}

void restart_run(const struct restart *restart, const char *unsent)
{
	AUTO_DONE(told) told = {0};
	struct error err = {0};
	bool due = false;
	int exit_code = 0;

	if (!options_text(restart->options, "on-restart") || !is_ours(restart) || is_restarted_by_torchrun(restart))
		return;
	if (unsent) {
		client_say(
			restart->program, "--on-restart is not run: whether a restart is due is not known: %s", unsent);
		return;
	}
	http_client_give_up_at(restart->client, 0);
	if (wait_until_due(restart, &told, &due, &err) != OK) {
		client_say(restart->program, "--on-restart is not run: whether a restart is due is not known: %s",
			err.text);
		return;
	}
	if (due && run(restart, &told, &exit_code, &err) != OK)
		client_say(restart->program, "--on-restart could not be run: %s", err.text);
	else if (due && exit_code)
		client_say(restart->program, "the command of --on-restart ended with exit status %d", exit_code);
}
