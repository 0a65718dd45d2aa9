/*
 * Job: what a detector is to the set: a table of functions over a state of its own. Internal to detect/.
 * Ownership: the set allocates `bytes` zeroed bytes a state; done frees what a state allocated. Threads: one at a time.
 * Names: a detector_kind is a detector. The incident_kind is what it reports: loss_spike_kind reports loss_spike and divergence,
 *      throughput_kind and step_time_kind (throughput.c does the work of both) report throughput_drop and throughput_change.
 *      entropy_collapse_kind and reward_collapse_kind are both in collapse.c.
 */
#pragma once

#include "detect/detector.h"

struct report_to {
	detector_report *report;
	void *context;
};

struct detector_kind {
	size_t bytes; /* of a state; all zero: it has seen nothing */
	unsigned roles; /* bits: 1 << role */
	unsigned since_format; /* the first format of a set's state that holds one of this kind; 0: all do */
	/*
	 * NaN and infinities come, too. Another point->attempt than before means that the training began again: close what is
	 * open, and begin afresh. The number may also fall: a restart on trial was taken back (extract/attempt.h).
	 * Where the loss is printed as a mean, the point is what unmean.h makes of it; non_finite gets the printed one.
	 */
	void (*feed)(void *state, uint64_t ordinal, const struct point *point, const struct report_to *to);
	void (*pack)(const void *state, struct buf *out);
	/* format 0: as before states said theirs */
	void (*unpack)(void *state, unsigned format, struct unpacker *in); /* marks *in as failed when damaged */
	void (*done)(void *state);
	/* What is open now, as it would be reported; false: nothing. Asked when the job goes on after an end. */
	bool (*open)(const void *state, struct incident *out);
};

extern const struct detector_kind loss_spike_kind;
extern const struct detector_kind non_finite_kind;
extern const struct detector_kind loss_drop_kind;
extern const struct detector_kind plateau_kind;
extern const struct detector_kind grad_spike_kind;
extern const struct detector_kind throughput_kind;
extern const struct detector_kind step_time_kind;
extern const struct detector_kind entropy_collapse_kind;
extern const struct detector_kind reward_collapse_kind;

/* Of a state of these two; as detector_set_pace. */
uint32_t throughput_pace(const void *state, double *rate, double *newest);
double throughput_usual_pace(const void *of); /* 0: not known yet */

/*
 * An incident that opens at this point; nothing is reported yet. It also begins here: set first_step if it began before.
 * expected, spread and score are 0: docs/detection.md, "The evidence", says what they are.
 */
struct incident incident_at(
	enum incident_kind kind, enum severity severity, uint64_t ordinal, const struct point *point);
/* Still open at this point. */
struct incident incident_again(const struct incident *open, const struct point *point);
/* Reports it as recovered. The caller notes in its state that it is no longer open. */
void incident_close(struct incident *incident, const struct point *point, const struct report_to *to);
/* The same, of what has stayed for so long that it is taken for usual: that is no recovery. */
void incident_close_as_level(struct incident *incident, const struct point *point, const struct report_to *to);
void incident_pack(const struct incident *incident, struct buf *out);
void incident_unpack(struct incident *incident, struct unpacker *in);
