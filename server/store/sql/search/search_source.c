#include "store/sql/search/search_source.h"

#include "model/query.h"
#include "store/columns/job_changes.h"
#include "store/driver/common_sql.h"
#include "store/driver/statement.h"
#include "store/sql/jobs/jobs.h"
#include "store/sql/search/job_seconds.h"
#include "store/sql/search/search_derived.h"
#include "store/sql/search/search_lists.h"

enum { KEY_BYTES = 16384, SQL_BYTES = 4096 };

/* ---- what a term is of ---- */

static const struct column {
	const char *names[2];
	const char *column;
	bool is_number, ignores_case;
} columns[] = {
	{{"name", "TrainingJobName"}, "name", false, false},
	{{"status", "TrainingJobStatus"}, "status", false, true},
	{{"secondary", "SecondaryStatus"}, "secondary", false, true},
	{{"team", "team"}, "team", false, false},
	{{"FailureReason", "FailureReason"}, "failure_reason", false, false},
	{{"created", "CreationTime"}, "created_ms", true, false},
	{{"started", "TrainingStartTime"}, "started_ms", true, false},
	{{"ended", "TrainingEndTime"}, "ended_ms", true, false},
	{{"modified", "LastModifiedTime"}, "modified_ms", true, false},
};

static const struct alias {
	const char *name;
	const char *keys[SEARCH_LEAF_SOURCES];
	const char *by_hand;
} aliases[] = {
	{"instance", {"ResourceConfig.InstanceType", "ResourceConfig.InstanceGroups.InstanceType"},
		"by_hand.instance_type"},
	{"instances", {"ResourceConfig.InstanceCount", "ResourceConfig.InstanceGroups.InstanceCount"}, "by_hand.nodes"},
	{"image", {"AlgorithmSpecification.TrainingImage"}, NULL},
	{"role", {"RoleArn"}, NULL},
	{"owner", {"tag.owner"}, NULL},
	{"project", {"tag.project"}, NULL},
	{"label", {"Labels"}, NULL},
	{"failure", {"FailureClass"}, NULL},
	{"s3",
		{"InputDataConfig.DataSource.S3DataSource.S3Uri", "OutputDataConfig.S3OutputPath",
			"CheckpointConfig.S3Uri", "ModelArtifacts.S3ModelArtifacts", "hp.sagemaker_submit_directory"},
		NULL},
};

static struct search_source source_of(enum search_source_kind kind, const char *column)
{
	return (struct search_source){.kind = kind, .column = column, .key = SPAN("")};
}

struct search_source search_every_job(void)
{
	return source_of(SEARCH_JOB_NUMBER, "created_ms");
}

static void add_key(struct search_leaf *leaf, struct span key)
{
	leaf->sources[leaf->count++] = (struct search_source){.kind = SEARCH_ATTRIBUTE, .key = key};
}

static const struct alias *find_alias(struct span name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (span_equal(name, span_from(aliases[i].name)))
			return &aliases[i];
	return NULL;
}

/* As in the job's row. */
static const struct seconds {
	const char *names[2];
	const char *column;
	const char *sql; /* of `jobs AS j` */
} seconds[] = {
	{{"TrainingTimeInSeconds", "TrainingTimeInSeconds"}, "training_s", JOB_TRAINING_S},
	{{"billable", "BillableTimeInSeconds"}, "billable_s", JOB_BILLABLE_S},
	{{"StartKnownTime", "StartKnownTime"}, "started_known_ms", "nullif(" JOB_STARTED_KNOWN_MS("j.") ", 0)"},
	{{"EndKnownTime", "EndKnownTime"}, "ended_known_ms", "nullif(" JOB_ENDED_KNOWN_MS("j.") ", 0)"},
	{{NULL}, "until_ms", JOB_UNTIL_MS}, /* goes into `duration` */
};

static const struct seconds *find_seconds(struct span name)
{
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
		if (seconds[i].names[0] && (span_equal(name, span_from(seconds[i].names[0])) ||
						   span_equal(name, span_from(seconds[i].names[1]))))
			return &seconds[i];
	return NULL;
}

bool search_seconds_of(struct span name, struct search_source *source, const char **sql)
{
	const struct seconds *found = find_seconds(name);

	if (!found)
		return false;
	*source = source_of(SEARCH_JOB_NUMBER, found->column);
	*sql = found->sql;
	return true;
}

static const struct seconds *seconds_of(const struct search_source *source)
{
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds && source->column; i++)
		if (strcmp(source->column, seconds[i].column) == 0)
			return &seconds[i];
	return NULL;
}

static bool find_property(struct span key, struct search_leaf *out)
{
	const struct alias *alias = find_alias(key);

	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		const struct column *column = &columns[i];
		if (!span_equal(key, span_from(column->names[0])) && !span_equal(key, span_from(column->names[1])))
			continue;
		out->kind = column->is_number ? SEARCH_LEAF_TIME : SEARCH_LEAF_COLUMN;
		out->ignores_case = column->ignores_case;
		out->sources[out->count++] =
			source_of(column->is_number ? SEARCH_JOB_NUMBER : SEARCH_JOB_TEXT, column->column);
		return true;
	}
	if (find_seconds(key)) {
		out->kind = SEARCH_LEAF_TIME;
		out->sources[out->count++] = source_of(SEARCH_JOB_NUMBER, find_seconds(key)->column);
		return true;
	}
	if (span_equal(key, SPAN("duration"))) {
		out->kind = SEARCH_LEAF_DURATION;
		out->sources[out->count++] = source_of(SEARCH_JOB_NUMBER, "started_ms");
		out->sources[out->count++] = source_of(SEARCH_JOB_NUMBER, "until_ms");
		return true;
	}
	out->kind = SEARCH_LEAF_TEXTS;
	for (size_t i = 0; alias && i < SEARCH_LEAF_SOURCES && alias->keys[i]; i++) {
		add_key(out, span_from(alias->keys[i]));
		out->sources[i].by_hand = alias->by_hand;
	}
	if (alias && alias->by_hand)
		add_key(out, span_from(alias->by_hand));
	if (!alias && key.len && key.ptr[0] >= 'A' && key.ptr[0] <= 'Z')
		add_key(out, key);
	return out->count > 0;
}

static bool find_family(const struct query_term *term, struct arena *arena, struct search_leaf *out)
{
	AUTO_DONE(buf) key = BUF_INIT(KEY_BYTES);

	static const char *const prefixes[] = {
		[QUERY_HP] = "hp.", [QUERY_TAG] = "tag.", [QUERY_ENV] = "env.", [QUERY_LABEL] = "label."};

	buf_append_text(&key, prefixes[term->family]);
	buf_append_span(&key, term->key);
	struct span copy = key.failure ? span_of(NULL, 0) : arena_copy(arena, buf_span(&key));
	out->kind = SEARCH_LEAF_TEXTS;
	add_key(out, copy);
	return copy.ptr != NULL;
}

static void find_figure(const struct query_term *term, struct search_leaf *out)
{
	struct search_source source = {.kind = SEARCH_FIGURE, .key = SPAN(""), .aggregate = term->aggregate};

	out->kind = SEARCH_LEAF_FIGURE;
	if (!term->is_role || !role_parse(term->key, &source.role) || source.role == ROLE_OTHER) {
		source.role = ROLE_OTHER;
		source.key = term->key;
	}
	out->sources[out->count++] = source;
}

bool search_leaf_of(const struct query_term *term, struct arena *arena, struct search_leaf *out)
{
	*out = (struct search_leaf){0};
	switch (term->family) {
	case QUERY_TEXT:
		out->kind = SEARCH_LEAF_WORD;
		out->sources[out->count++] = source_of(SEARCH_JOB_TEXT, "name");
		out->sources[out->count++] = source_of(SEARCH_WORDS, NULL);
		return true;
	case QUERY_METRIC:
		find_figure(term, out);
		return true;
	case QUERY_PROPERTY:
		return !search_is_derived(term) && !search_is_row_list(term) && find_property(term->key, out);
	case QUERY_HP:
	case QUERY_TAG:
	case QUERY_ENV:
	case QUERY_LABEL:
		return find_family(term, arena, out);
	}
	return false;
}

bool search_attribute_of(struct span name, struct search_source *out)
{
	const struct alias *alias = find_alias(name);

	*out = (struct search_source){.kind = SEARCH_ATTRIBUTE,
		.key = alias ? span_from(alias->keys[0]) : name,
		.by_hand = alias ? alias->by_hand : NULL};
	return alias || span_starts_with(name, SPAN("hp.")) || span_starts_with(name, SPAN("tag.")) ||
	       span_starts_with(name, SPAN("env.")) || span_starts_with(name, SPAN("label.")) ||
	       (name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z');
}

/* ---- names ---- */

unsigned search_source_changes(const struct search_source *source)
{
	if (seconds_of(source))
		return SEARCH_CHANGED_JOB | SEARCH_CHANGED_DOCUMENT;
	return source->kind == SEARCH_FIGURE                                      ? SEARCH_CHANGED_METRICS
	       : source->kind == SEARCH_ATTRIBUTE || source->kind == SEARCH_WORDS ? SEARCH_CHANGED_DOCUMENT
										  : SEARCH_CHANGED_JOB;
}

void search_source_print(const struct search_source *source, struct buf *out)
{
	buf_printf(out, "%d %d %d %s ", source->kind, source->role, source->aggregate,
		source->column ? source->column : "");
	buf_append_span(out, source->key);
	buf_printf(out, " %s", source->by_hand ? source->by_hand : "");
}

void search_source_name(const struct search_source *source, struct buf *out)
{
	if (source->kind == SEARCH_WORDS)
		buf_append_text(out, "tags and notes");
	else if (source->column)
		buf_append_text(out, source->column);
	else if (source->kind == SEARCH_FIGURE && source->role != ROLE_OTHER)
		buf_append_text(out, role_name(source->role));
	else
		buf_append_span(out, source->key);
	if (source->kind == SEARCH_FIGURE)
		buf_printf(out, ".%s", query_aggregate_name(source->aggregate));
}

struct job_column *search_source_column(const struct search_source *source)
{
	return job_column_new(
		source->kind == SEARCH_JOB_NUMBER || source->kind == SEARCH_FIGURE, source->kind == SEARCH_WORDS);
}

/* ---- reading ---- */

struct search_figure search_figure_of(enum query_aggregate aggregate)
{
	static const struct search_figure figures[AGGREGATE_NUMBER] = {
		[AGGREGATE_LAST] = {"s.last", "s.last_kind = 1", "s.count > 0"},
		[AGGREGATE_MIN] = {"s.min", "false", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_MAX] = {"s.max", "false", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_MEAN] = {"s.mean", "s.mean_kind = 1", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_COUNT] = {"s.count", "false", "true"},
		[AGGREGATE_STEP] = {"s.last_step", "false", "s.count > 0"},
		[AGGREGATE_BEST] = {"r.best", "r.best_kind = 1", "r.job_id IS NOT NULL"},
		[AGGREGATE_BEST_STEP] = {"r.best_step", "false", "r.best_kind <> 1"},
		[AGGREGATE_FINAL] = {"r.final", "r.final_kind = 1", "r.job_id IS NOT NULL"},
	};

	return figures[aggregate];
}

static void print_figure_sql(const struct search_source *source, bool is_one, struct buf *sql)
{
	struct search_figure figure = search_figure_of(source->aggregate);
	bool is_ranked = source->aggregate >= AGGREGATE_BEST;

	buf_printf(sql,
		"SELECT s.job_id, CAST(%s AS DOUBLE PRECISION), " SQL_TRUTH(
			"%s") " FROM summaries AS s%s%s WHERE (%s) AND %s%s%s",
		figure.column, figure.is_nan,
		is_one                       ? ""
		: source->role == ROLE_OTHER ? " INDEXED BY summaries_by_metric"
					     : " INDEXED BY summaries_by_role",
		is_ranked ? SEARCH_RANKINGS : "", figure.is_there,
		source->role == ROLE_OTHER ? "s.metric = ?" : "s.main_role > 0 AND s.main_role = ?",
		is_one ? " AND s.job_id = ?" : "", is_one ? "" : " ORDER BY s.job_id");
}

/* Gives job, value, and of a figure whether it is NaN; the last parameter is the job, when it is one. */
static void print_sql(const struct search_source *source, bool is_one, struct buf *sql)
{
	switch (source->kind) {
	case SEARCH_JOB_NUMBER:
	case SEARCH_JOB_TEXT:
		buf_printf(sql, "SELECT job_id, %s FROM jobs AS j %s",
			seconds_of(source) ? seconds_of(source)->sql : source->column,
			is_one ? "WHERE job_id = ?" : "INDEXED BY jobs_in_short ORDER BY job_id");
		break;
	case SEARCH_ATTRIBUTE:
		buf_printf(sql, "SELECT job_id, text FROM attributes %s",
			is_one ? "WHERE key = ? AND job_id = ?" : "INDEXED BY attributes_by_key WHERE key = ?");
		if (source->by_hand)
			buf_printf(sql,
				" AND NOT EXISTS (SELECT 1 FROM attributes AS h WHERE h.job_id ="
				" attributes.job_id AND h.key = '%s')",
				source->by_hand);
		buf_append_text(sql, " ORDER BY job_id, position");
		break;
	case SEARCH_WORDS: /* '/' is the character behind '.': the range is all tags */
		for (int notes = 0; notes < 2; notes++)
			buf_printf(sql, "%sSELECT job_id, text FROM attributes %s WHERE %s%s",
				notes ? " UNION ALL " : "", is_one ? "" : "INDEXED BY attributes_by_key",
				notes ? "key = 'Notes'" : "key >= 'tag.' AND key < 'tag/'",
				is_one ? " AND job_id = ?1" : "");
		break;
	case SEARCH_FIGURE:
		print_figure_sql(source, is_one, sql);
		break;
	}
}

static void bind_key(const struct search_source *source, struct statement *s)
{
	if (source->kind == SEARCH_ATTRIBUTE || (source->kind == SEARCH_FIGURE && source->role == ROLE_OTHER))
		bind_text(s, source->key);
	else if (source->kind == SEARCH_FIGURE)
		bind_i64(s, source->role);
}

/* Of times that a job may not have. */
static bool is_missing(const struct search_source *source, double number)
{
	return number <= 0 && (strcmp(source->column, "started_ms") == 0 || strcmp(source->column, "ended_ms") == 0);
}

static bool add_row(const struct search_source *source, struct statement *s, struct job_column *column)
{
	int64_t job = column_i64(s);

	if (job < 0)
		return false;
	if (!column->has_numbers) {
		struct span text = column_borrow(s);
		return text.ptr && job_column_add_text(column, (size_t)job, text);
	}
	bool is_null = column_is_null(s);
	double number = column_finite(s);
	if (source->kind == SEARCH_FIGURE)
		number = column_bool(s) ? NAN : number;
	else if (is_null || is_missing(source, number))
		number = JOB_NUMBER_MISSING;
	return job_column_set_number(column, (size_t)job, number);
}

static enum status read_rows(
	const struct search_source *source, struct statement *s, struct job_column *column, struct error *err)
{
	bool has_row;

	TRY(statement_step(s, &has_row, err));
	while (has_row) {
		if (!add_row(source, s, column))
			return error_no_memory(err);
		TRY(statement_step(s, &has_row, err));
	}
	return OK;
}

enum status search_source_read(const struct search_source *source, struct store_reader *reader,
	struct job_column *column, const int64_t *jobs, size_t count, struct error *err)
{
	AUTO_DONE(buf) sql = BUF_INIT(SQL_BYTES);
	AUTO_DONE(statement) s = {0};

	print_sql(source, jobs != NULL, &sql);
	TRY(buf_status(&sql, err));
	TRY(statement_open_once(&s, reader, buf_span(&sql), err));
	if (!jobs) {
		bind_key(source, &s);
		return read_rows(source, &s, column, err);
	}
	for (size_t i = 0; i < count; i++) {
		statement_again(&s);
		bind_key(source, &s);
		bind_i64(&s, jobs[i]);
		TRY(read_rows(source, &s, column, err));
	}
	return OK;
}
