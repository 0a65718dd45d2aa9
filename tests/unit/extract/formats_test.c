/* Several formats in one stream: stray lines, trainers side by side, and one after the other. */
#include "helper.h"

static struct stream auto_stream(void)
{
	return stream_by_presets(NULL);
}

/* What a trainer prints at a step: one line, or several with '\n' between. */
struct trainer {
	const char *preset;
	void (*say)(int step, char *out, size_t size);
};

static double loss_at(int step)
{
	return 2 + 1.0 / (1 + step);
}

static void say_nanogpt(int step, char *out, size_t size)
{
	snprintf(out, size, "iter %d: loss %.4f, time %d.25ms, mfu 41.%02d%%", step, loss_at(step), 200 + step % 9,
		step % 90);
}

static void say_megatron(int step, char *out, size_t size)
{
	snprintf(out, size,
		" iteration %8d/    5000 | consumed samples: %12d | elapsed time per iteration (ms): 13%02d.1 | learning rate: "
		"1.500E-04 | global batch size:     4 | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.%03d | number of skipped "
		"iterations:   0 | number of nan iterations:   0 |",
		step, step * 4, step % 60, loss_at(step), 300 + step % 50);
}

static void say_hf(int step, char *out, size_t size)
{
	snprintf(out, size,
		" %2d%%|###       | %d/100000 [00:10<10:00,  4.04it/s]\n{'loss': %.4f, 'grad_norm': 0.%03d, 'learning_rate': 5e-05, "
		"'epoch': %.2f}",
		step / 1000, step, loss_at(step), 300 + step % 50, step / 1000.0);
}

static void say_torchtitan(int step, char *out, size_t size)
{
	snprintf(out, size,
		"[rank0]:[titan] 2025-03-04 05:06:07,089 - root - INFO - step: %2d  loss: %8.5f  grad_norm:  0.%04d  memory: "
		"48.87GiB(51.44%%)  tps: 4,%03d  tflops: 253.41  mfu: 25.%02d%%",
		step, loss_at(step), 3000 + step % 50, step % 999, step % 90);
}

static void say_generic(int step, char *out, size_t size)
{
	snprintf(out, size, "step %d: loss: %.4f, lr: 1e-4, grad_norm: 0.%03d", step, loss_at(step), 300 + step % 50);
}

static void say_plain(int step, char *out, size_t size)
{
	snprintf(out, size, "step %d loss %.4f", step, loss_at(step));
}

static const struct trainer trainers[] = {{"nanogpt", say_nanogpt}, {"megatron-lm", say_megatron},
	{"hf-trainer", say_hf}, {"torchtitan", say_torchtitan}, {"generic", say_generic}, {NULL, say_plain}};

enum {
	TRAINERS = sizeof trainers / sizeof trainers[0],
	SERIES_MAX = 4096,
	STEPS = 400, /* the stray line comes before the 300th */
};

static void feed_text(struct stream *s, const char *text)
{
	struct span rest = span_from(text), line;

	while (rest.len && span_next(&rest, '\n', &line))
		feed_at(s, line, NO_TIME);
}

static void feed_step(struct stream *s, const struct trainer *trainer, int step)
{
	char text[1024];

	trainer->say(step, text, sizeof text);
	feed_text(s, text);
}

static void name_of(struct stream *s, uint32_t series, struct buf *out)
{
	buf_reset(out);
	extractor_series_name(s->extractor, s->set, series, out);
}

static const char *preset_of(struct stream *s)
{
	const char *name = definition_set_preset_name(s->set, extractor_preset(s->extractor));

	return name ? name : "none";
}

/* The points of one series, in their order. A name is asked for once a series: there are a hundred points of each, and more. */
static size_t points_named(struct stream *s, struct span name, const struct point **out, size_t cap)
{
	static bool is_known[SERIES_MAX], is_of[SERIES_MAX];
	AUTO_DONE(buf) of = BUF_INIT(1024);
	size_t count = 0;

	memset(is_known, 0, sizeof is_known);
	for (size_t i = 0; i < s->points.count && count < cap; i++) {
		uint32_t series = s->points.items[i].series;
		CHECK(series < SERIES_MAX);
		if (!is_known[series]) {
			name_of(s, series, &of);
			is_of[series] = span_equal(buf_span(&of), name);
			is_known[series] = true;
		}
		if (is_of[series])
			out[count++] = &s->points.items[i].point;
	}
	return count;
}

static size_t count_named(struct stream *s, const char *name)
{
	static const struct point *points[20000];

	return points_named(s, span_from(name), points, 20000);
}

static bool is_same_point(const struct point *a, const struct point *b)
{
	return a->step == b->step && a->attempt == b->attempt && a->in_epoch == b->in_epoch &&
	       memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

/* Each series of `whole` is in `other`, point for point. */
static int missing_series(struct stream *whole, struct stream *other, const char *what)
{
	static const struct point *wanted[20000], *got[20000];
	AUTO_DONE(buf) name = BUF_INIT(1024);
	int wrong = 0;

	for (uint32_t series = 0; series < 200; series++) {
		name_of(whole, series, &name);
		size_t count = points_named(whole, buf_span(&name), wanted, 20000), same = 0;
		size_t found = count ? points_named(other, buf_span(&name), got, 20000) : 0;
		while (same < count && same < found && is_same_point(wanted[same], got[same]))
			same++;
		if (same == count && found == count)
			continue;
		wrong++;
		printf("%s: %.*s has %zu points, not %zu, the first %zu are the same\n", what,
			SPAN_ARGS(buf_span(&name)), found, count, same);
	}
	return wrong;
}

/* Of other frameworks, and of none. */
static const char *const strays[] = {
	"[2023-04-01 12:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=300, skipped=0, lr=[9.6e-06, 9.6e-06], "
	"mom=[(0.9, 0.95), (0.9, 0.95)]",
	":::MLLOG {\"namespace\": \"\", \"time_ms\": 1560000000000, \"event_type\": \"POINT_IN_TIME\", \"key\": "
	"\"eval_accuracy\", \"value\": 0.25, \"metadata\": {\"file\": \"train.py\", \"lineno\": 3, \"epoch_num\": 4}}",
	":::MLLOG {\"namespace\": \"\", \"time_ms\": 1560000000000, \"event_type\": \"POINT_IN_TIME\", \"key\": \"train_loss\", "
	"\"value\": 3.5, \"metadata\": {\"file\": \"train.py\", \"lineno\": 3, \"samples_count\": 64}}",
	"{'eval_loss': 1.25, 'eval_runtime': 3.5, 'eval_samples_per_second': 12.5, 'epoch': 1.0}",
	"{'loss': 9.25, 'grad_norm': 3.5, 'learning_rate': 0.5, 'epoch': 1.0}",
	" validation loss at iteration 100 | lm loss value: 8.017406E+00 | lm loss PPL: 3.033300E+03 |",
	" iteration       30/    1000 | consumed samples:          120 | elapsed time per iteration (ms): 1376.1 | learning "
	"rate: 1.500E-04 | global batch size:     4 | lm loss: 2.247505E+01 | loss scale: 16384.0 | grad norm: 16.999 |",
	"epoch,step,train_loss,val_loss",
	"algo-1:52:71 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
	"NCCL version 2.18.1+cuda12.1",
	"100%|##########| 500000/500000 [00:30<00:00, 12.5it/s]",
	"  3%|3         | 30/1000 [00:30<12:00,  1.5it/s]",
	"Validation: 100%|##########| 50/50 [00:30<00:00,  1.5it/s]",
	" 32/782 [>.............................] - ETA: 1:02 - loss: 2.3456 - accuracy: 0.1250",
	"782/782 [==============================] - 3s 4ms/step - loss: 2.3456 - accuracy: 0.1250",
	"Epoch 3:  10%|#         | 10/100 [00:10<01:30,  1.00it/s, v_num=0, train_loss=9.500]",
	"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
	"# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validate: 1",
	"     1048576        262144     float     sum      -1    52.31   20.05   37.59      0    51.96   20.18   37.84      0",
	"iter 7: loss 9.5000, time 10.25ms, mfu 1.00%",
	"step:7/20000 train_loss:9.5000 train_time:12ms step_avg:12.00ms",
	"Epoch: [3][120/5005]\tTime  0.500 ( 0.600)\tData  0.001 ( 0.002)\tLoss 6.9000e+00 (6.9500e+00)\tAcc@1   0.39 (  0.25)",
	"DLL 2020-01-01 00:00:00.000000 - (0, 10) train_loss : 9.5 ",
	"[7]#011train-rmse:9.5",
	"step 7: train loss 9.5000, val loss 9.6000",
};

static struct stream undisturbed(const struct trainer *trainer)
{
	struct stream whole = auto_stream();

	for (int step = 1; step <= STEPS; step++)
		feed_step(&whole, trainer, step);
	CHECK(whole.points.count >= STEPS);
	return whole;
}

/* How much of what the trainer alone gives is wrong with the stray line in it. */
static int disturb(const struct trainer *trainer, struct stream *whole, const char *stray)
{
	AUTO_DONE(stream) other = auto_stream();
	char what[400];

	for (int step = 1; step <= STEPS; step++) {
		if (step == 300)
			feed_text(&other, stray);
		feed_step(&other, trainer, step);
	}
	snprintf(what, sizeof what, "%s, '%.50s'", trainer->preset ? trainer->preset : "step loss", stray);
	int wrong = missing_series(whole, &other, what);
	wrong += strcmp(preset_of(whole), preset_of(&other)) != 0;
	wrong += extractor_attempt(other.extractor) != 1;
	return wrong;
}

/* Is it no stray there, but the format's own, or its near relative's? */
static bool is_own(const struct trainer *trainer, const char *stray)
{
	return (trainer->say == say_megatron && (strstr(stray, "lm loss:") || strstr(stray, "log_dist"))) ||
	       (trainer->say == say_hf && strstr(stray, "'loss'")) ||
	       (trainer->say == say_nanogpt && strstr(stray, "iter 7"));
}

TEST(a_stray_line_of_another_framework_disturbs_nothing)
{
	size_t pairs = 0;
	int wrong = 0, count = 0;

	for (size_t i = 0; i < TRAINERS; i++) {
		AUTO_DONE(stream) whole = undisturbed(&trainers[i]);
		for (size_t j = 0; j < sizeof strays / sizeof strays[0]; j++)
			if (!is_own(&trainers[i], strays[j]) && test_has_time_for(pairs++, 3)) {
				wrong += disturb(&trainers[i], &whole, strays[j]) != 0;
				count++;
			}
	}
	printf("%d of %zu, %d right\n", count, pairs, count - wrong);
	CHECK(count > 0);
	CHECK_INT(wrong, 0);
}

/* Is the preset the trainer's own, or one that reads any line? What it says is no stray. */
static bool is_of(const struct trainer *trainer, const struct json *preset)
{
	struct span name = json_string_of(json_get(preset, "name"));
	bool is_deepspeed = span_equal(name, SPAN("deepspeed")), is_timm = span_equal(name, SPAN("timm"));

	for (const struct json *other = json_first(json_get(preset, "include")); other; other = json_next(other))
		if (trainer->preset && span_equal(json_string_of(other), span_from(trainer->preset)))
			return true; /* a dialect of it */
	if (json_is_true(json_get(preset, "generic")))
		return trainer->say == say_generic || trainer->say == say_plain || trainer->say == say_hf;
	return (trainer->preset && span_equal(name, span_from(trainer->preset))) ||
	       (is_deepspeed && trainer->say == say_megatron) || /* included */
	       (is_timm && trainer->say == say_generic); /* its tests are known by no preset before they are done */
}

/* All examples of a preset one behind the other, as stray records. */
static bool disturb_by_examples(const struct trainer *trainer, struct stream *whole, const struct json *preset)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 18);

	for (const struct json *example = json_first(json_get(preset, "examples")); example;
		example = json_next(example))
		for (const struct json *line = json_first(json_get(example, "lines")); line; line = json_next(line)) {
			buf_append_span(&text, json_string_of(line));
			buf_append_char(&text, '\n');
		}
	buf_append_char(&text, 0);
	return disturb(trainer, whole, text.ptr) != 0;
}

TEST(the_examples_of_all_presets_disturb_no_trainer)
{
	AUTO(json) document = NULL;
	size_t len = 0, pairs = 0;
	int wrong = 0, count = 0;
	AUTO_MEM char *text = read_whole("../../../server/data/presets.json", &len);

	CHECK_OK(json_parse(&document, span_of(text, len), &err));
	for (size_t i = 0; i < TRAINERS; i++) {
		AUTO_DONE(stream) whole = undisturbed(&trainers[i]);
		for (const struct json *preset = json_first(json_get(document, "presets")); preset;
			preset = json_next(preset))
			if (!is_of(&trainers[i], preset) && test_has_time_for(pairs++, 7)) {
				wrong += disturb_by_examples(&trainers[i], &whole, preset);
				count++;
			}
	}
	printf("%d of %zu, %d right\n", count, pairs, count - wrong);
	CHECK(count > 0);
	CHECK_INT(wrong, 0);
}

/* The values of each are its own; the second one's series are labelled where the names are the same. */
static int check_pair(const struct trainer *a, const struct trainer *b)
{
	AUTO_DONE(stream) s = auto_stream();
	char second[100];

	for (int step = 1; step <= 500; step++) {
		feed_step(&s, a, step);
		feed_step(&s, b, 2 * step);
	}
	snprintf(second, sizeof second, "train:loss{preset=\"%s\"}", b->preset);
	size_t plain = count_named(&s, "train:loss"), labelled = count_named(&s, second);
	if (plain == 500 && labelled == 500 && extractor_attempt(s.extractor) == 1)
		return 0;
	printf("%s and %s: %zu and %zu points, attempt %u\n", a->preset, b->preset, plain, labelled,
		extractor_attempt(s.extractor));
	return 1;
}

TEST(two_frameworks_in_one_stream_give_all_of_their_curves)
{
	int wrong = 0;

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++)
			wrong += i != j && check_pair(&trainers[i], &trainers[j]);
	CHECK_INT(wrong, 0);
}

/* Another trainer goes on with the curve: its start-up line stands between. */
/* Sixteen ranks write the bar of their four steps one after the other, behind lines that no preset knows. */
TEST(bars_of_many_ranks_are_one_attempt_behind_lines_of_any_kind)
{
	AUTO_DONE(stream) stream = auto_stream();
	char text[512];

	for (int i = 0; i < 30; i++) {
		snprintf(text, sizeof text, "throughput: 35%02d tokens/s", i);
		feed(&stream, text);
	}
	for (int rank = 0; rank < 16; rank++) {
		snprintf(text, sizeof text,
			"  0%%|          | 0/4 [00:00<?, ?it/s]\r 25%%|##5       | 1/4 [03:45<11:15, 225.%02ds/it]"
			"\r 50%%|#####     | 2/4 [07:15<07:21, 220.%02ds/it]\r 75%%|#######5  | 3/4 [10:51<03:39, 219.%02ds/it]"
			"\r100%%|##########| 4/4 [14:31<00:00, 218.%02ds/it]",
			rank, rank, rank, rank);
		feed(&stream, text);
		feed(&stream, "Training completed. Do not forget to share your model on huggingface.co/models =)");
	}
	CHECK_INT(extractor_attempt(stream.extractor), 1);
}

TEST(a_stream_may_change_its_format)
{
	AUTO_DONE(stream) s = auto_stream();

	for (int step = 1; step <= 5000; step++)
		feed_step(&s, &trainers[0], step);
	CHECK_TEXT(preset_of(&s), "nanogpt");
	feed_text(&s, "loading checkpoint from /ckpt/4000");
	for (int step = 4001; step <= 9000; step++)
		feed_step(&s, &trainers[1], step);
	CHECK_INT(count_named(&s, "train:loss"), 10000);
	CHECK_INT(newest(&s)->attempt, 2);
	CHECK_TEXT(preset_of(&s), "megatron-lm");
	CHECK_INT(extractor_last_step(s.extractor), 9000);
}

/* ---- presets of the test's own ---- */

static struct stream stream_of_presets(const char *text)
{
	struct definition_set *presets = NULL, *set = NULL;

	CHECK_OK(definition_presets_new(&presets, span_from(text), &err));
	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	struct stream stream = stream_on(set);
	stream.presets = presets;
	return stream;
}

#define GENERIC                                                                                                        \
	"{\"name\":\"any\",\"generic\":true,\"detect\":\"loss\",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":"  \
	"\"loss[:=] ?(?<value>{N})\",\"Step\":\"step (?<step>\\\\d+)\"}]}"

TEST(a_preset_that_knows_lines_and_captures_nothing_keeps_nobody_out)
{
	AUTO_DONE(stream)
	s = stream_of_presets("{\"presets\":[{\"name\":\"void\",\"detect\":\"^step\",\"definitions\":[{\"Name\":\"x\","
			      "\"Regex\":\"none (?<value>{N})\"}]}," GENERIC "]}");
	char text[100];

	for (int step = 1; step <= 100; step++) {
		snprintf(text, sizeof text, "step %d loss: %d.5", step, step);
		CHECK_INT(feed(&s, text), 1);
	}
	CHECK_TEXT(preset_of(&s), "any");
	CHECK_INT(extractor_format_count(s.extractor), 1);
}

/* It takes a value now and then; what it knows and does not read is the other's. */
TEST(a_preset_that_captures_little_keeps_nobody_out)
{
	AUTO_DONE(stream)
	s = stream_of_presets("{\"presets\":[{\"name\":\"little\",\"detect\":\"^step\",\"definitions\":[{\"Name\":"
			      "\"x\",\"Regex\":\"odd (?<value>{N})\"}]}," GENERIC "]}");
	char text[100];
	size_t losses = 0;

	for (int step = 1; step <= 1000; step++) {
		snprintf(text, sizeof text, step == 100 ? "step %d odd %d.5" : "step %d loss: %d.5", step, step);
		feed(&s, text);
	}
	losses = count_named(&s, "train:loss");
	CHECK_INT(losses, 999);
	CHECK_INT(count_named(&s, "x"), 1);
	CHECK_TEXT(preset_of(&s), "any");
}

#define RELATIVES                                                                                                           \
	"{\"presets\":[{\"name\":\"few\",\"detect\":\"^it\",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":"           \
	"\"it (?<step>\\\\d+) l (?<value>{N})\"},{\"Name\":\"x\",\"Regex\":\"x (?<value>{N})\"},{\"Name\":\"y\",\"Regex\":" \
	"\"y (?<value>{N})\"}]},{\"name\":\"many\",\"detect\":\"^it\",\"definitions\":[{\"Name\":\"train:loss\",\"Regex\":" \
	"\"it (?<step>\\\\d+) l (?<value>{N}) lr\"},{\"Name\":\"lr\",\"Regex\":\"lr (?<value>{N})\"}]}]}"

static void feed_relative(struct stream *s, int first, int last, const char *rest)
{
	char text[100];

	for (int step = first; step <= last; step++) {
		snprintf(text, sizeof text, "it %d l %d.5%s", step, step, rest);
		feed(s, text);
	}
}

/* Eight lines on which it captures more; then the first captures more again, on 8 + 4 * 28 lines after 28 where it captured fewer. */
TEST(a_near_relative_takes_lines_over_and_loses_them_again)
{
	AUTO_DONE(stream) s = stream_of_presets(RELATIVES);

	feed_relative(&s, 1, 4, "");
	CHECK_TEXT(preset_of(&s), "few");
	feed_relative(&s, 5, 12, " lr 1");
	CHECK_INT(count_named(&s, "lr"), 0);
	feed_relative(&s, 13, 40, " lr 1");
	CHECK_INT(count_named(&s, "lr"), 28);
	CHECK_INT(count_named(&s, "train:loss"), 40); /* one curve */
	CHECK_TEXT(preset_of(&s), "many");
	feed_relative(&s, 41, 160, " lr 1 x 1 y 1");
	CHECK_INT(count_named(&s, "x"), 0);
	feed_relative(&s, 161, 162, " lr 1 x 1 y 1");
	CHECK_INT(count_named(&s, "x"), 2);
	CHECK_INT(extractor_attempt(s.extractor), 1);
}

/* "p0", "p1", …: "p3 step 7 v 1.5" gives m3. */
static struct stream stream_of_many(int presets)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 16);

	buf_append_text(&text, "{\"presets\":[");
	for (int i = 0; i < presets; i++)
		buf_printf(&text,
			"{\"name\":\"p%d\",\"detect\":\"^p%d \",\"definitions\":[{\"Name\":\"m%d\",\"Regex\":\"^p%d step "
			"(?<step>\\\\d+) v (?<value>{N})\"}]},",
			i, i, i, i);
	buf_append_text(&text, GENERIC "]}");
	buf_append_char(&text, 0);
	return stream_of_presets(text.ptr);
}

static size_t feed_many(struct stream *s, int preset, int count)
{
	char text[100];
	size_t points = 0;

	for (int step = 1; step <= count; step++) {
		snprintf(text, sizeof text, "p%d step %d v 1.5", preset, step);
		points += feed(s, text);
	}
	return points;
}

TEST(a_stream_speaks_six_formats_at_most)
{
	AUTO_DONE(stream) s = stream_of_many(8);

	for (int i = 0; i < 6; i++)
		CHECK_INT(feed_many(&s, i, 8), 8);
	CHECK_INT(extractor_format_count(s.extractor), 6);
	CHECK_INT(feed_many(&s, 6, 20), 0);
	CHECK_INT(feed_many(&s, 5, 20), 20); /* the six go on */
	CHECK_INT(feed(&s, "step 1 loss: 2"), 1); /* and there is a place for the general reading */
	CHECK_INT(extractor_format_count(s.extractor), 7);
}

TEST(a_format_of_few_lines_makes_room)
{
	AUTO_DONE(stream) s = stream_of_many(8);

	for (int i = 0; i < 6; i++)
		CHECK_INT(feed_many(&s, i, i == 2 ? 7 : 8), i == 2 ? 7 : 8);
	CHECK_INT(feed_many(&s, 6, 20), 20);
	CHECK_INT(extractor_format_count(s.extractor), 6);
	CHECK_INT(feed_many(&s, 2, 20), 0); /* all are firm now */
}

/* It comes back to the series that it had. */
TEST(a_format_that_made_room_finds_its_series_again)
{
	AUTO_DONE(stream) s = stream_of_many(8);

	for (int i = 0; i < 5; i++)
		feed_many(&s, i, 8);
	feed_many(&s, 5, 1);
	uint32_t series = s.points.items[s.points.count - 1].series;
	for (int i = 0; i < 100; i++) {
		CHECK_INT(feed_many(&s, 6, 1), 1);
		CHECK_INT(feed_many(&s, 5, 1), 1);
	}
	CHECK_INT(s.points.items[s.points.count - 1].series, series);
}

#define TABLE                                                                                                          \
	"{\"presets\":[{\"name\":\"table\",\"detect\":\"^step,\",\"definitions\":[{\"Name\":\"v\",\"Regex\":"          \
	"\"^(?<step>\\\\d+),(?<value>{N})$\"}]}]}"

static void feed_chatter(struct stream *s, int lines)
{
	for (int i = 0; i < lines; i++)
		feed(s, "nothing");
}

/* Its head came so many lines before its first row. */
TEST(a_head_is_remembered_for_ten_thousand_lines)
{
	AUTO_DONE(stream) s = stream_of_presets(TABLE);
	AUTO_DONE(stream) late = stream_of_presets(TABLE);

	CHECK_INT(feed(&s, "1,2.5"), 0);
	feed(&s, "step,v");
	feed_chatter(&s, 9999);
	CHECK_INT(feed(&s, "1,2.5"), 1);
	feed_chatter(&s, 20000);
	CHECK_INT(feed(&s, "2,2.5"), 1); /* now it is one of the stream's */
	feed(&late, "step,v");
	feed_chatter(&late, 10000);
	CHECK_INT(feed(&late, "1,2.5"), 0);
}

/* ---- alike, however it came to this ---- */

static void restart(struct stream *s)
{
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	extractor_pack(s->extractor, &state);
	extractor_free(s->extractor);
	s->extractor = NULL;
	struct unpacker in = unpacker_on(buf_span(&state));
	CHECK_OK(extractor_unpack(&s->extractor, &in, &err));
	CHECK_OK(unpacker_end(&in, "state", &err));
}

TEST(several_formats_go_on_after_a_restart_as_without_it)
{
	AUTO_DONE(stream) whole = auto_stream();
	AUTO_DONE(stream) cut = auto_stream();
	AUTO_DONE(buf) a = BUF_INIT(1 << 20);
	AUTO_DONE(buf) b = BUF_INIT(1 << 20);

	for (int i = 0; i < 600; i++) {
		const struct trainer *trainer = &trainers[i * 7 % 5 * (i % 3) % TRAINERS];
		const char *stray = strays[i * 31 % (int)(sizeof strays / sizeof strays[0])];
		feed_step(&whole, trainer, i);
		feed_step(&cut, trainer, i);
		if (i % 2) {
			feed_text(&whole, stray);
			feed_text(&cut, stray);
		}
		if (i % 5 == 0)
			restart(&cut);
	}
	CHECK(extractor_format_count(whole.extractor) > 3);
	CHECK_INT(cut.points.count, whole.points.count);
	CHECK_INT(missing_series(&whole, &cut, "restarted"), 0);
	extractor_pack(whole.extractor, &a);
	extractor_pack(cut.extractor, &b);
	CHECK(span_equal(buf_span(&b), buf_span(&a)));
}

TEST(what_a_line_said_of_the_number_of_steps_is_known_after_a_restart)
{
	AUTO_DONE(stream) s = auto_stream();

	for (int step = 1; step < 20; step++) {
		char text[80];
		snprintf(text, sizeof text, "step %d/400 loss: 2.%d", step, 50 - step);
		feed(&s, text);
	}
	CHECK_INT(extractor_total(s.extractor), 400);
	restart(&s);
	CHECK_INT(extractor_total(s.extractor), 400);
}

/* The step that stands on the line is found by the rules of the preset that knows it, whoever else has been heard. */
TEST(stray_lines_do_not_change_where_the_steps_of_definitions_stand)
{
	struct definition_set *set = NULL;
	const struct definition_set *presets = shipped_presets();
	AUTO(json) document = NULL;
	int wrong = 0;

	CHECK_OK(json_parse(&document, SPAN("[{\"Name\":\"l\",\"Regex\":\"^iter.*loss ([0-9.]+),\"}]"), &err));
	for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
		CHECK_OK(definition_set_new(&set, document, presets, &err));
		AUTO_DONE(stream) s = stream_on(set);
		if (is_own(&trainers[0], strays[i]))
			continue;
		for (int step = 1; step <= 600; step++) {
			feed_step(&s, &trainers[0], step);
			if (step == 300 || step == 1)
				feed_text(&s, strays[i]);
		}
		for (size_t j = 0; j < s.points.count; j++)
			wrong += s.points.items[j].point.step != (int64_t)j + 1;
		wrong += s.points.count != 600;
	}
	CHECK_INT(wrong, 0);
}
