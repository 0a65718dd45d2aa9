#include "model/jobs/evaluation_judge.h"
#include "test.h"

#include <math.h>

static struct error why;

static enum status read(struct evaluation *out, const char *text, int64_t step, const char *path, struct arena *arena)
{
	AUTO(json) document = NULL;
	struct evaluation_stated stated = {step, span_from(path)};

	CHECK_OK(json_parse(&document, span_from(text), &err));
	return evaluation_read(out, document, &stated, arena, &why);
}

static int64_t step_of(const char *path)
{
	int64_t step;

	return evaluation_step_of_path(span_from(path), &step) ? step : -1;
}

TEST(the_step_is_in_the_path_where_it_is_surely_one)
{
	CHECK_INT(step_of("/ckpt/checkpoint-500"), 500);
	CHECK_INT(step_of("out/iter_0000500"), 500);
	CHECK_INT(step_of("global_step1500/mp_rank_00"), 1500);
	CHECK_INT(step_of("epoch=1-step=700.ckpt"), 700);
	CHECK_INT(step_of("EleutherAI/pythia-12b@step143000"), 143000);
	CHECK_INT(step_of("allenai/OLMo@step1000-tokens4B"), 1000);
	CHECK_INT(step_of("checkpoint-500/step-600"), 600);
	CHECK_INT(step_of("maxtext/checkpoints/400/items"), 400);
	CHECK_INT(step_of("Step 7"), -1);
	CHECK_INT(step_of("/data/step_9.pt"), 9);
	CHECK_INT(step_of("meta-llama/Llama-3.1-8B"), -1);
	CHECK_INT(step_of("step500k"), -1);
	CHECK_INT(step_of("checkpoint-2024-05-01"), -1);
	CHECK_INT(step_of("checkpoints/8B"), -1);
	CHECK_INT(step_of("checkpoint/2-x"), -1);
	CHECK_INT(step_of("footstep12"), -1);
	CHECK_INT(step_of("step-1234567890123456"), -1);
	CHECK_INT(step_of("step-"), -1);
	CHECK_INT(step_of(""), -1);
}

TEST(of_some_metrics_less_is_better)
{
	CHECK(evaluation_is_lower(SPAN("word_perplexity")) && evaluation_is_lower(SPAN("ppl")));
	CHECK(evaluation_is_lower(SPAN("eval_loss")) && evaluation_is_lower(SPAN("bits_per_byte,none")));
	CHECK(evaluation_is_lower(SPAN("brier_score")) && evaluation_is_lower(SPAN("ter")));
	CHECK(evaluation_is_lower(SPAN("err")) && evaluation_is_lower(SPAN("err_rate,none")));
	CHECK(evaluation_is_lower(SPAN("top1_err")) && evaluation_is_lower(SPAN("errors")));
	CHECK(evaluation_is_lower(SPAN("error_rate")) && evaluation_is_lower(SPAN("wer")));
	CHECK(evaluation_is_lower(SPAN("bpb")) && evaluation_is_lower(SPAN("mse")) && evaluation_is_lower(SPAN("mae")));
	CHECK(!evaluation_is_lower(SPAN("terrain")) && !evaluation_is_lower(SPAN("recovery")));
	CHECK(!evaluation_is_lower(SPAN("acc_norm")) && !evaluation_is_lower(SPAN("exact_match")));
	CHECK(!evaluation_is_lower(SPAN("lossless")) && !evaluation_is_lower(SPAN("filter")));
}

TEST(words_that_json_lacks_become_null_but_in_texts)
{
	AUTO_DONE(buf) out = BUF_INIT(1000);

	evaluation_mend_json(SPAN("{\"a\": NaN, \"NaN\": [-Infinity, Infinity, -1], \"b\\\"NaN\": \"\\\\\"}"), &out);
	CHECK_SPAN(buf_span(&out), SPAN("{\"a\": null, \"NaN\": [null, null, -1], \"b\\\"NaN\": \"\\\\\"}"));
}

/* As 0.4.13 writes it: a group with a score and its task, a group without, a filter, "N/A" and a metric that is null. */
static const char harness[] =
	"{\"results\": {"
	"\"mmlu\": {\"name\": \"mmlu\", \"alias\": \"mmlu\", \"sample_len\": 14042, \"acc,none\": 0.5, \"acc_stderr,none\": 0.004,"
	" \"sample_count\": {\"acc,none\": 14042}},"
	"\"mmlu_law\": {\"alias\": \" - law\", \"acc,none\": 0.25, \"acc_stderr,none\": 0.03},"
	"\"open\": {\" \": \" \", \"alias\": \"open\"},"
	"\"gsm8k\": {\"alias\": \"gsm8k\", \"exact_match,strict-match\": 0.125, \"exact_match_stderr,strict-match\": \"N/A\"},"
	"\"wikitext\": {\"alias\": \"wikitext\", \"word_perplexity,none\": 12.5, \"word_perplexity_stderr,none\": \"N/A\","
	" \"byte_perplexity,none\": null, \"bits_per_byte,none\": \"N/A\"}},"
	"\"group_subtasks\": {\"mmlu\": [\"mmlu_law\"], \"open\": [\"gsm8k\"], \"gsm8k\": []},"
	"\"n-shot\": {\"mmlu_law\": 5, \"gsm8k\": 8},"
	"\"higher_is_better\": {\"mmlu\": {\"acc\": true}, \"mmlu_law\": {\"acc\": true}, \"gsm8k\": {\"exact_match\": null},"
	" \"wikitext\": {\"word_perplexity\": false}},"
	"\"n-samples\": {\"mmlu_law\": {\"original\": 1534, \"effective\": 100}},"
	"\"config\": {\"model\": \"hf\", \"model_args\": {\"pretrained\": \"/ckpt/checkpoint-500\", \"dtype\": \"bfloat16\"}},"
	"\"date\": 1700000000.5, \"model_name\": \"other\"}";

TEST(results_of_the_harness_are_read)
{
	AUTO(arena) arena = arena_new();
	struct evaluation got;

	CHECK_OK(read(&got, harness, -1, "", arena));
	CHECK_INT(got.count, 4);
	CHECK_INT(got.skipped_count, 2);
	CHECK_SPAN(got.skipped[0].metric, SPAN("byte_perplexity"));
	const struct evaluation_score *s = got.scores;
	CHECK_SPAN(s[0].path, SPAN("/ckpt/checkpoint-500"));
	CHECK_INT(s[0].step, 500);
	CHECK_INT(s[0].step_from, EVALUATION_STEP_PATH);
	CHECK_INT(s[0].evaluated_ms, 1700000000500);
	CHECK_SPAN(s[0].task, SPAN("mmlu"));
	CHECK_SPAN(s[0].metric, SPAN("acc"));
	CHECK(s[0].value == 0.5 && s[0].error == 0.004 && s[0].samples == 14042 && s[0].shots == -1 && !s[0].is_part);
	CHECK(s[1].is_part && s[1].samples == 100 && s[1].shots == 5 && s[1].lower_from == EVALUATION_LOWER_STATED);
	CHECK_SPAN(s[2].metric, SPAN("exact_match,strict-match"));
	CHECK(s[2].error == -1 && s[2].samples == -1 && s[2].shots == 8 && !s[2].is_part &&
		s[2].lower_from == EVALUATION_LOWER_ASSUMED);
	CHECK(s[3].is_lower && s[3].lower_from == EVALUATION_LOWER_STATED);
}

/* n-samples has tasks alone: mmlu is 10 + 20 + 40, each once, stem 30; "other" has a task of which nothing is said, "round" itself. */
TEST(a_group_has_the_samples_of_the_tasks_below)
{
	AUTO(arena) arena = arena_new();
	struct evaluation got;

	CHECK_OK(read(&got,
		"{\"results\": {\"mmlu\": {\"acc,none\": 0.5}, \"stem\": {\"acc,none\": 0.5}, \"other\": {\"acc,none\": 0.5},"
		"\"round\": {\"acc,none\": 0.5}, \"a\": {\"acc,none\": 0.5, \"f1,none\": 0.5}},"
		"\"group_subtasks\": {\"mmlu\": [\"stem\", \"c\", \"a\"], \"stem\": [\"a\", \"b\"], \"other\": [\"a\", \"d\"], \"round\": [\"round\", \"b\"],"
		"\"a\": []}, \"n-samples\": {\"a\": {\"effective\": 10}, \"b\": {\"effective\": 20}, \"c\": {\"effective\": 40}},"
		"\"config\": {\"model_args\": \"pretrained=m\"}}",
		-1, "", arena));
	CHECK_INT(got.count, 6);
	CHECK_INT(got.scores[0].samples, 70);
	CHECK_INT(got.scores[1].samples, 30);
	CHECK_INT(got.scores[2].samples, -1);
	CHECK_INT(got.scores[3].samples, 20);
	CHECK_INT(got.scores[4].samples, 10);
}

/* Work that a document can ask for has an end: of 99,999 tasks the sum is known, of one more it is not. */
TEST(too_many_tasks_below_a_group_are_not_summed)
{
	for (int count = 99999; count <= 100000; count++) {
		AUTO(arena) arena = arena_new();
		AUTO_DONE(buf) text = BUF_INIT(1 << 20);
		struct evaluation got;
		buf_append_text(&text,
			"{\"results\": {\"g\": {\"acc,none\": 0.5}}, \"n-samples\": {\"a\": {\"effective\": 7}}, "
			"\"group_subtasks\": {\"g\": [\"a\"");
		for (int i = 1; i < count; i++)
			buf_append_text(&text, ",\"a\"");
		buf_append_char(&text, ']');
		buf_append_text(&text, "}, \"config\": {\"model_args\": \"pretrained=m\"}}");
		buf_append_char(&text, 0);
		CHECK_OK(buf_status(&text, &why));
		CHECK_OK(read(&got, (const char *)text.ptr, -1, "", arena));
		CHECK_INT(got.scores[0].samples, count < 100000 ? 7 : -1);
	}
}

TEST(results_of_the_harness_before_filters_are_read)
{
	AUTO(arena) arena = arena_new();
	struct evaluation got;

	CHECK_OK(read(&got,
		"{\"results\": {\"lambada_openai\": {\"ppl\": 4.5, \"ppl_stderr\": 0.1, \"acc\": 0.67, \"acc_stderr\": 0.007}},"
		"\"versions\": {\"lambada_openai\": 0}, \"config\": {\"model\": \"hf-causal\","
		"\"model_args\": \"pretrained=EleutherAI/pythia-v1.1-12b,revision=step143000\", \"num_fewshot\": 5}}",
		-1, "", arena));
	CHECK_INT(got.count, 2);
	CHECK_SPAN(got.scores[0].path, SPAN("EleutherAI/pythia-v1.1-12b@step143000"));
	CHECK_INT(got.scores[0].step, 143000);
	CHECK(got.scores[0].is_lower && got.scores[0].lower_from == EVALUATION_LOWER_NAME && got.scores[0].shots == 5);
	CHECK(got.scores[1].error == 0.007 && got.scores[1].samples == -1);
}

TEST(what_is_stated_counts_before_the_path)
{
	AUTO(arena) arena = arena_new();
	struct evaluation got;

	CHECK_INT(read(&got, harness, 700, "", arena), ERR_SEMANTIC);
	CHECK_OK(read(&got, harness, 500, "", arena));
	CHECK_INT(got.scores[0].step_from, EVALUATION_STEP_STATED);
	CHECK_OK(read(&got, harness, 700, "run/final", arena));
	CHECK_INT(got.scores[0].step, 700);
	CHECK_INT(got.scores[0].step_from, EVALUATION_STEP_STATED);
	CHECK_OK(read(&got, harness, -1, "run/final", arena));
	CHECK(!got.scores[0].has_step && got.scores[0].step == 0);
	CHECK_SPAN(got.scores[0].path, SPAN("run/final"));
	CHECK_OK(read(&got,
		"{\"step\": 0, \"suite\": \"s\", \"n\": 7, \"scores\": {\"a/b/c\": 1, \"d/loss\":"
		" {\"value\": 2, \"stderr\": 0.5, \"n\": 3, \"shots\": 1, \"higher_is_better\": true}}}",
		-1, "", arena));
	CHECK(got.scores[0].has_step && got.scores[0].step == 0 && got.scores[0].samples == 7 &&
		got.scores[0].error == -1);
	CHECK_SPAN(got.scores[0].task, SPAN("a/b"));
	CHECK_SPAN(got.scores[0].metric, SPAN("c"));
	CHECK(got.scores[1].samples == 3 && got.scores[1].error == 0.5 && got.scores[1].shots == 1 &&
		!got.scores[1].is_lower);
}

TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *text, *field;
		int64_t step;
	} wrong[] = {{"{}", "results", 1}, {"{\"results\": {}, \"scores\": {}}", "scores", 1},
		{"{\"results\": 1}", "results", 1}, {"{\"results\": {}}", "results", 1},
		{"{\"results\": {\"a\": 1}}", "results", 1}, {"{\"results\": {\"a\": {\"acc,none\": 1}}}", "step", -1},
		{"{\"scores\": {\"a\": 1}}", "scores", 1}, {"{\"scores\": {\"/a\": 1}}", "scores", 1},
		{"{\"scores\": {\"a/\": 1}}", "scores", 1}, {"{\"scores\": {\"a/b\": \"1\"}}", "scores", 1},
		{"{\"scores\": {\"a/b\": {\"valu\": 1}}}", "scores", 1},
		{"{\"scores\": {\"a/b\": {\"value\": 1, \"stderr\": -1}}}", "stderr", 1},
		{"{\"scores\": {\"a/b\": {\"value\": 1, \"higher_is_better\": 1}}}", "higher_is_better", 1},
		{"{\"scores\": {\"a/b\": {\"value\": 1, \"n\": -1}}}", "n", 1},
		{"{\"scores\": {\"a/b\": 1}, \"stap\": 1}", "scores", 1},
		{"{\"scores\": {\"a/b\": 1}, \"step\": -1}", "step", 1},
		{"{\"scores\": {\"a/b\": 1}, \"step\": 2}", "step", 1},
		{"{\"scores\": {\"a/b\": 1}, \"step\": \"2\"}", "step", 1},
		{"{\"scores\": {\"a/b\": null}}", "scores", 1}, {"{\"scores\": {\"a\\u0001/b\": 1}}", "task", 1}};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		AUTO(arena) arena = arena_new();
		struct evaluation got;
		CHECK_INT(read(&got, wrong[i].text, wrong[i].step, "", arena), ERR_SEMANTIC);
		CHECK_SPAN(span_from(why.field), span_from(wrong[i].field));
	}
}

/* ---- all scores of a job ---- */

static struct evaluation_score score(int64_t step, const char *path, const char *task, double value, double error)
{
	return (struct evaluation_score){.has_step = step >= 0,
		.step = step < 0 ? 0 : step,
		.path = span_from(path),
		.task = span_from(task),
		.metric = span_equal(span_from(task), SPAN("wiki")) ? SPAN("ppl") : SPAN("acc"),
		.is_lower = span_equal(span_from(task), SPAN("wiki")),
		.value = value,
		.error = error};
}

TEST(scores_of_one_step_without_a_path_go_to_its_only_path)
{
	AUTO(arena) arena = arena_new();
	struct evaluation_score all[] = {score(-1, "m", "a", 0.9, -1), score(1, "", "a", 0.1, -1),
		score(1, "", "b", 0.3, -1), score(1, "p", "a", 0.2, -1), score(2, "", "a", 0.3, -1),
		score(2, "p", "a", 0.4, -1), score(2, "q", "a", 0.5, -1)};
	struct evaluation_checkpoint *got;
	size_t count;

	all[1].received_ms = 5; /* newer than that of the path */
	CHECK_OK(evaluation_group(all, sizeof all / sizeof *all, arena, &got, &count, &err));
	CHECK_INT(count, 5);
	CHECK(got[0].step == 1 && got[0].count == 2 && got[0].scores[0]->value == 0.1 &&
		got[0].scores[1]->value == 0.3);
	CHECK_SPAN(got[0].path, SPAN("p"));
	CHECK(got[1].step == 2 && !got[1].path.len && got[3].step == 2);
	CHECK_SPAN(got[3].path, SPAN("q"));
	CHECK(!got[4].has_step);
}

TEST(the_best_is_by_a_weighted_mean)
{
	AUTO(arena) arena = arena_new();
	struct evaluation_score all[] = {score(1, "", "a", 0.5, -1), score(1, "", "b", 0.8, -1),
		score(1, "", "wiki", 10, -1), score(2, "", "a", 0.75, -1), score(2, "", "b", 0.5, -1),
		score(2, "", "wiki", 8, -1)};
	struct evaluation_checkpoint *got;
	struct evaluation_weight *weights;
	size_t count, weight_count;

	CHECK_OK(evaluation_group(all, sizeof all / sizeof *all, arena, &got, &count, &err));
	CHECK_OK(evaluation_usual_weights(got, count, arena, &weights, &weight_count, &err));
	CHECK_INT(weight_count, 2); /* perplexity is no share */
	CHECK(fabs(evaluation_weighted(&got[0], weights, weight_count) - 0.65) < 1e-12);
	CHECK(fabs(evaluation_weighted(&got[1], weights, weight_count) - 0.625) < 1e-12);
	CHECK_OK(evaluation_read_weights(SPAN("a/acc:3,wiki/ppl:0.5"), arena, &weights, &weight_count, &err));
	CHECK(fabs(evaluation_weighted(&got[0], weights, weight_count) - (1.5 - 5) / 3.5) < 1e-12);
	CHECK(fabs(evaluation_weighted(&got[1], weights, weight_count) - (2.25 - 4) / 3.5) < 1e-12);
	CHECK_OK(evaluation_read_weights(SPAN("c/acc:1"), arena, &weights, &weight_count, &err));
	CHECK(isnan(evaluation_weighted(&got[0], weights, weight_count)));
}

TEST(weights_are_read_and_their_mistakes_named)
{
	static const char *const wrong[] = {"", "a/acc", "a/acc:", "a/acc:x", "a/acc:0", "a/acc:-1", "a/acc:NaN", "a:1",
		"/acc:1", "a/:1", "a/acc:1,", "a/acc:1,b/acc", "a/acc:1,a/acc:2", ",", ":1"};
	AUTO(arena) arena = arena_new();
	struct evaluation_weight *weights;
	size_t count;

	CHECK_OK(evaluation_read_weights(
		SPAN("gsm8k/exact_match,strict-match:2,a/b/c:1e-1"), arena, &weights, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(weights[0].metric, SPAN("exact_match,strict-match"));
	CHECK_SPAN(weights[1].task, SPAN("a/b"));
	CHECK(weights[0].weight == 2 && weights[1].weight == 0.1);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_INT(evaluation_read_weights(span_from(wrong[i]), arena, &weights, &count, &why), ERR_INVALID);
}

TEST(a_fall_beyond_its_standard_error_is_told)
{
	AUTO(arena) arena = arena_new();
	/* a: 0.04 of an error of hypot(0.03, 0.04) = 0.05, then 0.06 of it; wiki: up is worse; b: no error. */
	struct evaluation_score all[] = {score(-1, "", "a", 0.1, 0.01), score(1, "", "a", 0.5, 0.03),
		score(1, "", "wiki", 8, 0.1), score(2, "", "a", 0.46, 0.04), score(2, "", "b", 0.9, -1),
		score(3, "", "a", 0.40, 0.03), score(3, "", "b", 0.1, -1), score(3, "", "wiki", 8.5, 0.1)};
	struct evaluation_checkpoint *groups;
	struct evaluation_regression *got;
	size_t count, found, unjudged;

	CHECK_OK(evaluation_group(all, sizeof all / sizeof *all, arena, &groups, &count, &err));
	CHECK_OK(evaluation_find_regressions(groups, count, 1, arena, &got, &found, &unjudged, &err));
	CHECK_INT(found, 2);
	CHECK_INT(unjudged, 1);
	CHECK(got[0].before->step == 2 && got[0].now->step == 3 && fabs(got[0].drop - 0.06) < 1e-12);
	CHECK(fabs(got[0].error - 0.05) < 1e-12);
	CHECK(got[1].before->step == 1 && fabs(got[1].drop - 0.5) < 1e-12); /* step 2 has no perplexity */
	CHECK(got[0].is_newest && got[1].is_newest);
	CHECK_OK(evaluation_find_regressions(groups, count, 0.5, arena, &got, &found, &unjudged, &err));
	CHECK_INT(found, 3);
	CHECK(got[0].now->step == 2 && !got[0].is_newest && got[1].is_newest && got[2].is_newest);
	CHECK_OK(evaluation_find_regressions(groups, count, 2, arena, &got, &found, &unjudged, &err));
	CHECK_INT(found, 1);
}

static void check_split(const char *name, const char *task, const char *metric)
{
	struct span got_task, got_metric;

	evaluation_split_metric(span_from(name), &got_task, &got_metric);
	CHECK_SPAN(got_task, span_from(task));
	CHECK_SPAN(got_metric, span_from(metric));
}

TEST(a_series_of_evaluations_is_a_task_and_its_metric)
{
	check_split("val:loss", "val", "loss");
	check_split("eval_accuracy", "eval", "accuracy");
	check_split("eval/downstream/piqa_len_norm", "eval/downstream", "piqa_len_norm");
	check_split("validation_0-logloss", "validation_0", "logloss");
	check_split("valid_1's l2", "valid_1's", "l2");
	check_split("valloss", "log", "valloss");
	check_split("_acc", "log", "_acc");
	check_split("val/", "log", "val/");
}

TEST(what_is_printed_counts_where_nothing_was_sent)
{
	AUTO(arena) arena = arena_new();
	struct evaluation_score all[] = {score(1, "", "mmlu", 0.5, -1), score(1, "", "val", 2, -1),
		score(2, "", "val", 1, -1), score(2, "", "val", 3, -1)};
	struct evaluation_checkpoint *groups;
	struct evaluation_weight *weights;
	size_t count, weight_count;

	all[1].series = all[2].series = SPAN("val:loss");
	CHECK_OK(evaluation_group(all, 3, arena, &groups, &count, &err));
	CHECK_OK(evaluation_usual_weights(groups, count, arena, &weights, &weight_count, &err));
	CHECK(count == 2 && weight_count == 1);
	CHECK_SPAN(weights[0].task, SPAN("mmlu"));
	CHECK_OK(evaluation_group(all + 1, 2, arena, &groups, &count, &err));
	CHECK_OK(evaluation_usual_weights(groups, count, arena, &weights, &weight_count, &err));
	CHECK(count == 2 && weight_count == 1);
	CHECK_SPAN(weights[0].task, SPAN("val"));
	CHECK_OK(
		evaluation_group(all + 2, 2, arena, &groups, &count, &err)); /* both of one checkpoint: what was sent */
	CHECK(count == 1 && groups[0].count == 1 && groups[0].scores[0]->value == 3);
}
