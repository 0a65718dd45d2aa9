/* Lines that no preset knows, as they come: what is read of them, and what is not. */
#include "auto_stream.h"

enum { LINES = 3, TEXT_BYTES = 1 << 16 };

/* Of the last of three lines: {S} is the step (7, 8, 9), {V} a value (2.5, 2.25, 2.125). */
struct line_case {
	const char *line;
	const char *points; /* "name=value@step", in the order in which they stand; "" none */
};

static struct stream generic_stream(void)
{
	return stream_by_presets(NULL);
}

static void fill(const char *line, int index, struct buf *out)
{
	static const char *const values[LINES] = {"2.5", "2.25", "2.125"};
	struct span rest = span_from(line);

	while (rest.len) {
		if (span_take(&rest, SPAN("{S}"))) {
			buf_printf(out, "%d", 7 + index);
		} else if (span_take(&rest, SPAN("{V}"))) {
			buf_append_text(out, values[index]);
		} else {
			buf_append_char(out, rest.ptr[0]);
			rest = span_skip(rest, 1);
		}
	}
}

/* The points of line number `line`. */
static void points_of(struct stream *s, uint64_t line, struct buf *out)
{
	for (size_t i = 0; i < s->points.count; i++) {
		const struct extracted *item = &s->points.items[i];
		if (item->point.line != line)
			continue;
		if (out->len)
			buf_append_char(out, ' ');
		extractor_series_name(s->extractor, s->set, item->series, out);
		buf_printf(out, "=%.10g@%lld", item->point.value, (long long)item->point.step);
	}
}

static void read_case(const char *line, struct buf *out)
{
	AUTO_DONE(stream) s = generic_stream();
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	for (int i = 0; i < LINES; i++) {
		buf_reset(&text);
		fill(line, i, &text);
		feed_at(&s, buf_span(&text), NO_TIME);
	}
	points_of(&s, LINES - 1, out);
}

static void check_cases(const struct line_case *cases, size_t count)
{
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) got = BUF_INIT(TEXT_BYTES);
		read_case(cases[i].line, &got);
		if (span_equal(buf_span(&got), span_from(cases[i].points)))
			continue;
		wrong++;
		printf("%s\n  got  %.*s\n  want %s\n", cases[i].line, SPAN_ARGS(buf_span(&got)), cases[i].points);
	}
	CHECK_INT(wrong, 0);
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

TEST(a_name_and_its_number)
{
	static const struct line_case cases[] = {
		{"step {S} loss: {V}", "train:loss=2.125@9"},
		{"step {S} loss={V}", "train:loss=2.125@9"},
		{"step {S} loss {V}", "train:loss=2.125@9"},
		{"loss {V}", "train:loss=2.125@2"},
		{"step {S} | loss {V} | lr 1e-4 | ms/batch {V} | ppl 30{V}",
			"train:loss=2.125@9 train:lr=0.0001@9 train:step_time=2.125@9 ppl=302.125@9"},
		{"{'step': {S}, 'loss': '{V}'}", "train:loss=2.125@9"},
		{"{\"step\": {S}, \"loss\": {V}, \"lr\": 0.0001}", "train:loss=2.125@9 train:lr=0.0001@9"},
		{"step {S} ('loss', {V}) ('acc', 0.5)", "train:loss=2.125@9 acc=0.5@9"},
		{"step {S} (loss, {V})", "train:loss=2.125@9"},
		{"step {S} loss -> {V}", "train:loss=2.125@9"},
		{"step {S} loss=tensor({V}, device='cuda:0')", "train:loss=2.125@9"},
		{"step {S} global_norm: [{V}]", "train:grad_norm=2.125@9"},
		{"step {S} loss: {V}, step_time={V}ms, 1.2k tok/s",
			"train:loss=2.125@9 train:step_time=2.125@9 train:throughput=1200@9"},
		{"step {S} loss: {V} 12,345 tok/s acc: 50%", "train:loss=2.125@9 train:throughput=12345@9 acc=50@9"},
		{"step {S} elapsed time per iteration (ms): 35{V} loss {V}",
			"train:step_time=352.125@9 train:loss=2.125@9"},
		{"step {S} loss: {V} iter time (s): {V}", "train:loss=2.125@9 train:step_time=2125@9"},
		{"step {S} loss: nan", "train:loss=nan@9"},
	};

	CHECK_CASES(cases);
}

/* "%.10g" shows no noise: a difference does. */
TEST(thousands_are_exact)
{
	AUTO_DONE(stream) s = generic_stream();

	for (int i = 1; i < 4; i++)
		feed(&s, i < 3 ? "step 1 loss 2.5 speed 4.35k tok/s" : "step 3 loss 2.25 speed 1.001k tok/s");
	CHECK_DOUBLE(newest(&s)->value, 1001);
}

TEST(microseconds_by_each_of_their_signs)
{
	static const struct line_case cases[] = {
		{"step {S} step_time=35{V}us", "train:step_time=0.352125@9"},
		{"step {S} step_time=35{V}\xc2\xb5s", "train:step_time=0.352125@9"},
		{"step {S} step_time: 350 \xce\xbcs, loss: {V}", "train:step_time=0.35@9 train:loss=2.125@9"},
		{"step {S} | loss {V} | 350\xc2\xb5s/it", "train:loss=2.125@9 train:step_time=0.35@9"},
		{"step {S} iter time (\xc2\xb5s): 350 loss {V}", "train:step_time=0.35@9 train:loss=2.125@9"},
		{"step {S} loss {V} \xce\xbc={V} \xc2\xb5", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
}

/* When a line was written is no value of it; how long something took is. */
TEST(a_time_of_day_is_no_metric)
{
	static const struct line_case cases[] = {
		{"{\"step\": {S}, \"loss\": {V}, \"ts\": 176454012{S}.25}", "train:loss=2.125@9"},
		{"{\"ts\": 176454012{S}250, \"step\": {S}, \"loss\": {V}}", "train:loss=2.125@9"},
		{"{\"time\": 176454012{S}250000000, \"step\": {S}, \"loss\": {V}}", "train:loss=2.125@9"},
		{"step={S} loss={V} ts_us=176454012{S}250000", "train:loss=2.125@9"},
		{"{\"step\": {S}, \"loss\": {V}, \"wait_time\": {V}}", "train:loss=2.125@9 wait_time=2.125@9"},
		{"{\"step\": {S}, \"loss\": {V}, \"ts\": {V}}", "train:loss=2.125@9 ts=2.125@9"},
		{"{\"step\": {S}, \"loss\": {V}, \"tokens\": 176454012{S}}", "train:loss=2.125@9 tokens=1764540129@9"},
	};

	CHECK_CASES(cases);
}

/* As printf, strtod and Microsoft's old runtime write them. */
TEST(values_that_are_not_finite)
{
	static const struct line_case cases[] = {
		{"step {S} loss: 1.#QNAN", "train:loss=nan@9"},
		{"step {S} loss: 1.#QNAN0, lr 1e-4", "train:loss=nan@9 train:lr=0.0001@9"},
		{"step {S} | loss -1.#IND00 | lr 1e-4", "train:loss=nan@9 train:lr=0.0001@9"},
		{"step {S} loss=1.#SNAN grad_norm=1.#QNB", "train:loss=nan@9 train:grad_norm=nan@9"},
		{"{'step': {S}, 'loss': 1.#INF}", "train:loss=inf@9"},
		{"{\"step\": {S}, \"loss\": -1.#INF, \"lr\": 0.0001}", "train:loss=-inf@9 train:lr=0.0001@9"},
		{"iteration {S}: train_loss=1.#IND grad_norm=0.5", "train:loss=nan@9 train:grad_norm=0.5@9"},
		{"step {S} loss: -nan(ind)", "train:loss=nan@9"},
		{"step {S} loss: nan(0x7ff8000000000000) lr 1e-4", "train:loss=nan@9 train:lr=0.0001@9"},
		{"step {S} loss: 1e999", "train:loss=inf@9"},
		{"step {S} loss=-1e999 lr=1e-4", "train:loss=-inf@9 train:lr=0.0001@9"},
		{"step {S} loss: ({V})", "train:loss=2.125@9"},
		{"step {S} loss: (nan)", "train:loss=nan@9"},
		{"step {S} loss (nan)", "train:loss=nan@9"},
		{"step {S} | loss (-inf) | lr 1e-4", "train:loss=-inf@9 train:lr=0.0001@9"},
		{"step {S} loss: {V} (nan)", "train:loss=2.125@9 loss_avg=nan@9"},
	};

	CHECK_CASES(cases);
}

/* A line of an evaluation is none of training's, wherever it says so. */
TEST(an_evaluation_says_so)
{
	static const struct line_case cases[] = {
		{"*** eval *** step={S} loss={V}", "val:loss=2.125@9"},
		{"=== Validation === step {S} loss {V}", "val:loss=2.125@9"},
		{"step {S} *** eval *** loss={V}", "val:loss=2.125@9"},
		{"----- test ----- step={S} loss={V}", "test:loss=2.125@9"},
		{"Running evaluation... loss: {V}", "val:loss=2.125@2"},
		{"Running evaluation\xe2\x80\xa6 step {S} loss: {V}", "val:loss=2.125@9"},
		{"[eval] step {S} loss {V}", "val:loss=2.125@9"},
		{"(eval) loss: {V}", "val:loss=2.125@2"},
		{"test loss at step {S}: {V}", "test:loss=2.125@9"},
		{"val loss after epoch 3 step {S}: {V}", "val:loss=2.125@9"},
		{"train loss at step {S}/600: {V}", "train:loss=2.125@9"},
		{"loss at iteration {S} = {V}, lr 1e-4", "train:loss=2.125@9 train:lr=0.0001@9"},
		{"no eval at step {S}, loss: {V}", "train:loss=2.125@9"},
		{"before eval - step {S} - loss: {V}", "train:loss=2.125@9"},
		{"saved at step {S}: {V}", ""},
	};

	CHECK_CASES(cases);
}

/* Counters that are no word and a number. */
TEST(a_step_in_other_forms)
{
	static const struct line_case cases[] = {
		{"1epoch: 1-{S}batch: loss={V}", "train:loss=2.125@9"},
		{"Batch [0-{S}] loss={V}", "train:loss=2.125@9"},
		{"Batch [0-{S}-3] loss={V}", "train:loss=2.125@2"},
		{"s:{S} loss:{V}", "train:loss=2.125@9"},
		{"s:{S} trl:{V}", "train:loss=2.125@9"},
		{"turn {S}: {'a/loss': {V}}", "a/loss=2.125@9"},
		{"rank {S}: {'a/loss': {V}}", "a/loss=2.125@2"},
		{"Ep. 1 : Up. {S} : Cost {V} : 12.5 words/s : L.r. 3e-5",
			"Cost=2.125@9 train:throughput=12.5@9 train:lr=3e-05@9"},
		{"Progress on:train {S}.00kit/10.0kit postfix:loss={V}", "train:loss=2.125@9000"},
		{"1|{S}|acc: {V}:  50%|#####     | 25/50 [00:31<00:31,  1.25s/it]",
			"acc=2.125@9 train:step_time=1.25@9"},
	};

	CHECK_CASES(cases);
}

TEST(a_name_in_other_forms)
{
	static const struct line_case cases[] = {
		{"step={S}, train loss <loss>={V}", "train:loss=2.125@9"},
		{"epoch={S}, train loss <loss>=({V})", "train:loss=2.125@9"},
		{"step {S}, loss:[{V}/9.5]", "train:loss=2.125@9"},
		{"[{S}]#011train-rmse:{V}#011validation-rmse:1{V}", "train-rmse=2.125@9 validation-rmse=12.125@9"},
		{"step {S}, loss: {V}, training's l2: 1{V}", "train:loss=2.125@9 training's_l2=12.125@9"},
		{"L.r 3{V}. Then 4 more", ""},
	};

	CHECK_CASES(cases);
}

TEST(where_the_step_stands)
{
	static const struct line_case cases[] = {
		{"step:{S}K loss: {V}", "train:loss=2.125@9000"},
		{"[   {S}/ 3000] loss: {V}", "train:loss=2.125@9"},
		{"Step {S}/300 | loss: {V}", "train:loss=2.125@9"},
		{"[ITER {S}] loss: {V}", "train:loss=2.125@9"},
		{"(step=000{S}) Train Loss: {V}", "train:loss=2.125@9"},
		{"Epoch 1, batch {S}, loss={V}", "train:loss=2.125@9"},
		{"Epoch: [3][{S}/5005] loss {V} ", "train:loss=2.125@9"},
		{"Epoch:[1/2]({S}/100), loss: {V}", "train:loss=2.125@9"},
		{"epoch 3 | {S}/1000 batches | loss: {V}", "train:loss=2.125@9"},
		{"[1,    {S}] loss: {V}", "train:loss=2.125@9"},
		{"{S} | loss {V}", "train:loss=2.125@9"},
		{"Epoch {S} loss: {V}", "train:loss=2.125@9"},
		{"total steps: 5000 global_step={S} loss: {V}", "train:loss=2.125@9"},
		{"step {S} of 500: loss {V}", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
}

TEST(words_before_a_name_belong_to_it)
{
	static const struct line_case cases[] = {
		{"step {S} loss: {V} z_loss: 0.{S} loss_cls: {V}", "train:loss=2.125@9 z_loss=0.9@9 loss_cls=2.125@9"},
		{"step {S} Mean surrogate loss: {V}", "Mean_surrogate_loss=2.125@9"},
		{"step {S} validation: loss={V}", "val:loss=2.125@9"},
		{"step {S} Train loss {V}, Val loss 3.5, test loss: 4",
			"train:loss=2.125@9 val:loss=3.5@9 test:loss=4@9"},
		{"step {S} loss: {V} (2.3) Acc@1 76.{S} (75.0)",
			"train:loss=2.125@9 loss_avg=2.3@9 Acc@1=76.9@9 Acc@1_avg=75@9"},
		{"step {S} total_loss: 3.5 loss: {V}", "total_loss=3.5@9 train:loss=2.125@9"},
		{"INFO step {S} the loss is: {V}", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
}

/* All names that follow are known, so none of them is the name of the number behind it. */
TEST(a_value_in_front_of_its_name)
{
	static const struct line_case cases[] = {
		{"{V} loss  3e-05 lr  15234 tok/s  0.75 grad norm  @ step {S}",
			"train:loss=2.125@9 train:lr=3e-05@9 train:throughput=15234@9 train:grad_norm=0.75@9"},
		{"step {S} {V} loss, 3e-05 lr", "train:loss=2.125@9 train:lr=3e-05@9"},
		{"step {S} {V} loss 3e-05 lr 0.5 zeta", ""},
		{"step {S} loss {V} lr 3e-05 done", "train:loss=2.125@9 train:lr=3e-05@9"},
		{"{S} loss {V} lr 3{V} done", "train:loss=2.125@2"},
		{"{S} ms {V} s", ""},
		{"{V} loss 3e-05 lr 3.5 it/s @ step {S}",
			"train:loss=2.125@9 train:lr=3e-05@9 train:steps_per_second=3.5@9"},
		{"step {S} 120 loss {V} grad_norm 0.5 speed 3.5 it/s",
			"train:loss=2.125@9 train:grad_norm=0.5@9 train:steps_per_second=3.5@9"},
		{"step {S} 12.5 loss {V} lr 3e-05 zeta 0.5 s", "train:loss=2.125@9 train:lr=3e-05@9"},
		{"pass 3 ok | {V} loss  3e-05 lr 15000 tok/s @ step {S}",
			"train:loss=2.125@9 train:lr=3e-05@9 train:throughput=15000@9"},
		{"[12] pass 3 | {V} loss  3e-05 lr @ step {S}", "train:loss=2.125@9 train:lr=3e-05@9"},
		{"step {S} ppl 12.5 | {V} loss, 3e-05 lr", "ppl=12.5@9 train:loss=2.125@9 train:lr=3e-05@9"},
		{"pass 3 ok | {V} loss  3e-05 lr 0.5 zeta @ step {S}", ""},
		{"step {S} loss -> {V} lr -> 3e-05 done", "train:loss=2.125@9 train:lr=3e-05@9"},
		{"step {S} done | 3.5s loss {V} lr 3e-05 ok", "train:loss=2.125@9 train:lr=3e-05@9"},
	};

	CHECK_CASES(cases);
}

/* Learners of trees name what they measure by what they measure it on. */
TEST(a_set_of_samples_names_the_loss_on_it)
{
	static const struct line_case cases[] = {
		{"{S}:\tlearn: {V}\ttest: 1{V}", "train:loss=2.125@9 test:loss=12.125@9"},
		{"step {S} learn: 12", ""},
		{"step {S}, training's l2: 0.25, valid_0's map@5: 0.5", "training's_l2=0.25@9 valid_0's_map@5=0.5@9"},
	};

	CHECK_CASES(cases);
}

/* What a batch of known speed took is a step's time; any other latency is a metric of its own. */
TEST(a_latency_beside_a_rate_is_the_time_of_a_step)
{
	static const struct line_case cases[] = {
		{"step {S} Latency: 0.{S}s, TFLOPs: 1.5, Samples/sec: 1{V}",
			"train:step_time=900@9 TFLOPs=1.5@9 Samples/sec=12.125@9"},
		{"step {S} loss: {V} latency: 0.{S}s", "train:loss=2.125@9 latency=0.9@9"},
		{"step {S} latency: 0.{S}, Samples/sec: 1{V}", "latency=0.9@9 Samples/sec=12.125@9"},
	};

	CHECK_CASES(cases);
}

TEST(a_record_in_braces_has_the_step_in_front_of_it)
{
	static const struct line_case cases[] = {
		{"perf {S}: {'score': {V}}", "score=2.125@9"},
		{"rollout {S}: {'score': {V}}", "score=2.125@9"},
		{"fold {S}: {'score': {V}}", ""},
		{"client {S}: {'score': {V}}", ""},
		{"Up. {S} : loss {V}", "train:loss=2.125@9"},
		{"Catching up. {S} workers, loss: {V}", "train:loss=2.125@2"},
	};

	CHECK_CASES(cases);
}

TEST(the_best_of_an_outcome_is_one_and_a_limit_is_none)
{
	static const struct line_case cases[] = {
		{"step {S} MaxReturn {V} reward/min {V}", "MaxReturn=2.125@9 reward/min=2.125@9"},
		{"step {S} max_lr: {V} max_grad_norm: {V} min_size: {V}", ""},
	};

	CHECK_CASES(cases);
}

/* All points of a log of a few lines. */
static void check_job(const char *text, const char *points)
{
	AUTO_DONE(stream) s = generic_stream();
	AUTO_DONE(buf) got = BUF_INIT(TEXT_BYTES);
	struct span rest = span_from(text), line;
	uint64_t lines = 0;

	for (; span_next(&rest, '\n', &line); lines++)
		feed_at(&s, line, NO_TIME);
	for (uint64_t i = 0; i < lines; i++)
		points_of(&s, i, &got);
	buf_append_char(&got, '\0');
	CHECK_TEXT(got.ptr, points);
}

/* What the loss is scaled by is a value of the training; other scales are settings. */
TEST(the_scale_of_a_loss_is_one)
{
	static const struct line_case cases[] = {
		{"step {S} loss: {V} loss_scale: 6553{S}", "train:loss=2.125@9 loss_scale=65539@9"},
		{"step {S} loss {V} loss scale 6553{S}", "train:loss=2.125@9 loss_scale=65539@9"},
		{"loss_scale: 6553{S}", ""}, /* alone it tells of no training */
		{"loss_scale: 65536", ""},
		{"step {S} scale: 3{S}", ""},
		{"step {S} loss: {V} image scale: 3{S}", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
	AUTO_DONE(stream) settings = auto_stream();
	feed_text(&settings, "loss_scale: 1024.0\nloss_scale: dynamic\nloss_scale: 1.0\nstep 1 loss 2.5\n", true);
	check_series(&settings, "loss_scale", "");
	AUTO_DONE(stream) stream = auto_stream();
	for (int step = 1; step < 4; step++) {
		char text[128];
		snprintf(text, sizeof text, "step %d loss 2.%d\nloss scale: %d\nscale: %d\n", step, step, 1 << step,
			step);
		feed_text(&stream, text, true);
	}
	check_series(&stream, "loss_scale", "1=2 2=4 3=8");
	check_series(&stream, "scale", "");
}

TEST(one_line_is_enough_for_what_is_known)
{
	check_job("step 20 loss: 2.5, step_time=350ms, 1.2k tok/s",
		"train:loss=2.5@20 train:step_time=350@20 train:throughput=1200@20");
	check_job("step 20 loss: 2.5 iter time (s): 0.25", "train:loss=2.5@20 train:step_time=250@20");
	check_job("step 20 loss: 2.5, latency: 0.25s, tokens/s: 12345",
		"train:loss=2.5@20 train:step_time=250@20 train:throughput=12345@20");
	check_job("step 20 | loss 2.5 | ms/batch 5.25", "train:loss=2.5@20 train:step_time=5.25@20");
	check_job("step 20 loss: 2.5\ngrad norm: 0.75", "train:loss=2.5@20 train:grad_norm=0.75@20");
	check_job("After 20 updates the training loss is 2.5; 15234 tokens per second; gradient norm 0.75.",
		"train:loss=2.5@20 train:throughput=15234@20 train:grad_norm=0.75@20");
}

TEST(one_record_is_enough_when_it_has_a_loss)
{
	check_job("{\n  \"step\": 20,\n  \"lr\": 0.001,\n  \"loss\": 2.5\n}", "train:lr=0.001@20 train:loss=2.5@20");
	check_job(
		"-----------------------\n| time/           |      |\n| total_timesteps | 2048 |\n| train/          |      |\n"
		"| learning_rate   | 3e-4 |\n| loss            | 5.25 |\n-----------------------",
		"train:lr=0.0003@2048 train:loss=5.25@2048");
	check_job("{\n  \"step\": 20,\n  \"lr\": 0.001,\n  \"grad_norm\": 1.0\n}", "");
}

TEST(how_far_an_evaluation_is_counts_no_steps)
{
	check_job("Train: [10/100] loss 2.5\nTest: [5/48] loss 2.75\nTest: [ 48/48] loss 2.25",
		"train:loss=2.5@10 test:loss=2.75@10 test:loss=2.25@10");
	check_job("Train: [0][10/100] loss 2.5\nVal [0][5/48] loss 2.75", "train:loss=2.5@10 val:loss=2.75@10");
}

TEST(what_is_no_metric)
{
	static const struct line_case cases[] = {
		{"loaded {S} shards in {V} s", ""},
		{"listening on 10.0.0.{S}:29500", ""},
		{"http://host:{S}/x?loss=1", ""},
		{"torch {V}+cu121, python 3.10.{S}", ""},
		{"2026-11-2{S} 10:00:0{S} checkpoint saved", ""},
		{"addr 0x7f{S} size: {S}", ""},
		{"step {S} loss: 1.234,5", ""},
		{"step {S} loss: 0x1f", ""},
		{"step {S} seed: {S} rank: {S} port={S}", ""},
		{"ValueError: loss {V} is not finite at step {S}", ""},
		{"torch.cuda.OutOfMemoryError: step {S} loss: {V}", ""},
		{"error 40{S} in /data/run-{S}/loss.pt", ""},
		{"    validation: 44{S}", ""},
		{"Catching up. {S} workers left", ""},
		{"    test:       {S}0", ""},
		{"Train on {S}000 samples, validate on {S}00 samples", ""},
		{"# nThread {S} step: 2(factor) warmup iters: 5 iters: 100 validation: {S}", ""},
	};

	CHECK_CASES(cases);
}

/* "print(history.history)": several numbers behind a name are a curve, and no value of now. One alone is. */
TEST(a_list_of_numbers_is_no_value)
{
	AUTO_DONE(stream) s = auto_stream();

	feed(&s, "{'loss': [3.4037487506866455, 3.16, 2.9], 'val_loss': [3.1, 3.0, 2.8]}");
	feed(&s, "loss: [3.40, 3.16]");
	CHECK_INT(s.points.count, 0);
	feed(&s, "loss: [0.5]");
	feed(&s, "loss: tensor([0.25])");
	check_series(&s, "train:loss", "0=0.5 1=0.25");
}
