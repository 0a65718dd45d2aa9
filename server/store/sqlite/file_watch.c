/*
 * Is the database still the file that bears its name, and whole? SQLite goes on writing to a file that was deleted, and nobody
 * would ever read what it acknowledged. Two looks at names a commit; the file itself is read only when somebody else changed it.
 */
#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { RETRY_S = 60, READERS_MS = 2000 };
/* Of the file's header. */
enum { AT_PAGE_SIZE = 16, AT_VERSIONS = 18, AT_CHANGES = 24, AT_SCHEMA = 40, AT_ENCODING = 56, AT_USER_VERSION = 60 };

static uint32_t number_at(const unsigned char *header, size_t at)
{
	return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 | (uint32_t)header[at + 2] << 8 |
	       header[at + 3];
}

/* What the file looks like after we have written to it: on the next look nothing of this may have changed by itself. */
static bool note(struct sqlite_store *store, const struct stat *info)
{
	struct file_watch *watch = &store->watch;

	watch->least_bytes = info->st_size;
	watch->changed = info->st_mtim;
	return pread(store->lock.file_fd, watch->header, sizeof watch->header, 0) == sizeof watch->header;
}

enum status file_watch_start(struct sqlite_store *store, struct error *err)
{
	struct file_watch *watch = &store->watch;
	struct stat info, log;

	if (!(watch->log_path = store_beside(store->path, "-wal")))
		return error_no_memory(err);
	if (fstat(store->lock.file_fd, &info) != 0 || !note(store, &info))
		return error_set(err, ERR_IO, "cannot look at '%s': %s", store->path, strerror(errno));
	watch->device = info.st_dev;
	watch->inode = info.st_ino;
	watch->log_inode = stat(watch->log_path, &log) == 0 ? log.st_ino : 0;
	return OK;
}

static bool is_earlier(const unsigned char *was, const unsigned char *is)
{
	return number_at(is, AT_CHANGES) < number_at(was, AT_CHANGES) ||
	       number_at(is, AT_SCHEMA) < number_at(was, AT_SCHEMA);
}

/* Of another database, or of this one as it was earlier. A program that wrote to it by SQLite's rules left neither. */
static bool is_foreign(const unsigned char *was, const unsigned char *is)
{
	static const size_t same[][2] = {{AT_PAGE_SIZE, 2}, {AT_VERSIONS, 2}, {AT_ENCODING, 4}, {AT_USER_VERSION, 4}};

	if (memcmp(was, is, AT_PAGE_SIZE) != 0)
		return true;
	if (!number_at(was, AT_ENCODING)) /* all tables were in the log alone */
		return false;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (memcmp(was + same[i][0], is + same[i][0], same[i][1]) != 0)
			return true;
	return is_earlier(was, is);
}

/* NULL: it is what we left, or what another program made of that by SQLite's rules. */
static const char *find_damage(struct sqlite_store *store, const struct stat *info)
{
	struct file_watch *watch = &store->watch;
	unsigned char before[sizeof watch->header];
	off_t least_bytes = watch->least_bytes;
	bool is_changed =
		info->st_mtim.tv_sec != watch->changed.tv_sec || info->st_mtim.tv_nsec != watch->changed.tv_nsec;

	if (is_changed && info->st_size) {
		memcpy(before, watch->header, sizeof before);
		if (!note(store, info) || is_foreign(before, watch->header))
			return "was written over by another program";
	}
	return info->st_size < least_bytes ? "was cut" : NULL;
}

/* NULL: all is well. */
static const char *find_loss(struct sqlite_store *store, bool *is_ours)
{
	struct file_watch *watch = &store->watch;
	struct stat info, log;

	*is_ours = true;
	if (stat(store->path, &info) != 0)
		return "was deleted or moved away";
	if (info.st_dev != watch->device || info.st_ino != watch->inode)
		return "was replaced by another file";
	const char *damage = find_damage(store, &info);
	*is_ours = !damage;
	if (damage)
		return damage;
	if (watch->log_inode && (stat(watch->log_path, &log) != 0 || log.st_ino != watch->log_inode))
		return "lost its log (-wal), which was deleted or replaced,";
	return NULL;
}

/*
 * Whatever is put at the path must not meet our log at the next start: SQLite would write its pages into that file. Where our own
 * file is whole all goes into that, and the log is emptied; where it is not, the log is put aside.
 */
static void part_from_log(struct sqlite_store *store)
{
	struct file_watch *watch = &store->watch;
	struct stat info;

	if (watch->is_parted)
		return;
	if (watch->is_ours) {
		sqlite3 *writer = sqlite_of(store->head.writer);

		/* The log can't be emptied under a reader; behind our answer somebody may kill us, and start on the other file. */
		sqlite3_busy_timeout(writer, watch->has_waited ? 0 : READERS_MS);
		watch->has_waited = true;
		watch->is_parted = sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
				   SQLITE_OK; /* else the next look tries again */
		sqlite3_busy_timeout(writer, 0);
		return;
	}
	AUTO_MEM char *aside = store_beside(store->path, "-wal.lost");
	bool is_there = stat(watch->log_path, &info) == 0 && info.st_ino == watch->log_inode;
	watch->is_parted = !is_there || (aside && rename(watch->log_path, aside) == 0);
}

enum status file_watch_look(struct store *looked_at, struct error *err)
{
	struct sqlite_store *store = sqlite_store_of(looked_at);
	struct file_watch *watch = &store->watch;

	if (watch->is_lost) {
		part_from_log(store);
		if (err)
			*err = watch->loss;
		return watch->loss.status;
	}
	const char *loss = find_loss(store, &watch->is_ours);
	if (!loss)
		return OK;
	watch->is_lost = true;
	sqlite3_db_config(sqlite_of(store->head.writer), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	error_set(&watch->loss, ERR_UNAVAILABLE,
		"the database '%s' %s while the server ran: nothing is stored any more until the server is started again, even if the file "
		"is put back (sm-server restore FILE --replace puts a backup there)",
		store->path, loss);
	watch->loss.retry_after_s = RETRY_S;
	part_from_log(store);
	if (err)
		*err = watch->loss;
	return ERR_UNAVAILABLE;
}

void file_watch_note_checkpoint(struct sqlite_store *store)
{
	struct file_watch *watch = &store->watch;
	unsigned char before[sizeof watch->header];
	struct stat info;

	if (watch->is_lost || fstat(store->lock.file_fd, &info) != 0)
		return;
	memcpy(before, watch->header, sizeof before);
	if (note(store, &info) && !is_earlier(before, watch->header))
		return;
	/* written over while our pages went into it: the next look compares it with what it was */
	memcpy(watch->header, before, sizeof before);
	watch->changed = (struct timespec){0};
}

void file_watch_note_vacuum(struct sqlite_store *store)
{
	/* Another program may move it into the file, which is shorter then: until our own checkpoint any length but none is right. */
	store->watch.least_bytes = 1;
}
