/* The bytes under each write since a file's last sync are kept, those that a truncation cut, and each name that came or went since its folder's. When the power goes,
 * each sector falls back by chance to what it was before its last write, or the one before that, or the last sync; a file has one of the lengths that it had since then,
 * whatever of its bytes is there: what is missing is zeros. Names come to the disk in their order, as in a file system with a journal of its own: of what was not synced the newest
 * go. Files are held open by descriptors that are never closed, since that would end SQLite's locks on them. */
#include "power.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct change { /* of bytes; of a cut the bytes behind its size */
	struct change *older;
	bool is_cut;
	int64_t offset, count, had, size_before, size_after;
	unsigned char bytes[]; /* had of them were there */
};

struct power_file {
	struct power_file *next;
	dev_t device;
	ino_t inode;
	int fd;
	struct change *changes;
};

struct name { /* created: from is NULL; removed: to is NULL */
	struct name *older;
	char *from, *to;
	struct power_file *gone; /* the file that had the name that was removed, or renamed to */
	dev_t device;
	ino_t folder;
};

static struct {
	struct power_file *files;
	struct name *names;
	uint64_t random;
} state;

static void *room(size_t bytes)
{
	void *made = calloc(1, bytes ? bytes : 1);

	if (!made)
		abort();
	return made;
}

static void must(bool is_right)
{
	if (!is_right)
		abort();
}

static struct power_file *find(const struct stat *info)
{
	struct power_file *file = state.files;

	while (file && (file->device != info->st_dev || file->inode != info->st_ino))
		file = file->next;
	return file;
}

static struct power_file *find_or_open(const struct stat *info, const char *path)
{
	struct power_file *file = find(info);

	if (file || !S_ISREG(info->st_mode))
		return file;
	file = room(sizeof *file);
	file->device = info->st_dev;
	file->inode = info->st_ino;
	file->fd = open(path, O_RDWR | O_CLOEXEC);
	must(file->fd >= 0);
	file->next = state.files;
	state.files = file;
	return file;
}

struct power_file *power_find(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 ? find_or_open(&info, path) : NULL;
}

struct power_file *power_find_open(int fd)
{
	struct stat info;
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return fstat(fd, &info) == 0 ? find_or_open(&info, path) : NULL;
}

static int64_t size_of(struct power_file *file)
{
	struct stat info;

	must(fstat(file->fd, &info) == 0);
	return info.st_size;
}

static void note(struct power_file *file, bool is_cut, int64_t offset, int64_t count, int64_t size_after)
{
	int64_t size = size_of(file), there = size > offset ? size - offset : 0, had = there < count ? there : count;
	struct change *change = room(sizeof *change + (size_t)had);

	*change = (struct change){.older = file->changes,
		.is_cut = is_cut,
		.offset = offset,
		.count = count,
		.had = had,
		.size_before = size,
		.size_after = size_after > size || is_cut ? size_after : size};
	must(pread(file->fd, change->bytes, (size_t)had, offset) == had);
	file->changes = change;
}

void power_before_write(struct power_file *file, int64_t offset, int64_t count)
{
	note(file, false, offset, count, offset + count);
}

void power_before_cut(struct power_file *file, int64_t size)
{
	int64_t now = size_of(file);

	note(file, true, size, now > size ? now - size : 0, size);
}

void power_after_sync(struct power_file *file)
{
	for (struct change *change = file->changes, *older; change; change = older) {
		older = change->older;
		free(change);
	}
	file->changes = NULL;
}

/* ---- names ---- */

static bool folder_of(const char *path, struct stat *info)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof folder, "%s", path);
	return stat(dirname(folder), info) == 0;
}

static void note_name(const char *from, const char *to, struct power_file *gone)
{
	struct name *name = room(sizeof *name);
	struct stat folder;

	must(folder_of(from ? from : to, &folder));
	*name = (struct name){
		state.names, from ? strdup(from) : NULL, to ? strdup(to) : NULL, gone, folder.st_dev, folder.st_ino};
	state.names = name;
}

void power_after_create(const char *path)
{
	power_find(path);
	note_name(NULL, path, NULL);
}

void power_before_rename(const char *from, const char *to)
{
	struct stat info;

	if (stat(from, &info) == 0 && S_ISREG(info.st_mode))
		note_name(from, to, power_find(to ? to : from));
}

static void forget_names(const struct stat *folder)
{
	for (struct name **at = &state.names; *at;) {
		struct name *name = *at;
		if (name->device != folder->st_dev || name->folder != folder->st_ino) {
			at = &name->older;
			continue;
		}
		*at = name->older;
		free(name->from);
		free(name->to);
		free(name);
	}
}

void power_after_folder_sync(const char *path_in_it)
{
	struct stat folder;

	if (folder_of(path_in_it, &folder))
		forget_names(&folder);
}

void power_after_folder_sync_open(int fd)
{
	struct stat info;

	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
		forget_names(&info);
}

/* ---- the power goes ---- */

/* xorshift64*, by Marsaglia and Vigna. */
static uint64_t draw(uint64_t below)
{
	state.random ^= state.random >> 12;
	state.random ^= state.random << 25;
	state.random ^= state.random >> 27;
	return (state.random * 0x2545f4914f6cdd1dULL >> 16) % below;
}

/* Of so many things that come to the disk in their order, how many have. */
static int64_t draw_kept(const struct power_chance *chance, int64_t all)
{
	if (chance->keep == 0 || chance->keep == 1000)
		return chance->keep ? all : 0;
	return (int64_t)draw((uint64_t)all + 1);
}

static void put_back(struct power_file *file, const struct change *change, int64_t from, int64_t to)
{
	static const unsigned char zeros[1 << 16];
	int64_t end = change->offset + change->had;

	if (from < end) {
		size_t count = (size_t)((to < end ? to : end) - from);
		must(pwrite(file->fd, change->bytes + (from - change->offset), count, from) == (ssize_t)count);
		from += (int64_t)count;
	}
	for (int64_t some; from < to; from += some) { /* it was not there: a length without its bytes */
		some = to - from < (int64_t)sizeof zeros ? to - from : (int64_t)sizeof zeros;
		must(pwrite(file->fd, zeros, (size_t)some, from) == some);
	}
}

static void settle_write(
	struct power_file *file, const struct change *change, unsigned char *settled, struct power_chance *chance)
{
	int64_t end = change->offset + change->count, sector_bytes = chance->sector_bytes;

	for (int64_t from = change->offset, to; from < end; from = to) {
		int64_t sector = from / sector_bytes;
		to = (sector + 1) * sector_bytes < end ? (sector + 1) * sector_bytes : end;
		if (settled[sector])
			continue;
		settled[sector] = (int64_t)draw(1000) < chance->keep;
		chance->kept_sectors += settled[sector];
		chance->lost_sectors += !settled[sector];
		chance->empty_sectors += !settled[sector] && from >= change->offset + change->had;
		if (!settled[sector])
			put_back(file, change, from, to);
	}
}

static void settle(struct power_file *file, struct power_chance *chance)
{
	int64_t count = 0, resized = 0, most = size_of(file), i = 0;

	for (struct change *change = file->changes; change; change = change->older, count++) {
		resized += change->size_before != change->size_after;
		most = change->size_before > most ? change->size_before : most;
		most = change->size_after > most ? change->size_after : most;
	}
	if (!count)
		return;
	unsigned char *settled = room((size_t)(most / chance->sector_bytes) + 2);
	int64_t lost = resized - draw_kept(chance, resized), now = size_of(file), size = now;
	for (struct change *change = file->changes; change; change = change->older) { /* the newest first */
		bool is_lost = change->size_before != change->size_after && i++ < lost;
		size = is_lost ? change->size_before : size;
		size_t sector = (size_t)((change->offset + chance->sector_bytes - 1) / chance->sector_bytes);
		size_t behind = (size_t)(most / chance->sector_bytes) + 2 - sector;
		if (!change->is_cut) {
			settle_write(file, change, settled, chance);
		} else if (is_lost) { /* what came into its place has no place */
			put_back(file, change, change->offset, change->offset + change->had);
			memset(settled + sector, 0, behind);
		} else {
			memset(settled + sector, 1, behind);
		}
	}
	chance->lost_bytes_of_length += size < now ? now - size : size - now;
	must(ftruncate(file->fd, size) == 0);
	free(settled);
}

static void bring_back(struct power_file *file, const char *path)
{
	char bytes[1 << 16];
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t got;

	if (to < 0) /* something else has the name by now */
		return;
	for (off_t at = 0; (got = pread(file->fd, bytes, sizeof bytes, at)) > 0; at += got)
		must(write(to, bytes, (size_t)got) == got);
	close(to);
}

static void undo(const struct name *name)
{
	if (!name->from) {
		unlink(name->to);
	} else if (!name->to) {
		bring_back(name->gone, name->from);
	} else {
		rename(name->to, name->from);
		if (name->gone)
			bring_back(name->gone, name->to);
	}
}

void power_lose(struct power_chance *chance)
{
	int64_t names = 0;

	state.random = (uint64_t)chance->seed * 0x9e3779b97f4a7c15ULL | 1;
	for (struct power_file *file = state.files; file; file = file->next)
		settle(file, chance);
	for (struct name *name = state.names; name; name = name->older)
		names++;
	chance->lost_names = names - draw_kept(chance, names);
	for (int64_t left = chance->lost_names; left > 0; left--) {
		undo(state.names);
		state.names = state.names->older;
	}
}
