/* A line that is read by no expression (generic/): what stands on it, for the slots of the definitions of that preset. */
#include "extract/generic/curves.h"
#include "extract/generic/generic.h"
#include "extract/generic/guess.h"
#include "extract/generic/pair.h"
#include "extract/state.h"

static bool is_side_bar(struct run *run, const struct generic_counters *counters)
{
	return counters->is_bar && counters->bar_total > 0 &&
	       bars_is_side(&run->extractor->bars, counters->bar_step, counters->bar_total);
}

static bool has_train_loss(const struct generic_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (line->values[i].series == GENERIC_LOSS)
			return true;
	return false;
}

/* What counts on the line is none of the training's loops, though the loss is called so. */
static bool is_side_loop(const struct run *run, const struct generic_line *line)
{
	return generic_memory_is_beside(&run->extractor->generic, &line->counters) && has_train_loss(line);
}

static bool has_star(enum generic_series series)
{
	return span_find_char(generic_definitions[series].name, '*') >= 0;
}

/* The loss of the stream is what was called so first; another name is another series. */
static enum generic_series series_of(struct run *run, const struct generic_value *value)
{
	struct generic_memory *memory = &run->extractor->generic;

	if (value->series != GENERIC_LOSS)
		return value->series;
	if (!memory->has_loss) {
		memory->has_loss = true;
		memory->loss_alias = value->alias;
	}
	return memory->loss_alias == value->alias ? GENERIC_LOSS : GENERIC_OTHER;
}

static bool add(struct run *run, const struct found *found)
{
	struct extractor *extractor = run->extractor;

	if (!mem_grow((void **)&extractor->found, extractor->found_count, &extractor->found_cap, sizeof *found))
		return false;
	extractor->found[extractor->found_count++] = *found;
	run->has_match = true;
	struct track *track = &run->tracks[found->definition];
	if (track->seen_at != extractor->segments) {
		track->seen_at = extractor->segments;
		track->health.matched++;
	}
	return true;
}

static bool is_near(const struct run *run, const struct step_seen *seen)
{
	return seen && seen->is_there && run->line->number - seen->line <= RECORD_LINES;
}

/* "grad norm: 0.75" on the line below that of the loss. */
static bool is_below_loss(const struct run *run)
{
	return run->extractor->generic.has_loss && is_near(run, &run->format->step);
}

static bool add_value(struct run *run, const struct generic_value *value, const struct found *step)
{
	const struct generic_memory *memory = &run->extractor->generic;
	struct found found = *step;
	enum generic_series series = series_of(run, value);

	found.definition = series;
	found.name = has_star(series) ? value->name : SPAN("");
	found.text = value->text;
	found.value = value->value;
	bool has_step = found.has_step || found.is_in_record || found.step_follows;
	if (found.name.len && guess_points_needed(found.name, has_step) == GUESS_NEVER)
		return true;
	if (!has_step && (series == GENERIC_LR || series == GENERIC_GRAD_NORM)) {
		if (!memory->has_loss && !is_near(run, run_step(run)))
			return true; /* far from any step it is one of the configuration */
		found.is_in_record = is_below_loss(run);
	}
	return add(run, &found);
}

static void note_total(struct run *run, const struct generic_counters *counters)
{
	if (counters->has_step && !counters->has_epoch && counters->total > 0)
		run->format->said_total = counters->total;
}

static int32_t rank_of(struct run *run)
{
	struct segment *segment = &run->extractor->segment;
	const struct prefix *prefix = line_view_prefix(&segment->view);

	if (segment->rank != RANK_NONE)
		return segment->rank;
	return prefix->is_bare ? RANK_NONE : prefix->rank;
}

/* A line that says the epoch alone, of a stream whose steps are finer: it belongs to the step seen last. */
static bool is_coarse(struct run *run, const struct generic_counters *counters)
{
	struct generic_memory *memory = &run->extractor->generic;

	memory->has_fine |= counters->has_step && !counters->is_epoch;
	return counters->is_epoch && memory->has_fine;
}

static bool is_in_record(const struct run *run)
{
	uint64_t header = run->extractor->generic.header;

	return header && run->line->number + 1 - header <= RECORD_LINES;
}

static bool has_loss(const struct generic_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (series_is_loss(line->values[i].series))
			return true;
	return false;
}

static bool add_all(struct run *run, struct generic_line *line)
{
	struct generic_counters *counters = &line->counters;

	generic_memory_see(&run->extractor->generic, counters);
	bool has_step = counters->has_step && !is_coarse(run, counters);
	struct found found = {.has_step = has_step,
		.has_epoch = has_step && counters->has_epoch,
		.step = counters->step,
		.epoch = counters->epoch,
		.total = counters->is_epoch ? 0 : counters->total,
		.is_in_record = is_in_record(run) || counters->is_evaluation,
		.is_evaluation = counters->is_evaluation,
		.is_of_bar = counters->is_bar,
		.is_of_curve = counters->is_of_curve,
		.rank = rank_of(run)};

	note_total(run, counters);
	if (line->is_step_alone && !has_step)
		return true;
	if (line->is_step_alone) {
		run->extractor->generic.header = run->line->number + 1;
		found.definition = GENERIC_STEP;
		found.text = counters->where;
		found.value = (double)counters->step;
		return add(run, &found);
	}
	found.step_follows = run->record.waits;
	found.has_loss = has_loss(line);
	for (size_t i = 0; i < line->count; i++)
		if (!add_value(run, &line->values[i], &found))
			return false;
	return true;
}

/* What is said over several lines. Asked for a segment more than once, the state has seen it once. */
static void read_record(
	struct run *run, struct span text, bool is_read, struct tokens *tokens, struct generic_line *line)
{
	struct record_state *state = &run->extractor->records;

	if (run->records_at == run->extractor->segments)
		records_copy(state, run->records);
	else
		records_copy(run->records, state);
	run->records_at = run->extractor->segments;
	records_read(state, text, run->line->number, is_read, tokens, line, &run->record);
}

/* They are asked for when the line that was read is gone. False: no memory. */
static bool keep_names(struct run *run, struct generic_line *line)
{
	struct buf *kept = &run->extractor->names;
	struct span names = span_of(line->names, line->names_len);

	buf_reset(kept);
	buf_append_span(kept, names);
	if (kept->failure != OK)
		return false;
	for (size_t i = 0; i < line->count; i++) {
		struct span *name = &line->values[i].name;
		if (name->ptr >= names.ptr && name->ptr < names.ptr + names.len)
			name->ptr = buf_span(kept).ptr + (name->ptr - names.ptr);
	}
	return true;
}

/* What the line says and is not read: nobody would look for it. */
static void count_unread(struct run *run, bool is_cut, bool is_odd)
{
	struct definition_health *health = &run->tracks[GENERIC_OTHER].health;

	health->limited += is_cut;
	health->not_numeric += is_odd;
	run->has_unread |= is_cut || is_odd;
}

/* A point of a curve: each has its own step. */
static bool add_point(struct run *run, const struct curves_point *point, struct generic_line *line)
{
	struct generic_value value = {.name = point->name, .text = point->text, .value = point->value};
	struct found found = {.has_step = true, .step = point->step, .is_of_curve = true, .rank = rank_of(run)};

	pair_begin(line);
	line->counters.has_step = true;
	if (!generic_add(line, &value, SPLIT_NONE, (struct unit){UNIT_NONE, 0}))
		return true;
	line->values[0].name = point->name; /* that in the line's room is gone with the next point */
	return add_value(run, &line->values[0], &found);
}

/* False: no memory. *is_taken: the line is an object of curves. */
static bool take_curves(struct run *run, struct span text, struct generic_line *line, bool *is_taken)
{
	struct curves curves;
	struct curves_point point;

	*is_taken = false;
	if (!curves_begin(&curves, text))
		return true;
	for (size_t count = 0; curves_next(&curves, &point); count++) {
		if (count == CURVES_POINTS_MAX) {
			count_unread(run, true, false);
			break;
		}
		if (!add_point(run, &point, line))
			return false;
		*is_taken = true;
	}
	return true;
}

bool match_generic(struct run *run)
{
	struct segment *segment = &run->extractor->segment;
	const struct prefix *prefix = line_view_prefix(&segment->view);
	struct tokens tokens;
	struct generic_line line;
	bool is_taken, is_read = generic_may_have(prefix->starts[prefix->certain]);

	if (!take_curves(run, prefix->starts[prefix->certain], &line, &is_taken))
		return false;
	if (is_taken) {
		run->record = (struct record_line){.is_record = true};
		return true;
	}
	segment->start = is_read ? generic_start(prefix) : prefix->certain;
	struct span text = prefix->starts[segment->start];
	tokens.text = SPAN("");
	is_read = is_read && !segment->view.has_nothing;
	bool is_cut = is_read && run->line->is_cut, is_odd = false;
	if (is_read) {
		tokens_find(text, &tokens);
		is_read = generic_read(&tokens, &line);
		is_cut |= tokens.is_cut;
		is_odd = line.not_numeric > 0;
	}
	segment->view.has_nothing = !is_read;
	read_record(run, text, is_read, &tokens, &line);
	count_unread(run, is_cut || line.is_cut, is_odd);
	if (!line.count && !line.is_step_alone)
		return true;
	if (is_side_bar(run, &line.counters) || is_side_loop(run, &line)) {
		run->is_side_bar = true;
		return true;
	}
	return keep_names(run, &line) && add_all(run, &line);
}
