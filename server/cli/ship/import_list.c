#include "cli/ship/import_list.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/text/regex.h"
#include "cli/input/event_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64, MAX_PATH_BYTES = 4096 };

struct walk {
	struct import_list *list;
	struct regex *regex;
	struct regex_scratch *scratch;
	int job_group, stream_group, host_group; /* -1: not in the pattern */
	const struct import_names *names;
	const char *pattern;
	size_t max_record_bytes; /* of tables */
	size_t folder_bytes; /* of a path in front of what is matched */
};

void import_list_free(struct import_list *list)
{
	if (!list)
		return;
	arena_free(list->arena);
	mem_free(list->files);
	mem_free(list->refused);
	mem_free(list);
}

/* The leading parts of the pattern without anything special to a regular expression; a '.' may stand in a name. */
static size_t folder_of(const char *pattern)
{
	size_t special = strcspn(pattern, "()[]{}*+?|\\^$");

	while (special > 0 && pattern[special - 1] != '/')
		special--;
	return special;
}

static const char *keep(struct import_list *list, struct span text)
{
	char *copy = arena_alloc(list->arena, text.len + 1);

	if (!copy)
		return NULL;
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	return copy;
}

static const char *group_text(struct walk *walk, const struct span *groups, int group, const char *otherwise)
{
	return group >= 0 && groups[group].len ? keep(walk->list, groups[group]) : otherwise;
}

static enum status add_refused(struct import_list *list, const char *path, const char *why, struct error *err)
{
	if (!mem_grow((void **)&list->refused, list->refused_count, &list->refused_cap, sizeof *list->refused))
		return error_no_memory(err);
	struct import_refused *refused = &list->refused[list->refused_count];
	*refused = (struct import_refused){.path = keep(list, span_from(path)), .why = keep(list, span_from(why))};
	if (!refused->path || !refused->why)
		return error_no_memory(err);
	list->refused_count++;
	return OK;
}

static enum status add_item(struct walk *walk, const struct import_file *file, struct error *err)
{
	struct import_list *list = walk->list;

	if (!file->job && walk->job_group < 0)
		return error_set_field(err, ERR_INVALID, "import",
			"the pattern of --import, '%s', has no group (?<job>…), and there is no --job", walk->pattern);
	if (!file->job)
		return error_set_field(
			err, ERR_INVALID, "import", "the group 'job' of --import is empty for '%s'", file->path);
	if (!mem_grow((void **)&list->files, list->count, &list->cap, sizeof *list->files))
		return error_no_memory(err);
	list->files[list->count++] = *file;
	return OK;
}

/* A job a run; where the table names none, the file's job. */
static enum status add_run(struct walk *walk, struct import_file file, const struct table_scan *scan,
	const struct table_scan_run *run, struct error *err)
{
	struct arena *arena = walk->list->arena;
	struct table_part *part = arena_alloc(arena, sizeof *part);
	struct span *metrics = arena_alloc(arena, (run->metric_count + 1) * sizeof *metrics);

	if (!part || !metrics)
		return error_no_memory(err);
	*part = (struct table_part){.path = file.path,
		.start = run->start,
		.end = run->end,
		.line = run->line,
		.max_record_bytes = walk->max_record_bytes};
	if (run->name)
		file.job = part->run = keep(walk->list, span_from(run->name));
	for (size_t i = 0; i < run->metric_count; i++) {
		metrics[i] = arena_copy(arena, run->metrics[i]);
		if (!metrics[i].ptr)
			return error_no_memory(err);
	}
	if (run->name && !file.job)
		return error_no_memory(err);
	file.part = part;
	file.metrics = metrics;
	file.metric_count = run->metric_count;
	file.has_times = scan->has_times;
	file.bytes = scan->kind == RUN_TABLE_CHART ? file.bytes / scan->count : file.bytes;
	if (scan->kind == RUN_TABLE_METRICS)
		file.bytes = run->end - run->start;
	return add_item(walk, &file, err);
}

/* *is_table: it is one, and was added or refused. */
static enum status add_table(struct walk *walk, const struct import_file *file, bool *is_table, struct error *err)
{
	AUTO(table_scan) scan = NULL;
	struct error why = {0};
	enum status status = table_scan_new(&scan, file->path, walk->max_record_bytes, &why);

	*is_table = scan || status == ERR_INVALID;
	if (status == ERR_INVALID)
		return add_refused(walk->list, file->path, why.text, err);
	if (status != OK)
		return error_set(err, status, "%s", why.text);
	struct import_file table = *file;
	table.kind = FILE_OF_TABLE;
	for (size_t i = 0; scan && i < scan->count; i++)
		TRY(add_run(walk, table, scan, &scan->runs[i], err));
	walk->list->path_count += scan != NULL;
	return OK;
}

/* Below what names the job: of runs/(?<job>[^/]+)/.+ the folders within a run. */
static struct span folder_below_job(const struct walk *walk, const char *path, const struct span *groups)
{
	const struct span *job = walk->job_group >= 0 ? &groups[walk->job_group] : NULL;
	const char *start = job && job->len ? strchr(job->ptr + job->len, '/') : path + walk->folder_bytes - 1;

	return start ? span_of(start, (size_t)(strrchr(start, '/') - start)) : (struct span){0};
}

static enum status add_file(struct walk *walk, const char *path, const struct stat *info, struct error *err)
{
	struct import_list *list = walk->list;
	struct span groups[REGEX_MAX_GROUPS] = {0}, subject = span_from(path + walk->folder_bytes);

	if (regex_search(walk->regex, walk->scratch, subject, 0, groups) != REGEX_MATCH) {
		list->other_count++;
		return OK;
	}
	enum file_kind kind = file_kind_read(path);
	if (file_kind_refusal(kind))
		return add_refused(list, path, file_kind_refusal(kind), err);
	struct import_file file = {.path = keep(list, span_from(path)),
		.job = group_text(walk, groups, walk->job_group, walk->names->job),
		.stream = group_text(
			walk, groups, walk->stream_group, walk->names->stream ? walk->names->stream : "algo-1"),
		.host = group_text(walk, groups, walk->host_group, walk->names->host),
		.kind = kind,
		.bytes = (uint64_t)info->st_size,
		.written_ms = (int64_t)info->st_mtim.tv_sec * 1000};
	bool is_table = false;
	if (!file.path || !file.stream)
		return error_no_memory(err);
	struct span folder = folder_below_job(walk, path, groups);
	if (folder.len)
		file.folder = span_of(file.path + (folder.ptr - path), folder.len);
	if (kind == FILE_OF_LINES)
		TRY(add_table(walk, &file, &is_table, err));
	if (is_table)
		return OK;
	list->path_count++;
	return add_item(walk, &file, err);
}

static enum status walk_folder(struct walk *walk, char path[MAX_PATH_BYTES], int depth, struct error *err)
{
	size_t len = strlen(path);
	enum status status = OK;
	DIR *entries = opendir(path);

	if (!entries)
		return error_set_field(
			err, ERR_INVALID, "import", "cannot read folder '%s': %s", path, strerror(errno));
	for (struct dirent *entry; status == OK && (entry = readdir(entries)); path[len] = 0) {
		struct stat info;
		const char *slash = len && path[len - 1] == '/' ? "" : "/";
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(path + len, MAX_PATH_BYTES - len, "%s%s", slash, entry->d_name) >=
			(int)(MAX_PATH_BYTES - len))
			status = error_set_field(err, ERR_INVALID, "import", "'%.300s' has too long a path", path);
		else if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) /* links to folders may lead in circles */
			status = depth < MAX_DEPTH ? walk_folder(walk, path, depth + 1, err) : OK;
		else if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
			status = add_file(walk, path, &info, err);
	}
	closedir(entries);
	return status;
}

static int compare_streams(const struct import_file *one, const struct import_file *other)
{
	int jobs = strcmp(one->job, other->job), streams = strcmp(one->stream, other->stream);

	return jobs ? jobs : streams ? streams : (one->kind != FILE_OF_LINES) - (other->kind != FILE_OF_LINES);
}

/* Event files bear the time in their names: in this order they are one run. */
static int compare_files(const void *a, const void *b)
{
	const struct import_file *one = a, *other = b;
	int streams = compare_streams(one, other);

	return streams ? streams : strcmp(one->path, other->path);
}

bool import_is_timeless(const struct import_file *file)
{
	return file->part && !file->has_times;
}

static int compare_turns(const void *a, const void *b)
{
	const struct import_file *one = a, *other = b;
	int jobs = strcmp(one->job, other->job), turns = import_is_timeless(one) - import_is_timeless(other);

	return jobs ? jobs : turns ? turns : compare_files(a, b);
}

/* Without what the folder below the job says of the split. */
static struct span run_of(const struct import_file *file)
{
	const char *slash = strrchr(file->path, '/');
	size_t len = slash ? (size_t)(slash - file->path) : 0;
	struct span run = event_files_run_of(file->folder);

	return span_of(file->path, file->folder.len ? (size_t)(run.ptr + run.len - file->path) : len);
}

/* Event files of one folder are one run, as TensorBoard has it; those of its training and of its evaluations are, too. */
static bool are_one_run(const struct import_file *one, const struct import_file *other)
{
	return one->kind == FILE_OF_EVENTS && other->kind == FILE_OF_EVENTS && span_equal(run_of(one), run_of(other));
}

/* Charts of one run are its metrics; but the same metric twice would be one series with each point twice. */
static enum status check_metrics(const struct import_list *list, struct error *err)
{
	AUTO(map) seen = map_new();
	AUTO_DONE(buf) key = BUF_INIT(64 << 10);

	if (!seen)
		return error_no_memory(err);
	for (size_t i = 0; i < list->count; i++) {
		const struct import_file *file = &list->files[i], *other;
		for (size_t j = 0; j < file->metric_count; j++) {
			buf_reset(&key);
			buf_printf(&key, "%s%c%s%c", file->job, 0, file->stream, 0);
			buf_append_span(&key, file->metrics[j]);
			other = map_get(seen, buf_span(&key));
			if (other)
				return error_set_field(err, ERR_INVALID, "import",
					"'%s' and '%s' both hold '%.*s' of run '%s': let the pattern pass over one of them",
					other->path, file->path, SPAN_ARGS(file->metrics[j]), file->job);
			if (key.failure != OK || !map_put(seen, buf_span(&key), (void *)file))
				return error_no_memory(err);
		}
	}
	return OK;
}

static enum status check_streams(const struct import_list *list, struct error *err)
{
	for (size_t i = 1; i < list->count; i++)
		if (compare_streams(&list->files[i - 1], &list->files[i]) == 0 &&
			!(list->files[i - 1].part && list->files[i].part) &&
			!are_one_run(&list->files[i - 1], &list->files[i]))
			return error_set_field(err, ERR_INVALID, "import",
				"'%s' and '%s' are both stream '%s' of job '%s': let the pattern tell them apart by (?<stream>…)",
				list->files[i - 1].path, list->files[i].path, list->files[i].stream,
				list->files[i].job);
	return check_metrics(list, err);
}

static enum status compile(struct walk *walk, const char *pattern, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(64 << 10);

	buf_append_text(&whole, "\\A(?:");
	buf_append_text(&whole, pattern);
	buf_append_text(&whole, ")\\z");
	TRY(buf_status(&whole, err));
	struct error why = {0};
	if (regex_new(&walk->regex, buf_span(&whole), 0, &why) != OK)
		return error_set_field(
			err, ERR_INVALID, "import", "the pattern of --import, '%s': %s", pattern, why.text);
	walk->scratch = regex_scratch_new();
	if (!walk->scratch)
		return error_no_memory(err);
	walk->job_group = regex_group(walk->regex, "job");
	walk->stream_group = regex_group(walk->regex, "stream");
	walk->host_group = regex_group(walk->regex, "host");
	return OK;
}

static enum status fill(struct walk *walk, const char *pattern, struct error *err)
{
	char path[MAX_PATH_BYTES];

	walk->folder_bytes = folder_of(pattern);
	TRY(compile(walk, pattern + walk->folder_bytes, err));
	if (walk->folder_bytes >= sizeof path)
		return error_set_field(err, ERR_INVALID, "import", "the folder of --import has too long a path");
	snprintf(path, sizeof path, "%.*s", (int)walk->folder_bytes, pattern);
	if (!walk->folder_bytes) {
		snprintf(path, sizeof path, "./");
		walk->folder_bytes = 2;
	}
	TRY(walk_folder(walk, path, 0, err));
	if (walk->list->count)
		qsort(walk->list->files, walk->list->count, sizeof *walk->list->files, compare_files);
	TRY(check_streams(walk->list, err));
	if (walk->list->count)
		qsort(walk->list->files, walk->list->count, sizeof *walk->list->files, compare_turns);
	return OK;
}

enum status import_list_new(struct import_list **out, const char *pattern, const struct import_names *names,
	size_t max_record_bytes, struct error *err)
{
	AUTO(import_list) list = mem_zeroed(sizeof *list);

	if (!list || !(list->arena = arena_new()))
		return error_no_memory(err);
	struct walk walk = {.list = list, .names = names, .pattern = pattern, .max_record_bytes = max_record_bytes};
	enum status status = fill(&walk, pattern, err);
	regex_free(walk.regex);
	regex_scratch_free(walk.scratch);
	TRY(status);
	*out = TAKE(list);
	return OK;
}
