/* A curve that is fed to the detectors point by point, and what they report of it. */
#pragma once

#include "detect/detector.h"
#include "model/incident.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { REPORTS_MAX = 64 };

struct report {
	enum incident_change change;
	int64_t step; /* of the point that brought it */
	struct incident incident;
};

/* One series with everything that was said about it. */
struct series {
	struct detector_set *set;
	uint64_t ordinal;
	int64_t step;
	int64_t gap; /* of steps */
	uint32_t attempt;
	uint64_t noise;
	uint32_t in_epoch;
	bool says_step; /* each line says its own */
	bool is_timeless;
	double sum;
	struct report reports[REPORTS_MAX];
	size_t count;
};

static inline void series_done(struct series *series)
{
	detector_set_free(series->set);
}
AUTO_DONE_TYPE(series)

static inline struct series series_of(enum role role)
{
	struct series series = {.set = detector_set_new(role), .gap = 1, .attempt = 1, .noise = 1};

	CHECK(series.set);
	return series;
}

static inline void remember(void *context, enum incident_change change, const struct incident *incident)
{
	struct series *series = context;

	CHECK((change == INCIDENT_CLOSED) == (incident->state == INCIDENT_RECOVERED));
	CHECK((incident->closed_ms != 0) == (change == INCIDENT_CLOSED));
	if (series->count < REPORTS_MAX)
		series->reports[series->count] = (struct report){change, series->step, *incident};
	series->count++;
}

static inline void feed(struct series *series, double value)
{
	struct point point = {
		.step = series->step, .ts_ms = 1000 * (1 + series->step), .value = value, .attempt = series->attempt};

	point.line = 7 * series->ordinal;
	point.in_epoch = series->says_step ? (uint32_t)series->step + 1 : series->in_epoch;
	if (series->is_timeless)
		point.ts_ms = 1000;
	detector_set_feed(series->set, series->ordinal++, &point, remember, series);
	series->step += series->gap;
}

/* Gaussian enough: the sum of twelve. */
static inline double noise(struct series *series)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		series->noise = series->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sum += (double)(series->noise >> 11) / (double)(UINT64_C(1) << 53);
	}
	return sum;
}

static inline void feed_level(struct series *series, double level, double share, int count)
{
	for (int i = 0; i < count; i++)
		feed(series, level * (1 + share * noise(series)));
}

static inline struct report *report_at(struct series *series, size_t index)
{
	CHECK(index < series->count && index < REPORTS_MAX);
	return &series->reports[index];
}

static inline void check_report(struct series *series, size_t index, enum incident_change change,
	enum incident_kind kind, enum severity severity)
{
	struct report *report = report_at(series, index);

	CHECK_INT(report->change, change);
	CHECK_INT(report->incident.kind, kind);
	CHECK_INT(report->incident.severity, severity);
}

/* A single odd point is a matter of chance: up to `most` of them. */
static inline void check_marks_only(struct series *series, size_t most)
{
	CHECK(series->count <= 2 * most);
	for (size_t i = 0; i < series->count; i++)
		check_report(series, i, series->reports[i].change, INCIDENT_LOSS_SPIKE, SEVERITY_INFO);
}
