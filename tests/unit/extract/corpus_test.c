/*
 * The real logs: what each file gives with no set-up. They are no part of the sources: SM_CORPUS, or shared/logs beside the
 * checkout. Prints the table: file, preset, series, points, attempts, and first and last value of the series that matters.
 */
#include "helper.h"

enum { SERIES_MAX = 4096 };

struct expected {
	const char *file;
	const char *preset; /* "-": none */
	const char *metric; /* NULL: only series and attempts are looked at */
	size_t series;
	size_t points; /* of the metric */
	double first;
	double last;
	uint32_t attempts;
};

static const struct expected table[] = {
#include "corpus_table.h"
};

/* What EXPECTED.tsv counts: lines of a kind, in the files of a folder. */
struct kind {
	const char *folder;
	const char *kind;
	const char *metric; /* which has a point a line: "a", "a+b" either, "*" all; NULL: none, and why */
	const char *why;
};

struct exception {
	const char *file;
	const char *kind;
	size_t points;
	const char *why;
};

#include "corpus_kinds.h"

static const char *corpus(void)
{
	const char *folder = getenv("SM_CORPUS");

	return folder ? folder : "../../../../shared/logs";
}

/* How many points a series has, and its first and last. */
struct series_figures {
	size_t points;
	double first;
	double last;
};

static size_t figures_of(struct stream *s, const char *metric, struct series_figures *out)
{
	static size_t counts[SERIES_MAX];
	size_t series = 0;

	memset(counts, 0, sizeof counts);
	*out = (struct series_figures){0};
	for (size_t i = 0; i < s->points.count; i++) {
		const struct extracted *item = &s->points.items[i];
		CHECK(item->series < SERIES_MAX);
		series += counts[item->series]++ == 0;
		AUTO_DONE(buf) name = BUF_INIT(1024);
		if (!metric)
			continue;
		extractor_series_name(s->extractor, s->set, item->series, &name);
		if (!span_equal(buf_span(&name), span_from(metric)))
			continue;
		out->first = out->points++ ? out->first : item->point.value;
		out->last = item->point.value;
	}
	return series;
}

static bool is_near(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b) + 1e-12;
}

static void feed_text(struct stream *s, struct span text)
{
	struct span rest = text, line;

	while (span_next(&rest, '\n', &line))
		if (line.len || rest.len)
			feed_at(s, line, NO_TIME);
}

/* Of the series of these names, "a+b", all ranks together, but not those beside another's of the name; "*": of all. */
static size_t points_of(struct stream *s, struct span names)
{
	static bool is_of[SERIES_MAX], is_known[SERIES_MAX];
	size_t points = 0;

	memset(is_known, 0, sizeof is_known);
	for (size_t i = 0; i < s->points.count; i++) {
		uint32_t series = s->points.items[i].series;
		CHECK(series < SERIES_MAX);
		if (!is_known[series]) {
			AUTO_DONE(buf) name = BUF_INIT(1024);
			struct span rest = names, wanted, bare;
			extractor_series_name(s->extractor, s->set, series, &name);
			struct span labelled = buf_span(&name);
			(void)!span_next(&labelled, '{', &bare);
			if (span_starts_with(labelled, SPAN("preset=")))
				bare = buf_span(&name);
			is_known[series] = true;
			is_of[series] = span_equal(names, SPAN("*"));
			while (span_next(&rest, '+', &wanted))
				is_of[series] |= span_equal(bare, wanted);
		}
		points += is_of[series];
	}
	return points;
}

static const struct kind *kind_of(struct span file, struct span name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct span folder = span_from(kinds[i].folder);
		if (span_equal(name, span_from(kinds[i].kind)) && span_starts_with(file, folder) &&
			file.ptr[folder.len] == '/')
			return &kinds[i];
	}
	return NULL;
}

static const struct exception *exception_of(struct span file, struct span name)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
		if (span_equal(name, span_from(exceptions[i].kind)) && span_equal(file, span_from(exceptions[i].file)))
			return &exceptions[i];
	return NULL;
}

/* A row of EXPECTED.tsv: a point for each line, or the number and the reason that the exceptions have. 1: neither. */
static int check_kind(struct stream *s, struct span file, struct span name, int64_t lines)
{
	const struct kind *kind = kind_of(file, name);
	const struct exception *but = exception_of(file, name);

	if (!kind) {
		printf("NO\t%.*s: nobody knows its '%.*s'\n", SPAN_ARGS(file), SPAN_ARGS(name));
		return 1;
	}
	size_t points = kind->metric ? points_of(s, span_from(kind->metric)) : (size_t)lines;
	const char *why = kind->why ? kind->why : but ? but->why : "";
	bool is_same = points == (but ? but->points : (size_t)lines);
	printf("%s\t\t%.*s: %lld lines, %s %zu%s%s\n", is_same ? "ok" : "NO", SPAN_ARGS(name), (long long)lines,
		kind->metric ? kind->metric : "-", kind->metric ? points : 0, *why ? ": " : "", why);
	return !is_same;
}

static int check_kinds(struct stream *s, struct span file, struct span rows)
{
	struct span row, of, name, lines;
	int64_t count;
	int wrong = 0;

	while (span_next(&rows, '\n', &row))
		if (span_next(&row, '\t', &of) && span_equal(of, file) && span_next(&row, '\t', &name) &&
			span_next(&row, '\t', &lines) && span_parse_i64(lines, &count))
			wrong += check_kind(s, file, name, count);
	return wrong;
}

/* For who looks for the reason. */
static void print_series(struct stream *s)
{
	for (uint32_t i = 0; i < SERIES_MAX; i++) {
		size_t count = 0;
		const struct point *first = NULL, *last = NULL;
		for (size_t j = 0; j < s->points.count; j++)
			if (s->points.items[j].series == i) {
				last = &s->points.items[j].point;
				first = first ? first : last;
				count++;
			}
		AUTO_DONE(buf) name = BUF_INIT(1024);
		extractor_series_name(s->extractor, s->set, i, &name);
		if (count)
			printf("\t\t%.*s %zu: %g@%lld .. %g@%lld\n", SPAN_ARGS(buf_span(&name)), count, first->value,
				(long long)first->step, last->value, (long long)last->step);
	}
}

/* How often the file gave something else than expected. */
static int check_file(const struct definition_set *presets, const struct expected *wanted, struct span rows)
{
	struct series_figures figures;
	struct definition_set *set = NULL;
	char path[4096];
	size_t len = 0;

	snprintf(path, sizeof path, "%s/%s", corpus(), wanted->file);
	AUTO_MEM char *text = read_whole(path, &len);
	if (!text) {
		printf("skipped: %s is not there\n", path);
		return 0;
	}
	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	AUTO_DONE(stream) s = stream_on(set);
	feed_text(&s, span_of(text, len));
	size_t series = figures_of(&s, wanted->metric, &figures);
	const char *preset = definition_set_preset_name(s.set, extractor_preset(s.extractor));
	uint32_t attempts = extractor_attempt(s.extractor);
	bool is_same = strcmp(preset ? preset : "-", wanted->preset) == 0 && series == wanted->series &&
		       figures.points == wanted->points && is_near(figures.first, wanted->first) &&
		       is_near(figures.last, wanted->last) && attempts == wanted->attempts;
	printf("%s\t{\"%s\", \"%s\", %s%s%s, %zu, %zu, %.7g, %.7g, %u},\n", is_same ? "ok" : "NO", wanted->file,
		preset ? preset : "-", wanted->metric ? "\"" : "", wanted->metric ? wanted->metric : "NULL",
		wanted->metric ? "\"" : "", series, figures.points, figures.first, figures.last, attempts);
	if (getenv("SM_CORPUS_SERIES"))
		print_series(&s);
	return !is_same + check_kinds(&s, span_from(wanted->file), rows);
}

/* What the generic preset, told to read them, makes of logs without a training metric, or with much noise around some. */
static const struct {
	const char *file;
	size_t series;
	const char *why; /* they are no chatter */
} chatter[] = {
	{"crash/olmo_tied_crash.log", 0, ""},
	{"crash/visdet_modulenotfound.log", 0, ""},
	{"detectron2/gdp_objdetect_restarts.log", 0, ""},
	{"wandb-debug/debug_internal.log", 0, ""},
	{"sagemaker/tf_script_mode.log", 0, ""},
	{"nccl-efa/nccl_tests_efa_eks.log", 0, ""},
	{"nccl-tests/oracle_nccl.log", 0, ""},
	{"megatron-straggler/readme_lines.log", 0, ""},
	{"mlperf-mllog-only/alibaba_v100_256.log", 0, ""},
	{"mlperf-mllog-only/maxtext_gpt3.log", 0, ""},
	{"mlperf-mllog-only/mindspore_resnet.log", 0, ""},
	{"mlperf-mllog-only/tinygrad_resnet.log", 0, ""},
	{"mlperf-mllog-only/tpu_jax_resnet.log", 0, ""},
	{"hf-trainer-stdout/hf_ds_n16.log", 4,
		"the step time of its bars, its learning rate, and two figures of its summary"},
	{"megatron-lm/perf_n16_nccl.log", 5,
		"its learning rate, loss scale, step time and samples, and one of its timers"},
	{"collective-bench/allreduce_n16_32gb.log", 1, "what it measures"},
	{"mlperf-resnet-mxnet/alibaba_resnet.log", 3, "its speed and accuracies"},
	{"mpirun-tagged/mask_rcnn_horovod_24xp3dn.log", 9,
		"its speed, the learning rate it begins with, and seven losses"},
};

TEST(chatter_of_real_logs_gives_no_series)
{
	const struct definition_set *presets = shipped_presets();
	AUTO(json) generic = NULL;
	int wrong = 0;

	CHECK_OK(json_parse(&generic, SPAN("[{\"Preset\":\"generic\"}]"), &err));
	for (size_t i = 0; i < sizeof chatter / sizeof chatter[0]; i++) {
		struct series_figures figures;
		struct definition_set *set = NULL;
		char path[4096];
		size_t len = 0;
		snprintf(path, sizeof path, "%s/%s", corpus(), chatter[i].file);
		AUTO_MEM char *text = read_whole(path, &len);
		if (!text) {
			printf("skipped: %s is not there\n", path);
			continue;
		}
		CHECK_OK(definition_set_new(&set, generic, presets, &err));
		AUTO_DONE(stream) s = stream_on(set);
		feed_text(&s, span_of(text, len));
		size_t series = figures_of(&s, NULL, &figures);
		printf("%s\t%s: %zu series%s%s\n", series == chatter[i].series ? "ok" : "NO", chatter[i].file, series,
			*chatter[i].why ? ": " : "", chatter[i].why);
		if (getenv("SM_CORPUS_SERIES"))
			print_series(&s);
		wrong += series != chatter[i].series;
	}
	CHECK_INT(wrong, 0);
}

TEST(each_real_log_gives_its_curves)
{
	const struct definition_set *presets = shipped_presets();
	const char *only = getenv("SM_CORPUS_ONLY");
	char path[4096];
	size_t len = 0;
	int wrong = 0;

	snprintf(path, sizeof path, "%s/EXPECTED.tsv", corpus());
	AUTO_MEM char *rows = read_whole(path, &len);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!only || strstr(table[i].file, only))
			wrong += check_file(presets, &table[i], span_of(rows, len));
	CHECK_INT(wrong, 0);
}
