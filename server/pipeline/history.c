#include "pipeline/history.h"

/* https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SecondaryStatusTransition.html */
static const struct phase phases[] = {
	{"Starting", "InProgress", false},
	{"Pending", "InProgress", false},
	{"LaunchingMLInstances", "InProgress", false},
	{"PreparingTrainingStack", "InProgress", false},
	{"Downloading", "InProgress", false},
	{"DownloadingTrainingImage", "InProgress", false},
	{"Training", "InProgress", false},
	{"Restarting", "InProgress", false},
	{"Updating", "InProgress", false},
	{"Uploading", "InProgress", false},
	{"Interrupted", "InProgress", false},
	{"Stopping", "Stopping", false},
	{"Stopped", "Stopped", true},
	{"MaxRuntimeExceeded", "Stopped", true},
	{"MaxWaitTimeExceeded", "Stopped", true},
	{"Completed", "Completed", true},
	{"Failed", "Failed", true},
};

const struct phase *phase_find(struct span secondary)
{
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		if (span_equal(span_from(phases[i].secondary), secondary))
			return &phases[i];
	return NULL;
}

static bool is_final(const struct transition_row *row)
{
	const struct phase *phase = phase_find(row->status);

	return phase && phase->is_final;
}

static bool has_source(const struct history *history, enum transition_source source)
{
	for (size_t i = 0; i < history->count; i++)
		if (history->rows[i].source == source)
			return true;
	return false;
}

static bool is_overruled(const struct transition_row *row, const struct told *told, int64_t first_ms)
{
	if (row->source == SOURCE_STATED)
		return false;
	if (row->source == SOURCE_ASSUMED)
		return told->is_whole || row->start_ms >= first_ms;
	return told->rows->source == SOURCE_STATED && (told->is_whole || is_final(row));
}

static void put(struct history *history, const struct transition_row *row)
{
	size_t at = history->count;

	for (size_t i = 0; i < history->count; i++) {
		struct transition_row *known = &history->rows[i];
		if (known->start_ms == row->start_ms && span_equal(known->status, row->status)) {
			known->message = row->message.len ? row->message : known->message;
			known->source = row->source < known->source ? row->source : known->source;
			return;
		}
	}
	for (; at > 0 && history->rows[at - 1].start_ms > row->start_ms; at--)
		history->rows[at] = history->rows[at - 1];
	history->rows[at] = *row;
	history->count++;
}

static void move_end_last(struct history *history)
{
	size_t at = history->count;

	while (at > 0 && !is_final(&history->rows[at - 1]))
		at--;
	if (at == 0 || at == history->count)
		return;
	struct transition_row end = history->rows[at - 1];
	memmove(&history->rows[at - 1], &history->rows[at], (history->count - at) * sizeof end);
	history->rows[history->count - 1] = end;
}

static void join_neighbours(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		struct transition_row *before = kept ? &history->rows[kept - 1] : NULL;
		const struct transition_row *row = &history->rows[i];
		if (!before || !span_equal(before->status, row->status)) {
			history->rows[kept++] = *row;
			continue;
		}
		before->message = row->message.len ? row->message : before->message;
		before->source = row->source < before->source ? row->source : before->source;
	}
	history->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct transition_row *row = &history->rows[i];
		int64_t next_ms = i + 1 < kept ? history->rows[i + 1].start_ms : 0;
		row->end_ms = next_ms && next_ms < row->start_ms ? row->start_ms : next_ms;
	}
}

static bool is_same(const struct history *a, const struct history *b)
{
	bool is_same = a->count == b->count;

	for (size_t i = 0; is_same && i < a->count; i++) {
		const struct transition_row *x = &a->rows[i], *y = &b->rows[i];
		is_same = span_equal(x->status, y->status) && span_equal(x->message, y->message) &&
			  x->start_ms == y->start_ms && x->end_ms == y->end_ms && x->source == y->source;
	}
	return is_same;
}

enum status history_merge(struct arena *arena, const struct history *old, const struct told *told, struct history *out,
	bool *has_changed, struct error *err)
{
	int64_t first_ms = INT64_MAX;
	bool had_ended = false;

	*has_changed = false;
	*out = *old;
	if (!told->count || (told->rows->source == SOURCE_LOG && has_source(old, SOURCE_STATED)))
		return OK;
	out->rows = arena_alloc(arena, (old->count + told->count) * sizeof *out->rows);
	if (!out->rows)
		return error_set(err, ERR_MEMORY, "out of memory");
	out->count = 0;
	for (size_t i = 0; i < told->count; i++)
		first_ms = told->rows[i].start_ms < first_ms ? told->rows[i].start_ms : first_ms;
	for (size_t i = 0; i < old->count; i++)
		if (!is_overruled(&old->rows[i], told, first_ms)) {
			had_ended = is_final(&old->rows[i]); /* the last one decides */
			out->rows[out->count++] = old->rows[i];
		}
	for (size_t i = 0; i < told->count; i++)
		put(out, &told->rows[i]);
	if (had_ended)
		move_end_last(out);
	join_neighbours(out);
	*has_changed = !is_same(old, out);
	return OK;
}

enum status history_forget_log_end(struct store_tx *tx, struct arena *arena, int64_t job_id, struct error *err)
{
	struct history history;
	size_t kept = 0;

	TRY(store_read_transitions(store_tx_reader(tx), arena, job_id, &history.rows, &history.count, err));
	for (size_t i = 0; i < history.count; i++)
		if (history.rows[i].source != SOURCE_LOG || !is_final(&history.rows[i]))
			history.rows[kept++] = history.rows[i];
	return kept < history.count ? store_put_transitions(tx, job_id, history.rows, kept, err) : OK;
}

void history_to_row(const struct history *history, struct job_row *row)
{
	if (!history->count)
		return;
	const struct transition_row *last = &history->rows[history->count - 1];
	const struct phase *phase = phase_find(last->status);
	int64_t started_ms = 0;

	for (size_t i = 0; i < history->count && !started_ms; i++)
		if (span_equal(history->rows[i].status, SPAN("Training")))
			started_ms = history->rows[i].start_ms;
	if (history->rows[0].start_ms < row->created_ms)
		row->created_ms = history->rows[0].start_ms;
	row->secondary = last->status;
	row->status = phase ? span_from(phase->status) : row->status;
	row->started_ms = started_ms ? started_ms : row->started_ms;
	row->ended_ms = phase && phase->is_final ? last->start_ms : 0;
}
