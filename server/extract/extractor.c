#include "extract/ansi.h"
#include "extract/attempt.h"
#include "extract/definition.h"
#include "extract/line_hint.h"
#include "extract/number.h"
#include "model/batch.h"

enum { LIMITED_IN_ROW_MAX = 100, RECORD_LINES = 64, PLAIN_MAX_BYTES = 16 << 20 };
enum { ESCAPE = 0x1b };

/* A value found in a segment, before it is known at which step. */
struct found {
	uint32_t definition;
	bool has_step;
	int64_t step; /* raw */
	int64_t epoch;
	bool has_epoch;
	double value;
};

struct extractor {
	struct attempts attempts;
	int preset;
	int64_t last_step; /* meaningful when attempts.has_step */
	uint64_t step_line; /* where it was seen */
	int64_t step_ts_ms; /* the time stated or shown there, or NO_TIME */
	struct buf plain; /* scratch: a line without its escapes */
	struct found *found; /* scratch: of one segment, as many as tracks */
};

/* What all segments of one line share. */
struct run {
	struct extractor *extractor;
	const struct definition_set *set;
	const struct definition_list *list;
	struct regex_scratch *scratch;
	const struct extract_line *line;
	struct span text; /* without escapes */
	int64_t arrival_ms;
	int64_t shown_ms; /* once is_time_known; NO_TIME when there is none */
	bool is_time_known;
	bool has_match;
	struct extracted_list *out;
};

void extracted_list_done(struct extracted_list *list)
{
	mem_free(list->items);
	*list = (struct extracted_list){0};
}

struct extractor *extractor_new(void)
{
	AUTO(extractor) extractor = mem_zeroed(sizeof *extractor);

	if (!extractor || !attempts_init(&extractor->attempts))
		return NULL;
	extractor->preset = -1;
	extractor->step_ts_ms = NO_TIME;
	extractor->plain = BUF_INIT(PLAIN_MAX_BYTES);
	struct extractor *result = extractor;
	extractor = NULL;
	return result;
}

void extractor_free(struct extractor *extractor)
{
	if (!extractor)
		return;
	attempts_done(&extractor->attempts);
	buf_done(&extractor->plain);
	mem_free(extractor->found);
	mem_free(extractor);
}

static bool ensure_tracks(struct extractor *extractor, size_t count)
{
	if (extractor->attempts.track_count == count && (extractor->found || count == 0))
		return true;
	struct found *found = mem_resize(extractor->found, count ? count : 1, sizeof *found);
	if (!found)
		return false;
	extractor->found = found;
	if (extractor->attempts.track_count == count)
		return true;
	extractor->attempts.trial.is_open = false; /* what could decide it is gone */
	return attempts_set_tracks(&extractor->attempts, count);
}

static int64_t shown_time(struct run *run)
{
	if (!run->is_time_known) {
		run->is_time_known = true;
		if (run->line->ts_ms != NO_TIME)
			run->shown_ms = run->line->ts_ms;
		else if (!line_time_parse(run->text, run->arrival_ms, &run->shown_ms))
			run->shown_ms = NO_TIME;
	}
	return run->shown_ms;
}

static bool group_step(const struct span groups[REGEX_MAX_GROUPS], int group, int64_t *out)
{
	return group > 0 && group < REGEX_MAX_GROUPS && groups[group].ptr && number_parse_step(groups[group], out);
}

/* Counted; definitions that do so again and again are left out. */
static bool has_given_up(struct track *track, enum regex_result result)
{
	if (result != REGEX_LIMIT)
		return false;
	track->health.limited++;
	track->limited_in_row++;
	return true;
}

/* The step of the value's own expression, else of the line's. */
static void find_step(struct run *run, const struct definition *definition, struct span segment,
	const struct span groups[REGEX_MAX_GROUPS], struct found *found)
{
	struct track *track = &run->extractor->attempts.tracks[found->definition];
	struct span line_groups[REGEX_MAX_GROUPS];
	enum regex_result result = REGEX_NO_MATCH;

	found->has_epoch = group_step(groups, definition->epoch_group, &found->epoch);
	found->has_step = group_step(groups, definition->step_group, &found->step);
	if (!found->has_step && definition->step_regex)
		result = regex_search(definition->step_regex, run->scratch, segment, 0, line_groups);
	if (has_given_up(track, result))
		return;
	track->limited_in_row = 0;
	if (result != REGEX_MATCH)
		return;
	found->has_step = group_step(line_groups, definition->line_step_group, &found->step);
	if (!found->has_epoch)
		found->has_epoch = group_step(line_groups, definition->line_epoch_group, &found->epoch);
}

/* Runs one definition on the segment; true when *found was filled. */
static bool try_definition(struct run *run, size_t index, struct span segment, struct found *found)
{
	const struct definition *definition = &run->list->items[index];
	struct track *track = &run->extractor->attempts.tracks[index];
	struct span groups[REGEX_MAX_GROUPS];

	if (track->limited_in_row > LIMITED_IN_ROW_MAX)
		return false;
	track->health.tried++;
	enum regex_result result = regex_search(definition->regex, run->scratch, segment, 0, groups);
	if (has_given_up(track, result))
		return false;
	if (!definition->step_regex) /* else the lines that it matches decide: each may cost the limit once more */
		track->limited_in_row = 0;
	if (result == REGEX_NO_MATCH)
		return false;
	struct span text = groups[definition->value_group];
	if (!text.ptr)
		return false; /* an optional group: the line has no such value */
	track->health.matched++;
	run->has_match = true;
	*found = (struct found){.definition = (uint32_t)index};
	if (!number_parse(text, &found->value)) {
		track->health.not_numeric++;
		return false;
	}
	find_step(run, definition, segment, groups, found);
	return true;
}

static struct extracted *append(struct run *run, const struct found *found)
{
	struct extracted_list *out = run->out;
	int64_t shown = shown_time(run);

	if (!mem_grow((void **)&out->items, out->count, &out->cap, sizeof *out->items))
		return NULL;
	struct extracted *item = &out->items[out->count++];
	*item = (struct extracted){.definition = found->definition};
	item->point.value = found->value;
	item->point.line = run->line->number;
	item->point.ts_ms = shown != NO_TIME ? shown : run->arrival_ms;
	return item;
}

/* A definition with a step of its own: the step on the axis, which is then also that of its neighbours. */
static enum status place(struct run *run, const struct found *found, struct point *point, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct raw_step raw = {.value = found->step, .epoch = found->epoch, .has_epoch = found->has_epoch};

	raw.ts_ms = point->ts_ms;
	raw.line = point->line;
	return attempts_place(
		&extractor->attempts, &extractor->attempts.tracks[found->definition], &raw, &point->step, err);
}

/* Without one: the step seen last (on this line, or further up, as in a record of several lines), else the count. */
static void inherit(struct run *run, struct point *point, uint64_t count)
{
	const struct extractor *extractor = run->extractor;

	if (!extractor->attempts.has_step) {
		point->step = (int64_t)count;
		return;
	}
	point->step = extractor->last_step;
	if (shown_time(run) == NO_TIME && extractor->step_ts_ms != NO_TIME &&
		run->line->number - extractor->step_line <= RECORD_LINES)
		point->ts_ms = extractor->step_ts_ms;
}

/* All points of a segment carry the attempt that its steps led to. */
static enum status finish_segment(struct run *run, size_t count, struct error *err)
{
	struct extractor *extractor = run->extractor;
	size_t first = run->out->count;
	int64_t seen = 0;
	bool has_seen = false;

	for (size_t i = 0; i < count; i++) {
		struct extracted *item = append(run, &extractor->found[i]);
		if (!item)
			return error_set(err, ERR_MEMORY, "out of memory");
		if (!extractor->found[i].has_step)
			continue;
		TRY(place(run, &extractor->found[i], &item->point, err));
		seen = has_seen ? seen : item->point.step;
		has_seen = true;
	}
	if (has_seen) {
		extractor->last_step = seen;
		extractor->step_line = run->line->number;
		extractor->step_ts_ms = shown_time(run);
		extractor->attempts.has_hint = false;
	}
	for (size_t i = 0; i < count; i++) {
		struct extracted *item = &run->out->items[first + i];
		struct track *track = &extractor->attempts.tracks[item->definition];
		if (!extractor->found[i].has_step)
			inherit(run, &item->point, track->count);
		track->count++;
		item->point.attempt = extractor_attempt(extractor);
	}
	return OK;
}

static enum status extract_segment(struct run *run, struct span segment, struct error *err)
{
	struct extractor *extractor = run->extractor;
	size_t count = 0;

	if (run->set->is_preset_form && extractor->preset < 0) {
		extractor->preset = definition_set_detect(run->set, run->scratch, segment);
		run->list = definition_set_list(run->set, extractor->preset);
		if (!ensure_tracks(extractor, run->list->count))
			return error_set(err, ERR_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < run->list->count; i++)
		count += try_definition(run, i, segment, &extractor->found[count]);
	return count ? finish_segment(run, count, err) : OK;
}

/* Points that this very line had given to an attempt which it then took back. */
static void revise_own(struct run *run, size_t first)
{
	const struct attempts *attempts = &run->extractor->attempts;

	if (!attempts->revision.is_pending)
		return;
	for (size_t i = first; i < run->out->count; i++)
		if (run->out->items[i].point.attempt == attempts->revision.from)
			run->out->items[i].point.attempt = attempts->revision.to;
}

static enum status strip(struct run *run, struct error *err)
{
	struct buf *plain = &run->extractor->plain;

	buf_reset(plain);
	ansi_strip(run->line->text, plain);
	TRY(buf_status(plain, err));
	run->text = buf_span(plain);
	return OK;
}

enum status extract_line(struct extractor *extractor, const struct definition_set *set, struct regex_scratch *scratch,
	const struct extract_line *line, int64_t arrival_ms, struct extracted_list *out, struct error *err)
{
	struct run run = {extractor, set, .scratch = scratch, .line = line, .text = line->text,
		.arrival_ms = arrival_ms, .out = out};
	struct attempts *attempts = &extractor->attempts;
	size_t first = out->count;

	run.list = definition_set_list(set, extractor->preset);
	if (!ensure_tracks(extractor, run.list->count))
		return error_set(err, ERR_MEMORY, "out of memory");
	if (run.text.len && memchr(run.text.ptr, ESCAPE, run.text.len))
		TRY(strip(&run, err));
	if (run.text.len && memchr(run.text.ptr, '\r', run.text.len)) {
		struct span rest = run.text, segment;
		while (span_next(&rest, '\r', &segment))
			if (segment.len)
				TRY(extract_segment(&run, segment, err));
	} else if (run.text.len) {
		TRY(extract_segment(&run, run.text, err));
	}
	if (!run.has_match && attempts->has_step && !attempts->has_hint && line_is_start(run.text)) {
		attempts->has_hint = true;
		attempts->hint_line = line->number;
	}
	revise_own(&run, first);
	return OK;
}

bool extractor_take_revision(struct extractor *extractor, uint64_t *line, uint32_t *from, uint32_t *to)
{
	struct attempts *attempts = &extractor->attempts;

	if (!attempts->revision.is_pending)
		return false;
	attempts->revision.is_pending = false;
	*line = attempts->revision.line;
	*from = attempts->revision.from;
	*to = attempts->revision.to;
	return true;
}

bool extractor_is_undecided(const struct extractor *extractor)
{
	return extractor->attempts.trial.is_open;
}

uint32_t extractor_attempt(const struct extractor *extractor)
{
	return (uint32_t)extractor->attempts.start_count;
}

size_t extractor_attempt_starts(const struct extractor *extractor, const int64_t **starts)
{
	*starts = extractor->attempts.starts;
	return extractor->attempts.start_count;
}

int extractor_preset(const struct extractor *extractor)
{
	return extractor->preset;
}

struct definition_health extractor_health(const struct extractor *extractor, size_t definition)
{
	const struct attempts *attempts = &extractor->attempts;

	return definition < attempts->track_count ? attempts->tracks[definition].health : (struct definition_health){0};
}

void extractor_reset_definitions(struct extractor *extractor)
{
	extractor->preset = -1;
	extractor->attempts.trial.is_open = false;
	mem_free(extractor->attempts.tracks);
	extractor->attempts.tracks = NULL;
	extractor->attempts.track_count = 0;
}

void extractor_pack(const struct extractor *extractor, struct buf *out)
{
	pack_i64(out, extractor->preset);
	pack_i64(out, extractor->last_step);
	pack_u64(out, extractor->step_line);
	pack_i64(out, extractor->step_ts_ms);
	attempts_pack(&extractor->attempts, out);
}

enum status extractor_unpack(struct extractor **out, struct unpacker *in, struct error *err)
{
	AUTO(extractor) extractor = extractor_new();
	enum { PRESET_MAX = 1 << 16 };

	if (!extractor)
		return error_set(err, ERR_MEMORY, "out of memory");
	int64_t preset = unpack_i64(in);
	extractor->last_step = unpack_i64(in);
	extractor->step_line = unpack_u64(in);
	extractor->step_ts_ms = unpack_i64(in);
	if (in->has_failed || preset < -1 || preset > PRESET_MAX || extractor->last_step < -STEP_MAX ||
		extractor->last_step > STEP_MAX)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: steps");
	extractor->preset = (int)preset;
	TRY(attempts_unpack(&extractor->attempts, in, err));
	if (in->has_failed)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: counts");
	*out = extractor;
	extractor = NULL;
	return OK;
}
