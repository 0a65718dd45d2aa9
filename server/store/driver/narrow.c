#include "store/driver/narrow.h"

#include "store/driver/common_sql.h"

#define ALL "true"
#define NONE "false"

enum { VIEW_MAX_BYTES = 64 << 10, RANKS = 3 };

/* Of jobs, and of those of each type. */
#define BOTH(name, sum, from)                                                                                          \
	" UNION ALL SELECT '" name "', '', " sum " FROM " from " UNION ALL SELECT '" name "', f.instance_type, " sum   \
	" FROM " from " AND f.instance_type <> '' GROUP BY f.instance_type"
#define GOES_ON "fleet_jobs AS f WHERE f.ended_ms = 0"
#define WAITS                                                                                                          \
	"pool_jobs AS p JOIN fleet_jobs AS f ON f.job_id = p.job_id WHERE p.pool_id <> 0 AND p.is_last = 1"            \
	" AND p.state = 2"
#define NODES SQL_TOTAL("f.nodes")
#define TIMES(ms) SQL_TOTAL("CAST(f.nodes AS DOUBLE PRECISION) * (" ms ")")

/* As fleet_rows.h says, of the jobs that are seen. What was highest once is not kept for them: it is what is now. */
static const char FLEET_TOTALS[] =
	"SELECT s.name, s.instance_type, CAST(sum(s.value) AS BIGINT) AS value,"
	" CASE WHEN s.name IN ('nodes_of_a_job', 'run_ms') THEN max(s.value) ELSE 0 END AS highest,"
	" CAST(0 AS BIGINT) AS highest_ms FROM"
	" (SELECT 'jobs' AS name, status AS instance_type, count(*) AS value FROM fleet_jobs GROUP BY status"
	" UNION ALL SELECT 'pools', CAST(state AS TEXT), count(*) FROM pool_jobs WHERE pool_id <> 0 AND is_last = 1"
	" GROUP BY state UNION ALL SELECT 'unpriced_jobs', '', count(*) FROM goodput WHERE unpriced <> ''" NOT_IN_TRASH
	" UNION ALL SELECT 'nodes_of_a_job', '', coalesce(max(nodes), 0) FROM fleet_jobs"
	" UNION ALL SELECT 'run_ms', '', coalesce(max(ended_ms - started_ms - paused_ms), 0) FROM fleet_jobs"
	" WHERE started_ms > 0 AND ended_ms > started_ms UNION ALL SELECT 'started_nodes', '', " NODES " FROM " GOES_ON
	" AND f.started_ms > 0 AND f.billed_ms < 0 UNION ALL SELECT 'started_node_ms', '', " TIMES(
		"f.started_ms + f.unbilled_ms") " FROM " GOES_ON
						" AND f.started_ms > 0 AND f.billed_ms < 0" BOTH("node_ms",
							TIMES("f.billed_ms"),
							"fleet_jobs AS f WHERE f.billed_ms >= 0") BOTH("nodes", NODES,
							GOES_ON) BOTH("held_nodes", NODES, GOES_ON)
							BOTH("held_nodes", NODES, WAITS) BOTH("pool_nodes", NODES,
								WAITS) ") AS s GROUP BY s.name, s.instance_type";

/* Tables that are none of jobs or of teams, or are of no use to a narrow reader: which rows of it are seen. */
static const struct exception {
	const char *table, *condition;
} exceptions[] = {
	{"audit", NONE}, /* admins read it, who are not narrow */
	{"counters", ALL},
	{"goodput_deleted", NONE},
	{"journal", ALL}, /* by the numbers of streams that were found */
	{"pool_shapes", "t.shape IN (SELECT p.shape FROM pool_jobs AS p)"},
	{"quotas", ALL},
	{"settings", ALL},
	{"tokens", NONE},
};

static bool has_column(const struct table_shape *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (span_equal(table->columns[i], span_from(name)))
			return true;
	return false;
}

/* NULL: it is none. */
static const char *find_exception(const struct table_shape *table)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (span_equal(table->name, span_from(exceptions[i].table)))
			return exceptions[i].condition;
	return NULL;
}

/* Of days the sums; each row is of one. */
static void put_days(struct buf *out, const struct table_shape *table)
{
	buf_append_text(out, "SELECT day");
	for (size_t i = 0; i < table->column_count; i++)
		if (!span_equal(table->columns[i], SPAN("day")))
			buf_printf(out, ", CAST(coalesce(sum(CAST(%.*s AS DOUBLE PRECISION)), 0) AS BIGINT) AS %.*s",
				SPAN_ARGS(table->columns[i]), SPAN_ARGS(table->columns[i]));
	buf_append_text(out, " FROM goodput_days WHERE job_id IN (SELECT job_id FROM jobs) GROUP BY day");
}

/* The name of a job is told in rows of another one. */
static void put_column(struct buf *out, const struct table_shape *table, struct span column)
{
	if (span_equal(table->name, SPAN("pool_jobs")) && span_equal(column, SPAN("told_heir")))
		buf_append_text(
			out, "coalesce((SELECT h.name FROM jobs AS h WHERE h.name = t.told_heir), '') AS told_heir");
	else
		buf_printf(out, "t.%.*s", SPAN_ARGS(column));
}

static void put_condition(struct buf *out, const struct table_shape *table, struct span schema, const char *team)
{
	static const char *const homes[] = {"jobs", "trashed_jobs"};
	const char *exception = find_exception(table);

	if (exception)
		buf_append_text(out, exception);
	else if (span_equal(table->name, span_from(homes[0])) || span_equal(table->name, span_from(homes[1])))
		buf_printf(out, "t.team <> '' AND t.team = (SELECT %s)", team);
	else if (has_column(table, "job_id"))
		for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
			buf_printf(out,
				"%sEXISTS (SELECT 1 FROM %.*s.%s AS j WHERE j.job_id = t.job_id AND j.team <> ''"
				" AND j.team = (SELECT %s))",
				i ? " OR " : "", SPAN_ARGS(schema), homes[i], team);
	else if (has_column(table, "team"))
		buf_printf(out, "t.team IN ('', (SELECT %s))", team);
	else
		buf_append_text(out, NONE);
}

static void put_rows(struct buf *out, const struct table_shape *table, struct span schema, const char *team)
{
	buf_append_text(out, "SELECT ");
	for (size_t i = 0; i < table->column_count; i++) {
		buf_append_text(out, i ? ", " : "");
		put_column(out, table, table->columns[i]);
	}
	buf_printf(out, " FROM %.*s.%.*s AS t WHERE ", SPAN_ARGS(schema), SPAN_ARGS(table->name));
	put_condition(out, table, schema, team);
}

static enum status make_view(
	struct store_reader *on, const struct table_shape *table, struct span schema, struct error *err)
{
	AUTO_DONE(buf) sql = BUF_INIT(VIEW_MAX_BYTES);

	buf_printf(&sql, "CREATE TEMP VIEW %.*s AS ", SPAN_ARGS(table->name));
	if (span_equal(table->name, SPAN("fleet_totals")))
		buf_append_text(&sql, FLEET_TOTALS);
	else if (span_equal(table->name, SPAN("goodput_totals")))
		put_days(&sql, table);
	else
		put_rows(&sql, table, schema, on->driver->narrow_team_sql);
	buf_append_char(&sql, 0);
	TRY(buf_status(&sql, err));
	return connection_run(on, sql.ptr, err);
}

/* Views of views come after these. */
static int rank_of(const struct table_shape *table)
{
	static const struct {
		const char *table;
		int rank;
	} ranks[] = {{"pool_jobs", 1}, {"fleet_totals", RANKS - 1}, {"goodput_totals", RANKS - 1},
		{"pool_shapes", RANKS - 1}};

	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
		if (span_equal(table->name, span_from(ranks[i].table)))
			return ranks[i].rank;
	return 0;
}

enum status narrow_make_views(struct store_reader *on, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	AUTO(arena) arena = arena_new();
	struct table_shape *tables;
	size_t count;
	bool has_row;

	if (!arena)
		return error_no_memory(err);
	TRY(statement_open_once(&s, on, span_from(on->driver->schema_sql), err));
	TRY(statement_step(&s, &has_row, err));
	struct span schema = has_row ? column_span(&s, arena) : SPAN("");
	TRY(statement_check(&s, err));
	statement_done(&s);
	TRY(connection_tables(on, arena, &tables, &count, err));
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < count; i++)
			if (rank_of(&tables[i]) == rank)
				TRY(make_view(on, &tables[i], schema, err));
	return OK;
}
