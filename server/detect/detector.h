/*
 * Job: the detectors of one series, fed with its points in order; says when an incident opens, worsens or ends.
 * Ownership: new/free. Threads: one at a time. Pure and deterministic: time is the points' own; O(1) a point; the state
 *      packs and unpacks to the bit, so that a replay after a crash repeats exactly what was said.
 */
#pragma once

#include "base/alloc.h"
#include "base/codec/pack.h"
#include "model/incident.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"

struct detector_set;

/* The detectors that name the role (`roles` in kind.h). Every series has a set; that of a role without detectors is empty. */
struct detector_set *detector_set_new(enum role role) __attribute__((warn_unused_result));
void detector_set_free(struct detector_set *set);

enum incident_change { INCIDENT_OPENED, INCIDENT_UPDATED, INCIDENT_CLOSED };

/* `incident` is whole and valid during the call only. */
typedef void detector_report(void *context, enum incident_change change, const struct incident *incident);

/* ordinal: the point's number in its series, from 0. Points of an older attempt are not fed. */
void detector_set_feed(
	struct detector_set *set, uint64_t ordinal, const struct point *point, detector_report *report, void *context);

/* The job goes on after an end: what is open is to be reported again (is_again) once points say that it is so still. */
void detector_set_say_again(struct detector_set *set);

/* How fast it goes of late (of step time: turned round), *newest in the last of these blocks of points alone, and how many times that was
 * measured in the attempt; 0: not known. rate NULL: only that. */
uint32_t detector_set_pace(const struct detector_set *set, double *rate, double *newest);
/* What it is held against: how fast it usually goes; 0: not known yet. */
double detector_set_usual_pace(const struct detector_set *set);

void detector_set_pack(const struct detector_set *set, struct buf *out);
enum status detector_set_unpack(
	struct detector_set **out, enum role role, struct unpacker *in, struct error *err) MUST_CHECK;

AUTO_TYPE(detector_set)
