#include "read/logs/search.h"
#include "read/logs/search_pool.h"

#include <stdlib.h>

struct search_found {
	size_t index;
	struct line line;
};

static const int64_t HISTOGRAM_END = (int64_t)1 << 56;

static int64_t floor_divide(int64_t value, int64_t by)
{
	return value / by - (value % by < 0);
}

static void double_width(struct histogram *h)
{
	int64_t first = floor_divide(h->first, 2);

	for (size_t i = 0; i < h->count; i++) {
		uint64_t count = h->counts[i];
		h->counts[i] = 0;
		h->counts[floor_divide(h->first + (int64_t)i, 2) - first] += count;
	}
	h->count = h->count ? (size_t)(floor_divide(h->first + (int64_t)h->count - 1, 2) - first) + 1 : 0;
	h->first = first;
	h->width *= 2;
}

void histogram_add(struct histogram *h, int64_t value, uint64_t added)
{
	/* Far from any time that is meant, near the numbers' end: still to be counted. */
	value = value > HISTOGRAM_END ? HISTOGRAM_END : value < -HISTOGRAM_END ? -HISTOGRAM_END : value;
	for (;;) {
		int64_t at = floor_divide(value, h->width);
		if (h->count && at >= h->first && at - h->first < (int64_t)h->count) {
			h->counts[at - h->first] += added;
			return;
		}
		int64_t first = h->count && h->first < at ? h->first : at;
		int64_t last =
			h->count && h->first + (int64_t)h->count - 1 > at ? h->first + (int64_t)h->count - 1 : at;
		if (last - first >= (int64_t)h->most) {
			double_width(h);
			continue;
		}
		size_t count = (size_t)(last - first) + 1, shift = h->count ? (size_t)(h->first - first) : 0;
		memmove(h->counts + shift, h->counts, h->count * sizeof *h->counts);
		memset(h->counts, 0, shift * sizeof *h->counts);
		h->first = first;
		h->count = count;
		h->counts[at - first] += added;
		return;
	}
}

bool search_place_precedes(const struct searching *s, const struct log_place *a, const struct log_place *b)
{
	return s->search->oldest_first ? log_place_is_before(a, b) : log_place_is_before(b, a);
}

bool search_is_full_before(struct searching *s, int64_t ts_ms)
{
	if (s->best_count < s->best_cap || !s->best_cap)
		return false;
	int64_t worst = s->best[s->best_count - 1]->place.ts_ms;
	return s->search->oldest_first ? ts_ms > worst : ts_ms < worst;
}

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* A window on a long line, the first match a quarter in; characters stay whole. */
static struct span window(const struct searching *s, struct span line, size_t match_start, size_t *from)
{
	size_t room = s->search->text_bytes, start = match_start > room / 4 ? match_start - room / 4 : 0;

	if (line.len <= room) {
		*from = 0;
		return line;
	}
	if (start > line.len - room)
		start = line.len - room;
	size_t end = start + room;
	while (start && start < match_start && is_continuation(line.ptr[start]))
		start++;
	while (end < line.len && end > start + 1 && is_continuation(line.ptr[end]))
		end--;
	*from = start;
	return span_of(line.ptr + start, end - start);
}

static void find_ranges(const struct searching *s, struct search_hand *hand, struct span line, struct log_hit *hit)
{
	size_t from = 0, start = 0, end = 0, window_end = hit->text_from + hit->text.len;

	while (s->search->text.len && hit->range_count < LOG_HIT_RANGES &&
		log_matcher_range(s->matcher, hand->scratch, line, from, &start, &end)) {
		from = end > start ? end : start + 1;
		if (start >= window_end)
			return;
		if (end == start || start < hit->text_from)
			continue;
		size_t *range = hit->ranges[hit->range_count++];
		range[0] = start - hit->text_from;
		range[1] = (end < window_end ? end : window_end) - hit->text_from;
	}
}

static struct log_hit *make_hit(
	const struct searching *s, struct search_hand *hand, const struct log_place *place, const struct line *line)
{
	size_t start = 0, end = 0, from;

	if (!log_matcher_range(s->matcher, hand->scratch, line->text, 0, &start, &end))
		start = 0;
	struct span part = window(s, line->text, start, &from);
	struct log_hit *hit = mem_alloc(sizeof *hit + part.len);
	if (!hit)
		return NULL;
	if (part.len)
		memcpy(hit + 1, part.ptr, part.len);
	*hit = (struct log_hit){.place = *place,
		.text = span_of((const char *)(hit + 1), part.len),
		.text_from = from,
		.is_cut = part.len < line->text.len || line->flags & LINE_CUT};
	find_ranges(s, hand, line->text, hit);
	return hit;
}

static void drop_last(struct searching *s)
{
	struct log_hit *last = s->best[--s->best_count];

	s->best_bytes -= last->text.len;
	mem_free(last);
}

/* What does not fit goes from the end, and from then on there is room for no more hits than now. */
static void keep_bytes(struct searching *s)
{
	while (s->search->max_bytes && s->best_bytes > s->search->max_bytes && s->best_count > 1) {
		drop_last(s);
		s->best_cap = s->best_count;
		s->is_cut = true;
	}
}

/* Under the mutex. */
static void offer(struct searching *s, struct search_hand *hand, const struct log_place *place, const struct line *line)
{
	size_t at = s->best_count;

	if (s->search->after && !search_place_precedes(s, s->search->after, place))
		return;
	if (at == s->best_cap && (!at || search_place_precedes(s, &s->best[at - 1]->place, place)))
		return;
	struct log_hit *hit = make_hit(s, hand, place, line);
	if (!hit) {
		s->status = error_no_memory(&s->err);
		return;
	}
	if (at == s->best_cap)
		drop_last(s);
	at = s->best_count++;
	s->best_bytes += hit->text.len;
	for (; at && search_place_precedes(s, place, &s->best[at - 1]->place); at--)
		s->best[at] = s->best[at - 1];
	s->best[at] = hit;
	keep_bytes(s);
}

static int compare_stream(const void *id, const void *stream)
{
	uint32_t left = *(const uint32_t *)id, right = ((const struct log_search_stream *)stream)->stream_id;

	return (left > right) - (left < right);
}

bool search_wants_stream(const struct log_search *search, uint32_t stream_id, uint64_t *first_line)
{
	const struct log_search_stream *found;

	*first_line = 0;
	if (!search->streams)
		return true;
	found = search->stream_count ? bsearch(&stream_id, search->streams, search->stream_count,
					       sizeof *search->streams, compare_stream)
				     : NULL;
	*first_line = found ? found->first_line : 0;
	return found != NULL;
}

static bool is_taken(
	const struct log_search *search, struct search_hand *hand, uint64_t number, const struct line *line)
{
	if (line->ts_ms < search->from_ms || line->ts_ms > search->to_ms || number < search->from_line ||
		(search->has_end_line && number >= search->end_line))
		return false;
	return !search->takes || search->takes(search->context, hand->scratch, line->text);
}

/* False: no memory. */
static bool note_found(struct searching *s, struct search_hand *hand, const struct search_lines *in, size_t index,
	const struct line *line)
{
	if (!is_taken(s->search, hand, in->first_line + index, line))
		return true;
	if (!mem_grow((void **)&hand->found, hand->found_count, &hand->found_cap, sizeof *hand->found))
		return false;
	hand->found[hand->found_count++] = (struct search_found){index, *line};
	return true;
}

/* The best of a block first, so that most of it need not be copied. */
static void take_found(struct searching *s, struct search_hand *hand, uint32_t stream_id, uint64_t first_line)
{
	for (size_t i = 0; i < hand->found_count; i++) {
		const struct search_found *found =
			&hand->found[s->search->oldest_first ? i : hand->found_count - 1 - i];
		struct log_place place = {found->line.ts_ms, stream_id, first_line + found->index};
		if (s->search->counter) {
			s->search->counter->take(s->search->counter->context, stream_id, place.line, &found->line);
			continue;
		}
		if (s->search->wants_histogram) {
			histogram_add(&s->histogram, place.ts_ms, 1);
			if (stream_id == s->ticks_id)
				histogram_add(&s->ticks, (int64_t)place.line, 1);
			s->total++;
		}
		offer(s, hand, &place, &found->line);
	}
}

/* The line that begins there; from `low` on, where hits are close to each other. */
static size_t line_at(const struct search_lines *in, size_t low, const char *begin)
{
	size_t high = low + 1;

	for (size_t step = 1; high < in->count && in->lines[high].text.ptr <= begin; step *= 2) {
		low = high;
		high += step;
	}
	high = high < in->count ? high : in->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (in->lines[middle].text.ptr <= begin)
			low = middle;
		else
			high = middle;
	}
	return low;
}

enum found_end { FOUND_ALL, FOUND_DAMAGE, FOUND_NO_MEMORY };

static enum found_end find_in_text(
	struct searching *s, struct search_hand *hand, struct search_lines *in, uint64_t *limited)
{
	struct span text = in->text;
	struct line line;

	for (size_t from = 0, index = 0; !search_effort_is_at_end(&s->effort); from += line.text.len + 1) {
		from = log_matcher_next(s->matcher, hand->scratch, text, from, limited);
		if (from >= text.len)
			break;
		if (!in->cursor) {
			index = line_at(in, index, text.ptr + from);
			line = in->lines[index];
		} else if (block_go_to(in->cursor, text.ptr + from, &line)) {
			index = in->cursor->at - 1;
		} else {
			return FOUND_DAMAGE;
		}
		if (!note_found(s, hand, in, index, &line))
			return FOUND_NO_MEMORY;
	}
	return FOUND_ALL;
}

static enum found_end find_in_lines(
	struct searching *s, struct search_hand *hand, struct search_lines *in, uint64_t *limited)
{
	for (size_t i = 0; i < in->count && !search_effort_is_at_end(&s->effort); i++)
		if (log_matcher_matches(s->matcher, hand->scratch, in->lines[i].text, limited) &&
			!note_found(s, hand, in, i, &in->lines[i]))
			return FOUND_NO_MEMORY;
	return FOUND_ALL;
}

static bool hold_newlines(const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_find_char(lines[i].text, '\n') >= 0)
			return true;
	return false;
}

bool search_scan_lines(struct searching *s, struct search_hand *hand, uint32_t stream_id, struct search_lines *in)
{
	uint64_t limited = 0;

	hand->found_count = 0;
	bool are_single = in->cursor || !hold_newlines(in->lines, in->count);
	enum found_end end = (are_single ? find_in_text : find_in_lines)(s, hand, in, &limited);
	pthread_mutex_lock(&s->mutex);
	if (!search_effort_is_at_end(&s->effort)) /* else lines were not given up, but not looked at */
		s->limited += limited;
	if (end == FOUND_NO_MEMORY)
		s->status = error_no_memory(&s->err);
	take_found(s, hand, stream_id, in->first_line);
	pthread_mutex_unlock(&s->mutex);
	return end != FOUND_DAMAGE;
}

void search_scan_part(struct searching *s, struct search_hand *hand, uint32_t stream_id, uint64_t first_line,
	const struct line *lines, size_t count, uint64_t end)
{
	uint64_t from_line;

	if (!search_wants_stream(s->search, stream_id, &from_line))
		return;
	size_t skipped = from_line > first_line ? (size_t)(from_line - first_line) : 0;
	if (first_line + count > end)
		count = end > first_line ? (size_t)(end - first_line) : 0;
	if (skipped >= count)
		return;
	const struct line *last = &lines[count - 1];
	struct search_lines in = {
		.first_line = first_line + skipped, .lines = lines + skipped, .count = count - skipped};
	in.text = span_of(in.lines[0].text.ptr, (size_t)(last->text.ptr + last->text.len + 1 - in.lines[0].text.ptr));
	search_scan_lines(s, hand, stream_id, &in); /* without a cursor nothing is damaged */
}
