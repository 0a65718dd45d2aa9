/*
 * Job: a chart as SVG text: axes, of each curve the band from its lowest to its highest values and the line of its means, what is
 *      not finite, marks, a legend. It has no script, no link and no font, so that it is shown where pictures are. Pure.
 * Ownership: the caller's; nothing is kept. Threads: any.
 */
#pragma once

#include "model/incident.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"

enum picture_theme { PICTURE_AUTO, PICTURE_LIGHT, PICTURE_DARK };
enum { PICTURE_HUES = 8 };

struct picture_curve {
	struct span name;
	const struct bucket *buckets;
	size_t count;
	double x_each; /* what 1 of their x is on the axis: 1, or the FLOPs of a token */
	uint64_t points;
	unsigned hue; /* below PICTURE_HUES */
	unsigned dash; /* 0: none */
};

enum picture_mark_kind { MARK_INCIDENT, MARK_RESTART, MARK_NOTE };

struct picture_mark {
	double x;
	enum picture_mark_kind kind;
	enum severity severity; /* of an incident */
	unsigned hue; /* of a note: its job's */
	struct span text;
};

struct picture {
	struct span title;
	enum chart_axis axis;
	enum picture_theme theme;
	unsigned width, height;
	bool is_log; /* y */
	double smooth; /* weight of what was before: 0 up to below 1 */
	bool has_from, has_to; /* the window that was asked for */
	double from, to;
	const struct picture_curve *curves;
	size_t curve_count;
	const struct picture_mark *marks;
	size_t mark_count;
};

void picture_write(const struct picture *picture, struct buf *out);

/* The hue of a job or metric: the page's, from the name alone. */
unsigned picture_hue(struct span name);
