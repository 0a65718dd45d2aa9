/*
 * A version is the counter "search" of the database: a reader's view has one, and a column has that of the view it was read in.
 * The writer says which jobs a version changes before it commits; a reader that sees the version then reads these jobs again.
 * What was said of a transaction that came to nothing costs a read too many, and no more.
 */
#include "store/sql/search/search_cache.h"

#include "base/clock.h"
#include "store/columns/job_changes.h"
#include "store/driver/connection.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

#include <pthread.h>

enum {
	RELOAD_SHARE = 4, /* so is one when more than 1 in so many jobs changed */
	GARBAGE_MIN = 256, /* values that nobody has any more are few */
	SLOTS_MAX = 1024, /* each is looked for in a list, and names that clients make up are of no job */
	LOAD_LIMIT_MS = 60000, /* a column of a million jobs takes half a second; cut off, it would never be there */
};

struct search_slot {
	struct search_slot *next;
	struct span key; /* its own */
	struct job_column *column; /* NULL: not read yet */
	size_t values_at_first; /* when it was read: what is replaced later stays in memory */
	int64_t version;
	uint64_t used; /* by the cache's clock */
	int pins;
};

struct search_cache {
	size_t max_bytes;
	pthread_rwlock_t lock;
	struct search_slot *slots;
	uint64_t clock;
	struct job_changes *changes; /* NULL: nobody writes while it is there */
};

struct search_cache *search_cache_new(struct job_changes *changes, size_t max_bytes)
{
	struct search_cache *cache = mem_zeroed(sizeof *cache);

	if (!cache)
		return NULL;
	cache->changes = changes;
	cache->max_bytes = max_bytes;
	pthread_rwlock_init(&cache->lock, NULL);
	return cache;
}

static void free_slot(struct search_slot *slot)
{
	job_column_free(slot->column);
	mem_free((void *)slot->key.ptr);
	mem_free(slot);
}

void search_cache_free(struct search_cache *cache)
{
	if (!cache)
		return;
	for (struct search_slot *next, *slot = cache->slots; slot; slot = next) {
		next = slot->next;
		free_slot(slot);
	}
	pthread_rwlock_destroy(&cache->lock);
	mem_free(cache);
}

/* ---- columns ---- */

static enum status read_version(struct store_reader *reader, int64_t *version, struct error *err)
{
	*version = 0;
	return read_number(reader, "SELECT last FROM counters WHERE name = 'search'", NUMBERS(), version, err);
}

static enum status load(struct search_slot *slot, struct store_reader *reader, const struct search_source *source,
	int64_t version, struct error *err)
{
	AUTO(job_column) column = search_source_column(source);

	if (!column)
		return error_no_memory(err);
	TRY(search_source_read(source, reader, column, NULL, 0, err));
	job_column_free(slot->column);
	slot->column = column;
	slot->values_at_first = column->value_count;
	slot->version = version;
	column = NULL;
	return OK;
}

static enum status read_again(struct search_slot *slot, struct store_reader *reader, const struct search_source *source,
	const int64_t *jobs, size_t count, struct error *err)
{
	size_t words = (size_t)jobs[count - 1] / 64 + 1;
	AUTO_MEM uint64_t *changed = mem_zeroed(words * sizeof *changed);
	struct bits bits = {.words = changed, .count = words};

	if (!changed)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		bits_add(&bits, (size_t)jobs[i]);
	job_column_remove(slot->column, &bits);
	return search_source_read(source, reader, slot->column, jobs, count, err);
}

/* Half-read it would be wrong: it is read as a whole by who comes next. */
static void forget(struct search_slot *slot)
{
	job_column_free(slot->column);
	slot->column = NULL;
}

/* Values of jobs that changed or are gone: to read all anew is paid for by as many jobs that were read again one by one. */
static bool is_littered(const struct search_slot *slot)
{
	size_t share = slot->column->jobs / RELOAD_SHARE + GARBAGE_MIN;

	return slot->column->value_count >
	       2 * slot->values_at_first + (share < JOB_CHANGES_MAX ? share : JOB_CHANGES_MAX);
}

static enum status refresh(struct search_cache *cache, struct search_slot *slot, struct store_reader *reader,
	const struct search_source *source, int64_t version, struct error *err)
{
	bool is_known;
	size_t count;
	AUTO_MEM int64_t *jobs = NULL;

	if (!slot->column || !cache->changes)
		return load(slot, reader, source, version, err);
	if (!job_changes_since(cache->changes, slot->version, search_source_changes(source), &jobs, &count, &is_known))
		return error_no_memory(err);
	if (!is_known || count > slot->column->jobs / RELOAD_SHARE + 64 || is_littered(slot))
		return load(slot, reader, source, version, err);
	enum status status = count ? read_again(slot, reader, source, jobs, count, err) : OK;
	if (status != OK)
		forget(slot);
	slot->version = version;
	return status;
}

static struct search_slot *find_slot(struct search_cache *cache, struct span key)
{
	for (struct search_slot *slot = cache->slots; slot; slot = slot->next)
		if (span_equal(slot->key, key))
			return slot;
	return NULL;
}

static struct search_slot *add_slot(struct search_cache *cache, struct span key)
{
	struct search_slot *slot = mem_zeroed(sizeof *slot);

	if (!slot || !(slot->key.ptr = mem_copy_bytes(key.ptr, key.len))) {
		mem_free(slot);
		return NULL;
	}
	slot->key.len = key.len;
	slot->next = cache->slots;
	cache->slots = slot;
	return slot;
}

static size_t bytes_of(const struct search_cache *cache)
{
	size_t bytes = 0;

	for (const struct search_slot *slot = cache->slots; slot; slot = slot->next)
		bytes += sizeof *slot + slot->key.len + (slot->column ? job_column_bytes(slot->column) : 0);
	return bytes;
}

static size_t count_slots(const struct search_cache *cache)
{
	size_t count = 0;

	for (const struct search_slot *slot = cache->slots; slot; slot = slot->next)
		count++;
	return count;
}

static void drop_slot(struct search_cache *cache, struct search_slot *slot)
{
	struct search_slot **at = &cache->slots;

	while (*at != slot)
		at = &(*at)->next;
	*at = slot->next;
	free_slot(slot);
}

/* What was not looked at for longest goes first; what a search looks at stays, also when it is too much. */
static void make_room(struct search_cache *cache)
{
	while (bytes_of(cache) > cache->max_bytes || count_slots(cache) > SLOTS_MAX) {
		struct search_slot *oldest = NULL;
		for (struct search_slot *slot = cache->slots; slot; slot = slot->next)
			if (!slot->pins && (!oldest || slot->used < oldest->used))
				oldest = slot;
		if (!oldest)
			return;
		drop_slot(cache, oldest);
	}
}

/* ---- use ---- */

static struct search_slot *slot_of(struct search_cache *cache, const struct search_use *use, bool adds)
{
	AUTO_DONE(buf) key = BUF_INIT(32768);

	search_source_print(&use->source, &key);
	if (key.failure)
		return NULL;
	struct search_slot *slot = find_slot(cache, buf_span(&key));
	return slot || !adds ? slot : add_slot(cache, buf_span(&key));
}

/* Under the lock, in either way: several searches may pin at once. */
static void pin(struct search_cache *cache, struct search_use *use, struct search_slot *slot)
{
	__atomic_fetch_add(&slot->pins, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->used, __atomic_add_fetch(&cache->clock, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	use->slot = slot;
	use->column = slot->column;
}

static void unpin(struct search_use *uses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_fetch_sub(&uses[i].slot->pins, 1, __ATOMIC_RELEASE);
}

static bool pin_fresh(struct search_cache *cache, struct search_use *uses, size_t count, int64_t version)
{
	for (size_t i = 0; i < count; i++) {
		struct search_slot *slot = slot_of(cache, &uses[i], false);
		if (!slot || !slot->column || slot->version < version) {
			unpin(uses, i);
			return false;
		}
		pin(cache, &uses[i], slot);
	}
	return true;
}

static enum status pin_all(struct search_cache *cache, struct store_reader *reader, struct search_use *uses,
	size_t count, int64_t version, struct error *err)
{
	enum status status = OK;
	size_t pinned = 0;

	for (; status == OK && pinned < count; pinned++) {
		struct search_slot *slot = slot_of(cache, &uses[pinned], true);
		if (!slot) {
			status = error_no_memory(err);
			break;
		}
		pin(cache, &uses[pinned], slot);
		if (!slot->column || slot->version < version)
			status = refresh(cache, slot, reader, &uses[pinned].source, version, err);
	}
	if (status != OK)
		unpin(uses, pinned);
	make_room(cache);
	return status;
}

/* With the deadline out of the way, which then is later by as much. */
static enum status pin_read(struct search_cache *cache, struct store_reader *reader, struct search_use *uses,
	size_t count, int64_t version, struct error *err)
{
	int64_t start = clock_mono_ms(), deadline = connection_deadline_ms(reader);

	connection_set_deadline_ms(reader, start + LOAD_LIMIT_MS);
	pthread_rwlock_wrlock(&cache->lock);
	enum status status = pin_all(cache, reader, uses, count, version, err);
	pthread_rwlock_unlock(&cache->lock);
	connection_set_deadline_ms(
		reader, deadline && deadline < INT64_MAX / 2 ? deadline + clock_mono_ms() - start : deadline);
	return status;
}

enum status search_cache_enter(struct search_cache *cache, struct store_reader *reader, struct search_use *uses,
	size_t count, struct error *err)
{
	int64_t version;

	TRY(read_version(reader, &version, err));
	pthread_rwlock_rdlock(&cache->lock);
	if (!pin_fresh(cache, uses, count, version)) {
		pthread_rwlock_unlock(&cache->lock);
		TRY(pin_read(cache, reader, uses, count, version, err));
		pthread_rwlock_rdlock(&cache->lock);
	}
	/* Another search may have read a column anew in between. */
	for (size_t i = 0; i < count; i++)
		uses[i].column = uses[i].slot->column;
	for (size_t i = 0; i < count; i++)
		if (!uses[i].column) { /* and failed to */
			search_cache_leave(cache, uses, count);
			return error_set(err, ERR_UNAVAILABLE, "what the search needs could not be read; try again");
		}
	return OK;
}

void search_cache_leave(struct search_cache *cache, struct search_use *uses, size_t count)
{
	unpin(uses, count);
	pthread_rwlock_unlock(&cache->lock);
}

size_t search_cache_bytes(struct search_cache *cache)
{
	pthread_rwlock_rdlock(&cache->lock);
	size_t bytes = bytes_of(cache);
	pthread_rwlock_unlock(&cache->lock);
	return bytes;
}
