/*
 * Faults that another job's log tells of, of machines of jobs that broke off near them. Each fault, each stay of its machine and each break
 * is read once, and held against the others by time.
 */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/faults.h"
#include "store/sql/alerts/stays.h"

#include <stdlib.h>

struct fault {
	struct span host;
	int64_t ts_ms, last_ms, job_id;
	struct span team, signature;
	int64_t reach_ms; /* the last end of its host's faults that begin no later */
	int64_t taken_by; /* the job that it was taken for last */
};

struct broken {
	int64_t job_id;
	struct span team;
	int64_t from_ms, to_ms; /* of faults that are near it */
};

struct looking {
	struct presence presence;
	struct break_fault_wish wish;
	struct fault *faults; /* by host and time */
	size_t fault_count;
	struct broken *breaks; /* by job */
	size_t break_count;
	struct break_fault *found;
	size_t found_count, cap;
};

static int by_host_and_time(const void *a, const void *b)
{
	const struct fault *x = a, *y = b;
	int order = span_compare(x->host, y->host);

	return order ? order : (x->ts_ms > y->ts_ms) - (x->ts_ms < y->ts_ms);
}

static int by_job(const void *a, const void *b)
{
	const struct broken *x = a, *y = b;

	return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* Not of a log that was deleted. */
#define FAULTS                                                                                                         \
	"SELECT f.host, f.ts_ms, f.last_ms, f.job_id, t.team, f.signature FROM node_faults AS f CROSS JOIN jobs AS t"  \
	" WHERE f.ts_ms >= ?1 AND f.cleared = '' AND t.job_id = f.job_id"

static enum status read_faults(struct looking *l, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	static const struct row_field fields[] = {FIELD(struct fault, host), FIELD(struct fault, ts_ms),
		FIELD(struct fault, last_ms), FIELD(struct fault, job_id), FIELD(struct fault, team),
		FIELD(struct fault, signature)};

	TRY(statement_open(&s, l->presence.reader, l->wish.host.len ? FAULTS " AND f.host = ?2" : FAULTS, err));
	bind_i64(&s, l->wish.from_ms);
	if (l->wish.host.len)
		bind_text(&s, l->wish.host);
	TRY(rows_read(&s, l->presence.arena, ROWS(fields, struct fault), &l->faults, &l->fault_count, err));
	if (l->fault_count)
		qsort(l->faults, l->fault_count, sizeof *l->faults, by_host_and_time);
	for (size_t i = 0; i < l->fault_count; i++) {
		struct fault *fault = &l->faults[i];
		bool is_first = !i || !span_equal(fault[-1].host, fault->host);
		fault->reach_ms = is_first || fault[-1].reach_ms < fault->last_ms ? fault->last_ms : fault[-1].reach_ms;
	}
	return OK;
}

/* Breaks that a fault since ?1 can be near: not of a job that had ended ?2 before, or had gone on. */
#define BREAKS_OF(jobs)                                                                                                \
	"SELECT b.job_id, j.team, b.from_ms, b.to_ms, j.ended_ms FROM jobs AS j CROSS JOIN goodput_breaks AS b"        \
	" WHERE " jobs " AND b.job_id = j.job_id AND (b.to_ms = 0 OR b.to_ms >= ?1)"
#define BREAKS BREAKS_OF("j.ended_ms = 0") " UNION ALL " BREAKS_OF("j.ended_ms > 0 AND j.ended_ms >= ?1 - ?2")

static enum status read_breaks(struct looking *l, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;
	size_t cap = 0;

	TRY(statement_open(&s, l->presence.reader, BREAKS, err));
	bind_numbers(&s, l->wish.from_ms, l->wish.after_ms);
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		l->breaks = rows_grow(l->presence.arena, l->breaks, l->break_count, &cap, sizeof *l->breaks);
		if (!l->breaks)
			return error_no_memory(err);
		struct broken *row = &l->breaks[l->break_count++];
		row->job_id = column_i64(&s);
		row->team = column_span(&s, l->presence.arena);
		row->from_ms = column_i64(&s) - l->wish.near_ms;
		int64_t to_ms = column_i64(&s), ended_ms = column_i64(&s);
		row->to_ms = to_ms ? to_ms : INT64_MAX;
		if (ended_ms && ended_ms + l->wish.after_ms < row->to_ms)
			row->to_ms = ended_ms + l->wish.after_ms;
		TRY(statement_step(&s, &has_row, err));
	}
	if (l->break_count)
		qsort(l->breaks, l->break_count, sizeof *l->breaks, by_job);
	return statement_check(&s, err);
}

/* ---- against one another ---- */

static int newest_first(const void *a, const void *b)
{
	const struct break_fault *x = a, *y = b;

	return (x->ts_ms < y->ts_ms) - (x->ts_ms > y->ts_ms);
}

/* The newest ones alone: what began before them is looked at no more. */
static void keep_newest(struct looking *l)
{
	if (l->found_count)
		qsort(l->found, l->found_count, sizeof *l->found, newest_first);
	if (l->found_count < l->wish.limit)
		return;
	l->found_count = l->wish.limit;
	if (l->wish.limit)
		l->wish.from_ms = l->found[l->wish.limit - 1].ts_ms;
}

static enum status add_found(
	struct looking *l, const struct fault *fault, int64_t job_id, int64_t last_ms, struct error *err)
{
	l->found = rows_grow(l->presence.arena, l->found, l->found_count, &l->cap, sizeof *l->found);
	if (!l->found)
		return error_no_memory(err);
	l->found[l->found_count++] = (struct break_fault){.host = fault->host,
		.job_id = job_id,
		.ts_ms = fault->ts_ms,
		.last_ms = last_ms,
		.signature = fault->signature};
	if (l->found_count == 2 * l->wish.limit)
		keep_newest(l);
	return OK;
}

/* How many of the faults, by time, began by then. */
static size_t count_until(const struct fault *faults, size_t count, int64_t at_ms)
{
	size_t low = 0;

	for (size_t high = count; low < high;) {
		size_t middle = (low + high) / 2;
		if (faults[middle].ts_ms <= at_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Stays of one job on one host, and the faults of that: those near the break while it was there. */
static enum status add_near(struct looking *l, const struct broken *broken, const struct stay *stays, size_t stay_count,
	struct fault *faults, size_t fault_count, struct error *err)
{
	int64_t from_ms = stay_begin_ms(&stays[0]), to_ms = stays[stay_count - 1].reach_ms;

	from_ms = from_ms > broken->from_ms ? from_ms : broken->from_ms;
	to_ms = to_ms < broken->to_ms ? to_ms : broken->to_ms;
	for (size_t i = count_until(faults, fault_count, to_ms); i-- > 0 && faults[i].reach_ms >= from_ms;) {
		struct fault *fault = &faults[i];
		if (fault->ts_ms < l->wish.from_ms)
			break;
		bool counts =
			fault->job_id != broken->job_id && (!fault->team.len || span_equal(fault->team, broken->team));
		int64_t ts_ms = fault->ts_ms, last_ms = fault->last_ms;
		if (!counts || fault->taken_by == broken->job_id || last_ms < from_ms ||
			!stays_were_there(stays, stay_count, &ts_ms, &last_ms))
			continue;
		fault->taken_by = broken->job_id;
		TRY(add_found(l, fault, broken->job_id, last_ms, err));
	}
	return OK;
}

/* Those of the job, one behind the other. */
static const struct broken *find_breaks(const struct looking *l, int64_t job_id, size_t *count)
{
	size_t low = 0;

	for (size_t high = l->break_count; low < high;) {
		size_t middle = (low + high) / 2;
		if (l->breaks[middle].job_id < job_id)
			low = middle + 1;
		else
			high = middle;
	}
	for (*count = 0; low + *count < l->break_count && l->breaks[low + *count].job_id == job_id;)
		++*count;
	return l->breaks + low;
}

static enum status add_job(struct looking *l, const struct stay *stays, size_t stay_count, struct fault *faults,
	size_t fault_count, struct error *err)
{
	size_t count;
	const struct broken *breaks = find_breaks(l, stays[0].job_id, &count);

	for (size_t i = 0; i < count; i++)
		TRY(add_near(l, &breaks[i], stays, stay_count, faults, fault_count, err));
	return OK;
}

/* ---- which stays ---- */

static bool is_near_any(const struct looking *l, int64_t job_id, const struct fault *faults, size_t fault_count)
{
	size_t count;
	const struct broken *breaks = find_breaks(l, job_id, &count);

	for (size_t i = 0; i < count; i++) {
		size_t begun = count_until(faults, fault_count, breaks[i].to_ms);
		if (begun && faults[begun - 1].reach_ms >= breaks[i].from_ms)
			return true;
	}
	return false;
}

struct stay_key {
	int64_t job_id, stream_id, number;
};

static struct fault *find_faults(const struct looking *l, struct span host, size_t *count)
{
	size_t low = 0;

	for (size_t high = l->fault_count; low < high;) {
		size_t middle = (low + high) / 2;
		if (span_compare(l->faults[middle].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*count = 0; low + *count < l->fault_count && span_equal(l->faults[low + *count].host, host);)
		++*count;
	return l->faults + low;
}

/* By the index alone, as a machine has sent many streams. */
#define KEYS_OF(hosts)                                                                                                 \
	"SELECT k.host, k.job_id, k.stream_id, k.number FROM (SELECT DISTINCT f.host FROM node_faults AS f " hosts     \
	") AS o CROSS JOIN stream_hosts AS k WHERE k.host = o.host"
#define KEYS KEYS_OF("INDEXED BY node_faults_by_time WHERE f.ts_ms >= ?1 AND f.cleared = ''")
#define KEYS_OF_HOST KEYS_OF("WHERE f.ts_ms >= ?1 AND f.cleared = '' AND f.host = ?2")

/* Of jobs that broke off near any fault of their host. */
static enum status read_keys(struct looking *l, struct stay_key **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	const struct fault *faults = l->faults;
	size_t fault_count = 0, cap = 0;
	int64_t job_id = 0;
	bool has_row, is_near = false;

	*out = NULL;
	*count = 0;
	TRY(statement_open(&s, l->presence.reader, l->wish.host.len ? KEYS_OF_HOST : KEYS, err));
	bind_i64(&s, l->wish.from_ms);
	if (l->wish.host.len)
		bind_text(&s, l->wish.host);
	for (;;) {
		TRY(statement_step(&s, &has_row, err));
		if (!has_row)
			return OK;
		struct span host = column_borrow(&s);
		bool is_same = fault_count && span_equal(faults[0].host, host);
		if (!is_same)
			faults = find_faults(l, host, &fault_count);
		struct stay_key key = {.job_id = column_i64(&s)};
		key.stream_id = column_i64(&s);
		key.number = column_i64(&s);
		if (!is_same || key.job_id != job_id)
			is_near = is_near_any(l, key.job_id, faults, fault_count);
		job_id = key.job_id;
		if (!is_near)
			continue;
		*out = rows_grow(l->presence.arena, *out, *count, &cap, sizeof **out);
		if (!*out)
			return error_no_memory(err);
		(*out)[(*count)++] = key;
	}
}

/* What a machine sent until it was silent matters to no fault, unless there is one in the time that it was. */
static void settle(struct stay *stays, size_t count, const struct fault *faults, size_t fault_count)
{
	for (size_t i = 0; i < count; i++)
		stays[i].is_settled = count_until(faults, fault_count, stays[i].end_ms) ==
				      count_until(faults, fault_count, stays[i].last_ms);
}

/* Some at once, as a server may be asked over a network. */
enum { STAYS_AT_ONCE = 8 };
#define STAY(job, stream, number)                                                                                      \
	"SELECT " STAY_COLUMNS " FROM stream_hosts AS h CROSS JOIN streams AS s WHERE h.job_id = " job                 \
	" AND h.stream_id = " stream " AND h.number = " number STAY_STREAM
#define STAYS                                                                                                          \
	STAY("?1", "?2", "?3")                                                                                         \
	" UNION ALL " STAY("?4", "?5", "?6") " UNION ALL " STAY("?7", "?8", "?9") " UNION ALL " STAY(                  \
		"?10", "?11", "?12") " UNION ALL " STAY("?13", "?14", "?15") " UNION ALL " STAY("?16", "?17",          \
		"?18") " UNION ALL " STAY("?19", "?20", "?21") " UNION ALL " STAY("?22", "?23", "?24")

static enum status read_stays(struct looking *l, const struct stay_key *keys, size_t key_count, struct stay **out,
	size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	*count = 0;
	*out = arena_alloc(l->presence.arena, (key_count + 1) * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	TRY(statement_open(&s, l->presence.reader, STAYS, err));
	for (size_t i = 0; i < key_count; i += STAYS_AT_ONCE) {
		statement_again(&s);
		for (size_t k = i; k < i + STAYS_AT_ONCE; k++) {
			const struct stay_key key = k < key_count ? keys[k] : (struct stay_key){0};
			bind_numbers(&s, key.job_id, key.stream_id, key.number);
		}
		TRY(statement_step(&s, &has_row, err));
		while (has_row) {
			(*out)[(*count)++] = stay_read(&s, l->presence.arena);
			TRY(statement_step(&s, &has_row, err));
		}
		TRY(statement_check(&s, err));
	}
	return OK;
}

static int by_host(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	return span_compare(x->host, y->host);
}

static enum status add_host(struct looking *l, struct stay *stays, size_t count, struct error *err)
{
	size_t fault_count, of_job;
	struct fault *faults = find_faults(l, stays[0].host, &fault_count);

	stays_end_by_silence(&l->presence, stays, count);
	settle(stays, count, faults, fault_count);
	TRY(stays_end_by_leaving(&l->presence, stays, count, err));
	for (size_t i = 0; i < count; i += of_job) {
		for (of_job = 1; i + of_job < count && stays[i + of_job].job_id == stays[i].job_id;)
			of_job++;
		TRY(add_job(l, &stays[i], of_job, faults, fault_count, err));
	}
	return OK;
}

static enum status add_hosts(struct looking *l, struct error *err)
{
	struct stay_key *keys;
	struct stay *stays;
	size_t key_count, count, of_host;

	TRY(read_keys(l, &keys, &key_count, err));
	if (!key_count)
		return OK;
	TRY(read_stays(l, keys, key_count, &stays, &count, err));
	if (count)
		qsort(stays, count, sizeof *stays, by_host);
	for (size_t i = 0; i < count; i += of_host) {
		for (of_host = 1; i + of_host < count && span_equal(stays[i + of_host].host, stays[i].host);)
			of_host++;
		TRY(add_host(l, &stays[i], of_host, err));
	}
	return OK;
}

enum status store_read_break_faults(struct store_reader *reader, struct arena *arena, const struct stream_ends *ends,
	const struct break_fault_wish *wish, struct break_fault **out, size_t *count, struct error *err)
{
	struct looking l = {.presence = {.reader = reader, .arena = arena, .ends = ends}, .wish = *wish};

	TRY(read_faults(&l, err));
	if (l.fault_count)
		TRY(read_breaks(&l, err));
	if (l.break_count)
		TRY(add_hosts(&l, err));
	keep_newest(&l);
	*out = l.found;
	*count = l.found_count;
	return OK;
}
