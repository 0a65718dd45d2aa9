/*
 * What the definitions cost: the patterns bare, line by line, by PCRE2 JIT in one thread, against extract_line. Least CPU
 * time of several runs.
 *
 *   bench_extract [6 | 40] [FILE ...]      the corpus, or these files; MB/s and the ratio to bare
 *   bench_extract presets PRESETS [FILE ...]       choice and extraction by presets.json: the corpus' first 1000 lines, or
 *                                                  these files
 *   bench_extract signatures SIGNATURES [FILE ...]  what looking for signatures.json costs beside that; which were found
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "corpus.h"
#include "extract/extract.h"
#include "extract/line/signature.h"
#include "model/metrics/batch.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PATTERNS_MAX = 40, RUNS = 5, CHOICE_LINES = 1000, CORPUS_BYTES = 64 << 20 };

static const char *const more[PATTERNS_MAX - CORPUS_PATTERNS] = {"train_loss: ([0-9.]+)", "val_loss: ([0-9.]+)",
	"Train_error=(.*?);", "Valid_error=(.*?);", "#quality_metric: host=\\S+, train loss <loss>=(\\S+)",
	"#quality_metric: host=\\S+, validation loss <loss>=(\\S+)", "#throughput_metric: .*?=(\\S+) records/second",
	"validation-error:([0-9.]+)", "train-rmse:([0-9.]+)", "validation-rmse:([0-9.]+)", "train-auc:([0-9.]+)",
	"eval_accuracy = ([0-9.]+)", "eval_f1 = ([0-9.]+)", "'loss': ([0-9.]+)", "'eval_loss': ([0-9.]+)",
	"'learning_rate': ([-0-9.e]+)", "'epoch': ([0-9.]+)", "samples/sec: ([0-9.]+)", "tokens/sec: ([0-9.,]+)",
	"gpu_mem: ([0-9.]+)", "accuracy: ([0-9.]+)", "precision: ([0-9.]+)", "recall: ([0-9.]+)",
	"perplexity: ([0-9.]+)", "bleu: ([0-9.]+)", "reward: ([-0-9.]+)", "kl: ([-0-9.]+)", "entropy: ([0-9.]+)",
	"mAP=([0-9.]+)", "loss_scale: ([0-9.]+)", "batch_time: ([0-9.]+)", "data_time: ([0-9.]+)", "Epoch: ([0-9]+)",
	"eta: ([0-9:]+)"};

struct bench {
	char *text;
	size_t bytes;
	size_t pattern_count;
	const char *patterns[PATTERNS_MAX];
	const char *names[PATTERNS_MAX];
	uint64_t found;
};

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench_extract: %s\n", what);
	exit(1);
}

static void append_file(struct bench *bench, const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		fail(path);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);
	rewind(file);
	bench->text = realloc(bench->text, bench->bytes + size + 1);
	if (!bench->text)
		fail("out of memory");
	bench->bytes += fread(bench->text + bench->bytes, 1, size, file);
	fclose(file);
}

static void run_bare(struct bench *bench)
{
	pcre2_code *codes[PATTERNS_MAX];
	pcre2_match_data *match = pcre2_match_data_create(16, NULL);
	struct span rest = span_of(bench->text, bench->bytes), line;

	for (size_t i = 0; i < bench->pattern_count; i++) {
		int code;
		PCRE2_SIZE at;
		codes[i] = pcre2_compile((PCRE2_SPTR)bench->patterns[i], PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
		if (!codes[i] || pcre2_jit_compile(codes[i], PCRE2_JIT_COMPLETE))
			fail(bench->patterns[i]);
	}
	while (span_next(&rest, '\n', &line))
		for (size_t i = 0; i < bench->pattern_count; i++)
			bench->found +=
				pcre2_jit_match(codes[i], (PCRE2_SPTR)line.ptr, line.len, 0, 0, match, NULL) > 0;
	for (size_t i = 0; i < bench->pattern_count; i++)
		pcre2_code_free(codes[i]);
	pcre2_match_data_free(match);
}

static struct definition_set *definitions_of(const struct bench *bench)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	AUTO(json) document = NULL;
	struct definition_set *set = NULL;
	struct error err;

	for (size_t i = 0; i < bench->pattern_count; i++) {
		buf_printf(&text, "%s{\"Name\":\"%s\",\"Regex\":\"", i ? "," : "[", bench->names[i]);
		for (const char *c = bench->patterns[i]; *c; c++) {
			if (*c == '\\' || *c == '"')
				buf_append_char(&text, '\\');
			buf_append_char(&text, *c);
		}
		buf_append_span(&text, SPAN("\"}"));
	}
	buf_append_char(&text, ']');
	if (json_parse(&document, buf_span(&text), &err) != OK || definition_set_new(&set, document, NULL, &err) != OK)
		fail(err.text);
	return set;
}

static void run_ours(struct bench *bench, const struct definition_set *set)
{
	AUTO(extractor) extractor = extractor_new();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO_DONE(extracted_list) out = {0};
	struct span rest = span_of(bench->text, bench->bytes), line;
	struct error err;

	for (uint64_t number = 0; span_next(&rest, '\n', &line); number++) {
		struct extract_line input = {line, INT64_C(1790000000000), number, false};
		out.count = 0;
		uint64_t since;
		uint32_t from, to;
		if (extract_line(extractor, set, scratch, &input, INT64_C(1790000000000), &out, &err) != OK)
			fail(err.text);
		extractor_take_revision(extractor, &since, &from, &to);
		bench->found += out.count;
	}
}

static double least(struct bench *bench, const struct definition_set *set)
{
	double best = 1e9;

	for (int i = 0; i < RUNS; i++) {
		double start = cpu_s();
		bench->found = 0;
		if (!set)
			run_bare(bench);
		else
			run_ours(bench, set);
		double took = cpu_s() - start;
		best = took < best ? took : best;
	}
	return best;
}

static void run_definitions(struct bench *bench)
{
	AUTO(definition_set) set = definitions_of(bench);
	double took[2];

	for (int is_ours = 0; is_ours < 2; is_ours++) {
		took[is_ours] = least(bench, is_ours ? set : NULL);
		printf("{\"definitions\":%zu,\"how\":\"%s\",\"mb_s\":%.0f,\"to_bare\":%.2f,\"found\":%llu}\n",
			bench->pattern_count, is_ours ? "ours" : "bare", (double)bench->bytes / took[is_ours] / 1e6,
			took[0] / took[is_ours], (unsigned long long)bench->found);
	}
}

static void run_presets(struct bench *bench, const char *path)
{
	struct bench file = {0};
	struct definition_set *presets = NULL;
	AUTO(definition_set) set = NULL;
	struct error err;

	append_file(&file, path);
	double start = cpu_s();
	if (definition_presets_new(&presets, span_of(file.text, file.bytes), &err) != OK ||
		definition_set_new(&set, NULL, presets, &err) != OK)
		fail(err.text);
	printf("{\"presets_load_ms\":%.1f}\n", (cpu_s() - start) * 1e3);
	double took = least(bench, set);
	printf("{\"how\":\"presets\",\"bytes\":%zu,\"mb_s\":%.0f,\"ms\":%.1f,\"found\":%llu}\n", bench->bytes,
		(double)bench->bytes / took / 1e6, took * 1e3, (unsigned long long)bench->found);
	definition_set_free(presets);
	free(file.text);
}

static uint64_t look_for(const struct bench *bench, const struct signature_set *set, uint64_t *counts)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct span rest = span_of(bench->text, bench->bytes), line;
	struct signature_found found;
	uint64_t lines = 0;

	for (; span_next(&rest, '\n', &line); lines++)
		if (signature_find(set, scratch, line, false, &found))
			counts[found.index]++;
	return lines;
}

static void run_signatures(const struct bench *bench, const char *path)
{
	struct bench file = {0};
	AUTO(signature_set) set = NULL;
	uint64_t counts[SIGNATURES_MAX], lines = 0;
	struct error err;
	double best = 1e9;

	append_file(&file, path);
	if (signature_set_new(&set, span_of(file.text, file.bytes), &err) != OK)
		fail(err.text);
	for (int i = 0; i < RUNS; i++) {
		double start = cpu_s();
		memset(counts, 0, sizeof counts);
		lines = look_for(bench, set, counts);
		best = cpu_s() - start < best ? cpu_s() - start : best;
	}
	printf("{\"how\":\"signatures\",\"bytes\":%zu,\"lines\":%llu,\"ns_a_line\":%.1f", bench->bytes,
		(unsigned long long)lines, best * 1e9 / (double)lines);
	for (size_t i = 0; i < signature_count(set); i++)
		if (counts[i])
			printf(",\"%.*s\":%llu", SPAN_ARGS(signature_at(set, i)->name), (unsigned long long)counts[i]);
	printf("}\n");
	free(file.text);
}

static size_t bytes_of_lines(const struct corpus *corpus, size_t lines)
{
	struct span rest = span_of(corpus->text, corpus->bytes), line;

	while (lines-- && span_next(&rest, '\n', &line))
		;
	return corpus->bytes - rest.len;
}

int main(int argc, char **argv)
{
	struct bench bench = {.pattern_count = argc > 1 && strcmp(argv[1], "40") == 0 ? PATTERNS_MAX : CORPUS_PATTERNS};
	bool is_presets = argc > 2 && strcmp(argv[1], "presets") == 0;
	bool is_signatures = argc > 2 && strcmp(argv[1], "signatures") == 0;
	struct corpus corpus = {0};

	for (size_t i = 0; i < PATTERNS_MAX; i++) {
		bench.patterns[i] = i < CORPUS_PATTERNS ? corpus_patterns[i].regex : more[i - CORPUS_PATTERNS];
		bench.names[i] = i < CORPUS_PATTERNS ? corpus_patterns[i].name : "metric";
	}
	for (int i = is_presets || is_signatures ? 3 : 2; i < argc; i++)
		append_file(&bench, argv[i]);
	if (!bench.bytes) {
		corpus_init(&corpus, CORPUS_BYTES, 1);
		bench.text = corpus.text;
		bench.bytes = is_presets ? bytes_of_lines(&corpus, CHOICE_LINES) : corpus.bytes;
	}
	if (is_presets)
		run_presets(&bench, argv[2]);
	else if (is_signatures)
		run_signatures(&bench, argv[2]);
	else
		run_definitions(&bench);
	if (corpus.text)
		corpus_done(&corpus);
	else
		free(bench.text);
	return 0;
}
