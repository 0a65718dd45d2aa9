#include "fleet/nccl_work.h"

#include <stdlib.h>

enum { PLACES_MIN = 3, RANKS_MIN = 3, WORKS_APART_MAX = 2 };

/* What is behind the mark; ptr NULL: it is not there. */
static struct span behind(struct span text, struct span mark)
{
	ptrdiff_t at = span_find(text, mark);

	return at < 0 ? span_of(NULL, 0) : span_skip(text, (size_t)at + mark.len);
}

/* The number at the start, which may have a sign. */
static bool take_number(struct span text, int64_t *out)
{
	size_t len = text.len && *text.ptr == '-';

	while (len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9')
		len++;
	return span_parse_i64(span_of(text.ptr, len), out);
}

/*
 * "ID 0 PG GUID 0(default_pg)", "0": what is counted behind it counts in each process for itself, and older versions give one GUID to several
 * groups; the default one alone is the same group everywhere.
 */
static bool is_default(struct span group)
{
	static const struct span names[] = {{"0", 1}, {"0 (default_pg)", 14}, {"0(default_pg)", 13}, {"ID 0", 4},
		{"ID 0 PG GUID 0", 14}, {"ID 0 PG GUID 0(default_pg)", 26}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(group, names[i]))
			return true;
	return false;
}

static bool read_group(struct span line, struct nccl_work *out)
{
	struct span rest = behind(line, SPAN("[PG "));
	ptrdiff_t end = rest.ptr ? span_find(rest, SPAN(" Rank ")) : -1;

	if (end < 0)
		return false;
	out->is_default = is_default(span_of(rest.ptr, (size_t)end));
	return take_number(span_skip(rest, (size_t)end + sizeof " Rank " - 1), &out->rank);
}

bool nccl_work_read(struct span line, struct nccl_work *out)
{
	struct span last = behind(line, SPAN("last completed NCCL work: ")), global;
	int64_t rank;

	if (!last.ptr)
		last = behind(line, SPAN("last completed work: "));
	*out = (struct nccl_work){0};
	if (!last.ptr || !take_number(last, &out->completed) || !read_group(line, out))
		return false;
	global = behind(line, SPAN("[rank"));
	if (global.ptr && take_number(global, &rank)) {
		out->is_default =
			out->is_default && rank == out->rank; /* a group of a part of the ranks that was made first */
		out->rank = rank;
	}
	return out->rank >= 0 && out->completed >= -1;
}

bool nccl_work_is_collective(struct span line, bool *is_told)
{
	struct span name = behind(line, SPAN("OpType="));

	*is_told = name.ptr != NULL;
	return name.ptr && !span_starts_with(name, SPAN("SEND")) && !span_starts_with(name, SPAN("RECV")) &&
	       !span_starts_with(name, SPAN("COALESCED")) && !span_starts_with(name, SPAN("UNKNOWN"));
}

static int by_rank(const void *left, const void *right)
{
	const struct nccl_rank *a = left, *b = right;

	return (a->work.rank > b->work.rank) - (a->work.rank < b->work.rank);
}

/* One row of each rank, from 0 on without a hole. 0: it is not so, or a rank says two things. */
static size_t take_each_once(struct nccl_rank *rows, size_t count)
{
	size_t ranks = 0;

	qsort(rows, count, sizeof *rows, by_rank);
	for (size_t i = 0; i < count; i++) {
		struct nccl_rank *last = ranks ? &rows[ranks - 1] : NULL;
		if (!rows[i].work.is_default)
			return 0;
		if (rows[i].work.rank == (int64_t)ranks)
			rows[ranks++] = rows[i];
		else if (!last || rows[i].work.rank != last->work.rank ||
			 rows[i].work.completed != last->work.completed || !span_equal(rows[i].place, last->place))
			return 0;
	}
	return ranks;
}

/* At most as many as matter. */
static size_t count_places(const struct nccl_rank *rows, size_t count)
{
	struct span seen[PLACES_MIN];
	size_t places = 0;

	for (size_t i = 0; i < count && places < PLACES_MIN; i++) {
		size_t at = 0;
		while (at < places && !span_equal(seen[at], rows[i].place))
			at++;
		if (at == places)
			seen[places++] = rows[i].place;
	}
	return places;
}

static void add_other(struct nccl_behind *out, int64_t completed)
{
	if (!out->others || completed < out->others_least)
		out->others_least = completed;
	if (!out->others || completed > out->others_most)
		out->others_most = completed;
	out->others++;
}

/* False: those that stopped first are several places', or all did. */
static bool count_behind(const struct nccl_rank *rows, size_t count, struct nccl_behind *out)
{
	*out = (struct nccl_behind){.first = &rows[0], .is_alone = true};
	for (size_t i = 1; i < count; i++)
		if (rows[i].work.completed < out->first->work.completed)
			out->first = &rows[i];
	for (size_t i = 0; i < count; i++) {
		bool is_there = span_equal(rows[i].place, out->first->place);
		if (rows[i].work.completed > out->first->work.completed) {
			add_other(out, rows[i].work.completed);
			out->is_alone = out->is_alone && !is_there;
		} else if (is_there) {
			out->ranks++;
		} else {
			return false;
		}
	}
	return out->others > 0 && out->others_most - out->first->work.completed <= WORKS_APART_MAX;
}

bool nccl_work_find_behind(struct nccl_rank *rows, size_t count, struct nccl_behind *out)
{
	size_t ranks = take_each_once(rows, count), places = count_places(rows, ranks);

	if (ranks < RANKS_MIN || !count_behind(rows, ranks, out))
		return false;
	out->is_alone = out->is_alone && places == PLACES_MIN;
	return out->is_alone || (out->ranks == 1 && places != 2);
}
