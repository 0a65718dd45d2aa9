/*
 * The state of a stream's extraction as bytes. The first number was the preset (-1 or more) before there were versions; now
 * it is -2, and the version follows.
 */
#include "extract/line/number.h"
#include "extract/state.h"

/*
 * Up to VERSION_COUNTED steps of definitions without one were counted; up to VERSION_GAPLESS gaps between steps were not known;
 * up to VERSION_CHOSEN a stream had one preset at most; up to VERSION_UNTRUSTING nothing was known of its prefixes;
 * up to VERSION_GULLIBLE any larger progress bar was the training's at once.
 */
enum {
	MARK = -2,
	VERSION_COUNTED = 2,
	VERSION_GAPLESS = 3,
	VERSION_CHOSEN = 4,
	VERSION_UNTRUSTING = 5,
	VERSION_GULLIBLE = 6,
	VERSION_FORGETFUL = 7, /* of what any line is read by */
	VERSION_LINE_BY_LINE = 8, /* no records over several lines, no lines in parts */
	VERSION_NAMES_ALONE = 9, /* of what any line is read by, nothing about counters */
	VERSION_LINES_ALONE = 10, /* points that were sent as such opened no attempts */
	VERSION_WITHOUT_TOTALS = 11, /* what lines said of the number of the run's steps */
	VERSION_WITHOUT_TIMES = 12, /* when attempts began */
	VERSION_WITH_ONE_BEGINNING = 13, /* of the attempts of sent points: the last one's */
	VERSION = 14
};

static void pack_held(const struct extractor *extractor, struct buf *out)
{
	pack_u64(out, extractor->held_count);
	for (size_t i = 0; i < extractor->held_count; i++) {
		const struct held *held = &extractor->held[i];
		pack_u64(out, held->slot);
		pack_u64(out, held->waits_for_step);
		pack_i64(out, held->point.step);
		pack_i64(out, held->point.ts_ms);
		pack_double(out, held->point.value);
		pack_u64(out, held->point.line);
		pack_u64(out, held->point.attempt);
	}
}

/* What is only known where it was watched for: in older states the bits are 0. */
enum { LABELS_ARE_RANKS = 1, LABELS_ONLY_RISE = 8, LABELS_ARE_SURELY = 16 };

static void pack_labels(const struct extractor *extractor, struct buf *out)
{
	pack_u64(out, (extractor->is_srun ? LABELS_ARE_RANKS : 0) | (extractor->has_fallen ? 0 : LABELS_ONLY_RISE) |
			      (extractor->is_surely_srun ? LABELS_ARE_SURELY : 0));
}

static void unpack_labels(struct extractor *extractor, struct unpacker *in)
{
	uint64_t labels = unpack_u64(in);

	extractor->is_srun = labels & LABELS_ARE_RANKS;
	extractor->has_fallen = !(labels & LABELS_ONLY_RISE);
	extractor->is_surely_srun = labels & LABELS_ARE_SURELY;
}

void extractor_pack(struct extractor *extractor, struct buf *out)
{
	struct formats *formats = &extractor->formats;

	for (size_t i = 0; i < formats->count; i++)
		format_settle_tried(formats->items[i], extractor_tracks(extractor, formats->items[i]));
	pack_i64(out, MARK);
	pack_u64(out, VERSION);
	formats_pack(formats, out);
	pack_u64(out, extractor->is_guided);
	formats_pack(&extractor->guide, out);
	step_seen_pack(&extractor->step, out);
	pack_i64(out, extractor->bars.largest);
	pack_i64(out, extractor->bare_rank);
	pack_labels(extractor, out);
	pack_span(out, buf_span(&extractor->header));
	pack_u64(out, extractor->recent_count);
	pack_span(out, extractor_recent(extractor));
	attempts_pack(&extractor->attempts, out);
	slots_pack(&extractor->slots, out);
	pack_held(extractor, out);
	prefix_memory_pack(&extractor->prefixes, out);
	bars_pack(&extractor->bars, out);
	generic_memory_pack(&extractor->generic, out);
	records_pack(&extractor->records, out);
	partials_pack(&extractor->partials, out);
	sent_pack(&extractor->sent, out);
	formats_pack_totals(formats, out);
	attempts_pack_times(&extractor->attempts, out);
	attempts_pack_sent(&extractor->attempts, out);
}

static bool is_step(int64_t step)
{
	return step >= -STEP_MAX && step <= STEP_MAX;
}

static enum status damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_INVALID, "the state of an extractor is damaged: %s", what);
}

static enum status unpack_held(struct extractor *extractor, struct unpacker *in, struct error *err)
{
	size_t count = unpack_count(in, 1);

	if (in->has_failed || count > HELD_MAX)
		return damaged(err, "waiting points");
	for (size_t i = 0; i < count; i++) {
		struct held held = {0};
		uint64_t slot = unpack_u64(in), waits = unpack_u64(in);
		held.slot = (uint32_t)slot;
		held.waits_for_step = waits;
		held.point.step = unpack_i64(in);
		held.point.ts_ms = unpack_i64(in);
		held.point.value = unpack_double(in);
		held.point.line = unpack_u64(in);
		held.point.attempt = (uint32_t)unpack_u64(in);
		if (in->has_failed || slot >= extractor->slots.count || waits > 1 || !is_step(held.point.step))
			return damaged(err, "waiting points");
		if (!mem_grow((void **)&extractor->held, extractor->held_count, &extractor->held_cap,
			    sizeof *extractor->held))
			return error_no_memory(err);
		extractor->held[extractor->held_count++] = held;
	}
	return OK;
}

/* The only format of a state of before, and where it stood. */
static void take_only(
	struct extractor *extractor, struct format *format, const struct step_seen *step, uint64_t first, size_t count)
{
	format->first_slot = (uint32_t)first;
	format->definition_count = count;
	format->last_line = step->line;
	format->step = extractor->step = *step;
}

/* Written before there were versions: a track for each definition, no series of their own. */
static enum status unpack_first(struct extractor *extractor, int64_t preset, struct unpacker *in, struct error *err)
{
	struct step_seen step = {.is_there = true};

	step.step = step.raw = unpack_i64(in);
	step.line = unpack_u64(in);
	step.ts_ms = unpack_i64(in);
	if (in->has_failed || preset < -1 || preset >= PRESETS_MAX || !is_step(step.step))
		return damaged(err, "steps");
	extractor->is_guided = false;
	TRY(attempts_unpack(&extractor->attempts, ATTEMPTS_FIRST, in, err));
	step.is_there = extractor->attempts.has_step;
	size_t count = extractor->attempts.track_count;
	if (count > DEFINITIONS_MAX)
		return damaged(err, "definitions");
	if (!slots_add_definitions(&extractor->slots, (int32_t)preset, count))
		return error_no_memory(err);
	if (count == 0 && preset < 0)
		return OK;
	struct format *format = formats_add(&extractor->formats, (int)preset, false);
	if (!format)
		return error_no_memory(err);
	extractor->formats.lines = format->taken = 1;
	take_only(extractor, format, &step, 0, count);
	return OK;
}

static bool has_recent(const struct extractor *extractor)
{
	struct span text = buf_span(&extractor->recent);
	size_t lines = 0;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	return !extractor->recent.failure && lines == extractor->recent_count && lines <= RECENT_MAX &&
	       text.len <= RECENT_BYTES && (text.len == 0 || text.ptr[text.len - 1] == '\n');
}

/* One preset at most, and its name and step those of the stream. */
struct chosen {
	struct format *format; /* NULL: none is known yet */
	struct step_seen step;
	uint64_t first;
	uint64_t count;
	struct span name;
};

static enum status unpack_chosen(
	struct extractor *extractor, uint64_t version, struct unpacker *in, struct chosen *chosen, struct error *err)
{
	struct format *guide;

	*chosen = (struct chosen){0};
	TRY(formats_unpack_choice(&extractor->formats, in, &chosen->format, err));
	extractor->is_guided = version > VERSION_COUNTED && unpack_u64(in) != 0;
	if (version > VERSION_COUNTED)
		TRY(formats_unpack_choice(&extractor->guide, in, &guide, err));
	chosen->first = unpack_u64(in);
	chosen->count = unpack_u64(in);
	chosen->step.step = unpack_i64(in);
	chosen->step.raw = unpack_i64(in);
	chosen->step.line = unpack_u64(in);
	chosen->step.ts_ms = unpack_i64(in);
	if (in->has_failed || !is_step(chosen->step.step) || !is_step(chosen->step.raw))
		return damaged(err, "steps");
	return OK;
}

static enum status place_chosen(struct extractor *extractor, struct chosen *chosen, struct error *err)
{
	size_t slots = extractor->slots.count;

	if (chosen->first > slots || chosen->count > slots - chosen->first || chosen->count > DEFINITIONS_MAX)
		return damaged(err, "series");
	chosen->step.is_there = extractor->attempts.has_step;
	extractor->step = chosen->step;
	if (!chosen->format && chosen->count && !(chosen->format = formats_add(&extractor->formats, -1, false)))
		return error_no_memory(err);
	if (!chosen->format)
		return OK;
	buf_append_span(&chosen->format->name, chosen->name);
	if (chosen->format->name.failure == ERR_MEMORY)
		return error_no_memory(err);
	if (chosen->format->name.failure)
		return damaged(err, "series");
	take_only(extractor, chosen->format, &chosen->step, chosen->first, (size_t)chosen->count);
	return OK;
}

/* Numbers of slots, of series of which there may be more than one owner. */
static enum status check_formats(struct extractor *extractor, bool is_chosen, struct error *err)
{
	const struct formats *formats = &extractor->formats;
	const struct slots *slots = &extractor->slots;

	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i]->first_slot > slots->count ||
			formats->items[i]->definition_count > slots->count - formats->items[i]->first_slot)
			return damaged(err, "formats");
	for (size_t i = 0; i < slots->count; i++) {
		struct slot *slot = &extractor->slots.items[i];
		extractor->has_several |= slot->preset != slots->items[0].preset;
		slot->is_settled |= is_chosen && extractor->attempts.tracks[i].count > 0;
	}
	return OK;
}

static enum status unpack_lines(
	struct extractor *extractor, struct unpacker *in, struct chosen *chosen, struct error *err)
{
	extractor->bars.largest = unpack_i64(in);
	int64_t rank = unpack_i64(in);
	extractor->bare_rank = rank >= RANK_NONE && rank < RANK_MAX ? (int32_t)rank : RANK_NONE;
	unpack_labels(extractor, in);
	if (chosen)
		chosen->name = unpack_span(in);
	buf_append_span(&extractor->header, unpack_span(in));
	extractor->recent_count = (uint32_t)unpack_count(in, 0);
	buf_append_span(&extractor->recent, unpack_span(in));
	if (extractor->header.failure == ERR_MEMORY || extractor->recent.failure == ERR_MEMORY)
		return error_no_memory(err);
	if (in->has_failed || extractor->header.failure || !has_recent(extractor))
		return damaged(err, "lines");
	return OK;
}

static enum status unpack_records(struct extractor *extractor, struct unpacker *in, struct error *err)
{
	records_unpack(&extractor->records, in);
	if (partials_unpack(&extractor->partials, in))
		return OK;
	for (size_t i = 0; i < PARTIAL_OUTPUTS; i++)
		if (extractor->partials.outputs[i].text.failure == ERR_MEMORY)
			return error_no_memory(err);
	return damaged(err, "lines in parts");
}

static enum status unpack_second(struct extractor *extractor, uint64_t version, struct unpacker *in, struct error *err)
{
	bool is_chosen = version <= VERSION_CHOSEN;
	struct chosen chosen;

	if (is_chosen) {
		TRY(unpack_chosen(extractor, version, in, &chosen, err));
	} else {
		TRY(formats_unpack(&extractor->formats, in, err));
		extractor->is_guided = unpack_u64(in) != 0;
		TRY(formats_unpack(&extractor->guide, in, err));
		step_seen_unpack(&extractor->step, in);
	}
	TRY(unpack_lines(extractor, in, is_chosen ? &chosen : NULL, err));
	enum attempts_form form = version > VERSION_GAPLESS   ? ATTEMPTS_WITH_GAPS
				  : version > VERSION_COUNTED ? ATTEMPTS_WITH_PLACES
							      : ATTEMPTS_FIRST;
	TRY(attempts_unpack(&extractor->attempts, form, in, err));
	TRY(slots_unpack(&extractor->slots, !is_chosen, in, err));
	if (extractor->slots.count != extractor->attempts.track_count)
		return damaged(err, "series");
	if (is_chosen)
		TRY(place_chosen(extractor, &chosen, err));
	TRY(check_formats(extractor, is_chosen, err));
	TRY(unpack_held(extractor, in, err));
	if (version > VERSION_UNTRUSTING)
		prefix_memory_unpack(&extractor->prefixes, in);
	if (version > VERSION_GULLIBLE)
		bars_unpack(&extractor->bars, in);
	if (version > VERSION_FORGETFUL)
		generic_memory_unpack(&extractor->generic, version > VERSION_NAMES_ALONE, in);
	if (version > VERSION_LINE_BY_LINE)
		TRY(unpack_records(extractor, in, err));
	if (version > VERSION_LINES_ALONE)
		sent_unpack(&extractor->sent, version > VERSION_WITH_ONE_BEGINNING ? NULL : &extractor->attempts, in);
	if (version > VERSION_WITHOUT_TOTALS)
		formats_unpack_totals(&extractor->formats, in);
	if (version > VERSION_WITHOUT_TIMES)
		attempts_unpack_times(&extractor->attempts, in);
	if (version > VERSION_WITH_ONE_BEGINNING)
		attempts_unpack_sent(&extractor->attempts, in);
	return in->has_failed ? damaged(err, "prefixes or bars") : OK;
}

static enum status unpack_versioned(struct extractor *extractor, struct unpacker *in, struct error *err)
{
	uint64_t version = unpack_u64(in);

	if (version < VERSION_COUNTED || version > VERSION)
		return damaged(err, "its version is not known here");
	return unpack_second(extractor, version, in, err);
}

enum status extractor_unpack(struct extractor **out, struct unpacker *in, struct error *err)
{
	AUTO(extractor) extractor = extractor_new();

	if (!extractor)
		return error_no_memory(err);
	int64_t preset = unpack_i64(in);
	if (preset != MARK)
		TRY(unpack_first(extractor, preset, in, err));
	else
		TRY(unpack_versioned(extractor, in, err));
	if (in->has_failed)
		return damaged(err, "counts");
	*out = TAKE(extractor);
	return OK;
}
