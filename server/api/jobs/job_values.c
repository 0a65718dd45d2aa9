/*
 * The one table of what a field of a job is: for the rows of a table, CSV, lines of JSON and sm-search alike. A name is one of the
 * table below, a figure of a metric or a role, or a property of the document, as the query language writes them.
 */
#include "api/jobs/job_values.h"

#include "api/core/api_state.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/jobs/aggregate.h"
#include "model/query.h"
#include "pipeline/jobs/job_json.h"
#include "pipeline/jobs/job_record.h"
#include "query/query.h"
#include "store/alerts.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/run.h"

enum { FIELD_MAX_BYTES = 255, ROW_BYTES = 4 << 20, LIST_BYTES = 64 << 10 };

enum kind {
	OF_FIGURE,
	OF_PROPERTY, /* an attribute, else what the row has by this path */
	OF_ROW, /* by path */
	OF_STEP,
	OF_AGE,
	OF_DURATION,
	OF_SILENCE,
	OF_ATTEMPTS,
	OF_RUN,
	OF_INCIDENTS
};

static const struct known {
	const char *name;
	enum kind kind;
	const char *key;
} table[] = {
	{"name", OF_ROW, "TrainingJobName"},
	{"status", OF_ROW, "TrainingJobStatus"},
	{"secondary", OF_ROW, "SecondaryStatus"},
	{"reason", OF_ROW, "FailureReason"},
	{"failure", OF_ROW, "FailureClass"},
	{"created", OF_ROW, "CreationTime"},
	{"started", OF_ROW, "TrainingStartTime"},
	{"ended", OF_ROW, "TrainingEndTime"},
	{"modified", OF_ROW, "LastModifiedTime"},
	{"billable", OF_ROW, "BillableTimeInSeconds"},
	{"TrainingTimeInSeconds", OF_ROW, "TrainingTimeInSeconds"},
	{"instance", OF_ROW, "ResourceConfig.InstanceType"},
	{"instances", OF_ROW, "ResourceConfig.InstanceCount"},
	{"pool", OF_ROW, "WarmPoolStatus.Status"},
	{"label", OF_ROW, "Labels"},
	{"incidents", OF_ROW, "open_incidents"},
	{"eta", OF_ROW, "eta_ms"},
	{"team", OF_ROW, "team"},
	{"streams", OF_ROW, "streams"},
	{"lines", OF_ROW, "lines"},
	{"open_incidents", OF_ROW, "open_incidents"},
	{"total_steps", OF_ROW, "total_steps"},
	{"total_steps_from", OF_ROW, "total_steps_from"},
	{"goodput", OF_ROW, "goodput"},
	{"cost", OF_ROW, "cost"},
	{"cost_estimated", OF_ROW, "cost_estimated"},
	{"nodes", OF_ROW, "nodes"},
	{"nodes_from", OF_ROW, "nodes_from"},
	{"unpriced_types", OF_ROW, "unpriced_types"},
	{"currency", OF_ROW, "currency"},
	{"last_line_ms", OF_ROW, "last_line_ms"},
	{"last_heard_ms", OF_ROW, "last_heard_ms"},
	{"image", OF_PROPERTY, "AlgorithmSpecification.TrainingImage"},
	{"role", OF_PROPERTY, "RoleArn"},
	{"owner", OF_PROPERTY, "tag.owner"},
	{"project", OF_PROPERTY, "tag.project"},
	{"continues", OF_PROPERTY, "tag.continues"},
	{"step", OF_STEP, ""},
	{"age", OF_AGE, ""},
	{"duration", OF_DURATION, ""},
	{"silent", OF_SILENCE, ""},
	{"attempts", OF_ATTEMPTS, ""},
	{"run", OF_RUN, ""},
	{"incident", OF_INCIDENTS, ""},
	{NULL, OF_ROW, NULL},
};

/* ---- names ---- */

static bool is_property(struct span name)
{
	static const char *const families[] = {"hp.", "tag.", "env.", "label."};

	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (span_starts_with(name, span_from(families[i])))
			return name.len > strlen(families[i]);
	return name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z';
}

/* A metric's name that nobody takes for one of ours. */
static bool is_metric_name(struct span name)
{
	return span_find_char(name, ':') > 0 || span_find_char(name, '/') > 0 || span_find_char(name, ' ') > 0;
}

static void set_figure(struct job_field *field, struct span metric, bool may_be_role, unsigned aggregate)
{
	bool is_role = may_be_role && role_parse(metric, &field->role) && field->role != ROLE_OTHER;

	field->kind = OF_FIGURE;
	field->role = is_role ? field->role : ROLE_OTHER;
	field->key = metric;
	field->aggregate = aggregate;
}

/* loss.final, metric.loss.max, train:loss.last */
static bool read_figure(struct span name, struct job_field *field)
{
	bool is_metric = span_starts_with(name, SPAN("metric."));
	struct span metric = span_skip(name, is_metric ? 7 : 0), other = SPAN("last_step");
	enum query_aggregate aggregate = AGGREGATE_LAST;
	bool has_aggregate = query_take_aggregate(&metric, &aggregate);

	if (!has_aggregate && span_ends_with(metric, SPAN(".last_step")) && metric.len > other.len + 1) {
		metric.len -= other.len + 1; /* as a metric's summary has it */
		aggregate = AGGREGATE_STEP;
		has_aggregate = true;
	}
	set_figure(field, metric, !is_metric, aggregate);
	return metric.len && (is_metric || field->role != ROLE_OTHER || has_aggregate || is_metric_name(metric));
}

/* metric."train:loss".min, hp."a,b": by the query's own reader. */
static enum status read_quoted(struct span name, struct arena *arena, struct job_field *field, struct error *err)
{
	static const char *const families[] = {
		[QUERY_HP] = "hp.", [QUERY_TAG] = "tag.", [QUERY_ENV] = "env.", [QUERY_LABEL] = "label."};
	struct aggregate_name names[QUERY_MAX_NAMES];
	struct error mistake = {0};
	size_t count;

	if (query_parse_names(names, &count, name, arena, &mistake) != OK || count != 1)
		return error_set_field(err, ERR_INVALID, "fields", "'%.*s': %s", SPAN_ARGS(name),
			mistake.text[0] ? mistake.text : "one name is wanted");
	const struct query_term *term = &names[0].term;
	if (term->family == QUERY_METRIC) {
		set_figure(field, term->key, false, term->aggregate);
		return OK;
	}
	bool has_family = term->family < sizeof families / sizeof *families && families[term->family];
	AUTO_DONE(buf) key = BUF_INIT(2 * FIELD_MAX_BYTES);
	buf_append_text(&key, has_family ? families[term->family] : "");
	buf_append_span(&key, term->key);
	TRY(buf_status(&key, err));
	field->kind = OF_PROPERTY;
	field->key = arena_copy(arena, buf_span(&key));
	return field->key.ptr ? OK : error_no_memory(err);
}

/* Of the row's own keys (TrainingJobStatus) the document may say something older. */
static bool read_known(struct span name, struct job_field *field)
{
	for (const struct known *known = table; known->name; known++) {
		bool is_row_key = known->kind == OF_ROW && !strchr(known->key, '.');
		if (!span_equal(name, span_from(known->name)) &&
			!(is_row_key && span_equal(name, span_from(known->key))))
			continue;
		field->kind = known->kind;
		field->key = span_from(known->key);
		return true;
	}
	return false;
}

static enum status add_field(struct job_fields *out, struct span name, struct arena *arena, struct error *err)
{
	struct job_field field = {.name = name};

	if (out->count == JOB_FIELDS_MAX || name.len > FIELD_MAX_BYTES)
		return error_set_field(err, ERR_INVALID, "fields", "at most %d fields of at most %d bytes each",
			JOB_FIELDS_MAX, FIELD_MAX_BYTES);
	if (span_find_char(name, '"') >= 0) {
		TRY(read_quoted(name, arena, &field, err));
	} else if (!read_known(name, &field) && is_property(name)) {
		field.kind = OF_PROPERTY;
		field.key = name;
	} else if (!field.key.ptr && !read_figure(name, &field)) {
		return error_set_field(err, ERR_INVALID, "fields",
			"'%.*s' is no column: fields are those of the query language (name, status, attempts, pool, "
			"…), hp.KEY, tag.KEY, env.KEY, label.KEY, a property as ResourceConfig.InstanceCount, and of "
			"a metric or a role NAME.last, min, max, mean, count, step, best, best_step, final",
			SPAN_ARGS(name));
	}
	out->list[out->count++] = field;
	return OK;
}

enum status api_read_fields(struct span text, struct arena *arena, struct job_fields *out, struct error *err)
{
	struct span part;

	out->count = 0;
	while (text.len && span_next_unquoted(&text, ',', &part))
		if (span_trim(part).len)
			TRY(add_field(out, span_trim(part), arena, err));
	return OK;
}

/* ---- values ---- */

struct sources {
	const struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	const struct job_row *row;
	struct json *json; /* the whole row */
	struct attribute_row *attributes;
	struct summary_row *summaries;
	struct ranking_row *rankings;
	struct job_counts counts;
	size_t attribute_count, summary_count, ranking_count;
};

static enum status read_sources(struct sources *s, const struct job_fields *fields, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(ROW_BYTES);
	struct json_writer w = json_writer_on(&text);
	bool wants[OF_INCIDENTS + 1] = {false};

	for (size_t i = 0; i < fields->count; i++)
		wants[fields->list[i].kind] = true;
	if (wants[OF_FIGURE] || wants[OF_STEP] || wants[OF_ATTEMPTS])
		TRY(store_read_summaries(
			s->reader, s->arena, s->row->job_id, &s->counts, &s->summaries, &s->summary_count, err));
	if (wants[OF_FIGURE])
		TRY(store_read_rankings(s->reader, s->arena, s->row->job_id, &s->rankings, &s->ranking_count, err));
	if (wants[OF_PROPERTY])
		TRY(store_read_attributes(
			s->reader, s->arena, s->row->job_id, &s->attributes, &s->attribute_count, err));
	if (!wants[OF_ROW] && !wants[OF_PROPERTY] && !wants[OF_SILENCE] && !wants[OF_DURATION])
		return OK;
	TRY(pipeline_write_job_row(s->pipeline, s->reader, s->arena, s->row, &w, err));
	TRY(buf_status(&text, err));
	return json_parse(&s->json, buf_span(&text), err);
}

static void write_ranked(
	const struct sources *s, const struct summary_row *row, unsigned aggregate, struct json_writer *w)
{
	for (size_t i = 0; i < s->ranking_count; i++) {
		const struct ranking_row *ranking = &s->rankings[i];
		if (!span_equal(ranking->metric, row->metric))
			continue;
		if (aggregate == AGGREGATE_BEST_STEP)
			json_i64(w, ranking->best_step);
		else
			json_double(w, aggregate == AGGREGATE_BEST ? ranking->best : ranking->final);
		return;
	}
	json_null(w);
}

static void write_aggregate(
	const struct sources *s, const struct summary_row *row, unsigned aggregate, struct json_writer *w)
{
	const struct summary *summary = &row->summary;

	switch ((enum query_aggregate)aggregate) {
	case AGGREGATE_LAST:
		json_double(w, summary->last);
		return;
	case AGGREGATE_MIN:
		json_double(w, summary->min);
		return;
	case AGGREGATE_MAX:
		json_double(w, summary->max);
		return;
	case AGGREGATE_MEAN:
		json_double(w, summary_mean(summary));
		return;
	case AGGREGATE_COUNT:
		json_i64(w, (int64_t)summary->count);
		return;
	case AGGREGATE_STEP:
		json_i64(w, summary->last_step);
		return;
	case AGGREGATE_BEST:
	case AGGREGATE_BEST_STEP:
	case AGGREGATE_FINAL:
	case AGGREGATE_NUMBER:
		break;
	}
	write_ranked(s, row, aggregate, w);
}

/* A metric that was never a number has no smallest one. */
static bool has_value(const struct summary *summary, unsigned aggregate)
{
	bool is_of_finite = aggregate == AGGREGATE_MIN || aggregate == AGGREGATE_MAX || aggregate == AGGREGATE_MEAN;

	return !is_of_finite || summary_has_finite(summary);
}

static void write_figure(const struct sources *s, const struct job_field *field, struct json_writer *w)
{
	for (size_t i = 0; i < s->summary_count; i++) {
		const struct summary_row *row = &s->summaries[i];
		if (field->role != ROLE_OTHER ? row->main_role != field->role : !span_equal(row->metric, field->key))
			continue;
		if (!has_value(&row->summary, field->aggregate))
			return;
		json_key_span(w, field->name);
		write_aggregate(s, row, field->aggregate, w);
		return;
	}
}

static const struct json *walk(const struct json *node, struct span path)
{
	struct span part;

	while (node && span_next(&path, '.', &part)) {
		const struct json *child = json_first(node);
		while (child && !span_equal(json_key_of(child), part))
			child = json_next(child);
		node = child;
	}
	return node;
}

/* A list as text, its elements behind each other. */
static enum status write_node(const struct json *node, struct span name, struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LIST_BYTES);
	bool is_list = json_kind(node) == JSON_ARRAY;

	for (const struct json *one = is_list ? json_first(node) : NULL; one; one = json_next(one)) {
		buf_append_text(&text, text.len ? ", " : "");
		if (json_kind(one) == JSON_STRING)
			buf_append_span(&text, json_string_of(one));
		else
			json_print(one, &text);
	}
	if (!is_list)
		json_print(node, &text);
	if (text.failure == ERR_TOO_LARGE)
		return OK; /* of a giant no cell: its own page has it */
	TRY(buf_status(&text, err));
	json_key_span(w, name);
	if (is_list)
		json_span(w, buf_span(&text));
	else
		json_raw(w, buf_span(&text));
	return OK;
}

static void put_text(struct json_writer *w, struct span name, struct span text)
{
	json_key_span(w, name);
	json_span(w, text);
}

/* Of several elements of a list the first one, as the order goes by it. */
static enum status write_property(
	const struct sources *s, const struct job_field *field, struct json_writer *w, struct error *err)
{
	for (size_t i = 0; i < s->attribute_count; i++)
		if (span_equal(s->attributes[i].key, field->key)) {
			put_text(w, field->name, s->attributes[i].text);
			return OK;
		}
	const struct json *node = walk(s->json, field->key);
	return node ? write_node(node, field->name, w, err) : OK;
}

static void put_i64(struct json_writer *w, const struct job_field *field, int64_t value)
{
	json_key_span(w, field->name);
	json_i64(w, value);
}

static void write_step(const struct sources *s, const struct job_field *field, struct json_writer *w)
{
	const struct summary_row *row = pipeline_find_step(s->summaries, s->summary_count);

	if (row && row->summary.last_step >= 0)
		put_i64(w, field, row->summary.last_step);
}

/* Of a job that nobody ended, but whose time is over. */
static int64_t worked_until_ms(const struct sources *s)
{
	double until_ms;

	return json_number_of(json_get(s->json, "worked_until_ms"), &until_ms) ? (int64_t)until_ms : 0;
}

/* age: since it began, or was made; duration: from its start to its end, or its last sign of life, or until now. */
static void write_time(const struct sources *s, const struct job_field *field, struct json_writer *w)
{
	const struct job_row *row = s->row;
	bool is_age = field->kind == OF_AGE;
	int64_t from_ms = row->started_ms || !is_age ? row->started_ms : row->created_ms;
	int64_t over_ms = is_age ? 0 : row->ended_ms ? row->ended_ms : worked_until_ms(s);
	int64_t to_ms = over_ms ? over_ms : clock_wall_ms();
	double stated_s;

	if (!is_age && row->ended_ms && json_number_of(json_get(s->json, "TrainingTimeInSeconds"), &stated_s))
		put_i64(w, field, (int64_t)stated_s);
	else if (from_ms && (!over_ms || to_ms > from_ms)) /* of one moment: how long it took is not known */
		put_i64(w, field, to_ms > from_ms ? (to_ms - from_ms) / 1000 : 0);
}

static void write_silence(const struct sources *s, const struct job_field *field, struct json_writer *w)
{
	double since_ms;

	if (json_number_of(json_get(s->json, "silent_since_ms"), &since_ms))
		put_i64(w, field, (clock_wall_ms() - (int64_t)since_ms) / 1000);
}

/* As searches count them: those of the streams, or those of the transitions, whichever are more. */
static enum status write_attempts(
	const struct sources *s, const struct job_field *field, struct json_writer *w, struct error *err)
{
	struct transition_row *rows;
	size_t count;

	TRY(store_read_transitions(s->reader, s->arena, s->row->job_id, &rows, &count, err));
	unsigned told = attempts_told(rows, count);
	put_i64(w, field, told > s->counts.attempts ? told : s->counts.attempts);
	return OK;
}

/* The first job of its run; of a job that is alone nothing. */
static enum status write_run(
	const struct sources *s, const struct job_field *field, struct json_writer *w, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(s->reader, s->arena, s->row->name, &links, &count, &at, err));
	if (count > 1)
		put_text(w, field->name, links[0].job);
	return OK;
}

/* The kinds of those that are open, newest first. */
static enum status write_incidents(
	const struct sources *s, const struct job_field *field, struct json_writer *w, struct error *err)
{
	struct incident_filter filter = {
		.job_id = s->row->job_id, .state = INCIDENT_OPEN, .kind = -1, .cursor = SPAN(""), .limit = 20};
	AUTO_DONE(buf) text = BUF_INIT(LIST_BYTES);
	struct incident_row *rows;
	struct span next_cursor;
	size_t count;

	TRY(store_read_incidents(s->reader, s->arena, &filter, &rows, &count, &next_cursor, err));
	for (size_t i = 0; i < count; i++) {
		const char *kind = incident_kind_name(rows[i].incident.kind);
		if (span_find(buf_span(&text), span_from(kind)) < 0)
			buf_printf(&text, "%s%s", text.len ? ", " : "", kind);
	}
	if (text.len)
		put_text(w, field->name, buf_span(&text));
	return OK;
}

/* What somebody set right counts before what the document states; whoever asks for the document's own path gets that. */
static const struct json *find_in_row(const struct json *row, struct span key)
{
	static const char *const by_hand[][2] = {{"ResourceConfig.InstanceType", "by_hand.instance_type"},
		{"ResourceConfig.InstanceCount", "by_hand.nodes"}};
	const struct json *node = NULL;

	for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand && !node; i++)
		if (span_equal(key, span_from(by_hand[i][0])))
			node = walk(row, span_from(by_hand[i][1]));
	return node ? node : walk(row, key);
}

static enum status write_value(
	const struct sources *s, const struct job_field *field, struct json_writer *w, struct error *err)
{
	const struct json *node;

	switch ((enum kind)field->kind) {
	case OF_FIGURE:
		write_figure(s, field, w);
		return OK;
	case OF_PROPERTY:
		return write_property(s, field, w, err);
	case OF_ROW:
		node = find_in_row(s->json, field->key);
		return node ? write_node(node, field->name, w, err) : OK;
	case OF_STEP:
		write_step(s, field, w);
		return OK;
	case OF_AGE:
	case OF_DURATION:
		write_time(s, field, w);
		return OK;
	case OF_SILENCE:
		write_silence(s, field, w);
		return OK;
	case OF_ATTEMPTS:
		return write_attempts(s, field, w, err);
	case OF_RUN:
		return write_run(s, field, w, err);
	case OF_INCIDENTS:
		return write_incidents(s, field, w, err);
	}
	return OK;
}

enum status api_write_values(struct api_worker *worker, struct arena *arena, const struct job_row *row,
	const struct job_fields *fields, struct json_writer *w, struct error *err)
{
	struct sources s = {
		.pipeline = worker->api->options.pipeline, .reader = worker->reader, .arena = arena, .row = row};
	enum status status = read_sources(&s, fields, err);

	json_object(w);
	for (size_t i = 0; i < fields->count && status == OK; i++)
		status = write_value(&s, &fields->list[i], w, err);
	json_object_end(w);
	json_free(s.json);
	return status;
}
