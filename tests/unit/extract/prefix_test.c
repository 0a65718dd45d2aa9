/* Each preset under what launchers, collectors and loggers put in front of a line: the same points must come out. */
#include "helper.h"

#include "extract/line/prefix.h"
#include "extract/line/unwrap.h"

enum { NAME_BYTES = 256, LINE_BYTES = 1 << 16 };

struct style {
	const char *name;
	const char *before;
	const char *after;
	enum { AS_IS, JSON, JSON_ASCII, JSON_TWICE } escape; /* of the line between them */
	bool is_bare_rank; /* "3: " before a digit may be a row of numbers */
};

static const struct style styles[] = {
	{"none", "", "", AS_IS, false},
	/* launchers */
	{"mpirun", "[1,3]<stdout>:", "", AS_IS, false},
	{"mpirun of Open MPI 5", "[prterun-gpu01-4242@1,3]<stdout>: ", "", AS_IS, false},
	{"torchrun tee", "[default3]:", "", AS_IS, false},
	{"torchrun tee, a role", "[trainer3]:", "", AS_IS, false},
	{"torch ranks", "[rank3]:", "", AS_IS, false},
	{"srun --label", "3: ", "", AS_IS, true},
	{"srun --label of many", "  3: ", "", AS_IS, true},
	{"Ray", "(TaskRunner pid=8703112, ip=10.0.0.1) ", "", AS_IS, false},
	{"Ray in colour", "\x1b[36m(main_task pid=52)\x1b[0m ", "", AS_IS, false},
	{"SageMaker local mode", "algo-1-xyzab  | ", "", AS_IS, false},
	{"pdsh", "gpu-node-01: ", "", AS_IS, false},
	{"pdsh, full names", "gpu01.cluster.local: ", "", AS_IS, false},
	{"Fabric", "[gpu01] out: ", "", AS_IS, false},
	{"ansible's log", "2024-06-25 12:34:56,789 p=12345 u=root n=ansible | ", "", AS_IS, false},
	{"ansible's debug", "ok: [gpu01] => {\"msg\": \"", "\"}", JSON_ASCII, false},
	/* collectors */
	{"kubectl --prefix", "[pod/train-worker-0/pytorch] ", "", AS_IS, false},
	{"stern", "train-worker-0 pytorch ", "", AS_IS, false},
	{"stern in colour", "\x1b[91mtrain-7d9f8b6c5-x2x9p\x1b[0m \x1b[91mpytorch\x1b[0m ", "", AS_IS, false},
	{"stern --all-namespaces", "ml train-worker-0 pytorch ", "", AS_IS, false},
	{"stern --output json", "{\"message\":\"",
		"\",\"nodeName\":\"gpu01\",\"namespace\":\"ml\",\"podName\":\"train-worker-0\",\"containerName\":\"pytorch\"}",
		JSON, false},
	{"compose v1", "trainer_1  | ", "", AS_IS, false},
	{"compose v2", "trainer-1  | ", "", AS_IS, false},
	{"compose v2, longer names beside", "trainer-1          | ", "", AS_IS, false},
	{"compose, a container's name", "trainer  | ", "", AS_IS, false},
	{"compose --timestamps", "trainer-1  | 2024-06-25T12:34:56.123456789Z ", "", AS_IS, false},
	{"CRI", "2025-01-02T03:04:05.123456789Z stdout F ", "", AS_IS, false},
	{"Kubernetes' times", "2025-01-02T03:04:05.123456789Z ", "", AS_IS, false},
	{"docker's json-file", "{\"log\":\"",
		"\\n\",\"stream\":\"stdout\",\"time\":\"2024-06-25T12:34:56.123456789Z\"}", JSON, false},
	{"docker's json-file with attributes", "{\"log\":\"",
		"\\n\",\"stream\":\"stderr\",\"attrs\":{\"tag\":\"train\"},\"time\":\"2024-06-25T12:34:56.123456789Z\"}",
		JSON_ASCII, false},
	{"journald short", "Jun 25 12:34:56 gpu-node-01 python[12345]: ", "", AS_IS, false},
	{"journald short, one digit", "Jun  5 02:34:56 gpu01 train.sh[12345]: ", "", AS_IS, false},
	{"journald short-iso", "2024-06-25T12:34:56+0000 gpu-node-01 python[12345]: ", "", AS_IS, false},
	{"journald short-iso of newer systemd", "2024-06-25T12:34:56+02:00 gpu01 python[12345]: ", "", AS_IS, false},
	{"journald short-precise", "Jun 25 12:34:56.123456 gpu01 python3[12345]: ", "", AS_IS, false},
	{"journald short-full", "Tue 2024-06-25 12:34:56 UTC gpu01 train[12]: ", "", AS_IS, false},
	{"journald short-monotonic", "[  123.456789] gpu01 train[12]: ", "", AS_IS, false},
	{"journald short-unix", "1719318896.123456 gpu01 train[12]: ", "", AS_IS, false},
	{"journald with-unit", "Tue 2024-06-25 12:34:56 CEST gpu01 train.service[1234]: ", "", AS_IS, false},
	{"syslog RFC 5424", "<14>1 2024-06-25T12:34:56.123456Z gpu01 train 12345 - - ", "", AS_IS, false},
	{"syslog RFC 5424, data",
		"<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 app 8710 ID47 "
		"[exampleSDID@32473 iut=\"3\" eventSource=\"App\\]\"][other@1 a=\"b\"] \xef\xbb\xbf",
		"", AS_IS, false},
	{"syslog RFC 3164", "<13>Jun 25 12:34:56 gpu01 train[1]: ", "", AS_IS, false},
	{"ts", "Jun 25 12:34:56 ", "", AS_IS, false},
	{"ts -s", "00:00:05 ", "", AS_IS, false},
	{"ts with milliseconds", "12:34:56.789 ", "", AS_IS, false},
	{"ts %.s", "1719318896.123456 ", "", AS_IS, false},
	/* loggers */
	{"basicConfig", "INFO:root:", "", AS_IS, false},
	{"basicConfig, a module", "INFO:__main__:", "", AS_IS, false},
	{"absl through logging", "WARNING:absl:", "", AS_IS, false},
	{"asctime", "2024-06-25 12:34:56,789 ", "", AS_IS, false},
	{"asctime level", "2024-06-25 12:34:56,789 INFO ", "", AS_IS, false},
	{"asctime - level", "2024-06-25 12:34:56,789 - INFO - ", "", AS_IS, false},
	{"asctime - name - level", "2024-06-25 12:34:56,789 - __main__ - INFO - ", "", AS_IS, false},
	{"asctime - level - name", "2024-06-25 12:34:56,789 - INFO - trainer - ", "", AS_IS, false},
	{"asctime [level]", "2024-06-25 12:34:56,789 [INFO] ", "", AS_IS, false},
	{"asctime [level] name:", "2024-06-25 12:34:56,789 [INFO] trainer: ", "", AS_IS, false},
	{"asctime level name:", "2024-06-25 12:34:56,789 INFO my.module: ", "", AS_IS, false},
	{"asctime level [name]", "2024-06-25 12:34:56,789 INFO [trainer] ", "", AS_IS, false},
	{"asctime level file", "2024-06-25 12:34:56 INFO train.py:42 ", "", AS_IS, false},
	{"[asctime] [level] [file]", "[2024-06-25 12:34:56,789] [INFO] [train.py:42:main] ", "", AS_IS, false},
	{"[asctime] file level:", "[2024-06-25 12:34:56] train.py:42 INFO: ", "", AS_IS, false},
	{"[asctime level]", "[2024-06-25 12:34:56,789 INFO] ", "", AS_IS, false},
	{"asctime | level | name |", "2024-06-25 12:34:56,789 | INFO | train | ", "", AS_IS, false},
	{"asctime [thread] level name -", "2024-06-25 12:34:56,789 [MainThread] INFO trainer - ", "", AS_IS, false},
	{"asctime pid level", "2024-06-25 12:34:56,789 12345 INFO ", "", AS_IS, false},
	{"asctime - file[line:n] - level:", "2024-06-25 12:34:56,789 - train.py[line:42] - INFO: ", "", AS_IS, false},
	{"asctime - name - level - file:n -", "2024-06-25 12:34:56,789 - my.module - INFO - train.py:42 - ", "", AS_IS,
		false},
	{"clock level", "12:34:56 INFO ", "", AS_IS, false},
	{"clock [level]", "12:34:56,789 [INFO] ", "", AS_IS, false},
	{"[level]", "[INFO] ", "", AS_IS, false},
	{"level -", "INFO - ", "", AS_IS, false},
	{"level:", "INFO: ", "", AS_IS, false},
	{"vLLM", "INFO 06-25 12:34:56 [train.py:42] ", "", AS_IS, false},
	{"Hugging Face", "[INFO|trainer.py:1234] 2024-06-25 12:34:56,789 >> ", "", AS_IS, false},
	{"DeepSpeed", "[2024-06-25 12:34:56,789] [INFO] [logging.py:96:log_dist] [Rank 3] ", "", AS_IS, false},
	{"torchtitan", "[titan] 2025-01-01 10:00:00,000 - root - INFO - ", "", AS_IS, false},
	{"loguru", "2024-06-25 12:34:56.789 | INFO     | __main__:main:42 - ", "", AS_IS, false},
	{"loguru, a module", "2024-06-25 12:34:56.789 | INFO     | train.loop:train_step:142 - ", "", AS_IS, false},
	{"loguru, no function", "2024-06-25 12:34:56.789 | SUCCESS  | __main__:<module>:42 - ", "", AS_IS, false},
	{"loguru in colour",
		"\x1b[32m2024-06-25 12:34:56.789\x1b[0m | \x1b[1mINFO    \x1b[0m | "
		"\x1b[36m__main__\x1b[0m:\x1b[36mmain\x1b[0m:\x1b[36m42\x1b[0m - \x1b[1m",
		"\x1b[0m", AS_IS, false},
	{"Accelerate", "06/25/2024 12:34:56 - INFO - __main__ - ", "", AS_IS, false},
	{"Accelerate, the examples' form", "06/25/2024 12:34:56 - INFO - accelerate.accelerator -   ", "", AS_IS,
		false},
	{"rich", "[12:34:56] INFO     ", "       train.py:42", AS_IS, false},
	{"rich, the same second", "           INFO     ", "       train.py:42", AS_IS, false},
	{"rich with dates", "[06/25/24 12:34:56] INFO     ", "       train.py:42", AS_IS, false},
	{"rich with dates, the same second", "                    INFO     ", "  train.py:42", AS_IS, false},
	{"hydra", "[2024-06-25 12:34:56,789][__main__][INFO] - ", "", AS_IS, false},
	{"hydra, a name", "[2024-06-25 12:34:56,789][trainer][INFO] - ", "", AS_IS, false},
	{"glog", "I0625 12:34:56.123456 12345 train.cc:42] ", "", AS_IS, false},
	{"glog with the year", "I20240625 12:34:56.123456 12345 train.cc:42] ", "", AS_IS, false},
	{"absl", "I0625 12:34:56.123456 140123456789 train.py:42] ", "", AS_IS, false},
	{"PyTorch's C++", "[I625 12:34:56.123456789 ProcessGroup.cpp:42] ", "", AS_IS, false},
	{"Lightning", "[rank: 3] ", "", AS_IS, false},
	/* structured */
	{"python-json-logger",
		"{\"asctime\": \"2024-06-25 12:34:56,789\", \"levelname\": \"INFO\", \"name\": \"train\", "
		"\"lineno\": 42, \"process\": 12, \"message\": \"",
		"\"}", JSON_ASCII, false},
	{"structlog", "{\"level\":\"info\",\"ts\":1719318896.123,\"logger\":\"train\",\"msg\":\"", "\"}", JSON, false},
	{"text", "{\"text\": \"", "\\n\", \"record\": {\"elapsed\": {\"seconds\": 1.5}, \"level\": {\"no\": 20}}}",
		JSON, false},
	{"bunyan", "{\"name\":\"t\",\"hostname\":\"h\",\"pid\":1,\"level\":30,\"msg\":\"",
		"\",\"time\":\"2024-06-25T12:34:56.789Z\",\"v\":0}", JSON, false},
	{"fluentd", "{\"log\":\"", "\",\"stream\":\"stdout\",\"kubernetes\":{\"pod_name\":\"a\",\"restarts\":3}}", JSON,
		false},
	{"Fluent Bit", "{\"date\":1796000000.123456,\"log\":\"", "\"}", JSON, false},
	{"Fluent Bit, whole seconds", "{\"date\":1796000000,\"host\":\"gpu07\",\"message\":\"", "\"}", JSON, false},
	{"Google Cloud", "{\"severity\":\"INFO\",\"message\":\"",
		"\",\"timestamp\":{\"seconds\":1719318896,\"nanos\":1}}", JSON, false},
	/* several */
	{"kubectl, its times, torchrun", "[pod/train-worker-0/pytorch] 2024-06-25T12:34:56.123456789Z [default3]:", "",
		AS_IS, false},
	{"compose and loguru", "trainer-1  | 2024-06-25 12:34:56.789 | INFO     | __main__:main:42 - ", "", AS_IS,
		false},
	{"journald, Ray, logging",
		"Jun 25 12:34:56 gpu01 ray[12345]: (Worker pid=7, ip=10.0.0.1) 2024-06-25 12:34:56,789 - INFO - ", "",
		AS_IS, false},
	{"srun and glog", "3: I0625 12:34:56.123456 12345 train.cc:42] ", "", AS_IS, true},
	{"pdsh, torchrun, basicConfig", "gpu-node-01: [default3]:INFO:root:", "", AS_IS, false},
	{"json-file and basicConfig",
		"{\"log\":\"INFO:root:", "\\n\",\"stream\":\"stdout\",\"time\":\"2024-06-25T12:34:56Z\"}", JSON, false},
	{"CRI and JSON", "2025-01-02T03:04:05.123456789Z stdout F {\"level\":\"info\",\"message\":\"", "\"}", JSON,
		false},
	{"json-file, JSON, hydra",
		"{\"log\":\"{\\\"level\\\":\\\"info\\\",\\\"message\\\":\\\"[2024-06-25 12:34:56,789][__main__][INFO] - ",
		"\\\"}\\n\",\"stream\":\"stdout\"}", JSON_TWICE, false},
	{"stern, times, Accelerate",
		"train-worker-0 pytorch 2024-06-25T12:34:56.123456789Z 06/25/2024 12:34:56 - INFO - "
		"__main__ - ",
		"", AS_IS, false},
	{"ts and rich", "Jun 25 12:34:56 [12:34:56] INFO     ", "       train.py:42", AS_IS, false},
};

static void append_escaped(struct buf *out, struct span text, bool is_ascii)
{
	while (text.len) {
		unsigned char c = (unsigned char)text.ptr[0];
		size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < ' ')
			buf_printf(out, c == '\t' ? "\\t" : c == '\r' ? "\\r" : "\\u%04x", c);
		else if (is_ascii && bytes == 3)
			buf_printf(out, "\\u%04x",
				(unsigned)((c & 15) << 12 | (text.ptr[1] & 63) << 6 | (text.ptr[2] & 63)));
		else
			buf_append(out, text.ptr, bytes);
		text = span_skip(text, bytes);
	}
}

static void render(const struct style *style, struct span line, struct buf *out)
{
	buf_reset(out);
	buf_append_text(out, style->before);
	if (style->escape == AS_IS) {
		buf_append_span(out, line);
	} else if (style->escape == JSON_TWICE) {
		AUTO_DONE(buf) once = BUF_INIT(LINE_BYTES);
		append_escaped(&once, line, false);
		append_escaped(out, buf_span(&once), false);
	} else {
		append_escaped(out, line, style->escape == JSON_ASCII);
	}
	buf_append_text(out, style->after);
}

static void feed_example(struct stream *s, const struct json *example, const struct style *style)
{
	AUTO_DONE(buf) text = BUF_INIT(LINE_BYTES);

	for (const struct json *line = json_first(json_get(example, "lines")); line; line = json_next(line)) {
		render(style, json_string_of(line), &text);
		feed_at(s, buf_span(&text), NO_TIME);
	}
}

static void name_of(struct stream *s, size_t index, struct buf *out)
{
	buf_reset(out);
	extractor_series_name(s->extractor, s->set, s->points.items[index].series, out);
}

static bool is_same_value(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Names, steps and values. */
static bool is_same(struct stream *a, struct stream *b)
{
	AUTO_DONE(buf) name_a = BUF_INIT(NAME_BYTES);
	AUTO_DONE(buf) name_b = BUF_INIT(NAME_BYTES);

	if (a->points.count != b->points.count)
		return false;
	for (size_t i = 0; i < a->points.count; i++) {
		name_of(a, i, &name_a);
		name_of(b, i, &name_b);
		if (!span_equal(buf_span(&name_a), buf_span(&name_b)) || point_at(a, i)->step != point_at(b, i)->step ||
			!is_same_value(point_at(a, i)->value, point_at(b, i)->value))
			return false;
	}
	return true;
}

static bool begins_with_digit(const struct json *example)
{
	for (const struct json *line = json_first(json_get(example, "lines")); line; line = json_next(line)) {
		struct span text = json_string_of(line);
		if (text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9')
			return true;
	}
	return false;
}

static struct stream stream_by(const struct definition_set *presets)
{
	struct definition_set *set = NULL;

	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	return stream_on(set);
}

static int differs(
	const struct definition_set *presets, const char *preset, const struct json *example, const struct style *style)
{
	AUTO_DONE(stream) plain = stream_by(presets);
	AUTO_DONE(stream) s = stream_by(presets);
	AUTO_DONE(buf) text = BUF_INIT(LINE_BYTES);

	feed_example(&plain, example, &styles[0]);
	feed_example(&s, example, style);
	if (is_same(&plain, &s))
		return 0;
	const char *chosen = definition_set_preset_name(s.set, extractor_preset(s.extractor));
	render(style, json_string_of(json_first(json_get(example, "lines"))), &text);
	printf("%-32s %-20s %s, %zu points for %zu: %.*s\n", style->name, preset, chosen ? chosen : "-", s.points.count,
		plain.points.count, (int)(buf_span(&text).len < 150 ? buf_span(&text).len : 150), buf_span(&text).ptr);
	return 1;
}

/* *presets_count: how many there are; the result: of how many all examples give the same points. */
static int presets_under(const struct style *style, const struct definition_set *presets, const struct json *document,
	int *presets_count)
{
	int same = 0;

	*presets_count = 0;
	for (const struct json *preset = json_first(json_get(document, "presets")); preset;
		preset = json_next(preset)) {
		char name[64];
		int mistakes = 0;
		snprintf(name, sizeof name, "%.*s", SPAN_ARGS(json_string_of(json_get(preset, "name"))));
		const struct json *examples = json_get(preset, "examples");
		for (const struct json *example = json_first(examples); example; example = json_next(example))
			if (!style->is_bare_rank || !begins_with_digit(example))
				mistakes += differs(presets, name, example, style);
		same += mistakes == 0;
		++*presets_count;
	}
	return same;
}

TEST(each_preset_reads_the_same_under_each_prefix)
{
	const struct definition_set *presets = shipped_presets();
	AUTO(json) document = NULL;
	size_t len = 0;
	int wrong = 0, count = 0;

	AUTO_MEM char *text = read_whole("../../../server/data/presets.json", &len);

	CHECK_OK(json_parse(&document, span_of(text, len), &err));
	for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
		int same = presets_under(&styles[i], presets, document, &count);
		if (same != count)
			printf("== %s: %d of %d\n", styles[i].name, same, count);
		wrong += same != count;
	}
	CHECK(count >= 79);
	CHECK_INT(wrong, 0);
}

static struct stream preset_stream(void)
{
	return stream_by(shipped_presets());
}

static const char *preset_of(struct stream *s)
{
	const char *name = definition_set_preset_name(s->set, extractor_preset(s->extractor));

	return name ? name : "";
}

static int32_t rank_behind(const char *before)
{
	AUTO_DONE(stream) s = preset_stream();
	char text[512];

	for (int rank = 0; rank < 2; rank++) { /* they say different things at one step: each has a series */
		snprintf(text, sizeof text, before, 3 + rank);
		AUTO_DONE(buf) line = BUF_INIT(1024);
		buf_printf(&line, "%siter 40: loss 2.%d, time 350.12ms, mfu 12.50%%%s", text, rank,
			text[0] == '{' ? "\"}" : "");
		feed_at(&s, buf_span(&line), NO_TIME);
	}
	CHECK(s.points.count >= 4);
	return extractor_series(s.extractor, s.points.items[s.points.count - 1].series).rank;
}

TEST(a_prefix_says_the_rank)
{
	CHECK_INT(rank_behind("[rank%d]:"), 4);
	CHECK_INT(rank_behind("[default%d]:"), 4);
	CHECK_INT(rank_behind("[trainer%d]:"), 4);
	CHECK_INT(rank_behind("[1,%d]<stdout>:"), 4);
	CHECK_INT(rank_behind("[rank: %d] "), 4);
	CHECK_INT(rank_behind("[2024-06-25 12:34:56,789] [INFO] [train.py:42:main] [Rank %d] "), 4);
	CHECK_INT(rank_behind("[pod/train-0/pytorch] 2024-06-25T12:34:56Z [default%d]:INFO:root:"), 4);
	CHECK_INT(rank_behind("INFO:root:[rank%d]:"), 4);
	CHECK_INT(rank_behind("{\"levelname\": \"INFO\", \"rank\": %d, \"message\": \""), 4);
	CHECK_INT(rank_behind("[worker-%d] "), RANK_NONE); /* a name, no rank */
}

static struct span peeled(const char *text, struct prefix *prefix)
{
	return line_peel(span_from(text), NULL, prefix);
}

/* What trainers begin their lines with is no prefix. */
TEST(a_trainers_own_beginning_is_not_peeled)
{
	static const char *const lines[] = {"step 5 loss 2.0", "step: 5 loss: 2.0", "step:125/6200 val_loss:5.5",
		"[Epoch 3] train=0.2", "3:\tlearn: 0.5\ttotal: 1s", "3: 0.25", "Epoch[0] Batch [10]\tSpeed: 1.0",
		"epoch[3]: 0.5", "1/21150 (epoch 0.002), train_loss = 4.1", "| epoch 001 | loss 2.0 |",
		"|    ep_rew_mean   | 21.5    |", "epoch 1 | loss 2.0", "loss: 2.5 acc: 0.5", "[10]\ttrain-rmse:0.5",
		"[batch=20/4800]:", "100 2.5 3.5", "[step=10/1000,epoch=0]", "iter-5 | loss 3.0", "step_5  | loss 3.0",
		"epoch-1 train loss 2.0", "resnet50: loss=2.0", "val: 0.5", "top1: 75.2 top5: 92.1",
		"Train: [0/300] loss 2.0", "Loss - 2.5", "I am at step 5", "INFORMATION loss=3",
		"{'loss': 2.0, 'step': 5}", "{\"loss\": 2.0, \"step\": 5}", "  \"epoch\": 0.5,", "    epoch: 3",
		"12:5 loss 3", "2024 steps, loss 3", "1.5 2.5 3.5", "a: b", "eval/loss: 3.0 | acc: 0.5"};
	struct prefix prefix;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (peeled(lines[i], &prefix).len != strlen(lines[i]))
			test_fail(__FILE__, __LINE__, "'%s' became '%.*s'", lines[i],
				SPAN_ARGS(prefix.starts[prefix.certain]));
}

/* Words behind a time or a level that are the metric's: nobody may lose them but an expression that begins behind them. */
TEST(a_word_of_a_metric_behind_a_level_stays)
{
	static const char *const lines[][2] = {{"INFO accuracy: 0.5", "accuracy: 0.5"},
		{"INFO: critic: loss 2.0", "critic: loss 2.0"},
		{"2024-06-25 12:34:56 - INFO - validation - loss 2.0", "validation - loss 2.0"},
		{"2024-06-25 12:34:56 INFO step: 5 loss: 2.0", "step: 5 loss: 2.0"},
		{"2024-06-25 12:34:56 [valid] loss 2.0", "[valid] loss 2.0"},
		{"2024-06-25 12:34:56,789 | INFO | train | loss 2", "train | loss 2"},
		{"[12:34:56] | loss | 2.0 |", "| loss | 2.0 |"},
		{"INFO - step:0 - val/acc:0.5", "step:0 - val/acc:0.5"},
		{"INFO [100] accuracy=0.5", "[100] accuracy=0.5"},
		{"2024-06-25 12:34:56 my.module INFO: loss 2.0", "loss 2.0"},
		{"2024-06-25 12:34:56,789 - critic - INFO - loss 2.0", "loss 2.0"}};
	struct prefix prefix;

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct span text = peeled(lines[i][0], &prefix);
		if (!span_equal(text, span_from(lines[i][1])))
			test_fail(__FILE__, __LINE__, "'%s' became '%.*s'", lines[i][0], SPAN_ARGS(text));
	}
}

TEST(a_record_of_the_trainers_own_is_no_wrapper)
{
	static const char *const records[] = {"{\"loss\": 1.2, \"step\": 5}",
		"{\"log\": \"iter 3: loss 4.0\", \"loss\": 3.0}",
		"{\"message\": \"step done\", \"step\": 5, \"loss\": 2.0}",
		"{\"msg\": \"x\", \"metrics\": {\"loss\": 2.0}}", "{\"message\": \"\", \"stream\": \"stdout\"}",
		"{\"message\": 5}", "{\"message\": \"a\"", "{\"message\": \"a\"} b}", "{\"message\" \"a\"}",
		"{\"epoch\": \"3\", \"text\": \"a\"}", "{}", "{", "}", "{\"a\":[1,2}"};
	AUTO_DONE(buf) out = BUF_INIT(1024);

	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		struct span text = span_from(records[i]);
		if (line_unwrap(&text, &out, NULL) || text.ptr != records[i])
			test_fail(__FILE__, __LINE__, "'%s' became '%.*s'", records[i], SPAN_ARGS(text));
	}
}

static void check_unwrapped(const char *record, const char *wanted)
{
	AUTO_DONE(buf) out = BUF_INIT(1024);
	struct span text = span_from(record);

	CHECK(line_unwrap(&text, &out, NULL));
	CHECK_SPAN(text, span_from(wanted));
}

TEST(a_record_is_unwrapped)
{
	check_unwrapped("{\"log\":\"iter 3\\n\",\"stream\":\"stdout\",\"loss\":3}", "iter 3");
	check_unwrapped("[rank3]: {\"message\": \"a\\tb\\\"c\\\\d\\/\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"}",
		"[rank3]: a\tb\"c\\d/A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	check_unwrapped("{\"msg\": \"a\\nb\\r\\nc\", \"rank\": 2}", "[rank2]:a\rb\r\rc");
	check_unwrapped("{\"msg\": \"\\u0000\\ud800x\\udc00\\u12\", \"rank\": \"x\"}", "x12");
	check_unwrapped("{\"message\": \"outer\", \"log\": \"inner\"} \r", "inner");
	check_unwrapped("{\"log\":\"{\\\"msg\\\":\\\"{\\\\\\\"text\\\\\\\":\\\\\\\"deep\\\\\\\"}\\\"}\"}", "deep");
}

/* Which kinds of guesses are right is learned, and packed. */
TEST(a_guess_is_trusted_once_a_preset_has_read_behind_it)
{
	AUTO_DONE(stream) s = preset_stream();
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	feed(&s, "train-worker-0 pytorch reward 0.5");
	CHECK_SPAN(extractor_peeled(s.extractor), SPAN("train-worker-0 pytorch reward 0.5"));
	feed(&s, "train-worker-0 pytorch iter 40: loss 2.6351, time 350.12ms, mfu 12.50%");
	CHECK_TEXT(preset_of(&s), "nanogpt");
	feed(&s, "train-worker-1 pytorch reward 0.5");
	CHECK_SPAN(extractor_peeled(s.extractor), SPAN("reward 0.5"));
	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	feed(&s, "train-worker-1 pytorch reward 0.25");
	CHECK_SPAN(extractor_peeled(s.extractor), SPAN("reward 0.25"));
}

TEST(a_users_definition_sees_the_record_or_its_message)
{
	AUTO_DONE(stream) raw = stream_of("[{\"Name\":\"a\",\"Regex\":\"\\\"msg\\\":\\\"a ([0-9]+)\"}]");
	AUTO_DONE(stream) message = stream_of("[{\"Name\":\"a\",\"Regex\":\"^a ([0-9]+)\"}]");

	CHECK_INT(feed(&raw, "{\"msg\":\"a 5\"}"), 1);
	CHECK_INT(feed(&message, "{\"msg\":\"a 5\"}"), 1);
	CHECK_DOUBLE(point_at(&message, 0)->value, 5);
}

TEST(a_record_says_the_time)
{
	AUTO_DONE(stream) s = preset_stream();

	feed(&s,
		"{\"log\":\"iter 40: loss 2.6351, time 350.12ms, mfu 12.50%\\n\",\"stream\":\"stdout\",\"time\":\"2024-06-25T12:34:"
		"56.123456789Z\"}");
	CHECK_INT(newest(&s)->ts_ms, INT64_C(1719318896123));
}

static void check_preset_behind(const char *before, const char *line, int lines, const char *preset)
{
	AUTO_DONE(stream) s = preset_stream();
	char text[512];

	for (int i = 0; i < lines; i++) {
		snprintf(text, sizeof text, before, i);
		AUTO_DONE(buf) whole = BUF_INIT(1024);
		buf_printf(&whole, "%s%s", text, line);
		feed_at(&s, buf_span(&whole), NO_TIME);
	}
	CHECK_TEXT(preset_of(&s), preset);
}

TEST(a_prefix_of_no_known_form_is_learned)
{
	static const char iter[] = "iter 40: loss 2.6351, time 350.12ms, mfu 12.50%", numbers[] = "1 8.049097061157227";

	check_preset_behind("<<job 7f3a-22 / host n%d>> ", iter, 1, "nanogpt");
	check_preset_behind("@n12!trainer!%d! ", iter, 1, "nanogpt");
	check_preset_behind("cluster=eu-1 host=n%d task=train :: ", iter, 1, "nanogpt");
	check_preset_behind("~%d~ ", numbers, FORM_LINES - 1, ""); /* numbers alone: three lines of one form */
	check_preset_behind("~%d~ ", numbers, FORM_LINES, "torchtitan-losses");
	check_preset_behind("Epoch 3 <%d> ", numbers, 10, ""); /* what a trainer counts is not lost */
}

TEST(a_learned_prefix_is_packed)
{
	AUTO_DONE(stream) s = preset_stream();
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	feed(&s, "<<job 1 / n1>> iter 40: loss 2.6351, time 350.12ms, mfu 12.50%");
	extractor_pack(s.extractor, &state);
	struct unpacker in = unpacker_on(buf_span(&state));
	extractor_free(s.extractor);
	CHECK_OK(extractor_unpack(&s.extractor, &in, &err));
	feed(&s, "<<job 22 / n345>>   indented");
	CHECK_SPAN(extractor_peeled(s.extractor), SPAN("  indented"));
	feed(&s, "<<job 22, n345>> other");
	CHECK_SPAN(extractor_peeled(s.extractor), SPAN("<<job 22, n345>> other"));
}
