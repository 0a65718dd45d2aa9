#include "fleet/nccl_work.h"

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

/* "[PG ID 0 PG GUID 3(dp) Rank 4]", "[PG 1 Rank 0]": the number behind "PG ID" is the process's own. */
static bool read_group(struct span line, struct nccl_work *out)
{
	struct span rest = behind(line, SPAN("[PG ")), unique;
	ptrdiff_t end = rest.ptr ? span_find(rest, SPAN(" Rank ")) : -1;

	if (end < 0)
		return false;
	out->group = span_of(rest.ptr, (size_t)end);
	unique = behind(out->group, SPAN("PG GUID "));
	if (unique.ptr)
		out->group = unique;
	return take_number(span_skip(rest, (size_t)end + sizeof " Rank " - 1), &out->rank);
}

bool nccl_work_read(struct span line, struct nccl_work *out)
{
	struct span last = behind(line, SPAN("last completed NCCL work: ")), global;
	int64_t rank;

	if (!last.ptr)
		last = behind(line, SPAN("last completed work: "));
	*out = (struct nccl_work){.group = SPAN("")};
	if (!last.ptr || !take_number(last, &out->completed) || !read_group(line, out))
		return false;
	global = behind(line, SPAN("[rank"));
	if (global.ptr && take_number(global, &rank))
		out->rank = rank;
	return out->rank >= 0 && out->completed >= -1;
}

static bool is_same_rank(const struct nccl_rank *a, const struct nccl_rank *b)
{
	return a->work.rank == b->work.rank && span_equal(a->work.group, b->work.group);
}

/* Is it its rank's last one? */
static bool counts(const struct nccl_rank *rows, size_t count, size_t at)
{
	for (size_t i = at + 1; i < count; i++)
		if (is_same_rank(&rows[i], &rows[at]))
			return false;
	return true;
}

static bool is_first_of_group(const struct nccl_rank *rows, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (span_equal(rows[i].work.group, rows[at].work.group))
			return false;
	return true;
}

static void add_other(struct nccl_behind *out, int64_t completed)
{
	if (!out->others || completed < out->others_least)
		out->others_least = completed;
	if (!out->others || completed > out->others_most)
		out->others_most = completed;
	out->others++;
}

static size_t find_least(const struct nccl_rank *rows, size_t count, struct span group)
{
	size_t least = count;

	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].work.group, group) && counts(rows, count, i) &&
			(least == count || rows[i].work.completed < rows[least].work.completed))
			least = i;
	return least;
}

/* False: those that stopped first are several machines', or all did. */
static bool judge_group(const struct nccl_rank *rows, size_t count, struct span group, struct nccl_behind *out)
{
	*out = (struct nccl_behind){.at = find_least(rows, count, group)};
	out->completed = rows[out->at].work.completed;
	for (size_t i = 0; i < count; i++) {
		if (!span_equal(rows[i].work.group, group) || !counts(rows, count, i))
			continue;
		if (rows[i].work.completed > out->completed)
			add_other(out, rows[i].work.completed);
		else if (span_equal(rows[i].place, rows[out->at].place))
			out->ranks++;
		else
			return false;
	}
	return out->others > 0;
}

bool nccl_work_find_behind(const struct nccl_rank *rows, size_t count, struct nccl_behind *out)
{
	struct nccl_behind one;
	bool is_found = false;

	for (size_t i = 0; i < count; i++) {
		if (!is_first_of_group(rows, i) || !judge_group(rows, count, rows[i].work.group, &one))
			continue;
		if (is_found && !span_equal(rows[one.at].place, rows[out->at].place))
			return false;
		if (!is_found || one.ranks + one.others > out->ranks + out->others)
			*out = one;
		is_found = true;
	}
	return is_found;
}
