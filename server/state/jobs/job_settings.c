#include "state/jobs/job_settings.h"

#include "base/map.h"
#include "base/secret.h"
#include "model/jobs/by_hand.h"
#include "store/job_facts.h"

#include <pthread.h>
#include <stdatomic.h>

struct job_settings {
	pthread_mutex_t mutex;
	struct arena *arena; /* NULL until there is one setting: most jobs print none */
	struct map *by_key;
	struct setting_row *rows;
	size_t count, cap;
	size_t written; /* the first ones are in the store */
	struct arena *stated_arena;
	struct stated stated;
	atomic_bool is_stale; /* inputs are */
	struct inputs *_Atomic inputs; /* in `arena`: those that were handed out stay */
};

static const struct inputs nothing_known;

struct job_settings *job_settings_new(void)
{
	struct job_settings *settings = mem_zeroed(sizeof *settings);

	if (!settings)
		return NULL;
	pthread_mutex_init(&settings->mutex, NULL);
	settings->stated.machines.from = SPAN("");
	return settings;
}

void job_settings_free(struct job_settings *settings)
{
	if (!settings)
		return;
	pthread_mutex_destroy(&settings->mutex);
	arena_free(settings->arena);
	arena_free(settings->stated_arena);
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
	if (input_is_wanted(copy.key))
		atomic_store(&settings->is_stale, true);
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
		return error_no_memory(err);
	TRY(store_read_settings(reader, arena, job_id, &rows, &count, err));
	pthread_mutex_lock(&settings->mutex);
	for (size_t i = 0; i < count && is_whole; i++)
		is_whole = add(settings, &rows[i]);
	settings->written = settings->count;
	pthread_mutex_unlock(&settings->mutex);
	return is_whole ? OK : error_no_memory(err);
}

/* Under the lock. Of thousands of ranks that say the same all but the first end at the first look. */
static bool add_found(struct job_settings *settings, uint32_t stream_id, const struct setting *found)
{
	struct setting_row row = {found->key, found->value, stream_id, found->line, SPAN("")};
	char masked[SECRET_MASK_BYTES];
	AUTO_DONE(buf) url = BUF_INIT(SETTING_VALUE_MAX_BYTES * SECRET_MASK_BYTES);

	if (settings->count >= SETTINGS_MAX || (settings->by_key && map_get(settings->by_key, found->key)))
		return true;
	if (secret_is_name(found->key) || secret_is_value(found->value)) {
		secret_mask(found->value, masked);
		row.value = span_from(masked);
	} else if (secret_is_in_url(found->value)) {
		secret_mask_urls(found->value, &url);
		row.value = buf_span(&url);
	}
	return url.failure == OK && add(settings, &row);
}

enum status job_settings_take(struct job_settings *settings, uint32_t stream_id, const struct settings *found,
	bool *has_news, struct error *err)
{
	bool is_whole = true;

	pthread_mutex_lock(&settings->mutex);
	size_t before = settings->count;
	for (size_t i = 0; i < settings_count(found) && is_whole; i++)
		is_whole = add_found(settings, stream_id, settings_get(found, i));
	*has_news = settings->count > before;
	pthread_mutex_unlock(&settings->mutex);
	return is_whole ? OK : error_no_memory(err);
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
	return *out ? OK : error_no_memory(err);
}

void job_settings_settle(struct job_settings *settings, size_t end)
{
	pthread_mutex_lock(&settings->mutex);
	if (end > settings->written)
		settings->written = end;
	pthread_mutex_unlock(&settings->mutex);
}

/* ---- what follows from them ---- */

static enum status add_stated(struct stated *out, const struct json *document, const struct json *node,
	struct arena *arena, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SETTING_VALUE_MAX_BYTES);
	struct input_setting *setting = &out->items[out->count];

	if (!input_is_wanted(json_key_of(node)) || json_kind(node) == JSON_OBJECT || json_kind(node) == JSON_ARRAY)
		return OK;
	if (json_kind(node) == JSON_STRING)
		buf_append_span(&text, json_string_of(node));
	else
		json_print(node, &text);
	if (text.failure == ERR_TOO_LARGE)
		return OK;
	TRY(buf_status(&text, err));
	struct span value = buf_span(&text);
	if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
		value = span_of(value.ptr + 1, value.len - 2); /* JSON in JSON, as SageMaker's SDK writes it */
	bool is_by_hand = by_hand_has_setting(document, json_key_of(node));
	*setting = (struct input_setting){arena_copy(arena, json_key_of(node)), arena_copy(arena, value),
		is_by_hand ? SPAN("by hand") : SPAN("HyperParameters"), true};
	out->count++;
	return setting->key.ptr && setting->value.ptr ? OK : error_no_memory(err);
}

enum status job_settings_read_stated(
	struct stated *out, const struct devices *devices, struct span document, struct arena *arena, struct error *err)
{
	AUTO(json) json = NULL;
	char *text = arena_alloc(arena, INPUT_FROM_BYTES);

	TRY(json_parse(&json, document, err));
	TRY(by_hand_settle(json, err));
	const struct json *stated = json_get(json, "HyperParameters");
	*out = (struct stated){.items = arena_alloc(arena, (json_count(stated) + 1) * sizeof *out->items)};
	if (!text || !out->items)
		return error_no_memory(err);
	devices_find(devices, json_get(json, "ResourceConfig"), text, &out->machines);
	if (!stated || json_kind(stated) != JSON_OBJECT)
		return OK;
	for (const struct json *at = json_first(stated); at; at = json_next(at))
		TRY(add_stated(out, json, at, arena, err));
	return OK;
}

enum status job_settings_state(
	struct job_settings *settings, const struct devices *devices, struct span document, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stated stated;

	if (!arena)
		return error_no_memory(err);
	TRY(job_settings_read_stated(&stated, devices, document, arena, err));
	bool says_something = stated.count || stated.machines.from.len;
	pthread_mutex_lock(&settings->mutex);
	arena_free(settings->stated_arena);
	settings->stated_arena = says_something ? arena : NULL;
	settings->stated = says_something ? stated : (struct stated){.machines = {.from = SPAN("")}};
	atomic_store(&settings->is_stale, true);
	pthread_mutex_unlock(&settings->mutex);
	if (says_something)
		arena = NULL;
	return OK;
}

/* Under the lock. NULL: out of memory. */
static struct inputs *resolve(struct job_settings *settings)
{
	size_t count = settings->stated.count;
	AUTO_MEM struct input_setting *all = mem_resize(NULL, settings->count + count + 1, sizeof *all);

	if (!settings->arena)
		settings->arena = arena_new();
	struct inputs *made = all && settings->arena ? arena_alloc(settings->arena, sizeof *made) : NULL;
	if (!made)
		return NULL;
	if (count)
		memcpy(all, settings->stated.items, count * sizeof *all);
	for (size_t i = 0; i < settings->count; i++) {
		const struct setting_row *row = &settings->rows[i];
		if (input_is_wanted(row->key))
			all[count++] = (struct input_setting){row->key, row->value, SPAN("log"), false};
	}
	inputs_resolve(all, count, &settings->stated.machines, made);
	return made;
}

const struct inputs *job_settings_inputs(struct job_settings *settings)
{
	if (atomic_load(&settings->is_stale)) {
		pthread_mutex_lock(&settings->mutex);
		struct inputs *made = resolve(settings);
		if (made) {
			atomic_store(&settings->inputs, made);
			atomic_store(&settings->is_stale, false);
		}
		pthread_mutex_unlock(&settings->mutex);
	}
	const struct inputs *inputs = atomic_load(&settings->inputs);
	return inputs ? inputs : &nothing_known;
}
