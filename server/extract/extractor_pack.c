/*
 * The state of a stream's extraction as bytes. The first number was the preset (-1 or more) before there were versions; now
 * it is -2, and the version follows.
 */
#include "extract/line/number.h"
#include "extract/state.h"

/*
 * Up to VERSION_COUNTED steps of definitions without one were counted; up to VERSION_GAPLESS gaps between steps
 * were not known, up to VERSION_UNTRUSTING nothing of prefixes.
 */
enum { MARK = -2, VERSION_COUNTED = 2, VERSION_GAPLESS = 3, VERSION_UNTRUSTING = 4, VERSION = 5 };

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

void extractor_pack(struct extractor *extractor, struct buf *out)
{
	extractor_settle_tried(extractor);
	pack_i64(out, MARK);
	pack_u64(out, VERSION);
	choice_pack(&extractor->choice, out);
	pack_u64(out, extractor->is_guided);
	choice_pack(&extractor->guide, out);
	pack_u64(out, extractor->first_slot);
	pack_u64(out, extractor->definition_count);
	pack_i64(out, extractor->last_step);
	pack_i64(out, extractor->last_raw_step);
	pack_u64(out, extractor->step_line);
	pack_i64(out, extractor->step_ts_ms);
	pack_i64(out, extractor->largest_total);
	pack_i64(out, extractor->bare_rank);
	pack_u64(out, extractor->is_srun);
	pack_span(out, buf_span(&extractor->name));
	pack_span(out, buf_span(&extractor->header));
	pack_u64(out, extractor->recent_count);
	pack_span(out, buf_span(&extractor->recent));
	attempts_pack(&extractor->attempts, out);
	slots_pack(&extractor->slots, out);
	pack_held(extractor, out);
	prefix_memory_pack(&extractor->prefixes, out);
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

/* Written before there were versions: a track for each definition, no series of their own. */
static enum status unpack_first(struct extractor *extractor, int64_t preset, struct unpacker *in, struct error *err)
{
	extractor->last_step = unpack_i64(in);
	extractor->step_line = unpack_u64(in);
	extractor->step_ts_ms = unpack_i64(in);
	if (in->has_failed || preset < -1 || preset >= PRESETS_MAX || !is_step(extractor->last_step))
		return damaged(err, "steps");
	extractor->is_guided = false;
	extractor->choice.preset = (int)preset;
	extractor->choice.lines = preset >= 0 ? CHOICE_LINES : 0;
	extractor->last_raw_step = extractor->last_step;
	TRY(attempts_unpack(&extractor->attempts, ATTEMPTS_FIRST, in, err));
	extractor->definition_count = extractor->attempts.track_count;
	return slots_add_definitions(&extractor->slots, (int32_t)preset, extractor->definition_count)
		       ? OK
		       : error_no_memory(err);
}

static bool has_recent(const struct extractor *extractor)
{
	struct span text = buf_span(&extractor->recent);
	size_t lines = 0;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	return !extractor->recent.failure && lines == extractor->recent_count && lines <= RECENT_MAX &&
	       (text.len == 0 || text.ptr[text.len - 1] == '\n');
}

static enum status unpack_second(struct extractor *extractor, uint64_t version, struct unpacker *in, struct error *err)
{
	choice_unpack(&extractor->choice, in);
	extractor->is_guided = version > VERSION_COUNTED && unpack_u64(in) != 0;
	if (version > VERSION_COUNTED)
		choice_unpack(&extractor->guide, in);
	uint64_t first = unpack_u64(in), count = unpack_u64(in);
	extractor->last_step = unpack_i64(in);
	extractor->last_raw_step = unpack_i64(in);
	extractor->step_line = unpack_u64(in);
	extractor->step_ts_ms = unpack_i64(in);
	extractor->largest_total = unpack_i64(in);
	int64_t rank = unpack_i64(in);
	extractor->bare_rank = rank >= RANK_NONE && rank < RANK_MAX ? (int32_t)rank : RANK_NONE;
	extractor->is_srun = unpack_u64(in) != 0;
	buf_append_span(&extractor->name, unpack_span(in));
	buf_append_span(&extractor->header, unpack_span(in));
	extractor->recent_count = (uint32_t)unpack_count(in, 0);
	buf_append_span(&extractor->recent, unpack_span(in));
	if (extractor->name.failure == ERR_MEMORY || extractor->header.failure == ERR_MEMORY ||
		extractor->recent.failure == ERR_MEMORY)
		return error_no_memory(err);
	if (in->has_failed || extractor->name.failure || extractor->header.failure || !has_recent(extractor) ||
		!is_step(extractor->last_step) || !is_step(extractor->last_raw_step))
		return damaged(err, "steps");
	enum attempts_form form = version > VERSION_GAPLESS   ? ATTEMPTS_WITH_GAPS
				  : version > VERSION_COUNTED ? ATTEMPTS_WITH_PLACES
							      : ATTEMPTS_FIRST;
	TRY(attempts_unpack(&extractor->attempts, form, in, err));
	TRY(slots_unpack(&extractor->slots, in, err));
	size_t slots = extractor->slots.count;
	if (slots != extractor->attempts.track_count || first > slots || count > slots - first ||
		count > DEFINITIONS_MAX)
		return damaged(err, "series");
	extractor->first_slot = (uint32_t)first;
	extractor->definition_count = count;
	TRY(unpack_held(extractor, in, err));
	if (version > VERSION_UNTRUSTING)
		prefix_memory_unpack(&extractor->prefixes, in);
	return in->has_failed ? damaged(err, "prefixes") : OK;
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
