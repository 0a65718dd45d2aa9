#include "cli/ship/import_mlflow.h"

#include "cli/http/client.h"
#include "cli/moving/mlflow_send.h"
#include "cli/process/child.h"
#include "cli/ship/ship_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct moving {
	struct mlflow_source source;
	struct mlflow_sending sending;
	struct mlflow_left left;
	size_t done, deleted, unread, refused;
	bool has_bar;
};

static void add_left(struct mlflow_left *sum, const struct mlflow_left *more)
{
	sum->artifacts += more->artifacts;
	sum->datasets += more->datasets;
	sum->models += more->models;
	sum->traces += more->traces;
}

static void tell_deleted(struct moving *moving, const struct mlflow_past_run *run)
{
	moving->deleted++;
	client_say(ship_program.name, "run %.*s ('%.*s') is deleted: left out", SPAN_ARGS(span_cut(run->id, 64)),
		SPAN_ARGS(span_cut(run->name, 100)));
}

static void draw_bar(const struct moving *moving)
{
	if (moving->has_bar && moving->source.count)
		fprintf(stderr, "\r%zu of %zu runs", moving->done, moving->source.count);
}

/* ERR_UNAVAILABLE ends it: the server is away, or a signal came. */
static enum status move_next(struct moving *moving, bool *is_end, struct error *err)
{
	AUTO_DONE(mlflow_past_run) run = {0};
	enum status status = moving->source.kind->next(moving->source.state, &run, is_end, err);

	if (*is_end && status == OK)
		return OK;
	if (status == ERR_INVALID) {
		moving->unread++;
		client_say(ship_program.name, "a run cannot be read: %s", err->text);
		return OK;
	}
	TRY(status);
	if (run.is_deleted) {
		tell_deleted(moving, &run);
		return OK;
	}
	add_left(&moving->left, &run.left);
	status = mlflow_send_run(&moving->sending, &moving->source, &run, err);
	if (status == ERR_UNAVAILABLE || status == ERR_MEMORY)
		return status;
	if (status != OK) {
		moving->refused++;
		client_say(ship_program.name, "run %.*s ('%.*s'): %s", SPAN_ARGS(span_cut(run.id, 64)),
			SPAN_ARGS(span_cut(run.name, 100)), err->text);
		return OK;
	}
	moving->done++;
	draw_bar(moving);
	return OK;
}

static void tell_left(size_t count, const char *what)
{
	if (count)
		client_say(ship_program.name, "not moved: %zu %s", count, what);
}

static int tell_end(const struct moving *moving)
{
	const struct mlflow_sending *sent = &moving->sending;

	client_say(ship_program.name, "%zu runs of MLflow are jobs; %zu of them were there already", moving->done,
		sent->runs_there);
	client_say(ship_program.name, "%" PRIu64 " points are new, %" PRIu64 " were there already", sent->points_new,
		sent->points_there);
	if (sent->runs_open)
		client_say(ship_program.name, "%zu of the runs have not ended, as MLflow says", sent->runs_open);
	tell_left(moving->deleted, "deleted runs, which are named above");
	tell_left(moving->left.artifacts,
		"files of artifacts; they stay where MLflow keeps them, and runs go on naming that place");
	tell_left(moving->left.datasets, "datasets of runs");
	tell_left(moving->left.models, "models");
	tell_left(moving->left.traces, "traces");
	tell_left(sent->points_odd, "points whose time is before 1990 or whose step is beyond 2^53");
	tell_left(sent->texts_long, "params and tags that are too long (6000 and 8000 bytes, names of 250)");
	tell_left(sent->metrics_damaged, "metrics to their end: damage is named above");
	tell_left(moving->unread, "runs that cannot be read, which are named above");
	tell_left(moving->refused, "runs, or parts of them, which are named above");
	return moving->unread || moving->refused || sent->points_odd || sent->texts_long || sent->metrics_damaged
		       ? EXIT_REFUSED
		       : EXIT_DONE;
}

static int move_all(struct moving *moving)
{
	struct error err = {0};

	for (bool is_end = false; !is_end;) {
		enum status status = move_next(moving, &is_end, &err);
		if (status == OK)
			continue;
		if (moving->has_bar)
			fprintf(stderr, "\r\33[K");
		client_say(ship_program.name, "%s; start it again, and it goes on where it stood",
			moving->sending.is_stopped ? "stopped" : err.text);
		return EXIT_UNREACHABLE;
	}
	if (moving->has_bar)
		fprintf(stderr, "\r\33[K");
	add_left(&moving->left, &moving->source.left);
	return tell_end(moving);
}

static enum status open_source(
	struct mlflow_source *out, const struct options *options, char *const *environment, struct error *err)
{
	struct span place = span_from(options_text(options, "import-mlflow"));
	struct stat info;

	if (span_starts_with(place, SPAN("http://")) || span_starts_with(place, SPAN("https://")))
		return mlflow_server_open(out,
			&(struct mlflow_server_options){.address = place.ptr,
				.token = environment_find(environment, "MLFLOW_TRACKING_TOKEN"),
				.user = environment_find(environment, "MLFLOW_TRACKING_USERNAME"),
				.password = environment_find(environment, "MLFLOW_TRACKING_PASSWORD"),
				.ca_file = options_text(options, "ca-file"),
				.patience_ms = options_i64(options, "drain-timeout"),
				.wait = child_pause},
			err);
	if (!span_take(&place, SPAN("file://")))
		span_take(&place, SPAN("file:"));
	span_take(&place, SPAN("sqlite:///"));
	if (stat(place.ptr, &info) != 0)
		return error_set(err, ERR_INVALID, "cannot read '%s': %s", place.ptr, strerror(errno));
	if (S_ISREG(info.st_mode))
		return mlflow_database_open(out, place.ptr, err);
	return mlflow_files_open(out, place.ptr, err);
}

int import_mlflow_run(const struct options *options, char *const *environment)
{
	AUTO(http_client) client = NULL;
	AUTO_DONE(mlflow_source) source = {0};
	struct error err = {0};

	if (options_command(options) || options_word_count(options)) {
		client_say(ship_program.name, "--import-mlflow takes neither FILEs nor -- COMMAND");
		return EXIT_USAGE;
	}
	child_block_signals();
	if (client_open(&client, options, ship_program.name, &err) != OK ||
		open_source(&source, options, environment, &err) != OK) {
		client_say(ship_program.name, "%s", err.text);
		return err.status == ERR_UNAVAILABLE ? EXIT_UNREACHABLE : EXIT_USAGE;
	}
	struct moving moving = {.source = source,
		.sending = {.program = ship_program.name,
			.client = client,
			.patience_ms = options_i64(options, "drain-timeout"),
			.wait = child_pause},
		.has_bar = isatty(STDERR_FILENO) == 1};
	return move_all(&moving);
}
