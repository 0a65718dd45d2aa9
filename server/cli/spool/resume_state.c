#include "cli/spool/resume_state.h"

#include "base/crypto.h"
#include "base/codec/pack.h"
#include "cli/http/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two slots, written in turns: a write that was cut off leaves the other one. */
enum { SLOT_BYTES = 64 << 10, SLOTS = 2, HEAD_BYTES = 256, MAX_PLACES = 8 };

/* Between these bytes a stream stands that is one file from its start. */
struct ledger_place {
	char job[256];
	char source[LEDGER_SOURCE_BYTES];
	uint64_t device, inode;
	uint64_t base, end;
};

struct stream_ledger {
	int fd; /* -1: not opened */
	char *path;
	uint64_t sequence;
	bool has_base;
	bool asks;
	bool has_source; /* from before, where there is no base */
	char source[LEDGER_SOURCE_BYTES];
	struct ledger_place places[MAX_PLACES]; /* by the pages of all addresses */
	size_t place_count;
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
	if (page->source[0]) /* an older version's page ends here */
		pack_span(out, span_from(page->source));
}

static void unpack_text(struct unpacker *u, char *text, size_t size)
{
	struct span read = unpack_span(u);

	u->has_failed |= read.len >= size;
	if (!u->has_failed && read.len)
		memcpy(text, read.ptr, read.len);
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
	unpack_text(&u, page->job, sizeof page->job);
	page->base = unpack_u64(&u);
	page->file_count = unpack_count(&u, 4);
	u.has_failed |= page->file_count > LEDGER_MAX_FILES;
	for (size_t i = 0; i < page->file_count && !u.has_failed; i++)
		unpack_file(&u, &page->files[i]);
	page->piece_count = unpack_count(&u, 7);
	u.has_failed |= page->piece_count > SPOOL_MAX_PIECES;
	for (size_t i = 0; i < page->piece_count && !u.has_failed; i++)
		unpack_piece(&u, &page->pieces[i], page->file_count);
	if (!u.has_failed && u.rest.len) {
		unpack_text(&u, page->source, sizeof page->source);
		u.has_failed |= !page->source[0];
	}
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

/* ---- the names of the files: by job and stream, and by the server's address ---- */

enum { NAME_HEX = 2 * LEDGER_HASH_BYTES + 1 };

static enum status put_hash(struct buf *key, char hex[NAME_HEX], struct error *err)
{
	unsigned char hash[SHA256_BYTES];

	TRY(buf_status(key, err));
	crypto_sha256(buf_span(key), hash);
	crypto_hex(hash, LEDGER_HASH_BYTES, hex);
	return OK;
}

static enum status name_stream(const struct ledger *ledger, const char *name, char hex[NAME_HEX], struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(64 << 10);

	pack_span(&key, span_from(ledger->job));
	pack_span(&key, span_from(name));
	return put_hash(&key, hex, err);
}

static enum status name_server(const struct ledger *ledger, char hex[NAME_HEX], struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(64 << 10);

	url_put_canonical(ledger->server, &key);
	return put_hash(&key, hex, err);
}

/* As it was when one name was made of the address as it was written, job and stream. */
static enum status name_of_old(const struct ledger *ledger, const char *name, char hex[NAME_HEX], struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(64 << 10);

	pack_span(&key, span_from(ledger->server));
	pack_span(&key, span_from(ledger->job));
	pack_span(&key, span_from(name));
	return put_hash(&key, hex, err);
}

static enum status form_path(const struct ledger *ledger, const char *name, char path[4096], struct error *err)
{
	char stream[NAME_HEX], server[NAME_HEX], before[NAME_HEX], old[4096];

	TRY(name_stream(ledger, name, stream, err));
	TRY(name_server(ledger, server, err));
	TRY(name_of_old(ledger, name, before, err));
	if (snprintf(path, 4096, "%s/sm-ship-%s-%s.ledger", ledger->folder, stream, server) >= 4096 ||
		snprintf(old, sizeof old, "%s/sm-ship-%s.ledger", ledger->folder, before) >= (int)sizeof old)
		return error_set(err, ERR_INVALID, "spool folder '%.300s' has too long a name", ledger->folder);
	if (access(path, F_OK) != 0 && rename(old, path) != 0 && errno != ENOENT)
		return error_set(err, ERR_IO, "cannot rename ledger '%s': %s", old, strerror(errno));
	return OK;
}

/* ---- what is known by other addresses ---- */

static void add_place(struct stream_ledger *stream, const struct ledger_page *page)
{
	uint64_t end = page->base;

	for (size_t i = 0; i < page->piece_count; i++) {
		const struct spool_piece *piece = &page->pieces[i].piece;
		if (piece->start != end || piece->lost_lines || piece->has_open_end)
			return;
		end = piece->end;
	}
	if (page->file_count != 1 || stream->place_count == MAX_PLACES)
		return;
	struct ledger_place *place = &stream->places[stream->place_count++];
	*place = (struct ledger_place){
		.device = page->files[0].device, .inode = page->files[0].inode, .base = page->base, .end = end};
	snprintf(place->job, sizeof place->job, "%s", page->job);
	snprintf(place->source, sizeof place->source, "%s", page->source);
}

/* Is it a page by which something was sent? */
static bool read_other(const char *path, struct ledger_page *page, struct stat *info)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t sequence;

	if (fd < 0)
		return false;
	bool is_read = fstat(fd, info) == 0 && read_page(fd, &sequence, page) && page->job[0];
	close(fd);
	return is_read;
}

static bool is_newer(const struct stat *info, const struct stat *than)
{
	return info->st_mtim.tv_sec != than->st_mtim.tv_sec ? info->st_mtim.tv_sec > than->st_mtim.tv_sec
							    : info->st_mtim.tv_nsec > than->st_mtim.tv_nsec;
}

/* The page becomes the newest one of the stream: one that is older than another address's may be behind what the server has. */
static enum status find_newest(const struct ledger *ledger, struct stream_ledger *stream, const char *name,
	struct ledger_page *page, bool *has_page, struct error *err)
{
	AUTO_MEM struct ledger_page *other = mem_alloc(sizeof *other);
	char hex[NAME_HEX], prefix[64], path[4096];
	struct stat newest = {0}, info;
	bool has_sent = *has_page && page->job[0];

	if (!other)
		return error_no_memory(err);
	TRY(name_stream(ledger, name, hex, err));
	snprintf(prefix, sizeof prefix, "sm-ship-%s-", hex);
	if (has_sent && fstat(stream->fd, &newest) == 0)
		add_place(stream, page);
	DIR *folder = opendir(ledger->folder);
	if (!folder)
		return error_set(err, ERR_IO, "cannot list spool folder '%s': %s", ledger->folder, strerror(errno));
	for (const struct dirent *entry; (entry = readdir(folder));) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
			snprintf(path, sizeof path, "%s/%s", ledger->folder, entry->d_name) >= (int)sizeof path ||
			strcmp(path, stream->path) == 0 || !read_other(path, other, &info))
			continue;
		add_place(stream, other);
		if (has_sent && !is_newer(&info, &newest))
			continue;
		*page = *other;
		page->is_elsewhere = *has_page = has_sent = true;
		newest = info;
	}
	closedir(folder);
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
	return find_newest(ledger, stream, name, page, has_page, err);
}

void ledger_reserve(struct ledger *ledger, unsigned number)
{
	(void)!fallocate(ledger->streams[number].fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)SLOTS * SLOT_BYTES);
}

void ledger_adopt(struct ledger *ledger, unsigned number, const struct ledger_page *page)
{
	struct stream_ledger *stream = &ledger->streams[number];

	*stream->page = *page;
	stream->page->has_ended = false;
	stream->has_base = page->job[0] != 0; /* else nothing was sent yet */
}

static void take_source(struct stream_ledger *stream, const struct ledger_page *page)
{
	stream->has_source = true;
	snprintf(stream->source, sizeof stream->source, "%s", page->source);
}

void ledger_share(struct ledger *ledger, unsigned number, const struct ledger_page *page)
{
	if (page->source[0] && !page->is_elsewhere)
		take_source(&ledger->streams[number], page);
}

void ledger_ask(struct ledger *ledger, unsigned number, const struct ledger_page *page)
{
	struct stream_ledger *stream = &ledger->streams[number];
	size_t kept = 0;

	stream->asks = true;
	take_source(stream, page);
	for (size_t i = 0; i < stream->place_count; i++) /* another file may have been the stream's once */
		if (page->file_count == 1 && stream->places[i].device == page->files[0].device &&
			stream->places[i].inode == page->files[0].inode &&
			strcmp(stream->places[i].source, page->source) == 0)
			stream->places[kept++] = stream->places[i];
	stream->place_count = kept;
}

const char *ledger_source(const struct ledger *ledger, unsigned number)
{
	const struct stream_ledger *stream = &ledger->streams[number];

	return stream->has_base ? stream->page->source : stream->has_source ? stream->source : NULL;
}

bool ledger_asks(const struct ledger *ledger, unsigned number, const char *job, uint64_t bytes, bool *stands)
{
	const struct stream_ledger *stream = &ledger->streams[number];

	*stands = false;
	for (size_t i = 0; i < stream->place_count; i++) {
		const struct ledger_place *place = &stream->places[i];
		/* No other has the source. A first batch without one is any other job's, too. */
		bool is_ours = place->source[0] || (place->base > 0 && place->base <= bytes);
		*stands |= is_ours && bytes <= place->end && strcmp(place->job, job) == 0;
	}
	return stream->asks;
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

void ledger_pass(struct ledger *ledger, unsigned number, const struct spool_batch *batch, uint64_t bytes)
{
	struct stream_ledger *stream = &ledger->streams[number];

	if (stream->fd < 0 || !stream->page)
		return;
	pthread_mutex_lock(&ledger->lock);
	for (size_t i = 0; i < batch->piece_count && bytes > 0; i++) { /* the next batch that is noted writes it */
		const struct spool_piece *piece = &batch->pieces[i];
		uint64_t part = spool_piece_bytes(piece), at = piece->end;
		if (bytes < part && !piece->lost_lines)
			at = piece->start + bytes;
		set_place(find_file(stream->page, piece->fd), piece->fd, at, at);
		bytes -= bytes < part ? bytes : part;
	}
	pthread_mutex_unlock(&ledger->lock);
}

/* A batch is mostly many pieces of one file: that is looked at once, where the last of them ends. */
static void put_pieces(struct ledger_page *page, const struct spool_batch *batch)
{
	struct ledger_file *file = NULL;

	page->piece_count = 0;
	for (size_t i = 0; i < batch->piece_count; i++) {
		const struct spool_piece *piece = &batch->pieces[i];
		if (!file)
			file = find_file(page, piece->fd);
		page->pieces[page->piece_count++] = (struct ledger_piece){(size_t)(file - page->files), *piece};
		if (i + 1 < batch->piece_count && piece[1].fd == piece->fd)
			continue;
		set_place(file, piece->fd, piece->end, piece->end);
		file = NULL;
	}
}

enum status ledger_note(struct ledger *ledger, unsigned number, const struct ledger_note *note, struct error *err)
{
	struct stream_ledger *stream = &ledger->streams[number];
	struct ledger_page *page = stream->page;

	if (stream->fd < 0 || !page)
		return OK;
	pthread_mutex_lock(&ledger->lock);
	snprintf(page->job, sizeof page->job, "%s", note->job);
	snprintf(page->source, sizeof page->source, "%s", note->source);
	page->base = note->base;
	put_pieces(page, note->batch);
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
