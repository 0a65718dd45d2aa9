#include "cli/ship/import.h"

#include "base/clock.h"
#include "base/text/iso8601.h"
#include "cli/process/child.h"
#include "cli/http/client.h"
#include "cli/input/file_tail.h"
#include "cli/process/identity.h"
#include "cli/input/input_reader.h"
#include "cli/sender/job_calls.h"
#include "cli/sender/sender.h"
#include "cli/ship/ship_options.h"
#include "cli/spool/spool.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum {
	BAR_CHARS = 24,
	PAST_MS = 3600 *
		  1000, /* what is imported is no news, even when its files were copied just now: nobody is paged */
};

struct import {
	const struct options *options;
	char *const *environment;
	struct http_client *client;
	const struct import_list *list;
	uint64_t done_bytes, all_bytes;
	bool has_bar;
	size_t damaged; /* tables, and event files */
	size_t unmade; /* jobs whose files could not be read at all */
	uint64_t there_before, new_to_server; /* lines and points */
	bool is_stopped; /* by a signal */
	int64_t *moments; /* as list->files: of which a table without times was said to be; 0: nothing was said */
};

/* One job of the list. */
struct session {
	struct identity *identity;
	struct spool *spool;
	struct watch *watch;
	struct intake *intake;
	struct sender *sender;
	struct settings metrics;
	size_t own_tags;
	const char **streams, **hosts, **paths, **names;
	struct span *folders;
	struct table_part *parts; /* with the times that are assumed for them */
	const struct table_part **tables;
	bool *is_points; /* of the streams */
};

static void session_done(struct session *session)
{
	intake_free(session->intake);
	sender_free(session->sender);
	watch_free(session->watch);
	spool_free(session->spool);
	identity_free(session->identity);
	mem_free(session->metrics.items);
	mem_free(session->streams);
	mem_free(session->hosts);
	mem_free(session->is_points);
	mem_free(session->paths);
	mem_free(session->names);
	mem_free(session->folders);
	mem_free(session->parts);
	mem_free(session->tables);
}
AUTO_DONE_TYPE(session)

static void draw_bar(const struct import *import, const char *job, uint64_t waiting)
{
	uint64_t done = import->done_bytes > waiting ? import->done_bytes - waiting : 0;
	uint64_t all = import->all_bytes ? import->all_bytes : 1;
	int filled = (int)(done * BAR_CHARS / all);

	if (import->has_bar)
		fprintf(stderr, "\r[%.*s%*s] %3d %%  %.1f of %.1f MB  %-40.40s", filled, "########################",
			BAR_CHARS - filled, "", (int)(done * 100 / all), (double)done / 1e6, (double)all / 1e6, job);
}

static enum status add_settings(const struct import *import, struct identity *identity, struct settings *settings,
	const char *option, struct error *err)
{
	for (size_t i = 0; i < options_count(import->options, option); i++)
		TRY(identity_add_setting(identity, settings, option, options_item(import->options, option, i), err));
	return OK;
}

static enum status make_identity(
	const struct import *import, struct session *session, const struct import_file *file, struct error *err)
{
	char imported[64 + 4096];
	/* nothing of the surroundings: it is not this machine's training */
	struct identity_input input = {.environment = (char *const[]){NULL},
		.job = file->job,
		.stream = file->stream,
		.host = file->host ? file->host : options_text(import->options, "host"),
		.host_name = "",
		.instance_type = options_text(import->options, "instance-type"),
		.instance_count = options_i64(import->options, "instance-count")};

	TRY(identity_new(&session->identity, &input, err));
	struct identity *identity = session->identity;
	TRY(add_settings(import, identity, &identity->hyper_parameters, "hp", err));
	TRY(add_settings(import, identity, &identity->tags, "tag", err));
	TRY(add_settings(import, identity, &session->metrics, "metric", err));
	snprintf(imported, sizeof imported, "imported=%s", file->path);
	session->own_tags = identity->tags.count;
	TRY(identity_add_setting(identity, &identity->tags, "tag", imported, err));
	session->own_tags = identity->tags.count - session->own_tags; /* 0: --tag says it otherwise */
	return OK;
}

/* ---- what bears no time ---- */

/* When the newest of its files was written, and the past: files that are copied an hour apart are no hour of training. */
static int64_t written_ms_of(const struct import_file *files, size_t count)
{
	int64_t latest_ms = clock_wall_ms() - PAST_MS, newest_ms = 0;

	for (size_t i = 0; i < count; i++)
		newest_ms = files[i].written_ms > newest_ms ? files[i].written_ms : newest_ms;
	return newest_ms > 0 && newest_ms < latest_ms ? newest_ms : latest_ms;
}

/* Within what the job that is there has of times: its work is not longer for what says none. */
static enum status find_moment(
	struct import *import, const struct import_file *files, size_t count, int64_t *moment_ms, struct error *err)
{
	int64_t until_ms = clock_mono_ms() + options_i64(import->options, "drain-timeout"), written_ms;
	enum status status;

	*moment_ms = written_ms = written_ms_of(files, count);
	for (;;) {
		int64_t first_ms = written_ms, last_ms = written_ms;
		status = job_read_times(import->client, files[0].job, &first_ms, &last_ms, err);
		if (status == OK)
			*moment_ms = written_ms < first_ms ? first_ms : written_ms > last_ms ? last_ms : written_ms;
		if (!client_is_passing(status))
			return status;
		if (clock_mono_ms() >= until_ms || (import->is_stopped = child_pause()))
			return ERR_UNAVAILABLE;
	}
}

/* Once of a table, whose runs are jobs. */
static void tell_assumed(struct import *import, const struct import_file *file, int64_t moment_ms)
{
	size_t at = (size_t)(file - import->list->files);
	char time[ISO8601_BYTES];

	if (!import_is_timeless(file))
		return;
	import->moments[at] = moment_ms;
	for (size_t i = 0; i < at; i++)
		if (import->moments[i] == moment_ms && strcmp(import->list->files[i].path, file->path) == 0)
			return;
	iso8601_format(moment_ms, time);
	client_say(ship_program.name, "'%s' bears no times: all its points are of %s (assumed)", file->path, time);
}

/* A stream is of the machine that its file's path names, of several files the first one's; streams come in the order of files. */
static void find_hosts(struct session *session, const struct import_file *files, size_t count)
{
	for (size_t i = 0, at = 0; i < watch_stream_count(session->watch); i++) {
		size_t file = at;
		while (file < count && strcmp(files[file].stream, session->streams[i]) != 0)
			file++;
		if (file == count)
			continue;
		session->hosts[i] = files[file].host;
		at = file + 1;
	}
}

static enum status make_room(struct session *session, const struct import *import, size_t count, struct error *err)
{
	session->spool = spool_new((uint64_t)options_i64(import->options, "spool-bytes"));
	session->streams = mem_zeroed(WATCH_MAX_FILES * sizeof *session->streams);
	session->hosts = mem_zeroed(WATCH_MAX_FILES * sizeof *session->hosts);
	session->is_points = mem_zeroed(WATCH_MAX_FILES * sizeof *session->is_points);
	session->paths = mem_zeroed(count * sizeof *session->paths);
	session->names = mem_zeroed(count * sizeof *session->names);
	session->folders = mem_zeroed(count * sizeof *session->folders);
	session->parts = mem_zeroed(count * sizeof *session->parts);
	session->tables = mem_zeroed(count * sizeof *session->tables);
	if (!session->spool || !session->streams || !session->hosts || !session->is_points || !session->paths ||
		!session->names || !session->folders || !session->parts || !session->tables)
		return error_no_memory(err);
	return OK;
}

static enum status start_session(struct import *import, struct session *session, const struct import_file *files,
	size_t count, struct error *err)
{
	int64_t moment_ms;

	TRY(make_room(session, import, count, err));
	TRY(make_identity(import, session, &files[0], err));
	TRY(find_moment(import, files, count, &moment_ms, err));
	for (size_t i = 0; i < count; i++) {
		tell_assumed(import, &files[i], moment_ms);
		session->paths[i] = files[i].path;
		session->names[i] = files[i].stream;
		session->folders[i] = files[i].folder;
		if (files[i].part) {
			session->parts[i] = *files[i].part;
			session->parts[i].written_ms = moment_ms;
			session->tables[i] = &session->parts[i];
		}
	}
	struct watch_options watch = {.program = ship_program.name,
		.spool = session->spool,
		.patterns = session->paths,
		.count = count,
		.names = session->names,
		.folders = session->folders,
		.tables = session->tables,
		.past_ms = clock_wall_ms() - PAST_MS,
		.untimed_ms = moment_ms,
		.spool_folder = ship_spool_folder(import->options, import->environment),
		.is_points = session->is_points,
		.streams = session->streams};
	TRY(watch_new(&session->watch, &watch, err));
	find_hosts(session, files, count);
	struct sender_options sender = {.program = ship_program.name,
		.server = options_text(import->options, "server"),
		.client = import->client,
		.spool = session->spool,
		.identity = session->identity,
		.metrics = &session->metrics,
		.streams = session->streams,
		.hosts = session->hosts,
		.is_points = session->is_points,
		.max_streams = WATCH_MAX_FILES,
		.own_tags = session->own_tags,
		.is_import = true,
		.resumes = true,
		.session_seed = "import",
		.compare_points = (uint64_t)options_i64(import->options, "compare-points"),
		.waiter = pthread_self()};
	TRY(sender_start(&session->sender, &sender, err));
	sender_set_outcome(session->sender, "Completed", NULL, moment_ms);
	return intake_start(&session->intake,
		&(struct intake_options){.spool = session->spool,
			.watch = session->watch,
			.ends_at_end = true,
			.waiter = pthread_self()},
		err);
}

/* As long as bytes arrive there is no hurry; --drain-timeout is for a server that is away. */
static enum status finish_session(struct import *import, struct session *session, struct error *err)
{
	int64_t patience_ms = options_i64(import->options, "drain-timeout") + 1;
	uint64_t before = UINT64_MAX;
	bool has_ended = false;

	while (!sender_is_done(session->sender)) {
		if (child_pause()) {
			import->is_stopped = true;
			sender_give_up_at(session->sender, 1);
		}
		if (!has_ended && intake_is_done(session->intake)) {
			intake_join(session->intake);
			if (watch_damaged_count(session->watch))
				sender_set_unreadable(session->sender);
			spool_end(session->spool);
			has_ended = true;
		}
		uint64_t waiting = spool_totals(session->spool).waiting_bytes;
		if (waiting != before && !import->is_stopped)
			sender_give_up_at(session->sender, clock_mono_ms() + patience_ms);
		before = waiting;
		draw_bar(import, session->identity->job, waiting);
	}
	return sender_join(session->sender, err);
}

static enum status import_files(
	struct import *import, const struct import_file *files, size_t count, bool *has_job, struct error *err)
{
	AUTO_DONE(session) session = {0};

	if (!count)
		return OK;
	http_client_give_up_at(import->client, 0);
	TRY(start_session(import, &session, files, count, err));
	for (size_t i = 0; i < count; i++)
		import->done_bytes += files[i].bytes;
	enum status status = finish_session(import, &session, err);
	uint64_t there_before, new_to_server;
	sender_count_new(session.sender, &there_before, &new_to_server);
	import->there_before += there_before;
	import->new_to_server += new_to_server;
	if (intake_is_done(session.intake))
		import->damaged += watch_damaged_count(session.watch);
	*has_job |= sender_has_job(session.sender);
	return status;
}

/* What has times comes first: the others' lie within them. */
static enum status import_job(struct import *import, const struct import_file *files, size_t count, struct error *err)
{
	bool has_job = false;
	size_t timed = 0;

	while (timed < count && !import_is_timeless(&files[timed]))
		timed++;
	TRY(import_files(import, files, timed, &has_job, err));
	TRY(import_files(import, files + timed, count - timed, &has_job, err));
	if (!has_job) {
		import->unmade++;
		client_say(ship_program.name, "job '%s': nothing of its files could be read: no job is made of them",
			files[0].job);
	}
	return OK;
}

static int run(struct import *import)
{
	const struct import_list *list = import->list;
	size_t refused = 0, jobs = 0;
	struct error err = {0};

	for (size_t first = 0, end; first < list->count && !import->is_stopped; first = end) {
		for (end = first + 1; end < list->count && strcmp(list->files[end].job, list->files[first].job) == 0;)
			end++;
		jobs++;
		enum status status = import_job(import, &list->files[first], end - first, &err);
		if (import->has_bar)
			fprintf(stderr, "\r\33[K");
		if (status == ERR_UNAVAILABLE) {
			client_say(ship_program.name, "%s: %s; start it again, and it goes on where it stood",
				list->files[first].job, import->is_stopped ? "stopped" : err.text);
			return EXIT_UNREACHABLE;
		}
		if (status != OK) {
			client_say(ship_program.name, "job '%s': %s", list->files[first].job, err.text);
			refused++;
		}
	}
	client_say(ship_program.name, "%zu jobs of %zu files, %" PRIu64 " bytes; %zu other files were passed over",
		jobs - refused - import->unmade, list->path_count, import->all_bytes, list->other_count);
	if (import->there_before && !import->new_to_server)
		client_say(ship_program.name, "all %" PRIu64 " lines and points were there already: nothing is new",
			import->there_before);
	else if (import->there_before)
		client_say(ship_program.name,
			"%" PRIu64 " of %" PRIu64 " lines and points were there already, %" PRIu64 " are new",
			import->there_before, import->there_before + import->new_to_server, import->new_to_server);
	if (import->damaged)
		client_say(ship_program.name, "%zu runs were not read whole: their files are named above",
			import->damaged);
	if (list->refused_count)
		client_say(
			ship_program.name, "%zu files hold nothing to send: they are named above", list->refused_count);
	return refused || list->refused_count || import->damaged ? EXIT_REFUSED : EXIT_DONE;
}

int import_run(const struct options *options, char *const *environment)
{
	AUTO(import_list) list = NULL;
	AUTO(http_client) client = NULL;
	struct error err = {0};
	struct import import = {.options = options, .environment = environment, .has_bar = isatty(STDERR_FILENO) == 1};

	if (options_command(options) || options_word_count(options)) {
		client_say(ship_program.name, "--import takes neither FILEs nor -- COMMAND");
		return EXIT_USAGE;
	}
	struct import_names names = {
		options_text(options, "job"), options_text(options, "stream"), options_text(options, "host")};
	if (import_list_new(&list, options_text(options, "import"), &names, (size_t)options_i64(options, "row-bytes"),
		    &err) != OK ||
		client_open(&client, options, ship_program.name, &err) != OK) {
		client_say(ship_program.name, "%s", err.text);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < list->refused_count; i++)
		client_say(ship_program.name, "'%s' is %s", list->refused[i].path, list->refused[i].why);
	if (list->count == 0) {
		client_say(ship_program.name, "no file matches --import '%s' (%zu others do not)",
			options_text(options, "import"), list->other_count);
		return EXIT_USAGE;
	}
	child_block_signals();
	AUTO_MEM int64_t *moments = mem_zeroed(list->count * sizeof *moments);
	if (!moments) {
		client_say(ship_program.name, "out of memory");
		return EXIT_USAGE;
	}
	import.list = list;
	import.client = client;
	import.moments = moments;
	for (size_t i = 0; i < list->count; i++)
		import.all_bytes += list->files[i].bytes;
	return run(&import);
}
