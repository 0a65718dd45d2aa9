#include "extract/derive.h"

#include <stdlib.h>

enum {
	RECENT = 5,
	RECENT_MIN = 3,
	OFF_MAX = 3,
	OFF_FACTOR = 3,
	WINDOW_MS = 1000,
	WINDOW_COARSE_MS = 10000,
	VERSION = 2,
	VERSION_OF_NONE_HELD = 1,
	SETTLED = DERIVED_HELD_MAX,
};

static const double EVEN_SHARE = 0.1;

/* The newest value of a measure. */
struct seen {
	bool is_any;
	int64_t step;
	double value;
};

/* A step whose tokens are not derived yet. */
struct held_step {
	struct point point;
	double samples; /* consumed, as printed; NaN: not */
};

struct derive {
	struct seen seen[MEASURE_COUNT];
	bool has_leading;
	uint32_t settled; /* steps so far, up to SETTLED: the log has had the time to say it all itself */
	uint32_t leading;
	int64_t step; /* of the leading series, the newest */
	int64_t step_before;
	int64_t ts_ms;
	uint32_t attempt;
	/* The pace out of log time. */
	bool has_mark;
	bool has_fine_time; /* milliseconds were seen */
	int64_t mark_step;
	int64_t mark_ms;
	double recent[RECENT]; /* ms a step */
	uint32_t recent_count;
	uint32_t off_count; /* in a row */
	double rate; /* steps/s, the newest; 0: none */
	double even_rate; /* the mean of the last ten or so, each counting less than the next */
	struct seen samples, tokens; /* the sums printed last */
	double batch; /* consumed samples a step; 0: not known */
	double token_batch; /* the same of tokens */
	double printed_batch; /* the global one; 0: none was printed, or several */
	bool has_batches; /* several were */
	struct held_step held[DERIVED_HELD_MAX]; /* the first, of one attempt */
	uint32_t held_count;
	/* The line being read. */
	bool has_step;
	bool has_sifted;
	struct point point;
};

struct derive *derive_new(void)
{
	struct derive *derive = mem_zeroed(sizeof *derive);

	if (derive)
		derive->step = derive->step_before = -1;
	return derive;
}

void derive_free(struct derive *derive)
{
	mem_free(derive);
}

static void forget_pace(struct derive *derive)
{
	derive->has_mark = false;
	derive->recent_count = derive->off_count = 0;
	derive->rate = derive->even_rate = 0;
	derive->batch = derive->token_batch = 0;
	derive->samples.is_any = derive->tokens.is_any = false;
}

/* A step is worth the same number of samples only where all were of one batch. */
static void see_batch(struct derive *derive, double batch)
{
	bool is_other = derive->printed_batch > 0 && derive->printed_batch != batch;

	derive->has_batches = derive->has_batches || is_other || !(batch > 0);
	derive->printed_batch = derive->has_batches ? 0 : batch;
}

void derive_see(struct derive *derive, enum measure measure, double factor, uint32_t series, const struct point *point)
{
	if (measure == MEASURE_LOSS) {
		if (!derive->has_leading) {
			derive->has_leading = true;
			derive->leading = series;
		}
		if (derive->leading != series || (point->step == derive->step && point->attempt == derive->attempt))
			return;
		derive->has_step = true;
		derive->point = *point;
		return;
	}
	derive->seen[measure] = (struct seen){true, point->step, point->value * factor};
	if (measure == MEASURE_GLOBAL_BATCH)
		see_batch(derive, point->value * factor);
	derive->has_sifted = derive->has_sifted || measure == MEASURE_KEPT || measure == MEASURE_DROPPED;
	if (derive->has_sifted && !derive->has_step)
		derive->point = *point;
}

bool derive_has_step(const struct derive *derive)
{
	return derive->has_step || derive->has_sifted;
}

/* ---- the pace ---- */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double usual(const struct derive *derive)
{
	uint32_t count = derive->recent_count < RECENT ? derive->recent_count : RECENT;
	double sorted[RECENT];

	memcpy(sorted, derive->recent, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, compare);
	return sorted[count / 2];
}

static bool is_off(const struct derive *derive, double ms_a_step)
{
	return derive->recent_count >= RECENT_MIN &&
	       (ms_a_step > usual(derive) * OFF_FACTOR || ms_a_step * OFF_FACTOR < usual(derive));
}

/* True: a rate by log time between the mark and this point. In doubles: times may be any number. */
static bool pace_by_time(struct derive *derive, const struct point *point)
{
	double window_ms = derive->has_fine_time ? WINDOW_MS : WINDOW_COARSE_MS;
	double steps = (double)point->step - (double)derive->mark_step;
	double ms = (double)point->ts_ms - (double)derive->mark_ms;
	bool has_mark = derive->has_mark;

	if (has_mark && steps > 0 && ms >= 0 && ms < window_ms)
		return false; /* it grows */
	derive->has_mark = true;
	derive->mark_step = point->step;
	derive->mark_ms = point->ts_ms;
	if (!has_mark || steps <= 0 || ms < 0)
		return false;
	double ms_a_step = ms / steps;
	if (is_off(derive, ms_a_step)) {
		if (++derive->off_count < OFF_MAX)
			return false;
		derive->recent_count = 0; /* the new pace */
	}
	derive->off_count = 0;
	derive->recent[derive->recent_count++ % RECENT] = ms_a_step;
	if (derive->recent_count == 2 * RECENT)
		derive->recent_count = RECENT;
	derive->rate = 1000 / ms_a_step;
	return true;
}

/* Of this step, or of the one before (some print the time of a step behind its loss). */
static const struct seen *fresh(const struct derive *derive, enum measure measure)
{
	const struct seen *seen = &derive->seen[measure];
	bool is_fresh = seen->is_any && isfinite(seen->value) && seen->value > 0 &&
			(seen->step == derive->step || seen->step == derive->step_before);

	return is_fresh ? seen : NULL;
}

static bool find_pace(struct derive *derive, const struct point *point, bool is_timed)
{
	const struct seen *said = fresh(derive, MEASURE_STEPS_PER_SECOND), *time = fresh(derive, MEASURE_STEP_TIME);

	if (said || time) {
		derive->rate = said ? said->value : 1 / time->value;
		return true;
	}
	if (!is_timed || derive->seen[MEASURE_STEP_TIME].is_any || derive->seen[MEASURE_STEPS_PER_SECOND].is_any)
		return false; /* the log says it, only not here */
	derive->has_fine_time = derive->has_fine_time || point->ts_ms % 1000 != 0;
	return pace_by_time(derive, point);
}

/* What a step consumes, from its printed sum: right also while the batch grows. */
static void find_increment(const struct seen *now, struct seen *last, double *each)
{
	if (!now->is_any || !isfinite(now->value) || (last->is_any && now->step == last->step))
		return;
	if (last->is_any && now->step > last->step && now->value > last->value)
		*each = (now->value - last->value) / ((double)now->step - (double)last->step);
	*last = *now;
}

/* ---- what follows ---- */

struct emission {
	struct derived_point *out;
	size_t count;
	const struct point *at;
};

static void emit(struct emission *emission, enum derived derived, double value)
{
	if (!isfinite(value) || value < 0)
		return;
	struct derived_point *made = &emission->out[emission->count++];
	*made = (struct derived_point){derived, *emission->at};
	made->point.value = value;
}

static double tokens_a_step(const struct derive *derive, const struct inputs *inputs)
{
	double length = inputs->items[INPUT_SEQUENCE_LENGTH].value;

	if (derive->token_batch > 0)
		return derive->token_batch;
	if (derive->batch > 0 && length > 0)
		return derive->batch * length;
	if (inputs->items[INPUT_TOKENS_PER_STEP].value > 0)
		return inputs->items[INPUT_TOKENS_PER_STEP].value;
	return derive->printed_batch * length;
}

static double consumed_samples(const struct derive *derive)
{
	const struct seen *samples = fresh(derive, MEASURE_CONSUMED_SAMPLES);

	return samples ? samples->value : NAN;
}

/* NaN: not known. */
static double tokens_until(
	const struct derive *derive, const struct inputs *inputs, const struct point *at, double samples)
{
	double length = inputs->items[INPUT_SEQUENCE_LENGTH].value, tokens = tokens_a_step(derive, inputs);

	if (isfinite(samples) && length > 0)
		return samples * length;
	return !derive->seen[MEASURE_CONSUMED_SAMPLES].is_any && tokens > 0 ? (double)at->step * tokens : NAN;
}

static void derive_tokens(struct derive *derive, const struct inputs *inputs, struct emission *emission)
{
	double tokens = tokens_until(derive, inputs, emission->at, consumed_samples(derive));
	const struct point *now = emission->at;

	if (derive->seen[MEASURE_TOKENS].is_any || !isfinite(tokens))
		return;
	for (uint32_t i = 0; i < derive->held_count; i++) {
		const struct held_step *held = &derive->held[i];
		emission->at = &held->point;
		emit(emission, DERIVED_TOKENS, tokens_until(derive, inputs, &held->point, held->samples));
	}
	derive->held_count = 0;
	emission->at = now;
	emit(emission, DERIVED_TOKENS, tokens);
}

/* tokens/s of one device: printed, or out of the pace; 0: not known at this step. */
static double derive_token_rates(
	const struct derive *derive, const struct inputs *inputs, bool has_pace, struct emission *emission)
{
	const struct seen *all = fresh(derive, MEASURE_TOKENS_PER_SECOND);
	const struct seen *each = fresh(derive, MEASURE_TOKENS_PER_SECOND_PER_DEVICE);
	double devices = inputs->items[INPUT_DEVICES].value, tokens = tokens_a_step(derive, inputs), rate = 0;

	if (derive->seen[MEASURE_TOKENS_PER_SECOND].is_any)
		rate = all ? all->value : 0;
	else if (derive->seen[MEASURE_TOKENS_PER_SECOND_PER_DEVICE].is_any)
		rate = each && devices > 0 ? each->value * devices : 0;
	else
		rate = has_pace && tokens > 0 ? derive->rate * tokens : 0;
	if (rate > 0 && !derive->seen[MEASURE_TOKENS_PER_SECOND].is_any)
		emit(emission, DERIVED_TOKENS_PER_SECOND, rate);
	if (derive->seen[MEASURE_TOKENS_PER_SECOND_PER_DEVICE].is_any)
		return each ? each->value : 0;
	if (rate <= 0 || devices <= 0)
		return 0;
	emit(emission, DERIVED_TOKENS_PER_SECOND_PER_DEVICE, rate / devices);
	return rate / devices;
}

static void derive_efficiency(
	const struct derive *derive, const struct inputs *inputs, double tokens_per_second, struct emission *emission)
{
	const struct seen *said = fresh(derive, MEASURE_TFLOPS);
	double peak = inputs->items[INPUT_PEAK_TFLOPS].value, parameters = inputs->items[INPUT_PARAMETERS].value;
	double tflops = said ? said->value : 6 * parameters * tokens_per_second / 1e12;

	if (!derive->seen[MEASURE_TFLOPS].is_any && tflops > 0)
		emit(emission, DERIVED_TFLOPS_PER_DEVICE, tflops);
	else if (!said)
		return;
	if (!derive->seen[MEASURE_MFU].is_any && tflops > 0 && peak > 0)
		emit(emission, DERIVED_MFU, 100 * tflops / peak);
}

static void derive_kept(const struct derive *derive, struct emission *emission)
{
	const struct seen *kept = &derive->seen[MEASURE_KEPT], *dropped = &derive->seen[MEASURE_DROPPED];

	if (kept->is_any && dropped->is_any && kept->step == dropped->step && kept->value >= 0 && dropped->value >= 0 &&
		kept->value + dropped->value > 0)
		emit(emission, DERIVED_KEPT_SHARE, 100 * kept->value / (kept->value + dropped->value));
}

static void begin_step(struct derive *derive)
{
	const struct point *point = &derive->point;

	if (point->attempt != derive->attempt || point->step < derive->step) {
		forget_pace(derive);
		derive->held_count = 0;
	}
	derive->step_before = point->attempt == derive->attempt ? derive->step : -1;
	derive->attempt = point->attempt;
	derive->step = point->step;
	derive->ts_ms = point->ts_ms;
}

/* The log has not had the time to say it all itself. */
static void hold_step(struct derive *derive)
{
	derive->settled++;
	derive->held[derive->held_count++] = (struct held_step){derive->point, consumed_samples(derive)};
}

static void derive_step(struct derive *derive, const struct inputs *inputs, bool has_pace, struct emission *emission)
{
	if (has_pace && !derive->seen[MEASURE_STEPS_PER_SECOND].is_any)
		emit(emission, DERIVED_STEPS_PER_SECOND, derive->rate);
	derive_tokens(derive, inputs, emission);
	double rate = derive_token_rates(derive, inputs, has_pace, emission);
	derive_efficiency(derive, inputs, rate, emission);
}

size_t derive_line(struct derive *derive, const struct inputs *inputs, int64_t arrival_ms,
	struct derived_point out[DERIVED_POINTS_MAX])
{
	struct emission emission = {out, 0, &derive->point};

	if (derive->has_sifted)
		derive_kept(derive, &emission);
	if (derive->has_step) {
		begin_step(derive);
		bool has_pace = find_pace(derive, &derive->point, derive->point.ts_ms != arrival_ms);
		if (has_pace)
			derive->even_rate +=
				(derive->rate - derive->even_rate) * (derive->even_rate > 0 ? EVEN_SHARE : 1);
		find_increment(&derive->seen[MEASURE_CONSUMED_SAMPLES], &derive->samples, &derive->batch);
		find_increment(&derive->seen[MEASURE_TOKENS], &derive->tokens, &derive->token_batch);
		if (derive->settled < SETTLED)
			hold_step(derive);
		else
			derive_step(derive, inputs, has_pace, &emission);
	}
	derive->has_step = derive->has_sifted = false;
	return emission.count;
}

struct progress derive_progress(const struct derive *derive)
{
	const struct seen *epoch = &derive->seen[MEASURE_EPOCH];
	bool has_epoch = epoch->is_any && epoch->step == derive->step && epoch->value > 0;

	return (struct progress){derive->step, derive->ts_ms, derive->even_rate, has_epoch ? epoch->value : 0};
}

/* ---- as bytes: between two lines ---- */

static void pack_seen(const struct seen *seen, struct buf *out)
{
	pack_u64(out, seen->is_any);
	if (!seen->is_any)
		return;
	pack_i64(out, seen->step);
	pack_double(out, seen->value);
}

static struct seen unpack_seen(struct unpacker *in)
{
	struct seen seen = {.is_any = unpack_u64(in) != 0};

	if (seen.is_any) {
		seen.step = unpack_i64(in);
		seen.value = unpack_double(in);
	}
	return seen;
}

static void pack_held(const struct held_step *held, struct buf *out)
{
	pack_i64(out, held->point.step);
	pack_i64(out, held->point.ts_ms);
	pack_u64(out, held->point.line);
	pack_u64(out, held->point.attempt);
	pack_double(out, held->samples);
}

static struct held_step unpack_held(struct unpacker *in)
{
	struct held_step held = {.samples = NAN};

	held.point.step = unpack_i64(in);
	held.point.ts_ms = unpack_i64(in);
	held.point.line = unpack_u64(in);
	held.point.attempt = (uint32_t)unpack_u64(in);
	held.samples = unpack_double(in);
	return held;
}

/* What older states do not have: they are past the steps that would be held, or tell them without. */
static bool unpack_newer(struct derive *derive, struct unpacker *in)
{
	derive->printed_batch = unpack_double(in);
	derive->has_batches = unpack_u64(in) != 0;
	uint64_t held = unpack_u64(in);
	if (held > DERIVED_HELD_MAX || held > derive->settled)
		return false;
	for (; derive->held_count < held; derive->held_count++)
		derive->held[derive->held_count] = unpack_held(in);
	return true;
}

void derive_pack(const struct derive *derive, struct buf *out)
{
	pack_u64(out, VERSION);
	pack_u64(out, MEASURE_COUNT);
	for (size_t i = 0; i < MEASURE_COUNT; i++)
		pack_seen(&derive->seen[i], out);
	pack_u64(out, derive->has_leading);
	pack_u64(out, derive->settled);
	pack_u64(out, derive->leading);
	pack_i64(out, derive->step);
	pack_i64(out, derive->step_before);
	pack_i64(out, derive->ts_ms);
	pack_u64(out, derive->attempt);
	pack_u64(out, derive->has_mark);
	pack_u64(out, derive->has_fine_time);
	pack_i64(out, derive->mark_step);
	pack_i64(out, derive->mark_ms);
	pack_u64(out, derive->recent_count);
	for (size_t i = 0; i < RECENT; i++)
		pack_double(out, derive->recent[i]);
	pack_u64(out, derive->off_count);
	pack_double(out, derive->rate);
	pack_double(out, derive->even_rate);
	pack_seen(&derive->samples, out);
	pack_seen(&derive->tokens, out);
	pack_double(out, derive->batch);
	pack_double(out, derive->token_batch);
	pack_double(out, derive->printed_batch);
	pack_u64(out, derive->has_batches);
	pack_u64(out, derive->held_count);
	for (uint32_t i = 0; i < derive->held_count; i++)
		pack_held(&derive->held[i], out);
}

enum status derive_unpack(struct derive **out, struct unpacker *in, struct error *err)
{
	AUTO(derive) derive = derive_new();

	if (!derive)
		return error_no_memory(err);
	uint64_t version = unpack_u64(in), measures = unpack_u64(in);
	for (size_t i = 0; i < measures && i < MEASURE_COUNT; i++)
		derive->seen[i] = unpack_seen(in);
	derive->has_leading = unpack_u64(in) != 0;
	uint64_t settled = unpack_u64(in);
	derive->settled = (uint32_t)settled;
	derive->leading = (uint32_t)unpack_u64(in);
	derive->step = unpack_i64(in);
	derive->step_before = unpack_i64(in);
	derive->ts_ms = unpack_i64(in);
	derive->attempt = (uint32_t)unpack_u64(in);
	derive->has_mark = unpack_u64(in) != 0;
	derive->has_fine_time = unpack_u64(in) != 0;
	derive->mark_step = unpack_i64(in);
	derive->mark_ms = unpack_i64(in);
	uint64_t recent = unpack_u64(in);
	derive->recent_count = (uint32_t)recent;
	for (size_t i = 0; i < RECENT; i++)
		derive->recent[i] = unpack_double(in);
	derive->off_count = (uint32_t)unpack_u64(in);
	derive->rate = unpack_double(in);
	derive->even_rate = unpack_double(in);
	derive->samples = unpack_seen(in);
	derive->tokens = unpack_seen(in);
	derive->batch = unpack_double(in);
	derive->token_batch = unpack_double(in);
	bool is_whole = version == VERSION_OF_NONE_HELD || unpack_newer(derive, in);
	if (in->has_failed || version > VERSION || !version || !is_whole || measures > MEASURE_COUNT ||
		settled > SETTLED || recent >= 2 * RECENT || derive->off_count >= OFF_MAX)
		return error_set(err, ERR_INVALID, "the state of derived metrics is damaged");
	*out = TAKE(derive);
	return OK;
}
