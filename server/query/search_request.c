#include "query/search_request.h"
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

static enum status read_page(const struct json *body, struct search_request *out, struct error *err)
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
	out->limit = (size_t)most;
	TRY(json_want_string(body, "NextToken", &out->cursor, err));
	if (out->cursor.len > TOKEN_MAX_BYTES)
		return expression_violation(
			err, "nextToken", out->cursor, "Member must have length less than or equal to 8192");
	TRY(json_want_string(body, "CrossAccountFilterOption", &account, err));
	return check_one_of(account, "crossAccountFilterOption", accounts, 2, err);
}

enum status search_request_read(
	struct search_request *out, const struct json *body, struct arena *arena, struct error *err)
{
	*out = (struct search_request){.sort = SPAN(""), .cursor = SPAN("")};
	TRY(read_resource(body, &out->is_ours, err));
	TRY(read_page(body, out, err));
	if (!out->is_ours)
		return OK;
	TRY(read_order(body, arena, &out->sort, err));
	return search_expression_parse(
		&out->query, json_get(body, "SearchExpression"), json_get(body, "VisibilityConditions"), arena, err);
}
