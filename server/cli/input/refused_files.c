#include "cli/input/refused_files.h"

#include "base/alloc.h"

#include <string.h>

void refused_files_done(struct refused_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		mem_free(files->items[i].path);
	mem_free(files->items);
}

static size_t find(const struct refused_files *files, const char *path)
{
	size_t at = 0;

	while (at < files->count && strcmp(files->items[at].path, path) != 0)
		at++;
	return at;
}

const struct refused_file *refused_files_find(const struct refused_files *files, const char *path)
{
	size_t at = find(files, path);

	return at < files->count ? &files->items[at] : NULL;
}

enum status refused_files_add(struct refused_files *files, const char *path, bool may_come, struct error *err)
{
	if (!mem_grow((void **)&files->items, files->count, &files->cap, sizeof *files->items))
		return error_no_memory(err);
	struct refused_file *file = &files->items[files->count];
	*file = (struct refused_file){mem_copy_string(path), may_come};
	if (!file->path)
		return error_no_memory(err);
	files->count++;
	return OK;
}

void refused_files_remove(struct refused_files *files, const char *path)
{
	size_t at = find(files, path);

	if (at == files->count)
		return;
	mem_free(files->items[at].path);
	files->items[at] = files->items[--files->count];
}
