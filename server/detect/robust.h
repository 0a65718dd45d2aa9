/*
 * Job: what the next value of a noisy curve ought to be, from the last 128: median and MAD about a straight trend.
 * Ownership: values. Threads: one at a time. Internal to detect/.
 * Deterministic: the same values in the same order give the same bits, also after pack and unpack.
 */
#pragma once

#include "base/pack.h"

enum { ROBUST_WINDOW = 128, ROBUST_REFIT = 16 };

struct robust_window {
	float values[ROBUST_WINDOW]; /* a ring; next is the oldest once it is full */
	uint32_t count;
	uint32_t next;
	uint32_t since_fit; /* values added since the figures below were made */
	double level; /* at the newest value of the fit */
	double slope; /* a value; never above 0: what rises is to be noticed, not to be followed */
	double spread; /* 1.4826 MAD of the residuals, floored; 0: no spread can be told */
	double correlation; /* of neighbouring residuals, 0..0.95 */
};

void robust_clear(struct robust_window *window);
void robust_add(struct robust_window *window, double value);
/* The level that the next value should be near. */
double robust_expected(const struct robust_window *window);
void robust_pack(const struct robust_window *window, struct buf *out);
void robust_unpack(struct robust_window *window, struct unpacker *in);
