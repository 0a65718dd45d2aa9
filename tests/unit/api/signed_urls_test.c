#include "api/core/signed_urls.h"
#include "api/core/handlers.h"
#include "base/json/json_read.h"
#include "http/request_helper.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOW_S = 1700000000 };

static const unsigned char key[32] = "a key that is 32 bytes long, yes";

/* One token, 7, that may read; a year is the longest time. */
struct rig {
	struct api api;
	struct token_row token;
};

static void rig_init(struct rig *rig)
{
	*rig = (struct rig){.token = {.token_id = 7, .name = SPAN("t"), .scope = SPAN("read"), .team = SPAN("")}};
	rig->api.options.seal_key = key;
	rig->api.options.max_signature_ms = 365LL * 24 * 3600 * 1000;
	rig->api.tokens = &rig->token;
	rig->api.token_count = 1;
	CHECK_INT(pthread_rwlock_init(&rig->api.tokens_lock, NULL), 0);
}

/* The signed address; "": it was refused, with the words. */
static void sign(struct rig *rig, const char *body, char out[512], const char *words)
{
	AUTO_DONE(http_request) request = request_for("POST", "/api/v1/signatures");
	struct http_response response = {.status = 200, .body = BUF_INIT(4096)};
	AUTO(json) reply = NULL;
	struct error err = {0};

	out[0] = 0;
	request.arrival_ms = NOW_S * 1000LL + 999;
	request.principal.id = 7;
	request.body = BUF_INIT(4096);
	buf_append_text(&request.body, body);
	enum status status = api_signatures_create(&rig->api, NULL, &request, &response, &err);
	CHECK_INT(status, words ? ERR_SEMANTIC : OK);
	if (words && !strstr(err.text, words))
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.text, words);
	if (!words) {
		CHECK_INT(response.status, 201);
		CHECK_INT(json_parse(&reply, buf_span(&response.body), NULL), OK);
		snprintf(out, 512, "%.*s", SPAN_ARGS(json_string_of(json_get(reply, "url"))));
	}
	buf_done(&response.body);
}

/* words NULL: it is let in. job: the route's first parameter. */
static void check_sees(struct rig *rig, const char *url, const char *job, int64_t at_s, const char *words)
{
	AUTO_DONE(http_request) request = request_for("GET", url);
	struct principal principal = {0};
	struct error err = {0};

	request.arrival_ms = at_s * 1000 + 999;
	request.parameters[0] = span_from(job);
	request.parameter_count = 1;
	enum status status = signatures_check(&rig->api, &request, &principal, &err);
	CHECK_INT(status, words ? ERR_FORBIDDEN : OK);
	if (words && !strstr(err.text, words))
		test_fail(__FILE__, __LINE__, "%s: '%s' does not say '%s'", url, err.text, words);
	if (!words) {
		CHECK_INT(principal.scope, SCOPE_READ);
		CHECK_INT(principal.id, 7);
	}
}

static const char not_its[] = "sig is not this address's";

TEST(a_signed_chart_is_exactly_that_picture)
{
	struct rig rig;
	char url[512], other[600];

	rig_init(&rig);
	sign(&rig, "{\"url\":\"/api/v1/jobs/a%2Fb/chart.svg?metric=loss&x=time\",\"expires_in_s\":60}", url, NULL);
	check_sees(&rig, url, "a/b", NOW_S, NULL);
	check_sees(&rig, url, "a/b", NOW_S + 59, NULL);
	check_sees(&rig, url, "a/b", NOW_S + 60, "this address was good until 1700000060 (Unix seconds)");
	check_sees(&rig, url, "a", NOW_S, not_its);
	snprintf(other, sizeof other, "%s&y=log", url);
	check_sees(&rig, other, "a/b", NOW_S, not_its);
	snprintf(other, sizeof other, "/api/v1/jobs/a%%2Fb/chart.svg?x=time&metric=loss%s", strstr(url, "&sig="));
	check_sees(&rig, other, "a/b", NOW_S, not_its); /* another order */
	snprintf(other, sizeof other, "/api/v1/jobs/a%%2fb/chart.svg?metric=%%6Coss&x=time%s", strstr(url, "&sig="));
	check_sees(&rig, other, "a/b", NOW_S, NULL); /* other escapes of the same */
}

TEST(no_part_of_a_signature_can_be_another)
{
	struct rig rig;
	char url[512], other[600];

	rig_init(&rig);
	sign(&rig, "{\"url\":\"/api/v1/jobs/j/chart.svg?metric=loss\",\"expires_in_s\":60}", url, NULL);
	char *signature = strstr(url, "&sig=") + 5;
	CHECK(strncmp(signature, "1700000060.7.", 13) == 0);
	CHECK_INT(strlen(signature), 13 + 32);
	for (size_t i = 0; i < 13 + 32; i++) {
		memcpy(other, url, sizeof url);
		char *at = other + (signature - url) + i;
		*at = *at == '1' ? '2' : '1';
		check_sees(&rig, other, "j", NOW_S, not_its);
	}
	memcpy(other, url, sizeof url);
	other[strlen(other) - 1] = 0;
	check_sees(&rig, other, "j", NOW_S, not_its);
	snprintf(other, sizeof other, "%s0", url);
	check_sees(&rig, other, "j", NOW_S, not_its);
	static const char *const none[] = {"", "?sig=", "?sig=.", "?sig=..", "?sig=1", "?sig=1700000060.7.",
		"?sig=x.7.00000000000000000000000000000000", "?sig=1700000060.-7.00000000000000000000000000000000"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		snprintf(other, sizeof other, "/api/v1/jobs/j/chart.svg%s", none[i]);
		check_sees(&rig, other, "j", NOW_S, not_its);
	}
}

TEST(a_signature_is_as_good_as_its_token)
{
	struct rig rig;
	char url[512];

	rig_init(&rig);
	sign(&rig, "{\"url\":\"/api/v1/jobs/j/chart.svg?metric=loss\"}", url, NULL);
	rig.token.token_id = 8;
	check_sees(&rig, url, "j", NOW_S, "the token that signed this address is no longer known here");
	rig.token.token_id = 7;
	rig.token.scope = SPAN("write");
	check_sees(&rig, url, "j", NOW_S, "no longer known");
	rig.token.scope = SPAN("admin");
	check_sees(&rig, url, "j", NOW_S, NULL);
	unsigned char changed[32];
	memcpy(changed, key, sizeof key);
	changed[31] ^= 1;
	rig.api.options.seal_key = changed;
	check_sees(&rig, url, "j", NOW_S, not_its);
}

TEST(an_embedded_chart_asks_for_points_of_its_metric)
{
	struct rig rig;
	char url[512], other[600];

	rig_init(&rig);
	sign(&rig, "{\"url\":\"https://h:1/jobs/j?embed=1&metric=loss&dark=1\",\"expires_in_s\":60}", url, NULL);
	CHECK(strncmp(url, "https://h:1/jobs/j?embed=1&metric=loss&dark=1&sig=", 50) == 0);
	static const struct {
		const char *query, *words;
	} table[] = {{"metric=loss", NULL}, {"metric=loss&from=1&to=9&buckets=5", NULL}, {"metric=lr", not_its},
		{"", not_its}, {"metric=loss&raw=1", "a signed address does not give 'raw'"},
		{"metric=loss&format=csv", "a signed address does not give 'format'"},
		{"metric=loss&chain=1", "a signed address does not give 'chain'"}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		snprintf(other, sizeof other, "/api/v1/jobs/j/points?%s%s", table[i].query, strstr(url, "&sig="));
		check_sees(&rig, other, "j", NOW_S, table[i].words);
	}
	/* and it is no picture's */
	snprintf(other, sizeof other, "/api/v1/jobs/j/chart.svg?metric=loss%s", strstr(url, "&sig="));
	check_sees(&rig, other, "j", NOW_S, not_its);
}

TEST(what_is_signed_and_for_how_long)
{
	static const char *const addresses[] = {"/api/v1/jobs/j/points?metric=loss", "/api/v1/jobs/j/chart.svg",
		"/api/v1/jobs/j/chart.svg?metric=", "/jobs/j?metric=loss", "/jobs/j?embed=2&metric=loss",
		"/jobs/j/x?embed=1&metric=loss", "https://host", "/", "/api/v2/jobs/j/chart.svg?metric=loss"};
	static const char url[] = "\"url\":\"/api/v1/jobs/j/chart.svg?metric=loss\"";
	struct rig rig;
	char body[256], out[512];

	rig_init(&rig);
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		snprintf(body, sizeof body, "{\"url\":\"%s\"}", addresses[i]);
		sign(&rig, body, out, "url is ");
	}
	sign(&rig, "{\"url\":\"/api/v1/jobs/j/chart.svg?metric=loss&sig=1\"}", out, "has a sig already: leave it out");
	sign(&rig, "{\"url\":\"/api/v1/jobs/%zz/chart.svg?metric=loss\"}", out, "url is no address of this server");
	static const struct {
		int64_t expires_in_s;
		const char *words;
	} times[] = {{0, "expires_in_s 0 is not between 1 and 31536000 (--max-signature)"}, {1, NULL}, {31536000, NULL},
		{31536001, "expires_in_s 31536001 is not between 1 and 31536000"},
		{-1, "expires_in_s -1 is not between"}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		snprintf(body, sizeof body, "{%s,\"expires_in_s\":%lld}", url, (long long)times[i].expires_in_s);
		sign(&rig, body, out, times[i].words);
		if (!times[i].words)
			CHECK_INT(strtoll(strstr(out, "&sig=") + 5, NULL, 10), NOW_S + times[i].expires_in_s);
	}
	/* not said: thirty days, or as long as it may be */
	snprintf(body, sizeof body, "{%s}", url);
	sign(&rig, body, out, NULL);
	CHECK_INT(strtoll(strstr(out, "&sig=") + 5, NULL, 10), NOW_S + 30 * 24 * 3600);
	rig.api.options.max_signature_ms = 90500;
	sign(&rig, body, out, NULL);
	CHECK_INT(strtoll(strstr(out, "&sig=") + 5, NULL, 10), NOW_S + 90);
}
