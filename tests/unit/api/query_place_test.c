#include "api/jobs/query_place.h"
#include "query/query.h"
#include "test.h"

TEST(where_in_a_query_somebody_is_typing)
{
	static const struct {
		const char *text;
		size_t from;
		const char *head, *name, *typed; /* name NULL: there is no operator yet */
	} table[] = {
		{"", 0, "", NULL, ""},
		{"lo", 0, "", NULL, "lo"},
		{"-lo", 0, "-", NULL, "lo"},
		{"-", 0, "-", NULL, ""},
		{"status:failed ", 14, "", NULL, ""},
		{"status:failed lo", 14, "", NULL, "lo"},
		{"(lo", 1, "", NULL, "lo"},
		{"a\tb\r\nc", 5, "", NULL, "c"},
		{"owner:", 0, "owner:", "owner", ""},
		{"owner:ev", 0, "owner:", "owner", "ev"},
		{"-owner:ev", 0, "-owner:", "owner", "ev"},
		{"x AND hp.lr>=0.", 6, "hp.lr>=", "hp.lr", "0."},
		{"hp.opt!=ad", 0, "hp.opt!=", "hp.opt", "ad"},
		{"name~tr", 0, "name~", "name", "tr"},
		{"name~*tr", 0, "name~*", "name", "tr"},
		{"name!~tr", 0, "name!~", "name", "tr"},
		{"name:*tr", 0, "name:", "name", "*tr"}, /* a star of the value */
		{"owner:\"ev", 0, "owner:", "owner", "ev"},
		{"owner:\"ev\"", 0, "owner:", "owner", "ev"},
		{"owner:\"", 0, "owner:", "owner", ""},
		{"owner:\"a b, c", 0, "owner:", "owner", "a b, c"},
		{"owner:\"a\\\" b", 0, "owner:", "owner", "a\\\" b"}, /* the quote is the value's */
		{"metric.\"train:lo", 0, "", NULL, "metric.\"train:lo"},
		{"metric.\"a b\".min<", 0, "metric.\"a b\".min<", "metric.\"a b\".min", ""},
		{"status in (failed,st", 18, "", NULL, "st"},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct query_place place;
		CHECK_OK(query_place_of(span_from(table[i].text), &place, &err));
		CHECK_INT(place.from, table[i].from);
		CHECK_SPAN(place.head, span_from(table[i].head));
		CHECK_INT(place.has_operator, table[i].name != NULL);
		CHECK_SPAN(place.name, span_from(table[i].name ? table[i].name : ""));
		CHECK_SPAN(place.typed, span_from(table[i].typed));
	}
}

TEST(nobody_types_that_much)
{
	struct query_place place;
	char text[8193];

	memset(text, 'a', sizeof text);
	CHECK_OK(query_place_of(span_of(text, 8192), &place, &err));
	CHECK_INT(place.typed.len, 8192);
	CHECK_FAILS(query_place_of(span_of(text, 8193), &place, &err), ERR_INVALID,
		"prefix has 8193 bytes; at most 8192 are looked at");
}

/* What is suggested, put in the place of what was typed, is a term of that value. */
static void check_value(const char *typed, struct span value)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	AUTO(arena) arena = arena_new();
	struct query_place place;
	struct query_node *query = NULL;

	CHECK_OK(query_place_of(span_from(typed), &place, &err));
	buf_append(&text, typed, place.from);
	query_put_suggestion(&place, value, &text);
	CHECK_OK(query_parse(&query, buf_span(&text), 0, arena, &err));
	while (query->kind != QUERY_TERM)
		query = query->kind == QUERY_NOT ? query->left : query->right;
	CHECK_SPAN(query->term.key, SPAN("owner"));
	CHECK_INT(query->term.value_count, 1);
	CHECK_SPAN(query->term.values[0].text, value);
}

TEST(values_are_suggested_as_they_must_be_written)
{
	static const struct span values[] = {{"eve", 3}, {"a b", 3}, {"a\"b", 3}, {"a\\b", 3}, {"\\", 1}, {"\"", 1},
		{"-x", 2}, {"-5", 2}, {"5", 1}, {"1e-3", 4}, {"1e400", 5}, {"nan", 3}, {"a/b.c_d+e", 9}, {"p*", 2},
		{"x:y", 3}, {"x=y", 3}, {"a,b", 3}, {"(a)", 3}, {"and", 3}, {"OR", 2}, {"not", 3}, {"in", 2},
		{"\xc3\xb6", 2}, {"\t", 1}, {"~*", 2}, {"+1", 2}, {"5m", 2}, {"a%20b", 5}, {"@home", 5}};
	static const char *const typed[] = {"owner=", "-owner=e", "status:failed owner=\"a"};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		for (size_t j = 0; j < 3; j++)
			check_value(typed[j], values[i]);
}

static void check_written(const char *typed, const char *suggested, const char *want)
{
	AUTO_DONE(buf) text = BUF_INIT(4096);
	struct query_place place;

	CHECK_OK(query_place_of(span_from(typed), &place, &err));
	query_put_suggestion(&place, span_from(suggested), &text);
	CHECK_SPAN(buf_span(&text), span_from(want));
}

TEST(a_suggestion_is_the_whole_term)
{
	check_written("-lo", "loss", "-loss");
	check_written("x -owner:\"e", "eve", "-owner:eve");
	check_written("owner:", "a b", "owner:\"a b\"");
	check_written("hp.l", "hp.lr", "hp.lr");
	check_written("met", "metric.train:loss", "metric.\"train:loss\"");
	check_written("met", "metric.a\"b", "metric.\"a\\\"b\"");
	check_written("lo", "two words", "\"two words\"");
	check_written("hp.lr>", "-0.5", "hp.lr>-0.5"); /* a number is one with its sign */
	check_written("hp.lr>", "-x", "hp.lr>\"-x\"");
	check_written("hp.lr>", "", "hp.lr>\"\"");
}

static void check_attribute(const char *name, const char *want)
{
	AUTO_DONE(buf) text = BUF_INIT(256);

	query_put_attribute(span_from(name), &text);
	CHECK_SPAN(buf_span(&text), span_from(want));
}

TEST(attributes_that_properties_are_stored_as)
{
	check_attribute("owner", "tag.owner");
	check_attribute("instance", "ResourceConfig.InstanceType");
	check_attribute("failure", "FailureClass");
	check_attribute("hp.lr", "hp.lr");
	check_attribute("hp.\"a b\"", "hp.a b");
	check_attribute("hp.\"a\\\"b\\\\\"", "hp.a\"b\\");
	check_attribute("hp.a\\b", "hp.a\\b"); /* without quotes a backslash is itself */
	check_attribute("hp.\"a\\", "hp.a\\"); /* nothing follows it */
}

TEST(each_short_name_is_one_of_the_query_language)
{
	AUTO(arena) arena = arena_new();
	size_t count = 0;

	for (const char *const *name = query_property_names(); *name; name++, count++) {
		struct aggregate_name names[QUERY_MAX_NAMES];
		size_t parsed;
		CHECK_OK(query_parse_names(names, &parsed, span_from(*name), arena, &err));
		CHECK_INT(parsed, 1);
		CHECK_INT(names[0].term.family, QUERY_PROPERTY);
		CHECK_SPAN(names[0].term.key, span_from(*name));
	}
	CHECK_INT(count, 28);
}
