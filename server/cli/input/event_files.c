#include "cli/input/event_files.h"

#include "base/json/json_write.h"
#include "cli/http/client.h"
#include "cli/input/tf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, MAX_BYTES = TF_EVENTS_MAX_RECORD_BYTES + 2 * READ_BYTES, MAX_SPLIT_BYTES = 16 };

struct event_file {
	char *path;
	int fd;
	uint64_t at; /* of the first record that is not taken */
	size_t run;
	const char *split; /* of the words below; NULL: none */
	int64_t assumed_ms;
	bool is_broken, has_told;
};

struct event_files {
	const char *program;
	struct point_spool *points;
	struct event_file *files;
	size_t count, cap;
	struct buf bytes, text, name;
	const struct event_file *reading; /* whose points come */
};

enum status event_files_new(
	struct event_files **out, const char *program, struct point_spool *points, struct error *err)
{
	struct event_files *events = mem_zeroed(sizeof *events);

	if (!events)
		return error_no_memory(err);
	events->program = program;
	events->points = points;
	events->bytes = BUF_INIT(MAX_BYTES);
	events->name = BUF_INIT(TF_EVENTS_MAX_RECORD_BYTES + MAX_SPLIT_BYTES);
	events->text = BUF_INIT(8 * TF_EVENTS_MAX_RECORD_BYTES);
	*out = events;
	return OK;
}

void event_files_free(struct event_files *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++) {
		close(events->files[i].fd);
		mem_free(events->files[i].path);
	}
	mem_free(events->files);
	buf_done(&events->bytes);
	buf_done(&events->text);
	buf_done(&events->name);
	mem_free(events);
}

static struct span last_of(struct span folder)
{
	size_t at = folder.len;

	while (at && folder.ptr[at - 1] != '/')
		at--;
	return span_skip(folder, at);
}

/* Keras writes train and validation, TensorFlow's estimators eval, others val and test. */
static const char *const evaluations[] = {"val", "valid", "validation", "eval", "evaluation", "test"};

static const char *split_of(struct span folder)
{
	struct span last = last_of(folder);

	for (size_t i = 0; i < sizeof evaluations / sizeof *evaluations; i++)
		if (span_equal(last, span_from(evaluations[i])))
			return evaluations[i];
	return NULL;
}

struct span event_files_run_of(struct span folder)
{
	struct span last = last_of(folder);
	bool is_split = split_of(folder) || span_equal(last, SPAN("train")) || span_equal(last, SPAN("training"));
	size_t len = is_split ? folder.len - last.len : folder.len;

	return span_of(folder.ptr, is_split && len ? len - 1 : len);
}

enum status event_files_add(
	struct event_files *events, const struct event_source *source, unsigned stream, struct error *err)
{
	const char *path = source->path;
	size_t run;

	TRY(point_spool_open(events->points, stream, &run, err));
	if (!mem_grow((void **)&events->files, events->count, &events->cap, sizeof *events->files))
		return error_no_memory(err);
	char *kept = mem_copy_string(path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!kept || fd < 0) {
		mem_free(kept);
		if (fd >= 0)
			close(fd);
		return error_set(err, ERR_INVALID, "cannot open '%s': %s", path, strerror(errno));
	}
	events->files[events->count++] = (struct event_file){.path = kept,
		.fd = fd,
		.run = run,
		.split = split_of(source->folder),
		.assumed_ms = source->assumed_ms};
	return OK;
}

/* loss in the folder validation is another metric than the training's. */
static struct span metric_of(struct event_files *events, struct span tag)
{
	const char *split = events->reading->split;

	if (!split)
		return tag;
	buf_reset(&events->name);
	buf_printf(&events->name, "%s/", split);
	buf_append_span(&events->name, tag);
	return events->name.failure == OK ? buf_span(&events->name) : tag;
}

static void take_scalar(void *context, const struct tf_scalar *scalar)
{
	struct event_files *events = context;
	int64_t ts_ms = scalar->ts_ms ? scalar->ts_ms : events->reading->assumed_ms;
	struct spool_point point = {.metric = metric_of(events, scalar->tag),
		.step = scalar->step,
		.ts_ms = ts_ms,
		.is_time_assumed = !scalar->ts_ms,
		.value = scalar->value};

	point_spool_put(events->points, events->reading->run, &point);
}

static void take_setting(void *context, const struct tf_setting *setting)
{
	struct event_files *events = context;
	struct json_writer w = json_writer_on(&events->text);

	buf_reset(&events->text);
	if (setting->kind == TF_SETTING_NONE)
		return;
	if (setting->kind == TF_SETTING_TEXT)
		json_span(&w, setting->text);
	else if (setting->kind == TF_SETTING_BOOL)
		json_bool(&w, setting->number != 0);
	else
		json_double(&w, setting->number);
	if (events->text.failure == OK)
		point_spool_put_setting(events->points, events->reading->run, setting->key, buf_span(&events->text));
}

static void tell_damage(struct event_files *events, struct event_file *file, const struct tf_events_progress *progress,
	const char *text)
{
	if (file->has_told)
		return;
	file->has_told = true;
	if (text)
		client_say(events->program, "'%s' is damaged behind byte %" PRIu64 " (%s): the rest is not read",
			file->path, file->at, text);
	else
		client_say(events->program, "'%s': %zu damaged records are passed over", file->path,
			progress->damaged_records);
}

/* Reads and takes once; false at the end, or while the spool is full. More is read at a time when a record is longer. */
static bool read_some(struct event_files *events, struct event_file *file, size_t *wanted)
{
	const struct tf_events_taker taker = {take_scalar, take_setting, events};
	struct tf_events_progress progress;
	struct error err = {0};

	if (!point_spool_flush(events->points))
		return false;
	buf_reset(&events->bytes);
	char *room = buf_reserve(&events->bytes, *wanted);
	ssize_t got = room ? pread(file->fd, room, *wanted, (off_t)file->at) : 0;
	if (got <= 0)
		return false;
	events->reading = file;
	enum status status = tf_events_read(span_of(room, (size_t)got), &taker, &progress, &err);
	file->at += progress.used_bytes;
	if (status != OK) {
		file->is_broken = true;
		tell_damage(events, file, &progress, err.text);
		return false;
	}
	if (progress.damaged_records)
		tell_damage(events, file, &progress, NULL);
	if (progress.used_bytes)
		return true;
	if ((size_t)got < *wanted)
		return false; /* the rest of the record is not written yet */
	*wanted = *wanted * 2 < MAX_BYTES ? *wanted * 2 : MAX_BYTES;
	return true;
}

bool event_files_round(struct event_files *events)
{
	for (size_t i = 0; i < events->count; i++) {
		size_t wanted = READ_BYTES;
		while (!events->files[i].is_broken && read_some(events, &events->files[i], &wanted))
			;
		if (!point_spool_flush(events->points))
			return false;
	}
	return true;
}

size_t event_files_damaged(const struct event_files *events)
{
	size_t damaged = 0;

	for (size_t i = 0; i < events->count; i++)
		damaged += events->files[i].has_told;
	return damaged;
}
