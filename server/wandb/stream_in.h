/*
 * Job: a body of file_stream, {"files": {NAME: {"offset", "content": [LINE…]}}, "complete", "exitcode"}, as points and lines of a batch.
 *      Offsets are counts of lines: what a body brings again is known by them. Pure.
 * Ownership: what the batch needs is in its arena. Threads: any.
 */
#pragma once

#include "model/metrics/batch.h"
#include "tracker/wandb_replies.h"
#include "wandb/history_in.h"
#include "wandb/sent_console.h"

/* How far a file has come. */
struct stream_file {
	uint64_t origin, next_line;
	/* Of the history and the events {"_step","_runtime","_timestamp"} of the last line; of the console a hash of each of the last lines,
	 * since a line that is drawn anew (a progress bar) comes again with its number. */
	struct span content;
	struct span name; /* under which that is kept; "": the file's own */
};
enum { STREAM_RECENT_LINES = 32, STREAM_HASH_DIGITS = 16, STREAM_LABEL_MAX_BYTES = 64 };

struct stream_start {
	struct stream_file history, events, console;
	const struct history_axis *axes;
	size_t axis_count;
	struct span job, metrics_stream, console_stream, system_stream;
	struct span label; /* of one of several processes, before each line of its console: "[LABEL] "; "": none */
	struct span label_file; /* under which it is kept from now on; "": it is already */
	size_t max_line_bytes; /* of the console */
	size_t max_series; /* of a stream in one body */
	bool has_console; /* its lines are here by another way */
	bool has_system; /* so are those measures that have a name of ours */
	bool is_sync; /* what a process trained that is gone: lines may be there by other numbers */
	struct sent_times *history_times, *event_times; /* of the run; NULL: they are not kept */
	struct sent_consoles *consoles; /* the same */
	int64_t now_ms;
};

struct stream_post {
	bool is_complete, has_exit_code, is_preempting;
	bool has_unknown_code; /* it failed, our own import says, and with which code nobody has kept */
	int64_t exit_code;
	int64_t ended_ms; /* when the run ended, as our own import says, which tells of it later; 0: it is not said */
	int64_t first_ms, last_ms; /* the earliest and the latest of the history and the events; 0: nothing */
	size_t left_out; /* values and lines that have no place here */
	struct error bad_line; /* the first line that is no JSON, which is left out; status OK: none */
};

/* ERR_INVALID with a text: the body is no such thing, and the batch of no use. */
enum status file_stream_read(struct span body, const struct stream_start *start, struct batch *batch,
	struct stream_post *out, struct error *err) MUST_CHECK;
/* Of a line without what stands before it: "ERROR " for standard error, and when it was written, which is UTC. */
struct span stream_cut_time(struct span line, int64_t *ts_ms);
/* Which label the events of a body have: {"system.cpu/l:LABEL": 1}; "": none. */
struct span stream_find_label(struct span body);
