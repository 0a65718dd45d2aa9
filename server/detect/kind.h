/*
 * Job: what a detector is to the set: a table of functions over a state of its own. Internal to detect/.
 * Ownership: the set allocates `bytes` zeroed bytes a state; done frees what a state allocated. Threads: one at a time.
 */
#pragma once

#include "detect/detector.h"

struct report_to {
	detector_report *report;
	void *context;
};

struct detector_kind {
	size_t bytes;
	unsigned roles; /* bits: 1 << role */
	unsigned since_format; /* the first format of a set's state that holds one of this kind */
	void (*feed)(void *state, uint64_t ordinal, const struct point *point, const struct report_to *to);
	void (*pack)(const void *state, struct buf *out);
	/* format 0: as before states said theirs */
	void (*unpack)(void *state, unsigned format, struct unpacker *in); /* marks *in as failed when damaged */
	void (*done)(void *state);
	bool (*open)(const void *state, struct incident *out); /* what is, as it would be reported; false: nothing */
};

extern const struct detector_kind loss_spike_kind;
extern const struct detector_kind non_finite_kind;
extern const struct detector_kind loss_drop_kind;
extern const struct detector_kind plateau_kind;
extern const struct detector_kind grad_spike_kind;
extern const struct detector_kind throughput_kind;
extern const struct detector_kind step_time_kind;

/* Of a state of these two; as detector_set_pace. */
uint32_t throughput_pace(const void *state, double *rate);
double throughput_usual_pace(const void *of); /* 0: not known yet */

/* An incident that opens at this point. */
struct incident incident_at(
	enum incident_kind kind, enum severity severity, uint64_t ordinal, const struct point *point);
/* Open yet at this point. */
struct incident incident_again(const struct incident *open, const struct point *point);
void incident_close(struct incident *incident, const struct point *point, const struct report_to *to);
void incident_pack(const struct incident *incident, struct buf *out);
void incident_unpack(struct incident *incident, struct unpacker *in);
