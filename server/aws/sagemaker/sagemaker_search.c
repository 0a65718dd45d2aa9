/* Search, and the names that one may search for. */
#include "aws/sagemaker/sagemaker.h"
#include "query/search_request.h"
#include "store/search.h"
#include "store/suggestions.h"

enum { SUGGESTIONS_MAX = 20 };

enum status sagemaker_search(struct aws_call *call, struct error *err)
{
	const struct arn_place place = sagemaker_place(call);
	struct search_request asked;

	TRY(search_request_read(&asked, call->input, call->arena, err));
	const struct job_search search = {.query = asked.query,
		.sort = asked.sort,
		.cursor = asked.cursor,
		.limit = asked.limit,
		.wants_total = true,
		.limit_ms = call->options->job_search_ms};
	if (asked.is_ours)
		return job_record_search(call->pipeline, call->reader, call->arena, &place, &search, &call->w, err);
	json_key(&call->w, "Results");
	json_raw(&call->w, SPAN("[]"));
	return OK;
}

/* stored: before the hint, as the store has such names; shown: as SageMaker does. */
static enum status put_family(struct aws_call *call, enum suggestion_kind kind, const char *stored, const char *shown,
	struct span hint, struct error *err)
{
	AUTO_DONE(buf) prefix = BUF_INIT(1024);
	struct suggestion *rows;
	size_t count;
	bool is_partial;

	buf_append_text(&prefix, stored);
	buf_append_span(&prefix, hint);
	TRY(buf_status(&prefix, err));
	const struct suggestion_query query = {
		.kind = kind, .key = SPAN(""), .prefix = buf_span(&prefix), .limit = SUGGESTIONS_MAX};
	TRY(store_suggest(call->reader, call->arena, &query, &rows, &count, &is_partial, err));
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) name = BUF_INIT(8192);
		buf_append_text(&name, shown);
		buf_append_span(&name, span_skip(rows[i].text, strlen(stored)));
		TRY(buf_status(&name, err));
		json_object(&call->w);
		json_put_span(&call->w, "PropertyName", buf_span(&name));
		json_object_end(&call->w);
	}
	return OK;
}

enum status sagemaker_get_search_suggestions(struct aws_call *call, struct error *err)
{
	struct span hint =
		json_string_of(json_get_path(call->input, "SuggestionQuery.PropertyNameQuery.PropertyNameHint"));
	struct span resource = json_string_of(json_get(call->input, "Resource"));

	json_key(&call->w, "PropertyNameSuggestions");
	json_array(&call->w);
	if (span_equal(resource, SPAN("TrainingJob"))) {
		TRY(put_family(call, SUGGEST_KEYS, "hp.", "hyperparameters.", hint, err));
		TRY(put_family(call, SUGGEST_KEYS, "tag.", "tags.", hint, err));
		TRY(put_family(call, SUGGEST_METRICS, "", "metrics.", hint, err));
	}
	json_array_end(&call->w);
	return OK;
}
