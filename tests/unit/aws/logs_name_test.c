#include "aws/logs/logs_name.h"
#include "aws/logs/logs_token.h"
#include "test.h"

static void check_split(const char *group, const char *full, const char *job, const char *stream, const char *suffix)
{
	AUTO(arena) arena = arena_new();
	struct logs_name name;

	CHECK_OK(logs_split(span_from(group), span_from(full), &name, &err));
	CHECK_SPAN(name.job, span_from(job));
	CHECK_SPAN(name.stream, span_from(stream));
	CHECK_SPAN(name.suffix, span_from(suffix));
	CHECK_SPAN(logs_join(arena, &name), span_from(full));
}

TEST(streams_of_training_jobs_lose_their_milliseconds)
{
	check_split(LOGS_TRAINING_GROUP, "gpt/algo-1-1700000000000", "gpt", "algo-1", "-1700000000000");
	check_split(LOGS_TRAINING_GROUP, "gpt/algo-1-1700000000", "gpt", "algo-1", "-1700000000");
	check_split(LOGS_TRAINING_GROUP, "gpt/algo-1", "gpt", "algo-1", "");
	check_split(LOGS_TRAINING_GROUP, "gpt/algo-1-170000000", "gpt", "algo-1-170000000", "");
	check_split(LOGS_TRAINING_GROUP, "gpt/algo-1-17000000000000", "gpt", "algo-1-17000000000000", "");
	check_split(LOGS_TRAINING_GROUP, "gpt/-1700000000000", "gpt", "-1700000000000", "");
	check_split(LOGS_TRAINING_GROUP, "gpt/a/b-1700000000000", "gpt", "a/b", "-1700000000000");
}

TEST(another_group_is_the_job_of_its_name)
{
	check_split("/ecs/app", "web/1-1700000000000", "/ecs/app", "web/1-1700000000000", "");
	check_split("gpt", "algo-1", "gpt", "algo-1", "");
}

static void check_fails(const char *group, const char *full, const char *field, const char *words)
{
	struct logs_name name;
	struct error err = {0};

	CHECK_INT(logs_split(span_from(group), span_from(full), &name, &err), ERR_SEMANTIC);
	CHECK_TEXT(err.field, field);
	CHECK(span_find(span_from(err.text), span_from(words)) >= 0);
}

TEST(names_that_are_none)
{
	char long_name[514];

	memset(long_name, 'a', sizeof long_name);
	long_name[513] = 0;
	check_fails("", "s", "logGroupName", "greater than or equal to 1");
	check_fails("a b", "s", "logGroupName", "regular expression");
	check_fails(long_name, "s", "logGroupName", "less than or equal to 512");
	check_fails(long_name + 1, "s", "logGroupName", "255");
	check_fails("g", "", "logStreamName", "greater than or equal to 1");
	check_fails("g", "a:b", "logStreamName", "regular expression");
	check_fails("g", "a*", "logStreamName", "regular expression");
	check_fails("g", long_name, "logStreamName", "less than or equal to 512");
	check_fails("g", long_name + 513 - 256, "logStreamName", "255");
	check_fails(LOGS_TRAINING_GROUP, "no-slash", "logStreamName", "JOB/STREAM");
	check_fails(LOGS_TRAINING_GROUP, "/x", "logStreamName", "JOB/STREAM");
	check_fails(LOGS_TRAINING_GROUP, "x/", "logStreamName", "JOB/STREAM");
}

TEST(arns_hold_the_name_of_a_group)
{
	CHECK_SPAN(logs_group_of(SPAN("arn:aws:logs:us-east-1:123456789012:log-group:/a/b:*")), SPAN("/a/b"));
	CHECK_SPAN(logs_group_of(SPAN("arn:aws:logs:us-east-1:123456789012:log-group:/a/b")), SPAN("/a/b"));
	CHECK_SPAN(logs_group_of(SPAN("/a/b")), SPAN("/a/b"));
}

TEST(tokens_come_back_as_they_were_for_their_stream_alone)
{
	struct logs_token token = {true, true, -5, UINT64_MAX}, back;
	char text[LOGS_TOKEN_BYTES];

	logs_token_print(&token, SPAN("s"), text);
	CHECK_INT(strlen(text), 58);
	CHECK(logs_token_read(span_from(text), SPAN("s"), &back));
	CHECK(back.is_backward && back.is_by_time && back.ts_ms == -5 && back.line == UINT64_MAX);
	CHECK(!logs_token_read(span_from(text), SPAN("t"), &back));
	text[20] = 'x';
	CHECK(!logs_token_read(span_from(text), SPAN("s"), &back));
	CHECK(!logs_token_read(SPAN("f/123"), SPAN("s"), &back));
	CHECK(!logs_token_read(SPAN(""), SPAN("s"), &back));
}

TEST(tokens_of_filters)
{
	AUTO(arena) arena = arena_new();
	struct logs_filter_token token = {3, 9, true, 1700000000000, 5, 7, 11}, back;

	CHECK(logs_filter_token_read(logs_filter_token_print(arena, &token), &back));
	CHECK(back.first_id == 3 && back.last_id == 9 && back.has_place && back.ts_ms == 1700000000000);
	CHECK(back.job_id == 5 && back.stream_id == 7 && back.line == 11);
	token.has_place = false;
	CHECK(logs_filter_token_read(logs_filter_token_print(arena, &token), &back));
	CHECK(back.first_id == 3 && back.last_id == 9 && !back.has_place);
	static const char *const none[] = {"", "1", "1.2", "2.1.2", "1.a.2", "1.1.2.3", "1.1.2.3.4.4294967296.6",
		"1.1.2.3.4.5.6.7", "1.-9223372036854775808.0", "1.-1.0", "1.1.-1", "1.1.9223372036854775807"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		CHECK(!logs_filter_token_read(span_from(none[i]), &back));
}
