#include "cli/ship/score_files.h"

#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/text_file.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/input/score_file.h"
#include "cli/process/child.h"
#include "cli/ship/ship_options.h"

#include <glob.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_SAID_BYTES = 8192 };

struct scores {
	const struct options *options;
	struct identity *identity;
	struct http_client *client;
	glob_t files;
	size_t refused;
};

static void scores_done(struct scores *s)
{
	globfree(&s->files);
	identity_free(s->identity);
	http_client_free(s->client);
}
AUTO_DONE_TYPE(scores)

/* ---- which files ---- */

/* A word that fits nothing is a file of that name, which is not there. */
static enum status find_files(const struct options *options, glob_t *out, struct error *err)
{
	for (size_t i = 0; i < options_word_count(options); i++)
		if (glob(options_word(options, i), GLOB_NOCHECK | (i ? GLOB_APPEND : 0), NULL, out) == GLOB_NOSPACE)
			return error_no_memory(err);
	return OK;
}

enum status score_files_wanted(const struct options *options, bool *wanted, struct error *err)
{
	AUTO_DONE(scores) s = {.options = options};
	const char *other = NULL, *one = NULL;

	*wanted = false;
	if (options_command(options) || !options_word_count(options) || options_flag(options, "follow"))
		return OK;
	TRY(find_files(options, &s.files, err));
	for (size_t i = 0; i < s.files.gl_pathc; i++) {
		const char *path = s.files.gl_pathv[i];
		*(score_file_is_at(path) ? &one : &other) = path;
	}
	*wanted = one != NULL;
	if (!one && options_text(options, "checkpoint"))
		return error_set(
			err, ERR_INVALID, "--checkpoint is of what an evaluation found, and '%s' is not", other);
	if (!one || !other)
		return OK;
	return error_set(err, ERR_INVALID,
		"'%s' is what an evaluation found, and '%s' is not: send them by two commands", one, other);
}

/* ---- one file ---- */

/* Digits are a step, everything else is a path. */
static void put_checkpoint(const struct scores *s, struct buf *path)
{
	const char *checkpoint = options_text(s->options, "checkpoint");
	int64_t step;

	if (!checkpoint)
		return;
	bool is_step = span_parse_i64(span_from(checkpoint), &step) && step >= 0;
	url_put_value(path, is_step ? "?step=" : "?path=", span_from(checkpoint));
}

/* A server that is away may come back. */
static enum status send(struct scores *s, struct span document, struct http_reply *reply, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + options_i64(s->options, "drain-timeout");
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	url_put_value(&path, "/api/v1/jobs/", span_from(s->identity->job));
	buf_append_text(&path, "/evaluations");
	put_checkpoint(s, &path);
	TRY(buf_status(&path, err));
	struct http_request request = {
		.method = "POST", .path = buf_span(&path), .content_type = "application/json", .body = document};
	for (;;) {
		enum status status = client_call(s->client, &request, reply, err);
		if (!client_is_passing(status) || clock_mono_ms() >= until_ms)
			return status;
		http_reply_done(reply);
		*reply = (struct http_reply){0};
		if (child_pause())
			return error_set(err, ERR_UNAVAILABLE, "stopped");
	}
}

/* "5 scores of step 500 (/ckpt/checkpoint-500)" */
static void tell(const struct scores *s, const char *file, struct span reply)
{
	AUTO_DONE(buf) said = BUF_INIT(MAX_SAID_BYTES);
	AUTO(json) body = NULL;
	struct error err;
	double scores, step, skipped = 0;

	if (options_flag(s->options, "quiet") || json_parse(&body, reply, &err) != OK ||
		!json_number_of(json_get(body, "scores"), &scores))
		return;
	struct span path = json_string_of(json_get(body, "path"));
	buf_printf(&said, "%.0f score%s", scores, scores == 1 ? "" : "s");
	if (json_number_of(json_get(body, "step"), &step))
		buf_printf(&said, " of step %.0f", step);
	if (path.len)
		buf_printf(&said, " (%.*s)", SPAN_ARGS(path));
	if (json_number_of(json_get(body, "skipped_count"), &skipped) && skipped > 0)
		buf_printf(&said, ", %.0f without a number left out", skipped);
	buf_append_char(&said, 0);
	if (buf_status(&said, &err) == OK)
		client_say(ship_program.name, "'%s': %s", file, said.ptr);
}

static enum status ship_file(struct scores *s, const char *file, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(SCORE_FILE_MAX + 1);
	AUTO_DONE(http_reply) reply = {0};

	TRY(text_file_read(file, "FILE", &document, err));
	TRY(send(s, buf_span(&document), &reply, err));
	tell(s, file, buf_span(&reply.body));
	return OK;
}

/* What the server refuses does not keep the others. */
static enum status ship_all(struct scores *s, struct error *err)
{
	for (size_t i = 0; i < s->files.gl_pathc; i++) {
		enum status status = ship_file(s, s->files.gl_pathv[i], err);
		if (status == OK)
			continue;
		error_prefix(err, "'%s'", s->files.gl_pathv[i]);
		if (status == ERR_MEMORY || client_is_passing(status))
			return status;
		client_say(ship_program.name, "%s", err->text);
		s->refused++;
	}
	return OK;
}

static enum status prepare(struct scores *s, char *const *environment, struct error *err)
{
	TRY(find_files(s->options, &s->files, err));
	TRY(ship_find_identity(&s->identity, s->options, environment, err));
	if (s->identity->is_named_by_time)
		return error_set(err, ERR_INVALID, "--job NAME says whose evaluation it is");
	return client_open(&s->client, s->options, ship_program.name, err);
}

int score_files_run(const struct options *options, char *const *environment)
{
	AUTO_DONE(scores) s = {.options = options};
	struct error err = {0};

	if (prepare(&s, environment, &err) != OK) {
		client_say(ship_program.name, "%s\nTry 'sm-ship --help'.", err.text);
		return EXIT_USAGE;
	}
	child_block_signals();
	if (ship_all(&s, &err) != OK) {
		client_say(ship_program.name, "%s; start it again", err.text);
		return EXIT_UNREACHABLE;
	}
	return s.refused ? EXIT_REFUSED : EXIT_DONE;
}
