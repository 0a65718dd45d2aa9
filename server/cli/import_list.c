#include "cli/import_list.h"

#include "base/arena.h"
#include "base/regex.h"

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
	const char *job;
	size_t folder_bytes; /* of a path in front of what is matched */
};

void import_list_free(struct import_list *list)
{
	if (!list)
		return;
	arena_free(list->arena);
	mem_free(list->files);
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

/* gzip, zstd, xz, bzip2, zip: their bytes are no lines. */
static bool is_packed(const char *path)
{
	static const struct span starts[] = {
		{"\x1f\x8b", 2}, {"\x28\xb5\x2f\xfd", 4}, {"\xfd\x37zXZ", 5}, {"BZh", 3}, {"PK\x03\x04", 4}};
	char start[8];
	FILE *file = fopen(path, "rbe");
	size_t got = file ? fread(start, 1, sizeof start, file) : 0;

	if (file)
		fclose(file);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (span_starts_with(span_of(start, got), starts[i]))
			return true;
	return false;
}

static enum status add_file(struct walk *walk, const char *path, const struct stat *info, struct error *err)
{
	struct import_list *list = walk->list;
	struct span groups[REGEX_MAX_GROUPS] = {0}, subject = span_from(path + walk->folder_bytes);

	if (regex_search(walk->regex, walk->scratch, subject, 0, groups) != REGEX_MATCH) {
		list->other_count++;
		return OK;
	}
	if (is_packed(path))
		return error_set_field(err, ERR_INVALID, "import",
			"'%s' is compressed: unpack it, or let the pattern pass it over", path);
	if (!mem_grow((void **)&list->files, list->count, &list->cap, sizeof *list->files))
		return error_set(err, ERR_MEMORY, "out of memory");
	struct import_file *file = &list->files[list->count];
	*file = (struct import_file){.path = keep(list, span_from(path)),
		.job = group_text(walk, groups, walk->job_group, walk->job),
		.stream = group_text(walk, groups, walk->stream_group, "algo-1"),
		.host = group_text(walk, groups, walk->host_group, NULL),
		.bytes = (uint64_t)info->st_size,
		.written_ms = (int64_t)info->st_mtim.tv_sec * 1000};
	if (!file->path || !file->stream)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (!file->job)
		return error_set_field(
			err, ERR_INVALID, "import", "the group 'job' of --import is empty for '%s'", path);
	list->count++;
	return OK;
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

static int compare_files(const void *a, const void *b)
{
	const struct import_file *one = a, *other = b;
	int jobs = strcmp(one->job, other->job);

	return jobs ? jobs : strcmp(one->stream, other->stream);
}

static enum status check_streams(const struct import_list *list, struct error *err)
{
	for (size_t i = 1; i < list->count; i++)
		if (compare_files(&list->files[i - 1], &list->files[i]) == 0)
			return error_set_field(err, ERR_INVALID, "import",
				"'%s' and '%s' are both stream '%s' of job '%s': let the pattern tell them apart by (?<stream>…)",
				list->files[i - 1].path, list->files[i].path, list->files[i].stream,
				list->files[i].job);
	return OK;
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
		return error_set(err, ERR_MEMORY, "out of memory");
	walk->job_group = regex_group(walk->regex, "job");
	walk->stream_group = regex_group(walk->regex, "stream");
	walk->host_group = regex_group(walk->regex, "host");
	if (walk->job_group < 0 && !walk->job)
		return error_set_field(err, ERR_INVALID, "import",
			"the pattern of --import, '%s', has no group (?<job>…), and there is no --job", pattern);
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
	return check_streams(walk->list, err);
}

enum status import_list_new(struct import_list **out, const char *pattern, const char *job, struct error *err)
{
	AUTO(import_list) list = mem_zeroed(sizeof *list);

	if (!list || !(list->arena = arena_new()))
		return error_set(err, ERR_MEMORY, "out of memory");
	struct walk walk = {.list = list, .job = job};
	enum status status = fill(&walk, pattern, err);
	regex_free(walk.regex);
	regex_scratch_free(walk.scratch);
	TRY(status);
	*out = list;
	list = NULL;
	return OK;
}
