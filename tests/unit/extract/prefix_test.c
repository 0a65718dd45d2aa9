/* Each preset under what launchers, collectors and loggers put in front of a line: the same points must come out. */
#include "helper.h"

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
	{"CRI, a part", "2025-01-02T03:04:05.123456789+00:00 stderr P ", "", AS_IS, false},
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
	AUTO(definition_set) presets = shipped_presets();
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
