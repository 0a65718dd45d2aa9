#include "state/watchers/backfill_incidents.h"

#include "base/alloc.h"
#include "model/incident.h"

enum { ITEM_MIN_BYTES = 16, CLOSE_SHIFT = 8 }; /* above the state: why it is closed */

struct said_list *said_list_new(void)
{
	return mem_zeroed(sizeof(struct said_list));
}

void said_list_free(struct said_list *list)
{
	if (!list)
		return;
	mem_free(list->items);
	mem_free(list);
}

enum status said_list_put(
	struct said_list *list, uint32_t series_id, const struct incident *incident, struct error *err)
{
	struct said_incident said = {.series_id = series_id, .incident = *incident};

	for (size_t i = list->count; i-- > 0;) { /* the newest are those that change */
		struct said_incident *item = &list->items[i];
		if (item->series_id == series_id && item->incident.kind == incident->kind &&
			item->incident.opened_ordinal == incident->opened_ordinal) {
			*item = said;
			return OK;
		}
	}
	if (list->count == SAID_MAX)
		return OK;
	if (!mem_grow((void **)&list->items, list->count, &list->cap, sizeof *list->items))
		return error_no_memory(err);
	list->items[list->count++] = said;
	return OK;
}

static void pack_one(const struct said_incident *said, struct buf *out)
{
	const struct incident *i = &said->incident;

	pack_u64(out, said->series_id);
	pack_u64(out, i->kind);
	pack_u64(out, i->severity);
	pack_u64(out, (uint64_t)i->state | (uint64_t)i->closed_why << CLOSE_SHIFT);
	pack_u64(out, i->opened_ordinal);
	pack_i64(out, i->first_step);
	pack_i64(out, i->last_step);
	pack_i64(out, i->opened_step);
	pack_i64(out, i->opened_ms);
	pack_i64(out, i->closed_ms);
	pack_u64(out, i->line);
	pack_u64(out, i->is_historic);
	pack_double(out, i->value);
	pack_double(out, i->expected);
	pack_double(out, i->spread);
	pack_double(out, i->score);
	pack_double(out, i->worst);
	pack_i64(out, i->worst_step);
}

static struct said_incident unpack_one(struct unpacker *in)
{
	struct said_incident said = {.series_id = (uint32_t)unpack_u64(in)};
	struct incident *i = &said.incident;

	i->kind = (enum incident_kind)unpack_u64(in);
	i->severity = (enum severity)unpack_u64(in);
	uint64_t state = unpack_u64(in);
	i->state = (enum incident_state)(state & ((1u << CLOSE_SHIFT) - 1));
	i->closed_why = (enum incident_close)(state >> CLOSE_SHIFT);
	if (i->kind >= INCIDENT_KIND_COUNT || i->severity >= SEVERITY_COUNT || i->state >= INCIDENT_STATE_COUNT ||
		i->closed_why >= INCIDENT_CLOSE_COUNT)
		in->has_failed = true;
	i->opened_ordinal = unpack_u64(in);
	i->first_step = unpack_i64(in);
	i->last_step = unpack_i64(in);
	i->opened_step = unpack_i64(in);
	i->opened_ms = unpack_i64(in);
	i->closed_ms = unpack_i64(in);
	i->line = unpack_u64(in);
	i->is_historic = unpack_u64(in) != 0;
	i->value = unpack_double(in);
	i->expected = unpack_double(in);
	i->spread = unpack_double(in);
	i->score = unpack_double(in);
	i->worst = unpack_double(in);
	i->worst_step = unpack_i64(in);
	return said;
}

void said_list_pack(const struct said_list *list, struct buf *out)
{
	pack_u64(out, list->count);
	for (size_t i = 0; i < list->count; i++)
		pack_one(&list->items[i], out);
}

enum status said_list_unpack(struct said_list *list, struct span packed, struct error *err)
{
	struct unpacker in = unpacker_on(packed);
	size_t count = unpack_count(&in, ITEM_MIN_BYTES);

	for (size_t i = 0; i < count && !in.has_failed; i++) {
		struct said_incident said = unpack_one(&in);
		if (!in.has_failed)
			TRY(said_list_put(list, said.series_id, &said.incident, err));
	}
	return unpacker_end(&in, "the incidents of a back-fill", err);
}
