#include "pipeline/jobs/tracked_document.h"

#include "base/json/json_write.h"
#include "base/map.h"
#include "state/jobs/secrets.h"

/* SageMaker's limits on a training job: what is beyond them goes into the other section. */
enum {
	SETTINGS_MAX = 100,
	SETTING_KEY_MAX_BYTES = 256,
	SETTING_VALUE_MAX_BYTES = 2500,
	TAGS_MAX = 50,
	TAG_KEY_MAX_BYTES = 128,
	TAG_VALUE_MAX_BYTES = 256,
	LEAST_ROOM = 16,
};

struct section {
	const char *name, *other;
	size_t most, key_max_bytes, value_max_bytes;
	bool is_list; /* of {"Key", "Value"} */
};
static const struct section settings_section = {
	"HyperParameters", "OtherHyperParameters", SETTINGS_MAX, SETTING_KEY_MAX_BYTES, SETTING_VALUE_MAX_BYTES, false};
static const struct section tags_section = {
	"Tags", "OtherTags", TAGS_MAX, TAG_KEY_MAX_BYTES, TAG_VALUE_MAX_BYTES, true};

bool tracked_pairs_add(struct arena *arena, struct tracked_pairs *pairs, struct span key, struct span value)
{
	if (pairs->count == pairs->cap) {
		size_t cap = pairs->cap ? 2 * pairs->cap : LEAST_ROOM;
		struct tracked_pair *items = arena_alloc(arena, cap * sizeof *items);
		if (!items)
			return false;
		if (pairs->count)
			memcpy(items, pairs->items, pairs->count * sizeof *items);
		pairs->items = items;
		pairs->cap = cap;
	}
	pairs->items[pairs->count++] = (struct tracked_pair){key, value};
	return true;
}

/* ---- what is there ---- */

static enum status read_section(struct arena *arena, const struct json *document, const struct section *section,
	struct tracked_pairs *out, struct error *err)
{
	const char *const names[] = {section->name, section->other};

	for (size_t i = 0; i < 2; i++) {
		const struct json *node = json_get(document, names[i]);
		for (const struct json *at = node ? json_first(node) : NULL; at; at = json_next(at)) {
			struct span key = section->is_list ? json_string_of(json_get(at, "Key")) : json_key_of(at);
			const struct json *value = section->is_list ? json_get(at, "Value") : at;
			if (key.len && value && json_kind(value) == JSON_STRING &&
				!tracked_pairs_add(arena, out, key, json_string_of(value)))
				return error_no_memory(err);
		}
	}
	return OK;
}

enum status tracked_document_read(struct arena *arena, const struct json *document, struct tracked_pairs *settings,
	struct tracked_pairs *tags, struct error *err)
{
	TRY(read_section(arena, document, &settings_section, settings, err));
	return read_section(arena, document, &tags_section, tags, err);
}

/* ---- what it becomes ---- */

/* Those that are there keep their place. */
static enum status merge(
	struct arena *arena, struct tracked_pairs *pairs, const struct tracked_pairs *changes, struct error *err)
{
	AUTO(map) places = map_new();

	if (!places)
		return error_no_memory(err);
	for (size_t i = 0; i < pairs->count; i++)
		if (!map_put(places, pairs->items[i].key, (void *)(uintptr_t)(i + 1)))
			return error_no_memory(err);
	for (size_t i = 0; i < changes->count; i++) {
		const struct tracked_pair *change = &changes->items[i];
		size_t place = (size_t)(uintptr_t)map_get(places, change->key);
		if (place) {
			pairs->items[place - 1].value = change->value;
			continue;
		}
		if (!tracked_pairs_add(arena, pairs, change->key, change->value) ||
			!map_put(places, change->key, (void *)(uintptr_t)pairs->count))
			return error_no_memory(err);
	}
	return OK;
}

static bool fits(const struct section *section, const struct tracked_pair *pair)
{
	return pair->key.len <= section->key_max_bytes && pair->value.len <= section->value_max_bytes;
}

static void write_pair(struct json_writer *w, const struct section *section, const struct tracked_pair *pair)
{
	if (section->is_list) {
		json_object(w);
		json_put_span(w, "Key", pair->key);
		json_put_span(w, "Value", pair->value);
		json_object_end(w);
		return;
	}
	json_key_span(w, pair->key);
	json_span(w, pair->value);
}

/* wants_other: those that the first section has no room for. */
static size_t write_part(
	struct json_writer *w, const struct section *section, const struct tracked_pairs *pairs, bool wants_other)
{
	size_t count = 0, first = 0;

	if (section->is_list)
		json_array(w);
	else
		json_object(w);
	for (size_t i = 0; i < pairs->count; i++) {
		const struct tracked_pair *pair = &pairs->items[i];
		if (!pair->value.ptr)
			continue;
		bool is_other = !fits(section, pair) || first == section->most;
		first += !is_other;
		if (is_other != wants_other)
			continue;
		write_pair(w, section, pair);
		count++;
	}
	if (section->is_list)
		json_array_end(w);
	else
		json_object_end(w);
	return count;
}

static enum status put_part(struct json *document, const struct section *section, const struct tracked_pairs *pairs,
	bool is_other, size_t max_bytes, struct error *err)
{
	const char *name = is_other ? section->other : section->name;
	AUTO_DONE(buf) text = BUF_INIT(max_bytes);
	AUTO(json) made = NULL;
	struct json_writer w = json_writer_on(&text);

	if (!write_part(&w, section, pairs, is_other)) {
		json_remove(document, name);
		return OK;
	}
	TRY(buf_status(&text, err));
	TRY(json_parse(&made, buf_span(&text), err));
	return json_set_copy(document, name, made) ? OK : error_no_memory(err);
}

static enum status put_section(struct arena *arena, struct json *document, const struct section *section,
	const struct tracked_pairs *changes, size_t max_bytes, struct error *err)
{
	struct tracked_pairs pairs = {0};

	if (!changes->count)
		return OK;
	TRY(read_section(arena, document, section, &pairs, err));
	/* the document goes on to be changed: its spans do not last */
	for (size_t i = 0; i < pairs.count; i++) {
		struct tracked_pair *pair = &pairs.items[i];
		*pair = (struct tracked_pair){arena_copy(arena, pair->key), arena_copy(arena, pair->value)};
		if (!pair->key.ptr || !pair->value.ptr)
			return error_no_memory(err);
	}
	TRY(merge(arena, &pairs, changes, err));
	TRY(put_part(document, section, &pairs, false, max_bytes, err));
	return put_part(document, section, &pairs, true, max_bytes, err);
}

enum status tracked_document_write(struct span old, const struct tracked_pairs *settings,
	const struct tracked_pairs *tags, struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;

	if (!arena)
		return error_no_memory(err);
	TRY(json_parse(&document, old, err));
	enum status status = put_section(arena, document, &settings_section, settings, out->max_bytes, err);
	if (status == OK)
		status = put_section(arena, document, &tags_section, tags, out->max_bytes, err);
	if (status == OK)
		status = secrets_mask(document, err);
	if (status == OK) {
		json_print(document, out);
		status = out->failure;
	}
	if (status == ERR_TOO_LARGE)
		return error_set(err, status,
			"the document of the job has no room for more params and tags: it holds %zu bytes",
			out->max_bytes);
	return status == OK ? buf_status(out, err) : status;
}

struct span tracked_billed_in(const struct json *document)
{
	for (const struct json *tag = json_first(json_get(document, "Tags")); tag; tag = json_next(tag))
		if (span_equal(json_string_of(json_get(tag, "Key")), TRACKED_WITHIN_TAG))
			return json_string_of(json_get(tag, "Value"));
	return SPAN("");
}
