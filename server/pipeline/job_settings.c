#include "pipeline/job_settings.h"

#include "base/map.h"
#include "base/secret.h"

#include <pthread.h>

struct job_settings {
	pthread_mutex_t mutex;
	struct arena *arena; /* NULL until there is one setting: most jobs print none */
	struct map *by_key;
	struct setting_row *rows;
	size_t count, cap;
	size_t written; /* the first ones are in the store */
};

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

struct job_settings *job_settings_new(void)
{
	struct job_settings *settings = mem_zeroed(sizeof *settings);

	if (settings)
		pthread_mutex_init(&settings->mutex, NULL);
	return settings;
}

void job_settings_free(struct job_settings *settings)
{
	if (!settings)
		return;
	pthread_mutex_destroy(&settings->mutex);
	arena_free(settings->arena);
	map_free(settings->by_key);
	mem_free(settings->rows);
	mem_free(settings);
}

/* Under the lock. */
static bool add(struct job_settings *settings, const struct setting_row *row)
{
	struct setting_row copy = *row;

	if (!settings->arena)
		settings->arena = arena_new();
	if (!settings->by_key)
		settings->by_key = map_new();
	if (!settings->arena || !settings->by_key)
		return false;
	copy.key = arena_copy(settings->arena, row->key);
	copy.value = arena_copy(settings->arena, row->value);
	copy.stream = SPAN("");
	if (!copy.key.ptr || !copy.value.ptr ||
		!mem_grow((void **)&settings->rows, settings->count, &settings->cap, sizeof *settings->rows) ||
		!map_put(settings->by_key, copy.key, settings))
		return false;
	settings->rows[settings->count++] = copy;
	return true;
}

enum status job_settings_load(
	struct job_settings *settings, struct store_reader *reader, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct setting_row *rows;
	bool is_whole = true;
	size_t count;

	if (!arena)
		return out_of_memory(err);
	TRY(store_read_settings(reader, arena, job_id, &rows, &count, err));
	pthread_mutex_lock(&settings->mutex);
	for (size_t i = 0; i < count && is_whole; i++)
		is_whole = add(settings, &rows[i]);
	settings->written = settings->count;
	pthread_mutex_unlock(&settings->mutex);
	return is_whole ? OK : out_of_memory(err);
}

/* Under the lock. Of thousands of ranks that say the same all but the first end at the first look. */
static bool take(struct job_settings *settings, uint32_t stream_id, const struct setting *found)
{
	struct setting_row row = {found->key, found->value, stream_id, found->line, SPAN("")};
	char masked[SECRET_MASK_BYTES];

	if (settings->count >= SETTINGS_MAX || (settings->by_key && map_get(settings->by_key, found->key)))
		return true;
	if (secret_is_name(found->key) || secret_is_value(found->value)) {
		secret_mask(found->value, masked);
		row.value = span_from(masked);
	}
	return add(settings, &row);
}

enum status job_settings_take(struct job_settings *settings, uint32_t stream_id, const struct settings *found,
	bool *has_news, struct error *err)
{
	bool is_whole = true;

	pthread_mutex_lock(&settings->mutex);
	size_t before = settings->count;
	for (size_t i = 0; i < settings_count(found) && is_whole; i++)
		is_whole = take(settings, stream_id, settings_get(found, i));
	*has_news = settings->count > before;
	pthread_mutex_unlock(&settings->mutex);
	return is_whole ? OK : out_of_memory(err);
}

enum status job_settings_unwritten(struct job_settings *settings, struct arena *arena, struct setting_row **out,
	size_t *count, size_t *end, struct error *err)
{
	pthread_mutex_lock(&settings->mutex);
	*end = settings->count;
	*count = settings->count - settings->written;
	*out = arena_alloc(arena, *count * sizeof **out);
	if (*out && *count)
		memcpy(*out, settings->rows + settings->written, *count * sizeof **out);
	pthread_mutex_unlock(&settings->mutex);
	return *out ? OK : out_of_memory(err);
}

void job_settings_settle(struct job_settings *settings, size_t end)
{
	pthread_mutex_lock(&settings->mutex);
	if (end > settings->written)
		settings->written = end;
	pthread_mutex_unlock(&settings->mutex);
}
