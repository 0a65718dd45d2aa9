/* A disk whose power goes: it has what was synced, and of all else what chance would have it. */
#ifndef SUPPORT_POWER_H
#define SUPPORT_POWER_H

#include <stdbool.h>
#include <stdint.h>

/* What of a file was written, cut or named is told here before it is done. One thread at a time. */
struct power_file;

/* NULL: there is no such file. */
struct power_file *power_find(const char *path);
struct power_file *power_find_open(int fd);
void power_before_write(struct power_file *file, int64_t offset, int64_t count);
void power_before_cut(struct power_file *file, int64_t size);
void power_after_sync(struct power_file *file);

/* Names; to is NULL for one that is removed. A name that comes is told once it is there. */
void power_after_create(const char *path);
void power_before_rename(const char *from, const char *to);
void power_after_folder_sync(const char *path_in_it);
void power_after_folder_sync_open(int fd);

/* keep: of 1000 sectors that were not synced so many are there; 0: nothing that was not, 1000: all. What happened counts in lost and kept. */
struct power_chance {
	int64_t keep, sector_bytes, seed;
	_Atomic int64_t kept_sectors, lost_sectors, empty_sectors, lost_names, lost_bytes_of_length;
};
void power_lose(struct power_chance *chance);

#endif
