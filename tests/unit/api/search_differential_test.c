/*
 * What the store finds by its SQL is what a slow, obvious evaluator finds by looking at each job: random jobs, random queries in
 * both languages. SM_SEED and SM_QUERIES choose others.
 */
#include "../store/harness.h"
#include "../store/support/cluster.h"
#include "base/text/regex.h"
#include "model/query.h"
#include "query/expression.h"
#include "query/query.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/search.h"
#include "store/transitions.h"

#include <ctype.h>
#include <math.h>

enum { JOBS = 60, LEAVES = 28, QUERIES = 3000 };

struct leaf {
	char key[80]; /* as a query names it: hp.lr, ResourceConfig.InstanceCount */
	char text[64];
	int element; /* of InputDataConfig; -1: none */
};

struct job {
	char name[32];
	const char *status;
	struct leaf leaves[LEAVES];
	size_t leaf_count;
	struct summary loss; /* count 0: none */
	int pool_state; /* as pool_state_name; 0: none */
	bool is_over; /* its wait, though the row does not say so */
	bool is_first;
	int pool_id;
	const char *reason;
	unsigned trainings; /* attempts that the transitions tell of */
	uint32_t attempts; /* that the streams do */
	int64_t job_id;
	const char *log; /* its one line */
	bool is_looked; /* through it */
};

struct world {
	uint64_t random;
	struct job jobs[JOBS];
	struct harness h;
};

static uint32_t roll(struct world *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->random >> 33) % below;
}

#define PICK(w, list) ((list)[roll((w), sizeof(list) / sizeof *(list))])

static const char *const texts[] = {"adam", "Adam", "ADAMW", "1", "1.0", "0.5", "1e-4", "auto", "a b", "10%", "x_y",
	"xzy", "nan", "-3", "llama-7b", "\xc3\x89t\xc3\xa9", "\xc3\xa9t\xc3\xa9"};
static const char *const uris[] = {"s3://b/p", "s3://b/p/", "s3://b/p/x", "s3://b/pq", "s3://B/p", "s3://c"};
static const char *const statuses[] = {"InProgress", "Failed", "Completed"};
static const char *const reasons[] = {"", "CapacityError: none", "AlgorithmError: exit code 1", "what"};
static const char *const channels[] = {"train", "test", "Train"};

/* ---- random jobs ---- */

static void add_leaf(struct job *job, const char *key, const char *text, int element)
{
	struct leaf *leaf = &job->leaves[job->leaf_count++];

	snprintf(leaf->key, sizeof leaf->key, "%s", key);
	snprintf(leaf->text, sizeof leaf->text, "%s", text);
	leaf->element = element;
}

static void print_map(struct buf *out, const struct job *job, const char *name, const char *prefix)
{
	bool is_first = true;

	buf_printf(out, ",\"%s\":{", name);
	for (size_t i = 0; i < job->leaf_count; i++)
		if (strncmp(job->leaves[i].key, prefix, strlen(prefix)) == 0) {
			buf_printf(out, "%s\"%s\":\"%s\"", is_first ? "" : ",", job->leaves[i].key + strlen(prefix),
				job->leaves[i].text);
			is_first = false;
		}
	buf_append_char(out, '}');
}

static void print_document(struct buf *out, const struct job *job)
{
	int elements = 0;

	buf_printf(out, "{\"TrainingJobName\":\"%s\"", job->name);
	print_map(out, job, "HyperParameters", "hp.");
	print_map(out, job, "Environment", "env.");
	print_map(out, job, "OutputDataConfig", "OutputDataConfig.");
	buf_append_text(out, ",\"ResourceConfig\":{");
	for (size_t i = 0; i < job->leaf_count; i++)
		if (strcmp(job->leaves[i].key, "ResourceConfig.InstanceCount") == 0)
			buf_printf(out, "\"InstanceCount\":%s", job->leaves[i].text);
	buf_append_text(out, "},\"Tags\":[");
	for (size_t i = 0, n = 0; i < job->leaf_count; i++)
		if (strncmp(job->leaves[i].key, "tag.", 4) == 0)
			buf_printf(out, "%s{\"Key\":\"%s\",\"Value\":\"%s\"}", n++ ? "," : "", job->leaves[i].key + 4,
				job->leaves[i].text);
	buf_append_text(out, "],\"Labels\":[");
	for (size_t i = 0, n = 0; i < job->leaf_count; i++)
		if (strcmp(job->leaves[i].key, "Labels") == 0)
			buf_printf(out, "%s\"%s\"", n++ ? "," : "", job->leaves[i].text);
	buf_append_char(out, ']');
	for (size_t i = 0; i < job->leaf_count; i++)
		if (strcmp(job->leaves[i].key, "WarmPoolStatus.Status") == 0)
			buf_printf(out, ",\"WarmPoolStatus\":{\"Status\":\"%s\"}", job->leaves[i].text);
	buf_append_text(out, ",\"InputDataConfig\":[");
	for (size_t i = 0; i + 1 < job->leaf_count; i++)
		if (job->leaves[i].element >= 0 && job->leaves[i].element == job->leaves[i + 1].element)
			buf_printf(out,
				"%s{\"ChannelName\":\"%s\",\"DataSource\":{\"S3DataSource\":{\"S3Uri\":\"%s\"}}}",
				elements++ ? "," : "", job->leaves[i].text, job->leaves[i + 1].text);
	buf_append_text(out, "]}");
}

static void make_derived(struct world *w, struct job *job)
{
	static const char *const labels[] = {"paper", "k=v", "Paper", "1"};
	static const char *const reported[] = {"Available", "InUse", "Reused", "Terminated"};

	for (uint32_t i = roll(w, 3); i; i--)
		add_leaf(job, "Labels", PICK(w, labels), -1);
	if (roll(w, 6) == 0)
		add_leaf(job, "WarmPoolStatus.Status", PICK(w, reported), -1);
	job->reason = PICK(w, reasons);
	job->trainings = 1 + roll(w, 3);
	job->attempts = roll(w, 4);
	job->pool_state = (int)roll(w, 5);
	job->is_over = roll(w, 2);
	job->is_first = roll(w, 2);
	job->pool_id = 1 + (int)roll(w, 3);
	job->log = PICK(w, texts);
}

static void make_job(struct world *w, size_t n)
{
	static const char *const words[] = {"llama", "Llama", "bert", "50%", "a_b"};
	struct job *job = &w->jobs[n];
	char count[8];

	*job = (struct job){.status = PICK(w, statuses)};
	snprintf(job->name, sizeof job->name, "%s-%zu", PICK(w, words), n);
	for (const char *const *key = (const char *const[]){"hp.lr", "hp.opt", "env.X", "tag.team", "tag.owner", NULL};
		*key; key++)
		if (roll(w, 3))
			add_leaf(job, *key, PICK(w, texts), -1);
	if (roll(w, 2))
		add_leaf(job, "OutputDataConfig.S3OutputPath", PICK(w, uris), -1);
	snprintf(count, sizeof count, "%u", roll(w, 4));
	if (roll(w, 4))
		add_leaf(job, "ResourceConfig.InstanceCount", count, -1);
	for (int i = 0, many = (int)roll(w, 4); i < many; i++) {
		add_leaf(job, "InputDataConfig.ChannelName", PICK(w, channels), i);
		add_leaf(job, "InputDataConfig.DataSource.S3DataSource.S3Uri", PICK(w, uris), i);
	}
	make_derived(w, job);
	for (uint32_t i = roll(w, 4); i; i--)
		summary_add(&job->loss, &(struct point){.step = 4 - i,
						.value = roll(w, 5)   ? (double)roll(w, 4)
							 : roll(w, 2) ? NAN
								      : INFINITY});
}

static void put_derived(struct world *w, const struct job *job, int64_t job_id)
{
	struct pool_job_row row = {.job_id = job_id,
		.told_heir = SPAN(""),
		.pool_id = job->pool_state ? job->pool_id : 0,
		.position = !job->is_first,
		.state = job->pool_state,
		.until_ms = job->is_over ? 1 : INT64_MAX / 2};

	CHECK_OK(store_put_pool_job(w->h.tx, &row, &err));
	struct transition_row rows[64];
	CHECK(2 * job->trainings <= 64);
	for (unsigned i = 0; i < 2 * job->trainings; i++)
		rows[i] = (struct transition_row){.status = i % 2 ? SPAN("Training") : SPAN("Starting"),
			.message = SPAN(""),
			.start_ms = 1 + i,
			.end_ms = i + 1 < 2 * job->trainings ? 2 + i : 0};
	CHECK_OK(store_put_transitions(w->h.tx, job_id, rows, 2 * job->trainings, &err));
}

static void put_jobs(struct world *w)
{
	harness_begin(&w->h);
	for (size_t i = 0; i < JOBS; i++) {
		AUTO_DONE(buf) document = BUF_INIT(1 << 16);
		struct summary_row row = {.metric = SPAN("train:loss"), .role = ROLE_LOSS};
		make_job(w, i);
		print_document(&document, &w->jobs[i]);
		struct job_row job = {.name = span_from(w->jobs[i].name),
			.status = span_from(w->jobs[i].status),
			.failure_reason = span_from(w->jobs[i].reason),
			.document = buf_span(&document),
			.created_ms = (int64_t)i,
			.modified_ms = 1};
		CHECK_OK(store_put_job(w->h.tx, &job, &err));
		w->jobs[i].job_id = job.job_id;
		row.summary = w->jobs[i].loss;
		CHECK_OK(store_put_summaries(w->h.tx, job.job_id,
			&(struct job_counts){.lines = 1, .attempts = w->jobs[i].attempts}, &row, row.summary.count > 0,
			&err));
		put_derived(w, &w->jobs[i], job.job_id);
	}
	harness_commit(&w->h);
}

/* ---- the evaluator ---- */

static size_t letter(const char *s, char out[3])
{
	bool is_accented = s[0] == '\xc3' && s[1]; /* of this test's: É and é */

	out[0] = is_accented ? s[0] : (char)tolower((unsigned char)s[0]);
	out[1] = !is_accented ? 0 : s[1] == '\x89' ? '\xa9' : s[1];
	out[2] = 0;
	return is_accented ? 2 : 1;
}

/* Does `text` begin with the pattern? */
static bool begins(const char *text, const char *pattern, bool is_literal)
{
	char a[3], b[3];

	if (!*pattern)
		return true;
	if (*pattern == '*' && !is_literal) {
		for (;; text++) {
			if (begins(text, pattern + 1, false))
				return true;
			if (!*text)
				return false;
		}
	}
	if (!*text)
		return false;
	size_t step = letter(text, a), pattern_step = letter(pattern, b);
	return strcmp(a, b) == 0 && begins(text + step, pattern + pattern_step, is_literal);
}

static bool contains(const char *text, const char *pattern, bool is_literal)
{
	for (;; text++) {
		if (begins(text, pattern, is_literal))
			return true;
		if (!*text)
			return false;
	}
}

static bool numbers(enum query_compare compare, double a, double b)
{
	bool holds[] = {[QUERY_LESS] = a<b, [QUERY_AT_MOST] = a <= b, [QUERY_MORE] = a> b, [QUERY_AT_LEAST] = a >= b};

	return compare >= QUERY_LESS && compare <= QUERY_AT_LEAST ? holds[compare] : a == b;
}

static bool matches(const char *text, const struct query_term *term)
{
	AUTO(regex) regex = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span groups[REGEX_MAX_GROUPS];

	CHECK_OK(regex_new(&regex, term->values[0].text,
		REGEX_UTF | (term->compare == QUERY_MATCHES_FOLDED ? REGEX_IGNORE_CASE : 0), &err));
	return regex_search(regex, scratch, span_from(text), 0, groups) == REGEX_MATCH;
}

static bool one_value(const char *text, const struct query_term *term, const struct query_value *value, bool is_column)
{
	char wanted[128];
	double number;

	snprintf(wanted, sizeof wanted, "%.*s", SPAN_ARGS(value->text));
	if (term->compare >= QUERY_MATCHES && term->compare <= QUERY_MATCHES_NOT)
		return matches(text, term);
	if (value->is_number && !is_column) /* a name is a text, also "7" */
		return span_parse_double(span_from(text), &number) && isfinite(number) &&
		       numbers(term->compare, number, value->number);
	if (term->compare == QUERY_CONTAINS)
		return contains(text, wanted, value->is_literal);
	int order = strcmp(text, wanted);
	return numbers(term->compare, order, 0);
}

static bool satisfies(const char *text, const struct query_term *term, bool ignores_case)
{
	for (size_t i = 0; i < term->value_count; i++)
		if (one_value(text, term, &term->values[i], ignores_case))
			return true;
	return term->compare == QUERY_EXISTS;
}

static bool is_below(const char *uri, struct span wanted)
{
	bool is_prefix = wanted.len && wanted.ptr[wanted.len - 1] == '*';

	wanted.len -= is_prefix || (wanted.len && wanted.ptr[wanted.len - 1] == '/');
	if (strncmp(uri, wanted.ptr, wanted.len) != 0)
		return false;
	return is_prefix || uri[wanted.len] == 0 || uri[wanted.len] == '/';
}

static bool loss_satisfies(const struct summary *loss, const struct query_term *term)
{
	double figure = term->aggregate == AGGREGATE_LAST    ? loss->last
			: term->aggregate == AGGREGATE_MIN   ? loss->min
			: term->aggregate == AGGREGATE_COUNT ? (double)loss->count
							     : summary_mean(loss);
	bool needs_finite = term->aggregate == AGGREGATE_MIN || term->aggregate == AGGREGATE_MEAN;

	if (!loss->count || (needs_finite && !summary_has_finite(loss)))
		return false;
	for (size_t i = 0; i < term->value_count; i++) {
		double wanted = term->values[i].number;
		bool is_order = term->compare >= QUERY_LESS && term->compare <= QUERY_AT_LEAST;
		if (isnan(wanted) ? !is_order && isnan(figure) : numbers(term->compare, figure, wanted))
			return true;
	}
	return term->compare == QUERY_EXISTS;
}

static const char *pool_of(const struct job *job)
{
	static const char *const names[] = {"", "InUse", "Available", "Reused", "Terminated"};

	for (size_t i = 0; i < job->leaf_count; i++)
		if (strcmp(job->leaves[i].key, "WarmPoolStatus.Status") == 0)
			return job->leaves[i].text;
	if (job->pool_state == 0 || (job->is_first && job->pool_state == 1))
		return NULL;
	return names[job->pool_state == 2 && job->is_over ? 4 : job->pool_state];
}

static bool pool_satisfies(const struct job *job, const struct query_term *term)
{
	bool is_match = term->compare >= QUERY_MATCHES && term->compare <= QUERY_MATCHES_NOT;
	const char *state = pool_of(job);
	char lower[32] = "", id[16];

	/* As the status: states ignore case in all but ~, and the queries' are in small letters. */
	for (size_t i = 0; state && i < strlen(state); i++)
		lower[i] = (char)tolower((unsigned char)state[i]);
	snprintf(id, sizeof id, "%d", job->pool_id);
	for (size_t i = 0; i < term->value_count; i++) {
		const struct query_value *value = &term->values[i];
		if (value->is_number ? job->pool_state && one_value(id, term, value, false)
				     : state && one_value(is_match ? state : lower, term, value, true))
			return true;
	}
	return term->compare == QUERY_EXISTS && state;
}

static bool attempts_satisfy(const struct job *job, const struct query_term *term)
{
	char text[16];

	snprintf(text, sizeof text, "%u", job->trainings > job->attempts ? job->trainings : job->attempts);
	return satisfies(text, term, false);
}

static const char *class_of(const struct job *job)
{
	return job->reason == reasons[1] ? "CapacityError" : job->reason == reasons[2] ? "AlgorithmError" : "Unknown";
}

static bool has_pair(const struct job *job)
{
	for (size_t i = 0; i < job->leaf_count; i++)
		if (strcmp(job->leaves[i].key, "Labels") == 0 && strcmp(job->leaves[i].text, "k=v") == 0)
			return true;
	return false;
}

static bool has_any(const struct job *job, const struct query_term *term, int element)
{
	static const char *const prefixes[] = {[QUERY_PROPERTY] = "",
		[QUERY_HP] = "hp.",
		[QUERY_TAG] = "tag.",
		[QUERY_ENV] = "env.",
		[QUERY_LABEL] = ""};
	bool is_uri = term->family == QUERY_PROPERTY && span_equal(term->key, SPAN("s3"));
	char key[128];

	if (term->family == QUERY_METRIC)
		return loss_satisfies(&job->loss, term);
	snprintf(key, sizeof key, "%s%.*s", prefixes[term->family], SPAN_ARGS(term->key));
	if (term->family == QUERY_LABEL) /* of the test's labels one is k=v */
		return strcmp(key, "k") == 0 && has_pair(job) && satisfies("v", term, false);
	if (strcmp(key, "name") == 0 || strcmp(key, "TrainingJobName") == 0)
		return satisfies(job->name, term, true);
	if (strcmp(key, "status") == 0) {
		struct query_term folded = *term; /* of the one thing that ignores case in all but ~ */
		char status[32];
		for (size_t i = 0; i <= strlen(job->status); i++)
			status[i] = (char)tolower((unsigned char)job->status[i]);
		return satisfies(
			term->compare >= QUERY_MATCHES && term->compare <= QUERY_MATCHES_NOT ? job->status : status,
			&folded, true);
	}
	if (strcmp(key, "log") == 0)
		return satisfies(job->log, term, true);
	if (strcmp(key, "pool") == 0)
		return pool_satisfies(job, term);
	if (strcmp(key, "attempts") == 0)
		return attempts_satisfy(job, term);
	if (strcmp(key, "failure") == 0)
		return job->reason[0] && satisfies(class_of(job), term, false);
	if (strcmp(key, "label") == 0)
		strcpy(key, "Labels");
	if (strcmp(key, "instances") == 0)
		strcpy(key, "ResourceConfig.InstanceCount");
	for (size_t i = 0; i < job->leaf_count; i++) {
		const struct leaf *leaf = &job->leaves[i];
		bool is_it = is_uri ? strstr(leaf->key, "S3Uri") || strstr(leaf->key, "S3Output")
				    : strcmp(leaf->key, key) == 0;
		if (!is_it || (element >= 0 && leaf->element != element))
			continue;
		if (is_uri && term->compare == QUERY_CONTAINS ? is_below(leaf->text, term->values[0].text)
							      : satisfies(leaf->text, term, false))
			return true;
	}
	return false;
}

static bool has_word(const struct job *job, const struct query_value *word)
{
	struct query_term term = {.compare = QUERY_CONTAINS, .values = (struct query_value *)word, .value_count = 1};

	for (size_t i = 0; i < job->leaf_count; i++)
		if (strncmp(job->leaves[i].key, "tag.", 4) == 0 && satisfies(job->leaves[i].text, &term, false))
			return true;
	return satisfies(job->name, &term, false);
}

/* element -1: of the whole job. */
static bool holds(const struct job *job, const struct query_node *node, int element)
{
	struct query_term term;

	if (!node)
		return true;
	switch (node->kind) {
	case QUERY_AND:
		return holds(job, node->left, element) && holds(job, node->right, element);
	case QUERY_OR:
		return holds(job, node->left, element) || holds(job, node->right, element);
	case QUERY_NOT:
		return !holds(job, node->left, element);
	case QUERY_ONE:
		for (int i = 0; i < 4; i++)
			for (size_t j = 0; j < job->leaf_count; j++)
				if (job->leaves[j].element == i && holds(job, node->left, i))
					return true;
		return false;
	case QUERY_TERM:
		break;
	}
	term = node->term;
	if (term.family == QUERY_TEXT)
		return has_word(job, &term.values[0]);
	if (term.compare != QUERY_NOT_EQUAL && term.compare != QUERY_MATCHES_NOT)
		return has_any(job, &term, element);
	term.compare = term.compare == QUERY_NOT_EQUAL ? QUERY_EQUAL : QUERY_MATCHES;
	return !has_any(job, &term, element);
}

/* ---- random queries ---- */

static void print_term(struct world *w, struct buf *out)
{
	static const char *const names[] = {"name", "status", "hp.lr", "hp.opt", "env.X", "tag.team", "instances", "s3",
		"pool", "attempts", "failure", "label", "log", "log", "label.k", "InputDataConfig.ChannelName", "loss",
		"loss.min", "loss.mean", "metric.\"train:loss\".count"};
	static const char *const operators[] = {":", "=", "!=", "<", "<=", ">", ">=", "~", "!~", "~*"};
	static const char *const values[] = {"adam", "Adam", "1", "\"1\"", "0.5", "1e-4", "a*m", "\"a b\"", "10%",
		"x_y", "nan", "\"s3://b/p\"", "\"s3://b/p*\"", "train", "failed", "llama", "-3", "2", "\xc3\x89T",
		"inf", "l+a", "xz?y", "available", "terminated", "inuse", "AlgorithmError", "3", "paper", "\"k=v\"",
		"v"};

	switch (roll(w, 8)) {
	case 0:
		buf_append_text(out, PICK(w, values));
		break;
	case 1:
		buf_printf(out, "%s exists", PICK(w, names));
		break;
	case 2:
		buf_printf(out, "%s in (%s, %s)", PICK(w, names), PICK(w, values), PICK(w, values));
		break;
	default:
		buf_printf(out, "%s%s%s", PICK(w, names), PICK(w, operators), PICK(w, values));
	}
}

static void print_query(struct world *w, struct buf *out, unsigned depth)
{
	switch (depth ? roll(w, 6) : 5) {
	case 0:
	case 1:
		print_query(w, out, depth - 1);
		buf_append_text(out, roll(w, 2) ? " and " : " ");
		print_query(w, out, depth - 1);
		break;
	case 2:
		print_query(w, out, depth - 1);
		buf_append_text(out, " or ");
		print_query(w, out, depth - 1);
		break;
	case 3:
		buf_append_text(out, roll(w, 2) ? "not (" : "-(");
		print_query(w, out, depth - 1);
		buf_append_char(out, ')');
		break;
	default:
		print_term(w, out);
	}
}

static void print_filter(struct world *w, struct buf *out, bool is_nested)
{
	static const char *const names[] = {"TrainingJobName", "HyperParameters.lr", "HyperParameters.opt", "Tags.team",
		"ResourceConfig.InstanceCount", "InputDataConfig.ChannelName", "Metrics.train:loss", "Environment.X"};
	static const char *const nested[] = {
		"InputDataConfig.ChannelName", "InputDataConfig.DataSource.S3DataSource.S3Uri"};
	static const char *const operators[] = {"Equals", "NotEquals", "GreaterThan", "GreaterThanOrEqualTo",
		"LessThan", "LessThanOrEqualTo", "Contains", "In", "Exists", "NotExists"};
	static const char *const values[] = {
		"adam", "1", "1.0", "1e-4", "2", "train", "train,test", "s3://b/p", "llama", "*"};

	buf_printf(out, "{\"Name\":\"%s\",\"Operator\":\"%s\",\"Value\":\"%s\"}",
		is_nested ? PICK(w, nested) : PICK(w, names), PICK(w, operators), PICK(w, values));
}

static void print_expression(struct world *w, struct buf *out, unsigned depth)
{
	buf_printf(out, "{\"Operator\":\"%s\",\"Filters\":[", roll(w, 2) ? "And" : "Or");
	print_filter(w, out, false);
	buf_append_char(out, ']');
	if (roll(w, 2)) {
		buf_append_text(out, ",\"NestedFilters\":[{\"NestedPropertyName\":\"InputDataConfig\",\"Filters\":[");
		print_filter(w, out, true);
		buf_append_char(out, ',');
		print_filter(w, out, true);
		buf_append_text(out, "]}]");
	}
	if (depth && roll(w, 2)) {
		buf_append_text(out, ",\"SubExpressions\":[");
		print_expression(w, out, depth - 1);
		buf_append_char(out, ']');
	}
	buf_append_char(out, '}');
}

/* ---- both ---- */

/* The logs of jobs that were looked through; the term is a positive one for whoever answers. */
static enum log_answer look(void *context, const struct query_term *term, int64_t job_id)
{
	struct query_term positive = *term;
	struct world *w = context;

	if (term->compare == QUERY_NOT_EQUAL || term->compare == QUERY_MATCHES_NOT)
		positive.compare = term->compare == QUERY_NOT_EQUAL ? QUERY_EQUAL : QUERY_MATCHES;
	for (size_t i = 0; i < JOBS; i++)
		if (w->jobs[i].job_id == job_id)
			return !w->jobs[i].is_looked                        ? LOG_NOT_LOOKED
			       : satisfies(w->jobs[i].log, &positive, true) ? LOG_YES
									    : LOG_NO;
	return LOG_NOT_LOOKED;
}

/* What is not known of some logs: the jobs that must match all do, and all that do may. */
static void compare_some_logs(struct world *w, struct arena *arena, const struct query_node *query, const char *text)
{
	const struct log_answers may = {look, w, true}, must = {look, w, false};
	struct job_row rows[JOBS];
	bool mays[JOBS], musts[JOBS];

	for (size_t i = 0; i < JOBS; i++) {
		rows[i].job_id = w->jobs[i].job_id;
		w->jobs[i].is_looked = roll(w, 2);
	}
	CHECK_OK(store_match_jobs(w->h.reader, arena, query, &may, rows, JOBS, mays, &err));
	CHECK_OK(store_match_jobs(w->h.reader, arena, query, &must, rows, JOBS, musts, &err));
	for (size_t i = 0; i < JOBS; i++) {
		bool is_so = holds(&w->jobs[i], query, -1);
		if ((musts[i] && !is_so) || (is_so && !mays[i]) || (w->jobs[i].is_looked && mays[i] != musts[i]))
			test_fail(__FILE__, __LINE__, "%s: job '%s' %s match", text, w->jobs[i].name,
				musts[i]  ? "must"
				: mays[i] ? "may"
					  : "cannot");
	}
	for (size_t i = 0; i < JOBS; i++)
		w->jobs[i].is_looked = true;
}

/* log<x: the store refuses it. */
static bool orders_logs(const struct query_node *query)
{
	const struct query_term *terms[QUERY_MAX_TERMS];
	size_t count = query_log_terms(query, terms, QUERY_MAX_TERMS);

	for (size_t i = 0; i < count; i++)
		if (terms[i]->compare >= QUERY_LESS && terms[i]->compare <= QUERY_AT_LEAST)
			return true;
	return false;
}

static void compare(struct world *w, struct arena *arena, const struct query_node *query, const char *text)
{
	const struct log_answers logs = {look, w, true};
	struct job_search search = {.query = query,
		.sort = SPAN("created"),
		.cursor = SPAN(""),
		.limit = 1000,
		.wants_total = true,
		.logs = &logs};
	struct job_search_result result;
	size_t at = 0;

	CHECK_OK(store_search_jobs(w->h.reader, arena, &search, &result, &err));
	CHECK_INT(result.total, result.count);
	for (size_t i = 0; i < JOBS; i++) {
		bool is_found = at < result.count && span_equal(result.rows[at].name, span_from(w->jobs[i].name));
		at += is_found;
		if (is_found != holds(&w->jobs[i], query, -1))
			test_fail(__FILE__, __LINE__, "%s: job '%s' is %s", text, w->jobs[i].name,
				is_found ? "found, but should not be" : "not found");
	}
	CHECK_INT(at, result.count);
}

static void check_round_trip(struct arena *arena, const struct query_node *query, const char *text)
{
	AUTO_DONE(buf) printed = BUF_INIT(1 << 16);
	AUTO_DONE(buf) again = BUF_INIT(1 << 16);
	struct query_node *second;
	struct error err = {0};

	query_print(query, &printed);
	if (query_parse(&second, buf_span(&printed), 0, arena, &err))
		test_fail(__FILE__, __LINE__, "%s prints as %.*s: %s", text, SPAN_ARGS(buf_span(&printed)), err.text);
	query_print(second, &again);
	CHECK_SPAN(buf_span(&again), buf_span(&printed));
}

static bool try_text(struct world *w)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	struct query_node *query;

	print_query(w, &text, 3);
	if (query_parse(&query, buf_span(&text), 0, arena, NULL) || orders_logs(query))
		return false; /* loss~x, say */
	buf_append_char(&text, 0);
	compare(w, arena, query, text.ptr);
	if (query_log_terms(query, NULL, 0))
		compare_some_logs(w, arena, query, text.ptr);
	check_round_trip(arena, query, text.ptr);
	return true;
}

static bool try_expression(struct world *w)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);
	AUTO(json) json = NULL;
	struct query_node *query;

	print_expression(w, &text, 2);
	CHECK_OK(json_parse(&json, buf_span(&text), &err));
	if (search_expression_parse(&query, json, NULL, arena, NULL))
		return false; /* GreaterThan of a text, two Contains */
	buf_append_char(&text, 0);
	compare(w, arena, query, text.ptr);
	return true;
}

static uint64_t number_from(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : fallback;
}

static void compare_queries(struct world *w, uint64_t queries)
{
	uint64_t texts_tried = 0, expressions_tried = 0;

	printf("SM_SEED=%llu\n", (unsigned long long)w->random);
	put_jobs(w);
	for (size_t i = 0; i < JOBS; i++)
		w->jobs[i].is_looked = true;
	for (uint64_t i = 0; i < queries; i++) {
		texts_tried += try_text(w);
		expressions_tried += try_expression(w);
	}
	printf("%llu queries and %llu expressions compared\n", (unsigned long long)texts_tried,
		(unsigned long long)expressions_tried);
	CHECK(texts_tried > queries / 4 && expressions_tried > queries / 20);
}

TEST(the_store_finds_what_looking_at_each_job_finds)
{
	struct world w = {.random = number_from("SM_SEED", (uint64_t)getpid() * 2654435761u), .h = harness_new()};

	compare_queries(&w, number_from("SM_QUERIES", QUERIES));
	harness_done(&w.h);
}

TEST(postgresql_finds_what_looking_at_each_job_finds)
{
	struct world w = {.random = number_from("SM_SEED", (uint64_t)getpid() * 2654435761u)};
	struct store_options options = {.schema = "searched"};

	if (!cluster_is_there())
		return;
	options.path = cluster_address("postgres");
	CHECK_OK(store_open(&w.h.store, &options, &err));
	CHECK_OK(store_reader_new(&w.h.reader, w.h.store, &err));
	compare_queries(&w, number_from("SM_QUERIES", QUERIES / 3));
	harness_close(&w.h);
}
