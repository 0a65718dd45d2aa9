/*
 * The limit of log search: blocks in memory, decompressed and matched by PCRE2's JIT on all cores, and nothing else.
 *   bench_search_limit --mib N --file TEXT PATTERN…    writes the corpus to TEXT, prints {"bytes":…,"ms":[…],"matches":[…]}
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "corpus.h"

#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { BLOCK_BYTES = 1 << 20, THREADS_MAX = 64, TIMES = 3 };

struct block {
	char *packed;
	size_t packed_bytes, bytes;
};

struct run {
	struct block *blocks;
	size_t count;
	atomic_size_t next;
	atomic_size_t matches;
	pcre2_code *code;
};

static void *must(void *pointer)
{
	if (!pointer) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return pointer;
}

static void *work(void *argument)
{
	struct run *run = argument;
	char *plain = must(malloc(BLOCK_BYTES));
	ZSTD_DCtx *context = must(ZSTD_createDCtx());
	pcre2_match_data *data = must(pcre2_match_data_create(1, NULL));
	size_t matches = 0;

	for (size_t i; (i = atomic_fetch_add(&run->next, 1)) < run->count;) {
		size_t len = ZSTD_decompressDCtx(
			context, plain, BLOCK_BYTES, run->blocks[i].packed, run->blocks[i].packed_bytes);
		for (size_t at = 0; at < len; matches++) {
			if (pcre2_jit_match(run->code, (PCRE2_SPTR)plain, len, at, 0, data, NULL) < 0)
				break;
			char *end = memchr(plain + pcre2_get_ovector_pointer(data)[0], '\n',
				len - pcre2_get_ovector_pointer(data)[0]);
			at = end ? (size_t)(end - plain) + 1 : len;
		}
	}
	atomic_fetch_add(&run->matches, matches);
	pcre2_match_data_free(data);
	ZSTD_freeDCtx(context);
	free(plain);
	return NULL;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double measure(struct run *run)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];
	double start = now_ms();
	long count = 0;

	atomic_store(&run->next, 0);
	atomic_store(&run->matches, 0);
	while (count < cores && count < THREADS_MAX && pthread_create(&threads[count], NULL, work, run) == 0)
		count++;
	while (count > 0)
		pthread_join(threads[--count], NULL);
	return now_ms() - start;
}

static void pack(struct run *run, const struct corpus *corpus)
{
	run->blocks = must(calloc(corpus->bytes / (BLOCK_BYTES / 2) + 2, sizeof *run->blocks));
	for (size_t at = 0; at < corpus->bytes;) {
		size_t len = corpus->bytes - at < BLOCK_BYTES ? corpus->bytes - at : BLOCK_BYTES;
		while (len > 1 && corpus->text[at + len - 1] != '\n')
			len--;
		struct block *block = &run->blocks[run->count++];
		block->packed = must(malloc(ZSTD_compressBound(len)));
		block->packed_bytes = ZSTD_compress(block->packed, ZSTD_compressBound(len), corpus->text + at, len, 1);
		block->bytes = len;
		at += len;
	}
}

static double best_of(struct run *run, const char *pattern)
{
	int code;
	PCRE2_SIZE offset;
	double best = 1e18;

	run->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_MULTILINE, &code, &offset, NULL);
	if (!run->code || pcre2_jit_compile(run->code, PCRE2_JIT_COMPLETE) != 0) {
		fprintf(stderr, "'%s' cannot be compiled\n", pattern);
		exit(1);
	}
	for (int i = 0; i < TIMES; i++) {
		double ms = measure(run);
		best = ms < best ? ms : best;
	}
	pcre2_code_free(run->code);
	return best;
}

int main(int argc, char **argv)
{
	struct corpus corpus;
	struct run run = {.count = 0};
	size_t matches[64];

	if (argc < 6 || argc > 64 || strcmp(argv[1], "--mib") != 0 || strcmp(argv[3], "--file") != 0) {
		fprintf(stderr, "usage: bench_search_limit --mib N --file TEXT PATTERN...\n");
		return 2;
	}
	corpus_init(&corpus, (size_t)atol(argv[2]) << 20, 1);
	corpus_stamp(&corpus, corpus.bytes);
	FILE *file = fopen(argv[4], "wb");
	if (!file || fwrite(corpus.text, 1, corpus.bytes, file) != corpus.bytes || fclose(file) != 0) {
		perror(argv[4]);
		return 1;
	}
	pack(&run, &corpus);
	printf("{\"bytes\":%zu,\"ms\":[", corpus.bytes);
	for (int i = 5; i < argc; i++) {
		printf("%s%.2f", i > 5 ? "," : "", best_of(&run, argv[i]));
		matches[i] = atomic_load(&run.matches);
	}
	printf("],\"matches\":[");
	for (int i = 5; i < argc; i++)
		printf("%s%zu", i > 5 ? "," : "", matches[i]);
	printf("]}\n");
	for (size_t i = 0; i < run.count; i++)
		free(run.blocks[i].packed);
	free(run.blocks);
	corpus_done(&corpus);
	return 0;
}
