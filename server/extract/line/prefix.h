/*
 * Job: takes off what launchers, collectors, container runtimes and loggers put in front of a trainer's line. Internal to
 *      extract/.
 * Ownership: spans into the input. Threads: any.
 *
 * A prefix is parts in any order and number (up to PARTS_MAX):
 *   launchers   mpirun --tag-output "[1,0]<stdout>:", torchrun "[default0]:" and "[rank3]:", srun --label " 3: ", Ray
 *               "(TaskRunner pid=7, ip=10.0.0.1) ", pdsh "host-1: ", SageMaker local mode "algo-1-xyz | "  (launcher.c)
 *   collectors  kubectl "[pod/a/b] ", stern "pod-0 container ", compose "name-1  | ", CRI, journald, syslog  (collector.c)
 *   times       with date or without, in brackets or not  (stamp.c)
 *   loggers     level, name, file:line, thread, process, and what separates them  (logger.c)
 *
 * A trainer's own words may look like a logger's ("INFO Train: [0/300]" of Swin, "[LightGBM] [Info] Iteration:5"), so the
 * text has more than one start: starts[0] is behind the launchers and collectors alone, and each part behind it gives
 * another one. An expression with a '^' is tried at each, others at the first. What is sure to be no word of the trainer
 * ends at starts[certain]. Some parts are guesses ("gpu-1: " may be a host or a metric): they only give a start, until a
 * preset has read a line behind one (prefix_trust); from then on parts of that kind are sure in this stream. A prefix that is
 * no chain of known parts is learned as a whole, by the place where a preset begins to know the lines (prefix_learn).
 */
#pragma once

#include "base/codec/pack.h"
#include "base/span.h"
#include "extract/line/kinds.h"

enum { STARTS_MAX = 16, FORM_BYTES = 64, FORM_LINES = 3, LEARN_LINES = 256, CUTS_MAX = 32, PLACES_MAX = 25 };

/* What a stream has shown of its prefixes. */
struct prefix_memory {
	uint32_t trusted; /* kinds of guesses that were right */
	uint32_t name; /* the logger's, hashed, of GUESS_NAME: it alone is trusted */
	/* Of a prefix that the grammar does not know (learned.c): its form, and one that is not sure yet. */
	char form[FORM_BYTES], candidate[FORM_BYTES];
	uint8_t form_len, candidate_len, candidate_seen;
	uint16_t looked; /* lines on which one was looked for */
};

/* What stood in front. */
struct prefix {
	int32_t rank; /* RANK_NONE: no tag */
	bool is_bare; /* the rank is srun's bare number, which may be a counter of the trainer's own */
	uint8_t count; /* of starts, at least 1 */
	uint8_t certain;
	struct span starts[STARTS_MAX]; /* of one end; only `count` are set */
	uint8_t guesses[STARTS_MAX]; /* kinds in front of that start */
	uint32_t name; /* see prefix_memory; 0: none */
};

/* The text behind all prefixes: starts[certain]. memory: NULL for a line by itself. */
struct span line_peel(struct span text, const struct prefix_memory *memory, struct prefix *prefix);
/* Where each of its parts begins, and behind the last: also where nobody looks for a trainer's words, in front of a tag. How many. */
size_t line_places(struct span text, struct span places[PLACES_MAX]);
/* Of the launchers' tags and times in front alone: the rank. Most lines are worth no more. */
int32_t line_peel_rank(struct span text, bool *is_bare);
static inline bool line_may_have_rank(struct span text)
{
	return text.len && (text.ptr[0] == '[' || text.ptr[0] == '(' || text.ptr[0] == ' ' || text.ptr[0] == 'a' ||
				   (unsigned char)(text.ptr[0] - '0') < 10);
}

/* A line whose prefix is read when it is asked for first. */
struct line_view {
	struct span whole;
	const struct prefix_memory *memory;
	bool is_peeled;
	bool has_nothing; /* the reader of any line took nothing behind this prefix */
	struct prefix prefix;
};
/* Its prefix may be another one from now on. */
static inline void line_view_forget(struct line_view *view)
{
	view->is_peeled = view->has_nothing = false;
}
static inline void line_view_set(struct line_view *view, struct span whole, const struct prefix_memory *memory)
{
	view->whole = whole;
	view->memory = memory;
	line_view_forget(view);
}
const struct prefix *line_view_prefix(struct line_view *view);
/* Behind all prefixes. */
static inline struct span line_view_text(struct line_view *view)
{
	const struct prefix *prefix = line_view_prefix(view);

	return prefix->starts[prefix->certain];
}
/* A preset has read the line at that start. */
/* True: that is new, and lines may be read otherwise from now on. */
bool prefix_trust(struct prefix_memory *memory, const struct prefix *prefix, size_t start);
/*
 * A preset knows a line behind `before`, which no part explains. True: that is a prefix of the stream from now on. is_sure: by
 * this line alone, else by FORM_LINES of one form.
 */
bool prefix_learn(struct prefix_memory *memory, struct span before, bool is_sure);
/* Where the next word may begin, behind `from`; 0: nowhere. */
size_t prefix_next_cut(struct span text, size_t from);
void prefix_memory_pack(const struct prefix_memory *memory, struct buf *out);
void prefix_memory_unpack(struct prefix_memory *memory, struct unpacker *in);
