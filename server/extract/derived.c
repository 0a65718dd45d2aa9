/* What the derived metrics are called, how they are made, and which printed ones they are made from or replaced by. */
#include "extract/derive.h"
#include "extract/line/number.h"

static const struct {
	const char *name;
	const char *unit;
	enum role role;
	int higher;
	const char *formula;
	unsigned inputs; /* bits of enum input */
} table[DERIVED_COUNT] = {
	[DERIVED_STEPS_PER_SECOND] = {"derived:steps_per_second", "steps/s", ROLE_THROUGHPUT, 1,
		"1 / step time where the log prints it, else steps / seconds of log time over a few seconds, without pauses",
		0},
	[DERIVED_TOKENS] = {"derived:tokens", "tokens", ROLE_OTHER, 0,
		"consumed samples * sequence_length where the log prints them, else step * tokens_per_step (else the printed global batch * sequence_length)",
		1 << INPUT_TOKENS_PER_STEP | 1 << INPUT_GLOBAL_BATCH | 1 << INPUT_SEQUENCE_LENGTH},
	[DERIVED_TOKENS_PER_SECOND] = {"derived:tokens_per_second", "tokens/s", ROLE_THROUGHPUT, 1,
		"steps/s * tokens_per_step (by the log's consumed tokens or samples where it prints them); or printed tokens/s of a device * devices",
		1 << INPUT_TOKENS_PER_STEP | 1 << INPUT_GLOBAL_BATCH | 1 << INPUT_SEQUENCE_LENGTH | 1 << INPUT_DEVICES},
	[DERIVED_TOKENS_PER_SECOND_PER_DEVICE] = {"derived:tokens_per_second_per_device", "tokens/s/device",
		ROLE_THROUGHPUT, 1, "tokens/s / devices",
		1 << INPUT_TOKENS_PER_STEP | 1 << INPUT_GLOBAL_BATCH | 1 << INPUT_SEQUENCE_LENGTH | 1 << INPUT_DEVICES},
	[DERIVED_TFLOPS_PER_DEVICE] = {"derived:tflops_per_device", "TFLOP/s", ROLE_THROUGHPUT, 1,
		"6 * parameters * tokens/s of a device / 1e12",
		1 << INPUT_PARAMETERS | 1 << INPUT_TOKENS_PER_STEP | 1 << INPUT_DEVICES},
	[DERIVED_MFU] = {"derived:mfu", "%", ROLE_MFU, 1,
		"100 * TFLOP/s of a device / peak_tflops (TFLOP/s as printed, else as derived)",
		1 << INPUT_PEAK_TFLOPS | 1 << INPUT_PARAMETERS | 1 << INPUT_TOKENS_PER_STEP | 1 << INPUT_DEVICES},
	[DERIVED_KEPT_SHARE] = {"derived:kept_share", "%", ROLE_OTHER, 0, "100 * kept / (kept + dropped)", 0},
};

struct metric_definition derived_definition(enum derived derived)
{
	return (struct metric_definition){.name = span_from(table[derived].name),
		.unit = span_from(table[derived].unit),
		.role = table[derived].role,
		.higher = table[derived].higher};
}

bool derived_by_name(struct span metric, enum derived *out)
{
	for (unsigned i = 0; i < DERIVED_COUNT; i++)
		if (span_equal(metric, span_from(table[i].name))) {
			*out = (enum derived)i;
			return true;
		}
	return false;
}

const char *derived_formula(enum derived derived)
{
	return table[derived].formula;
}

size_t derived_inputs(enum derived derived, enum input out[INPUT_COUNT])
{
	size_t count = 0;

	for (unsigned i = 0; i < INPUT_COUNT; i++)
		if (table[derived].inputs & 1u << i)
			out[count++] = (enum input)i;
	return count;
}

/* ---- printed metrics ---- */

static bool is_one_of(struct span name, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		if (span_equal_fold(name, word))
			return true;
	return false;
}

static bool says(struct span text, const char *words)
{
	struct span rest = span_from(words), word;

	while (span_next(&rest, ' ', &word))
		if (span_find(text, word) >= 0)
			return true;
	return false;
}

/* Behind "train:", "throughput/": what it is in itself. */
static struct span last_part(struct span metric)
{
	for (size_t i = metric.len; i-- > 0;)
		if (metric.ptr[i] == ':' || metric.ptr[i] == '/')
			return span_skip(metric, i + 1);
	return metric;
}

static const char token_sums[] =
	"consumed_tokens total_tokens tokens_seen num_tokens num_input_tokens_seen tokens n_tokens";

static enum measure measure_of_throughput(struct span metric, struct span unit)
{
	bool is_each = says(metric, "device per_gpu per_chip /gpu/") || says(unit, "/device /gpu /GPU /chip");

	if (says(unit, "FLOP"))
		return MEASURE_TFLOPS;
	if (says(unit, "tokens/s tok/s"))
		return is_each ? MEASURE_TOKENS_PER_SECOND_PER_DEVICE : MEASURE_TOKENS_PER_SECOND;
	if (says(unit, "steps/s it/s iterations/s"))
		return MEASURE_STEPS_PER_SECOND;
	if (unit.len)
		return MEASURE_NONE;
	struct span name = last_part(metric);
	if (is_one_of(name, token_sums))
		return MEASURE_TOKENS; /* throughput/total_tokens */
	if (is_one_of(name, "tflops tflops_per_gpu tflops_per_second tflops_per_second_per_device"))
		return MEASURE_TFLOPS;
	if (is_one_of(name, "tokens_per_second tokens_per_sec tokens_per_s tok_per_sec tps"))
		return is_each ? MEASURE_TOKENS_PER_SECOND_PER_DEVICE : MEASURE_TOKENS_PER_SECOND;
	return is_one_of(name, "steps_per_second train_steps_per_second steps_per_sec it_per_s")
		       ? MEASURE_STEPS_PER_SECOND
		       : MEASURE_NONE;
}

double pace_unit(enum role role, struct span unit)
{
	if (role != ROLE_STEP_TIME || span_equal(unit, SPAN("s")))
		return 1;
	return span_equal(unit, SPAN("us")) ? 1e-6 : 1e-3;
}

/* 0: it is no unit of time. */
static int microseconds_of(struct span unit)
{
	if (span_equal(unit, SPAN("s")))
		return 1000000;
	if (span_equal(unit, SPAN("ms")))
		return 1000;
	return span_equal(unit, SPAN("us"));
}

int time_unit_factor(struct span from, struct span to)
{
	int a = microseconds_of(from), b = microseconds_of(to);

	if (!a || !b || a == b)
		return 0;
	return a > b ? a / b : -(b / a);
}

double time_unit_scale(double value, int factor)
{
	return number_scale(value, factor > 0 ? factor : 1, factor < 0 ? -factor : 1);
}

static enum measure measure_of_step_time(struct span unit, double *factor)
{
	if (!span_equal(unit, SPAN("ms")) && !span_equal(unit, SPAN("us")) && !span_equal(unit, SPAN("s")))
		return MEASURE_NONE;
	*factor = pace_unit(ROLE_STEP_TIME, unit);
	return MEASURE_STEP_TIME;
}

static enum measure measure_of_other(struct span metric, struct span unit)
{
	struct span name = last_part(metric);

	if (says(unit, "TFLOP"))
		return MEASURE_TFLOPS;
	if (is_one_of(name, token_sums))
		return MEASURE_TOKENS;
	if (is_one_of(name, "consumed_samples"))
		return MEASURE_CONSUMED_SAMPLES;
	if (is_one_of(name, "global_batch_size"))
		return MEASURE_GLOBAL_BATCH;
	if (is_one_of(name, "epoch"))
		return MEASURE_EPOCH;
	if (is_one_of(name, "kept kept_samples samples_kept num_kept accepted_samples retained_samples"))
		return MEASURE_KEPT;
	if (is_one_of(name, "dropped dropped_samples samples_dropped num_dropped discarded_samples sifted_samples"))
		return MEASURE_DROPPED;
	return MEASURE_NONE;
}

enum measure measure_of(struct span metric, enum role role, struct span unit, double *factor)
{
	*factor = 1;
	if (span_find_char(metric, '{') >= 0 || span_starts_with(metric, SPAN("derived:")))
		return MEASURE_NONE; /* of one rank; or ours */
	switch (role) {
	case ROLE_LOSS:
		return MEASURE_LOSS;
	case ROLE_STEP_TIME:
		return measure_of_step_time(unit, factor);
	case ROLE_THROUGHPUT:
		return measure_of_throughput(metric, unit);
	case ROLE_MFU:
		return MEASURE_MFU;
	case ROLE_OTHER:
		return measure_of_other(metric, unit);
	default:
		return MEASURE_NONE;
	}
}
