/* What may come next in a query that is being typed: names of properties, and after an operator their values. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/jobs/query_place.h"
#include "base/json/json_write.h"
#include "model/metrics/metric.h"
#include "store/suggestions.h"

enum { LIMIT_DEFAULT = 20, LIMIT_MAX = 100 };

struct suggesting {
	struct api_worker *worker;
	struct arena *arena;
	struct json_writer w;
	struct query_place place;
	size_t limit, written;
	bool is_partial;
};

static enum status put(struct suggesting *s, struct span text, const char *kind, uint64_t count, struct error *err)
{
	AUTO_DONE(buf) whole = BUF_INIT(1 << 20);

	if (s->written == s->limit)
		return OK;
	query_put_suggestion(&s->place, text, &whole);
	TRY(buf_status(&whole, err));
	json_object(&s->w);
	json_put_span(&s->w, "text", buf_span(&whole));
	json_put_text(&s->w, "kind", kind);
	if (count)
		json_put_i64(&s->w, "count", (int64_t)count);
	json_object_end(&s->w);
	s->written++;
	return OK;
}

/* family: before each text, "hp."; "": none. */
static enum status put_stored(struct suggesting *s, enum suggestion_kind kind, struct span key, struct span prefix,
	const char *family, const char *label, struct error *err)
{
	struct suggestion_query query = {.kind = kind, .key = key, .prefix = prefix, .limit = s->limit};
	struct suggestion *rows;
	bool is_partial;
	size_t count;

	TRY(store_suggest(s->worker->reader, s->arena, &query, &rows, &count, &is_partial, err));
	s->is_partial |= is_partial;
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) name = BUF_INIT(8192);
		buf_append_text(&name, family);
		buf_append_span(&name, rows[i].text);
		TRY(buf_status(&name, err));
		TRY(put(s, buf_span(&name), label, rows[i].count, err));
	}
	return OK;
}

static enum status put_words(struct suggesting *s, const char *const *words, const char *kind, struct error *err)
{
	for (; *words; words++)
		if (span_equal_fold(span_of(*words, strnlen(*words, s->place.typed.len)), s->place.typed))
			TRY(put(s, span_from(*words), kind, 0, err));
	return OK;
}

static enum status put_values(struct suggesting *s, struct error *err)
{
	static const char *const statuses[] = {"InProgress", "Completed", "Failed", "Stopping", "Stopped", NULL};
	static const char *const phases[] = {"Starting", "Pending", "Downloading", "Training", "Uploading",
		"Interrupted", "Restarting", "Updating", "Stopping", "Stopped", "MaxRuntimeExceeded",
		"MaxWaitTimeExceeded", "Completed", "Failed", NULL};
	struct span name = s->place.name;

	if (span_equal(name, SPAN("status")) || span_equal(name, SPAN("TrainingJobStatus")))
		return put_words(s, statuses, "value", err);
	if (span_equal(name, SPAN("secondary")) || span_equal(name, SPAN("SecondaryStatus")))
		return put_words(s, phases, "value", err);
	if (span_equal(name, SPAN("name")) || span_equal(name, SPAN("TrainingJobName")))
		return put_stored(s, SUGGEST_NAMES, SPAN(""), s->place.typed, "", "value", err);
	if (span_equal(name, SPAN("team")))
		TRY(put_stored(s, SUGGEST_TEAMS, SPAN(""), s->place.typed, "", "value", err));
	AUTO_DONE(buf) key = BUF_INIT(8192);
	query_put_attribute(name, &key);
	TRY(buf_status(&key, err));
	return put_stored(s, SUGGEST_VALUES, buf_span(&key), s->place.typed, "", "value", err);
}

static enum status put_metrics(struct suggesting *s, struct span prefix, struct error *err)
{
	return put_stored(s, SUGGEST_METRICS, SPAN(""), prefix, "metric.", "metric", err);
}

/* "hp.l" asks for hyperparameters that begin with l; "l" for everything that does, in the families as well. */
static enum status put_names(struct suggesting *s, struct error *err)
{
	static const char *const families[][2] = {
		{"hp.", "hyperparameter"}, {"tag.", "tag"}, {"env.", "environment"}, {"label.", "label"}};
	struct span typed = s->place.typed;

	TRY(put_words(s, query_property_names(), "property", err));
	for (int role = ROLE_OTHER + 1; role < ROLE_COUNT; role++)
		TRY(put_words(s, (const char *const[]){role_name((enum role)role), NULL}, "role", err));
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		AUTO_DONE(buf) prefix = BUF_INIT(8192);
		struct span family = span_from(families[i][0]);
		if (!span_starts_with(typed, family))
			buf_append_span(&prefix, family);
		buf_append_span(&prefix, typed);
		TRY(buf_status(&prefix, err));
		TRY(put_stored(s, SUGGEST_KEYS, SPAN(""), buf_span(&prefix), "", families[i][1], err));
	}
	if (span_starts_with(typed, SPAN("metric.")))
		return put_metrics(s, span_skip(typed, 7), err);
	TRY(put_metrics(s, typed, err));
	bool is_property = typed.len && typed.ptr[0] >= 'A' && typed.ptr[0] <= 'Z';
	return is_property ? put_stored(s, SUGGEST_KEYS, SPAN(""), typed, "", "property", err) : OK;
}

enum status api_suggestions(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct suggesting s = {.worker = worker, .w = api_reply(response)};
	struct span prefix = SPAN("");

	(void)context;
	http_request_query(request, "prefix", &prefix);
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &s.limit, err));
	TRY(query_place_of(prefix, &s.place, err));
	TRY(api_arena(&arena, err));
	s.arena = arena;
	json_object(&s.w);
	json_put_i64(&s.w, "from", (int64_t)s.place.from);
	json_key(&s.w, "suggestions");
	json_array(&s.w);
	TRY(s.place.has_operator ? put_values(&s, err) : put_names(&s, err));
	json_array_end(&s.w);
	json_put_bool(&s.w, "partial", s.is_partial);
	json_object_end(&s.w);
	return buf_status(&response->body, err);
}
