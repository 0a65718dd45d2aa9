#include "helper.h"

static struct stream preset_stream(void)
{
	return stream_by_presets(NULL);
}

static const char *preset_of(struct stream *stream)
{
	return definition_set_preset_name(stream->set, extractor_preset(stream->extractor));
}

static size_t index_of(struct stream *stream, const char *name)
{
	int preset = extractor_preset(stream->extractor);

	for (size_t i = 0; i < definition_set_count(stream->set, preset); i++)
		if (span_equal(definition_set_get(stream->set, preset, i).name, span_from(name)))
			return i;
	test_fail(__FILE__, __LINE__, "no definition '%s'", name);
}

static size_t count_of(struct stream *stream, const char *name, size_t *nan_count)
{
	size_t count = 0;

	*nan_count = 0;
	for (size_t i = 0; i < stream->points.count; i++) {
		AUTO_DONE(buf) metric = BUF_INIT(1024);
		extractor_series_name(stream->extractor, stream->set, stream->points.items[i].series, &metric);
		if (!span_equal(buf_span(&metric), span_from(name)))
			continue;
		count++;
		*nan_count += isnan(stream->points.items[i].point.value) != 0;
	}
	return count;
}

/* The newest point of the series of that name, NULL: none. */
static const struct point *newest_of(struct stream *stream, struct span name)
{
	for (size_t i = stream->points.count; i-- > 0;) {
		AUTO_DONE(buf) metric = BUF_INIT(1024);
		extractor_series_name(stream->extractor, stream->set, stream->points.items[i].series, &metric);
		if (span_equal(buf_span(&metric), name))
			return &stream->points.items[i].point;
	}
	return NULL;
}

/* The one point of that name so far. */
static struct point *only(struct stream *stream, const char *name)
{
	size_t wanted = index_of(stream, name);
	struct point *found = NULL;

	for (size_t i = 0; i < stream->points.count; i++)
		if (stream->points.items[i].definition == wanted) {
			CHECK(!found);
			found = &stream->points.items[i].point;
		}
	CHECK(found);
	return found;
}

static void check_only(struct stream *stream, const char *name, int64_t step, double value)
{
	CHECK_DOUBLE(only(stream, name)->value, value);
	CHECK_INT(only(stream, name)->step, step);
}

TEST(a_preset_is_chosen_by_its_first_line_which_counts)
{
	AUTO_DONE(stream) s = preset_stream();

	CHECK_INT(feed(&s, "starting up"), 0);
	CHECK_INT(extractor_preset(s.extractor), -1);
	/* -100 % is nanoGPT's word for "not measured yet" */
	CHECK_INT(feed(&s, "iter 3: loss 4.2709, time 10268.08ms, mfu -100.00%"), 2);
	CHECK_TEXT(preset_of(&s), "nanogpt");
	check_only(&s, "train:loss", 3, 4.2709);
	CHECK_INT(feed(&s, "iter 4: loss 4.1, time 1000.00ms, mfu 12.50%"), 3);
	check_only(&s, "train:mfu", 4, 12.5);
	CHECK_INT(definition_set_get(s.set, extractor_preset(s.extractor), 1).role, ROLE_STEP_TIME);
	extractor_reset_definitions(s.extractor);
	CHECK_INT(extractor_preset(s.extractor), -1);
}

/* A line as a launcher or a collector hands it on: each part behind a \\r has come from the same pipe. */
static void feed_behind(struct stream *s, const char *prefix, struct span line)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);

	buf_append_span(&text, span_from(prefix));
	buf_append_span(&text, line);
	feed_at(s, buf_span(&text), NO_TIME);
}

/* Lines, the step, and {"metric": value, …} of the newest points. Says each mistake and returns how many there are. */
static int mistakes_of(
	const struct definition_set *presets, const char *preset, const struct json *example, const char *prefix)
{
	struct definition_set *set = NULL;
	double step = 0, wanted = 0;
	int mistakes = 0;

	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	AUTO_DONE(stream) s = stream_on(set);
	for (const struct json *line = json_first(json_get(example, "lines")); line; line = json_next(line))
		feed_behind(&s, prefix, json_string_of(line));
	const char *chosen = preset_of(&s);
	if (!chosen || strcmp(chosen, preset) != 0) {
		printf("'%s' an example of %s chose %s\n", prefix, preset, chosen ? chosen : "none");
		return 1;
	}
	CHECK(json_number_of(json_get(example, "step"), &step));
	for (const struct json *item = json_first(json_get(example, "values")); item; item = json_next(item)) {
		const struct point *point = newest_of(&s, json_key_of(item));
		CHECK(json_number_of(item, &wanted));
		if (point && fabs(point->value - wanted) <= fabs(wanted) * 1e-9 + 1e-12 && point->step == (int64_t)step)
			continue;
		mistakes++;
		printf("'%s' an example of %s: %.*s is %g at step %lld\n", prefix, preset, SPAN_ARGS(json_key_of(item)),
			point ? point->value : NAN, point ? (long long)point->step : -1);
	}
	return mistakes;
}

/* "3: 0.25" may be a row of two numbers: srun's bare rank is none before a digit. */
static bool has_line_of_numbers(const struct json *example)
{
	for (const struct json *line = json_first(json_get(example, "lines")); line; line = json_next(line)) {
		struct span text = json_string_of(line);
		if (text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9')
			return true;
	}
	return false;
}

static int mistakes_behind(const char *prefix)
{
	const struct definition_set *presets = shipped_presets();
	AUTO(json) document = NULL;
	size_t len = 0, count = 0;
	int mistakes = 0;
	AUTO_MEM char *text = read_whole("../../../server/data/presets.json", &len);

	CHECK_OK(json_parse(&document, span_of(text, len), &err));
	for (const struct json *preset = json_first(json_get(document, "presets")); preset;
		preset = json_next(preset)) {
		char name[64];
		snprintf(name, sizeof name, "%.*s", SPAN_ARGS(json_string_of(json_get(preset, "name"))));
		const struct json *examples = json_get(preset, "examples");
		CHECK(json_count(examples) > 0 || json_is_true(json_get(preset, "renamed")));
		for (const struct json *example = json_first(examples); example; example = json_next(example), count++)
			if (*prefix < '0' || *prefix > '9' || !has_line_of_numbers(example))
				mistakes += mistakes_of(presets, name, example, prefix);
	}
	CHECK(count >= 120);
	return mistakes;
}

TEST(each_preset_proves_itself_by_its_examples)
{
	CHECK_INT(mistakes_behind(""), 0);
}

/* What summaries, detectors and derived metrics rely on. */
TEST(each_role_of_a_preset_has_direction_and_unit)
{
	AUTO_DONE(stream) s = preset_stream();
	int wrong = 0, presets = 0;

	for (; definition_set_preset_name(shipped_presets(), presets); presets++) {
		for (size_t i = 0; i < definition_set_count(s.set, presets); i++) {
			struct metric_definition shown = definition_set_get(s.set, presets, i);
			int higher = role_higher(shown.role);
			bool has_unit = (shown.role != ROLE_THROUGHPUT && shown.role != ROLE_STEP_TIME) ||
					!shown.regex.len; /* it is in the text, if anywhere */
			if ((!higher || shown.higher == higher) && (has_unit || shown.unit.len))
				continue;
			wrong++;
			printf("%s: %.*s, %s, %d, '%.*s'\n", definition_set_preset_name(shipped_presets(), presets),
				SPAN_ARGS(shown.name), role_name(shown.role), shown.higher, SPAN_ARGS(shown.unit));
		}
	}
	CHECK(presets > 70);
	CHECK_INT(wrong, 0);
}

TEST(presets_read_what_launchers_hand_on)
{
	static const char *const prefixes[] = {"[1,0]<stdout>:", "[rank3]:", "[default7]:", "algo-1-xyzab  | ",
		"(TaskRunner pid=8703112, ip=10.0.0.1) ", "\x1b[36m(main_task pid=52)\x1b[0m ",
		"2025-01-02T03:04:05.123456789Z stdout F ", "[2025-01-02 03:04:05,123] ", "12: "};
	int mistakes = 0;

	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		mistakes += mistakes_behind(prefixes[i]);
	CHECK_INT(mistakes, 0);
}

TEST(preset_step_loss)
{
	AUTO_DONE(stream) s = preset_stream();

	CHECK_INT(feed(&s, "step 1 of the plan is to limit the loss of time"), 0);
	CHECK_INT(feed(&s, "step 5 loss 2.125 lr 1e-4"), 2);
	CHECK_TEXT(preset_of(&s), "generic");
	check_only(&s, "train:loss", 5, 2.125);
}

TEST(preset_torchtitan)
{
	AUTO_DONE(stream) s = preset_stream();

	feed(&s, "\x1b[31mstep: 20  \x1b[32mloss: 11.83506  \x1b[38;2;180;60;0mgrad_norm:  9.6669  \x1b[36mmemory: "
		 "48.87GiB(51.44%)  \x1b[34mtps: 4,376  \x1b[36mtflops: 253.41  \x1b[35mmfu: 25.62%\x1b[39m");
	CHECK_TEXT(preset_of(&s), "torchtitan");
	check_only(&s, "train:loss", 20, 11.83506);
	check_only(&s, "train:grad_norm", 20, 9.6669);
	check_only(&s, "train:throughput", 20, 4376);
	check_only(&s, "train:mfu", 20, 25.62);
}

TEST(preset_megatron)
{
	AUTO_DONE(stream) s = preset_stream();

	feed(&s,
		" iteration       30/    1000 | consumed samples:          120 | elapsed time per iteration (ms): 1376.1 | "
		"throughput per GPU (TFLOP/s/GPU): 123.4 | learning rate: 1.500E-04 | global batch size:     4 | lm loss: "
		"2.247505E+01 | loss scale: 16384.0 | grad norm: 16.999 | number of skipped iterations:   1 |");
	CHECK_TEXT(preset_of(&s), "megatron-lm");
	check_only(&s, "train:loss", 30, 22.47505);
	check_only(&s, "train:grad_norm", 30, 16.999);
	check_only(&s, "train:step_time", 30, 1376.1);
	check_only(&s, "train:tflops", 30, 123.4);
	feed(&s, " validation loss at iteration 100 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 |");
	check_only(&s, "val:loss", 100, 8.017406);
}

TEST(preset_generic)
{
	static const struct {
		const char *line;
		int64_t step;
	} cases[] = {{"step 10: loss: 2.5 lr: 1e-4", 10}, {"iter=10 loss=2.5, lr=1e-4", 10},
		{"{\"step\": 10, \"loss\": 2.5, \"lr\": 0.0001}", 10}, {"Epoch 3, Step 10/500, train_loss: 2.5", 10},
		{"epoch 10 Train Loss: 2.5", 10}, {"global_step=10 reduced_train_loss=2.5", 10},
		{"Iteration 10, loss = 2.5", 10}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		AUTO_DONE(stream) s = preset_stream();
		feed(&s, cases[i].line);
		CHECK_TEXT(preset_of(&s), "generic");
		check_only(&s, "train:loss", cases[i].step, 2.5);
	}
	AUTO_DONE(stream) s = preset_stream();
	feed(&s, "step 7 loss: 2.5 val_loss: 3.5 grad_norm: 1.5 tokens/s: 12,345 learning_rate: 3e-4");
	check_only(&s, "val:loss", 7, 3.5);
	check_only(&s, "train:grad_norm", 7, 1.5);
	check_only(&s, "train:throughput", 7, 12345);
	check_only(&s, "train:lr", 7, 3e-4);
}

TEST(values_that_are_no_numbers)
{
	AUTO_DONE(stream) s = preset_stream();

	CHECK_INT(feed(&s, "step 1: loss=nan, acc=-, grad_norm=inf"), 2);
	CHECK(isnan(newest_of(&s, SPAN("train:loss"))->value));
	CHECK(isinf(newest_of(&s, SPAN("train:grad_norm"))->value));
	CHECK_INT(feed(&s, "step 2: loss=-, acc=50%, grad_norm=-inf"), 2);
	CHECK_DOUBLE(newest_of(&s, SPAN("acc"))->value, 50);
	CHECK_INT(newest_of(&s, SPAN("train:loss"))->step, 1);
	/* each digit counts, also before ", name" */
	CHECK_INT(feed(&s, "step 3: conv_loss=0.067,box_loss=1.034"), 2);
	CHECK_DOUBLE(newest_of(&s, SPAN("conv_loss"))->value, 0.067);
}

TEST(a_preset_reads_what_old_runtimes_print)
{
	static const struct {
		const char *line, *odd;
	} cases[] = {
		{"iter 5: loss 2.5000, time 20.00ms, mfu 30.00%", "iter 6: loss 1.#QNAN, time 20.00ms, mfu 30.00%"},
		{"iter 5: loss 2.5000, time 20.00ms, mfu 30.00%", "iter 6: loss 1.#QNB, time 20.00ms, mfu 30.00%"},
		{"{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 1e-4, 'epoch': 0.1}",
			"{'loss': -1.#IND, 'grad_norm': 1.5, 'learning_rate': 1e-4, 'epoch': 0.2}"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		AUTO_DONE(stream) s = preset_stream();
		for (int j = 0; j < 3; j++)
			feed(&s, cases[i].line);
		feed(&s, cases[i].odd);
		CHECK(isnan(newest_of(&s, SPAN("train:loss"))->value));
	}
}

TEST(bars_come_before_what_trains)
{
	AUTO_DONE(stream) s = preset_stream();

	feed(&s, " 10%|#         | 10/100 [00:20<03:00,  2.00s/it]");
	CHECK_TEXT(preset_of(&s), "tqdm");
	feed(&s, "step 11 loss: 2.5");
	CHECK_TEXT(preset_of(&s), "generic");
	feed(&s, "{'loss': 2.5, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.02}");
	CHECK_TEXT(preset_of(&s), "hf-trainer");
	feed(&s, "step 12 loss: 2.5");
	CHECK_TEXT(preset_of(&s), "hf-trainer");
}

TEST(without_a_step_a_guess_waits_for_another_value)
{
	AUTO_DONE(stream) s = preset_stream();

	CHECK_INT(feed(&s, "{'loss'= 2.5}"), 0);
	CHECK_INT(feed(&s, "{'loss'= 2.5}"), 0);
	CHECK_INT(feed(&s, "{'loss'= 2.25}"), 3); /* the first ones too */
	CHECK_INT(point_at(&s, 0)->line, 0);
	CHECK_INT(point_at(&s, 2)->line, 2);
	CHECK_INT(feed(&s, "{'loss'= 2.25}"), 1);
}

TEST(a_generic_preset_gives_way)
{
	AUTO_DONE(stream) s = preset_stream();
	AUTO_DONE(buf) reason = BUF_INIT(1024);

	feed(&s, "step 1 loss: 3.0");
	CHECK_TEXT(preset_of(&s), "generic");
	feed(&s, "iter 3: loss 4.2709, time 10268.08ms, mfu -100.00%");
	CHECK_TEXT(preset_of(&s), "nanogpt");
	extractor_preset_reason(s.extractor, &reason);
	CHECK_INT(span_find(buf_span(&reason), SPAN("matched 1 of the first 2 lines: 'iter 3: loss")), 0);
}

TEST(a_preset_can_be_asked_for)
{
	const struct definition_set *presets = shipped_presets();
	AUTO(json) named = NULL;
	AUTO(json) wrong = NULL;
	struct definition_set *set = NULL;

	CHECK_OK(json_parse(&named, SPAN("[{\"Preset\":\"llmc\"}]"), &err));
	CHECK_OK(json_parse(&wrong, SPAN("[{\"Preset\":\"none\"}]"), &err));
	CHECK_FAILS(definition_set_new(&set, wrong, presets, &err), ERR_SEMANTIC, "no preset 'none'");
	CHECK_OK(definition_set_new(&set, named, presets, &err));
	AUTO_DONE(stream) s = stream_on(set);
	CHECK_INT(feed(&s, "iter 3: loss 4.2709, time 10268.08ms, mfu -100.00%"), 0);
	CHECK_INT(feed(&s, "s:0 trl:11.0091"), 1);
	CHECK_TEXT(preset_of(&s), "llmc");
}

TEST(ranks_that_say_the_same_are_one_series)
{
	AUTO_DONE(stream) s = preset_stream();

	CHECK_INT(feed(&s, "[rank1]: iter 1: loss 4.5, time 100.0ms"), 2);
	CHECK_INT(feed(&s, "[rank0]: iter 1: loss 4.5, time 100.0ms"), 0);
	CHECK_INT(feed(&s, "[rank0]: iter 2: loss 4.0, time 100.0ms"), 2);
	CHECK_INT(feed(&s, "[rank1]: iter 2: loss 4.25, time 100.0ms"), 1); /* its own loss, the same time */
	CHECK(newest_of(&s, SPAN("train:loss")));
	CHECK_DOUBLE(newest_of(&s, SPAN("train:loss"))->value, 4.0);
	CHECK_DOUBLE(newest_of(&s, SPAN("train:loss{rank=\"1\"}"))->value, 4.25);
	CHECK_INT(feed(&s, "[rank1]: iter 3: loss 3.0, time 100.0ms"), 2);
	CHECK_DOUBLE(newest_of(&s, SPAN("train:loss{rank=\"1\"}"))->value, 3.0);
	CHECK_INT(newest_of(&s, SPAN("train:loss{rank=\"1\"}"))->step, 3);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

TEST(prefixes_are_no_text)
{
	static const char *const lines[] = {"[1,0]<stdout>:iter 3: loss 4.5, time 1.0ms",
		"[default7]:iter 3: loss 4.5, time 1.0ms", "[rank3]: iter 3: loss 4.5, time 1.0ms",
		"algo-1-xyzab  | iter 3: loss 4.5, time 1.0ms", "  0: iter 3: loss 4.5, time 1.0ms",
		"2025-01-02T03:04:05.123456789Z stdout F iter 3: loss 4.5, time 1.0ms",
		"[2025-01-02 03:04:05,123] iter 3: loss 4.5, time 1.0ms",
		"2025-01-02 03:04:05.123 [1,12]<stderr>:iter 3: loss 4.5, time 1.0ms"};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		AUTO_DONE(stream) s = preset_stream();
		if (feed(&s, lines[i]) != 2)
			test_fail(__FILE__, __LINE__, "'%s'", lines[i]);
		CHECK_DOUBLE(newest_of(&s, SPAN("train:loss"))->value, 4.5);
	}
}

TEST(a_restored_stream_goes_on_as_before)
{
	static const char *const lines[] = {
		"Epoch 1/3", "5/5 [====] - 1s - loss: 0.5", "Epoch 2/3", "5/5 [====] - 1s - loss: 0.25"};
	AUTO_DONE(stream) s = preset_stream();

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		AUTO_DONE(buf) state = BUF_INIT(1 << 20);
		feed(&s, lines[i]);
		extractor_pack(s.extractor, &state);
		extractor_free(s.extractor);
		struct unpacker in = unpacker_on(buf_span(&state));
		CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
		CHECK_OK(unpacker_end(&in, "state", &err));
	}
	CHECK_TEXT(preset_of(&s), "keras");
	CHECK_INT(s.points.count, 2);
	CHECK_INT(point_at(&s, 0)->step, 1);
	CHECK_INT(newest(&s)->step, 2);
}

TEST(chatter_chooses_no_preset)
{
	static const char *const lines[] = {"loss: mse", "loss_scale: 65536", "  --loss=cross_entropy",
		"10 packets, packet loss: 0%", "using loss function: 3 heads", "weight_loss: 3", "loss_fn=2",
		"val_loss: improved", "no loss", "Loss: 12%", "packet loss: 3 of 5", "[2025-01-02] lossless: 3",
		"downloading 5/10 [===>", "step 3 of the installation",
		"2020-01-28 08:57:34 Starting - Starting the training job..."};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		AUTO_DONE(stream) s = preset_stream();
		if (feed(&s, lines[i]) != 0 || extractor_preset(s.extractor) != -1)
			test_fail(__FILE__, __LINE__, "'%s' chose %s", lines[i], preset_of(&s));
	}
}

/* Real logs are not part of the sources: SM_CORPUS, or shared/logs beside the checkout. */
static struct stream over_log(struct stream stream, const char *name, bool *is_there)
{
	const char *folder = getenv("SM_CORPUS");
	char path[4096];
	size_t len = 0;

	snprintf(path, sizeof path, "%s/%s", folder ? folder : "../../../../shared/logs", name);
	AUTO_MEM char *text = read_whole(path, &len);
	*is_there = text != NULL;
	if (!text) {
		printf("skipped: %s is not there\n", path);
		return stream;
	}
	struct span rest = span_of(text, len), line;
	while (span_next(&rest, '\n', &line))
		feed_at(&stream, line, NO_TIME);
	return stream;
}

static void check_log(struct stream empty, const char *log, const char *metric, size_t count, size_t nan_count)
{
	bool is_there;
	AUTO_DONE(stream) s = over_log(empty, log, &is_there);
	size_t nans;

	if (!is_there)
		return;
	CHECK_INT(count_of(&s, metric, &nans), count);
	CHECK_INT(nans, nan_count);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

#define NUMBER "(?<value>[-+]?(?:\\\\d+\\\\.?\\\\d*(?:[eE][-+]?\\\\d+)?|(?i:nan|inf)))"

TEST(real_logs_by_definitions)
{
	check_log(stream_of("[{\"Name\":\"l\",\"Regex\":\"^iter (?<step>\\\\d+): loss " NUMBER "\"}]"),
		"nanogpt/termux_char_nan.log", "l", 91, 6);
	check_log(stream_of("[{\"Name\":\"l\",\"Regex\":\"^step (?<step>\\\\d+): train loss [^,]+, val loss " NUMBER
			    "\"}]"),
		"nanogpt/termux_char_nan.log", "l", 5, 0);
	check_log(
		stream_of(
			"[{\"Name\":\"t\",\"Regex\":\"iteration\\\\s+(?<step>\\\\d+)/.*?iteration \\\\(ms\\\\): " NUMBER
			"\"}]"),
		"megatron-lm/gpt2_n4.log", "t", 20, 0);
	check_log(stream_of("[{\"Name\":\"l\",\"Regex\":\"'loss': " NUMBER
			    "\",\"Step\":\"\\\\| (\\\\d+)/\\\\d+ \\\\[\"}]"),
		"hf-trainer-stdout/ppo_reward_240k.log", "l", 11, 0);
	check_log(stream_of("[{\"Name\":\"l\",\"Regex\":\"^\\\\s*\\\"loss\\\": " NUMBER "\"}]"),
		"hf-trainer-state/mistral_translator.log", "l", 866, 0);
	check_log(stream_of("[{\"Name\":\"l\",\"Regex\":\"^Epoch (?<step>\\\\d+) \\\\| Loss: " NUMBER "\"}]"),
		"sagemaker/karate_club_dgl.log", "l", 30, 0);
}

/* A client may say so many names that a stream has no room for another one; then another preset knows a line. */
TEST(many_names_do_not_shut_out_the_preset_that_knows_the_log)
{
	AUTO_DONE(stream) s = preset_stream();
	AUTO_DONE(buf) line = BUF_INIT(1 << 20);
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	feed(&s, "step 1 loss: 3.0");
	CHECK_TEXT(preset_of(&s), "generic");
	buf_append_text(&line, "step 2");
	for (int i = 0; i < 5000; i++)
		buf_printf(&line, " quux%d=1.5", i);
	feed_at(&s, buf_span(&line), NO_TIME);
	CHECK_INT(feed(&s, "0:\tlearn: 210.7406779\ttest: 210.5\ttotal: 1m 5.42s\tremaining: 8m 56s"), 3);
	CHECK_TEXT(preset_of(&s), "catboost");

	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	s.extractor = NULL;
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	CHECK_INT(feed(&s, "1:\tlearn: 209.7406779\ttest: 209.5\ttotal: 1m 6.42s\tremaining: 8m 55s"), 3);
}

static struct definition_health health_of(struct stream *stream, size_t definition)
{
	return extractor_health(stream->extractor, definition);
}

/* The names come in matches of their own, without a value; what is behind the limit of a line is lost, and said. */
TEST(the_health_of_values_under_names_counts_their_lines_and_those_cut_short)
{
	AUTO_DONE(stream) s = preset_stream();
	const char *text = "{\"lm loss\": {\"start_step\": 1, \"values\": {\"1\": 12.98419, \"5\": 12.5}}}";

	CHECK_INT(feed(&s, text), 2);
	CHECK_INT(health_of(&s, 0).tried, 1);
	CHECK_INT(health_of(&s, 0).matched, 1);
	CHECK_INT(health_of(&s, 0).limited, 0);

	struct extract_line line = {.text = span_from(text), .ts_ms = NO_TIME, .number = s.lines++, .is_cut = true};
	CHECK_OK(extract_line(s.extractor, s.set, s.scratch, &line, s.now_ms, &s.points, &err));
	CHECK_INT(health_of(&s, 0).matched, 2);
	CHECK_INT(health_of(&s, 0).limited, 1);
}

/* all_reduce_perf twice, by sizes: these are no steps of a training, and the second run begins no attempt. */
TEST(a_benchmark_has_no_step)
{
	static const char *const runs[] = {
		"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
		"     1048576        262144     float     sum      -1     81.9   12.80   24.00      0     81.9   12.80   24.00      0",
		"  8589934592    2147483648     float     sum      -1  67108.9  128.00  240.00      0  67108.9  128.00  240.00      0",
		"# Avg bus bandwidth    : 132.000 ",
	};
	AUTO_DONE(stream) s = preset_stream();

	for (int i = 0; i < 8; i++)
		feed(&s, runs[i % 4]);
	CHECK_TEXT(preset_of(&s), "nccl-tests");
	CHECK_INT(extractor_last_step(s.extractor), -1);
	CHECK_INT(extractor_has_steps(s.extractor), false);
	CHECK(extractor_attempt(s.extractor) <= 1);
	CHECK_INT(newest_of(&s, SPAN("bench:busbw"))->step, INT64_C(8589934592));
	CHECK_INT(newest_of(&s, SPAN("bench:avg_busbw"))->step, 1); /* of the second run */
	size_t nan_count;
	CHECK_INT(count_of(&s, "bench:busbw", &nan_count), 4);
}

static void print_loss(struct stream *s, const char *rank, int n)
{
	char line[128];

	snprintf(line, sizeof line, "%s{'loss': %d.5, 'grad_norm': %d.25, 'learning_rate': 1e-05, 'epoch': 0.%d}", rank,
		n, n, n);
	feed(s, line);
}

/* Of transformers with disable_tqdm no line says a step: an evaluation and the summary belong where the training is, not at the beginning. */
TEST(what_comes_seldom_stands_where_the_loss_is_counted)
{
	AUTO_DONE(stream) s = preset_stream();

	for (int n = 0; n < 10; n++) {
		print_loss(&s, "", n);
		if (n % 5 == 4)
			feed(&s,
				"{'eval_loss': '1.25', 'eval_runtime': '3.5', 'eval_samples_per_second': '12.5', 'epoch': '0.5'}");
		CHECK_INT(newest_of(&s, SPAN("train:loss"))->step, n);
		CHECK_INT(newest_of(&s, SPAN("train:lr"))->step, n);
		if (n == 4)
			CHECK_INT(newest_of(&s, SPAN("val:loss"))->step, 4);
	}
	CHECK_INT(newest_of(&s, SPAN("val:loss"))->step, 9);
	CHECK_INT(newest_of(&s, SPAN("eval_runtime"))->step, 9);
	feed(&s,
		"{'train_runtime': 12.5, 'train_samples_per_second': 40.0, 'train_steps_per_second': 10.0, 'train_loss': 2.25, 'epoch': 1.0}");
	CHECK_INT(newest_of(&s, SPAN("train:samples_per_second"))->step, 9);
	CHECK_INT(newest_of(&s, SPAN("train_loss"))->step, 9);
	CHECK_INT(extractor_has_steps(s.extractor), false);
}

/* Each rank is where its own loss is, and a rank that is behind leaves nothing out. */
TEST(ranks_are_counted_apart)
{
	AUTO_DONE(stream) s = preset_stream();

	for (int n = 0; n < 8; n++)
		print_loss(&s, "[rank0]: ", n);
	for (int n = 0; n < 3; n++)
		print_loss(&s, "[rank1]: ", n + 8);
	CHECK_INT(newest_of(&s, SPAN("train:loss"))->step, 7);
	CHECK_INT(newest_of(&s, SPAN("train:loss{rank=\"1\"}"))->step, 2);
	CHECK_INT(newest_of(&s, SPAN("train:grad_norm{rank=\"1\"}"))->step, 2);
}

/* In front of a training: its steps are the training's. */
TEST(a_benchmark_before_a_training_says_nothing_of_its_steps)
{
	AUTO_DONE(stream) s = preset_stream();

	feed(&s,
		"  8589934592    2147483648     float     sum      -1  67108.9  128.00  240.00      0  67108.9  128.00  240.00      0");
	feed(&s, "# Avg bus bandwidth    : 132.000 ");
	for (int i = 0; i < 8; i++) {
		char line[64];
		snprintf(line, sizeof line, "iter %d: loss 2.5, time 350.12ms, mfu 12.50%%", 10 * i);
		feed(&s, line);
	}
	CHECK_INT(extractor_last_step(s.extractor), 70);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

TEST(a_line_of_more_matches_than_are_read_is_counted)
{
	AUTO_DONE(stream) s = stream_of("[{\"Name\":\"l\",\"Regex\":\"(?<step>\\\\d+):(?<value>\\\\d+)\"}]");
	AUTO_DONE(buf) line = BUF_INIT(4 << 20);

	for (int i = 0; i < 65536; i++)
		buf_printf(&line, "%d:1 ", i);
	CHECK_INT(feed_at(&s, buf_span(&line), NO_TIME), 65536);
	CHECK_INT(health_of(&s, 0).limited, 0);
	buf_append_text(&line, "65536:1 ");
	CHECK_INT(feed_at(&s, buf_span(&line), NO_TIME), 65536);
	CHECK_INT(health_of(&s, 0).limited, 1);
	CHECK_INT(health_of(&s, 0).matched, 2);
}
