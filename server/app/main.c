/* sm-server: options, then either a subcommand or the server until a signal. */
#include "app/app.h"
#include "app/control.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/log.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_REFUSED = 4 };

static int fail(const struct error *err, int code)
{
	if (err->line)
		fprintf(stderr, "sm-server: line %lld: %s\n", (long long)err->line, err->text);
	else
		fprintf(stderr, "sm-server: %s\n", err->text);
	return code;
}

static bool set_level(const char *name)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};

	for (int i = 0; i < 4; i++)
		if (strcmp(names[i], name) == 0) {
			log_set_level((enum log_level)i);
			return true;
		}
	return false;
}

static const char *text_or_empty(const struct options *options, const char *name)
{
	const char *text = options_text(options, name);

	return text ? text : "";
}

static void write_request(const struct options *options, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	json_put_text(&w, "command", "token_create");
	json_put_text(&w, "name", options_word(options, 2));
	json_put_text(&w, "scope", text_or_empty(options, "scope"));
	json_put_text(&w, "team", text_or_empty(options, "team"));
	json_object_end(&w);
}

static int print_reply(struct span reply)
{
	AUTO(json) json = NULL;
	struct error err;

	if (json_parse(&json, reply, &err) != OK)
		return fail(&err, EXIT_FAILED);
	struct span token = json_string_of(json_get(json, "token")), problem = json_string_of(json_get(json, "error"));
	if (!token.len) {
		fprintf(stderr, "sm-server: %.*s\n", SPAN_ARGS(problem));
		return EXIT_REFUSED;
	}
	printf("%.*s\n", SPAN_ARGS(token));
	return EXIT_DONE;
}

static int create_offline(const struct options *options)
{
	AUTO(app) app = NULL;
	AUTO_DONE(buf) token = BUF_INIT(256);
	struct error err = {0};

	log_set_level(LOG_WARNING);
	if (app_open_offline(&app, options, &err) != OK)
		return fail(&err, EXIT_FAILED);
	if (app_create_token(app, span_from(options_word(options, 2)), span_from(text_or_empty(options, "scope")),
		    span_from(text_or_empty(options, "team")), &token, &err) != OK)
		return fail(&err, EXIT_REFUSED);
	printf("%.*s\n", SPAN_ARGS(buf_span(&token)));
	return EXIT_DONE;
}

/* The running server makes it (one process writes a database); without one the database is opened here. */
static int create_token(const struct options *options)
{
	AUTO_DONE(buf) path = BUF_INIT(4096);
	AUTO_DONE(buf) request = BUF_INIT(8192);
	AUTO_DONE(buf) reply = BUF_INIT(8192);
	struct error err = {0};

	buf_printf(&path, "%s.sock", options_text(options, "db"));
	buf_append_char(&path, 0);
	write_request(options, &request);
	if (buf_status(&path, &err) != OK || buf_status(&request, &err) != OK)
		return fail(&err, EXIT_USAGE);
	enum status status = control_ask(path.ptr, buf_span(&request), &reply, &err);
	if (status == ERR_NOT_FOUND)
		return create_offline(options);
	if (status != OK)
		return fail(&err, EXIT_FAILED);
	return print_reply(buf_span(&reply));
}

static int serve(const struct options *options)
{
	AUTO(app) app = NULL;
	struct error err = {0};

	if (app_start(&app, options, &err) != OK)
		return fail(&err, EXIT_FAILED);
	if (app_run(app, &err) != OK)
		return fail(&err, EXIT_FAILED);
	return EXIT_DONE;
}

static int run(const struct options *options)
{
	size_t words = options_word_count(options);

	if (!set_level(options_text(options, "log-level"))) {
		fprintf(stderr, "sm-server: --log-level is none of debug, info, warning, error: '%s'\n",
			options_text(options, "log-level"));
		return EXIT_USAGE;
	}
	if (words == 0)
		return serve(options);
	if (words == 3 && strcmp(options_word(options, 0), "token") == 0 &&
		strcmp(options_word(options, 1), "create") == 0)
		return create_token(options);
	fprintf(stderr, "sm-server: '%s' is no command; see sm-server --help\n", options_word(options, 0));
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	AUTO(options) options = NULL;
	struct error err = {0};

	/* Buffers of a slice or a group come and go a thousand times a second: from the heap, or page faults are a fifth of the
	 * work. What a burst needed goes back when it is over (mem_give_back). */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 8 * 1024 * 1024);
	mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);

	if (options_parse(&options, &app_program, argc, argv, environ, &err) != OK)
		return fail(&err, EXIT_USAGE);
	if (options_action(options) == OPTIONS_RUN)
		return run(options);
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	options_print(&app_program, options_action(options), &text);
	printf("%.*s", SPAN_ARGS(buf_span(&text)));
	return EXIT_DONE;
}
