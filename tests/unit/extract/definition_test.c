#include "helper.h"

static enum status build(const char *text, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO(definition_set) set = NULL;

	TRY(json_parse(&document, span_from(text), err));
	return definition_set_new(&set, document, NULL, err);
}

static void check_refused(const char *text, const char *field, const char *words)
{
	struct error err = {0};

	CHECK_INT(build(text, &err), ERR_SEMANTIC);
	CHECK_TEXT(err.field, field);
	CHECK(span_find(span_from(err.text), span_from(words)) >= 0);
}

TEST(a_definition_keeps_what_it_says)
{
	AUTO(definition_set)
	set = set_from("[{\"Name\":\"Train_Loss\",\"Regex\":\"loss=(.*?);\"},"
		       "{\"Name\":\"speed\",\"Regex\":\"v=(\\\\d+)\",\"Step\":\"s=(\\\\d+)\",\"Unit\":"
		       "\"tokens/s\",\"Role\":\"throughput\",\"Higher\":true}]");
	struct metric_definition loss = definition_set_get(set, -1, 0), speed = definition_set_get(set, -1, 1);

	CHECK_INT(definition_set_count(set, -1), 2);
	CHECK(!definition_set_is_preset_form(set));
	CHECK(!definition_set_preset_name(set, -1));
	CHECK_SPAN(loss.name, SPAN("Train_Loss"));
	CHECK_SPAN(loss.regex, SPAN("loss=(.*?);"));
	CHECK_INT(loss.role, ROLE_LOSS);
	CHECK_INT(loss.higher, 0);
	CHECK_SPAN(speed.step_regex, SPAN("s=(\\d+)"));
	CHECK_SPAN(speed.unit, SPAN("tokens/s"));
	CHECK_INT(speed.role, ROLE_THROUGHPUT);
	CHECK_INT(speed.higher, 1);
	CHECK_SPAN(definition_set_get(set, -1, 2).name, SPAN(""));
	CHECK_INT(definition_set_count(set, 0), 0);
}

TEST(wrong_definitions_are_refused_with_their_place)
{
	check_refused("{}", "MetricDefinitions", "must be an array");
	check_refused("[1]", "MetricDefinitions[0]", "must be an object");
	check_refused("[{\"Regex\":\"(a)\"}]", "MetricDefinitions[0].Name", "missing");
	check_refused("[{\"Name\":\"\",\"Regex\":\"(a)\"}]", "MetricDefinitions[0].Name", "missing or empty");
	check_refused("[{\"Name\":1,\"Regex\":\"(a)\"}]", "MetricDefinitions[0].Name", "string");
	check_refused("[{\"Name\":\"a\\u0007\",\"Regex\":\"(a)\"}]", "MetricDefinitions[0].Name", "control");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"(a)\"},{\"Name\":\"b\"}]", "MetricDefinitions[1].Regex", "missing");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"loss\"}]", "MetricDefinitions[0].Regex", "group for the value");
	check_refused(
		"[{\"Name\":\"a\",\"Regex\":\"(?<step>.)\"}]", "MetricDefinitions[0].Regex", "group for the value");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Step\":\"b\"}]", "MetricDefinitions[0].Step",
		"group for the step");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Step\":\"(?<epoch>b)\"}]", "MetricDefinitions[0].Step",
		"the step");
	check_refused(
		"[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Role\":\"x\"}]", "MetricDefinitions[0].Role", "none of loss");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Higher\":1}]", "MetricDefinitions[0].Higher", "true");
	check_refused("[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Unit\":\"0123456789012345678901234567890123\"}]",
		"MetricDefinitions[0].Unit", "longer than 32");
}

TEST(a_broken_expression_names_its_column)
{
	struct error err = {0};

	CHECK_INT(
		build("[{\"Name\":\"a\",\"Regex\":\"(b)\"},{\"Name\":\"a\",\"Regex\":\"ab(c\"}]", &err), ERR_SEMANTIC);
	CHECK_TEXT(err.field, "MetricDefinitions[1].Regex");
	CHECK_INT(err.column, 5);
}

TEST(long_names_and_expressions_are_refused)
{
	char text[METRIC_REGEX_MAX_BYTES + 200], long_text[METRIC_REGEX_MAX_BYTES + 2];

	memset(long_text, 'a', sizeof long_text);
	snprintf(text, sizeof text, "[{\"Name\":\"%.*s\",\"Regex\":\"(a)\"}]", METRIC_NAME_MAX_BYTES + 1, long_text);
	check_refused(text, "MetricDefinitions[0].Name", "longer than 255");
	snprintf(text, sizeof text, "[{\"Name\":\"%.*s\",\"Regex\":\"(a)\"}]", METRIC_NAME_MAX_BYTES, long_text);
	CHECK_OK(build(text, &err));
	snprintf(text, sizeof text, "[{\"Name\":\"a\",\"Regex\":\"(%.*s\"}]", METRIC_REGEX_MAX_BYTES, long_text);
	check_refused(text, "MetricDefinitions[0].Regex", "longer than 2000");
}

TEST(at_most_a_hundred_definitions)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);

	buf_append_text(&text, "[");
	for (int i = 0; i <= DEFINITIONS_MAX; i++)
		buf_printf(&text, "%s{\"Name\":\"m%d\",\"Regex\":\"(a)\"}", i ? "," : "", i);
	buf_append(&text, "]", 2);
	check_refused(text.ptr, "MetricDefinitions", "at most 100");
}

TEST(nothing_defined_is_the_preset_form)
{
	AUTO(definition_set) empty = set_from("[]");
	AUTO(definition_set) null = NULL;

	CHECK_OK(definition_set_new(&null, NULL, NULL, &err));
	CHECK(definition_set_is_preset_form(empty) && definition_set_is_preset_form(null));
	CHECK_INT(definition_set_count(empty, -1), 0);
}

TEST(broken_presets_are_refused)
{
	AUTO(definition_set) set = NULL;

	CHECK_FAILS(definition_presets_new(&set, SPAN("{"), &err), ERR_INVALID, "");
	CHECK_FAILS(definition_presets_new(&set, SPAN("{}"), &err), ERR_SEMANTIC, "presets must be an array");
	CHECK_FAILS(definition_presets_new(&set, SPAN("{\"presets\":[{}]}"), &err), ERR_SEMANTIC, "name and detect");
	CHECK_FAILS(definition_presets_new(&set, SPAN("{\"presets\":[{\"name\":\"a\",\"detect\":\"(\"}]}"), &err),
		ERR_SEMANTIC, "presets[0].detect");
	CHECK_FAILS(definition_presets_new(&set, SPAN("{\"presets\":[{\"name\":\"a\",\"detect\":\"a\"}]}"), &err),
		ERR_SEMANTIC, "presets[0].definitions is missing");
}

TEST(a_set_is_whole_or_not_there_when_memory_runs_out)
{
	const char *text = "[{\"Name\":\"a\",\"Regex\":\"(a)\",\"Step\":\"(b)\"},{\"Name\":\"b\",\"Regex\":\"(a)\"}]";
	struct error err = {0};

	for (long nth = 1; nth < 400; nth++) {
		mem_fail_at(nth);
		enum status status = build(text, &err);
		mem_fail_at(0);
		if (status == OK)
			return;
		CHECK_INT(status, ERR_MEMORY);
	}
	test_fail(__FILE__, __LINE__, "every allocation failed");
}
