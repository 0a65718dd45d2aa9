/*
 * Job: the files of the user: found by name or glob, known by inode. Read on through rotation (the old file to its end,
 *      then the new one), truncation, and copytruncate (the rest is read from the copy). Looked at again and again, since
 *      inotify is silent on NFS and Lustre.
 * Ownership: new/free; descriptors are its own. Threads: one at a time; stream names are written before the first line of
 *      their stream is put, so who takes that line may read them.
 */
#pragma once

#include "cli/spool/resume_state.h"
#include "cli/spool/spool.h"
#include "cli/input/table_scan.h"

struct watch;

enum { WATCH_MAX_FILES = 4096 };

struct watch_options {
	const char *program; /* for messages */
	struct spool *spool;
	const char *const *patterns;
	size_t count;
	const char *const *names; /* streams of the patterns, which are then plain paths; NULL: see file_tail.c */
	const struct span *folders; /* with names: as event_source has them */
	const struct table_part *const *tables; /* as patterns: which of them are tables of runs; NULL: none is */
	int64_t past_ms; /* not 0: old logs; told is the first time that a file's lines show, at most this */
	int64_t untimed_ms; /* of what shows no time, where past_ms is not 0 */
	const char *only_stream; /* of a single file that is called by its name */
	struct ledger *ledger; /* NULL: everything is read from its start */
	const char *resumed_job; /* the ended job that is gone on with; NULL: none */
	const char *spool_folder; /* for points */
	bool *is_points; /* as streams: of event files, which hold points instead of lines */
	const char **streams; /* WATCH_MAX_FILES of them: names by the spool's stream numbers */
	bool follows; /* files may come and go; else each is read to its end */
};

/* Opens what is there. ERR_INVALID: a file cannot be opened, or there is none. */
enum status watch_new(struct watch **out, const struct watch_options *options, struct error *err) MUST_CHECK;
void watch_free(struct watch *watch);
/* Looks for new and changed files, reads all there is; false: there are points for which the spool has no room yet. */
bool watch_round(struct watch *watch);
/* The last lines of all files. */
void watch_finish(struct watch *watch);
size_t watch_stream_count(const struct watch *watch);
/* Files that a glob has found and that hold nothing to send: each was named on standard error. After the intake's end. */
size_t watch_refused_count(const struct watch *watch);
/* Tables and event files of which something could not be read: the same. */
size_t watch_damaged_count(const struct watch *watch);

AUTO_TYPE(watch)
