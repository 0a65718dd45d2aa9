#include "wandb/sent_console.h"

#include <string.h>

static bool read_item(const struct json *entry, struct sent_console *out)
{
	double numbers[4];
	size_t count = 0;

	for (const struct json *at = json_first(entry); at && count < 4; at = json_next(at))
		if (!json_number_of(at, &numbers[count++]))
			return false;
	if (count < 4 || !(numbers[2] >= 0) || !(numbers[3] >= 0))
		return false;
	*out = (struct sent_console){
		(int64_t)numbers[0], (int64_t)numbers[1], (uint64_t)numbers[2], (uint64_t)numbers[3]};
	return true;
}

void sent_consoles_read(struct sent_consoles *consoles, const struct json *list, int64_t begun_ms, int64_t session)
{
	*consoles = (struct sent_consoles){.begun_ms = begun_ms, .session = session};
	for (const struct json *at = list ? json_first(list) : NULL; at && consoles->count < SENT_CONSOLES_MAX;
		at = json_next(at))
		consoles->count += read_item(at, &consoles->items[consoles->count]);
}

void sent_consoles_write(const struct sent_consoles *consoles, const char *key, struct json_writer *w)
{
	json_key(w, key);
	json_array(w);
	for (size_t i = 0; i < consoles->count; i++) {
		json_array(w);
		json_i64(w, consoles->items[i].begun_ms);
		json_i64(w, consoles->items[i].session);
		json_i64(w, (int64_t)consoles->items[i].counted);
		json_i64(w, (int64_t)consoles->items[i].first);
		json_array_end(w);
	}
	json_array_end(w);
}

/* One whose process was sent again since says nothing more. */
static void drop_one(struct sent_consoles *consoles)
{
	size_t at = 0;

	for (size_t i = consoles->count; i-- > 0;)
		for (size_t j = i + 1; j < consoles->count; j++)
			if (consoles->items[j].begun_ms == consoles->items[i].begun_ms)
				at = i;
	consoles->count--;
	memmove(&consoles->items[at], &consoles->items[at + 1], (consoles->count - at) * sizeof consoles->items[0]);
}

static const struct sent_console *find(const struct sent_consoles *consoles, bool is_own)
{
	for (size_t i = consoles->count; i-- > 0;) {
		const struct sent_console *item = &consoles->items[i];
		if (item->begun_ms == consoles->begun_ms && (!is_own || item->session == consoles->session))
			return item;
	}
	return NULL;
}

static const struct sent_console *add(struct sent_consoles *consoles, uint64_t number, uint64_t next)
{
	const struct sent_console *before = consoles->is_sync ? find(consoles, false) : NULL;
	bool is_behind_others = consoles->is_sync && consoles->count && number < next;
	struct sent_console own = {consoles->begun_ms, consoles->session, number,
		before             ? before->first
		: is_behind_others ? next
				   : number};

	if (consoles->count == SENT_CONSOLES_MAX)
		drop_one(consoles);
	consoles->items[consoles->count++] = own;
	consoles->has_changed = true;
	return &consoles->items[consoles->count - 1];
}

uint64_t sent_consoles_place(struct sent_consoles *consoles, uint64_t number, uint64_t next)
{
	if (!consoles->begun_ms)
		return number;
	const struct sent_console *own = find(consoles, true);
	if (!own)
		own = add(consoles, number, next);
	return number < own->counted ? number : number - own->counted + own->first;
}
