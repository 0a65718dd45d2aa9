#include "wandb/sent_times.h"

#include <string.h>

static bool read_item(const struct json *entry, struct sent_time *out)
{
	const struct json *first = json_first(entry), *last = first ? json_next(first) : NULL;
	const struct json *session = last ? json_next(last) : NULL;
	double number;

	if (!session || !json_number_of(first, &out->first_s) || !json_number_of(last, &out->last_s) ||
		!json_number_of(session, &number))
		return false;
	out->session = (int64_t)number;
	return true;
}

void sent_times_read(struct sent_times *times, const struct json *list, int64_t session)
{
	*times = (struct sent_times){.session = session};
	for (const struct json *at = list ? json_first(list) : NULL; at && times->count < SENT_TIMES_MAX;
		at = json_next(at))
		times->count += read_item(at, &times->items[times->count]);
}

void sent_times_write(const struct sent_times *times, const char *key, struct json_writer *w)
{
	json_key(w, key);
	json_array(w);
	for (size_t i = 0; i < times->count; i++) {
		json_array(w);
		json_double(w, times->items[i].first_s);
		json_double(w, times->items[i].last_s);
		json_double(w, (double)times->items[i].session);
		json_array_end(w);
	}
	json_array_end(w);
}

bool sent_times_has(const struct sent_times *times, double at_s)
{
	const struct sent_time *mine = sent_times_own(times);

	for (size_t i = 0; mine && i < times->count; i++)
		if (times->items[i].session != times->session && times->items[i].first_s == mine->first_s &&
			at_s <= times->items[i].last_s)
			return true;
	return false;
}

/* One that lies within another says nothing more: a run may be sent again each hour. */
static void drop_one(struct sent_times *times)
{
	size_t at = 0;

	for (size_t i = 0; i < times->count; i++)
		for (size_t j = 0; j < times->count; j++)
			if (i != j && times->items[j].first_s <= times->items[i].first_s &&
				times->items[i].last_s <= times->items[j].last_s)
				at = i;
	times->count--;
	memmove(&times->items[at], &times->items[at + 1], (times->count - at) * sizeof times->items[0]);
}

void sent_times_note(struct sent_times *times, double at_s)
{
	struct sent_time *item = (struct sent_time *)sent_times_own(times);

	if (!item) {
		if (times->count == SENT_TIMES_MAX)
			drop_one(times);
		item = &times->items[times->count++];
		*item = (struct sent_time){at_s, at_s, times->session};
	}
	item->first_s = at_s < item->first_s ? at_s : item->first_s;
	item->last_s = at_s > item->last_s ? at_s : item->last_s;
}

const struct sent_time *sent_times_own(const struct sent_times *times)
{
	for (size_t i = 0; i < times->count; i++)
		if (times->items[i].session == times->session)
			return &times->items[i];
	return NULL;
}

bool sent_times_is_older(const struct sent_times *times)
{
	const struct sent_time *mine = sent_times_own(times);

	for (size_t i = 0; mine && i < times->count; i++)
		if (times->items[i].session != times->session && times->items[i].last_s > mine->last_s)
			return true;
	return false;
}
