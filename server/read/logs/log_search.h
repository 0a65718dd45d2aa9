/*
 * Job: hits of a text or regular expression over all lines of a job, sealed or not, and a histogram of them over time.
 *      Order: (log time, stream, line number), newest or oldest first; a hit's place never changes, so a cursor is a place.
 * Ownership: results live in the caller's arena. Threads: workers; the pipeline's search pool works along.
 */
#pragma once

#include "base/text/regex.h"
#include "model/metrics/batch.h"
#include "store/store.h"

struct pipeline;

/* Lines in which a program says that something failed, as programs write it: "error_rate" and "0 errors" are none. */
#define LOG_ERRORS_PATTERN                                                                                             \
	"\\b(?:ERROR|FATAL|CRITICAL|PANIC)\\b|\\b\\w*(?:Error|Exception): |\\bNCCL WARN\\b|\\b[Oo]ut of memory\\b|"    \
	"Segmentation fault|core dumped|CUDA error|terminate called|Process received signal|Bus error|"                \
	"^\\[?[EF]\\d{4} \\d\\d:|\\bNVRM: Xid\\b"

enum { LOG_HIT_RANGES = 16, LOG_HISTOGRAM_BUCKETS = 120, LOG_TICKS = 512 };

struct log_place {
	int64_t ts_ms;
	uint32_t stream_id;
	uint64_t line;
};

/* In the order oldest first. */
static inline bool log_place_is_before(const struct log_place *a, const struct log_place *b)
{
	if (a->ts_ms != b->ts_ms)
		return a->ts_ms < b->ts_ms;
	return a->stream_id != b->stream_id ? a->stream_id < b->stream_id : a->line < b->line;
}

struct log_hit {
	struct log_place place;
	struct span stream; /* its name */
	struct span text; /* of a long line the part around the first match */
	size_t text_from; /* where in the line that part starts */
	bool is_cut;
	size_t range_count; /* matches in text, as byte offsets */
	size_t ranges[LOG_HIT_RANGES][2];
};

/* Lines of one stream, those from first_line on. */
struct log_search_stream {
	uint32_t stream_id;
	uint64_t first_line;
};

/* Whom a search is for. Any thread of the search calls. */
struct log_asker {
	int64_t cpu_ms; /* its threads run so long together, then it ends with what it has; 0: no limit */
	bool (*is_over)(const void *who); /* nobody waits for it any more: it ends with ERR_UNAVAILABLE; NULL: never */
	void (*charge)(
		const void *who, int64_t cpu_ns); /* what threads beside the caller's have run; NULL: nobody counts */
	const void *who;
};

/* Who counts all lines that match, and is given no hits. Never two calls at a time. */
struct log_counter {
	void (*begin)(void *context); /* nothing is counted, or again nothing */
	void (*take)(void *context, uint32_t stream_id, uint64_t number, const struct line *line);
	/* A block by its times alone; false: each line is wanted. NULL: each always. */
	bool (*take_block)(void *context, uint32_t stream_id, int64_t first_ms, int64_t last_ms, uint64_t lines);
	void *context;
};

struct log_search {
	struct span job;
	struct span stream; /* "": all */
	struct span text;
	bool is_regex, ignore_case, oldest_first, wants_histogram;
	int64_t from_ms, to_ms; /* inclusive */
	uint64_t from_line, end_line; /* of `stream`, the end not included */
	bool has_end_line;
	struct span ticks; /* with a histogram: the stream whose hits are also counted by line number; "": none */
	const struct log_place *after; /* NULL: from the start */
	size_t limit;
	size_t text_bytes; /* of one hit at most */
	size_t max_bytes; /* of all hits, beside the first one; 0: so many as the limit says */
	int64_t time_ms; /* then it ends with what it has */
	struct log_asker asker;
	const struct log_search_stream *streams; /* these alone, by number; NULL: all, or `stream` */
	size_t stream_count;
	/* Of the lines that match, those that it takes; any thread of the search; NULL: all. */
	bool (*takes)(const void *context, struct regex_scratch *scratch, struct span line);
	const void *context;
	const struct log_counter *counter; /* NULL: hits are wanted */
};

struct log_bucket {
	int64_t from_ms;
	uint64_t count;
};

struct log_tick {
	uint64_t from_line;
	uint64_t count;
};

struct log_search_result {
	struct log_hit *hits;
	size_t count;
	bool has_next;
	struct log_place next;
	bool is_partial; /* out of time: hits (and the histogram) are of what was read until then */
	uint64_t lines, lines_left; /* in its reach, and those of them that it did not come to */
	uint64_t limited; /* lines whose match was given up */
	struct log_bucket *buckets;
	size_t bucket_count;
	int64_t bucket_width_ms;
	uint64_t total; /* lines that match, with the histogram */
	struct log_tick *ticks; /* by line; those that count something */
	size_t tick_count;
	uint64_t tick_lines; /* lines a tick stands for */
};

/* ERR_INVALID: the pattern, with column. ERR_NOT_FOUND: job or stream. */
enum status log_search_run(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct log_search *search, struct log_search_result *out, struct error *err) MUST_CHECK;

struct log_histogram {
	struct log_bucket buckets[LOG_HISTOGRAM_BUCKETS];
	size_t count;
	int64_t width_ms;
	uint64_t total;
};

/* All lines of a job ("": of all its streams) over time. Where no more than 32 sealed blocks are wider than two buckets these are
 * read; of the others a block's lines are taken to be spread evenly over its time. ERR_NOT_FOUND: job or stream. */
enum status log_search_count(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct span stream, struct log_histogram *out, struct error *err) MUST_CHECK;
