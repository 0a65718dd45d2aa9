#include "cli/spool/resume_state.h"

#include "base/crypto.h"
#include "base/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two slots, written in turns: a write that was cut off leaves the other one. */
enum { SLOT_BYTES = 64 << 10, SLOTS = 2, HEAD_BYTES = 256 };

struct stream_ledger {
	int fd; /* -1: not opened */
	char *path;
	uint64_t sequence;
	bool has_base;
	struct ledger_page *page;
};

struct ledger {
	pthread_mutex_t lock; /* over the pages */
	char folder[4096];
	const char *server, *job; /* the caller's */
	struct stream_ledger *streams;
	size_t count;
};

enum status ledger_new(struct ledger **out, const char *folder, const char *server, const char *job, size_t max_streams,
	struct error *err)
{
	AUTO(ledger) ledger = mem_zeroed(sizeof *ledger);

	if (!ledger || !(ledger->streams = mem_zeroed(max_streams * sizeof *ledger->streams)))
		return error_no_memory(err);
	pthread_mutex_init(&ledger->lock, NULL);
	ledger->count = max_streams;
	for (size_t i = 0; i < max_streams; i++)
		ledger->streams[i].fd = -1;
	snprintf(ledger->folder, sizeof ledger->folder, "%s", folder);
	ledger->server = server;
	ledger->job = job;
	*out = TAKE(ledger);
	return OK;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t i = 0; ledger->streams && i < ledger->count; i++) {
		if (ledger->streams[i].fd >= 0)
			close(ledger->streams[i].fd);
		mem_free(ledger->streams[i].page);
		mem_free(ledger->streams[i].path);
	}
	if (ledger->streams)
		pthread_mutex_destroy(&ledger->lock);
	mem_free(ledger->streams);
	mem_free(ledger);
}

/* ---- the bytes of a page ---- */

void ledger_page_pack(const struct ledger_page *page, struct buf *out)
{
	pack_u64(out, page->has_ended);
	pack_span(out, span_from(page->job));
	pack_u64(out, page->base);
	pack_u64(out, page->file_count);
	for (size_t i = 0; i < page->file_count; i++) {
		const struct ledger_file *file = &page->files[i];
		pack_u64(out, file->device);
		pack_u64(out, file->inode);
		pack_u64(out, file->at);
		pack_u64(out, file->head_len);
		pack_span(out, span_of((const char *)file->head_hash, LEDGER_HASH_BYTES));
	}
	pack_u64(out, page->piece_count);
	for (size_t i = 0; i < page->piece_count; i++) {
		const struct spool_piece *piece = &page->pieces[i].piece;
		pack_u64(out, page->pieces[i].file);
		pack_u64(out, piece->start);
		pack_u64(out, piece->end - piece->start);
		pack_u64(out, piece->lost_lines);
		pack_u64(out, piece->lost_bytes);
		pack_i64(out, piece->ts_ms);
		bool is_cut = piece->lost_to == SPOOL_LOST_TO_CUT;
		pack_u64(out, (uint64_t)piece->has_open_end | (uint64_t)is_cut << 1 |
				      (uint64_t)(is_cut ? 0 : piece->lost_to) << 2);
	}
}

static void unpack_file(struct unpacker *u, struct ledger_file *file)
{
	file->device = unpack_u64(u);
	file->inode = unpack_u64(u);
	file->at = unpack_u64(u);
	file->head_len = unpack_u64(u);
	struct span hash = unpack_span(u);
	u->has_failed |= hash.len != LEDGER_HASH_BYTES || file->head_len > HEAD_BYTES;
	if (!u->has_failed)
		memcpy(file->head_hash, hash.ptr, LEDGER_HASH_BYTES);
}

static void unpack_piece(struct unpacker *u, struct ledger_piece *out, size_t file_count)
{
	struct spool_piece *piece = &out->piece;

	*piece = (struct spool_piece){.fd = -1};
	out->file = unpack_u64(u);
	piece->start = unpack_u64(u);
	uint64_t len = unpack_u64(u);
	piece->end = piece->start + len;
	piece->lost_lines = unpack_u64(u);
	piece->lost_bytes = unpack_u64(u);
	piece->ts_ms = unpack_i64(u);
	uint64_t flags = unpack_u64(u);
	piece->has_open_end = flags & 1;
	piece->lost_to = flags & 2 ? SPOOL_LOST_TO_CUT : (unsigned)(flags >> 2 & SPOOL_LOST_ALL);
	u->has_failed |= out->file >= file_count || piece->start > INT64_MAX || len > INT64_MAX;
}

enum status ledger_page_unpack(struct ledger_page *page, struct span bytes, struct error *err)
{
	struct unpacker u = unpacker_on(bytes);

	memset(page, 0, sizeof *page);
	page->has_ended = unpack_u64(&u);
	struct span job = unpack_span(&u);
	u.has_failed |= job.len >= sizeof page->job;
	if (!u.has_failed && job.len)
		memcpy(page->job, job.ptr, job.len);
	page->base = unpack_u64(&u);
	page->file_count = unpack_count(&u, 4);
	u.has_failed |= page->file_count > LEDGER_MAX_FILES;
	for (size_t i = 0; i < page->file_count && !u.has_failed; i++)
		unpack_file(&u, &page->files[i]);
	page->piece_count = unpack_count(&u, 7);
	u.has_failed |= page->piece_count > SPOOL_MAX_PIECES;
	for (size_t i = 0; i < page->piece_count && !u.has_failed; i++)
		unpack_piece(&u, &page->pieces[i], page->file_count);
	return unpacker_end(&u, "the ledger", err);
}

/* ---- the file ---- */

/* sha256 of the rest, its length, the sequence, the page. */
static enum status write_page(struct stream_ledger *stream, struct error *err)
{
	AUTO_DONE(buf) slot = BUF_INIT(SLOT_BYTES);
	AUTO_DONE(buf) body = BUF_INIT(SLOT_BYTES);
	unsigned char hash[SHA256_BYTES];

	stream->sequence++;
	pack_u64(&body, stream->sequence);
	ledger_page_pack(stream->page, &body);
	TRY(buf_status(&body, err));
	crypto_sha256(buf_span(&body), hash);
	buf_append_span(&slot, span_of((const char *)hash, LEDGER_HASH_BYTES));
	pack_span(&slot, buf_span(&body));
	TRY(buf_status(&slot, err));
	off_t at = (off_t)(stream->sequence % SLOTS * SLOT_BYTES);
	ssize_t written = pwrite(stream->fd, slot.ptr, slot.len, at);
	if (written != (ssize_t)slot.len)
		return error_set(err, ERR_IO, "cannot write down what is sent: %s",
			written < 0 ? strerror(errno) : "the disk is full");
	return OK;
}

/* False: the slot is empty or was cut off. */
static bool read_slot(int fd, size_t number, char *room, uint64_t *sequence, struct ledger_page *page)
{
	unsigned char hash[SHA256_BYTES];
	ssize_t got = pread(fd, room, SLOT_BYTES, (off_t)(number * SLOT_BYTES));

	if (got <= LEDGER_HASH_BYTES)
		return false;
	struct unpacker u = unpacker_on(span_of(room + LEDGER_HASH_BYTES, (size_t)got - LEDGER_HASH_BYTES));
	struct span body = unpack_span(&u);
	if (u.has_failed)
		return false;
	crypto_sha256(body, hash);
	if (memcmp(hash, room, LEDGER_HASH_BYTES) != 0)
		return false;
	u = unpacker_on(body);
	*sequence = unpack_u64(&u);
	return ledger_page_unpack(page, u.rest, NULL) == OK;
}

static bool read_page(int fd, uint64_t *sequence, struct ledger_page *page)
{
	AUTO_MEM struct ledger_page *other = mem_alloc(sizeof *other);
	AUTO_MEM char *room = mem_alloc(SLOT_BYTES);
	bool has_page = false;
	uint64_t number;

	*sequence = 0;
	for (size_t i = 0; other && room && i < SLOTS; i++) {
		if (!read_slot(fd, i, room, &number, other) || number < *sequence)
			continue;
		*sequence = number;
		*page = *other;
		has_page = true;
	}
	return has_page;
}

static enum status form_path(const struct ledger *ledger, const char *name, char path[4096], struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(64 << 10);
	unsigned char hash[SHA256_BYTES];
	char hex[2 * LEDGER_HASH_BYTES + 1];

	pack_span(&key, span_from(ledger->server));
	pack_span(&key, span_from(ledger->job));
	pack_span(&key, span_from(name));
	TRY(buf_status(&key, err));
	crypto_sha256(buf_span(&key), hash);
	crypto_hex(hash, LEDGER_HASH_BYTES, hex);
	if (snprintf(path, 4096, "%s/sm-ship-%s.ledger", ledger->folder, hex) >= 4096)
		return error_set(err, ERR_INVALID, "spool folder '%.300s' has too long a name", ledger->folder);
	return OK;
}

enum status ledger_open_stream(struct ledger *ledger, unsigned number, const char *name, struct ledger_page *page,
	bool *has_page, struct error *err)
{
	struct stream_ledger *stream = &ledger->streams[number];
	char path[4096];

	*has_page = false;
	TRY(form_path(ledger, name, path, err));
	if (mkdir(ledger->folder, 0700) != 0 && errno != EEXIST)
		return error_set(err, ERR_IO, "cannot make spool folder '%s': %s", ledger->folder, strerror(errno));
	stream->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (stream->fd < 0)
		return error_set(err, ERR_IO, "cannot open ledger '%s': %s", path, strerror(errno));
	if (flock(stream->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return error_set(
			err, ERR_CONFLICT, "another sm-ship is sending stream '%s' of job '%s'", name, ledger->job);
	stream->path = mem_copy_string(path);
	stream->page = mem_zeroed(sizeof *stream->page);
	if (!stream->page || !stream->path)
		return error_no_memory(err);
	*has_page = read_page(stream->fd, &stream->sequence, page);
	return OK;
}

void ledger_adopt(struct ledger *ledger, unsigned number, const struct ledger_page *page)
{
	struct stream_ledger *stream = &ledger->streams[number];

	*stream->page = *page;
	stream->page->has_ended = false;
	stream->has_base = page->job[0] != 0; /* else nothing was sent yet */
}

const char *ledger_job(const struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++)
		if (ledger->streams[i].has_base)
			return ledger->streams[i].page->job;
	return NULL;
}

bool ledger_base(const struct ledger *ledger, unsigned number, uint64_t *base)
{
	const struct stream_ledger *stream = &ledger->streams[number];

	if (stream->has_base)
		*base = stream->page->base;
	return stream->has_base;
}

/* ---- while it runs ---- */

static void hash_head(int fd, uint64_t len, unsigned char out[LEDGER_HASH_BYTES])
{
	char head[HEAD_BYTES];
	unsigned char hash[SHA256_BYTES];
	ssize_t got = pread(fd, head, len, 0);

	crypto_sha256(span_of(head, got > 0 ? (size_t)got : 0), hash);
	memcpy(out, hash, LEDGER_HASH_BYTES);
}

static bool starts_with_hole(int fd, uint64_t len)
{
	char head[HEAD_BYTES];
	ssize_t got = pread(fd, head, len, 0);

	for (ssize_t i = 0; i < got; i++)
		if (head[i])
			return false;
	return got > 0;
}

bool ledger_file_is(const struct ledger_file *file, int fd)
{
	unsigned char hash[LEDGER_HASH_BYTES];
	struct stat info;

	if (fstat(fd, &info) != 0 || info.st_dev != file->device || info.st_ino != file->inode ||
		(uint64_t)info.st_size < file->at)
		return false;
	hash_head(fd, file->head_len, hash);
	return memcmp(hash, file->head_hash, LEDGER_HASH_BYTES) == 0 || starts_with_hole(fd, file->head_len);
}

/* The place of the file behind the descriptor, perhaps a new one at the end; the oldest makes room. */
static struct ledger_file *find_file(struct ledger_page *page, int fd)
{
	struct stat info = {0};
	size_t i = 0;

	fstat(fd, &info);
	while (i < page->file_count && (page->files[i].device != info.st_dev || page->files[i].inode != info.st_ino))
		i++;
	if (i == LEDGER_MAX_FILES) {
		memmove(page->files, page->files + 1, (LEDGER_MAX_FILES - 1) * sizeof *page->files);
		i = --page->file_count;
		for (size_t j = 0; j < page->piece_count; j++)
			page->pieces[j].file -= page->pieces[j].file > 0;
	}
	if (i == page->file_count)
		page->files[page->file_count++] = (struct ledger_file){.device = info.st_dev, .inode = info.st_ino};
	return &page->files[i];
}

static void set_place(struct ledger_file *file, int fd, uint64_t at, uint64_t known_bytes)
{
	file->at = at;
	file->head_len = known_bytes < HEAD_BYTES ? known_bytes : HEAD_BYTES;
	hash_head(fd, file->head_len, file->head_hash);
}

void ledger_see(struct ledger *ledger, unsigned number, int fd)
{
	struct stream_ledger *stream = &ledger->streams[number];
	struct error err = {0};
	struct stat info;

	if (stream->fd < 0 || !stream->page || fstat(fd, &info) != 0)
		return;
	pthread_mutex_lock(&ledger->lock);
	struct ledger_file *file = find_file(stream->page, fd);
	if (!file->head_len || !ledger_file_is(file, fd)) {
		set_place(file, fd, 0, (uint64_t)info.st_size);
		(void)(write_page(stream, &err) == OK); /* the next batch writes it again */
	}
	pthread_mutex_unlock(&ledger->lock);
}

bool ledger_knows(struct ledger *ledger, unsigned number, int fd)
{
	const struct ledger_page *page = ledger->streams[number].page;
	struct stat info = {0};
	bool is_known = false;

	fstat(fd, &info);
	pthread_mutex_lock(&ledger->lock);
	for (size_t i = 0; page && i < page->file_count && !is_known; i++)
		is_known = page->files[i].device == info.st_dev && page->files[i].inode == info.st_ino &&
			   (!page->files[i].head_len || ledger_file_is(&page->files[i], fd));
	pthread_mutex_unlock(&ledger->lock);
	return is_known;
}

enum status ledger_note(struct ledger *ledger, unsigned number, const char *job, uint64_t base,
	const struct spool_batch *batch, struct error *err)
{
	struct stream_ledger *stream = &ledger->streams[number];
	struct ledger_page *page = stream->page;

	if (stream->fd < 0 || !page)
		return OK;
	pthread_mutex_lock(&ledger->lock);
	snprintf(page->job, sizeof page->job, "%s", job);
	page->base = base;
	page->piece_count = 0;
	for (size_t i = 0; i < batch->piece_count; i++) {
		const struct spool_piece *piece = &batch->pieces[i];
		struct ledger_file *file = find_file(page, piece->fd);
		set_place(file, piece->fd, piece->end, piece->end);
		page->pieces[page->piece_count++] = (struct ledger_piece){(size_t)(file - page->files), *piece};
	}
	enum status status = write_page(stream, err);
	pthread_mutex_unlock(&ledger->lock);
	return status;
}

void ledger_remove(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++)
		if (ledger->streams[i].page)
			unlink(ledger->streams[i].path);
}

void ledger_end(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->count; i++) {
		struct stream_ledger *stream = &ledger->streams[i];
		if (stream->fd < 0 || !stream->page || !stream->page->job[0])
			continue;
		stream->page->has_ended = true;
		struct error err = {0};
		if (write_page(stream, &err) != OK)
			return; /* the next start sends the last batch again, which the server knows */
	}
}
