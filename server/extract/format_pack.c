/* The formats of a stream as bytes. */
#include "extract/format.h"
#include "extract/line/number.h"

static bool is_step(int64_t step)
{
	return step >= -STEP_MAX && step <= STEP_MAX;
}

void step_seen_pack(const struct step_seen *seen, struct buf *out)
{
	pack_u64(out, seen->is_there);
	pack_i64(out, seen->step);
	pack_i64(out, seen->raw);
	pack_u64(out, seen->line);
	pack_i64(out, seen->ts_ms);
}

void step_seen_unpack(struct step_seen *seen, struct unpacker *in)
{
	uint64_t is_there = unpack_u64(in);

	seen->is_there = is_there == 1;
	seen->step = unpack_i64(in);
	seen->raw = unpack_i64(in);
	seen->line = unpack_u64(in);
	seen->ts_ms = unpack_i64(in);
	in->has_failed |= is_there > 1 || !is_step(seen->step) || !is_step(seen->raw);
}

static enum status damaged(struct error *err)
{
	return error_set(err, ERR_INVALID, "the state of an extractor is damaged: formats");
}

static void pack_format(const struct format *format, struct buf *out)
{
	pack_i64(out, format->preset);
	pack_u64(out, format->is_generic);
	pack_i64(out, format->taken_over);
	pack_u64(out, format->first_slot);
	pack_u64(out, format->definition_count);
	pack_u64(out, format->since);
	pack_u64(out, format->taken);
	pack_u64(out, format->without_value);
	pack_u64(out, format->last_line);
	pack_u64(out, format->gap_lines);
	for (size_t i = 0; i < RIVALS_MAX; i++) {
		pack_i64(out, format->rivals[i].preset);
		pack_u64(out, format->rivals[i].more);
		pack_u64(out, format->rivals[i].fewer);
	}
	pack_span(out, span_of(format->sample, format->sample_len));
	pack_span(out, buf_span(&format->name));
	step_seen_pack(&format->step, out);
}

void formats_pack(const struct formats *formats, struct buf *out)
{
	pack_u64(out, formats->lines);
	pack_u64(out, formats->count);
	for (size_t i = 0; i < formats->count; i++)
		pack_format(formats->items[i], out);
}

/* A number of a preset; -1: none. */
static int unpack_preset(struct unpacker *in)
{
	int64_t preset = unpack_i64(in);

	in->has_failed |= preset < -1 || preset >= PRESETS_MAX;
	return in->has_failed ? -1 : (int)preset;
}

static uint32_t unpack_u32(struct unpacker *in)
{
	uint64_t value = unpack_u64(in);

	in->has_failed |= value > UINT32_MAX;
	return (uint32_t)value;
}

static void unpack_sample(struct format *format, struct unpacker *in)
{
	struct span sample = unpack_span(in);

	in->has_failed |= sample.len > FORMAT_SAMPLE_BYTES;
	if (in->has_failed || sample.len == 0)
		return;
	memcpy(format->sample, sample.ptr, sample.len);
	format->sample_len = (uint8_t)sample.len;
}

static void unpack_figures(struct format *format, struct unpacker *in)
{
	format->taken_over = unpack_preset(in);
	format->first_slot = unpack_u32(in);
	uint64_t count = unpack_u64(in);
	in->has_failed |= count > DEFINITIONS_MAX;
	format->definition_count = (size_t)count;
	format->since = unpack_u64(in);
	format->taken = unpack_u64(in);
	format->without_value = unpack_u32(in);
	format->last_line = unpack_u64(in);
	format->gap_lines = unpack_u64(in);
	for (size_t i = 0; i < RIVALS_MAX; i++) {
		format->rivals[i].preset = unpack_preset(in);
		format->rivals[i].more = unpack_u32(in);
		format->rivals[i].fewer = unpack_u32(in);
	}
	unpack_sample(format, in);
}

static enum status unpack_format(struct formats *formats, struct unpacker *in, struct error *err)
{
	int preset = unpack_preset(in);
	uint64_t is_generic = unpack_u64(in);

	if (in->has_failed || is_generic > 1 || formats_find(formats, preset) || formats_least(formats, is_generic))
		return damaged(err);
	struct format *format = formats_add(formats, preset, is_generic);
	if (!format)
		return error_no_memory(err);
	unpack_figures(format, in);
	buf_append_span(&format->name, unpack_span(in));
	step_seen_unpack(&format->step, in);
	if (format->name.failure == ERR_MEMORY)
		return error_no_memory(err);
	if (in->has_failed || format->name.failure)
		return damaged(err);
	return OK;
}

enum status formats_unpack(struct formats *formats, struct unpacker *in, struct error *err)
{
	formats->lines = unpack_u64(in);
	size_t count = unpack_count(in, 1);
	if (in->has_failed || count > FORMATS_MAX)
		return damaged(err);
	for (size_t i = 0; i < count; i++)
		TRY(unpack_format(formats, in, err));
	return OK;
}

void formats_pack_totals(const struct formats *formats, struct buf *out)
{
	for (size_t i = 0; i < formats->count; i++)
		pack_i64(out, formats->items[i]->said_total);
}

void formats_unpack_totals(struct formats *formats, struct unpacker *in)
{
	for (size_t i = 0; i < formats->count; i++) {
		int64_t total = unpack_i64(in);
		in->has_failed |= total < 0;
		formats->items[i]->said_total = total;
	}
}

enum status formats_unpack_choice(struct formats *formats, struct unpacker *in, struct format **out, struct error *err)
{
	int preset = unpack_preset(in);
	uint64_t revised = unpack_u64(in), lines = unpack_u64(in), chosen_at = unpack_u64(in), taken = 1;
	size_t count = unpack_count(in, 1);

	*out = NULL;
	in->has_failed |= revised > 1 || lines > UINT32_MAX || chosen_at > lines || count > PRESETS_MAX;
	for (size_t i = 0; i < count && !in->has_failed; i++) {
		uint64_t hits = unpack_u64(in);
		in->has_failed |= hits > UINT16_MAX;
		if ((int)i == preset && hits)
			taken = hits;
	}
	formats->lines = lines;
	if (in->has_failed)
		return damaged(err);
	if (preset < 0) {
		in->has_failed |= unpack_span(in).len > FORMAT_SAMPLE_BYTES;
		return OK;
	}
	if (!(*out = formats_add(formats, preset, false)))
		return error_no_memory(err);
	(*out)->taken = taken;
	unpack_sample(*out, in);
	return OK;
}
