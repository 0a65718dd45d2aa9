/*
 * Job: the unit of hand-over between a request and the writer: lines of one or several streams with the memory that
 *      holds them.
 * Ownership: a batch owns its arena and so every span in it; it moves by pointer. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash128.h"

#define NO_TIME INT64_MIN

enum line_flags {
	LINE_CUT = 1, /* was longer than the limit; text holds the first bytes */
	LINE_OPEN_END = 2, /* the body ended without a newline behind it */
};

struct line {
	struct span text; /* as sent, without its '\n' */
	int64_t ts_ms; /* log time stated by the protocol or found in the line, else NO_TIME */
	uint32_t flags;
	uint64_t
		sent_bytes; /* of the stream as sent that this line stands for: its newline and what was cut off included */
};
/* When it is of: as stated, else as shown in its text, else as it arrived. */
int64_t line_effective_ms(const struct line *line, int64_t arrival_ms);

struct map;
struct batch_series;

/* Lines or points (batch_points.h) of one stream, in the order of the body. */
struct batch_part {
	struct span job;
	struct span stream;
	struct span host; /* that sent it, where the body says so; else empty, and the batch's counts */
	struct span *other_hosts; /* that the body says of some of its lines */
	size_t other_host_count;
	bool is_host_of_records; /* each line's record says its own */
	bool has_nameless; /* of these, some do not */
	struct span
		team; /* of the job, if it is made for this part and the batch has no team: where the body says so */
	struct line *lines;
	size_t count;
	size_t cap;
	uint64_t sent_bytes; /* sum over the lines */
	struct batch_series *series;
	size_t series_count, series_cap;
	size_t last_series; /* where the last point went */
	struct map *series_index; /* metric -> place of the series; made when there are many */
	size_t point_count;
	size_t left_points; /* not among them: of more series than a stream may have */
	bool is_push; /* of a protocol whose senders send the same body again: known by this hash of what it holds for the stream */
	struct hash128 push_hash;
	int64_t push_kept_ms; /* known for so much longer than others */
	struct buf points; /* the series as the journal holds them, once the pipeline has packed them */
	int64_t past_ms; /* of lines of the past: the last log time that one of them has or shows; 0: none */
	size_t past_untimed; /* so many in front had none and got batch.written_ms */
};

/* A file that the sender sends line by line, and how far it has come with this batch (store/tracked_runs.h). */
struct batch_file {
	struct span name;
	uint64_t known_line,
		known_origin; /* where it stood when the batch was read: if not any more, all of the batch is refused */
	uint64_t origin, next_line;
	struct span content;
	bool is_unchecked; /* it is replaced as a whole */
};

struct batch {
	struct arena *arena; /* of all names: what borrows from it is good as long as the batch */
	struct arena *texts; /* of the lines alone, since the last batch_drop_texts; NULL: none yet */
	struct batch_part *parts;
	size_t part_count;
	size_t part_cap;
	struct map *index; /* (job, stream) -> place of the part; made when there are many */
	size_t line_count;
	size_t point_count;
	size_t text_bytes; /* of all lines, for limits and slices */
	int64_t arrival_ms;
	/* Of the whole body: where it starts in the stream as sent, or -1. Only with exactly one part. */
	int64_t offset;
	int64_t written_ms; /* when lines were written that bear no time, 0: when they arrive */
	bool follows_full; /* of a body: the slice before it was full, so both were there at once */
	const struct batch_file *files; /* the arena's */
	size_t file_count;
	int64_t files_job_id; /* of which job they are; its run is gone: all of the batch is refused */
	struct span source; /* whose bytes `offset` counts; "": all that came with an offset and without a source */
	int64_t zone_ms; /* what times in lines are ahead of UTC that state no zone */
	struct span host; /* of the sender; "" when not stated */
	struct span team; /* the token's; "" without */
	bool is_partial; /* its sender must not lose all for a part: what there is no room for is refused and counted, the rest stored */
	size_t rejected; /* entries that could not be stored, counted by the parser */
	size_t no_job; /* of those: no label names a job */
	size_t bad_times; /* of the stored: with a time that is none, so that the time of arrival counts */
	size_t cut_lines;
	/* Of a batch of one large part, once the pipeline has packed it: its lines as the content of a block, in which their
	 * texts then lie, and that block. Empty otherwise. */
	struct buf content, block;
	struct buf filter; /* of the block, for searches */
	bool is_senders; /* who submitted it frees it once it was told what became of it: not the writer, for which others wait */
	bool may_wait; /* extraction has enough before it without this one (pipeline_submit) */
	size_t packed_lines; /* how many lines those hold: of a batch that had to wait there may be more by now */
};

struct batch *batch_new(int64_t arrival_ms) __attribute__((warn_unused_result));
void batch_free(struct batch *batch);
/* NULL: that stream has no part. */
struct batch_part *batch_find_part(const struct batch *batch, struct span job, struct span stream);
/* That the body says it of some lines of the part; of many machines the first ones. False: out of memory. */
bool batch_part_note_host(struct batch *batch, struct batch_part *part, struct span host);
/* The machine that sent all of it; "": not stated. */
struct span batch_part_host(const struct batch *batch, const struct batch_part *part);
/* The part of that stream, made when it is not there; NULL: out of memory. Copies the names into the arena. */
struct batch_part *batch_part(struct batch *batch, struct span job, struct span stream);
/* One more of that stream, behind those that it has: what comes again part by part is known part by part (push_hash). */
struct batch_part *batch_part_more(struct batch *batch, struct span job, struct span stream);
/*
 * Copies the text. sent_bytes: text and newline, plus what a cut line lost (bytes that a cut line lost in
 * an earlier slice count with the line that follows). False: out of memory.
 */
bool batch_add(struct batch *batch, struct batch_part *part, struct span text, int64_t ts_ms, uint32_t flags,
	uint64_t sent_bytes) __attribute__((warn_unused_result));
/* All line texts were copied to where lines[].text points by now: the memory of the first copies goes, no other. */
void batch_drop_texts(struct batch *batch);
/* So many lines of the part, at least one, are to come: room for the first of them is made at once. False: out of memory. */
bool batch_expect(struct batch_part *part, size_t count) __attribute__((warn_unused_result));
/* The same of text that lies in the batch already (batch_keep). */
bool batch_add_kept(struct batch *batch, struct batch_part *part, struct span kept, int64_t ts_ms, uint32_t flags,
	uint64_t sent_bytes) __attribute__((warn_unused_result));
/* Copies what the texts of several lines lie in, at once; ptr NULL: out of memory. */
struct span batch_keep(struct batch *batch, struct span bytes);
size_t batch_bytes(const struct batch *batch); /* memory that it holds */

AUTO_TYPE(batch)
