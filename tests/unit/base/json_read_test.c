#include "base/json/json_read.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static struct json *parsed(const char *text)
{
	struct json *json = NULL;

	CHECK_OK(json_parse(&json, span_from(text), &err));
	return json;
}

static void check_prints(const struct json *json, const char *want)
{
	AUTO_DONE(buf) out = BUF_INIT(100000);

	json_print(json, &out);
	CHECK_OK(buf_status(&out, &err));
	CHECK_SPAN(buf_span(&out), span_from(want));
}

TEST(json_read_kinds_and_values)
{
	AUTO(json)
	json = parsed(" { \"s\" : \"a\\u00fc\\n\" , \"n\":-1.5e2,\"t\":true,\"f\":false,\"z\":null,\"a\":[1,2,3],"
		      "\"o\":{} }\r\n");
	double value = 0;

	CHECK_INT(json_kind(json), JSON_OBJECT);
	CHECK_INT(json_count(json), 7);
	CHECK_SPAN(json_string_of(json_get(json, "s")), SPAN("a\xc3\xbc\n"));
	CHECK(json_number_of(json_get(json, "n"), &value));
	CHECK_DOUBLE(value, -150);
	CHECK(json_is_true(json_get(json, "t")) && !json_is_true(json_get(json, "f")) && !json_is_true(NULL));
	CHECK_INT(json_kind(json_get(json, "f")), JSON_BOOL);
	CHECK_INT(json_kind(json_get(json, "z")), JSON_NULL);
	CHECK_INT(json_kind(json_get(json, "a")), JSON_ARRAY);
	CHECK_INT(json_count(json_get(json, "a")), 3);
	CHECK_INT(json_count(json_get(json, "o")), 0);
	CHECK(!json_first(json_get(json, "o")) && !json_first(json_get(json, "s")) && !json_first(NULL));
	CHECK(!json_get(json, "S") && !json_get(NULL, "s") && !json_get(json_get(json, "a"), "s"));
	CHECK_SPAN(json_string_of(json_get(json, "n")), SPAN(""));
	CHECK_SPAN(json_string_of(NULL), SPAN(""));
	CHECK(!json_number_of(json_get(json, "s"), &value) && !json_number_of(NULL, &value));
}

TEST(json_read_walks_in_order)
{
	AUTO(json) json = parsed("{\"b\":1,\"a\":2,\"b\":3}");
	const struct json *item = json_first(json);
	double value;

	CHECK_SPAN(json_key_of(item), SPAN("b"));
	item = json_next(item);
	CHECK_SPAN(json_key_of(item), SPAN("a"));
	item = json_next(item);
	CHECK(item && !json_next(item));
	CHECK_SPAN(json_key_of(json), SPAN(""));
	CHECK(json_number_of(json_get(json, "b"), &value) && value == 1); /* the first of two wins */
}

TEST(json_read_paths)
{
	AUTO(json) json = parsed("{\"a\":{\"b\":{\"c\":\"x\"}},\"d\":1}");

	CHECK_SPAN(json_string_of(json_get_path(json, "a.b.c")), SPAN("x"));
	CHECK(!json_get_path(json, "a.c") && !json_get_path(json, "a.b.c.d") && !json_get_path(json, "d.e"));
	CHECK(!json_get_path(NULL, "a"));
	CHECK(json_get_path(json, "d") == json_get(json, "d"));
}

static void check_error(const char *text, size_t len, int64_t line, int64_t column, const char *words)
{
	struct json *json = NULL;
	struct error err = {0};

	CHECK_INT(json_parse(&json, span_of(text, len), &err), ERR_INVALID);
	if (err.line != line || err.column != column || span_find(span_from(err.text), span_from(words)) < 0)
		test_fail(__FILE__, __LINE__, "'%.*s' gives '%s'", (int)len, text, err.text);
	CHECK(!json);
}

TEST(json_read_errors_have_a_place)
{
	static const struct {
		const char *text;
		int line, column;
		const char *words;
	} cases[] = {{"", 1, 1, "empty"}, {" \n ", 2, 2, "empty"}, {"{\"a\":}", 1, 6, "'}' is not valid"},
		{"{\n\"a\": 1,\n  b}", 3, 3, "'b'"}, {"[1,2] x", 1, 7, "'x'"}, {"{} {}", 1, 4, "'{'"},
		{"[1,2", 1, 5, "ends"}, {"{\"a\"", 1, 5, "ends"}, {"[\"abc", 1, 3, "string does not end"},
		{"{\"abc", 1, 3, "string does not end"}, {"[\"ab\\qc\"]", 1, 5, "escape"},
		{"[\"\\ud800\"]", 1, 3, "escape"}, {"tru", 1, 1, "'t'"}, {"[\"\xff\"", 1, 5, "ends"},
		{"[\x80]", 1, 2, "byte 0x80"}, {"nan", 1, 1, "'n'"}, {"'a'", 1, 1, "'"}, {"[1,]", 1, 4, "']'"},
		{"{\"a\":1,}", 1, 8, "'}'"}, {"{\"a\":[{1}]}", 1, 8, "'1'"}, {"[1,2x]", 1, 5, "'x'"},
		{"}", 1, 1, "'}'"}, {"{\"a\":{}x}", 1, 8, "'x'"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_error(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].column, cases[i].words);
	check_error(NULL, 0, 1, 1, "empty");
	CHECK_INT(json_parse(&(struct json *){NULL}, SPAN("x"), NULL), ERR_INVALID);
}

TEST(json_read_refuses_nul)
{
	check_error("[\"a\\u0000b\"]", 12, 1, 4, "NUL");
	check_error("[1]\0", 4, 1, 4, "NUL");
	check_error("[\"a\0b\"]", 7, 1, 4, "NUL");
	AUTO(json) json = parsed("[\"\\\\u0000\"]"); /* a backslash and five characters */
	CHECK_SPAN(json_string_of(json_first(json)), SPAN("\\u0000"));
}

TEST(json_read_input_need_not_end_with_nul)
{
	static const char *const texts[] = {
		"{\"1\":1,", "[1", "\"a", "{\"a\"", "{", "[", "\"\\", "\"\\u12", "-", "1", "t", "[1,"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		size_t len = strlen(texts[i]);
		AUTO_MEM char *copy = mem_alloc(len);
		struct json *json = NULL;
		memcpy(copy, texts[i], len);
		if (json_parse(&json, span_of(copy, len), NULL) == OK)
			json_free(json);
	}
}

TEST(json_read_refuses_what_cjson_takes)
{
	static const struct {
		const char *text;
		int column;
		const char *words;
	} cases[] = {{"[01]", 2, "leading zero"}, {"[-00]", 2, "leading zero"}, {"[1.]", 4, "']'"}, {"[-.5]", 3, "'.'"},
		{"[1.e5]", 4, "'e'"}, {"[1e5-2]", 5, "'-'"}, {"[\"\\uzzzz\"]", 3, "escape"}, {"[\v1]", 2, "byte 0x0b"},
		{"{\f}", 2, "byte 0x0c"}, {"1 \x01", 3, "byte 0x01"},
		{"\xef\xbb\xbf\xef\xbb\xbf"
		 "1",
			4, "byte 0xef"}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_error(cases[i].text, strlen(cases[i].text), 1, cases[i].column, cases[i].words);
}

TEST(json_read_takes_what_some_cjson_refuses)
{
	char text[600];
	double value = 0;

	AUTO(json)
	marked = parsed("\xef\xbb\xbf"
			"1"); /* a byte order mark and little else */
	CHECK(json_number_of(marked, &value) && value == 1);
	memset(text, '1', 511);
	AUTO(json) number = NULL;
	CHECK_OK(json_parse(&number, span_of(text, 511), &err));
	CHECK(json_number_of(number, &value) && isinf(value));
	memset(text, '1', 512);
	check_error(text, 512, 1, 1, "too many digits");
	AUTO(json) exact = parsed("[1.0000000000000002,9007199254740993,-0.0]");
	check_prints(exact, "[1.0000000000000002,9007199254740992,-0.0]");
}

static void *parse_again_and_again(void *context)
{
	for (int i = 0; i < 2000; i++) {
		struct json *json = NULL;
		bool is_good = i % 2;
		if (is_good != (json_parse(&json, is_good ? SPAN("{\"a\":[1,\"x\"]}") : SPAN("[1,"), NULL) == OK))
			*(bool *)context = true;
		json_free(json);
	}
	return NULL;
}

TEST(json_read_by_threads_at_a_time)
{
	bool failed[4] = {false};
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, parse_again_and_again, &failed[i]));
	for (size_t i = 0; i < 4; i++) {
		CHECK(!pthread_join(threads[i], NULL));
		CHECK(!failed[i]);
	}
}

static int wait_once(void *context)
{
	int *waited = context;

	return ++*waited == 1;
}

TEST(json_read_waits_for_memory)
{
	int waited = 0;
	struct json *json = NULL;

	mem_wait(wait_once, &waited);
	mem_fail_at(3);
	CHECK_OK(json_parse(&json, SPAN("[1,2]"), &err));
	mem_wait(NULL, NULL);
	mem_fail_at(0);
	CHECK_INT(waited, 1);
	CHECK_INT(json_count(json), 2);
	json_free(json);
}

TEST(json_read_nesting_limit)
{
	char text[2100];

	memset(text, '[', 1000);
	memset(text + 1000, ']', 1000);
	AUTO(json) json = NULL;
	CHECK_OK(json_parse(&json, span_of(text, 2000), &err));
	AUTO_DONE(buf) out = BUF_INIT(2000);
	json_print(json, &out);
	CHECK_SPAN(buf_span(&out), span_of(text, 2000));
	memset(text, '[', 1001);
	memset(text + 1001, ']', 1001);
	check_error(text, 2002, 1, 1001, "more than 1000 levels");
}

TEST(json_read_want_string)
{
	AUTO(json) json = parsed("{\"s\":\"x\",\"z\":null,\"n\":1}");
	struct span text = SPAN("default");
	struct error refusal;

	CHECK_OK(json_want_string(json, "absent", &text, &err));
	CHECK_OK(json_want_string(json, "z", &text, &err));
	CHECK_SPAN(text, SPAN("default"));
	CHECK_INT(json_want_string(json, "n", &text, &refusal), ERR_SEMANTIC);
	CHECK_TEXT(refusal.field, "n");
	CHECK_TEXT(refusal.text, "'n' must be a string, not a number");
	CHECK_SPAN(text, SPAN("default"));
	CHECK_OK(json_want_string(json, "s", &text, &err));
	CHECK_SPAN(text, SPAN("x"));
}

TEST(json_read_want_i64)
{
	AUTO(json)
	json = parsed("{\"a\":9007199254740992,\"b\":-9007199254740992,\"c\":9007199254740994,\"d\":1.5,\"e\":1e3,"
		      "\"f\":\"1\",\"g\":1e999,\"h\":-9007199254740994,\"z\":null}");
	int64_t value = 5;

	CHECK_OK(json_want_i64(json, "z", &value, &err));
	CHECK_OK(json_want_i64(json, "absent", &value, &err));
	CHECK_FAILS(json_want_i64(json, "c", &value, &err), ERR_SEMANTIC, "2^53");
	CHECK_FAILS(json_want_i64(json, "h", &value, &err), ERR_SEMANTIC, "2^53");
	CHECK_FAILS(json_want_i64(json, "d", &value, &err), ERR_SEMANTIC, "1.5");
	CHECK_FAILS(json_want_i64(json, "f", &value, &err), ERR_SEMANTIC, "not a string");
	CHECK_FAILS(json_want_i64(json, "g", &value, &err), ERR_SEMANTIC, "inf");
	CHECK_INT(value, 5);
	CHECK_OK(json_want_i64(json, "a", &value, &err));
	CHECK_INT(value, 9007199254740992);
	CHECK_OK(json_want_i64(json, "b", &value, &err));
	CHECK_INT(value, -9007199254740992);
	CHECK_OK(json_want_i64(json, "e", &value, &err));
	CHECK_INT(value, 1000);
}

TEST(json_read_want_bool)
{
	AUTO(json) json = parsed("{\"t\":true,\"f\":false,\"n\":0,\"z\":null}");
	bool value = true;

	CHECK_OK(json_want_bool(json, "z", &value, &err));
	CHECK(value);
	CHECK_OK(json_want_bool(json, "f", &value, &err));
	CHECK(!value);
	CHECK_OK(json_want_bool(json, "t", &value, &err));
	CHECK(value);
	CHECK_FAILS(json_want_bool(json, "n", &value, &err), ERR_SEMANTIC, "true or false");
}

TEST(json_read_prints)
{
	AUTO(json)
	json = parsed(
		"{ \"b\" : [ 1, -0.5, 1e999, -1e999, 12345678901234567890 ], \"a\" : { \"k\\n\" : \"v\\\"\" }, \"t\":true, "
		"\"n\":null }");

	check_prints(json,
		"{\"b\":[1,-0.5,1e999,-1e999,12345678901234567000],\"a\":{\"k\\n\":\"v\\\"\"},\"t\":true,\"n\":null}");
}

TEST(json_read_changes)
{
	AUTO(json) json = parsed("{\"a\":1,\"b\":2}");
	AUTO(json) other = parsed("{\"x\":[1,{\"y\":2}]}");

	CHECK(json_set_copy(json, "a", json_get(other, "x")));
	CHECK(json_set_copy(json, "c", json_get(other, "x")));
	CHECK(json_set_string(json, "b", SPAN("text")));
	CHECK(json_set_string(json, "d", (struct span){NULL, 0}));
	check_prints(json, "{\"a\":[1,{\"y\":2}],\"b\":\"text\",\"c\":[1,{\"y\":2}],\"d\":\"\"}");
	check_prints(other, "{\"x\":[1,{\"y\":2}]}");
	CHECK(json_set_copy(json, "a", json_get(json, "b"))); /* from the same document */
	CHECK(json_set_copy(json, "b", json_get(json, "b")));
	json_remove(json, "c");
	json_remove(json, "c");
	check_prints(json, "{\"a\":\"text\",\"b\":\"text\",\"d\":\"\"}");
	json_remove(json, "d");
	json_remove(json, "a");
	CHECK(json_set_string(json, "A", SPAN("1")));
	check_prints(json, "{\"b\":\"text\",\"A\":\"1\"}");
}

TEST(json_read_out_of_memory)
{
	static const char text[] = "{\"a\":[1,\"x\",{\"b\":null}],\"c\":true}";

	for (long nth = 1;; nth++) {
		struct json *json = NULL;
		struct error err = {0};
		mem_fail_at(nth);
		enum status status = json_parse(&json, span_from(text), &err);
		mem_fail_at(0);
		if (status == OK) {
			json_free(json);
			break;
		}
		CHECK_INT(status, ERR_MEMORY);
		CHECK(nth < 100 && !json);
	}
}

TEST(json_read_changes_out_of_memory)
{
	AUTO(json) json = parsed("{\"a\":1}");
	AUTO(json) other = parsed("{\"x\":[1,{\"y\":2}]}");

	for (long nth = 1;; nth++) {
		mem_fail_at(nth);
		bool is_set = json_set_copy(json, "a", other);
		mem_fail_at(0);
		if (is_set)
			break;
		check_prints(json, "{\"a\":1}");
		CHECK(nth < 50);
	}
	check_prints(json, "{\"a\":{\"x\":[1,{\"y\":2}]}}");
	for (long nth = 1;; nth++) {
		mem_fail_at(nth);
		bool is_set = json_set_string(json, "b", SPAN("v"));
		mem_fail_at(0);
		if (is_set)
			break;
		CHECK_INT(json_count(json), 1);
		CHECK(nth < 50);
	}
}
