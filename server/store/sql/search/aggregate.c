/*
 * Aggregations: one row for each job and each of its values of what is grouped by, in order of job_id, some milliseconds at a
 * time, because no view of the database lasts; store/columns/aggregate_groups.h makes groups of them.
 */
#include "base/clock.h"
#include "base/text/iso8601.h"
#include "base/text/zone.h"
#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "store/aggregate.h"
#include "store/columns/aggregate_groups.h"
#include "store/sql/fleet/day_shares.h"
#include "store/sql/search/job_seconds.h"
#include "store/sql/search/search_compile.h"
#include "store/sql/search/search_derived.h"
#include "store/sql/search/search_pattern.h"
#include "store/sql/search/search_source.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { VIEW_MS = 80, NAMES_MAX = 8, FIGURES_MAX = 32, DAY_MS = 86400000, HOUR_MS = 3600000 };

/* ---- quantities: what a job has of what can be added up, or looked at ---- */

/* ?1 is now. */
#define NOW_OR_START SQL_GREATER("?1", "j.started_ms")
#define END_MS "(CASE WHEN j.ended_ms > 0 THEN " SQL_GREATER("j.ended_ms", "j.started_ms") " ELSE " NOW_OR_START " END)"
/* Of what began and ended in one moment it is not known. */
#define TIME_MS                                                                                                        \
	"(CASE WHEN j.started_ms > 0 AND coalesce(" JOB_UNTIL_MS " > j.started_ms, true) THEN coalesce(" JOB_UNTIL_MS  \
	", " NOW_OR_START ") - j.started_ms END)"
/* Of what has no end the time until now is no answer: it may be silent since its log ended, or have paused. Its cost is of the same. */
#define WORKED_OUT_S                                                                                                   \
	"(SELECT g.billable_ms / 1000.0 FROM goodput AS g WHERE g.job_id = j.job_id AND g.as_of_ms > 0"                \
	" AND g.billable_ms >= 0 AND j.started_ms > 0)"
#define BILLABLE_S                                                                                                     \
	"coalesce(" JOB_STATED_S("BillableTimeInSeconds") ", CASE WHEN j.ended_ms > 0 THEN " SQL_NOT_BELOW_0(          \
		TIME_MS " - " JOB_IDLE_MS(END_MS) " - " JOB_PAUSED_MS) " / 1000.0 ELSE " WORKED_OUT_S " END)"
/* As somebody set right, else as the document has it, else as they were counted last, else as hosts were seen, else one. */
#define NODES                                                                                                          \
	"coalesce((SELECT a.number FROM attributes AS a WHERE a.job_id = j.job_id AND a.key = 'by_hand.nodes'),"       \
	" (SELECT nullif(sum(a.number), 0) FROM attributes AS a WHERE a.job_id = j.job_id AND a.key IN"                \
	" ('ResourceConfig.InstanceCount', 'ResourceConfig.InstanceGroups.InstanceCount')),"                           \
	" nullif((SELECT g.nodes FROM goodput AS g WHERE g.job_id = j.job_id), 0), nullif(" HOSTS ", 0), 1)"
#define HOSTS "(SELECT count(DISTINCT h.host) FROM streams AS h WHERE h.job_id = j.job_id AND h.host <> '')"
/* Also those whose place another took. */
#define ALL_HOSTS "(SELECT count(DISTINCT h.host) FROM stream_hosts AS h WHERE h.job_id = j.job_id)"

#define OF_GOODPUT(sql) "(SELECT " sql " FROM goodput AS g WHERE g.job_id = j.job_id)"
#define GOODPUT(figure) OF_GOODPUT("g." figure)
#define ESTIMATED OF_GOODPUT(SQL_TRUTH("g.nodes_from > 0 AND g.cost IS NOT NULL AND g.unpriced = ''"))
/* In the list's currency. */
#define COST(figure)                                                                                                   \
	"(SELECT CAST(g." figure                                                                                       \
	" AS DOUBLE PRECISION) / 1000000 FROM goodput AS g WHERE g.job_id = j.job_id AND g.unpriced = '')"

#define UNKNOWN_LOSSES "(SELECT count(*) FROM goodput_breaks AS u WHERE u.job_id = j.job_id AND u.lost_steps < 0)"

static const struct quantity {
	const char *name;
	const char *sql; /* of `jobs AS j`; NULL: the job has none */
	enum day_share share; /* what months and days have of it */
	bool adds_up_over_nodes; /* and so have hosts */
} quantities[] = {
	{"duration", "CAST(" TIME_MS " AS DOUBLE PRECISION) / 1000", SHARE_TIME, false},
	{"billable", BILLABLE_S, SHARE_BILLED, false},
	{"node_hours", NODES " * " BILLABLE_S " / 3600.0", SHARE_BILLED, true},
	{"nodes", NODES, SHARE_NONE, true},
	/* As they were worked out last (server/fleet/goodput.h). */
	{"cost", COST("cost"), SHARE_COST, true},
	{"lost_cost", COST("lost_cost"), SHARE_LOST_COST, true},
	{"lost_steps",
		"(SELECT g.lost_steps FROM goodput AS g WHERE g.job_id = j.job_id"
		" AND coalesce((SELECT max(b.lost_steps) FROM goodput_breaks AS b WHERE b.job_id = j.job_id),"
		" CASE WHEN g.steps > 0 OR g.step_ms > 0 THEN 0 ELSE -1 END) >= 0)",
		SHARE_BILLED,
		false}, /* what printed no step lost nobody knows how many, unless its breaks say so, nor what never went on */
	{"goodput", GOODPUT("goodput"), SHARE_NONE, false},
};

static const struct quantity *find_quantity(struct span name)
{
	for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
		if (span_equal(name, span_from(quantities[i].name)))
			return &quantities[i];
	return NULL;
}

/* ---- what jobs are grouped by ---- */

enum dimension_kind { BY_COLUMN, BY_ATTRIBUTE, BY_HOST, BY_MONTH, BY_DAY };

struct dimension {
	enum dimension_kind kind;
	const char *column; /* SQL of the text of `jobs AS j`; '' : none */
	struct search_leaf keys;
	const char *by_hand; /* the key that somebody may have set right: it counts instead of the others; NULL: none */
};

struct aggregating {
	const struct job_aggregation *ask;
	struct dimension by[NAMES_MAX];
	const struct quantity *of[FIGURES_MAX]; /* NULL: no time and no nodes go into it */
	bool is_by_time, is_by_host;
	struct groups *groups;
	struct arena *batch; /* of the texts of some rows */
	struct day_shares days; /* of the job at hand */
	int64_t last_job_id, last_too_long_id;
	bool is_done;
};

static const char *find_column(struct span name)
{
	static const char *const columns[][3] = {{"name", "TrainingJobName", "j.name"},
		{"status", "TrainingJobStatus", "j.status"}, {"secondary", "SecondaryStatus", "j.secondary"},
		{"team", "team", "j.team"}, {"FailureReason", "FailureReason", "j.failure_reason"}};
	bool is_text;

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (span_equal(name, span_from(columns[i][0])) || span_equal(name, span_from(columns[i][1])))
			return columns[i][2];
	const char *derived = search_derived_order(name, &is_text);
	return is_text || span_equal(name, SPAN("attempts")) ? derived : NULL;
}

static bool find_kind(struct span name, enum dimension_kind *kind)
{
	static const struct {
		const char *name;
		enum dimension_kind kind;
	} kinds[] = {{"month", BY_MONTH}, {"day", BY_DAY}, {"node", BY_HOST}, {"host", BY_HOST}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_equal(name, span_from(kinds[i].name))) {
			*kind = kinds[i].kind;
			return true;
		}
	return false;
}

/* `by` and `of` have columns of their own. */
static enum status in_field(enum status status, const char *field, struct error *err)
{
	if (status == ERR_SEMANTIC && err)
		snprintf(err->field, sizeof err->field, "%s", field);
	return status;
}

/* Of the document, by one or several keys of its attributes. */
static bool is_of_attributes(struct search_sql *sql, const struct query_term *term, struct search_leaf *keys)
{
	return search_leaf_of(term, sql->arena, keys) && keys->kind == SEARCH_LEAF_TEXTS;
}

static enum status resolve_name(
	struct search_sql *sql, const struct query_term *term, struct dimension *out, struct error *err)
{
	bool is_property = term->family == QUERY_PROPERTY;

	*out = (struct dimension){.kind = BY_COLUMN};
	if (is_property && find_kind(term->key, &out->kind))
		return OK;
	out->column = is_property ? find_column(term->key) : NULL;
	if (out->column)
		return OK;
	out->kind = BY_ATTRIBUTE;
	out->by_hand = is_property && span_equal(term->key, SPAN("instance")) ? "by_hand.instance_type" : NULL;
	if (is_of_attributes(sql, term, &out->keys))
		return OK;
	return search_mistake(err, term,
		"jobs are not grouped by '%.*s' but by month, day, node, team, owner, project, status, secondary, name, "
		"instance, image, failure, pool, attempts, label, tag.KEY, hp.KEY, env.KEY or a property as "
		"ResourceConfig.InstanceType",
		(int)(term->key.len < 80 ? term->key.len : 80), term->key.ptr);
}

/* ---- SQL ---- */

static void add_key_list(struct search_sql *sql, const struct search_leaf *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		search_add_text(sql, i ? ", ?" : "?", keys->sources[i].key);
	search_add(sql, ")");
}

static void add_name(struct search_sql *sql, const struct dimension *dimension, size_t index)
{
	char piece[32];

	switch (dimension->kind) {
	case BY_COLUMN:
		search_add(sql, ", nullif(CAST("); /* attempts are a number */
		search_add(sql, dimension->column);
		search_add(sql, " AS TEXT), '')");
		break;
	case BY_ATTRIBUTE:
	case BY_HOST:
		snprintf(piece, sizeof piece, ", d%zu.%s", index, dimension->kind == BY_HOST ? "host" : "text");
		search_add(sql, piece);
		break;
	case BY_MONTH:
	case BY_DAY:
		search_add(sql, ", NULL"); /* is made of the times */
		break;
	}
}

static void add_keys(struct search_sql *sql, const struct dimension *dimension, size_t index)
{
	char piece[64];

	if (dimension->by_hand) {
		search_add_text(sql,
			"CASE WHEN EXISTS (SELECT 1 FROM attributes AS h WHERE h.job_id = j.job_id AND h.key = ?)",
			span_from(dimension->by_hand));
		snprintf(piece, sizeof piece, " THEN d%zu.key = ", index);
		search_add(sql, piece);
		search_add_text(sql, "? ELSE ", span_from(dimension->by_hand));
	}
	snprintf(piece, sizeof piece, "d%zu.key IN (", index);
	search_add(sql, piece);
	add_key_list(sql, &dimension->keys);
	search_add(sql, dimension->by_hand ? " END" : "");
}

static void add_join(struct search_sql *sql, const struct dimension *dimension, size_t index)
{
	char piece[128];

	if (dimension->kind == BY_HOST) {
		snprintf(
			piece, sizeof piece, " LEFT JOIN stream_hosts AS d%zu ON d%zu.job_id = j.job_id", index, index);
		search_add(sql, piece);
	} else if (dimension->kind == BY_ATTRIBUTE) {
		snprintf(piece, sizeof piece, " LEFT JOIN attributes AS d%zu ON d%zu.job_id = j.job_id AND ", index,
			index);
		search_add(sql, piece);
		add_keys(sql, dimension, index);
	}
}

static void add_metric(struct search_sql *sql, const struct query_term *term)
{
	struct search_figure figure = search_figure_of(term->aggregate);
	enum role role = ROLE_OTHER;

	search_add(sql, ", (SELECT CASE WHEN ");
	search_add(sql, figure.is_there);
	search_add(sql, " AND NOT (");
	search_add(sql, figure.is_nan);
	search_add(sql, ") THEN ");
	search_add(sql, figure.column);
	search_add(sql, " END FROM summaries AS s" SEARCH_RANKINGS " WHERE s.job_id = j.job_id AND ");
	if (term->is_role && role_parse(term->key, &role))
		search_add_i64(sql, "s.main_role = ?)", role);
	else
		search_add_text(sql, "s.metric = ?)", term->key);
}

static enum status add_figure(struct search_sql *sql, const struct aggregate_figure *figure,
	const struct quantity **quantity, struct error *err)
{
	const struct query_term *term = &figure->quantity.term;
	struct search_leaf keys;

	*quantity = NULL;
	if (figure->counts_jobs) {
		search_add(sql, ", NULL");
		return OK;
	}
	if (term->family == QUERY_METRIC) {
		add_metric(sql, term);
		return OK;
	}
	*quantity = term->family == QUERY_PROPERTY ? find_quantity(term->key) : NULL;
	bool is_text, is_attempts = term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("attempts"));
	if (*quantity || is_attempts) {
		search_add(sql, ", ");
		search_add(sql, *quantity ? (*quantity)->sql : search_derived_order(term->key, &is_text));
		return OK;
	}
	if (!is_of_attributes(sql, term, &keys))
		return search_mistake(err, term,
			"'%.*s' is no quantity of a job; there are duration, billable, node_hours, nodes, cost, lost_cost, lost_steps, goodput, attempts, "
			"metrics as "
			"loss.final or metric.NAME.max, hp.KEY, tag.KEY, env.KEY and properties as ResourceConfig.InstanceCount",
			(int)(term->key.len < 80 ? term->key.len : 80), term->key.ptr);
	search_add(sql,
		", (SELECT a.number FROM attributes AS a WHERE a.job_id = j.job_id AND a.number IS NOT NULL AND "
		"a.key IN (");
	add_key_list(sql, &keys);
	search_add(sql, " ORDER BY a.key LIKE 'by_hand.%' DESC, a.position LIMIT 1)");
	return OK;
}

/* job_id, when it began and ended, its hosts, what sums leave out of it, what its days are of, the names, the figures. */
static enum status add_rows(struct search_sql *sql, struct aggregating *a, struct error *err)
{
	const struct job_aggregation *ask = a->ask;

	/* The first value that is bound: ?1, wherever it stands. */
	search_add_i64(sql,
		"SELECT j.job_id, CASE WHEN j.started_ms > 0 THEN j.started_ms ELSE j.created_ms END, coalesce(" TIME_MS
		", 0), ",
		ask->now_ms);
	search_add(sql, a->is_by_host ? ALL_HOSTS : "1");
	search_add(sql, ask->wants_unpriced ? ", coalesce(" GOODPUT("unpriced") ", ''), coalesce(" ESTIMATED ", 0)"
					    : ", '', 0");
	search_add(sql, ask->wants_losses ? ", " UNKNOWN_LOSSES : ", 0");
	search_add(sql,
		a->is_by_time ? ", " GOODPUT("nodes") ", " GOODPUT("paused_ms") ", " GOODPUT("as_of_ms") : ", 0, 0, 0");
	for (size_t i = 0; i < ask->name_count; i++)
		add_name(sql, &a->by[i], i);
	for (size_t i = 0; i < ask->figure_count; i++)
		TRY(in_field(add_figure(sql, &ask->figures[i], &a->of[i], err), "of", err));
	search_add(sql, " FROM jobs AS j");
	for (size_t i = 0; i < ask->name_count; i++)
		add_join(sql, &a->by[i], i);
	search_add_i64(sql, " WHERE j.job_id > ? AND ", a->last_job_id);
	TRY(search_compile(sql, ask->query, err));
	search_add(sql, " ORDER BY j.job_id");
	return OK;
}

/* ---- rows ---- */

struct row {
	int64_t job_id, begin_ms, length_ms;
	double hosts;
	struct job_gaps gaps;
	struct span keys[NAMES_MAX];
	double values[FIGURES_MAX];
};

static enum status read_row(struct aggregating *a, struct statement *s, struct row *row, struct error *err)
{
	row->job_id = column_i64(s);
	row->begin_ms = column_i64(s);
	row->length_ms = column_i64(s);
	row->hosts = (double)column_i64(s);
	row->gaps.unpriced = column_span(s, a->batch);
	row->gaps.is_estimated = column_bool(s);
	row->gaps.unknown_losses = column_u64(s);
	a->days.nodes = column_i64(s);
	a->days.paused_ms = column_i64(s);
	a->days.as_of_ms = column_i64(s);
	for (size_t i = 0; i < a->ask->name_count; i++) {
		bool is_none = column_is_null(s);
		row->keys[i] = column_span(s, a->batch);
		if (is_none)
			row->keys[i].ptr = NULL;
	}
	for (size_t i = 0; i < a->ask->figure_count; i++) {
		bool is_none = column_is_null(s);
		double value = column_finite(s);
		if (is_none)
			value = NAN;
		/* Infinities are stored as the largest doubles. */
		row->values[i] = value >= DBL_MAX ? INFINITY : value <= -DBL_MAX ? -INFINITY : value;
	}
	return statement_check(s, err);
}

static enum status add_share(struct aggregating *a, const struct row *row, const struct span *keys,
	const struct day_part *part, struct error *err)
{
	double values[FIGURES_MAX];

	for (size_t i = 0; i < a->ask->figure_count; i++) {
		const struct quantity *of = a->of[i];
		values[i] = row->values[i];
		if (of && part)
			values[i] = day_part_of(part, of->share, values[i]);
		if (of && of->adds_up_over_nodes && a->is_by_host && row->hosts > 1)
			values[i] /= row->hosts;
	}
	return groups_add(a->groups, row->job_id, keys, values, &row->gaps, err);
}

/* "2026-11-21" of the moment, and when the next day (or month) begins there. */
static int64_t find_period(const struct aggregating *a, int64_t at_ms, bool is_month, char text[ISO8601_BYTES])
{
	int64_t local_ms = at_ms + zone_offset_ms(a->ask->zone, at_ms), year = 0, month = 0, next_ms;

	iso8601_format(local_ms, text);
	if (is_month) {
		span_parse_i64(span_of(text, 4), &year);
		span_parse_i64(span_of(text + 5, 2), &month);
		next_ms = iso8601_days(year + month / 12, (unsigned)(month % 12 + 1), 1) * DAY_MS;
	} else {
		next_ms = local_ms - ((local_ms % DAY_MS) + DAY_MS) % DAY_MS + DAY_MS;
	}
	next_ms = zone_to_utc_ms(a->ask->zone, next_ms);
	return next_ms > at_ms ? next_ms : at_ms + HOUR_MS; /* years that have more digits than four */
}

static bool is_by_months(const struct aggregating *a)
{
	bool is_month = true;

	for (size_t i = 0; i < a->ask->name_count; i++)
		is_month = is_month && a->by[i].kind != BY_DAY;
	return is_month;
}

/* One job's wrong start is not everybody's: it has no part in the groups, and is counted. */
static bool is_too_long(struct aggregating *a, const struct row *row)
{
	int64_t at_ms = row->begin_ms, end_ms = row->begin_ms + row->length_ms;
	bool is_month = is_by_months(a);
	uint64_t periods = 0;
	char text[ISO8601_BYTES];

	if ((uint64_t)(row->length_ms / DAY_MS) + 2 < a->ask->max_periods)
		return false;
	do
		at_ms = find_period(a, at_ms, is_month, text);
	while (++periods <= a->ask->max_periods && at_ms < end_ms);
	if (periods <= a->ask->max_periods)
		return false;
	if (a->last_too_long_id != row->job_id)
		++*a->ask->too_long_jobs;
	a->last_too_long_id = row->job_id;
	return true;
}

static enum status add_periods(struct aggregating *a, const struct row *row, struct error *err)
{
	int64_t end_ms = row->begin_ms + row->length_ms, next_ms;
	struct span keys[NAMES_MAX];
	char text[ISO8601_BYTES];
	bool is_month = is_by_months(a);

	if (is_too_long(a, row))
		return OK;
	day_shares_start(&a->days, row->begin_ms, end_ms);
	for (int64_t at_ms = row->begin_ms;; at_ms = next_ms) {
		next_ms = find_period(a, at_ms, is_month, text);
		for (size_t i = 0; i < a->ask->name_count; i++)
			keys[i] = a->by[i].kind == BY_MONTH ? span_of(text, 7)
				  : a->by[i].kind == BY_DAY ? span_of(text, 10)
							    : row->keys[i];
		int64_t until_ms = next_ms < end_ms ? next_ms : end_ms;
		struct day_part part = day_shares_next(&a->days, at_ms, until_ms);
		if (part.has_run)
			TRY(add_share(a, row, keys, &part, err));
		if (next_ms >= end_ms)
			return OK;
	}
}

/* Rows from behind last_job_id on, until it has been long enough; never half of a job. */
static enum status take_rows(struct aggregating *a, struct store_reader *reader, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, a->batch);
	AUTO_DONE(statement) s = {0};
	AUTO_MEM struct row *row = mem_alloc(sizeof *row);
	bool has_row;

	if (!row)
		return error_no_memory(err);
	sql.logs = a->ask->logs;
	TRY(add_rows(&sql, a, err));
	if (sql.is_partial)
		return error_set(err, ERR_UNAVAILABLE, "the search takes too long to be added up: ask for less");
	TRY(search_sql_open(&s, reader, &sql, err));
	int64_t until_ms = clock_mono_ms() + VIEW_MS; /* what the condition took to be made would be taken each time */
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		TRY(read_row(a, &s, row, err));
		if (row->job_id != a->last_job_id && clock_mono_ms() > until_ms)
			return search_sql_check(&sql, err);
		if (a->is_by_time && row->job_id != a->last_job_id)
			TRY(store_read_goodput_days(reader, a->batch, row->job_id, INT64_MIN, INT64_MAX, &a->days.days,
				&a->days.count, err));
		a->last_job_id = row->job_id;
		TRY(a->is_by_time ? add_periods(a, row, err) : add_share(a, row, row->keys, NULL, err));
		TRY(statement_step(&s, &has_row, err));
	}
	a->is_done = true;
	return search_sql_check(&sql, err);
}

static enum status take_view(struct aggregating *a, struct store_reader *reader, struct error *err)
{
	AUTO(arena) batch = arena_new();

	if (!batch)
		return error_no_memory(err);
	a->batch = batch;
	TRY(store_reader_begin(reader, err));
	enum status status = take_rows(a, reader, err);
	store_reader_end(reader);
	return status;
}

static enum status resolve(struct aggregating *a, struct store_reader *reader, struct arena *arena, struct error *err)
{
	AUTO_DONE(search_sql) sql = search_sql_on(reader, arena);

	for (size_t i = 0; i < a->ask->name_count; i++) {
		TRY(in_field(resolve_name(&sql, &a->ask->names[i].term, &a->by[i], err), "by", err));
		a->is_by_time |= a->by[i].kind == BY_MONTH || a->by[i].kind == BY_DAY;
		a->is_by_host |= a->by[i].kind == BY_HOST;
	}
	return OK;
}

enum status store_aggregate_jobs(struct store_reader *reader, struct arena *arena,
	const struct job_aggregation *aggregation, struct job_group **out, size_t *count, struct error *err)
{
	AUTO_MEM struct aggregating *a = mem_zeroed(sizeof *a);
	AUTO(groups) groups = NULL;
	int64_t until_ms = clock_mono_ms() + aggregation->time_ms;

	if (!a)
		return error_no_memory(err);
	TRY(groups_new(&groups, aggregation, err));
	a->ask = aggregation;
	a->groups = groups;
	TRY(resolve(a, reader, arena, err));
	while (!a->is_done) {
		TRY(take_view(a, reader, err));
		if (!a->is_done && clock_mono_ms() > until_ms)
			return error_set(err, ERR_UNAVAILABLE,
				"to add up all these jobs takes longer than %lld ms (--search-ms): ask for fewer",
				(long long)aggregation->time_ms);
	}
	return groups_finish(groups, arena, out, count, err);
}
