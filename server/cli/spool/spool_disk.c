#include "cli/spool/spool_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
	MIN_BLOCK_BYTES = 4096,
	MAX_BLOCK_BYTES = 1 << 20,
	RESERVED_BYTES = 256 << 10, /* of the disk, behind what a child has written */
};

uint64_t spool_disk_free(int fd)
{
	struct statvfs info;

	if (fstatvfs(fd, &info) != 0 || info.f_blocks == 0) /* memory has no blocks */
		return UINT64_MAX;
	return (uint64_t)info.f_bavail * info.f_frsize;
}

void spool_disk_punch(struct spool_disk_file *file, uint64_t start, uint64_t end)
{
	if (file->cannot_punch || end <= start)
		return;
	if (fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start, (off_t)(end - start)) != 0)
		file->cannot_punch = errno != EINTR; /* not on this file system: the file grows, nothing is lost */
}

static uint64_t block_bytes(int fd)
{
	struct stat info;

	if (fstat(fd, &info) != 0 || info.st_blksize < MIN_BLOCK_BYTES)
		return MIN_BLOCK_BYTES;
	return info.st_blksize < MAX_BLOCK_BYTES ? (uint64_t)info.st_blksize : MAX_BLOCK_BYTES;
}

/*
 * What is not kept of what a child has written. Whole blocks alone, and never its last byte: who reads the file when we were killed knows
 * a hole from NULs that were printed, and where the next line begins. A block that two such parts share goes with the second.
 */
void spool_disk_drop(struct spool_disk_file *file, uint64_t start, uint64_t end)
{
	if (end <= start)
		return;
	if (start != file->dropped_end)
		file->dropped_start = start;
	file->dropped_end = end;
	uint64_t block = block_bytes(file->fd);
	uint64_t from = start - file->dropped_start < block ? file->dropped_start : start - block;
	spool_disk_punch(file, (from + block - 1) / block * block, (end - 1) / block * block);
}

/*
 * A command that says why it fails does so when the disk may be full: there is room for that behind what it has written. Not where memory
 * is the disk.
 */
void spool_disk_reserve(struct spool_disk_file *file, uint64_t end)
{
	if (end + RESERVED_BYTES / 2 > file->reserved_end &&
		fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)end, RESERVED_BYTES) == 0)
		file->reserved_end = end + RESERVED_BYTES;
}
