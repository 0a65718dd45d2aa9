/*
 * The limit program: what the server does to a line that it takes, in one thread, without HTTP and without safety: lines
 * by memchr, six PCRE2 JIT patterns on each, zstd level 1 of a group, one SQLite row and one durable transaction a group.
 *
 *   bench_limit [--mib N] [--group-kib N] [--file DATABASE]     one line of JSON
 *   bench_limit --definitions                                   the patterns as MetricDefinitions
 */
#include "limit_work.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAMS = 4 };

struct limit {
	size_t total_bytes, group_bytes;
	const char *path;
	struct corpus streams[STREAMS];
	struct limit_work work;
	uint64_t bytes;
	int64_t match_ns;
};

/* Groups end where a line ends. */
static void take_stream(struct limit *limit, const struct corpus *corpus)
{
	const char *at = corpus->text, *end = at + corpus->bytes;

	while (at < end) {
		const char *stop = (size_t)(end - at) > limit->group_bytes ? at + limit->group_bytes : end;
		int64_t start = limit_now_ns(CLOCK_MONOTONIC);
		while (stop[-1] != '\n')
			stop--;
		limit_match(&limit->work, at, stop);
		limit->match_ns += limit_now_ns(CLOCK_MONOTONIC) - start;
		limit_store(&limit->work, at, (size_t)(stop - at));
		limit->bytes += (size_t)(stop - at);
		at = stop;
	}
}

static void print(const struct limit *limit, int64_t wall_ns, int64_t cpu_ns)
{
	double seconds = (double)wall_ns / 1e9;

	printf("{\"bytes\":%llu,\"lines\":%llu,\"matched_lines\":%llu,\"matches\":%llu,\"packed_bytes\":%llu,"
	       "\"seconds\":%.4f,\"cpu_seconds\":%.4f,\"match_seconds\":%.4f,\"zstd_seconds\":%.4f,\"sqlite_seconds\":%.4f,"
	       "\"bytes_per_s\":%.0f,\"lines_per_s\":%.0f}\n",
		(unsigned long long)limit->bytes, (unsigned long long)limit->work.lines,
		(unsigned long long)limit->work.matched_lines, (unsigned long long)limit->work.matches,
		(unsigned long long)limit->work.packed_bytes, seconds, (double)cpu_ns / 1e9,
		(double)limit->match_ns / 1e9, (double)limit->work.zstd_ns / 1e9, (double)limit->work.sqlite_ns / 1e9,
		(double)limit->bytes / seconds, (double)limit->work.lines / seconds);
}

static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_definitions(void)
{
	for (size_t i = 0; i < CORPUS_PATTERNS; i++) {
		printf("%s{\"Name\":", i ? "," : "[");
		print_json_text(corpus_patterns[i].name);
		printf(",\"Regex\":");
		print_json_text(corpus_patterns[i].regex);
		putchar('}');
	}
	printf("]\n");
}

static bool read_options(struct limit *limit, int argc, char **argv)
{
	static const struct option options[] = {{"mib", required_argument, NULL, 'm'},
		{"group-kib", required_argument, NULL, 'g'}, {"file", required_argument, NULL, 'f'},
		{"definitions", no_argument, NULL, 'd'}, {0}};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		switch (option) {
		case 'm':
			limit->total_bytes = (size_t)strtoull(optarg, NULL, 10) << 20;
			break;
		case 'g':
			limit->group_bytes = (size_t)strtoull(optarg, NULL, 10) << 10;
			break;
		case 'f':
			limit->path = optarg;
			break;
		case 'd':
			print_definitions();
			return false;
		default:
			exit(2);
		}
	return true;
}

int main(int argc, char **argv)
{
	struct limit limit = {.total_bytes = 256 << 20, .group_bytes = 4 << 20, .path = "bench-limit.db"};

	if (!read_options(&limit, argc, argv))
		return 0;
	for (size_t i = 0; i < STREAMS; i++)
		corpus_init(&limit.streams[i], limit.total_bytes / STREAMS, i);
	limit_open(&limit.work, limit.path, limit.group_bytes);
	int64_t wall_ns = limit_now_ns(CLOCK_MONOTONIC), cpu_ns = limit_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < STREAMS; i++)
		take_stream(&limit, &limit.streams[i]);
	print(&limit, limit_now_ns(CLOCK_MONOTONIC) - wall_ns, limit_now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
	limit_close(&limit.work);
	for (size_t i = 0; i < STREAMS; i++)
		corpus_done(&limit.streams[i]);
	return 0;
}
