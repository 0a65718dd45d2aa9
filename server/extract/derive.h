/*
 * Job: metrics that the log does not print but that follow from what it does: steps/s, tokens, tokens/s (also per device),
 *      TFLOP/s, MFU, the share of samples that sifting kept. They are points of series of their own, so that charts,
 *      summaries and search treat them like any other.
 * Ownership: new/free. Threads: one at a time. Pure: time is the points' own, and the same points give the same.
 *
 * The leading series is the stream's first of role loss; at each of its steps each derived metric gets at most one point.
 * Nothing is derived at its first two steps: by then the log has said what it says itself. Their tokens are derived with the first that
 * follow, so that an axis of tokens begins where the loss does.
 *   steps/s    one divided by the step time, where the log prints that; else steps by log time between two points of the
 *              leading series, at least 1 s apart (10 s where times have no milliseconds), of one attempt, both with a
 *              time out of the line or the protocol. A pace more than 3 times off the usual one (median of the last 5) is
 *              a pause (evaluation, checkpoint) or lines that came in a heap, and gives no point, unless it stays so for
 *              3 points. A restart begins anew.
 *   tokens     consumed samples * sequence length where the log prints those, else step * tokens a step. Where no setting says the
 *              tokens of a step, the printed global batch * sequence length does, as long as it was always the same.
 *   tokens/s   steps/s * tokens a step.
 *   TFLOP/s    6 * parameters * tokens/s / devices (Kaplan et al., arXiv 2001.08361: forward and backward, without attention).
 *   MFU        TFLOP/s a device / its peak (Chowdhery et al., arXiv 2204.02311).
 * What the log prints itself is not derived, but used: MFU follows from printed tokens/s or TFLOP/s.
 */
#pragma once

#include "base/alloc.h"
#include "base/codec/pack.h"
#include "extract/inputs.h"
#include "model/metrics/metric.h"
#include "model/metrics/point.h"

enum derived {
	DERIVED_STEPS_PER_SECOND,
	DERIVED_TOKENS,
	DERIVED_TOKENS_PER_SECOND,
	DERIVED_TOKENS_PER_SECOND_PER_DEVICE,
	DERIVED_TFLOPS_PER_DEVICE,
	DERIVED_MFU,
	DERIVED_KEPT_SHARE,
	DERIVED_COUNT
};

/* Name, unit, role, higher. */
struct metric_definition derived_definition(enum derived derived);
bool derived_by_name(struct span metric, enum derived *out);
const char *derived_formula(enum derived derived);
/* The inputs of the formula that are settings; count <= INPUT_COUNT. */
size_t derived_inputs(enum derived derived, enum input out[INPUT_COUNT]);

/* What a series measures, as far as it matters here. */
enum measure {
	MEASURE_NONE,
	MEASURE_LOSS,
	MEASURE_STEP_TIME, /* in seconds, as those below are in their base unit */
	MEASURE_STEPS_PER_SECOND,
	MEASURE_TOKENS,
	MEASURE_TOKENS_PER_SECOND,
	MEASURE_TOKENS_PER_SECOND_PER_DEVICE,
	MEASURE_TFLOPS, /* of one device */
	MEASURE_MFU,
	MEASURE_CONSUMED_SAMPLES,
	MEASURE_EPOCH,
	MEASURE_KEPT,
	MEASURE_DROPPED,
	MEASURE_GLOBAL_BATCH, /* samples of a step; states have these by their number: only append */
	MEASURE_COUNT
};
/* By which the figures of two series of one pace are compared: in seconds of a step's time, which is in ms where nobody says it; else 1. */
double pace_unit(enum role role, struct span unit);
/* By which a value in one unit of time is multiplied (below 0: divided) in another one; 0: it stays, as not both are units of time, or one. */
int time_unit_factor(struct span from, struct span to);
double time_unit_scale(double value, int factor); /* factor is not 0 */
static inline double time_unit_convert(double value, int factor)
{
	return factor ? time_unit_scale(value, factor) : value;
}
/* *factor: to the base unit. */
enum measure measure_of(struct span metric, enum role role, struct span unit, double *factor);

struct derive;

struct derive *derive_new(void) __attribute__((warn_unused_result));
void derive_free(struct derive *derive);

/* A point of the line being read. series: any number that means this series in this stream. */
void derive_see(struct derive *derive, enum measure measure, double factor, uint32_t series, const struct point *point);

struct derived_point {
	enum derived derived;
	struct point point;
};
/* True when derive_line would have a use for the inputs. */
bool derive_has_step(const struct derive *derive);
enum { DERIVED_HELD_MAX = 2, DERIVED_POINTS_MAX = DERIVED_COUNT + DERIVED_HELD_MAX };
/* After the line's last point: what follows from it. Points at arrival_ms have no log time. */
size_t derive_line(struct derive *derive, const struct inputs *inputs, int64_t arrival_ms,
	struct derived_point out[DERIVED_POINTS_MAX]);

/* How far the stream is. */
struct progress {
	int64_t step; /* of the leading series; -1: none yet */
	int64_t ts_ms;
	double steps_per_second; /* over the last steps; 0: not known */
	double epoch; /* printed; 0: not known */
};
struct progress derive_progress(const struct derive *derive);

void derive_pack(const struct derive *derive, struct buf *out);
enum status derive_unpack(struct derive **out, struct unpacker *in, struct error *err) MUST_CHECK;

AUTO_TYPE(derive)
