#include "pipeline/consume/fault_names.h"

#include "extract/line/kernel_event.h"
#include "extract/line/machine_name.h"
#include "pipeline/commit/machine_join.h"
#include "state/known_fault.h"
#include "store/stream_hosts.h"

enum { LOOKED_AT = 1000 };

/* So long what lines told of a machine by both its names says that it is one. */
static const int64_t memory_ms = 30LL * 24 * 3600 * 1000;

static bool is_near(int64_t a_ms, int64_t b_ms)
{
	return a_ms <= b_ms + FAULT_CHANNEL_MS && b_ms <= a_ms + FAULT_CHANNEL_MS;
}

bool fault_is_told_elsewhere(const struct node_fault_row *row, const struct signature_hit_row *hit)
{
	bool is_one_stream = row->job_id == hit->job_id && row->stream_id == hit->stream_id;

	return !is_one_stream && (is_near(row->ts_ms, hit->first_ms) || is_near(row->last_ms, hit->first_ms)) &&
	       span_equal(row->signature, hit->signature) && kernel_event_has_same_words(row->text, hit->text);
}

enum status fault_names_join(struct store_tx *tx, struct arena *arena, const struct signature_hit_row *hit,
	struct span team, struct span *name, struct error *err)
{
	struct node_fault_row *rows;
	struct span other;
	size_t count;
	bool is_one = false;

	TRY(store_find_charged_form(store_tx_reader(tx), arena, *name, team, &other, err));
	if (!other.len)
		return OK;
	TRY(store_read_node_faults(
		store_tx_reader(tx), arena, other, hit->first_ms - memory_ms, LOOKED_AT, &rows, &count, err));
	for (size_t i = 0; i < count && !is_one; i++)
		is_one = rows[i].job_id == hit->job_id &&
			 (fault_is_told_elsewhere(&rows[i], hit) || machine_name_is_in(rows[i].text, *name));
	if (!is_one)
		return OK;
	*name = other.len > name->len ? other : *name;
	return machine_join(tx, *name, team, err);
}
