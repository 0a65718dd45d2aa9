/*
 * The real logs: what each file gives with no set-up. They are no part of the sources: SM_CORPUS, or shared/logs beside the
 * checkout. Prints the table: file, preset, series, points, attempts, and first and last value of the series that matters.
 */
#include "helper.h"

#include <dirent.h>

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

static char *read_whole(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	char *text = mem_alloc((size_t)size + 1);
	*len = text ? fread(text, 1, (size_t)size, file) : 0;
	fclose(file);
	return text;
}

static struct definition_set *shipped_presets(void)
{
	struct definition_set *set = NULL;
	size_t len = 0;
	AUTO_MEM char *text = read_whole("../../../server/data/presets.json", &len);

	CHECK(text);
	CHECK_OK(definition_presets_new(&set, span_of(text, len), &err));
	return set;
}

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

/* 1 when the file gave something else than expected. */
static int check_file(struct definition_set *presets, const struct expected *wanted)
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
	return !is_same;
}

/* Logs without a training metric (collective-bench measures its "throughput: …": that is one): what the generic preset makes of their chatter when it is told to read them. */
TEST(chatter_of_real_logs_gives_no_series)
{
	static const char *const files[] = {"crash/olmo_tied_crash.log", "crash/visdet_modulenotfound.log",
		"detectron2/gdp_objdetect_restarts.log", "wandb-debug/debug_internal.log",
		"sagemaker/tf_script_mode.log", "nccl-efa/nccl_tests_efa_eks.log", "nccl-tests/oracle_nccl.log",
		"megatron-straggler/readme_lines.log", "mlperf-mllog-only/maxtext_gpt3.log"};
	AUTO(definition_set) presets = shipped_presets();
	AUTO(json) generic = NULL;

	CHECK_OK(json_parse(&generic, SPAN("[{\"Preset\":\"generic\"}]"), &err));
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct series_figures figures;
		struct definition_set *set = NULL;
		char path[4096];
		size_t len = 0;
		snprintf(path, sizeof path, "%s/%s", corpus(), files[i]);
		AUTO_MEM char *text = read_whole(path, &len);
		if (!text) {
			printf("skipped: %s is not there\n", path);
			continue;
		}
		CHECK_OK(definition_set_new(&set, generic, presets, &err));
		AUTO_DONE(stream) s = stream_on(set);
		feed_text(&s, span_of(text, len));
		printf("%s: %zu false series\n", files[i], figures_of(&s, NULL, &figures));
		if (getenv("SM_CORPUS_SERIES"))
			print_series(&s);
		CHECK_INT(figures_of(&s, NULL, &figures), 0);
	}
}

TEST(each_real_log_gives_its_curves)
{
	AUTO(definition_set) presets = shipped_presets();
	const char *only = getenv("SM_CORPUS_ONLY");
	int wrong = 0;

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (!only || strstr(table[i].file, only))
			wrong += check_file(presets, &table[i]);
	CHECK_INT(wrong, 0);
}
