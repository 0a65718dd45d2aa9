#include "cli/moving/flat_yaml.h"
#include "test.h"

static void check_value(const char *document, const char *expected)
{
	AUTO(arena) arena = arena_new();
	struct span value = SPAN("absent");
	CHECK_OK(flat_yaml_read(span_from(document), "key", arena, &value, &err));
	CHECK_SPAN(value, span_from(expected));
}

TEST(flat_yaml_values)
{
	check_value("key: plain\n", "plain");
	check_value("other: x\nkey: a b \r\nlast: y\n", "a b");
	check_value("keys: x\nkey: 17\n", "17");
	check_value("key: 'it''s: #'\n", "it's: #");
	check_value("key: \"a\\\"b\\n\\u00e4\\x41\\U0001F600\"\n", "a\"b\n\xc3\xa4"
								   "A\xf0\x9f\x98\x80");
	check_value("key: ''\n", "");
	check_value("key: http://a/b:c\n", "http://a/b:c");
	check_value("key: a", "a");
}

TEST(flat_yaml_values_of_several_lines)
{
	check_value("key: one two\n  three\nlast: x\n", "one two three");
	check_value("key: 'one\n\n  two\n  three'\n", "one\ntwo three");
	check_value("key: \"one \\\n  \\ two\"\n", "one  two");
}

TEST(flat_yaml_absent_and_null)
{
	check_value("", "absent");
	check_value("other: x\n", "absent");
	check_value("key: null\n", "absent");
	check_value("key:\n", "absent");
	check_value("  key: nested\n", "absent");
}

static void check_refused(const char *document, const char *text)
{
	AUTO(arena) arena = arena_new();
	struct span value = SPAN("");
	struct error error = {0};
	CHECK(flat_yaml_read(span_from(document), "key", arena, &value, &error) == ERR_INVALID);
	CHECK_TEXT(error.text, text);
}

TEST(flat_yaml_refuses)
{
	check_refused("key: 'open\n", "'key': quotes do not end");
	check_refused("key: \"\\", "'key': double quotes do not end");
	check_refused("key: \"\\q\"", "'key': an escape in double quotes is not known");
	check_refused("key: \"\\u12\"", "'key': an escape in double quotes lacks digits");
	check_refused("key: \"\\ud800\"", "'key': an escape in double quotes is no character");
}
