#include "cli/spool/spool.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PUNCH_BYTES = 1 << 20, /* freed in steps of this size: a system call a batch would cost more than it frees */
	MERGE_ENTRIES = 4096, /* with more than this waiting, pieces that were read within a second share their time */
	MERGE_TS_MS = 1000,
	LOW_PUNCH_BYTES = 64 << 10, /* the same while the disk has no room */
	LOOK_AT_DISK_MS = 100,
	LOOK_AT_DISK_BYTES = 1 << 20, /* others may write meanwhile, a sm-ship a rank among them */
	RESERVED_ENTRIES = 64, /* the ring grows while it has so many: they are for when there is no memory */
};

struct entry {
	struct spool_piece piece;
	int64_t put_mono_ms;
	unsigned source;
	bool is_taken; /* a loss that was sent must not grow any more */
};

struct source_state {
	struct spool_source source;
	uint64_t write_at; /* of spool_write */
	uint64_t punched_end; /* free up to here */
	struct spool_disk_file disk;
	uint64_t lost_end; /* where what was lost last would end */
	size_t entry_count;
	uint64_t unsaid_lines, unsaid_bytes; /* of losses: there was no entry that could say so in their place */
	unsigned unsaid_to;
};

struct spool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct source_state *sources;
	size_t source_count, source_cap;
	struct entry *entries; /* a ring */
	size_t first, count, cap;
	uint64_t max_bytes;
	uint64_t disk_free; /* as it was at looked_ms */
	uint64_t unlooked_bytes; /* that have come to it since */
	int64_t looked_ms;
	uint64_t kept_bytes; /* of our files */
	uint64_t last_bytes; /* of these, on what is left to others: at most SPOOL_LAST_BYTES */
	uint64_t waiting_bytes; /* of all files */
	uint64_t wake_bytes; /* when so many wait, who waits for a batch is woken */
	struct spool_totals totals;
	bool has_unsaid; /* a source has */
	bool is_dropping; /* until there is some room again */
	bool is_waited_for; /* somebody has more than there was room for: no lingering */
	bool has_ended, is_discarding;
	bool keeps_files;
};

static struct entry *entry_at(const struct spool *spool, size_t index)
{
	return &spool->entries[(spool->first + index) % spool->cap];
}

/* False: out of memory, and the ring is full. */
static bool make_room(struct spool *spool)
{
	if (spool->count + RESERVED_ENTRIES < spool->cap)
		return true;
	size_t cap = spool->cap ? spool->cap * 2 : (size_t)2 * RESERVED_ENTRIES;
	struct entry *grown = mem_alloc(cap * sizeof *grown);
	if (!grown)
		return spool->count < spool->cap;
	for (size_t i = 0; i < spool->count; i++)
		grown[i] = *entry_at(spool, i);
	mem_free(spool->entries);
	spool->entries = grown;
	spool->cap = cap;
	spool->first = 0;
	return true;
}

struct spool *spool_new(uint64_t max_bytes)
{
	struct spool *spool = mem_zeroed(sizeof *spool);
	pthread_condattr_t attributes;

	if (!spool || !make_room(spool)) {
		mem_free(spool);
		return NULL;
	}
	spool->max_bytes = max_bytes;
	pthread_mutex_init(&spool->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&spool->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return spool;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	pthread_cond_destroy(&spool->changed);
	pthread_mutex_destroy(&spool->lock);
	mem_free(spool->sources);
	mem_free(spool->entries);
	mem_free(spool);
}

enum status spool_add_source(
	struct spool *spool, const struct spool_source *source, unsigned *number, struct error *err)
{
	pthread_mutex_lock(&spool->lock);
	bool has_room =
		mem_grow((void **)&spool->sources, spool->source_count, &spool->source_cap, sizeof *spool->sources);
	if (has_room) {
		spool->sources[spool->source_count] =
			(struct source_state){.source = *source, .disk = {.fd = source->fd}};
		*number = (unsigned)spool->source_count++;
	}
	pthread_mutex_unlock(&spool->lock);
	return has_room ? OK : error_no_memory(err);
}

bool spool_is_source_empty(struct spool *spool, unsigned source)
{
	pthread_mutex_lock(&spool->lock);
	bool is_empty = spool->sources[source].entry_count == 0;
	pthread_mutex_unlock(&spool->lock);
	return is_empty;
}

static struct entry *last_entry(const struct spool *spool)
{
	return spool->count ? entry_at(spool, spool->count - 1) : NULL;
}

/* NULL: out of memory. */
static struct entry *push(struct spool *spool, unsigned source, int64_t ts_ms)
{
	if (!make_room(spool))
		return NULL;
	struct entry *entry = entry_at(spool, spool->count++);
	*entry = (struct entry){.source = source,
		.put_mono_ms = clock_mono_ms(),
		.piece = {.fd = spool->sources[source].source.fd, .ts_ms = ts_ms}};
	spool->sources[source].entry_count++;
	return entry;
}

static size_t count_lines(struct span text, bool has_open_end)
{
	size_t lines = has_open_end;

	for (ptrdiff_t at; (at = span_find_char(text, '\n')) >= 0; lines++)
		text = span_skip(text, (size_t)at + 1);
	return lines;
}

void spool_reserve(struct spool *spool, unsigned source)
{
	pthread_mutex_lock(&spool->lock);
	if (spool_disk_free(spool->sources[source].source.fd) < UINT64_MAX)
		spool_disk_reserve(&spool->sources[source].disk, 0);
	pthread_mutex_unlock(&spool->lock);
}

/* Under the lock: losses stand where the lines would. False: there is no memory for that yet. */
static bool say_loss(struct spool *spool, unsigned source, int64_t ts_ms)
{
	struct source_state *state = &spool->sources[source];
	struct entry *last = last_entry(spool);

	if (!state->unsaid_lines)
		return true;
	if (!last || !last->piece.lost_lines || last->is_taken || last->source != source)
		last = push(spool, source, ts_ms);
	if (!last)
		return false;
	last->piece.lost_lines += state->unsaid_lines;
	last->piece.lost_bytes += state->unsaid_bytes;
	last->piece.lost_to |= state->unsaid_to;
	last->piece.start = last->piece.end = state->lost_end; /* so a ledger goes on behind them */
	state->unsaid_lines = state->unsaid_bytes = 0;
	state->unsaid_to = 0;
	return true;
}

/* Under the lock: entries have become free, or will not come any more. */
static void say_losses(struct spool *spool)
{
	bool has_unsaid = false;

	for (size_t i = 0; spool->has_unsaid && i < spool->source_count; i++)
		has_unsaid = !say_loss(spool, (unsigned)i, 0) || has_unsaid;
	spool->has_unsaid = has_unsaid;
}

/* Under the lock: counts a loss, whose bytes would end there in the source's file. */
static void lose(struct spool *spool, unsigned source, const struct spool_piece *loss)
{
	struct source_state *state = &spool->sources[source];
	uint64_t lines = loss->lost_lines, bytes = loss->lost_bytes;

	state->lost_end = loss->end;
	spool->totals.lost_lines += lines;
	spool->totals.lost_bytes += bytes;
	state->unsaid_lines += lines;
	state->unsaid_bytes += bytes;
	state->unsaid_to |= loss->lost_to;
	spool->totals.lost_to |= loss->lost_to;
	spool->has_unsaid = !say_loss(spool, source, loss->ts_ms) || spool->has_unsaid;
}

/* On a share it costs a round trip: so not for each line. */
static uint64_t disk_free(struct spool *spool, const struct source_state *state, uint64_t more)
{
	int64_t now_ms = clock_mono_ms();

	if (!spool->looked_ms || now_ms - spool->looked_ms >= LOOK_AT_DISK_MS ||
		spool->unlooked_bytes + more > LOOK_AT_DISK_BYTES) {
		spool->looked_ms = now_ms;
		spool->disk_free = spool_disk_free(state->source.fd);
		spool->unlooked_bytes = 0;
	}
	return spool->disk_free > spool->unlooked_bytes ? spool->disk_free - spool->unlooked_bytes : 0;
}

/*
 * How much more may go to the folder's disk: a child that writes there must not find it full by our doing. own: bytes of the source that are
 * on it already, from those on that are asked for; they go where they are not kept. Then the child's last lines are to have room yet.
 */
static uint64_t disk_room(struct spool *spool, const struct source_state *state, uint64_t more, uint64_t own)
{
	uint64_t free_bytes = disk_free(spool, state, more), left = SPOOL_MIN_FREE_BYTES + (own ? SPOOL_LAST_BYTES : 0);

	free_bytes = free_bytes < UINT64_MAX - own ? free_bytes + own : UINT64_MAX;
	return free_bytes > left ? free_bytes - left : 0;
}

/* Under the lock. *most: what the source's file may come to hold in all. */
static uint64_t room_for(struct spool *spool, unsigned source, uint64_t more, uint64_t own, uint64_t *most)
{
	*most = disk_room(spool, &spool->sources[source], more, own);
	*most = *most < spool->max_bytes ? *most + spool->kept_bytes : spool->max_bytes;
	*most = *most < spool->max_bytes ? *most : spool->max_bytes;
	return *most > spool->kept_bytes ? *most - spool->kept_bytes : 0;
}

static size_t whole_lines_within(struct span text, uint64_t room)
{
	if (text.len <= room)
		return text.len;
	const char *end = room ? memrchr(text.ptr, '\n', (size_t)room) : NULL;
	return end ? (size_t)(end - text.ptr) + 1 : 0;
}

/*
 * Under the lock: what more of a child's newest lines may stay on a disk that has no room for them: they are on it, and say why it failed.
 * Each line that is sent gives room back.
 */
static uint64_t last_room(const struct spool *spool, uint64_t most)
{
	uint64_t within = spool->max_bytes > spool->kept_bytes ? spool->max_bytes - spool->kept_bytes : 0;
	uint64_t room = SPOOL_LAST_BYTES - spool->last_bytes;

	if (most >= spool->max_bytes)
		return 0;
	return room < within ? room : within;
}

/* Under the lock: how much of the text there is room for, in whole lines; *lost_to: what the rest is lost to. */
static size_t admit(struct spool *spool, unsigned source, struct span text, uint64_t own, unsigned *lost_to)
{
	uint64_t most;

	*lost_to = SPOOL_LOST_TO_MEMORY; /* where there is room it is the index that cannot grow */
	if (!spool->sources[source].source.is_ours)
		return text.len;
	if (own)
		spool->looked_ms = 0; /* a child writes as it likes: what is free is to be of the same moment */
	uint64_t room = room_for(spool, source, text.len, own, &most);
	if (text.len > room && !spool->is_dropping && spool->unlooked_bytes) {
		spool->looked_ms = 0; /* nothing is dropped for what was so a moment ago */
		room = room_for(spool, source, text.len, own, &most);
	}
	uint64_t all = room + (own ? last_room(spool, most) : 0);
	if (text.len > all || spool->is_dropping)
		*lost_to = most < spool->max_bytes ? SPOOL_LOST_TO_DISK : SPOOL_LOST_TO_BOUND;
	if (spool->is_dropping && all < most / 8)
		return 0; /* else losses and lines would alternate, one notice each */
	spool->is_dropping = text.len > all;
	size_t kept = whole_lines_within(text, all);
	if (own)
		spool->last_bytes = text.len <= room ? 0 : spool->last_bytes + (kept > room ? kept - room : 0);
	spool->unlooked_bytes += kept;
	return kept;
}

/* Of the source's file, from the place on: what a child has written, and nobody has read yet. */
static uint64_t bytes_behind(const struct spool *spool, unsigned source, uint64_t start)
{
	const struct spool_source *from = &spool->sources[source].source;
	struct stat info;

	if (!from->is_ours || fstat(from->fd, &info) != 0 || (uint64_t)info.st_size < start)
		return 0;
	return (uint64_t)info.st_size - start;
}

static bool continues(const struct entry *last, unsigned source, uint64_t start)
{
	return last && !last->piece.lost_lines && !last->piece.has_open_end && last->source == source &&
	       last->piece.end == start;
}

static bool can_merge(
	const struct spool *spool, const struct entry *last, unsigned source, uint64_t start, int64_t ts_ms)
{
	if (!continues(last, source, start))
		return false;
	return last->piece.ts_ms == ts_ms || (spool->count > MERGE_ENTRIES && ts_ms - last->piece.ts_ms < MERGE_TS_MS);
}

/*
 * Under the lock: makes the bytes part of the index. Without memory they go with those before them, whose time they then have.
 * False: that cannot be either, and they are not in it.
 */
static bool keep(struct spool *spool, unsigned source, uint64_t start, uint64_t len, bool has_open_end, int64_t ts_ms)
{
	if (!say_loss(spool, source, ts_ms))
		return false; /* what is lost stands before them */
	struct entry *entry = last_entry(spool);
	if (!can_merge(spool, entry, source, start, ts_ms)) {
		struct entry *pushed = push(spool, source, ts_ms);
		if (pushed)
			pushed->piece.start = start;
		else if (!continues(entry, source, start) || entry->is_taken)
			return false;
		entry = pushed ? pushed : entry;
	}
	entry->piece.end = start + len;
	entry->piece.has_open_end = has_open_end;
	spool->waiting_bytes += len;
	if (spool->sources[source].source.is_ours)
		spool->kept_bytes += len;
	return true;
}

/* Under the lock: who waits for a batch sleeps until it is due by itself, unless it is full before. */
static void wake(struct spool *spool)
{
	if (spool->waiting_bytes >= spool->wake_bytes || spool->is_waited_for)
		pthread_cond_signal(&spool->changed);
}

/* Under the lock: of what came, the lines that are not kept. of: all but how many they are. */
static void lose_rest(struct spool *spool, unsigned source, struct span rest, const struct spool_piece *of)
{
	struct spool_piece loss = *of;

	loss.lost_lines = count_lines(rest, of->has_open_end);
	loss.lost_bytes = rest.len;
	if (rest.len)
		lose(spool, source, &loss);
}

/* Under the lock, when the disk was looked at: it is for others when it has little. */
static void keep_reserve(struct spool *spool, unsigned source, uint64_t end)
{
	if (spool->sources[source].disk.reserved_end && spool->disk_free > SPOOL_MIN_FREE_BYTES + SPOOL_LAST_BYTES)
		spool_disk_reserve(&spool->sources[source].disk, end);
}

static void put(
	struct spool *spool, unsigned source, struct span lines, uint64_t start, bool has_open_end, int64_t ts_ms)
{
	size_t kept = 0;
	unsigned lost_to;

	if (lines.len == 0)
		return;
	pthread_mutex_lock(&spool->lock);
	if (!spool->is_discarding) {
		kept = admit(spool, source, lines, bytes_behind(spool, source, start), &lost_to);
		if (kept && !keep(spool, source, start, kept, has_open_end && kept == lines.len, ts_ms)) {
			lost_to = kept == lines.len ? SPOOL_LOST_TO_MEMORY : lost_to | SPOOL_LOST_TO_MEMORY;
			kept = 0;
		}
		lose_rest(spool, source, span_skip(lines, kept),
			&(struct spool_piece){.end = start + lines.len,
				.has_open_end = has_open_end,
				.lost_to = lost_to,
				.ts_ms = ts_ms});
		keep_reserve(spool, source, start + lines.len);
		wake(spool);
	}
	if (spool->sources[source].source.is_ours)
		spool_disk_drop(&spool->sources[source].disk, start + kept, start + lines.len);
	pthread_mutex_unlock(&spool->lock);
}

void spool_put(struct spool *spool, unsigned source, struct span lines, uint64_t start, int64_t ts_ms)
{
	put(spool, source, lines, start, false, ts_ms);
}

void spool_put_open_end(struct spool *spool, unsigned source, struct span line, uint64_t start, int64_t ts_ms)
{
	put(spool, source, line, start, true, ts_ms);
}

void spool_put_piece(struct spool *spool, unsigned source, const struct spool_piece *piece)
{
	pthread_mutex_lock(&spool->lock);
	struct entry *entry = spool->is_discarding ? NULL : push(spool, source, piece->ts_ms);
	if (entry) {
		int fd = entry->piece.fd;
		entry->piece = *piece;
		entry->piece.fd = fd;
		entry->is_taken = true; /* it is to stay as it was */
		spool->waiting_bytes += piece->end - piece->start;
		if (spool->sources[source].source.is_ours)
			spool->kept_bytes += piece->end - piece->start;
		pthread_cond_signal(&spool->changed);
	} else if (!spool->is_discarding) { /* how many lines they were is in the file */
		struct spool_piece loss = *piece;
		if (!piece->lost_lines) {
			loss.lost_lines = 1;
			loss.lost_bytes = piece->end - piece->start;
			loss.lost_to = SPOOL_LOST_TO_MEMORY;
		}
		lose(spool, source, &loss);
	}
	pthread_mutex_unlock(&spool->lock);
}

static size_t write_at(int fd, struct span text, uint64_t at)
{
	size_t done = 0;

	while (done < text.len) {
		ssize_t got = pwrite(fd, text.ptr + done, text.len - done, (off_t)(at + done));
		if (got > 0)
			done += (size_t)got;
		else if (got == 0 || errno != EINTR)
			break;
	}
	return done;
}

/*
 * Under the lock, which alone keeps the source where it is: the place for the next lines. Where nothing can be punched an empty spool
 * starts its file again, so that it stays small.
 */
static uint64_t place_of_write(struct spool *spool, unsigned source, int *fd)
{
	struct source_state *state = &spool->sources[source];

	*fd = state->source.fd;
	if (state->disk.cannot_punch && state->entry_count == 0 && state->write_at &&
		ftruncate(state->source.fd, 0) == 0)
		state->write_at = state->punched_end = state->lost_end = 0;
	return state->write_at;
}

static uint64_t begin_write(
	struct spool *spool, unsigned source, int *fd, size_t *kept, unsigned *lost_to, struct span lines)
{
	pthread_mutex_lock(&spool->lock);
	uint64_t at = place_of_write(spool, source, fd);
	*lost_to = 0;
	*kept = spool->is_discarding ? 0 : admit(spool, source, lines, 0, lost_to);
	pthread_mutex_unlock(&spool->lock);
	return at;
}

void spool_write(struct spool *spool, unsigned source, struct span lines, bool has_open_end, int64_t ts_ms)
{
	size_t kept;
	unsigned lost_to;
	int fd;

	if (lines.len == 0)
		return;
	uint64_t at = begin_write(spool, source, &fd, &kept, &lost_to, lines);
	unsigned kept_lost_to = 0; /* what there was room for */
	if (write_at(fd, span_of(lines.ptr, kept), at) < kept) {
		kept_lost_to = spool_disk_free(fd) == UINT64_MAX ? SPOOL_LOST_TO_MEMORY : SPOOL_LOST_TO_DISK;
		/* Whoever reads the file when we were killed must not find half of it. */
		(void)!ftruncate(fd, (off_t)at);
	}
	pthread_mutex_lock(&spool->lock);
	if (kept && !kept_lost_to && !spool->is_discarding &&
		!keep(spool, source, at, kept, has_open_end && kept == lines.len, ts_ms))
		kept_lost_to = SPOOL_LOST_TO_MEMORY;
	if (kept_lost_to) {
		lost_to = kept == lines.len ? kept_lost_to : lost_to | kept_lost_to;
		kept = 0;
	}
	if (!spool->is_discarding)
		lose_rest(spool, source, span_skip(lines, kept),
			&(struct spool_piece){
				.end = at + kept, .has_open_end = has_open_end, .lost_to = lost_to, .ts_ms = ts_ms});
	spool->sources[source].write_at = at + kept;
	wake(spool);
	pthread_mutex_unlock(&spool->lock);
}

/* Under the lock. A line that is longer than the bound has the spool for itself. */
static size_t fit(struct spool *spool, unsigned source, struct span lines)
{
	uint64_t most, room = room_for(spool, source, lines.len, 0, &most);
	size_t kept = whole_lines_within(lines, room);
	ptrdiff_t end = kept || spool->kept_bytes ? -1 : span_find_char(lines, '\n');

	kept = end < 0 ? kept : (size_t)end + 1;
	spool->unlooked_bytes += kept;
	return kept;
}

size_t spool_offer(struct spool *spool, unsigned source, struct span lines)
{
	int fd;

	pthread_mutex_lock(&spool->lock);
	uint64_t at = place_of_write(spool, source, &fd);
	size_t kept = fit(spool, source, lines);
	bool is_discarding = spool->is_discarding;
	pthread_mutex_unlock(&spool->lock);
	if (is_discarding)
		return lines.len;
	if (write_at(fd, span_of(lines.ptr, kept), at) < kept)
		kept = 0; /* the disk is full: it may have room later */
	pthread_mutex_lock(&spool->lock);
	if (kept && !spool->is_discarding && !keep(spool, source, at, kept, false, 0))
		kept = 0;
	spool->sources[source].write_at = at + kept;
	spool->is_waited_for = kept < lines.len;
	wake(spool);
	pthread_mutex_unlock(&spool->lock);
	return kept;
}

void spool_keep_files(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	spool->keeps_files = true;
	pthread_mutex_unlock(&spool->lock);
}

void spool_end(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	say_losses(spool);
	spool->has_ended = true;
	pthread_cond_signal(&spool->changed);
	pthread_mutex_unlock(&spool->lock);
}

/* Under the lock. */
static void pop(struct spool *spool)
{
	spool->sources[entry_at(spool, 0)->source].entry_count--;
	spool->first = (spool->first + 1) % spool->cap;
	spool->count--;
}

/* Under the lock: bytes of the oldest entry are done with. */
static void advance(struct spool *spool, uint64_t bytes)
{
	struct entry *head = entry_at(spool, 0);
	struct source_state *state = &spool->sources[head->source];

	head->piece.start += bytes;
	spool->waiting_bytes -= bytes;
	if (state->source.is_ours) {
		spool->kept_bytes -= bytes;
		spool->last_bytes -= bytes < spool->last_bytes ? bytes : spool->last_bytes;
	}
	uint64_t step = spool->last_bytes ? LOW_PUNCH_BYTES : PUNCH_BYTES;
	if (!spool->keeps_files && head->piece.start >= state->punched_end + step) {
		if (state->source.is_ours)
			spool_disk_punch(&state->disk, state->punched_end, head->piece.start);
		state->punched_end = head->piece.start;
	}
}

void spool_discard(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	spool->is_discarding = true;
	while (spool->count) {
		struct entry *head = entry_at(spool, 0);
		advance(spool, head->piece.end - head->piece.start);
		pop(spool);
	}
	pthread_mutex_unlock(&spool->lock);
}

enum spool_state spool_wait(struct spool *spool, size_t full_bytes, int64_t linger_ms, int64_t timeout_ms)
{
	int64_t give_up_ms = clock_mono_ms() + timeout_ms;
	enum spool_state state = SPOOL_IS_EMPTY;

	pthread_mutex_lock(&spool->lock);
	for (;;) {
		int64_t now_ms = clock_mono_ms(), wait_ms = give_up_ms - now_ms;
		if (spool->count) {
			int64_t due_ms = entry_at(spool, 0)->put_mono_ms + linger_ms;
			if (spool->waiting_bytes >= full_bytes || due_ms <= now_ms || spool->has_ended ||
				spool->is_waited_for) {
				state = SPOOL_HAS_BATCH;
				break;
			}
			wait_ms = due_ms - now_ms < wait_ms ? due_ms - now_ms : wait_ms;
		} else if (spool->has_ended) {
			state = SPOOL_HAS_ENDED;
			break;
		}
		if (wait_ms <= 0)
			break;
		struct timespec until = clock_deadline(wait_ms);
		spool->wake_bytes = spool->count ? full_bytes : 0;
		pthread_cond_timedwait(&spool->changed, &spool->lock, &until);
	}
	pthread_mutex_unlock(&spool->lock);
	return state;
}

static bool is_of_file(const struct spool_piece *pieces, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (pieces[i].fd == fd)
			return true;
	return false;
}

/* Copies the oldest entries of one stream: the files are then read without the lock. */
static size_t copy_pieces(struct spool *spool, size_t max_bytes, struct spool_piece *pieces, unsigned *stream)
{
	size_t count = 0, file_count = 0;
	uint64_t bytes = 0;

	pthread_mutex_lock(&spool->lock);
	for (; count < spool->count && count < SPOOL_MAX_PIECES && bytes < max_bytes; count++) {
		struct entry *entry = entry_at(spool, count);
		unsigned entry_stream = spool->sources[entry->source].source.stream;
		if (count == 0)
			*stream = entry_stream;
		else if (*stream != entry_stream)
			break;
		file_count += !is_of_file(pieces, count, entry->piece.fd);
		if (file_count > SPOOL_MAX_FILES)
			break;
		entry->is_taken = true;
		pieces[count] = entry->piece;
		bytes += entry->piece.end - entry->piece.start;
	}
	pthread_mutex_unlock(&spool->lock);
	return count;
}

enum status spool_take(struct spool *spool, size_t max_bytes, struct spool_batch *batch, struct error *err)
{
	AUTO_MEM struct spool_piece *pieces = mem_alloc(SPOOL_MAX_PIECES * sizeof *pieces);
	bool is_full = false;

	buf_reset(&batch->text);
	batch->run_count = batch->piece_count = 0;
	if (!pieces)
		return error_no_memory(err);
	size_t count = copy_pieces(spool, max_bytes, pieces, &batch->stream);
	for (size_t i = 0; i < count && !is_full && batch->text.len < max_bytes; i++) {
		enum status status = spool_batch_add(batch, &pieces[i], max_bytes, &is_full, err);
		if (status == ERR_IO && batch->text.len)
			return OK; /* first what can be read; this piece then comes first and says so */
		TRY(status);
	}
	return OK;
}

void spool_release(struct spool *spool, size_t text_bytes)
{
	pthread_mutex_lock(&spool->lock);
	while (text_bytes && spool->count) {
		struct entry *head = entry_at(spool, 0);
		uint64_t file_bytes = head->piece.end - head->piece.start;
		uint64_t whole = spool_piece_bytes(&head->piece);
		if (text_bytes < whole) {
			if (!head->piece.lost_lines)
				advance(spool, text_bytes < file_bytes ? text_bytes : file_bytes);
			break;
		}
		text_bytes -= (size_t)whole;
		advance(spool, file_bytes);
		pop(spool);
	}
	say_losses(spool);
	pthread_mutex_unlock(&spool->lock);
}

void spool_lose_head(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	if (spool->count) {
		struct entry *head = entry_at(spool, 0);
		uint64_t bytes = head->piece.end - head->piece.start;
		advance(spool, bytes);
		head->piece.end = head->piece.start;
		head->piece.lost_lines = 1;
		head->piece.lost_to = SPOOL_LOST_TO_CUT;
		spool->totals.lost_to |= SPOOL_LOST_TO_CUT;
		head->piece.lost_bytes = bytes;
		spool->totals.lost_lines++;
		spool->totals.lost_bytes += bytes;
	}
	pthread_mutex_unlock(&spool->lock);
}

struct spool_totals spool_totals(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	struct spool_totals totals = spool->totals;
	totals.waiting_bytes = spool->waiting_bytes;
	pthread_mutex_unlock(&spool->lock);
	return totals;
}
