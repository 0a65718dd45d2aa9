/*
 * Job: goes along the printed learning rates and says where they are not the declared ones: two prints in a row are a difference. What is
 *      printed with few digits (1e-05) is as exact as its last one; 3.000000E-04 has seven, which its value does not tell.
 *      transformers prints its values without a step: theirs is that of the progress bar, which is drawn now and then, and once more behind
 *      them. So each was made between its step and the next one's. Where the steps are even multiples, the bar was drawn at each.
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include "fleet/lr_schedule.h"

enum { LR_DIFFERS_PRINTS = 2 /* in a row: one may be of an odd line */ };

struct lr_print {
	int64_t step, ts_ms;
	double declared, observed;
	uint32_t attempt;
};

struct lr_watch {
	unsigned differing, kept; /* prints in a row, the newest ones */
	unsigned digits; /* the most that any print had; up to 4 */
	unsigned places; /* behind the point, the most that any print had; up to 9; 0: there was none but zeros */
	uint32_t attempt; /* of the newest print */
	int64_t skipped,
		most_skipped; /* steps that this attempt left out, as its rates show, at least and at most: they do not come back */
	int64_t kept_step; /* of the newest print that was the declared rate, in this attempt */
	bool has_kept;
	bool is_line_read; /* of its first print: lr_watch_read */
	bool is_of_bar; /* its lines say no step */
	bool is_loose, was_loose; /* the bar's steps are not those of the prints: in this attempt, in any */
	bool has_last;
	int64_t stride; /* of the bar's steps in this attempt; 0: not known */
	struct lr_print last; /* of a bar's: it is compared once the next one is there */
	struct lr_print first; /* of those that differ */
};

/* Of a series that grows: up to where it was read, by which schedule. Another stream or series begins anew. */
struct schedule_progress {
	struct lr_watch watch;
	struct lr_schedule declared; /* its spans are nobody's */
	uint64_t ordinal;
	uint32_t stream_id, series_id;
	uint32_t generation, series_base; /* whose ordinals these are: read/charts/points_read.h */
};

/* The line that printed this value: in scientific form it shows how many digits prints have, and whether it says its step. */
void lr_watch_read(struct lr_watch *watch, struct span line, double value);
void lr_watch_take(struct lr_watch *watch, const struct lr_schedule *schedule, const struct lr_print *print);
