#include "extract/format.h"

#include "model/metrics/batch.h"

enum {
	OUTWEIGHS_FACTOR = 8,
	OUTWEIGHS_LINES = 8,
	GAP_FADES = 64,
	GONE_LINES = 1000,
	GONE_FACTOR = 8,
	ENDED_LINES = 64,
	ENDED_FACTOR = 4
};

void formats_init(struct formats *formats)
{
	*formats = (struct formats){0};
}

static void free_format(struct format *format)
{
	buf_done(&format->name);
	mem_free(format);
}

void formats_done(struct formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		free_format(formats->items[i]);
	mem_free(formats->memo);
	*formats = (struct formats){0};
}

struct format *formats_find(const struct formats *formats, int preset)
{
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i]->preset == preset)
			return formats->items[i];
	return NULL;
}

static void remove_at(struct formats *formats, size_t index)
{
	free_format(formats->items[index]);
	formats->count--;
	memmove(&formats->items[index], &formats->items[index + 1],
		(formats->count - index) * sizeof formats->items[0]);
}

void formats_remove(struct formats *formats, int preset)
{
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i]->preset == preset) {
			remove_at(formats, i);
			return;
		}
}

static size_t count_of_kind(const struct formats *formats, bool is_generic)
{
	size_t count = 0;

	for (size_t i = 0; i < formats->count; i++)
		count += formats->items[i]->is_generic == is_generic;
	return count;
}

static bool is_full(const struct formats *formats, bool is_generic)
{
	size_t most = is_generic ? FORMATS_MAX - FORMATS_SPECIFIC_MAX : FORMATS_SPECIFIC_MAX;

	return count_of_kind(formats, is_generic) >= most;
}

/* Of two, the one that was silent for longer. */
struct format *formats_least(const struct formats *formats, bool is_generic)
{
	struct format *least = NULL;

	for (size_t i = 0; i < formats->count && is_full(formats, is_generic); i++) {
		struct format *format = formats->items[i];
		if (format->is_generic != is_generic)
			continue;
		if (!least || format->taken < least->taken ||
			(format->taken == least->taken && format->last_line < least->last_line))
			least = format;
	}
	return least;
}

static struct format *new_format(int preset, bool is_generic)
{
	struct format *format = mem_zeroed(sizeof *format);

	if (!format)
		return NULL;
	format->preset = preset;
	format->is_generic = is_generic;
	format->taken_over = -1;
	format->step.ts_ms = NO_TIME;
	format->name = BUF_INIT(METRIC_NAME_MAX_BYTES);
	for (size_t i = 0; i < RIVALS_MAX; i++)
		format->rivals[i].preset = -1;
	return format;
}

struct format *formats_add(struct formats *formats, int preset, bool is_generic)
{
	struct format *format = is_full(formats, is_generic) ? NULL : new_format(preset, is_generic);

	if (!format)
		return NULL;
	size_t at = is_generic ? formats->count : count_of_kind(formats, false);
	memmove(&formats->items[at + 1], &formats->items[at], (formats->count - at) * sizeof formats->items[0]);
	formats->items[at] = format;
	formats->count++;
	format->since = formats->lines;
	return format;
}

bool format_outweighs(const struct format *format, const struct format *other)
{
	return format->taken / OUTWEIGHS_FACTOR >= other->taken + OUTWEIGHS_LINES / OUTWEIGHS_FACTOR;
}

static size_t index_of(const struct formats *formats, const struct format *format)
{
	size_t index = 0;

	while (index < formats->count && formats->items[index] != format)
		index++;
	return index;
}

static void move(struct formats *formats, size_t from, size_t to)
{
	struct format *format = formats->items[from];

	memmove(&formats->items[to + 1], &formats->items[to], (from - to) * sizeof formats->items[0]);
	formats->items[to] = format;
}

void formats_put_before(struct formats *formats, const struct format *format, const struct format *other)
{
	size_t from = index_of(formats, format), to = index_of(formats, other);

	if (from < formats->count && to < from)
		move(formats, from, to);
}

/* One place ahead at a time. */
static void rise(struct formats *formats, const struct format *format)
{
	size_t index = index_of(formats, format);

	if (index == 0 || index >= formats->count)
		return;
	const struct format *ahead = formats->items[index - 1];
	if (ahead->is_generic == format->is_generic && ahead->taken_over != format->preset &&
		format_outweighs(format, ahead))
		move(formats, index, index - 1);
}

static void take_sample(struct format *format, struct span text)
{
	size_t len = text.len < FORMAT_SAMPLE_BYTES ? text.len : FORMAT_SAMPLE_BYTES;

	while (len && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
		len--; /* not in the middle of a character */
	if (len)
		memcpy(format->sample, text.ptr, len);
	format->sample_len = (uint8_t)len;
}

/* Those that only wait for a value are asked behind those that took one. */
static void pass_waiting(struct formats *formats, const struct format *format)
{
	for (size_t i = 0; formats->items[i] != format; i++)
		if (formats->items[i]->is_generic == format->is_generic && formats->items[i]->taken == 0) {
			formats_put_before(formats, format, formats->items[i]);
			return;
		}
}

void formats_note(struct formats *formats, struct format *format, struct span text, uint64_t line)
{
	if (format->taken == 0) {
		take_sample(format, text);
		pass_waiting(formats, format);
	} else if (line > format->last_line) {
		uint64_t gap = line - format->last_line, faded = format->gap_lines - format->gap_lines / GAP_FADES;
		format->gap_lines = gap > faded ? gap : faded;
	}
	format->last_line = line;
	format->taken++;
	rise(formats, format);
}

/* Longer ago than it ever was of late. */
static bool is_silent(const struct format *format, uint64_t line, uint64_t lines, uint64_t factor)
{
	return line > format->last_line && line - format->last_line > lines + factor * format->gap_lines;
}

bool format_has_ended(const struct format *format, uint64_t line)
{
	return is_silent(format, line, ENDED_LINES, ENDED_FACTOR);
}

bool formats_speaks(const struct formats *formats, const struct format *format)
{
	return format->taken > 0 || format->preset < 0 || formats->lines == 0;
}

static uint64_t newest_line(const struct formats *formats)
{
	uint64_t line = 0;

	for (size_t i = 0; i < formats->count; i++)
		line = formats->items[i]->last_line > line ? formats->items[i]->last_line : line;
	return line;
}

struct format *formats_leader(const struct formats *formats)
{
	struct format *leader = NULL;
	uint64_t line = newest_line(formats);

	for (size_t i = 0; i < formats->count; i++) {
		struct format *format = formats->items[i];
		if (!formats_speaks(formats, format) || is_silent(format, line, GONE_LINES, GONE_FACTOR))
			continue;
		bool is_less = leader && (format->is_generic == leader->is_generic ? format->taken <= leader->taken
										   : !format_outweighs(format, leader));
		if (!is_less)
			leader = format;
	}
	return leader;
}

void formats_reason(const struct formats *formats, const struct format *format, struct buf *out)
{
	if (formats->lines == 0) {
		buf_append_span(out, SPAN("asked for by name"));
		return;
	}
	buf_printf(out, "matched %llu of the first %llu lines: '%.*s'", (unsigned long long)format->taken,
		(unsigned long long)formats->lines, (int)format->sample_len, format->sample);
}
