#include "pipeline/life/run_gap.h"

#include "fleet/goodput.h"
#include "state/pipeline_state.h"

static bool is_gone(enum transition_source source, struct span status, struct span message)
{
	return source == SOURCE_STATED && span_equal(status, SPAN("Interrupted")) &&
	       span_equal(message, SPAN(GOODPUT_GONE));
}

bool run_gap_is(const struct transition_row *row)
{
	return is_gone(row->source, row->status, row->message);
}

static enum status put(
	struct store_tx *tx, int64_t job_id, struct span status, struct span message, int64_t at_ms, struct error *err)
{
	return store_put_told(tx, job_id,
		&(struct told_row){.status = status,
			.message = message,
			.reason = SPAN(""),
			.start_ms = at_ms,
			.source = SOURCE_STATED},
		err);
}

enum status run_gap_put(struct store_tx *tx, int64_t job_id, int64_t from_ms, struct error *err)
{
	return put(tx, job_id, SPAN("Interrupted"), SPAN(GOODPUT_GONE), from_ms, err);
}

/* What is left of it on either side is a gap if it is one by itself. */
static enum status fill(struct store_tx *tx, int64_t job_id, int64_t silent_ms, const struct told_row *gap,
	int64_t to_ms, int64_t first_ms, int64_t last_ms, struct error *err)
{
	if (first_ms - gap->start_ms > silent_ms)
		TRY(put(tx, job_id, SPAN("Training"), SPAN(""), first_ms, err));
	else
		TRY(store_delete_told(tx, job_id, gap, err));
	return to_ms - last_ms > silent_ms ? run_gap_put(tx, job_id, last_ms, err) : OK;
}

enum status run_gap_fill(const struct pipeline *pipeline, struct store_tx *tx, struct arena *arena, int64_t job_id,
	int64_t first_ms, int64_t last_ms, struct error *err)
{
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), arena, job_id, &rows, &count, err));
	for (size_t i = 0; i + 1 < count; i++) {
		int64_t from_ms = rows[i].start_ms, to_ms = rows[i + 1].start_ms;
		if (!is_gone(rows[i].source, rows[i].status, rows[i].message) || last_ms <= from_ms ||
			first_ms >= to_ms)
			continue;
		TRY(fill(tx, job_id, pipeline->options.silent_ms, &rows[i], to_ms,
			first_ms > from_ms ? first_ms : from_ms, last_ms < to_ms ? last_ms : to_ms, err));
	}
	return OK;
}

/* Of what was stated the last before `count`; SIZE_MAX: nothing. */
static size_t stated_before(const struct told_row *rows, size_t count)
{
	while (count && rows[count - 1].source != SOURCE_STATED)
		count--;
	return count - 1;
}

size_t run_gap_held(const struct told_row *rows, size_t count, int64_t end_ms)
{
	for (;;) {
		size_t again = stated_before(rows, count), gap = again < count ? stated_before(rows, again) : again;
		if (gap >= count || rows[again].start_ms < end_ms ||
			!span_equal(rows[again].status, SPAN("Training")) ||
			!is_gone(rows[gap].source, rows[gap].status, rows[gap].message))
			return count;
		count = gap;
	}
}

enum status run_gap_take_back(
	struct store_tx *tx, struct arena *arena, int64_t job_id, int64_t end_ms, struct error *err)
{
	struct told_row *rows;
	size_t count;

	TRY(store_read_told_facts(store_tx_reader(tx), arena, job_id, &rows, &count, err));
	for (size_t i = run_gap_held(rows, count, end_ms); i < count; i++)
		if (rows[i].source == SOURCE_STATED)
			TRY(store_delete_told(tx, job_id, &rows[i], err));
	return OK;
}
