/* The examples of AWS's documentation of filter patterns, and what it leaves open as docs/aws-logs.md says it. */
#include "aws/logs/filter_pattern.h"
#include "test.h"

static bool matches(const char *text, const char *line)
{
	AUTO(filter_pattern) pattern = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();

	CHECK_OK(filter_pattern_new(&pattern, span_from(text), &err));
	return filter_pattern_matches(pattern, scratch, span_from(line));
}

static void check(const char *text, const char *line, bool wanted)
{
	if (matches(text, line) != wanted)
		test_fail(__FILE__, __LINE__, "'%s' %s '%s'", text, wanted ? "does not match" : "matches", line);
}

static void check_needle(const char *text, const char *wanted, bool wants_regex)
{
	AUTO(filter_pattern) pattern = NULL;
	bool is_regex;

	CHECK_OK(filter_pattern_new(&pattern, span_from(text), &err));
	CHECK_SPAN(filter_pattern_needle(pattern, &is_regex), span_from(wanted));
	CHECK_INT(is_regex, wants_regex);
}

static void check_fails(const char *text, int column, const char *words)
{
	AUTO(filter_pattern) pattern = NULL;
	struct error err = {0};

	CHECK_INT(filter_pattern_new(&pattern, span_from(text), &err), ERR_INVALID);
	CHECK_TEXT(err.field, "filterPattern");
	if (span_find(span_from(err.text), span_from(words)) < 0)
		test_fail(__FILE__, __LINE__, "'%s': '%s' does not say '%s'", text, err.text, words);
	if (err.column != column)
		test_fail(__FILE__, __LINE__, "'%s': column %d: %s", text, (int)err.column, err.text);
}

TEST(blanks_match_all)
{
	check("", "anything", true);
	check(" ", "", true);
	check("\t \n", "x", true);
}

TEST(terms_are_substrings_in_their_case)
{
	check("ERROR", "[ERROR 400] BAD REQUEST", true);
	check("ERROR", "error", false);
	check("error", "0 invoke errors", true);
	check("ERROR ARGUMENTS", "[ERROR 419] MISSING ARGUMENTS", true);
	check("ERROR ARGUMENTS", "[ERROR 401] UNAUTHORIZED REQUEST", false);
	check("\"INTERNAL SERVER ERROR\"", "[ERROR 500] INTERNAL SERVER ERROR", true);
	check("\"INTERNAL SERVER ERROR\"", "ERROR of the INTERNAL SERVER", false);
	check("\"a \\\"b\\\"\"", "say a \"b\" now", true);
}

TEST(question_marks_are_any_of_them)
{
	check("?ERROR ?ARGUMENTS", "[ERROR 400] BAD REQUEST", true);
	check("?ERROR ?ARGUMENTS", "MISSING ARGUMENTS", true);
	check("?ERROR ?ARGUMENTS", "all is well", false);
	check("?ERROR WARN", "WARN alone", true); /* with other terms they do not count */
	check("?ERROR WARN", "ERROR alone", false);
}

TEST(minus_excludes)
{
	check("ERROR -ARGUMENTS", "[ERROR 400] BAD REQUEST", true);
	check("ERROR -ARGUMENTS", "[ERROR 419] MISSING ARGUMENTS", false);
	check("-ERROR", "fine", true);
	check("-ERROR", "ERROR", false);
	check("-\"two words\"", "two words", false);
}

TEST(expressions_stand_between_percent_signs)
{
	check("%AUTHORIZED%", "UNAUTHORIZED REQUEST", true);
	check("%\\d{1,3}\\.\\d{1,3}%", "from 10.0", true);
	check("%^\\[ERROR%", "[ERROR] x", true);
	check("%^\\[ERROR%", "an [ERROR] x", false);
	check("ERROR %4[0-9]{2}%", "ERROR 419", true);
	check("ERROR -%4[0-9]{2}%", "ERROR 419", false);
	check("{ $.ip = %10\\.[0-9]+% }", "{\"ip\": \"10.12\"}", true);
	check("[w, code = %^4..$%]", "x 404", true);
}

static const char trail[] =
	"{\"eventType\": \"UpdateTrail\", \"sourceIPAddress\": \"111.111.111.111\", \"arrayKey\": [\"value\", \"another\"],"
	"\"objectList\": [{\"name\": \"a\", \"id\": 1}, {\"name\": \"b\", \"id\": 2}], \"SomeObject\": null,"
	"\"cluster.name\": \"c\", \"flag\": true, \"bandwidth\": 75, \"small\": 1.5e-3, \"ok\": false}";

TEST(selectors_of_json)
{
	check("{ $.eventType = \"UpdateTrail\" }", trail, true);
	check("{ $.eventType = UpdateTrail }", trail, true);
	check("{ $.eventType = Update* }", trail, true);
	check("{ $.eventType = \"*Trail\" }", trail, true);
	check("{ $.eventType != \"UpdateTrail\" }", trail, false);
	check("{ $.sourceIPAddress != 123.123.* }", trail, true);
	check("{ $.arrayKey[0] = \"value\" }", trail, true);
	check("{ $.arrayKey[1] = \"value\" }", trail, false);
	check("{ $.arrayKey[7] = \"value\" }", trail, false);
	check("{ $.arrayKey[*] = \"another\" }", trail, true);
	check("{ $.objectList[1].id = 2 }", trail, true);
	check("{ $.objectList[*].name = b }", trail, true);
	check("{ $[\"cluster.name\"] = \"c\" }", trail, true);
	check("{ $.*[0].id = 1 }", trail, true);
	check("{ $.objectList = a }", trail, false); /* it hits an array */
	check("{ $.none != \"x\" }", trail, false); /* or nothing */
	check("{ $.eventType = \"UpdateTrail\" }", "no JSON", false);
	check("{ $.coords[0][1] = 3 }", "{\"coords\": [[0, 3], [5]]}", true);
}

TEST(numbers_of_json)
{
	check("{ $.bandwidth > 70 }", trail, true);
	check("{ $.bandwidth >= 75 }", trail, true);
	check("{ $.bandwidth < 75 }", trail, false);
	check("{ $.bandwidth <= 75.0 }", trail, true);
	check("{ $.bandwidth = 75 }", trail, true);
	check("{ $.bandwidth = 7.5e1 }", trail, true);
	check("{ $.bandwidth = 7* }", trail, true);
	check("{ $.bandwidth = \"75\" }", trail, false);
	check("{ $.bandwidth > -1 }", trail, true);
	check("{ $.small = 0.0015 }", trail, true);
	check("{ $.eventType > 3 }", trail, false);
}

TEST(what_json_has_or_has_not)
{
	check("{ $.SomeObject IS NULL }", trail, true);
	check("{ $.eventType IS NULL }", trail, false);
	check("{ $.none IS NULL }", trail, false);
	check("{ $.none NOT EXISTS }", trail, true);
	check("{ $.SomeObject NOT EXISTS }", trail, false);
	check("{ $.flag IS TRUE }", trail, true);
	check("{ $.flag IS FALSE }", trail, false);
	check("{ $.ok IS FALSE }", trail, true);
	check("{ $.eventType IS TRUE }", trail, false);
}

TEST(and_binds_tighter_than_or)
{
	const char *user =
		"{\"user\": {\"email\": \"J@x\", \"id\": 1}, \"users\": [{\"name\": \"A\"}], \"coordinates\": [1, 2]}";

	check("{ ($.user.id = 1) && ($.users[0].name = \"A\") }", user, true);
	check("{ $.user.id = 2 && $.nope = 7 || $.coordinates[0] = 1 }", user, true);
	check("{ $.user.id = 2 && ($.nope = 7 || $.coordinates[0] = 1) }", user, false);
	check("{ $.user.id = 1 || $.nope = 7 && $.nope = 8 }", user, true);
	check("{$.user.id=1&&$.coordinates[1]=2}", user, true);
}

static const char access_log[] =
	"127.0.0.1 Prod frank [10/Oct/2000:13:25:15 -0700] \"GET /index.html HTTP/1.0\" 404 1534";

TEST(fields_between_blanks)
{
	check("[ip, user, username, timestamp, request, status_code, bytes]", access_log, true);
	check("[ip, user, username, timestamp, request, status_code]", access_log, false); /* the count must fit */
	check("[ip, user, username, timestamp, request, status_code, bytes, more]", access_log, false);
	check("[ip, user, username, timestamp, request, status_code = 4*, bytes > 1000]", access_log, true);
	check("[ip, user, username, timestamp, request, status_code = 5*, bytes]", access_log, false);
	check("[ip, user, username, timestamp, request = *html*, status_code = 4*, bytes]", access_log, true);
	check("[..., request, status_code = 4*, bytes]", access_log, true);
	check("[ip, ..., bytes = 1534]", access_log, true);
	check("[ip != 127*, ...]", access_log, false);
	check("[..., status_code = 404 || status_code = 403, bytes > 1000 && bytes < 1600]", access_log, true);
	check("[w1 = ERROR || w1 = WARN, w2]", "WARN x", true);
	check("[w1 != ERROR && w1 != WARN, w2]", "WARN x", false);
	check("[, , code = \"b c\"]", "x y \"b c\"", true);
	check("[a, ...]", "only", true);
	check("[...]", "", true);
	check("[a, ..., b]", "only", false);
	check("[a]", "\"never closed", false);
	check("[a, b]", "\"never closed", true);
}

TEST(needles_are_in_every_match)
{
	check_needle("", "", false);
	check_needle("ERROR ARGUMENTS", "ARGUMENTS", false);
	check_needle("-ERROR", "", false);
	check_needle("?\"a.b\" ?WARN", "a\\.b|WARN", true);
	check_needle("?ERROR ?%x%", "", false);
	check_needle("%ab+c%", "ab+c", true);
	check_needle("{ $.level = \"ERROR\" && $.n > 3 }", "ERROR", false);
	check_needle("{ $.level = \"a\\\"b\" }", "level", false); /* a writer escapes that */
	check_needle("{ $.first = \"x*yz\" || $.n > 3 }", "", false);
	check_needle("{ $.none NOT EXISTS }", "", false);
	check_needle("[a, b = FAIL*, ...]", "FAIL", false);
	check_needle("[a, b != FAIL*, ...]", "", false);
}

TEST(what_is_no_pattern_is_told_with_its_column)
{
	check_fails("foo:bar", 4, "Invalid character(s) in term");
	check_fails("ok \"open", 4, "quotes that do not end");
	check_fails("\"\"", 1, "empty quotes");
	check_fails("\"a\"b", 4, "no blank between");
	check_fails("ok -", 5, "no term");
	check_fails("%a", 1, "does not end");
	check_fails("%(a)%", 2, "a character that");
	check_fails("%a!%", 3, "a character that");
	check_fails("%a% %b% %c%", 9, "a third");
	check_fails("%a[%", 4, "a regular expression that is none");
	check_fails("{ $.a }", 7, "no comparison");
	check_fails("{ $.a = 1 ", 11, "no && || or }");
	check_fails("{ $.a = 1 } x", 13, "behind the closing");
	check_fails("{ a = 1 }", 3, "no selector");
	check_fails("{ $.a IS MAYBE }", 10, "IS");
	check_fails("{ $.a IS NOT NULL }", 10, "IS");
	check_fails("{ $.a EXISTS }", 7, "no comparison");
	check_fails("{ $.a > x }", 9, "no number");
	check_fails("{ $.a[x] = 1 }", 7, "no index");
	check_fails("{ ($.a = 1 }", 12, "no )");
	check_fails("[a, b", 6, "no , or ]");
	check_fails("[status = 4* && bytes > 1000]", 17, "a second field");
	check_fails("[..., a, ...]", 10, "a second ...");
	check_fails("[a = ]", 6, "no value");
}

TEST(a_pattern_has_1024_bytes)
{
	AUTO(filter_pattern) pattern = NULL;
	char text[1025];

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 2 ? ' ' : 'a';
	CHECK_OK(filter_pattern_new(&pattern, span_of(text, 1024), &err));
	CHECK_FAILS(filter_pattern_new(&pattern, span_of(text, 1025), &err), ERR_INVALID, "1025 bytes");
}
