/*
 * The query's tree -> a condition on `jobs AS j`. Each comparison is compiled in its positive form; != and !~ are its plain
 * negation, so that jobs without the key match them.
 */
#include "store/sqlite/search_compile.h"
#include "store/sqlite/search_derived.h"

#include "base/clock.h"
#include "store/fold.h"

#include <float.h>

/* ---- texts ---- */

/* %…% with what is special to LIKE escaped; '*' is the wildcard. */
static struct span like_pattern(struct search_sql *sql, struct span value, bool is_literal)
{
	AUTO_DONE(buf) folded = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	AUTO_DONE(buf) pattern = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	fold_append(&folded, value);
	buf_append_char(&pattern, '%');
	for (size_t i = 0; i < folded.len; i++) {
		char c = folded.ptr[i];
		if (c == '%' || c == '_' || c == '\\')
			buf_append_char(&pattern, '\\');
		buf_append_char(&pattern, c == '*' && !is_literal ? '%' : c);
	}
	buf_append_char(&pattern, '%');
	if (folded.failure || pattern.failure)
		return span_of(NULL, 0);
	return arena_copy(sql->arena, buf_span(&pattern));
}

static void add_like(struct search_sql *sql, const char *column, const struct query_value *value)
{
	search_add(sql, column);
	search_add_text(sql, " LIKE ? ESCAPE '\\'", like_pattern(sql, value->text, value->is_literal));
}

static const char *order_sign(enum query_compare compare)
{
	switch (compare) {
	case QUERY_LESS:
		return " < ";
	case QUERY_AT_MOST:
		return " <= ";
	case QUERY_MORE:
		return " > ";
	case QUERY_AT_LEAST:
		return " >= ";
	default:
		return " = ";
	}
}

/* One comparison with one value, positive. */
static enum status add_comparison(struct search_sql *sql, const struct search_operand *operand,
	const struct query_term *term, const struct query_value *value, struct error *err)
{
	switch (term->compare) {
	case QUERY_MATCHES:
	case QUERY_MATCHES_FOLDED:
	case QUERY_MATCHES_NOT:
		search_add(sql, "job_matches(");
		TRY(search_add_match(sql, "?, ", term, err));
		search_add(sql, operand->text);
		search_add(sql, ")");
		return OK;
	case QUERY_CONTAINS:
		if (!value->is_number || !operand->number) {
			add_like(sql, operand->folded ? operand->folded : operand->text, value);
			return OK;
		}
		break;
	default:
		break;
	}
	bool is_number = value->is_number && operand->number;
	search_add(sql, is_number ? operand->number : operand->text);
	/* On the left: of "a = ? COLLATE NOCASE OR a = ? …" SQLite makes "a IN (?, …)", and forgets the collation. */
	search_add(sql, operand->ignores_case && !is_number ? " COLLATE NOCASE" : "");
	search_add(sql, order_sign(term->compare));
	if (is_number)
		search_add_double(sql, "?", value->number);
	else
		search_add_text(sql, "?", value->text);
	return OK;
}

enum status search_add_comparisons(
	struct search_sql *sql, const struct search_operand *operand, const struct query_term *term, struct error *err)
{
	search_add(sql, "(");
	for (size_t i = 0; i < term->value_count; i++) {
		if (i)
			search_add(sql, " OR ");
		TRY(add_comparison(sql, operand, term, &term->values[i], err));
	}
	search_add(sql, ")");
	return OK;
}

/* ---- columns of jobs ---- */

static const struct column {
	const char *names[2];
	struct search_operand operand;
	const char *is_there;
	bool is_number;
} columns[] = {
	{{"name", "TrainingJobName"}, {.text = "j.name", .folded = "j.folded"}, "1", false},
	{{"status", "TrainingJobStatus"}, {.text = "j.status", .ignores_case = true}, "1", false},
	{{"secondary", "SecondaryStatus"}, {.text = "j.secondary", .ignores_case = true}, "j.secondary <> ''", false},
	{{"team", "team"}, {.text = "j.team"}, "j.team <> ''", false},
	{{"FailureReason", "FailureReason"}, {.text = "j.failure_reason"}, "j.failure_reason <> ''", false},
	{{"created", "CreationTime"}, {.number = "j.created_ms"}, "1", true},
	{{"started", "TrainingStartTime"}, {.number = "j.started_ms"}, "j.started_ms > 0", true},
	{{"ended", "TrainingEndTime"}, {.number = "j.ended_ms"}, "j.ended_ms > 0", true},
	{{"modified", "LastModifiedTime"}, {.number = "j.modified_ms"}, "1", true},
};

static const struct column *find_column(struct span key)
{
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		if (span_equal(key, span_from(columns[i].names[0])) || span_equal(key, span_from(columns[i].names[1])))
			return &columns[i];
	return NULL;
}

static enum status add_column(
	struct search_sql *sql, const struct column *column, const struct query_term *term, struct error *err)
{
	search_add(sql, search_is_negated(term) ? "NOT (" : "(");
	search_add(sql, column->is_there);
	if (term->compare != QUERY_EXISTS) {
		search_add(sql, " AND ");
		TRY(search_add_comparisons(sql, &column->operand, term, err));
	}
	search_add(sql, ")");
	return OK;
}

static bool is_duration(struct span key)
{
	static const char *const names[] = {"duration", "billable", "TrainingTimeInSeconds", "BillableTimeInSeconds"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return true;
	return false;
}

/* In seconds; of a job that runs: so far. */
static enum status add_duration(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	static const struct search_operand operand = {.number = "(d.ms / 1000.0)"};

	search_add(sql, search_is_negated(term) ? "NOT EXISTS (" : "EXISTS (");
	search_add_i64(sql,
		"SELECT 1 FROM (SELECT CASE WHEN j.ended_ms > 0 THEN j.ended_ms ELSE ? END - j.started_ms AS ms)",
		clock_wall_ms());
	search_add(sql, " AS d WHERE j.started_ms > 0");
	if (term->compare != QUERY_EXISTS) {
		search_add(sql, " AND ");
		TRY(search_add_comparisons(sql, &operand, term, err));
	}
	search_add(sql, ")");
	return OK;
}

/* ---- incidents: by kind, state or severity ---- */

static enum status add_incident(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	search_add(sql, search_is_negated(term) ? "NOT EXISTS (" : "EXISTS (");
	search_add(sql, "SELECT 1 FROM incidents AS i WHERE i.job_id = j.job_id");
	for (size_t i = 0; i < term->value_count; i++) {
		struct span name = term->values[i].text;
		enum incident_kind kind;
		enum incident_state state;
		enum severity severity;
		search_add(sql, i ? " OR " : " AND (");
		if (incident_kind_parse(name, &kind))
			search_add_i64(sql, "i.kind = ?", kind);
		else if (incident_state_parse(name, &state))
			search_add_i64(sql, "i.state = ?", state);
		else if (severity_parse(name, &severity))
			search_add_i64(sql, "i.severity = ?", severity);
		else
			return search_mistake(err, term, "'%.*s' is no kind, state or severity of incidents",
				(int)(name.len < 80 ? name.len : 80), name.ptr);
	}
	search_add(sql, term->value_count ? "))" : ")");
	if (term->compare == QUERY_CONTAINS || term->compare == QUERY_EQUAL || term->compare == QUERY_NOT_EQUAL ||
		term->compare == QUERY_IN || term->compare == QUERY_EXISTS)
		return OK;
	return search_mistake(err, term, "incident takes ':', '=', '!=', in and exists");
}

/* ---- the document's leaves ---- */

static const struct alias {
	const char *name;
	const char *keys[5];
} aliases[] = {
	{"instance", {"ResourceConfig.InstanceType", "ResourceConfig.InstanceGroups.InstanceType"}},
	{"instances", {"ResourceConfig.InstanceCount", "ResourceConfig.InstanceGroups.InstanceCount"}},
	{"image", {"AlgorithmSpecification.TrainingImage"}},
	{"role", {"RoleArn"}},
	{"owner", {"tag.owner"}},
	{"project", {"tag.project"}},
	{"label", {"Labels"}},
	{"failure", {"FailureClass"}},
	{"s3", {"InputDataConfig.DataSource.S3DataSource.S3Uri", "OutputDataConfig.S3OutputPath",
		       "CheckpointConfig.S3Uri", "ModelArtifacts.S3ModelArtifacts", "hp.sagemaker_submit_directory"}},
};

bool search_attribute_key(struct span name, struct span *key)
{
	*key = name;
	if (span_starts_with(name, SPAN("hp.")) || span_starts_with(name, SPAN("tag.")) ||
		span_starts_with(name, SPAN("env.")))
		return true;
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (span_equal(name, span_from(aliases[i].name))) {
			*key = span_from(aliases[i].keys[0]);
			return true;
		}
	return name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z';
}

static const struct alias *find_alias(struct span name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (span_equal(name, span_from(aliases[i].name)))
			return &aliases[i];
	return NULL;
}

bool search_keys_of(struct search_sql *sql, const struct query_term *term, struct search_keys *out)
{
	bool is_path = term->key.len && term->key.ptr[0] >= 'A' && term->key.ptr[0] <= 'Z';

	*out = (struct search_keys){0};
	if (term->family == QUERY_PROPERTY) {
		const struct alias *alias = find_alias(term->key);
		for (size_t i = 0; alias && i < 5 && alias->keys[i]; i++)
			out->keys[out->count++] = span_from(alias->keys[i]);
		if (!alias && is_path)
			out->keys[out->count++] = term->key;
		return out->count > 0;
	}
	if (term->family != QUERY_HP && term->family != QUERY_TAG && term->family != QUERY_ENV)
		return false;
	AUTO_DONE(buf) key = BUF_INIT(SEARCH_MAX_SQL_BYTES);
	buf_append_text(&key, term->family == QUERY_HP ? "hp." : term->family == QUERY_TAG ? "tag." : "env.");
	buf_append_span(&key, term->key);
	out->keys[out->count++] = key.failure ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&key));
	return true;
}

/* s3:"s3://b/p" is p itself and what is below p/; with a '*' at the end it is any text that begins so. */
static void add_s3(struct search_sql *sql, struct span value)
{
	bool is_prefix = value.len && value.ptr[value.len - 1] == '*';
	AUTO_DONE(buf) below = BUF_INIT(SEARCH_MAX_SQL_BYTES);

	value.len -= is_prefix || (value.len && value.ptr[value.len - 1] == '/');
	buf_append_span(&below, value);
	if (!is_prefix) {
		search_add_text(sql, "+a.text = ? OR ", value);
		buf_append_char(&below, '/');
	}
	search_add_text(sql, "instr(a.text, ?) = 1",
		below.failure ? span_of(NULL, 0) : arena_copy(sql->arena, buf_span(&below)));
}

static enum status add_attribute(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	/* The '+' keeps SQLite at the primary key: a range of attributes_by_number, walked once a job, would take minutes. */
	static const struct search_operand operand = {.text = "+a.text", .folded = "+a.folded", .number = "+a.number"};
	struct search_keys keys;
	bool is_set;

	if (!search_keys_of(sql, term, &keys))
		return search_mistake(err, term, "'%.*s' is not searchable yet", SPAN_ARGS(term->key));
	search_add(sql, search_is_negated(term) ? "NOT " : "");
	TRY(search_add_set(sql, &keys, term, &is_set, err));
	if (is_set)
		return OK;
	search_add(sql, "EXISTS (SELECT 1 FROM attributes AS a WHERE a.job_id = j.job_id AND a.key IN (");
	for (size_t i = 0; i < keys.count; i++)
		search_add_text(sql, i ? ", ?" : "?", keys.keys[i]);
	search_add(sql, ")");
	if (term->compare != QUERY_EXISTS) {
		search_add(sql, " AND (");
		if (term->family == QUERY_PROPERTY && term->compare == QUERY_CONTAINS &&
			span_equal(term->key, SPAN("s3")))
			add_s3(sql, term->values[0].text);
		else
			TRY(search_add_comparisons(sql, &operand, term, err));
		search_add(sql, ")");
	}
	search_add(sql, ")");
	return OK;
}

/* ---- metrics ---- */

#define RANKED(column) "(SELECT " column " FROM rankings AS r WHERE r.job_id = s.job_id AND r.metric = s.metric)"

struct search_figure search_figure_of(enum query_aggregate aggregate)
{
	/* '+': as above, the row is found by its key, not by its value. */
	static const struct search_figure figures[AGGREGATE_NUMBER] = {
		[AGGREGATE_LAST] = {"+s.last", "s.last_kind = 1", "s.count > 0"},
		[AGGREGATE_MIN] = {"+s.min", "0", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_MAX] = {"+s.max", "0", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_MEAN] = {"+s.mean", "s.mean_kind = 1", "s.count > s.nan_count + s.inf_count"},
		[AGGREGATE_COUNT] = {"+s.count", "0", "1"},
		[AGGREGATE_STEP] = {"+s.last_step", "0", "s.count > 0"},
		[AGGREGATE_BEST] = {RANKED("best"), RANKED("best_kind") " = 1", "EXISTS " RANKED("1")},
		[AGGREGATE_BEST_STEP] = {RANKED("best_step"), "0", RANKED("best_kind") " <> 1"},
		[AGGREGATE_FINAL] = {RANKED("final"), RANKED("final_kind") " = 1", "EXISTS " RANKED("1")},
	};

	return figures[aggregate];
}

/* Infinities are stored as the largest doubles (see 0001_init.sql), and so are compared as such. */
static double stored_form(double value)
{
	return value > DBL_MAX ? DBL_MAX : value < -DBL_MAX ? -DBL_MAX : value;
}

static void add_figure(struct search_sql *sql, const struct search_figure *figure, const struct query_term *term)
{
	bool is_order = term->compare >= QUERY_LESS && term->compare <= QUERY_AT_LEAST;

	for (size_t i = 0; i < term->value_count; i++) {
		double number = term->values[i].number;
		search_add(sql, i ? " OR " : " AND (");
		if (isnan(number)) {
			search_add(sql, is_order ? "0" : figure->is_nan);
			continue;
		}
		search_add(sql, "NOT (");
		search_add(sql, figure->is_nan);
		search_add(sql, ") AND ");
		search_add(sql, figure->column);
		search_add(sql, order_sign(term->compare));
		search_add_double(sql, "?", stored_form(number));
	}
	search_add(sql, term->value_count ? ")" : "");
}

static void add_metric(struct search_sql *sql, const struct query_term *term)
{
	struct search_figure figure = search_figure_of(term->aggregate);
	enum role role = ROLE_OTHER;

	search_add(sql, search_is_negated(term) ? "NOT EXISTS (" : "EXISTS (");
	search_add(sql, "SELECT 1 FROM summaries AS s WHERE s.job_id = j.job_id AND ");
	if (term->is_role && role_parse(term->key, &role))
		search_add_i64(sql, "s.main_role = ? AND ", role);
	else
		search_add_text(sql, "s.metric = ? AND ", term->key);
	search_add(sql, figure.is_there);
	add_figure(sql, &figure, term);
	search_add(sql, ")");
}

/* ---- the tree ---- */

/* A bare word: the name, tags, notes. '/' is the character behind '.': the range is all tags. */
static void add_text(struct search_sql *sql, const struct query_value *word)
{
	search_add(sql, "(");
	add_like(sql, "j.folded", word);
	search_add(sql, " OR EXISTS (SELECT 1 FROM attributes AS a WHERE a.job_id = j.job_id AND"
			" (a.key >= 'tag.' AND a.key < 'tag/' OR a.key = 'Notes') AND ");
	add_like(sql, "+a.folded", word);
	search_add(sql, "))");
}

enum status search_add_term(struct search_sql *sql, const struct query_term *term, struct error *err)
{
	const struct column *column = term->family == QUERY_PROPERTY ? find_column(term->key) : NULL;

	if (term->family == QUERY_TEXT)
		add_text(sql, &term->values[0]);
	else if (term->family == QUERY_METRIC)
		add_metric(sql, term);
	else if (column)
		return add_column(sql, column, term, err);
	else if (term->family == QUERY_PROPERTY && is_duration(term->key))
		return add_duration(sql, term, err);
	else if (search_is_log(term))
		return search_add_log(sql, term, err);
	else if (search_is_derived(term))
		return search_add_derived(sql, term, err);
	else if (search_is_row_list(term))
		return search_add_row_term(sql, term, err);
	else if (term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("incident")))
		return add_incident(sql, term, err);
	else
		return add_attribute(sql, term, err);
	return OK;
}

static size_t height(const struct query_node *node)
{
	size_t left = node->left ? height(node->left) : 0, right = node->right ? height(node->right) : 0;

	return 1 + (left > right ? left : right);
}

/*
 * SQLite's parser has room for 100 open things: parentheses stand only where precedence wants them, and what goes deep
 * comes first, because nothing is then open beside it. What is shallow stays as written: a cheap term before a dear one.
 */
static enum status add_node(
	struct search_sql *sql, const struct query_node *node, enum query_kind above, struct error *err)
{
	enum { SHALLOW = 8 };
	const struct query_node *first = node->left, *second = node->right;
	bool is_open = (node->kind == QUERY_OR && above != QUERY_OR) || (node->kind == QUERY_AND && above == QUERY_NOT);

	if (node->kind == QUERY_TERM)
		return search_add_term(sql, &node->term, err);
	if (node->kind == QUERY_ONE)
		return search_add_one(sql, node, err);
	if (second && height(second) > SHALLOW && height(second) > height(first)) {
		first = node->right;
		second = node->left;
	}
	search_add(sql, node->kind == QUERY_NOT ? "NOT " : is_open ? "(" : "");
	sql->is_negated ^= node->kind == QUERY_NOT;
	TRY(add_node(sql, first, node->kind, err));
	sql->is_negated ^= node->kind == QUERY_NOT;
	if (second) {
		search_add(sql, node->kind == QUERY_AND ? " AND " : " OR ");
		TRY(add_node(sql, second, node->kind, err));
	}
	search_add(sql, is_open ? ")" : "");
	return OK;
}

enum status search_compile(struct search_sql *sql, const struct query_node *query, struct error *err)
{
	if (query)
		TRY(search_find_driver(sql, query, err));
	if (query)
		return add_node(sql, query, QUERY_AND, err);
	search_add(sql, "1");
	return OK;
}
