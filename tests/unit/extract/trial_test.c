#include "extract/trial.h"
#include "test.h"

static struct trial *trial_of(const char *definitions)
{
	AUTO(json) json = NULL;
	struct trial *trial = NULL;

	CHECK_OK(json_parse(&json, span_from(definitions), &err));
	CHECK_OK(trial_new(&trial, json, NULL, &err));
	return trial;
}

/* Hits of one line, at most eight. */
struct hits {
	struct trial_hit items[8];
	size_t count;
};

static struct hits try_line(struct trial *trial, const char *text)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct hits hits;

	regex_scratch_limit(scratch, 1000);
	CHECK_OK(trial_line(trial, scratch, span_from(text), hits.items, 8, &hits.count, &err));
	return hits;
}

static struct span at(const struct trial *trial, size_t start, size_t end)
{
	return span_of(trial_text(trial).ptr + start, end - start);
}

TEST(a_hit_says_where_its_value_and_its_step_are)
{
	AUTO(trial) trial = trial_of("[{\"Name\":\"loss\",\"Regex\":\"step (?<step>\\\\d+): loss (?<value>\\\\S+)\"}]");
	struct hits hits = try_line(trial, "[rank3]: \x1b[32mstep 12\x1b[0m: loss 2.5");

	CHECK_INT(hits.count, 1);
	CHECK_SPAN(at(trial, hits.items[0].start, hits.items[0].end), SPAN("2.5"));
	CHECK_SPAN(at(trial, hits.items[0].step_start, hits.items[0].step_end), SPAN("12"));
	CHECK_DOUBLE(hits.items[0].value, 2.5);
	CHECK_INT(hits.items[0].step, 12);
	CHECK_INT(try_line(trial, "nothing here").count, 0);
	struct trial_figures figures = trial_figures(trial, 0);
	CHECK_INT(figures.tried, 2);
	CHECK_INT(figures.matched, 1);
	CHECK_INT(figures.warnings, 0);
}

TEST(a_step_from_an_expression_of_its_own)
{
	AUTO(trial) trial = trial_of("[{\"Name\":\"a\",\"Regex\":\"loss=(\\\\S+)\",\"Step\":\"it(\\\\d+)\"}]");
	struct hits hits = try_line(trial, "it7 loss=3");

	CHECK_INT(hits.items[0].step, 7);
	CHECK_SPAN(at(trial, hits.items[0].step_start, hits.items[0].step_end), SPAN("7"));
}

TEST(one_broken_definition_does_not_hide_the_others)
{
	AUTO(trial)
	trial = trial_of("[{\"Name\":\"a\",\"Regex\":\"loss=(\\\\S+)\"},{\"Name\":\"b\",\"Regex\":\"x(\"},"
			 "{\"Name\":\"c\",\"Regex\":\"nogroup\"},7]");

	CHECK_INT(try_line(trial, "loss=3").count, 1);
	CHECK_INT(trial_figures(trial, 0).status, OK);
	CHECK_INT(trial_figures(trial, 1).status, ERR_SEMANTIC);
	CHECK_TEXT(trial_figures(trial, 1).err.field, "MetricDefinitions[1].Regex");
	CHECK_INT(trial_figures(trial, 2).status, ERR_SEMANTIC);
	CHECK_TEXT(trial_figures(trial, 2).err.field, "MetricDefinitions[2].Regex");
	CHECK_INT(trial_figures(trial, 3).status, ERR_SEMANTIC);
}

TEST(each_warning_and_its_absence)
{
	AUTO(trial)
	trial = trial_of("[{\"Name\":\"ok\",\"Regex\":\"step (?<step>\\\\d+) loss=(?<value>\\\\S+)\"},"
			 "{\"Name\":\"never\",\"Regex\":\"zzz(\\\\d+)\"},"
			 "{\"Name\":\"word\",\"Regex\":\"step \\\\d+ (\\\\w+)\"},"
			 "{\"Name\":\"two\",\"Regex\":\"step (\\\\d+) loss=(\\\\S+)\"},"
			 "{\"Name\":\"ok\",\"Regex\":\"step (?<step>\\\\d+) loss=(?<value>[0-9.]+)\"},"
			 "{\"Name\":\"slow\",\"Regex\":\"(?:a+)+(b)$\"}]");
	static const unsigned wanted[] = {0, TRIAL_NEVER_MATCHED, TRIAL_NEVER_NUMERIC | TRIAL_NO_STEP,
		TRIAL_SEVERAL_GROUPS | TRIAL_NO_STEP, TRIAL_SHADOWED, TRIAL_NEVER_MATCHED | TRIAL_GAVE_UP};

	try_line(trial, "step 1 loss=2.5");
	try_line(trial, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac b!");
	for (size_t i = 0; i < trial_count(trial); i++)
		CHECK_INT(trial_figures(trial, i).warnings, wanted[i]);
	for (unsigned i = 0; i < TRIAL_WARNINGS; i++) {
		CHECK(trial_warning_text((enum trial_warning)(1u << i))[0]);
		CHECK(trial_warning_name((enum trial_warning)(1u << i))[0]);
	}
}

TEST(segments_repeats_and_hits_beyond_the_room)
{
	AUTO(trial) trial = trial_of("[{\"Name\":\"m\",\"Regex\":\"(?<name>\\\\w+)=(?<value>[0-9.]+)\"}]");
	struct hits hits = try_line(trial, "a=1 b=2\rc=3");

	CHECK_INT(hits.count, 3);
	CHECK_SPAN(hits.items[1].name, SPAN("b"));
	CHECK_SPAN(at(trial, hits.items[2].start, hits.items[2].end), SPAN("3"));
	hits = try_line(trial, "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10");
	CHECK_INT(hits.count, 8);
	CHECK_INT(trial_figures(trial, 0).numeric, 13);
}

TEST(what_is_no_list_of_definitions)
{
	static const char *const wrong[] = {"[]", "{}", "7", "null"};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		AUTO(json) json = NULL;
		struct trial *trial = NULL;
		CHECK_OK(json_parse(&json, span_from(wrong[i]), &err));
		CHECK_FAILS(trial_new(&trial, json, NULL, &err), ERR_SEMANTIC, "MetricDefinitions must be an array");
	}
}
