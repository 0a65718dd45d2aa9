/*
 * Job: what the detector of slow stretches (throughput.c) knows, how that is packed (throughput_pack.c), and what step_time.c feeds: the
 *      same of the time that a step takes.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 */
#pragma once

#include "detect/blocks.h"
#include "detect/kind.h"
#include "detect/stays.h"

enum {
	THROUGHPUT_RUN = 3, /* medians that are one */
	THROUGHPUT_RECENT = 4,
	THROUGHPUT_GIVE_UP = 256, /* medians of a stretch */
	THROUGHPUT_KNOWN = 1920 / BLOCK_POINTS /* medians after which a series is known */
};

/* Medians that may be a slow stretch. */
struct slow_run {
	double sum; /* how far they are below, in spreads */
	double total; /* of them */
	uint32_t length;
	int64_t step, ms; /* where it began */
	uint32_t known; /* medians, then */
};

struct throughput {
	struct blocks blocks;
	float recent[THROUGHPUT_RECENT]; /* medians, in a ring; of a stretch as well */
	uint32_t seen; /* medians */
	uint32_t known; /* of these, since what is usual was last forgotten; no more than THROUGHPUT_KNOWN */
	uint32_t attempt;
	struct blocks far; /* medians of eight medians */
	struct slow_run low; /* in medians; of a stretch as well */
	struct slow_run far_low; /* in medians of medians */
	uint32_t high_run, calm_run; /* medians */
	int64_t high_step; /* where the run of high ones began */
	int64_t high_ms;
	double before; /* what was usual before the restart; 0: not known, or compared */
	struct stays stays;
	bool is_open; /* a slow stretch; said or not */
	bool is_said;
	uint32_t open_blocks;
	uint32_t steady_run; /* medians since the stretch last rose to another level */
	int64_t steady_ms;
	double lowest; /* of the levels since then */
	double usual; /* frozen at the opening */
	double gap;
	double spread;
	double calm_sum;
	double reported; /* the worst in the last report */
	struct incident incident;
};

/* value: of the point, or what became of it. */
void throughput_feed(struct throughput *state, uint64_t ordinal, const struct point *point, double value,
	const struct report_to *to);

/* As those of detector_kind. */
void throughput_pack(const void *of, struct buf *out);
void throughput_unpack(void *of, unsigned format, struct unpacker *in);
void throughput_done(void *of);
bool throughput_open(const void *of, struct incident *out);
