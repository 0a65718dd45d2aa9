#include "cli/relay/relay_journal.h"

#include "base/crypto.h"
#include "cli/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".calls"
#define BEGINNING "sm-ship-"

enum { HEAD_BYTES = 4096, ID_BYTES = 16, READ_BYTES = 64 << 10, PATH_BYTES = 4096, RECORD_MAX_BYTES = 64 << 20 };
static const char magic[8] = "smrelay1";

/* The first page of the file, in this machine's byte order: it is read where it was written. */
struct head {
	char magic[8];
	char id[2 * ID_BYTES + 1]; /* keys of requests begin with it */
	char server[RELAY_SERVER_BYTES], job[RELAY_JOB_BYTES];
	uint64_t sent_at,
		noted_at; /* in the file: what is before the first was sent, before the second is being sent */
	bool is_shipped;
};
_Static_assert(sizeof(struct head) <= HEAD_BYTES, "the head is a page");

struct relay_journal {
	pthread_mutex_t mutex; /* of all that follows but the folder and the bound */
	int fd; /* -1: no file yet */
	char folder[PATH_BYTES - 64], path[PATH_BYTES];
	uint64_t max_bytes;
	struct head head;
	uint64_t end; /* of whole records */
	bool has_ended;
};

static enum status write_head(struct relay_journal *journal, struct error *err)
{
	if (journal->fd < 0 ||
		pwrite(journal->fd, &journal->head, sizeof journal->head, 0) == (ssize_t)sizeof journal->head)
		return OK;
	return error_set(err, ERR_IO, "cannot write '%.300s': %s", journal->path, strerror(errno));
}

static enum status new_journal(struct relay_journal **out, const char *folder, struct error *err)
{
	AUTO(relay_journal) journal = mem_zeroed(sizeof *journal);

	if (!journal)
		return error_no_memory(err);
	journal->fd = -1;
	pthread_mutex_init(&journal->mutex, NULL);
	if (strlen(folder) >= sizeof journal->folder)
		return error_set(err, ERR_INVALID, "spool folder '%.300s' has too long a name", folder);
	snprintf(journal->folder, sizeof journal->folder, "%s", folder);
	*out = TAKE(journal);
	return OK;
}

enum status relay_journal_new(struct relay_journal **out, const char *folder, const char *server, const char *job,
	uint64_t max_bytes, struct error *err)
{
	unsigned char id[ID_BYTES];

	TRY(new_journal(out, folder, err));
	struct head *head = &(*out)->head;
	(*out)->max_bytes = max_bytes;
	memcpy(head->magic, magic, sizeof magic);
	crypto_random(id, sizeof id);
	crypto_hex(id, sizeof id, head->id);
	snprintf(head->server, sizeof head->server, "%s", server);
	snprintf(head->job, sizeof head->job, "%s", job);
	(*out)->end = head->sent_at = head->noted_at = HEAD_BYTES;
	return OK;
}

void relay_journal_end(struct relay_journal *journal)
{
	pthread_mutex_lock(&journal->mutex);
	journal->has_ended = true;
	if (journal->fd >= 0 && journal->head.sent_at == journal->end && journal->path[0])
		unlink(journal->path);
	pthread_mutex_unlock(&journal->mutex);
}

void relay_journal_free(struct relay_journal *journal)
{
	if (!journal)
		return;
	relay_journal_end(journal);
	if (journal->fd >= 0)
		close(journal->fd);
	pthread_mutex_destroy(&journal->mutex);
	mem_free(journal);
}

/* ---- the file ---- */

static bool is_disk_full(int fd, size_t more)
{
	return spool_disk_free(fd) < (uint64_t)SPOOL_MIN_FREE_BYTES + more;
}

/* A folder that takes no file must not keep a training from running: then it is memory, which a kill does lose. */
static enum status make_file(struct relay_journal *journal, struct error *err)
{
	if (mkdir(journal->folder, 0700) == 0 || errno == EEXIST) {
		snprintf(journal->path, sizeof journal->path, "%s/" BEGINNING "%d-%.8s" ENDING, journal->folder,
			(int)getpid(), journal->head.id);
		journal->fd = open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (journal->fd < 0) {
		journal->path[0] = 0;
		journal->fd = memfd_create("sm-ship", MFD_CLOEXEC);
	}
	if (journal->fd < 0)
		return error_set(
			err, ERR_IO, "cannot create a spool file in '%.300s': %s", journal->folder, strerror(errno));
	(void)flock(journal->fd, LOCK_EX | LOCK_NB); /* nobody else knows of it yet */
	return write_head(journal, err);
}

static bool write_all(int fd, struct span bytes, uint64_t at)
{
	while (bytes.len) {
		ssize_t written = pwrite(fd, bytes.ptr, bytes.len, (off_t)at);
		if (written < 0 && errno != EINTR)
			return false;
		size_t taken = written > 0 ? (size_t)written : 0;
		bytes = span_skip(bytes, taken);
		at += taken;
	}
	return true;
}

static enum status append(struct relay_journal *journal, struct span record, struct error *err)
{
	if (journal->has_ended)
		return error_set(err, ERR_IO, "the training is over");
	if (journal->end - journal->head.sent_at + record.len + 1 > journal->max_bytes)
		return error_set(err, ERR_TOO_LARGE, "%llu bytes wait already (--spool-bytes)",
			(unsigned long long)(journal->end - journal->head.sent_at));
	if (journal->fd < 0)
		TRY(make_file(journal, err));
	if (is_disk_full(journal->fd, record.len))
		return error_set(err, ERR_IO, "the disk of '%.300s' is full", journal->folder);
	if (write_all(journal->fd, record, journal->end) &&
		write_all(journal->fd, SPAN("\n"), journal->end + record.len)) {
		journal->end += record.len + 1;
		return OK;
	}
	error_fill(err, ERR_IO, "cannot write '%.300s': %s", journal->path, strerror(errno));
	(void)!ftruncate(journal->fd, (off_t)journal->end); /* else the next record is written over it */
	return ERR_IO;
}

enum status relay_journal_put(struct relay_journal *journal, struct span record, struct error *err)
{
	pthread_mutex_lock(&journal->mutex);
	enum status status = append(journal, record, err);
	pthread_mutex_unlock(&journal->mutex);
	return status;
}

uint64_t relay_journal_waiting(struct relay_journal *journal)
{
	pthread_mutex_lock(&journal->mutex);
	uint64_t waiting = journal->end - journal->head.sent_at;
	pthread_mutex_unlock(&journal->mutex);
	return waiting;
}

const char *relay_journal_path(const struct relay_journal *journal)
{
	return journal->path;
}

const char *relay_journal_job(const struct relay_journal *journal)
{
	return journal->head.job;
}

void relay_journal_set_job(struct relay_journal *journal, const char *job)
{
	struct error err;

	pthread_mutex_lock(&journal->mutex);
	snprintf(journal->head.job, sizeof journal->head.job, "%s", job);
	(void)!write_head(journal, &err); /* the next note writes it again */
	pthread_mutex_unlock(&journal->mutex);
}

bool relay_journal_is_shipped(const struct relay_journal *journal)
{
	return journal->head.is_shipped;
}

void relay_journal_set_shipped(struct relay_journal *journal)
{
	struct error err;

	pthread_mutex_lock(&journal->mutex);
	journal->head.is_shipped = true;
	(void)!write_head(journal, &err); /* the next note writes it again */
	pthread_mutex_unlock(&journal->mutex);
}

/* ---- what an earlier one left ---- */

static bool is_sane(const struct head *head, uint64_t size)
{
	return memcmp(head->magic, magic, sizeof magic) == 0 && memchr(head->id, 0, sizeof head->id) &&
	       memchr(head->server, 0, sizeof head->server) && memchr(head->job, 0, sizeof head->job) &&
	       head->sent_at >= HEAD_BYTES && head->sent_at <= head->noted_at && head->noted_at <= size;
}

/* The end of the last whole record: one that was being written when the process was killed was never answered. */
static uint64_t find_end(int fd, uint64_t from, uint64_t size)
{
	char bytes[READ_BYTES];

	while (size > from) {
		size_t most = size - from < sizeof bytes ? (size_t)(size - from) : sizeof bytes;
		ssize_t got = pread(fd, bytes, most, (off_t)(size - most));
		if (got != (ssize_t)most)
			return from;
		for (size_t i = most; i > 0; i--)
			if (bytes[i - 1] == '\n')
				return size - most + i;
		size -= most;
	}
	return from;
}

/* Locked, of our server, and with something in it. */
static bool open_left(struct relay_journal *journal, const char *name, const char *server)
{
	struct stat info;

	snprintf(journal->path, sizeof journal->path, "%s/%.60s", journal->folder, name);
	journal->fd = open(journal->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (journal->fd < 0)
		return false;
	bool is = flock(journal->fd, LOCK_EX | LOCK_NB) == 0 && fstat(journal->fd, &info) == 0 &&
		  S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink == 1 &&
		  pread(journal->fd, &journal->head, sizeof journal->head, 0) == (ssize_t)sizeof journal->head &&
		  is_sane(&journal->head, (uint64_t)info.st_size) && strcmp(journal->head.server, server) == 0;
	if (is) {
		journal->end = find_end(journal->fd, journal->head.noted_at, (uint64_t)info.st_size);
		if (journal->head.sent_at == journal->end)
			unlink(journal->path);
		else
			return true;
	}
	close(journal->fd);
	journal->fd = -1;
	return false;
}

enum status relay_journal_adopt(struct relay_journal **out, const char *folder, const char *server, struct error *err)
{
	AUTO(relay_journal) journal = NULL;
	const struct dirent *entry;
	bool is_found = false;

	*out = NULL;
	TRY(new_journal(&journal, folder, err));
	DIR *stream = opendir(folder);
	if (!stream)
		return OK;
	while (!is_found && (entry = readdir(stream))) {
		struct span name = span_from(entry->d_name);
		is_found = name.len < 60 && span_starts_with(name, SPAN(BEGINNING)) &&
			   span_ends_with(name, SPAN(ENDING)) && open_left(journal, entry->d_name, server);
	}
	closedir(stream);
	if (is_found)
		*out = TAKE(journal);
	return OK;
}

/* ---- sending ---- */

static enum status read_records(
	struct relay_journal *journal, uint64_t from, uint64_t to, size_t max_bytes, struct buf *out, struct error *err)
{
	size_t want = max_bytes;

	for (;;) {
		size_t most = to - from < want ? (size_t)(to - from) : want;
		buf_reset(out);
		char *room = buf_reserve(out, most);
		if (!room)
			return buf_status(out, err);
		ssize_t got = pread(journal->fd, room, most, (off_t)from);
		if (got != (ssize_t)most)
			return error_set(err, ERR_IO, "'%.300s' does not give what was written to it", journal->path);
		while (most && room[most - 1] != '\n')
			most--;
		buf_advance(out, most);
		if (most || want >= to - from)
			return OK;
		want *= 2;
	}
}

enum status relay_journal_take(struct relay_journal *journal, size_t max_bytes, struct buf *out, struct error *err)
{
	pthread_mutex_lock(&journal->mutex);
	const struct head head = journal->head;
	uint64_t to = head.noted_at > head.sent_at ? head.noted_at : journal->end;
	pthread_mutex_unlock(&journal->mutex);

	buf_reset(out);
	out->max_bytes = RECORD_MAX_BYTES;
	if (to == head.sent_at)
		return OK;
	return read_records(journal, head.sent_at, to, max_bytes, out, err);
}

enum status relay_journal_note(
	struct relay_journal *journal, size_t bytes, char key[RELAY_KEY_BYTES], struct error *err)
{
	pthread_mutex_lock(&journal->mutex);
	journal->head.noted_at = journal->head.sent_at + bytes;
	snprintf(key, RELAY_KEY_BYTES, "%s-%llu", journal->head.id, (unsigned long long)journal->head.sent_at);
	enum status status = write_head(journal, err);
	pthread_mutex_unlock(&journal->mutex);
	return status;
}

enum status relay_journal_pass(struct relay_journal *journal, size_t bytes, struct error *err)
{
	pthread_mutex_lock(&journal->mutex);
	journal->head.sent_at += bytes;
	if (journal->head.noted_at < journal->head.sent_at)
		journal->head.noted_at = journal->head.sent_at;
	enum status status = write_head(journal, err);
	/* what cannot be punched stays until the file goes */
	if (status == OK)
		(void)fallocate(journal->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HEAD_BYTES,
			(off_t)(journal->head.sent_at - HEAD_BYTES));
	pthread_mutex_unlock(&journal->mutex);
	return status;
}
