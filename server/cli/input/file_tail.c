#include "cli/input/file_tail.h"

#include "base/clock.h"
#include "cli/http/client.h"
#include "cli/input/event_files.h"
#include "cli/input/file_kind.h"
#include "cli/process/first_time.h"
#include "cli/input/line_reader.h"
#include "cli/input/refused_files.h"
#include "cli/input/rotation.h"
#include "cli/input/table_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	GLOB_EVERY_MS = 1000,
	QUIET_ROUNDS = 3, /* a renamed file may still be written to for a moment */
	OLD_BEFORE_MS = 15 * 60 * 1000, /* less than zones are apart */
	OLD_BEHIND_MS = 60 * 1000
};

struct file {
	struct file *next; /* of those that are only waited for until they are sent */
	char *path;
	unsigned stream;
	struct line_reader reader;
	dev_t device;
	ino_t inode;
	bool is_seen; /* the ledger has it */
	unsigned quiet_rounds; /* since another file has its name */
};

struct watch {
	struct watch_options options;
	struct file **files;
	size_t count, cap;
	size_t stream_count;
	struct file *retired;
	struct point_spool *points; /* NULL: none yet */
	struct event_files *events; /* the same */
	struct table_files *tables; /* the same */
	bool has_unread; /* points, when the last round ended */
	char **event_paths;
	size_t event_count, event_cap;
	struct refused_files refused;
	int64_t globbed_ms;
};

static void file_free(struct file *file)
{
	if (!file)
		return;
	if (file->reader.fd >= 0)
		close(file->reader.fd);
	line_reader_done(&file->reader);
	mem_free(file->path);
	mem_free(file);
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->count; i++)
		file_free(watch->files[i]);
	for (struct file *next; watch->retired; watch->retired = next) {
		next = watch->retired->next;
		file_free(watch->retired);
	}
	for (size_t i = 0; i < watch->stream_count; i++)
		mem_free((char *)watch->options.streams[i]);
	for (size_t i = 0; i < watch->event_count; i++)
		mem_free(watch->event_paths[i]);
	mem_free(watch->event_paths);
	refused_files_done(&watch->refused);
	event_files_free(watch->events);
	table_files_free(watch->tables);
	point_spool_free(watch->points);
	mem_free(watch->files);
	mem_free(watch);
}

static bool has_wildcard(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

/* ---- names ---- */

/* logs/STAR/train.log names its streams a/train.log, b/train.log; logs/STAR.log and plain names give base names. */
static const char *name_within(const char *pattern, const char *path)
{
	const char *wild = strpbrk(pattern, "*?["), *slash = strrchr(path, '/');
	size_t fixed = 0;

	if (!wild || !strchr(wild, '/'))
		return slash ? slash + 1 : path;
	for (size_t i = 0; pattern + i < wild; i++)
		if (pattern[i] == '/')
			fixed = i + 1;
	return strlen(path) > fixed ? path + fixed : path;
}

static bool is_name_taken(const struct watch *watch, const char *name)
{
	for (size_t i = 0; i < watch->stream_count; i++)
		if (strcmp(watch->options.streams[i], name) == 0)
			return true;
	return false;
}

/* The folder of an event file as far as the glob leaves it open: of runs/STAR/events.out.tfevents.STAR the first STAR. */
static struct span folder_within(const char *pattern, const char *path)
{
	const char *within = name_within(pattern, path), *slash = strrchr(within, '/');

	return span_of(within, slash ? (size_t)(slash - within) : 0);
}

static void name_run(const char *pattern, const char *path, char out[ROTATION_MAX_PATH_BYTES])
{
	const char *slash = strrchr(path, '/');

	snprintf(out, ROTATION_MAX_PATH_BYTES, "%.*s", SPAN_ARGS(folder_within(pattern, path)));
	if (!out[0] && slash) { /* the glob leaves open the file's name alone */
		const char *start = slash;
		while (start > path && start[-1] != '/')
			start--;
		snprintf(out, ROTATION_MAX_PATH_BYTES, "%.*s", (int)(slash - start), start);
	}
	if (!out[0])
		snprintf(out, ROTATION_MAX_PATH_BYTES, "events");
}

/* Lines have a stream a file, event files one a folder, tables one a name: together they may be more than their places. */
static enum status append_stream(struct watch *watch, const char *name, const char *path, struct error *err)
{
	if (watch->stream_count >= WATCH_MAX_FILES)
		return error_set(
			err, ERR_INVALID, "'%s' is one stream too many: at most %d are sent", path, WATCH_MAX_FILES);
	char *kept = mem_copy_string(name);
	if (!kept)
		return error_no_memory(err);
	watch->options.streams[watch->stream_count++] = kept;
	return OK;
}

/* named: the stream's name where it is told; else NULL. */
static enum status add_stream(struct watch *watch, const char *pattern, const char *path, const char *named,
	unsigned *stream, struct error *err)
{
	const char *name = watch->options.only_stream ? watch->options.only_stream : name_within(pattern, path);

	if (named)
		name = named;
	else if (is_name_taken(watch, name))
		name = path;
	*stream = (unsigned)watch->stream_count;
	return append_stream(watch, name, path, err);
}

/* ---- opening ---- */

static enum status open_file(const char *path, int *fd, struct error *err)
{
	struct stat info;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not stop us */
	if (*fd < 0)
		return error_set(err, ERR_INVALID, "cannot open '%s': %s", path, strerror(errno));
	if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode))
		return OK;
	close(*fd);
	return error_set(err, ERR_INVALID, "'%s' is not a file; give it on standard input: sm-ship < %s", path, path);
}

/*
 * Do the lines that are there show when they were written? The last one was written when the file was, or some minutes before (it was
 * brought with others); else they are of another zone, or of a clock that is wrong.
 */
static bool shows_its_time(int fd, const struct stat *info)
{
	int64_t written_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000, last_ms;

	return last_time_find(fd, (uint64_t)info->st_size, clock_wall_ms(), &last_ms) &&
	       last_ms > written_ms - OLD_BEFORE_MS && last_ms < written_ms + OLD_BEHIND_MS;
}

/*
 * Before the first bytes are read: they may have been there before we were, or come in one piece into a file that was empty, or with the file
 * itself.
 */
static void judge_times(struct file *file)
{
	struct stat info;

	if (file->reader.says_times && !file->reader.old_to && fstat(file->reader.fd, &info) == 0 &&
		(uint64_t)info.st_size > file->reader.read_at && shows_its_time(file->reader.fd, &info))
		file->reader.old_to = (uint64_t)info.st_size;
}

/* Takes the descriptor. */
static enum status file_of(
	struct watch *watch, int fd, const char *path, unsigned stream, struct file **out, struct error *err)
{
	struct stat info = {0};
	unsigned source;

	fstat(fd, &info);
	struct file *file = mem_zeroed(sizeof *file);
	char *kept = mem_copy_string(path);
	if (!file || !kept) {
		mem_free(file);
		mem_free(kept);
		close(fd);
		return error_no_memory(err);
	}
	file->path = kept;
	file->stream = stream;
	file->device = info.st_dev;
	file->inode = info.st_ino;
	line_reader_init(&file->reader, fd, -1, 0);
	file->reader.says_times = watch->options.follows;
	if (watch->options.past_ms) {
		int64_t first_ms = watch->options.untimed_ms;
		first_time_find(fd, clock_wall_ms(), &first_ms);
		file->reader.ts_ms =
			first_ms > 0 && first_ms < watch->options.past_ms ? first_ms : watch->options.past_ms;
	}
	enum status status = spool_add_source(
		watch->options.spool, &(struct spool_source){.fd = fd, .stream = stream}, &source, err);
	if (status != OK) {
		file_free(file);
		return status;
	}
	file->reader.source = source;
	*out = file;
	return OK;
}

/* *out reads the file as it is now, from its start. */
static enum status file_new(
	struct watch *watch, const char *path, unsigned stream, struct file **out, struct error *err)
{
	int fd;

	TRY(open_file(path, &fd, err));
	return file_of(watch, fd, path, stream, out, err);
}

static size_t read_all(struct watch *watch, struct file *file)
{
	size_t sum = 0;

	if (file->reader.read_at == 0)
		judge_times(file);
	for (size_t got; (got = line_reader_read(&file->reader, watch->options.spool)) > 0;)
		sum += got;
	if (sum && !file->is_seen && watch->options.ledger) {
		ledger_see(watch->options.ledger, file->stream, file->reader.fd);
		file->is_seen = true;
	}
	return sum;
}

/* Nothing more is read; the descriptor stays until what was read is sent. */
static void retire(struct watch *watch, struct file *file)
{
	line_reader_finish(&file->reader, watch->options.spool);
	file->next = watch->retired;
	watch->retired = file;
}

/* Reads what bore the name of the file before it, and was last written since then. */
static enum status read_unseen(struct watch *watch, const struct file *now, const struct stat *since, struct error *err)
{
	AUTO_MEM int *fds = NULL;
	size_t count = 0;
	enum status status = rotation_since(now->path, since, now->reader.fd, &fds, &count, err);

	for (size_t i = 0; i < count; i++) {
		struct file *file;
		if (status != OK || ledger_knows(watch->options.ledger, now->stream, fds[i])) {
			close(fds[i]);
			continue;
		}
		status = file_of(watch, fds[i], now->path, now->stream, &file, err);
		if (status != OK)
			continue;
		read_all(watch, file);
		retire(watch, file);
	}
	return status;
}

/* ---- what a killed process has left ---- */

static bool is_left(const void *context, int fd)
{
	return ledger_file_is(context, fd);
}

static enum status open_left(struct watch *watch, const char *path, unsigned stream, const struct ledger_page *page,
	struct file *files[], size_t *found, struct error *err)
{
	*found = 0;
	for (size_t i = 0; i < page->file_count; i++) {
		int fd = rotation_find(path, is_left, &page->files[i]);
		if (fd < 0)
			continue;
		TRY(file_of(watch, fd, path, stream, &files[i], err));
		files[i]->reader.read_at = page->is_elsewhere ? 0 : page->files[i].at;
		judge_times(files[i]);
		++*found;
	}
	return OK;
}

/* The batch that was on its way, exactly as it was: the server may have it. */
static void put_left_batch(struct watch *watch, const struct ledger_page *page, struct file *files[])
{
	for (size_t i = 0; i < page->piece_count; i++) {
		if (!files[page->pieces[i].file]) {
			client_say(watch->options.program,
				"a file that was being sent is gone: what was on its way when sm-ship was killed may be lost");
			return;
		}
	}
	for (size_t i = 0; i < page->piece_count; i++)
		spool_put_piece(
			watch->options.spool, files[page->pieces[i].file]->reader.source, &page->pieces[i].piece);
}

/* *current: the file that bears the name now, if it was known before. */
static enum status go_on(struct watch *watch, const char *path, unsigned stream, const struct ledger_page *page,
	struct file **current, struct error *err)
{
	struct file *files[LEDGER_MAX_FILES] = {NULL};
	struct stat info = {0}, last = {0};
	size_t found = 0;

	*current = NULL;
	enum status status = open_left(watch, path, stream, page, files, &found, err);
	if (status == OK && found && page->is_elsewhere)
		ledger_ask(watch->options.ledger, stream, page);
	else if (status == OK && found) {
		ledger_adopt(watch->options.ledger, stream, page);
		put_left_batch(watch, page, files);
	}
	stat(path, &info);
	for (size_t i = 0; i < page->file_count; i++) {
		if (!files[i])
			continue;
		if (fstat(files[i]->reader.fd, &last) != 0)
			last = (struct stat){0};
		if (files[i]->inode == info.st_ino && files[i]->device == info.st_dev) {
			*current = files[i];
			continue;
		}
		read_all(watch, files[i]);
		retire(watch, files[i]);
	}
	if (status != OK || !found || *current)
		return status;
	TRY(file_new(watch, path, stream, current, err));
	return read_unseen(watch, *current, &last, err);
}

static enum status open_known(
	struct watch *watch, const char *path, unsigned stream, struct file **file, struct error *err)
{
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	const char *resumed = watch->options.resumed_job;
	bool has_page = false;

	*file = NULL;
	if (!page)
		return error_no_memory(err);
	enum status status =
		ledger_open_stream(watch->options.ledger, stream, watch->options.streams[stream], page, &has_page, err);
	if (status == ERR_IO) { /* it only helps who is killed */
		client_say(watch->options.program, "%s", err->text);
		return OK;
	}
	TRY(status);
	if (!has_page)
		return OK;
	if (page->has_ended && !(resumed && strcmp(resumed, page->job) == 0)) {
		ledger_share(watch->options.ledger, stream, page);
		return OK;
	}
	return go_on(watch, path, stream, page, file, err);
}

static bool is_watched(const struct watch *watch, const char *path)
{
	for (size_t i = 0; i < watch->count; i++)
		if (strcmp(watch->files[i]->path, path) == 0)
			return true;
	for (size_t i = 0; i < watch->event_count; i++)
		if (strcmp(watch->event_paths[i], path) == 0)
			return true;
	const struct refused_file *refused = refused_files_find(&watch->refused, path);
	return refused && !refused->may_come;
}

/* The files of one folder are one run, and that is a stream. */
static enum status find_run_stream(
	struct watch *watch, const char *name, const char *path, unsigned *stream, struct error *err)
{
	for (*stream = 0; *stream < watch->stream_count; ++*stream)
		if (watch->options.is_points[*stream] && strcmp(watch->options.streams[*stream], name) == 0)
			return OK;
	TRY(append_stream(watch, name, path, err));
	watch->options.is_points[*stream] = true;
	return OK;
}

static enum status add_table(struct watch *watch, const struct table_part *part, const char *named, struct error *err)
{
	const struct watch_options *options = &watch->options;
	unsigned stream;

	if (!watch->points)
		TRY(point_spool_new(&watch->points, options->program, options->spool, options->spool_folder, err));
	if (!watch->tables)
		TRY(table_files_new(&watch->tables, options->program, watch->points, err));
	TRY(find_run_stream(watch, named ? named : part->path, part->path, &stream, err));
	return table_files_add(watch->tables, part, stream, err);
}

/* index: of its pattern. */
static enum status add_events(struct watch *watch, size_t index, const char *path, struct error *err)
{
	const struct watch_options *options = &watch->options;
	const char *pattern = options->patterns[index], *named = options->names ? options->names[index] : NULL;
	char name[ROTATION_MAX_PATH_BYTES];
	unsigned stream;

	if (!watch->points)
		TRY(point_spool_new(&watch->points, options->program, options->spool, options->spool_folder, err));
	if (!watch->events)
		TRY(event_files_new(&watch->events, options->program, watch->points, err));
	if (!mem_grow((void **)&watch->event_paths, watch->event_count, &watch->event_cap, sizeof *watch->event_paths))
		return error_no_memory(err);
	name_run(pattern, path, name);
	TRY(find_run_stream(watch, named ? named : name, path, &stream, err));
	struct event_source source = {.path = path,
		.folder = named ? options->folders[index] : folder_within(pattern, path),
		.assumed_ms = options->untimed_ms};
	TRY(event_files_add(watch->events, &source, stream, err));
	watch->event_paths[watch->event_count] = mem_copy_string(path);
	if (!watch->event_paths[watch->event_count])
		return error_no_memory(err);
	watch->event_count++;
	return OK;
}

/* Said once. What a glob has found is no reason to stop; what was asked for by its name is. */
static enum status refuse_file(
	struct watch *watch, const char *pattern, const char *path, enum file_kind kind, struct error *err)
{
	const char *why = file_kind_refusal(kind);

	if (kind == FILE_TOO_SHORT && watch->options.follows && has_wildcard(pattern))
		return OK; /* it is looked at again */
	if (!has_wildcard(pattern))
		return error_set(err, ERR_INVALID, "'%s' is %s", path, why);
	TRY(refused_files_add(&watch->refused, path, false, err));
	client_say(watch->options.program, "'%s' is %s", path, why);
	return OK;
}

/* What a glob has found and cannot be read, also for now. A file that is renamed, or that a link waits for, comes without a word. */
static enum status pass_over(struct watch *watch, const char *path, int code, struct error *err)
{
	if (refused_files_find(&watch->refused, path) || (code == ENOENT && watch->options.follows))
		return OK;
	TRY(refused_files_add(&watch->refused, path, true, err));
	client_say(watch->options.program, "cannot open '%s': %s", path, strerror(code));
	return OK;
}

static enum status add_file(struct watch *watch, size_t index, const char *path, struct error *err)
{
	const char *pattern = watch->options.patterns[index];
	const char *named = watch->options.names ? watch->options.names[index] : NULL;
	struct file *file = NULL;
	unsigned stream;

	if (is_watched(watch, path))
		return OK;
	if (watch->count + watch->event_count >= WATCH_MAX_FILES)
		return error_set(
			err, ERR_INVALID, "'%s' is one file too many: at most %d are followed", path, WATCH_MAX_FILES);
	if (!mem_grow((void **)&watch->files, watch->count, &watch->cap, sizeof *watch->files))
		return error_no_memory(err);
	struct stat info;
	bool is_there = stat(path, &info) == 0;
	if (is_there && !S_ISREG(info.st_mode) && has_wildcard(pattern))
		return OK; /* a folder that happens to fit */
	if (!is_there || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
		return has_wildcard(pattern) && !named
			       ? pass_over(watch, path, errno, err)
			       : error_set(err, ERR_INVALID, "cannot open '%s': %s", path, strerror(errno));
	refused_files_remove(&watch->refused, path);
	enum file_kind kind = S_ISREG(info.st_mode) ? file_kind_read(path) : FILE_OF_LINES;
	if (file_kind_refusal(kind))
		return refuse_file(watch, pattern, path, kind, err);
	if (kind == FILE_OF_EVENTS)
		return add_events(watch, index, path, err);
	TRY(add_stream(watch, pattern, path, named, &stream, err));
	if (watch->options.ledger)
		TRY(open_known(watch, path, stream, &file, err));
	if (!file)
		TRY(file_new(watch, path, stream, &file, err));
	watch->files[watch->count++] = file;
	return OK;
}

static enum status add_pattern(struct watch *watch, size_t index, struct error *err)
{
	const char *pattern = watch->options.patterns[index];
	const char *named = watch->options.names ? watch->options.names[index] : NULL;
	enum status status = OK;
	glob_t found;

	if (watch->options.tables && watch->options.tables[index])
		return add_table(watch, watch->options.tables[index], named, err);
	if (named || !has_wildcard(pattern) || access(pattern, F_OK) == 0)
		return add_file(watch, index, pattern, err);
	int result = glob(pattern, 0, NULL, &found);
	if (result == GLOB_NOMATCH)
		return watch->options.follows ? OK : error_set(err, ERR_INVALID, "no file is called '%s'", pattern);
	if (result != 0)
		return error_set(err, ERR_INVALID, "cannot look for '%s': %s", pattern, strerror(errno));
	for (size_t i = 0; i < found.gl_pathc && status == OK; i++)
		status = add_file(watch, index, found.gl_pathv[i], err);
	globfree(&found);
	return status;
}

enum status watch_new(struct watch **out, const struct watch_options *options, struct error *err)
{
	AUTO(watch) watch = mem_zeroed(sizeof *watch);

	if (!watch)
		return error_no_memory(err);
	watch->options = *options;
	for (size_t i = 0; i < options->count; i++)
		TRY(add_pattern(watch, i, err));
	watch->globbed_ms = clock_mono_ms();
	*out = TAKE(watch);
	return OK;
}

/* ---- what happens to files ---- */

static void free_retired(struct watch *watch)
{
	for (struct file **at = &watch->retired; *at;) {
		struct file *file = *at;
		if (!spool_is_source_empty(watch->options.spool, file->reader.source)) {
			at = &file->next;
			continue;
		}
		*at = file->next;
		file_free(file);
	}
}

/* The next file of that name takes the place. was_renamed: others may have borne it in between. */
static void replace(struct watch *watch, size_t index, bool was_renamed)
{
	struct file *old = watch->files[index], *file;
	struct error err = {0};
	struct stat since = {0};

	if (file_new(watch, old->path, old->stream, &file, &err) != OK)
		return; /* gone again: the next round looks again */
	watch->files[index] = file;
	retire(watch, old);
	if (was_renamed && watch->options.ledger && fstat(old->reader.fd, &since) == 0 &&
		read_unseen(watch, file, &since, &err) != OK)
		client_say(watch->options.program, "%s", err.text);
	read_all(watch, file);
}

/* A copy starts the same and is at least as long as what was read. */
static bool is_copy(const void *context, int fd)
{
	const struct file *file = context;
	struct stat info;

	return file->reader.head_len && fstat(fd, &info) == 0 && info.st_ino != file->inode &&
	       (uint64_t)info.st_size >= file->reader.read_at && line_reader_knows(&file->reader, fd);
}

/*
 * The bytes behind the descriptor are no longer those that were read. What waits to be sent is read from the copy that
 * was made before, under the same number; without a copy it is lost, and must not become other bytes.
 */
static void take_cut(struct watch *watch, size_t index)
{
	struct file *file = watch->files[index];
	int copy = rotation_find(file->path, is_copy, file);
	bool has_copy = copy >= 0;

	if (!has_copy)
		copy = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (copy >= 0) {
		dup3(copy, file->reader.fd, O_CLOEXEC);
		close(copy);
	}
	if (has_copy)
		read_all(watch, file);
	else
		file->reader.pending.len = 0; /* its place cannot be read again */
	replace(watch, index, false);
}

static void look_at(struct watch *watch, size_t index)
{
	struct file *file = watch->files[index];
	struct stat by_name, open_one;
	bool is_same_name =
		stat(file->path, &by_name) == 0 && by_name.st_ino == file->inode && by_name.st_dev == file->device;

	if (fstat(file->reader.fd, &open_one) == 0 &&
		((uint64_t)open_one.st_size < file->reader.read_at ||
			((uint64_t)open_one.st_size > file->reader.read_at &&
				!line_reader_knows(&file->reader, file->reader.fd)))) {
		take_cut(watch, index);
		return;
	}
	size_t got = read_all(watch, file);
	file->quiet_rounds = is_same_name || got ? 0 : file->quiet_rounds + 1;
	if (file->quiet_rounds >= QUIET_ROUNDS)
		replace(watch, index, true);
}

static void look_for_files(struct watch *watch)
{
	struct error err = {0};

	if (clock_mono_ms() - watch->globbed_ms < GLOB_EVERY_MS)
		return;
	watch->globbed_ms = clock_mono_ms();
	for (size_t i = 0; i < watch->options.count; i++)
		if (has_wildcard(watch->options.patterns[i]) && add_pattern(watch, i, &err) != OK)
			client_say(watch->options.program, "%s", err.text);
}

bool watch_round(struct watch *watch)
{
	if (watch->options.follows)
		look_for_files(watch);
	for (size_t i = 0; i < watch->count; i++) {
		if (watch->options.follows)
			look_at(watch, i);
		else
			read_all(watch, watch->files[i]);
	}
	watch->has_unread = (watch->events && !event_files_round(watch->events)) ||
			    (watch->tables && !table_files_round(watch->tables));
	free_retired(watch);
	return !watch->has_unread;
}

void watch_finish(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++)
		line_reader_finish(&watch->files[i]->reader, watch->options.spool);
	if (watch->has_unread)
		client_say(watch->options.program,
			"files of points were not read to their ends: the server did not take what waited before them; "
			"started again, sm-ship goes on there");
}

size_t watch_stream_count(const struct watch *watch)
{
	return watch->stream_count;
}

size_t watch_refused_count(const struct watch *watch)
{
	return watch->refused.count;
}

size_t watch_damaged_count(const struct watch *watch)
{
	return (watch->tables ? table_files_damaged(watch->tables) : 0) +
	       (watch->events ? event_files_damaged(watch->events) : 0);
}
