#include "cli/input/rotation.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct candidate {
	int fd;
	struct timespec written;
};

static int open_plain(const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not stop us */

	if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Opens the folder that the path is in. */
static DIR *open_folder(const char *path, char name[ROTATION_MAX_PATH_BYTES])
{
	size_t len = (size_t)(base_name(path) - path);

	snprintf(name, ROTATION_MAX_PATH_BYTES, "%.*s", len ? (int)len : 2, len ? path : "./");
	return opendir(name);
}

int rotation_find(const char *path, bool (*question)(const void *context, int fd), const void *context)
{
	char folder[ROTATION_MAX_PATH_BYTES], other[2 * ROTATION_MAX_PATH_BYTES];
	int found = open_plain(path);

	if (found >= 0 && question(context, found))
		return found;
	if (found >= 0)
		close(found);
	found = -1;
	DIR *entries = open_folder(path, folder);
	for (struct dirent *entry; entries && found < 0 && (entry = readdir(entries));) {
		snprintf(other, sizeof other, "%s%s", folder, entry->d_name);
		found = open_plain(other);
		if (found >= 0 && !question(context, found)) {
			close(found);
			found = -1;
		}
	}
	if (entries)
		closedir(entries);
	return found;
}

static bool is_packed(const char *name)
{
	const char *endings[] = {".gz", ".xz", ".zst", ".bz2", ".lz4"};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (len > strlen(endings[i]) && strcmp(name + len - strlen(endings[i]), endings[i]) == 0)
			return true;
	return false;
}

static bool is_rotated_name(const char *name, const char *of)
{
	size_t len = strlen(of);

	return strncmp(name, of, len) == 0 && (name[len] == '.' || name[len] == '-') && !is_packed(name);
}

static int order(struct timespec a, struct timespec b)
{
	if (a.tv_sec != b.tv_sec)
		return a.tv_sec < b.tv_sec ? -1 : 1;
	return a.tv_nsec < b.tv_nsec ? -1 : a.tv_nsec > b.tv_nsec;
}

static int order_candidates(const void *a, const void *b)
{
	return order(((const struct candidate *)a)->written, ((const struct candidate *)b)->written);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* -1: it is not one of them. */
static int open_candidate(
	const char *path, const struct stat *since, const struct stat *except, struct timespec *written)
{
	struct stat info = {0};
	int fd = open_plain(path);

	if (fd < 0)
		return -1;
	fstat(fd, &info);
	*written = info.st_mtim;
	if (!is_same(&info, since) && !is_same(&info, except) && order(info.st_mtim, since->st_mtim) >= 0)
		return fd;
	close(fd);
	return -1;
}

/* The descriptors alone; false, and all are closed: out of memory. */
static bool keep_descriptors(const struct candidate *list, size_t count, bool is_out_of_memory, int **fds)
{
	int *kept = is_out_of_memory || !count ? NULL : mem_resize(NULL, count, sizeof *kept);

	for (size_t i = 0; i < count; i++) {
		if (kept)
			kept[i] = list[i].fd;
		else
			close(list[i].fd);
	}
	*fds = kept;
	return kept || !(count || is_out_of_memory);
}

enum status rotation_since(
	const char *path, const struct stat *since, int except, int **fds, size_t *count, struct error *err)
{
	char folder[ROTATION_MAX_PATH_BYTES], other[2 * ROTATION_MAX_PATH_BYTES];
	AUTO_MEM struct candidate *list = NULL;
	struct stat not_this = {0};
	size_t found_count = 0, cap = 0;
	bool is_out_of_memory = false;

	*count = 0;
	fstat(except, &not_this);
	DIR *entries = open_folder(path, folder);
	for (struct dirent *entry; entries && !is_out_of_memory && (entry = readdir(entries));) {
		struct candidate found;
		if (!is_rotated_name(entry->d_name, base_name(path)))
			continue;
		snprintf(other, sizeof other, "%s%s", folder, entry->d_name);
		found.fd = open_candidate(other, since, &not_this, &found.written);
		if (found.fd < 0)
			continue;
		is_out_of_memory = !mem_grow((void **)&list, found_count, &cap, sizeof *list);
		if (is_out_of_memory)
			close(found.fd);
		else
			list[found_count++] = found;
	}
	if (entries)
		closedir(entries);
	if (found_count)
		qsort(list, found_count, sizeof *list, order_candidates);
	if (!keep_descriptors(list, found_count, is_out_of_memory, fds))
		return error_no_memory(err);
	*count = found_count;
	return OK;
}
