#include "read/logs/search.h"
#include "read/logs/search_pool.h"

#include <stdlib.h>

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

static bool note_found(struct search_hand *hand, size_t index)
{
	if (!mem_grow((void **)&hand->found, hand->found_count, &hand->found_cap, sizeof *hand->found))
		return false;
	hand->found[hand->found_count++] = (uint32_t)index;
	return true;
}

/* The best of a block first, so that most of it need not be copied. */
static void take_found(struct searching *s, struct search_hand *hand, uint32_t stream_id, uint64_t first_line,
	const struct line *lines)
{
	for (size_t i = 0; i < hand->found_count; i++) {
		uint32_t index = hand->found[s->search->oldest_first ? i : hand->found_count - 1 - i];
		struct log_place place = {lines[index].ts_ms, stream_id, first_line + index};
		if (s->search->counter) {
			s->search->counter->take(s->search->counter->context, stream_id, place.line, &lines[index]);
			continue;
		}
		if (s->search->wants_histogram) {
			histogram_add(&s->histogram, place.ts_ms, 1);
			if (stream_id == s->ticks_id)
				histogram_add(&s->ticks, (int64_t)place.line, 1);
			s->total++;
		}
		offer(s, hand, &place, &lines[index]);
	}
}

void search_scan_lines(struct searching *s, struct search_hand *hand, uint32_t stream_id, uint64_t first_line,
	const struct line *lines, size_t count, uint64_t end)
{
	uint64_t limited = 0, from_line;
	bool is_whole = true;

	if (!search_wants_stream(s->search, stream_id, &from_line))
		return;
	if (first_line + count > end)
		count = end > first_line ? (size_t)(end - first_line) : 0;
	hand->found_count = 0;
	for (size_t i = from_line > first_line ? (size_t)(from_line - first_line) : 0;
		is_whole && !search_effort_is_at_end(&s->effort); i++) {
		i = log_matcher_next(s->matcher, hand->scratch, lines, count, i, &limited);
		if (i >= count)
			break;
		if (is_taken(s->search, hand, first_line + i, &lines[i]))
			is_whole = note_found(hand, i);
	}
	pthread_mutex_lock(&s->mutex);
	if (!search_effort_is_at_end(&s->effort)) /* else lines were not given up, but not looked at */
		s->limited += limited;
	if (!is_whole)
		s->status = error_no_memory(&s->err);
	take_found(s, hand, stream_id, first_line, lines);
	pthread_mutex_unlock(&s->mutex);
}
