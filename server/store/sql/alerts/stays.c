#include "store/sql/alerts/stays.h"

#include "store/driver/rows.h"

#include <stdlib.h>

enum {
	OPENS_MS = 60 * 1000, /* a process may print before its session is open; clocks differ */
	BEGINNINGS_READ = 1000
}; /* of a machine elsewhere, since it was silent; its further streams are behind these */

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct stay read_beginning(struct statement *s)
{
	struct stay stay = {.job_id = column_i64(s)};

	stay.stream_id = column_u32(s);
	stay.from_ms = column_i64(s);
	stay.since_ms = column_i64(s);
	stay.first_ms = column_i64(s);
	stay.last_ms = column_i64(s);
	return stay;
}

struct stay stay_read(struct statement *s, struct arena *arena)
{
	struct stay stay = read_beginning(s);

	stay.host = column_span(s, arena);
	stay.until_ms = column_i64(s);
	stay.next_ms = column_i64(s);
	stay.opened_ms = column_i64(s);
	stay.exit_ms = column_i64(s);
	stay.job_end_ms = column_i64(s);
	return stay;
}

/* It printed within it: one that was opened long behind its last line may be another machine's, which printed nothing yet. */
static bool has_session(const struct stay *stay)
{
	return !stay->next_ms && stay->opened_ms && stay->last_ms && stay->opened_ms <= stay->last_ms + OPENS_MS;
}

/* With what memory has: what is sealed alone is stored. That its process ended is a sign of it as a line is. */
static void ask_memory(const struct stream_ends *ends, struct stay *stay)
{
	int64_t first_ms, last_ms;

	ends->read(ends->context, stay->job_id, stay->stream_id, &first_ms, &last_ms);
	stay->first_ms = stay->first_ms ? stay->first_ms : first_ms;
	stay->last_ms = greater(stay->last_ms, last_ms);
	if (has_session(stay))
		stay->last_ms = greater(stay->last_ms, stay->exit_ms);
}

/* With its first line; who opened a session is there before that. */
int64_t stay_begin_ms(const struct stay *stay)
{
	if (stay->from_ms)
		return stay->from_ms;
	return stay->first_ms ? lesser(stay->first_ms, stay->since_ms) : stay->since_ms;
}

static int by_time(const void *a, const void *b)
{
	const struct beginning *x = a, *y = b;

	return (x->ms > y->ms) - (x->ms < y->ms);
}

static void find_others(struct beginnings *all)
{
	for (size_t i = all->count; i-- > 0;) {
		size_t next = i + 1;
		bool is_same = next < all->count && all->items[next].job_id == all->items[i].job_id;
		all->items[i].other = is_same ? all->items[next].other : next;
	}
}

/* without: a job, whose own are left out */
static enum status read_beginnings(struct presence *p, const struct stay *stay, int64_t without, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct beginnings *out = &p->elsewhere;
	size_t cap = 0;
	bool has_row;

	*out = (struct beginnings){stay->host, without, stay->last_ms, INT64_MAX, NULL, 0};
	TRY(statement_open(&s, p->reader,
		"SELECT " STAY_BEGINNING
		" FROM stream_hosts AS h CROSS JOIN streams AS s WHERE h.host = ?1 AND h.since_ms > ?2"
		" AND h.job_id <> ?3" STAY_STREAM " ORDER BY h.since_ms LIMIT ?4",
		err));
	bind_text(&s, stay->host);
	bind_numbers(&s, stay->last_ms, without, BEGINNINGS_READ);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		struct stay other = read_beginning(&s);
		if (!other.from_ms && !other.first_ms)
			ask_memory(p->ends, &other);
		out->items = rows_grow(p->arena, out->items, out->count, &cap, sizeof *out->items);
		if (!out->items)
			return error_no_memory(err);
		out->items[out->count++] =
			(struct beginning){lesser(stay_begin_ms(&other), other.since_ms), other.job_id, 0};
		if (out->count == BEGINNINGS_READ)
			out->until_ms = other.since_ms;
		TRY(statement_step(&s, &has_row, err));
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_time);
	find_others(out);
	return statement_check(&s, err);
}

/* The first one behind its last line that is of another job; NULL: none is known. */
static const struct beginning *find_elsewhere(const struct beginnings *known, const struct stay *stay)
{
	size_t low = 0;

	for (size_t high = known->count; low < high;) {
		size_t middle = (low + high) / 2;
		if (known->items[middle].ms <= stay->last_ms)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < known->count && known->items[low].job_id == stay->job_id)
		low = known->items[low].other;
	return low < known->count ? &known->items[low] : NULL;
}

/* Behind its last line it may have begun to send to another job: it has left from then on. Of a job whose own streams are all that was read
 * those are left out. */
static enum status end_by_leaving(struct presence *p, struct stay *stay, struct error *err)
{
	const struct beginnings *known = &p->elsewhere;

	if (!stay->last_ms || stay->end_ms <= stay->last_ms)
		return OK;
	if ((known->job_id && known->job_id != stay->job_id) || !span_equal(known->host, stay->host) ||
		stay->last_ms < known->after_ms || stay->last_ms >= known->until_ms)
		TRY(read_beginnings(p, stay, 0, err));
	const struct beginning *elsewhere = find_elsewhere(known, stay);
	if (!elsewhere && !known->job_id && known->until_ms < INT64_MAX) {
		TRY(read_beginnings(p, stay, stay->job_id, err));
		elsewhere = find_elsewhere(known, stay);
	}
	if (elsewhere)
		stay->end_ms = lesser(stay->end_ms, elsewhere->ms - 1);
	return OK;
}

/* All but that. Who opened a session and printed nothing yet, or nothing for long, is there, too: most ranks print nothing. */
static void end_stay(struct stay *stay, int64_t silent_ms)
{
	stay->end_ms = stay->last_ms ? stay->last_ms + silent_ms : INT64_MAX;
	if (has_session(stay) && !stay->exit_ms)
		stay->end_ms = greater(stay->end_ms, stay->job_end_ms);
	if (stay->until_ms)
		stay->end_ms = lesser(stay->end_ms, stay->until_ms + silent_ms);
	if (stay->next_ms > 0)
		stay->end_ms = lesser(stay->end_ms, stay->next_ms - 1);
}

enum status stay_is_sent(
	struct presence *p, struct stay *stay, int64_t first_ms, int64_t last_ms, bool *out, struct error *err)
{
	if (!stay->first_ms || first_ms > stay->last_ms)
		ask_memory(p->ends, stay);
	end_stay(stay, p->ends->silent_ms);
	*out = last_ms >= stay_begin_ms(stay) && first_ms <= stay->end_ms;
	if (!*out || first_ms <= stay->last_ms)
		return OK;
	TRY(end_by_leaving(p, stay, err));
	*out = first_ms <= stay->end_ms;
	return OK;
}

/* ---- of one host ---- */

static int by_last_line(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	return (x->last_ms > y->last_ms) - (x->last_ms < y->last_ms);
}

static int by_beginning(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	int64_t x_ms = stay_begin_ms(x), y_ms = stay_begin_ms(y);

	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	return (x_ms > y_ms) - (x_ms < y_ms);
}

void stays_end_by_silence(struct presence *p, struct stay *stays, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ask_memory(p->ends, &stays[i]);
		end_stay(&stays[i], p->ends->silent_ms);
	}
}

enum status stays_end_by_leaving(struct presence *p, struct stay *stays, size_t count, struct error *err)
{
	qsort(stays, count, sizeof *stays, by_last_line);
	for (size_t i = 0; i < count; i++)
		if (!stays[i].is_settled)
			TRY(end_by_leaving(p, &stays[i], err));
	qsort(stays, count, sizeof *stays, by_beginning);
	for (size_t i = 0; i < count; i++) {
		bool is_first = !i || stays[i - 1].job_id != stays[i].job_id;
		stays[i].reach_ms = is_first ? stays[i].end_ms : greater(stays[i - 1].reach_ms, stays[i].end_ms);
	}
	return OK;
}

bool stays_were_there(const struct stay *stays, size_t count, int64_t *first_ms, int64_t *last_ms)
{
	size_t low = 0;

	for (size_t high = count; low < high;) {
		size_t middle = (low + high) / 2;
		if (stay_begin_ms(&stays[middle]) <= *last_ms)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || *first_ms > stays[low - 1].reach_ms)
		return false;
	*last_ms = lesser(*last_ms, stays[low - 1].reach_ms);
	*first_ms = lesser(greater(*first_ms, stay_begin_ms(&stays[0])), *last_ms);
	return true;
}
