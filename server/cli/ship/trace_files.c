#include "cli/ship/trace_files.h"

#include "base/clock.h"
#include "base/map.h"
#include "cli/input/file_kind.h"
#include "cli/process/child.h"
#include "cli/sender/job_calls.h"
#include "cli/ship/beside.h"
#include "cli/ship/ship_options.h"
#include "cli/trace/trace.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	FILES_MOST = 100000,
	DOCUMENT_BYTES_MAX = 64 << 10,
	GIVEN_BYTES = 320, /* a stream and a rank */
	UNFINISHED_S =
		60 /* a file that is no whole trace is one that is being written, until it has not changed for so long */
};

struct shipping {
	struct beside beside;
	char **files; /* of one path */
	size_t count, cap;
	size_t sent;
	struct map *seen; /* of files that are followed, by path: struct seen */
	bool is_away; /* the server, and it was said */
};

/* A file as it was when it was tried. */
struct seen {
	int64_t bytes, changed_ns;
	bool is_settled; /* sent, or refused for good */
};

static void forget_seen(struct map *seen)
{
	struct span path;
	void *value;

	for (size_t at = 0; seen && map_next(seen, &at, &path, &value);)
		mem_free(value);
	map_free(seen);
}

static void forget_files(struct shipping *s)
{
	for (size_t i = 0; i < s->count; i++)
		mem_free(s->files[i]);
	s->count = 0;
}

static void shipping_done(struct shipping *s)
{
	forget_files(s);
	mem_free(s->files);
	forget_seen(s->seen);
	beside_done(&s->beside);
}
AUTO_DONE_TYPE(shipping)

/* ---- which files ---- */

static enum status add_file(struct shipping *s, const char *folder, const char *name, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(2 * PATH_MAX);

	if (s->count == FILES_MOST)
		return error_set(err, ERR_TOO_LARGE, "'%s' has more than %d traces", folder, FILES_MOST);
	buf_printf(&path, "%s%s%s", folder, *name ? "/" : "", name);
	buf_append_char(&path, 0);
	TRY(buf_status(&path, err));
	if (!mem_grow((void **)&s->files, s->count, &s->cap, sizeof *s->files) ||
		!(s->files[s->count] = mem_copy_string(path.ptr)))
		return error_no_memory(err);
	s->count++;
	return OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status list_folder(struct shipping *s, const char *path, DIR *folder, struct error *err)
{
	const struct dirent *entry;

	while ((entry = readdir(folder)))
		if (file_kind_is_trace(entry->d_name))
			TRY(add_file(s, path, entry->d_name, err));
	if (!s->count && !options_flag(s->beside.options, "follow"))
		return error_set(err, ERR_NOT_FOUND, "'%s' has no file *.pt.trace.json or *.pt.trace.json.gz", path);
	if (s->count)
		qsort(s->files, s->count, sizeof *s->files, by_name);
	return OK;
}

static enum status list_path(struct shipping *s, const char *path, struct error *err)
{
	forget_files(s);
	DIR *folder = opendir(path);
	if (!folder && errno != ENOTDIR)
		return error_set(err, ERR_IO, "'%s' cannot be opened: %s", path, strerror(errno));
	if (!folder)
		return add_file(s, path, "", err);
	enum status status = list_folder(s, path, folder, err);
	closedir(folder);
	return status;
}

/* ---- one trace ---- */

static void put_known(struct json_writer *w, const char *key, int64_t value, int64_t unknown)
{
	if (value != unknown)
		json_put_i64(w, key, value);
}

static void put_steps(struct json_writer *w, const struct trace_summary *trace)
{
	put_known(w, "first_step", trace->first_step, -1);
	put_known(w, "last_step", trace->last_step, -1);
	json_put_i64(w, "steps", trace->steps);
	put_known(w, "step_us", trace->step_us, -1);
	json_put_bool(w, "last_left_out", trace->is_last_left_out);
}

static void put_times(struct json_writer *w, const struct trace_summary *trace)
{
	static const char *const kinds[TRACE_KERNELS] = {"compute", "communication", "memory", "other"};

	json_put_i64(w, "kernels", trace->kernels);
	json_put_i64(w, "kernel_us", trace->kernel_us);
	json_put_i64(w, "idle_us", trace->idle_us);
	json_put_i64(w, "compute_us", trace->compute_us);
	json_put_i64(w, "communication_us", trace->communication_us);
	json_put_i64(w, "overlap_us", trace->overlap_us);
	json_key(w, "by_kind_us");
	json_object(w);
	for (int kind = 0; kind < TRACE_KERNELS; kind++)
		json_put_i64(w, kinds[kind], trace->sums_us[kind]);
	json_object_end(w);
}

/* A folder has the traces of all ranks, and each rank is a stream: another's than --stream's has its number behind the name. */
static void put_stream(struct json_writer *w, const struct identity *identity, const struct trace_summary *trace)
{
	bool is_of_one = identity->has_rank &&
			 !identity->has_rank_number; /* algo-2-r3: which rank that is the name does not say */
	int64_t own = identity->has_rank_number ? identity->rank : 0;
	char text[GIVEN_BYTES];

	if (trace->rank < 0 || trace->rank == own || is_of_one)
		snprintf(text, sizeof text, "%s", identity->stream);
	else
		snprintf(text, sizeof text, "%s-r%" PRId64, identity->stream, trace->rank);
	json_put_text(w, "stream", text);
}

static enum status write_document(const struct shipping *s, const char *path, const struct trace_summary *trace,
	struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	char whole[PATH_MAX];

	json_object(&w);
	put_stream(&w, s->beside.identity, trace);
	json_put_text(&w, "trace", trace->id);
	json_put_text(&w, "file", realpath(path, whole) ? whole : path);
	put_known(&w, "rank", trace->rank, -1);
	put_known(&w, "devices", trace->devices, 0);
	put_known(&w, "profiled_ms", trace->profiled_ms, 0);
	put_steps(&w, trace);
	put_times(&w, trace);
	json_object_end(&w);
	return buf_status(out, err);
}

struct sending {
	const struct shipping *s;
	struct span document;
};

static enum status attempt(void *context, struct error *err)
{
	const struct sending *sending = context;
	const struct beside *beside = &sending->s->beside;

	return job_send_trace(beside->client, beside->identity->job, beside->identity->run_key, sending->document, err);
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : NAN;
}

static void tell(const struct shipping *s, const char *path, const struct trace_summary *trace)
{
	char steps[64] = "";

	if (options_flag(s->beside.options, "quiet"))
		return;
	if (trace->first_step >= 0)
		snprintf(
			steps, sizeof steps, "steps %" PRId64 " to %" PRId64 ", ", trace->first_step, trace->last_step);
	client_say(ship_program.name,
		"'%s': %s%" PRId64
		" kernels: %.1f %% computing, %.1f %% idle, %.1f %% communicating with nothing beside",
		path, steps, trace->kernels, percent(trace->compute_us, trace->kernel_us),
		percent(trace->idle_us, trace->kernel_us),
		percent(trace->communication_us - trace->overlap_us, trace->kernel_us));
}

/* ERR_UNAVAILABLE, ERR_MEMORY: the rest has no chance either. */
static enum status ship_file(struct shipping *s, const char *path, struct error *err)
{
	AUTO_DONE(buf) document = BUF_INIT(DOCUMENT_BYTES_MAX);
	struct trace_summary trace;

	enum status status = trace_read(path, &trace, err);
	if (status == ERR_BUSY) /* it is being written: the others are not */
		return ERR_INVALID;
	TRY(status);
	TRY(write_document(s, path, &trace, &document, err));
	struct sending sending = {s, buf_span(&document)};
	TRY(beside_send(&s->beside, attempt, &sending, err));
	s->sent++;
	tell(s, path, &trace);
	return OK;
}

static enum status ship_path(struct shipping *s, const char *path, struct error *err)
{
	TRY(list_path(s, path, err));
	for (size_t i = 0; i < s->count; i++)
		TRY(beside_take(&s->beside, s->files[i], ship_file(s, s->files[i], err), err));
	return OK;
}

static enum status ship_all(void *context, struct error *err)
{
	struct shipping *s = context;

	for (size_t i = 0; i < options_count(s->beside.options, "trace"); i++) {
		enum status status = ship_path(s, options_item(s->beside.options, "trace", i), err);
		if (status == ERR_MEMORY || client_is_passing(status))
			return status;
		if (status == OK)
			continue;
		client_say(ship_program.name, "%s", err->text);
		s->beside.refused++;
	}
	return OK;
}

/* ---- what is still to come ---- */

static enum status find_seen(struct shipping *s, const char *path, struct seen **out, struct error *err)
{
	*out = map_get(s->seen, span_from(path));
	if (*out)
		return OK;
	struct seen *fresh = mem_zeroed(sizeof *fresh);
	if (!fresh || !map_put(s->seen, span_from(path), fresh)) {
		mem_free(fresh);
		return error_no_memory(err);
	}
	*out = fresh;
	return OK;
}

/* The server is away: the file's turn comes again. */
static void tell_away(struct shipping *s, const struct error *why)
{
	if (!s->is_away && !s->beside.is_stopped)
		client_say(ship_program.name, "%s; traces wait where they are", why->text);
	s->is_away = true;
}

static enum status note_end(struct shipping *s, const char *path, enum status status, bool is_finished,
	struct seen *seen, struct error *err)
{
	if (status == ERR_MEMORY)
		return status;
	if (client_is_passing(status)) {
		seen->bytes = -1; /* the next round tries again */
		tell_away(s, err);
		return OK;
	}
	s->is_away = false;
	seen->is_settled = status == OK || is_finished;
	if (status == OK || !is_finished)
		return OK;
	client_say(ship_program.name, "'%s': %s", path, err->text);
	s->beside.refused++;
	return OK;
}

/* One that is no whole trace may become one: it is tried again when it has changed, and named when it does not any more. */
static enum status follow_file(struct shipping *s, const char *path, struct error *err)
{
	struct stat info;
	struct seen *seen;

	TRY(find_seen(s, path, &seen, err));
	if (seen->is_settled || stat(path, &info) != 0)
		return OK;
	int64_t changed_ns = info.st_mtim.tv_sec * 1000000000LL + info.st_mtim.tv_nsec;
	bool is_finished = clock_wall_ms() / 1000 - info.st_mtim.tv_sec > UNFINISHED_S;
	if (!is_finished && seen->bytes == info.st_size && seen->changed_ns == changed_ns)
		return OK;
	seen->bytes = info.st_size;
	seen->changed_ns = changed_ns;
	return note_end(s, path, ship_file(s, path, err), is_finished, seen, err);
}

/* A folder that is not there yet is made by the profiler. */
static enum status follow_path(struct shipping *s, const char *path, struct error *err)
{
	enum status status = list_path(s, path, err);

	for (size_t i = 0; status == OK && i < s->count && !s->beside.is_stopped; i++)
		status = follow_file(s, s->files[i], err);
	return status == ERR_MEMORY || status == ERR_TOO_LARGE ? status : OK;
}

static enum status follow_all(void *context, struct error *err)
{
	struct shipping *s = context;

	s->seen = map_new();
	if (!s->seen)
		return error_no_memory(err);
	while (!s->beside.is_stopped) {
		for (size_t i = 0; i < options_count(s->beside.options, "trace"); i++)
			TRY(follow_path(s, options_item(s->beside.options, "trace", i), err));
		s->beside.is_stopped = s->beside.is_stopped || child_pause();
	}
	return OK;
}

static enum status prepare(void *context, char *const *environment, struct error *err)
{
	struct shipping *s = context;

	if (options_command(s->beside.options) || options_word_count(s->beside.options))
		return error_set(err, ERR_INVALID, "--trace takes neither FILEs nor -- COMMAND");
	return beside_open(&s->beside, environment, "trace", err);
}

int trace_files_run(const struct options *options, char *const *environment)
{
	AUTO_DONE(shipping) s = {.beside = {.options = options}};

	return beside_run(&s.beside, prepare, options_flag(options, "follow") ? follow_all : ship_all, &s, environment);
}
