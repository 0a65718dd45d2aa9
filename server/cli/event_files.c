#include "cli/event_files.h"

#include "base/json_write.h"
#include "base/map.h"
#include "cli/client.h"
#include "cli/spool_file.h"
#include "cli/tf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10, MAX_BYTES = TF_EVENTS_MAX_RECORD_BYTES + 2 * READ_BYTES };

struct run {
	unsigned stream, source;
	struct spool_file file;
	struct map *counts; /* tag -> uint64_t */
};

struct event_file {
	char *path;
	int fd;
	uint64_t at; /* of the first record that is not taken */
	size_t run;
	bool is_broken, has_told;
};

struct event_files {
	const char *program;
	struct spool *spool;
	const char *folder;
	struct run *runs;
	size_t run_count, run_cap;
	struct event_file *files;
	size_t count, cap;
	struct buf bytes, lines;
	struct run *reading; /* whose points come */
};

enum status event_files_new(
	struct event_files **out, const char *program, struct spool *spool, const char *spool_folder, struct error *err)
{
	struct event_files *events = mem_zeroed(sizeof *events);

	if (!events)
		return error_set(err, ERR_MEMORY, "out of memory");
	events->program = program;
	events->spool = spool;
	events->folder = spool_folder;
	events->bytes = BUF_INIT(MAX_BYTES);
	events->lines = BUF_INIT(4 * MAX_BYTES);
	*out = events;
	return OK;
}

static void run_done(struct run *run)
{
	struct span tag;
	void *value;

	for (size_t at = 0; run->counts && map_next(run->counts, &at, &tag, &value);)
		mem_free(value);
	map_free(run->counts);
	spool_file_done(&run->file);
}

void event_files_free(struct event_files *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++) {
		close(events->files[i].fd);
		mem_free(events->files[i].path);
	}
	for (size_t i = 0; i < events->run_count; i++)
		run_done(&events->runs[i]);
	mem_free(events->runs);
	mem_free(events->files);
	buf_done(&events->bytes);
	buf_done(&events->lines);
	mem_free(events);
}

bool event_files_match(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash + 1 : path, ".tfevents.") != NULL;
}

static enum status find_run(struct event_files *events, unsigned stream, size_t *out, struct error *err)
{
	struct error why = {0};

	for (*out = 0; *out < events->run_count; ++*out)
		if (events->runs[*out].stream == stream)
			return OK;
	if (!mem_grow((void **)&events->runs, events->run_count, &events->run_cap, sizeof *events->runs))
		return error_set(err, ERR_MEMORY, "out of memory");
	struct run *run = &events->runs[events->run_count];
	*run = (struct run){.stream = stream, .file = SPOOL_FILE_NONE, .counts = map_new()};
	if (!run->counts)
		return error_set(err, ERR_MEMORY, "out of memory");
	events->run_count++;
	TRY(spool_file_open(&run->file, events->folder, "points", &why, err));
	if (why.status != OK)
		client_say(events->program, "%s: points wait in memory instead", why.text);
	return spool_add_source(events->spool,
		&(struct spool_source){.fd = run->file.fd, .stream = stream, .is_ours = true}, &run->source, err);
}

enum status event_files_add(struct event_files *events, const char *path, unsigned stream, struct error *err)
{
	size_t run;

	TRY(find_run(events, stream, &run, err));
	if (!mem_grow((void **)&events->files, events->count, &events->cap, sizeof *events->files))
		return error_set(err, ERR_MEMORY, "out of memory");
	char *kept = mem_copy_string(path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!kept || fd < 0) {
		mem_free(kept);
		if (fd >= 0)
			close(fd);
		return error_set(err, ERR_INVALID, "cannot open '%s': %s", path, strerror(errno));
	}
	events->files[events->count++] = (struct event_file){.path = kept, .fd = fd, .run = run};
	return OK;
}

static bool next_number(struct run *run, struct span tag, uint64_t *number)
{
	uint64_t *count = map_get(run->counts, tag);

	if (!count) {
		count = mem_zeroed(sizeof *count);
		if (!count || !map_put(run->counts, tag, count)) {
			mem_free(count);
			return false;
		}
	}
	*number = (*count)++;
	return true;
}

static void take(void *context, const struct tf_scalar *scalar)
{
	struct event_files *events = context;
	struct json_writer w = json_writer_on(&events->lines);
	uint64_t number;

	if (!next_number(events->reading, scalar->tag, &number))
		return;
	buf_printf(&events->lines, "%" PRIu64 "\t", number);
	json_object(&w);
	json_put_span(&w, "metric", scalar->tag);
	json_put_i64(&w, "step", scalar->step);
	if (scalar->ts_ms)
		json_put_i64(&w, "ts_ms", scalar->ts_ms);
	json_put_double(&w, "value", scalar->value);
	json_object_end(&w);
	buf_append_char(&events->lines, '\n');
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

/* Reads and takes once; false at the end. More is read at a time when a record is longer. */
static bool read_some(struct event_files *events, struct event_file *file, size_t *wanted)
{
	struct tf_events_progress progress;
	struct error err = {0};

	buf_reset(&events->bytes);
	buf_reset(&events->lines);
	char *room = buf_reserve(&events->bytes, *wanted);
	ssize_t got = room ? pread(file->fd, room, *wanted, (off_t)file->at) : 0;
	if (got <= 0)
		return false;
	events->reading = &events->runs[file->run];
	enum status status = tf_events_read(span_of(room, (size_t)got), take, events, &progress, &err);
	file->at += progress.used_bytes;
	spool_write(events->spool, events->reading->source, buf_span(&events->lines), false, 0);
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

void event_files_round(struct event_files *events)
{
	for (size_t i = 0; i < events->count; i++) {
		size_t wanted = READ_BYTES;
		while (!events->files[i].is_broken && read_some(events, &events->files[i], &wanted))
			;
	}
}
