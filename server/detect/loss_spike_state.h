/*
 * Job: what the detector of spikes of a training loss (loss_spike.c) knows, and how that is packed.
 * Ownership: zeroed is new; the caller frees the window. Threads: one at a time. Internal to detect/.
 */
#pragma once

#include "detect/beginning.h"
#include "detect/kind.h"
#include "detect/ramp.h"
#include "detect/recur.h"
#include "detect/spells.h"

enum {
	SPIKE_RECENT = 4,
	SPIKE_NEWS = 8,
	SPIKE_START = 16,
	SPIKE_AGAIN = 32, /* points that may belong to what came again */
	SPIKE_GIVE_UP = 4096, /* points of a divergence */
};

struct spike_alarm {
	bool is_open;
	struct incident incident;
	double level; /* frozen at the opening */
	double spread;
	double calm; /* moving mean of z, clipped to +-8: below 1 it is over */
	double height; /* moving mean of the excess, as a share of the worst */
	double reported; /* the worst value in the last report */
	uint32_t points;
	uint32_t high_run; /* points in a row above half the way to the start */
	bool is_ramp; /* small excesses added up */
};

struct loss_spike {
	struct robust_window *window; /* NULL until the first finite value */
	uint32_t attempt;
	float z[SPIKE_RECENT]; /* of the last points, newest last */
	int64_t steps[SPIKE_RECENT];
	struct ramp ramp;
	struct spells spells;
	struct recur odd; /* where odd points and runs of them began */
	bool was_odd; /* the last point */
	uint32_t again; /* points that may belong to what came again */
	uint32_t in_epoch; /* of the last point, as its line counts; 0: it does not */
	bool is_first_line; /* this point is of another epoch than the last one */
	double down; /* the lowest z of late, turned round; fades */
	struct beginning first, next; /* of the stream; of what may be another training in it, while is_next */
	bool is_next;
	uint32_t after; /* points that may yet belong to the last alarm */
	double before; /* z of the last point, as it counts for the next one */
	float news[SPIKE_NEWS]; /* what was new in the last points, newest last */
	int64_t window_step; /* of the first value in the window */
	double tail; /* decaying count of points beyond z = 6 */
	double marks; /* decaying count of marks that remained one */
	uint32_t tail_bits; /* the last TAIL_LAG points, not yet in the count */
	float start[SPIKE_START];
	uint32_t start_count;
	double start_level; /* median of start, once it is full */
	struct spike_alarm alarm;
};

void spike_pack(const void *state, struct buf *out);
/* As detector_kind.unpack. */
void spike_unpack(void *state, unsigned format, struct unpacker *in);
