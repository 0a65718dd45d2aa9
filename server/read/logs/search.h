/*
 * Job: what the files of log search share: the best hits and the counts so far, and the scan of one piece of text.
 * Ownership: hits are the search's own memory until they are copied out. Threads: `mutex` guards what scans add to.
 */
#pragma once

#include "read/logs/log_matcher.h"
#include "read/logs/log_search.h"
#include "read/logs/search_effort.h"
#include "read/logs/search_pool.h"
#include "read/logs/tail.h"
#include "store/blocks.h"
#include "store/pack/block.h"

#include <pthread.h>

struct pipeline;
struct log_needles;

struct histogram { /* of times or of line numbers; widths double until all fits */
	int64_t width;
	int64_t first; /* number of bucket 0: its time divided by the width */
	size_t count, most;
	uint64_t counts[LOG_TICKS];
};

struct searching {
	const struct log_search *search;
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena; /* the caller's */
	struct log_matcher *matcher;
	struct search_hand hand; /* of the thread that asks */
	pthread_mutex_t mutex;
	struct log_hit **best; /* the next ones in order, one more than asked */
	size_t best_count, best_cap, best_bytes;
	bool is_cut; /* max_bytes were full: there are others behind the last one */
	struct histogram histogram, ticks;
	uint32_t ticks_id; /* the stream's, 0: none */
	uint64_t total, limited;
	struct search_effort effort;
	struct error err; /* the first of a scan */
	enum status status;
};

/* ---- search_scan.c ---- */
/* Lines of a stream behind each other, a newline behind each. */
struct search_lines {
	struct span text;
	uint64_t first_line;
	struct block_cursor
		*cursor; /* tells lines apart where they match: none holds newlines of its own; NULL: they are here */
	const struct line *lines;
	size_t count;
};
/* False: what the cursor goes through is damaged. Any thread. */
bool search_scan_lines(struct searching *s, struct search_hand *hand, uint32_t stream_id, struct search_lines *in);
/* The same of lines that are told apart; of the stream those count that are wanted, up to the one before `end`. */
void search_scan_part(struct searching *s, struct search_hand *hand, uint32_t stream_id, uint64_t first_line,
	const struct line *lines, size_t count, uint64_t end);
/* Is the stream asked for, and from which line on? */
bool search_wants_stream(const struct log_search *search, uint32_t stream_id, uint64_t *first_line);
/* Whatever was found, all of it is to be read. */
static inline bool search_wants_all(const struct log_search *search)
{
	return search->wants_histogram || search->counter;
}
/* Is there no need to read what lies at this time or behind it in the order of the search? */
bool search_is_full_before(struct searching *s, int64_t ts_ms);
bool search_place_precedes(const struct searching *s, const struct log_place *a, const struct log_place *b);
void histogram_add(struct histogram *histogram, int64_t value, uint64_t count);

/* ---- search_blocks.c ---- */
/* The sealed part: a job's blocks in the order of their times, read by the thread that asks, and looked through by all, batch by batch. */
enum { SEARCH_BATCH_MAX = 16 }; /* blocks; two batches are in memory at a time */

struct batch_item {
	struct span data;
	uint32_t stream_id;
	uint64_t first_line, end;
};

struct walk;
/* Blocks that are looked through at the same time. */
struct block_batch {
	struct walk *walk;
	struct arena *arena;
	size_t from, end; /* the heads that it is of */
	struct batch_item items[SEARCH_BATCH_MAX];
	struct search_task task;
};

struct walk {
	struct searching *s;
	int64_t job_id;
	struct log_needles *needles; /* NULL: every block may match */
	struct block_head *heads;
	size_t count;
	size_t at; /* those before it were looked through */
	size_t planned; /* those before it are part of a batch */
	struct tail tail;
	struct block_batch batches[2];
};

/* Looks through all that is wanted, or until it is enough; *is_partial: out of time before. */
enum status search_blocks_walk(struct walk *walk, int64_t until_ms, bool *is_partial, struct error *err) MUST_CHECK;
bool search_blocks_is_wanted(const struct walk *walk, const struct block_head *head);
/* All that comes before it in the order of the search is in the heads before this one. */
struct log_place search_blocks_edge(const struct walk *walk, size_t at);
/* Further than the cursor: else it would be asked again from the same place for ever. */
bool search_blocks_have_gone_on(const struct walk *walk, size_t at);
