#include "store/sql/search/search_derived.h"

#include "base/clock.h"
#include "model/query.h"
#include "store/driver/common_sql.h"
#include "store/driver/connection.h"
#include "store/run.h"
#include "store/sql/search/search_compare.h"
#include "store/sql/search/search_judge.h"
#include "store/sql/search/search_pattern.h"

/* ---- warm pools: what a job's document reports, else what pool_jobs derived (fleet/pool.h has the states' numbers) ---- */

/* A cluster whose time is over is gone, also before the row says so. */
#define IS_OVER "(p.state = 2 AND p.until_ms <= :now)"
/* A pool's first job runs on a cluster that is no warm pool yet; and what is reported is not worked out. */
#define HAS_STATUS                                                                                                                    \
	"p.pool_id <> 0 AND (p.position > 0 OR p.state <> 1) AND NOT EXISTS (SELECT 1 FROM attributes AS b WHERE b.job_id = p.job_id" \
	" AND b.key >= 'WarmPoolStatus.' AND b.key < 'WarmPoolStatus/')"
#define STATE                                                                                                          \
	"CASE WHEN " IS_OVER " THEN 'Terminated' WHEN p.state = 1 THEN 'InUse' WHEN p.state = 2 THEN 'Available'"      \
	" WHEN p.state = 3 THEN 'Reused' ELSE 'Terminated' END"
#define RETAINED_S                                                                                                     \
	"CASE WHEN " IS_OVER " THEN " SQL_GREATER("p.until_ms - p.ended_ms", "0") " / 1000 WHEN p.state IN (3, 4)"     \
										  " THEN p.retained_ms / 1000 END"
#define HEIR(column) "(SELECT h." column " FROM jobs AS h WHERE h.job_id = p.heir_id)"

#define REPORTED(key, number)                                                                                          \
	"SELECT a.job_id, a.text, a.folded, " number " FROM attributes AS a WHERE a.key = '" key "'"
#define WORKED_OUT(text, folded, number)                                                                               \
	" UNION ALL SELECT p.job_id, " text ", " folded ", " number " FROM pool_jobs AS p WHERE " HAS_STATUS
#define NO_NUMBER "CAST(NULL AS DOUBLE PRECISION)"
#define AS_TEXT(number) "CAST(" number " AS TEXT)"
#define STATUS_KEY "WarmPoolStatus.Status"
#define RETAINED_KEY "WarmPoolStatus.ResourceRetainedBillableTimeInSeconds"
#define HEIR_KEY "WarmPoolStatus.ReusedByJob"
#define ORDER(key, text)                                                                                               \
	"coalesce((SELECT a.text FROM attributes AS a WHERE a.job_id = j.job_id AND a.key = '" key                     \
	"' ORDER BY a.position LIMIT 1), (SELECT " text                                                                \
	" FROM pool_jobs AS p WHERE p.job_id = j.job_id AND " HAS_STATUS "), '')"

static const struct pool_property {
	const char *name;
	const char *rows; /* job_id, text, folded, number */
	const char *order;
	bool is_text;
} pool_properties[] = {
	/* A number is the pool's, also of the job that began it. */
	{"pool",
		REPORTED(STATUS_KEY, NO_NUMBER) WORKED_OUT(STATE, "lower(" STATE ")",
			NO_NUMBER) " UNION ALL SELECT p.job_id, NULL, NULL, p.pool_id FROM pool_jobs AS p WHERE p.pool_id <> 0",
		ORDER(STATUS_KEY, STATE), true},
	{STATUS_KEY, REPORTED(STATUS_KEY, NO_NUMBER) WORKED_OUT(STATE, "lower(" STATE ")", NO_NUMBER),
		ORDER(STATUS_KEY, STATE), true},
	{RETAINED_KEY,
		REPORTED(RETAINED_KEY, "a.number") WORKED_OUT(AS_TEXT(RETAINED_S), AS_TEXT(RETAINED_S), RETAINED_S),
		/* 1: not retained at all has its place before a second. */
		"coalesce(1 + (SELECT CAST(a.number AS BIGINT) FROM attributes AS a WHERE a.job_id = j.job_id AND a.key = '" RETAINED_KEY
		"' AND a.number BETWEEN 0 AND 1e15 ORDER BY a.position LIMIT 1), 1 + (SELECT " RETAINED_S
		" FROM pool_jobs AS p WHERE p.job_id = j.job_id AND " HAS_STATUS "), 0)",
		false},
	{HEIR_KEY, REPORTED(HEIR_KEY, NO_NUMBER) WORKED_OUT(HEIR("name"), HEIR("folded"), NO_NUMBER),
		ORDER(HEIR_KEY, HEIR("name")), true},
};

static const struct pool_property *find_pool(struct span name)
{
	for (size_t i = 0; i < sizeof pool_properties / sizeof *pool_properties; i++)
		if (span_equal(name, span_from(pool_properties[i].name)))
			return &pool_properties[i];
	return NULL;
}

/* By a pattern: which of the jobs C finds. */
static enum status add_judged_pool(
	struct search_sql *sql, const struct pool_property *property, const struct query_term *term, struct error *err)
{
	AUTO_DONE(search_sql) rows = search_rows_for(sql);

	search_add(&rows, "WITH d (job_id, text, folded, number) AS (");
	search_add(&rows, property->rows);
	search_add(&rows, ") SELECT d.job_id, d.text FROM d WHERE ");
	search_add_among(&rows, sql, "d.job_id");
	search_add(sql, search_is_negated(term) ? "NOT " : "");
	return search_add_judged_match(sql, &rows, term, err);
}

static enum status add_pool(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	const struct pool_property *property = find_pool(term->key);
	const struct search_operand operand = {.text = "d.text",
		.folded = "d.folded",
		.number = "d.number",
		.ignores_case = property->is_text && strcmp(property->name, HEIR_KEY) != 0};

	if (search_is_judged(sql, term))
		return add_judged_pool(sql, property, term, err);
	search_add(sql, search_is_negated(term) ? "j.job_id NOT IN (" : "j.job_id IN (");
	search_add(sql, "WITH d (job_id, text, folded, number) AS (");
	search_add(sql, property->rows);
	search_add(sql, ") SELECT d.job_id FROM d WHERE ");
	if (term->compare == QUERY_EXISTS)
		search_add(sql, "d.text IS NOT NULL");
	else
		TRY(search_add_comparisons(sql, &operand, term, err));
	search_add(sql, ")");
	return OK;
}

/* ---- runs ---- */

static enum status add_run_of(struct search_sql *sql, const struct query_term *term, struct span job, struct error *err)
{
	struct error missing = {0};
	struct run_link *links = NULL;
	size_t count = 0, at;

	enum status status = store_read_run(sql->reader, sql->arena, job, &links, &count, &at, &missing);
	if (status == ERR_NOT_FOUND)
		return OK; /* and so is its run */
	if (status != OK)
		return error_set(err, status, "%s", missing.text);
	sql->run_jobs += count;
	if (sql->run_jobs > SEARCH_MAX_RUN_JOBS)
		return search_mistake(
			err, term, "the runs that are asked for have more than %d jobs", SEARCH_MAX_RUN_JOBS);
	for (size_t i = 0; i < count; i++)
		search_add_i64(sql, ", ?", links[i].job_id);
	return OK;
}

/* In a run are those that go on with another job that is there, and those that another goes on with. */
#define LINKS                                                                                                          \
	" FROM attributes AS a JOIN jobs AS o ON o.name = a.text WHERE a.key = 'tag.continues' AND a.job_id <> o.job_id"

static enum status add_run(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	search_add(sql, search_is_negated(term) ? "j.job_id NOT IN (" : "j.job_id IN (");
	switch (term->compare) {
	case QUERY_EXISTS:
		search_add(sql, "SELECT a.job_id" LINKS " UNION ALL SELECT o.job_id" LINKS);
		break;
	case QUERY_CONTAINS:
	case QUERY_EQUAL:
	case QUERY_NOT_EQUAL:
	case QUERY_IN:
		search_add(sql, "0"); /* nobody's: a list has a first element */
		for (size_t i = 0; i < term->value_count; i++)
			TRY(add_run_of(sql, term, term->values[i].text, err));
		break;
	default:
		return search_mistake(err, term, "run takes ':', '=', '!=', in and exists, and names of jobs");
	}
	search_add(sql, ")");
	return OK;
}

/* By a later one: of jobs that go on with each other in a circle the newest is not. */
static enum status add_continued(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	if (term->compare != QUERY_EXISTS)
		return search_mistake(err, term, "continued takes exists alone: does a later job go on with this one?");
	search_add(sql, "j.job_id IN (SELECT o.job_id FROM attributes AS a JOIN jobs AS o ON o.name = a.text"
			" JOIN jobs AS n ON n.job_id = a.job_id WHERE a.key = 'tag.continues'"
			" AND (n.created_ms, n.job_id) > (o.created_ms, o.job_id))");
	return OK;
}

/* ---- silence: of a job that runs, since when nothing came of it ---- */

#define HEARD_MS "(CASE WHEN c.last_heard_ms > 0 THEN c.last_heard_ms ELSE c.last_line_ms END)"

static enum status add_silent(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	static const struct search_operand operand = {.number = "d.seconds"};

	search_add(sql, search_is_negated(term) ? "NOT (" : "(");
	search_add_i64(sql, "j.ended_ms = 0 AND EXISTS (SELECT 1 FROM (SELECT CAST(? - ", clock_wall_ms());
	/* while the server was down nobody was silent */
	search_add_i64(sql, "(CASE WHEN " HEARD_MS " > ?", connection_listens_since_ms(sql->reader));
	search_add_i64(sql, " THEN " HEARD_MS " ELSE ? END)", connection_listens_since_ms(sql->reader));
	search_add(sql,
		" AS DOUBLE PRECISION) / 1000 AS seconds FROM job_counts AS c WHERE c.job_id = j.job_id AND " HEARD_MS
		" > 0) AS d WHERE ");
	if (term->compare == QUERY_EXISTS)
		search_add(sql, "true");
	else
		TRY(search_add_comparisons(sql, &operand, term, err));
	search_add(sql, "))");
	return OK;
}

/* ---- attempts: as they were counted last, or as the transitions tell (attempts_told), whichever are more ---- */

#define BEGINS "('Restarting', 'Interrupted', 'Starting', 'Pending')"
/* What begins anew after it has trained, and before an end that was set by hand (6: SOURCE_BY_HAND). */
#define TOLD                                                                                                              \
	"1 + (SELECT count(*) FROM transitions AS t WHERE t.job_id = j.job_id AND t.position > 0 AND t.status IN " BEGINS \
	" AND 'Training' = (SELECT u.status FROM transitions AS u WHERE u.job_id = t.job_id AND u.position < t.position"  \
	" AND (u.status = 'Training' OR u.status IN " BEGINS ") ORDER BY u.position DESC LIMIT 1)"                        \
	" AND NOT EXISTS (SELECT 1 FROM transitions AS e WHERE e.job_id = t.job_id AND e.position > t.position"           \
	" AND e.source = 6 AND e.status <> 'Training' AND e.start_ms <= t.start_ms))"
#define ATTEMPTS                                                                                                       \
	"(SELECT " SQL_GREATER("v.told",                                                                               \
		"v.counted") " FROM (SELECT " TOLD                                                                     \
			     " AS told, coalesce((SELECT c.attempts FROM job_counts AS c WHERE c.job_id = j.job_id), 1) AS counted) AS v)"

static enum status add_judged_attempts(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	AUTO_DONE(search_sql) rows = search_rows_for(sql);

	search_add(&rows, "SELECT j.job_id, " AS_TEXT(ATTEMPTS) " FROM jobs AS j WHERE ");
	search_add_among(&rows, sql, "j.job_id");
	return search_add_judged_match(sql, &rows, term, err);
}

static enum status add_attempts(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	static const struct search_operand operand = {.text = AS_TEXT(ATTEMPTS), .number = ATTEMPTS};

	search_add(sql, search_is_negated(term) ? "NOT " : "");
	if (search_is_judged(sql, term))
		return add_judged_attempts(sql, term, err);
	if (term->compare != QUERY_EXISTS)
		return search_add_comparisons(sql, &operand, term, err);
	search_add(sql, "true"); /* the first one, at least */
	return OK;
}

/* ---- goodput in percent, cost in the currency: as they were worked out last ---- */

static const struct goodput_property {
	const char *name;
	const char *is_there;
	struct search_operand operand;
	const char *order; /* 0: none; so a cost of nothing has its place before a cent */
} goodput_properties[] = {
	{"goodput", "g.goodput IS NOT NULL", {.number = "g.goodput"},
		"coalesce((SELECT 1 + CAST(g.goodput * 1000000 AS BIGINT) FROM goodput AS g WHERE g.job_id = j.job_id), 0)"},
	{"cost", "g.cost IS NOT NULL AND g.unpriced = ''", {.number = "(CAST(g.cost AS DOUBLE PRECISION) / 1000000)"},
		"coalesce((SELECT 1 + g.cost FROM goodput AS g WHERE g.job_id = j.job_id AND g.unpriced = ''), 0)"},
};

static const struct goodput_property *find_goodput(struct span name)
{
	for (size_t i = 0; i < sizeof goodput_properties / sizeof *goodput_properties; i++)
		if (span_equal(name, span_from(goodput_properties[i].name)))
			return &goodput_properties[i];
	return NULL;
}

static enum status add_goodput(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	const struct goodput_property *property = find_goodput(term->key);

	search_add(sql, search_is_negated(term) ? "j.job_id NOT IN (" : "j.job_id IN (");
	search_add(sql, "SELECT g.job_id FROM goodput AS g WHERE ");
	search_add(sql, property->is_there);
	if (term->compare != QUERY_EXISTS) {
		search_add(sql, " AND ");
		TRY(search_add_comparisons(sql, &property->operand, term, err));
	}
	search_add(sql, ")");
	return OK;
}

/* ---- all of them ---- */

static bool is_silent(struct span name)
{
	return span_equal(name, SPAN("silent"));
}

static bool is_run(struct span name)
{
	return span_equal(name, SPAN("run"));
}

static bool is_continued(struct span name)
{
	return span_equal(name, SPAN("continued"));
}

static bool is_attempts(struct span name)
{
	return span_equal(name, SPAN("attempts"));
}

bool search_is_derived(const struct query_term *term)
{
	return term->family == QUERY_PROPERTY &&
	       (find_pool(term->key) || is_run(term->key) || is_silent(term->key) || is_attempts(term->key) ||
		       is_continued(term->key) || find_goodput(term->key));
}

enum status search_add_derived(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	if (is_run(term->key))
		return add_run(sql, term, err);
	if (find_goodput(term->key))
		return add_goodput(sql, term, err);
	if (is_continued(term->key))
		return add_continued(sql, term, err);
	if (is_attempts(term->key))
		return add_attempts(sql, term, err);
	return is_silent(term->key) ? add_silent(sql, term, err) : add_pool(sql, term, err);
}

const char *search_derived_order(struct span name, bool *is_text)
{
	const struct pool_property *pool = find_pool(name);

	*is_text = pool && pool->is_text;
	if (pool)
		return pool->order;
	if (is_attempts(name))
		return ATTEMPTS;
	if (find_goodput(name))
		return find_goodput(name)->order;
	/* By when it was heard of: its silence grows from page to page. 2^53 is behind all times. */
	return is_silent(name) ? "coalesce((SELECT 9007199254740992 - " HEARD_MS
				 " FROM job_counts AS c WHERE c.job_id = j.job_id"
				 " AND j.ended_ms = 0 AND " HEARD_MS " > 0), 0)"
			       : NULL;
}
