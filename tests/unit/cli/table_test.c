#include "cli/search/job_field.h"
#include "cli/table/table.h"
#include "test.h"

static void check_table(size_t width, bool has_colours, const char *wanted)
{
	AUTO_DONE(table) table;
	AUTO_DONE(buf) out = BUF_INIT(10000);
	table_init(&table);
	table.column_count = 3;
	table.columns[0] = (struct table_column){SPAN("name"), false};
	table.columns[1] = (struct table_column){SPAN("status"), false};
	table.columns[2] = (struct table_column){SPAN("loss"), true};
	const char *cells[] = {"a", "Completed", "0.5", "\xe6\x97\xa5\xe6\x9c\xac-a-long-name", "Failed", "12"};
	for (size_t i = 0; i < 6; i++)
		CHECK(table_add_cell(&table, span_from(cells[i])));
	table_print(&table, width, has_colours, &out);
	CHECK_SPAN(buf_span(&out), span_from(wanted));
}

TEST(table_aligns)
{
	check_table(0, false,
		"name              status     loss\na                 Completed   0.5\n"
		"\xe6\x97\xa5\xe6\x9c\xac-a-long-name  Failed       12\n");
}

TEST(table_fits_a_width)
{
	check_table(27, false,
		"name        status     loss\na           Completed   0.5\n\xe6\x97\xa5\xe6\x9c\xac-a-lo…  Failed       12\n");
}

TEST(table_colours_the_status)
{
	check_table(27, true,
		"\x1b[1mname        status     loss\x1b[0m\na           \x1b[32mCompleted\x1b[0m   0.5\n"
		"\xe6\x97\xa5\xe6\x9c\xac-a-lo…  \x1b[31mFailed   \x1b[0m    12\n");
}

TEST(text_is_safe_for_terminals)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);
	text_put_safe(&out, SPAN("a\x1b[31m\x07\xff\xc2\x9b\xe2\x80\xae\x7f\xc3\xa4"));
	CHECK_SPAN(buf_span(&out), SPAN("a?[31m????"
					"?\xc3\xa4"));
}

TEST(characters_take_as_many_columns_as_terminals_give_them)
{
	static const struct {
		const char *text;
		size_t columns;
	} cases[] = {{"", 0}, {"abc", 3}, {"\xc3\xa9", 1}, {"e\xcc\x81", 1}, {"\xe6\x97\xa5\xe6\x9c\xac", 4},
		{"\xed\x95\x9c\xea\xb5\xad", 4}, {"\xf0\x9f\x9a\x80", 2}, {"\xe2\x9c\x85", 2}, {"\xe2\x9a\xa1", 2},
		{"\xe2\x98\x83", 1}, /* a snowman is text, a check mark button is not */
		{"\xe0\xb8\xab\xe0\xb8\x99\xe0\xb8\xb1\xe0\xb8\x87", 3}, /* Thai: a vowel above */
		{"\xd7\xa2\xd7\x91", 2}, {"\xd9\x85\xd9\x8e", 1}, /* Arabic with a vowel mark */
		{"\xe2\x80\x8b", 0}, {"\xef\xbc\xa1", 2}, {"\xef\xbd\xb1", 1}, {"\xf0\xa0\x80\x80", 2}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_INT(text_columns(span_from(cases[i].text)), cases[i].columns);
}

TEST(a_wide_character_is_cut_as_a_whole)
{
	AUTO_DONE(table) table;
	AUTO_DONE(buf) out = BUF_INIT(1000);
	table_init(&table);
	table.column_count = 2;
	table.columns[0] = (struct table_column){SPAN("name"), false};
	table.columns[1] = (struct table_column){SPAN("n"), true};
	CHECK(table_add_cell(&table, SPAN("\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5")));
	CHECK(table_add_cell(&table, SPAN("1")));
	table_print(&table, 11, false, &out); /* the column gets 8: three of them, the ellipsis, and one that is left */
	CHECK_SPAN(buf_span(&out), SPAN("name      n\n\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5…   1\n"));
}

TEST(job_fields_by_the_names_of_queries)
{
	static const char text[] =
		"{\"TrainingJobName\":\"j\",\"TrainingStartTime\":1700000000.5,\"TrainingEndTime\":1700003661,"
		"\"lines\":12,\"ResourceConfig\":{\"InstanceCount\":2},\"HyperParameters\":{\"lr.max\":\"1e-3\"},"
		"\"Tags\":[{\"Key\":\"team\",\"Value\":\"nlp\"}],\"metrics\":[{\"metric\":\"train:loss\",\"role\":\"loss\",\"is_main\":true,"
		"\"last\":0.123456789,\"min\":\"NaN\",\"last_step\":40},{\"metric\":\"lr\",\"role\":\"learning_rate\",\"is_main\":true,"
		"\"last\":1,\"last_step\":50}]}";
	static const char *const table[][3] = {{"name", "j", "j"}, {"lines", "12", "12"},
		{"loss", "0.123456789", "0.1235"}, {"loss.min", "NaN", "NaN"}, {"loss.step", "40", "40"},
		{"metric.train:loss", "0.123456789", "0.1235"}, {"step", "40", "40"}, {"hp.lr.max", "1e-3", "1e-3"},
		{"tag.team", "nlp", "nlp"}, {"tag.x", "", ""}, {"started", "2023-11-14T22:13:20Z", NULL},
		{"age", "7200", "2h00m"}, {"duration", "3660", "1h01m"}, {"ResourceConfig.InstanceCount", "2", "2"},
		{"nothing.there", "", ""}};
	AUTO(json) row = NULL;
	AUTO_DONE(buf) out = BUF_INIT(1000);
	CHECK_OK(json_parse(&row, span_from(text), &err));
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		for (int people = 0; people < 2; people++) {
			struct job_field_style style = {.is_for_people = people, .now_ms = 1700007200500};
			buf_reset(&out);
			job_field_put(row, span_from(table[i][0]), &style, &out);
			if (table[i][1 + people])
				CHECK_SPAN(buf_span(&out), span_from(table[i][1 + people]));
		}
	}
}
