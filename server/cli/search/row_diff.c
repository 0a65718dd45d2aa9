#include "cli/search/row_diff.h"

#include "base/map.h"

struct seen {
	uint64_t round;
	size_t len;
	char text[];
};

struct changes {
	struct map *map;
	uint64_t round;
};

struct changes *changes_new(void)
{
	struct changes *changes = mem_zeroed(sizeof *changes);

	if (changes)
		changes->map = map_new();
	if (changes && !changes->map) {
		mem_free(changes);
		return NULL;
	}
	return changes;
}

void changes_free(struct changes *changes)
{
	struct span key;
	void *value;

	if (!changes)
		return;
	for (size_t at = 0; map_next(changes->map, &at, &key, &value);)
		mem_free(value);
	map_free(changes->map);
	mem_free(changes);
}

bool changes_note(struct changes *changes, struct span name, struct span text, bool *is_news)
{
	struct seen *old = map_get(changes->map, name);

	*is_news = !old || !span_equal(span_of(old->text, old->len), text);
	if (!*is_news) {
		old->round = changes->round;
		return true;
	}
	struct seen *seen = mem_zeroed(sizeof *seen + text.len);
	if (!seen)
		return false;
	seen->round = changes->round;
	seen->len = text.len;
	memcpy(seen->text, text.ptr, text.len);
	if (!map_put(changes->map, name, seen)) {
		mem_free(seen);
		return false;
	}
	mem_free(old);
	return true;
}

bool changes_next_gone(struct changes *changes, struct buf *name)
{
	struct span key;
	void *value;

	for (size_t at = 0; map_next(changes->map, &at, &key, &value);) {
		struct seen *seen = value;
		if (seen->round == changes->round)
			continue;
		buf_reset(name);
		buf_append_span(name, key);
		if (name->failure != OK)
			return false;
		mem_free(map_remove(changes->map, buf_span(name)));
		return true;
	}
	changes->round++;
	return false;
}
