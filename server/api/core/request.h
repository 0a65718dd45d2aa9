/* Job: what handlers read a request with, and begin a reply. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/text/zone.h"
#include "model/query.h"
#include "read/logs/log_search.h"

/* tz=, else the server's zone. *own is the caller's to free. */
enum status api_zone(const struct api *api, const struct http_request *request, struct zone **own,
	const struct zone **out, struct error *err) MUST_CHECK;
/* q=, with times in the zone of tz=. Spans are in the arena. */
enum status api_parse_query(const struct api *api, const struct http_request *request, struct arena *arena,
	struct query_node **out, struct error *err) MUST_CHECK;

/* runs=true: only the last jobs of runs. */
enum status api_want_runs(const struct http_request *request, struct arena *arena, struct query_node **query,
	bool *wants_runs, struct error *err) MUST_CHECK;

/* The team that this request may write for: the token's. */
struct span api_team(const struct http_request *request);
/* What is everybody's is not changed by a token of a team. what: "quotas are those". */
enum status api_all_teams(const struct http_request *request, const char *what, struct error *err) MUST_CHECK;
/* A token of a team gives away no more than it has: *team is that team's, "" becomes it. */
enum status api_own_team(const struct http_request *request, struct span *team, struct error *err) MUST_CHECK;
/* An arena for one request; freed by the caller. */
enum status api_arena(struct arena **out, struct error *err) MUST_CHECK;
/* Whom a search of logs is for: it ends with the request, and within --search-cpu-ms. */
struct log_asker api_asker(const struct api *api, const struct http_request *request);
/* Routes that may take long: always, or where q= looks into logs or has patterns. */
bool api_is_slow(const struct http_request *request);
bool api_is_slow_query(const struct http_request *request);
/* limit=, 1 to most; ERR_INVALID (400) otherwise, as of http_query_i64. */
enum status api_limit(
	const struct http_request *request, int64_t fallback, int64_t most, size_t *out, struct error *err) MUST_CHECK;
/* A name inside a list may hold a comma: it is then %2C, beneath the encoding of the query itself. */
enum status api_decode_name(struct arena *arena, struct span text, struct span *out, struct error *err) MUST_CHECK;
/* A text without control characters, of so many bytes; ERR_SEMANTIC with the field. */
enum status api_check_length(
	const char *field, struct span text, size_t least, size_t most, struct error *err) MUST_CHECK;
struct json_writer api_reply(struct http_response *response);
/* The body as a JSON object. */
enum status api_body_object(const struct http_request *request, struct json **out, struct error *err) MUST_CHECK;
/* A body that has members of these names alone (spaces between them), each once: a slip of the pen is no silence. */
enum status api_check_members(const struct json *body, const char *names, struct error *err) MUST_CHECK;
