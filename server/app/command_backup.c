/* sm-server backup: one copy, or dated ones again and again. */
#include "app/command_backup.h"
#include "app/control.h"
#include "app/exit_status.h"
#include "app/storage.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/text/iso8601.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/admin.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct outcome {
	int code;
	bool is_terminal;
};

static bool take_line(void *context, struct span line)
{
	struct outcome *outcome = context;
	AUTO(json) json = NULL;
	struct error err;
	double left = 0, total = 0;

	if (json_parse(&json, line, &err) != OK) {
		outcome->code = command_fail(&err, EXIT_FAILED);
		return false;
	}
	struct span problem = json_string_of(json_get(json, "error"));
	if (problem.len) {
		fprintf(stderr, "sm-server: %.*s\n", SPAN_ARGS(problem));
		outcome->code = EXIT_REFUSED;
		return false;
	}
	if (json_is_true(json_get(json, "done"))) {
		outcome->code = EXIT_DONE;
		return false;
	}
	if (outcome->is_terminal && json_number_of(json_get(json, "left"), &left) &&
		json_number_of(json_get(json, "total"), &total) && total > 0)
		fprintf(stderr, "\r%3.0f %% ", 100 * (1 - left / total));
	return true;
}

/* The server writes with its own folder and user: the path must mean the same there. */
static bool absolute(const char *path, char out[PATH_MAX])
{
	char folder[PATH_MAX];

	if (path[0] == '/')
		return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
	return getcwd(folder, sizeof folder) && snprintf(out, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
}

static int copy_once(const struct options *options, const char *path)
{
	const char *db = options_text(options, "db");
	AUTO_DONE(buf) request = BUF_INIT(8192);
	AUTO_DONE(buf) socket = BUF_INIT(4096);
	struct json_writer w = json_writer_on(&request);
	struct outcome outcome = {EXIT_FAILED, isatty(STDERR_FILENO)};
	struct error err = {0};

	json_object(&w);
	json_put_text(&w, "command", "backup");
	json_put_text(&w, "file", path);
	json_object_end(&w);
	if (buf_status(&request, &err) != OK)
		return command_fail(&err, EXIT_USAGE);
	if (storage_socket(options, &socket, &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	enum status status = control_ask(socket.ptr, buf_span(&request), take_line, &outcome, &err);
	if (outcome.is_terminal)
		fprintf(stderr, "\r      \r");
	if (status == ERR_NOT_FOUND) {
		status = store_backup_offline(db, path, &err);
		outcome.code = EXIT_DONE;
	}
	if (status != OK)
		return command_fail(&err, EXIT_FAILED);
	if (outcome.code == EXIT_DONE) {
		printf("%s\n", path);
		fflush(stdout);
	}
	return outcome.code;
}

/* Names sort by their time: the oldest come first. */
static void prune(const char *path, size_t keep)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (snprintf(pattern, sizeof pattern,
		    "%s-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]-[0-9][0-9][0-9][0-9][0-9][0-9]", path) >= PATH_MAX ||
		glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i + keep < found.gl_pathc; i++)
		if (unlink(found.gl_pathv[i]) != 0)
			fprintf(stderr, "sm-server: cannot remove '%s': %s\n", found.gl_pathv[i], strerror(errno));
	globfree(&found);
}

static int copy_dated(const struct options *options, const char *path)
{
	char dated[PATH_MAX], now[ISO8601_BYTES], date[16];

	iso8601_format(clock_wall_ms(), now); /* 2026-11-21T02:31:59.123Z */
	snprintf(date, sizeof date, "%.4s%.2s%.2s-%.2s%.2s%.2s", now, now + 5, now + 8, now + 11, now + 14, now + 17);
	if (snprintf(dated, sizeof dated, "%s-%s", path, date) >= PATH_MAX) {
		fprintf(stderr, "sm-server: the path '%s' is too long\n", path);
		return EXIT_USAGE;
	}
	int code = copy_once(options, dated);
	if (code == EXIT_DONE)
		prune(path, (size_t)options_i64(options, "keep"));
	return code;
}

int command_backup(const struct options *options)
{
	char path[PATH_MAX];
	int64_t every_ms = options_i64(options, "every");
	struct error err = {0};

	if (options_word_count(options) != 2) {
		fprintf(stderr, "sm-server: the command is: backup FILE [--every TIME] [--keep N] [--db FILE]\n");
		return EXIT_USAGE;
	}
	if (storage_needs_file(
		    options, "pg_dump writes a copy of its schema, and archives of its log any moment's", &err) != OK)
		return command_fail(&err, EXIT_FAILED);
	if (!absolute(options_word(options, 1), path)) {
		fprintf(stderr, "sm-server: the path '%s' is too long\n", options_word(options, 1));
		return EXIT_USAGE;
	}
	if (!every_ms)
		return copy_once(options, path);
	/* a copy that fails is said, and the next one is tried in its time: until somebody ends it */
	for (int64_t due_ms = clock_mono_ms();; due_ms += every_ms) {
		for (int64_t left_ms; (left_ms = due_ms - clock_mono_ms()) > 0;)
			poll(NULL, 0, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
		int code = copy_dated(options, path);
		if (code == EXIT_USAGE)
			return code;
	}
}
