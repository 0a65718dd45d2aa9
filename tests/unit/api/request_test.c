#include "api/core/request.h"
#include "http/request_helper.h"

#include <stdio.h>

/* Freed by the caller. */
static struct http_request request_of(const char *target, const char *team, const char *body)
{
	struct http_request request = request_for("GET", target);

	snprintf(request.principal.team, sizeof request.principal.team, "%s", team);
	request.body = BUF_INIT(4096);
	buf_append_text(&request.body, body);
	return request;
}

TEST(a_name_in_a_list_is_decoded_once_more)
{
	static const char *const table[][2] = {{"", ""}, {"a", "a"}, {"a%2Cb", "a,b"}, {"%2c", ","}, {"a%2C", "a,"},
		{"%252C", "%2C"}, {"100%", "100%"}, {"%2", "%2"}, {"%zz", "%zz"}, {"%2g", "%2g"}, {"%g2", "%g2"},
		{"%%2C", "%,"}, {"%C3%B6", "\xc3\xb6"}};
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct span out;
		CHECK_OK(api_decode_name(arena, span_from(table[i][0]), &out, &err));
		CHECK_SPAN(out, span_from(table[i][1]));
	}
}

static void check_limit(const char *target, int64_t want)
{
	AUTO_DONE(http_request) request = request_of(target, "", "");
	size_t limit = 0;

	if (want) {
		CHECK_OK(api_limit(&request, 50, 1000, &limit, &err));
		CHECK_INT(limit, want);
	} else {
		CHECK_FAILS(api_limit(&request, 50, 1000, &limit, &err), ERR_INVALID, "limit");
		CHECK_INT(limit, 0);
	}
}

TEST(a_limit_is_between_one_and_the_most)
{
	check_limit("/a", 50);
	check_limit("/a?limit=1", 1);
	check_limit("/a?limit=1000", 1000);
	check_limit("/a?limit=0", 0);
	check_limit("/a?limit=1001", 0);
	check_limit("/a?limit=-1", 0);
	check_limit("/a?limit=18446744073709551617", 0);
	check_limit("/a?limit=5x", 0);
	check_limit("/a?limit=", 0);
}

TEST(a_token_of_a_team_gives_no_more_than_it_has)
{
	AUTO_DONE(http_request) own = request_of("/a", "red", "");
	AUTO_DONE(http_request) of_all = request_of("/a", "", "");
	struct span team = SPAN("");

	CHECK_SPAN(api_team(&own), SPAN("red"));
	CHECK_OK(api_own_team(&own, &team, &err));
	CHECK_SPAN(team, SPAN("red"));
	CHECK_OK(api_own_team(&own, &team, &err));
	team = SPAN("blue");
	CHECK_FAILS(api_own_team(&own, &team, &err), ERR_FORBIDDEN, "this token's team is 'red', not 'blue'");
	team = SPAN("re");
	CHECK_FAILS(api_own_team(&own, &team, &err), ERR_FORBIDDEN, "this token's team is 'red', not 're'");
	team = SPAN("blue");
	CHECK_OK(api_own_team(&of_all, &team, &err));
	CHECK_SPAN(team, SPAN("blue"));
	CHECK_OK(api_all_teams(&of_all, "quotas are those", &err));
	CHECK_FAILS(api_all_teams(&own, "quotas are those", &err), ERR_FORBIDDEN,
		"quotas are those of all teams; this token is of team 'red'");
}

static void check_body(const char *text, enum status status, const char *words)
{
	AUTO_DONE(http_request) request = request_of("/a", "", text);
	AUTO(json) body = NULL;

	CHECK_FAILS(api_body_object(&request, &body, &err), status, words);
	CHECK(!body);
}

TEST(a_body_is_an_object)
{
	AUTO_DONE(http_request) request = request_of("/a", "", " {\"a\":1}\n");
	AUTO(json) body = NULL;

	CHECK_OK(api_body_object(&request, &body, &err));
	CHECK(json_get(body, "a"));
	check_body("", ERR_INVALID, "the body is empty; a JSON object is expected");
	check_body(" \t\r\n", ERR_INVALID, "the body is empty");
	check_body("[]", ERR_SEMANTIC, "the body is JSON, but no object");
	check_body("\"{}\"", ERR_SEMANTIC, "the body is JSON, but no object");
	check_body("null", ERR_SEMANTIC, "the body is JSON, but no object");
	check_body("{\"a\":", ERR_INVALID, "");
}

static void check_members(const char *text, const char *field, const char *words)
{
	AUTO(json) body = NULL;
	struct error own = {0};

	CHECK_OK(json_parse(&body, span_from(text), &err));
	CHECK_INT(api_check_members(body, "job metric", &own), field ? ERR_SEMANTIC : OK);
	CHECK_TEXT(own.field, field ? field : "");
	CHECK(span_find(span_from(own.text), span_from(words)) >= 0);
}

TEST(members_that_are_not_known_are_named)
{
	check_members("{}", NULL, "");
	check_members("{\"job\":1,\"metric\":{\"other\":1}}", NULL, "");
	check_members("{\"job\":1,\"metrics\":2}", "metrics", "there is no field 'metrics' here; there is: job metric");
	check_members("{\"me\":1}", "me", "there is no field 'me' here");
	check_members("{\"job metric\":1}", "job metric", "there is no field 'job metric' here");
	check_members("{\"\":1}", "", "there is no field '' here");
	check_members("{\"job\":1,\"job\":2}", "job", "job");
	/* of a long name the first 60 bytes are told */
	check_members("{\"012345678901234567890123456789012345678901234567890123456789ab\":1}",
		"012345678901234567890123456789012345678901234567890123456789",
		"there is no field '012345678901234567890123456789012345678901234567890123456789' here");
}

TEST(times_are_of_the_zone_that_is_asked_for)
{
	struct api api = {0};
	AUTO(zone) server = NULL;
	const struct zone *zone;

	CHECK_OK(zone_new(&server, SPAN("Europe/Berlin"), &err));
	api.zone = server;
	static const char *const none[] = {"/a", "/a?tz=", NULL};
	for (const char *const *target = none; *target; target++) {
		AUTO_DONE(http_request) request = request_of(*target, "", "");
		AUTO(zone) own = NULL;
		CHECK_OK(api_zone(&api, &request, &own, &zone, &err));
		CHECK(zone == server && !own);
	}
	AUTO_DONE(http_request) asked = request_of("/a?tz=Asia/Tokyo", "", "");
	AUTO(zone) own = NULL;
	CHECK_OK(api_zone(&api, &asked, &own, &zone, &err));
	CHECK(zone == own && own);
	AUTO_DONE(http_request) wrong = request_of("/a?tz=Asia/Nowhere", "", "");
	AUTO(zone) nothing = NULL;
	struct error told = {0};
	CHECK_INT(api_zone(&api, &wrong, &nothing, &zone, &told), ERR_SEMANTIC);
	CHECK_TEXT(told.field, "tz");
	CHECK(strstr(told.text, "Asia/Nowhere"));
}
