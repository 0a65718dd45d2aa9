#include "cli/ship/score_files.h"

#include "base/json/json_read.h"
#include "base/text_file.h"
#include "cli/http/url.h"
#include "cli/input/score_file.h"
#include "cli/ship/beside.h"
#include "cli/ship/ship_options.h"

#include <glob.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_SAID_BYTES = 8192 };

struct scores {
	struct beside beside;
	glob_t files;
};

static void scores_done(struct scores *s)
{
	globfree(&s->files);
	beside_done(&s->beside);
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
	AUTO_DONE(scores) s = {.beside = {.options = options}};
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
	const char *checkpoint = options_text(s->beside.options, "checkpoint");
	int64_t step;

	if (!checkpoint)
		return;
	bool is_step = span_parse_i64(span_from(checkpoint), &step) && step >= 0;
	url_put_value(path, is_step ? "?step=" : "?path=", span_from(checkpoint));
}

struct sending {
	struct scores *s;
	struct http_request request;
	struct http_reply *reply;
};

static enum status attempt(void *context, struct error *err)
{
	struct sending *sending = context;

	http_reply_done(sending->reply); /* of the one before */
	*sending->reply = (struct http_reply){0};
	return client_call(sending->s->beside.client, &sending->request, sending->reply, err);
}

static enum status send(struct scores *s, struct span document, struct http_reply *reply, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	url_put_value(&path, "/api/v1/jobs/", span_from(s->beside.identity->job));
	buf_append_text(&path, "/evaluations");
	put_checkpoint(s, &path);
	TRY(buf_status(&path, err));
	struct sending sending = {.s = s,
		.reply = reply,
		.request = {.method = "POST",
			.path = buf_span(&path),
			.content_type = "application/json",
			.body = document}};
	return beside_send(&s->beside, attempt, &sending, err);
}

/* "5 scores of step 500 (/ckpt/checkpoint-500)" */
static void tell(const struct scores *s, const char *file, struct span reply)
{
	AUTO_DONE(buf) said = BUF_INIT(MAX_SAID_BYTES);
	AUTO(json) body = NULL;
	struct error err;
	double scores, step, skipped = 0;

	if (options_flag(s->beside.options, "quiet") || json_parse(&body, reply, &err) != OK ||
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

static enum status ship_all(void *context, struct error *err)
{
	struct scores *s = context;

	for (size_t i = 0; i < s->files.gl_pathc; i++) {
		const char *file = s->files.gl_pathv[i];
		TRY(beside_take(&s->beside, file, ship_file(s, file, err), err));
	}
	return OK;
}

static enum status prepare(void *context, char *const *environment, struct error *err)
{
	struct scores *s = context;

	TRY(find_files(s->beside.options, &s->files, err));
	return beside_open(&s->beside, environment, "evaluation", err);
}

int score_files_run(const struct options *options, char *const *environment)
{
	AUTO_DONE(scores) s = {.beside = {.options = options}};

	return beside_run(&s.beside, prepare, ship_all, &s, environment);
}
