/* Tables of scores as lm-evaluation-harness prints them: what lm_eval 0.4.13's make_table wrote, and older heads. */
#include "extract/evaluation_table.h"
#include "test.h"

static const char *const printed[] = {
	"hf ({'pretrained': '/ckpt/run1/checkpoint-500', 'dtype': 'bfloat16'}), gen_kwargs: ({}), limit: None, num_fewshot: None, batch_size: 8",
	"|   Tasks   |Version|     Filter     |n-shot|    Metric     |   | Value |   |Stderr|",
	"|-----------|-------|----------------|-----:|---------------|---|------:|---|------|",
	"|bundle     |    N/A|                |      |               |   |       |   |      |",
	"| - piqa    |      1|none            |     0|acc            |↑  | 0.7700|±  |0.0098|",
	"|gsm8k      |      3|flexible-extract|     5|exact_match    |↑  | 0.3750|±  |0.0130|",
	"|           |       |strict-match    |     5|exact_match    |↑  | 0.2500|±  |0.0120|",
	"|mmlu       |      2|none            |      |acc            |↑  | 0.4100|±  |0.0040|",
	"| - stem    |      2|none            |      |acc            |↑  | 0.3500|±  |0.0080|",
	"|  - anatomy|      1|none            |     5|acc            |↑  | 0.3000|±  |0.0400|",
	"|wikitext   |      2|none            |     0|byte_perplexity|↓  | 1.6235|±  |   N/A|",
};

struct want {
	const char *task, *metric;
	double value, error;
	int64_t shots;
	bool is_lower, is_part;
};
static const struct want wants[] = {
	{"piqa", "acc", 0.77, 0.0098, 0, false, false}, /* its group has no score */
	{"gsm8k", "exact_match,flexible-extract", 0.375, 0.013, 5, false, false},
	{"gsm8k", "exact_match,strict-match", 0.25, 0.012, 5, false, false},
	{"mmlu", "acc", 0.41, 0.004, -1, false, false},
	{"stem", "acc", 0.35, 0.008, -1, false, true},
	{"anatomy", "acc", 0.3, 0.04, 5, false, true},
	{"wikitext", "byte_perplexity", 1.6235, -1, 0, true, false},
};

static void check(const struct evaluation_score *score, const struct want *want)
{
	CHECK_SPAN(score->task, span_from(want->task));
	CHECK_SPAN(score->metric, span_from(want->metric));
	CHECK(score->value == want->value);
	CHECK(score->error == want->error);
	CHECK_INT(score->shots, want->shots);
	CHECK(score->is_lower == want->is_lower);
	CHECK(score->is_part == want->is_part);
	CHECK_SPAN(score->path, SPAN("/ckpt/run1/checkpoint-500"));
	CHECK_INT(score->lower_from, EVALUATION_LOWER_STATED);
}

TEST(a_table_of_the_harness_is_read_row_by_row)
{
	struct evaluation_table table = {0};
	struct evaluation_score score;
	size_t found = 0;

	for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
		AUTO_DONE(buf) packed = BUF_INIT(4096);
		evaluation_table_pack(&table, &packed); /* as when the server stops between any two lines */
		struct unpacker in = unpacker_on(buf_span(&packed));
		evaluation_table_unpack(&table, &in);
		CHECK(!in.has_failed);
		if (evaluation_table_see(&table, span_from(printed[i]), 100 + i, &score))
			check(&score, &wants[found++]);
	}
	CHECK_INT((int64_t)found, (int64_t)(sizeof wants / sizeof *wants));
}

TEST(a_table_behind_a_loggers_prefix_and_between_other_lines)
{
	static const char *const lines[] = {
		"2026-01-01 10:00:00,123 | INFO | hf (pretrained=org/m,revision=step1000,dtype=float16), gen_kwargs: (None), limit: None, num_fewshot: 5, batch_size: auto (64,64)",
		"[rank1] done",
		"2026-01-01 10:00:00,123 | INFO | |Tasks|Version|Filter|n-shot|Metric|Value|   |Stderr|",
		"2026-01-01 10:00:00,124 | INFO | |piqa |Yaml   |none  |     0|acc   | 0.77|±  |0.0098|"};
	struct evaluation_table table = {0};
	struct evaluation_score score;
	size_t found = 0;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		found += evaluation_table_see(&table, span_from(lines[i]), i, &score);
	CHECK_INT((int64_t)found, 1);
	CHECK_SPAN(score.task, SPAN("piqa"));
	CHECK_SPAN(score.path, SPAN("org/m@step1000"));
	CHECK(score.value == 0.77 && score.error == 0.0098);
	CHECK_INT(score.lower_from, EVALUATION_LOWER_ASSUMED);
}

TEST(other_tables_are_none)
{
	static const char *const lines[] = {"| epoch | loss | Metric |", "|     1 |  2.5 |   0.25 |",
		"| Name | Metric | Value |", "| a | acc | 0.5 |", "|Tasks|Version|", "|a|1|", "|", "||||||||||",
		"| N/A |"};
	struct evaluation_table table = {0};
	struct evaluation_score score;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		CHECK(!evaluation_table_see(&table, span_from(lines[i]), i, &score));
}

TEST(a_head_is_forgotten_behind_other_lines)
{
	struct evaluation_table table = {0};
	struct evaluation_score score;

	CHECK(!evaluation_table_see(&table, SPAN("|Task|Version|Metric|Value|   |Stderr|"), 10, &score));
	CHECK(evaluation_table_see(&table, SPAN("|piqa|      0|acc   | 0.77|±  |0.0098|"), 11, &score));
	CHECK(!evaluation_table_see(&table, SPAN("|piqa|      0|acc   | 0.77|±  |0.0098|"), 40, &score));
}
