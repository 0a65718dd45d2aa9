/* Rules: which incidents are told to whom, and when; conditions on a metric that users write. */
#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/query.h"
#include "pipeline/alert/rules.h"
#include "query/query.h"
#include "store/alerts.h"
#include "store/search.h"

#include <stdio.h>

static void write_rule(const struct rule *rule, struct json_writer *w)
{
	json_object(w);
	json_put_i64(w, "id", rule->rule_id);
	rule_write_fields(rule, w);
	json_put_i64(w, "modified_ms", rule->modified_ms);
	json_object_end(w);
}

static enum status write_list(struct rule_set *set, struct span team, struct http_response *response, struct error *err)
{
	struct json_writer w = api_reply(response);

	json_object(&w);
	json_key(&w, "rules");
	json_array(&w);
	for (size_t i = 0; i < rule_set_count(set); i++) {
		const struct rule *rule = rule_set_get(set, i);
		if (!team.len || !rule->team.len || span_equal(team, rule->team))
			write_rule(rule, &w);
	}
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status api_rules_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct rule_set *set = NULL;
	struct rule_row *rows;
	size_t count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(store_read_rules(((struct api_worker *)worker)->reader, arena, &rows, &count, err));
	TRY(rule_set_new(&set, rows, count, 0, err));
	enum status status = write_list(set, api_team(request), response, err);
	rule_set_unref(set);
	return status;
}

/* Webhooks that are not there, or another team's, are a mistake. */
static enum status check_webhooks(
	struct store_reader *reader, struct arena *arena, const struct rule *rule, const char *field, struct error *err)
{
	struct webhook_row webhook;

	for (size_t i = 0; i < rule->webhook_count; i++) {
		enum status status = store_read_webhook(reader, arena, rule->webhooks[i], &webhook, err);
		bool is_other = status == OK && webhook.team.len && !span_equal(webhook.team, rule->team);
		if (status == ERR_NOT_FOUND || is_other)
			return error_set_field(
				err, ERR_SEMANTIC, field, "there is no webhook %lld", (long long)rule->webhooks[i]);
		TRY(status);
	}
	return OK;
}

/* What parses may still be more than the store can ask: a pattern, or a log. */
static enum status check_query(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct rule *rule, int64_t now_ms, struct error *err)
{
	struct job_search search = {
		.sort = SPAN(""), .cursor = SPAN(""), .limit = 1, .limit_ms = api->options.rule_preview_ms};
	struct query_node *query = NULL;
	struct job_search_result found;

	TRY(query_parse(&query, rule->query, now_ms, arena, err));
	search.query = query;
	enum status status = query ? store_search_jobs(reader, arena, &search, &found, err) : OK;
	if (status == ERR_SEMANTIC && err)
		snprintf(err->field, sizeof err->field, "query");
	return status;
}

static enum status save(struct api *api, struct api_worker *worker, const struct http_request *request, int64_t rule_id,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	AUTO_DONE(rule) rule = {0};

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(rule_parse(&rule, body, arena, err));
	TRY(api_own_team(request, &rule.team, err));
	TRY(check_webhooks(worker->reader, arena, &rule, json_get(body, "webhooks") ? "webhooks" : "endpoints", err));
	TRY(check_query(api, worker->reader, arena, &rule, http_request_arrival_ms(request), err));
	rule.rule_id = rule_id;
	rule.modified_ms = http_request_arrival_ms(request);
	TRY(pipeline_put_rule(api->options.pipeline, &rule, api->options.max_rules, err));
	struct json_writer w = api_reply(response);
	response->status = rule_id ? 200 : 201;
	write_rule(&rule, &w);
	return buf_status(&response->body, err);
}

enum status api_rules_create(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	return save(context, worker, request, 0, response, err);
}

/* A team's token changes that team's rules alone. */
static enum status find_rule(
	struct store_reader *reader, const struct http_request *request, int64_t *rule_id, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct span text = http_request_segment(request, 0), own = api_team(request);
	struct rule_row *rows;
	size_t count;

	TRY(api_arena(&arena, err));
	TRY(store_read_rules(reader, arena, &rows, &count, err));
	*rule_id = 0;
	span_parse_i64(text, rule_id);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].rule_id != *rule_id)
			continue;
		if (own.len && !span_equal(own, rows[i].team))
			return error_set(err, ERR_FORBIDDEN, "rule %lld belongs to %s%.*s", (long long)*rule_id,
				rows[i].team.len ? "team " : "no team", SPAN_ARGS(rows[i].team));
		return OK;
	}
	return error_set(err, ERR_NOT_FOUND, "there is no rule '%.*s'", SPAN_ARGS(text));
}

enum status api_rule_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	int64_t rule_id;

	TRY(find_rule(((struct api_worker *)worker)->reader, request, &rule_id, err));
	return save(context, worker, request, rule_id, response, err);
}

enum status api_rule_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	int64_t rule_id;

	TRY(find_rule(((struct api_worker *)worker)->reader, request, &rule_id, err));
	TRY(pipeline_delete_rule(api->options.pipeline, rule_id, err));
	response->status = 204;
	return OK;
}
