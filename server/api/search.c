/* SageMaker's Search, request and reply, over our jobs; what it answers of other resources is that there are none. */
#include "api/internal.h"
#include "query/expression.h"

#include <stdio.h>

enum { RESULTS_DEFAULT = 10, RESULTS_MAX = 100, TOKEN_MAX_BYTES = 8192 };

static const char *const resources[] = {"TrainingJob", "Experiment", "ExperimentTrial", "ExperimentTrialComponent",
	"Endpoint", "Model", "ModelPackage", "ModelPackageGroup", "Pipeline", "PipelineExecution", "FeatureGroup",
	"FeatureMetadata", "Image", "ImageVersion", "Project", "HyperParameterTuningJob", "ModelCard"};

static enum status check_one_of(
	struct span value, const char *field, const char *const *names, size_t count, struct error *err)
{
	AUTO_DONE(buf) constraint = BUF_INIT(1024);

	buf_append_text(&constraint, "Member must satisfy enum value set: [");
	for (size_t i = 0; i < count; i++) {
		if (span_equal(value, span_from(names[i])))
			return OK;
		buf_append_text(&constraint, i ? ", " : "");
		buf_append_text(&constraint, names[i]);
	}
	buf_append_char(&constraint, ']');
	buf_append_char(&constraint, 0);
	TRY(buf_status(&constraint, err));
	return expression_violation(err, field, value, constraint.ptr);
}

static enum status read_resource(const struct json *body, bool *is_ours, struct error *err)
{
	struct span resource = SPAN("");

	TRY(json_want_string(body, "Resource", &resource, err));
	if (!resource.len)
		return expression_violation(err, "resource", SPAN("null"), "Member must not be null");
	*is_ours = span_equal(resource, SPAN("TrainingJob"));
	return check_one_of(resource, "resource", resources, sizeof resources / sizeof *resources, err);
}

static enum status read_order(const struct json *body, struct arena *arena, struct span *sort, struct error *err)
{
	static const char *const orders[] = {"Ascending", "Descending"};
	struct span by = SPAN("LastModifiedTime"), order = SPAN("Descending");

	TRY(json_want_string(body, "SortBy", &by, err));
	TRY(json_want_string(body, "SortOrder", &order, err));
	TRY(check_one_of(order, "sortOrder", orders, 2, err));
	return expression_sort(sort, by, span_equal(order, SPAN("Descending")), arena, err);
}

static enum status read_page(const struct json *body, struct job_search *search, struct error *err)
{
	static const char *const accounts[] = {"SameAccount", "CrossAccount"};
	struct span account = SPAN("SameAccount");
	int64_t most = RESULTS_DEFAULT;
	char text[32];

	TRY(json_want_i64(body, "MaxResults", &most, err));
	snprintf(text, sizeof text, "%lld", (long long)most);
	if (most < 1)
		return expression_violation(
			err, "maxResults", span_from(text), "Member must have value greater than or equal to 1");
	if (most > RESULTS_MAX)
		return expression_violation(
			err, "maxResults", span_from(text), "Member must have value less than or equal to 100");
	search->limit = (size_t)most;
	TRY(json_want_string(body, "NextToken", &search->cursor, err));
	if (search->cursor.len > TOKEN_MAX_BYTES)
		return expression_violation(
			err, "nextToken", search->cursor, "Member must have length less than or equal to 8192");
	TRY(json_want_string(body, "CrossAccountFilterOption", &account, err));
	return check_one_of(account, "crossAccountFilterOption", accounts, 2, err);
}

static enum status write_results(struct api_worker *own, struct arena *arena, const struct job_search *search,
	struct json_writer *w, struct error *err)
{
	struct job_search_result result;

	TRY(store_search_jobs(own->reader, arena, search, &result, err));
	json_key(w, "Results");
	json_array(w);
	for (size_t i = 0; i < result.count; i++) {
		json_object(w);
		json_key(w, "TrainingJob");
		json_object(w);
		TRY(api_write_training_job(own, arena, &result.rows[i], w, err));
		json_object_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	if (result.next_cursor.len)
		json_put_span(w, "NextToken", result.next_cursor);
	json_key(w, "TotalHits");
	json_object(w);
	json_put_i64(w, "Value", (int64_t)result.total);
	json_put_text(w, "Relation", result.is_partial ? "GreaterThanOrEqualTo" : "EqualTo");
	json_object_end(w);
	if (result.is_partial)
		json_put_bool(w, "partial", true);
	return OK;
}

enum status api_search(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	struct job_search search = {.cursor = SPAN(""), .wants_total = true};
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	struct query_node *query = NULL;
	bool is_ours = false;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(read_resource(body, &is_ours, err));
	TRY(read_page(body, &search, err));
	if (is_ours) {
		TRY(read_order(body, arena, &search.sort, err));
		TRY(search_expression_parse(&query, json_get(body, "SearchExpression"),
			json_get(body, "VisibilityConditions"), arena, err));
	}
	struct json_writer w = api_reply(response);
	json_object(&w);
	search.query = query;
	if (is_ours) {
		search.limit_ms = own->api->options.job_search_ms;
		store_reader_deadline(own->reader, search.limit_ms + SEARCH_ROWS_MS);
		TRY(store_reader_begin(own->reader, err));
		enum status status = write_results(own, arena, &search, &w, err);
		store_reader_end(own->reader);
		TRY(status);
	} else {
		json_key(&w, "Results");
		json_raw(&w, SPAN("[]"));
	}
	json_object_end(&w);
	return buf_status(&response->body, err);
}
