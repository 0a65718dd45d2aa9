#include "detect/condition.h"

#include "detect/condition_program.h"

#include "detect/kind.h"

#include <math.h>
#include <stdlib.h>

enum { WARM_POINTS = 3 };

/* The newest finite points: in order of arrival, and by size where that is asked. */
struct window {
	uint32_t size;
	uint32_t count, next; /* next: the oldest, once it is full */
	uint32_t since_sum; /* points since the sum was made anew: what rounding left does not grow */
	double sum;
	double *ring;
	double *sorted;
};

struct watch {
	uint32_t attempt;
	bool is_true; /* for some points, or is_open */
	bool is_open;
	bool is_of_before; /* open, and of an earlier attempt: true again in this one it is another */
	bool is_unsaid; /* since the job went on. Not packed */
	int64_t since_step, since_ms;
	uint64_t since_points;
	uint64_t count; /* of all finite points */
	double min, max, sum;
	struct incident incident;
	struct window windows[CONDITION_WINDOWS];
	size_t window_count;
};

/* ---- windows ---- */

static size_t place_of(const struct window *w, double value)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void window_drop(struct window *w, double value)
{
	w->count--;
	w->sum -= value;
	if (!w->sorted)
		return;
	w->count++;
	size_t at = place_of(w, value);
	w->count--;
	memmove(w->sorted + at, w->sorted + at + 1, (w->count - at) * sizeof *w->sorted);
}

static void window_add(struct window *w, double value)
{
	uint32_t size = w->size;

	if (w->count == size)
		window_drop(w, w->ring[w->next]);
	if (w->sorted) {
		size_t at = place_of(w, value);
		memmove(w->sorted + at + 1, w->sorted + at, (w->count - at) * sizeof *w->sorted);
		w->sorted[at] = value;
	}
	w->ring[w->next] = value;
	w->next = (w->next + 1) % size;
	w->count++;
	w->sum += value;
	if (++w->since_sum < size)
		return;
	w->since_sum = 0;
	w->sum = 0;
	for (uint32_t i = 0; i < w->count; i++)
		w->sum += w->ring[i];
}

static double window_figure(const struct window *w, enum condition_op op)
{
	if (w->count < WARM_POINTS)
		return NAN; /* which satisfies no comparison */
	switch (op) {
	case CONDITION_WINDOW_MEAN:
		return w->sum / w->count;
	case CONDITION_WINDOW_MIN:
		return w->sorted[0];
	case CONDITION_WINDOW_MAX_OP:
		return w->sorted[w->count - 1];
	default:
		return (w->sorted[(w->count - 1) / 2] + w->sorted[w->count / 2]) / 2;
	}
}

/* ---- the program ---- */

static double figure_of(const struct watch *watch, const struct condition_step *step, double value)
{
	switch (step->op) {
	case CONDITION_NUMBER:
		return step->number;
	case CONDITION_LAST:
		return value;
	case CONDITION_MIN:
		return watch->count ? watch->min : NAN;
	case CONDITION_MAX:
		return watch->count ? watch->max : NAN;
	case CONDITION_MEAN:
		return watch->count ? watch->sum / (double)watch->count : NAN;
	case CONDITION_COUNT:
		return (double)watch->count;
	default:
		return window_figure(&watch->windows[step->window], step->op);
	}
}

static double join(enum condition_op op, double a, double b)
{
	switch (op) {
	case CONDITION_ADD:
		return a + b;
	case CONDITION_SUBTRACT:
		return a - b;
	case CONDITION_MULTIPLY:
		return a * b;
	case CONDITION_DIVIDE:
		return a / b;
	case CONDITION_LESS:
		return a < b;
	case CONDITION_AT_MOST:
		return a <= b;
	case CONDITION_MORE:
		return a > b;
	case CONDITION_AT_LEAST:
		return a >= b;
	case CONDITION_EQUAL:
		return a == b;
	case CONDITION_NOT_EQUAL:
		return a < b || a > b;
	case CONDITION_AND:
		return a != 0 && b != 0;
	default:
		return a != 0 || b != 0;
	}
}

struct outcome {
	bool is_true;
	double expected; /* the other side of the first comparison that held */
	bool has_expected;
};

static struct outcome evaluate(const struct watch *watch, const struct condition *expression, double value)
{
	double stack[CONDITION_STEPS_MAX] = {0};
	struct outcome outcome = {0};
	size_t top = 0;

	for (size_t i = 0; i < expression->step_count; i++) {
		const struct condition_step *step = &expression->steps[i];
		if (step->op < CONDITION_ADD) {
			stack[top++] = figure_of(watch, step, value);
		} else if (step->op == CONDITION_NEGATE) {
			stack[top - 1] = -stack[top - 1];
		} else if (step->op == CONDITION_NOT) {
			stack[top - 1] = stack[top - 1] == 0;
		} else {
			double left = stack[top - 2], right = stack[top - 1];
			stack[--top - 1] = join(step->op, left, right);
			if (step->op >= CONDITION_LESS && step->op <= CONDITION_NOT_EQUAL && stack[top - 1] != 0 &&
				!outcome.has_expected) {
				outcome.has_expected = true;
				outcome.expected = right;
			}
		}
	}
	outcome.is_true = stack[0] != 0;
	return outcome;
}

/* ---- a point ---- */

static void learn(struct watch *watch, double value)
{
	if (!isfinite(value))
		return;
	for (size_t i = 0; i < watch->window_count; i++)
		window_add(&watch->windows[i], value);
}

/* min, max, mean and count include the point itself. */
static void total(struct watch *watch, double value)
{
	if (!isfinite(value))
		return;
	watch->min = watch->count && watch->min < value ? watch->min : value;
	watch->max = watch->count && watch->max > value ? watch->max : value;
	watch->sum += value;
	watch->count++;
}

/* A restart from a checkpoint: what was is not what is usual now. */
static void forget(struct watch *watch)
{
	for (size_t i = 0; i < watch->window_count; i++) {
		struct window *w = &watch->windows[i];
		*w = (struct window){.size = w->size, .ring = w->ring, .sorted = w->sorted};
	}
	watch->is_of_before = watch->is_open;
	watch->is_true = false;
}

static bool lasts(const struct watch *watch, const struct condition *expression, const struct point *point)
{
	switch (expression->unit) {
	case CONDITION_STEPS:
		return point->step - watch->since_step >= expression->lasting;
	case CONDITION_MS:
		return point->ts_ms - watch->since_ms >= expression->lasting;
	default:
		return watch->since_points >= (uint64_t)expression->lasting;
	}
}

static void begin(struct watch *watch, const struct point *point)
{
	watch->is_true = true;
	watch->since_step = point->step;
	watch->since_ms = point->ts_ms;
	watch->since_points = 0;
}

static void open_incident(
	struct watch *watch, uint64_t ordinal, const struct point *point, double wanted, const struct report_to *to)
{
	if (watch->is_of_before) {
		watch->incident.closed_why = INCIDENT_CLOSED_WITH_ATTEMPT;
		incident_close(&watch->incident, point, to);
	}
	watch->is_open = true;
	watch->is_of_before = watch->is_unsaid = false;
	watch->incident = incident_at(INCIDENT_RULE, SEVERITY_WARNING, ordinal, point);
	watch->incident.first_step = watch->since_step;
	watch->incident.expected = wanted;
	to->report(to->context, INCIDENT_OPENED, &watch->incident);
}

static void follow(struct watch *watch, const struct point *point)
{
	struct incident *incident = &watch->incident;
	double far = fabs(point->value - incident->expected), before = fabs(incident->worst - incident->expected);

	incident->last_step = point->step;
	if (!(far > before))
		return;
	incident->worst = point->value;
	incident->worst_step = point->step;
}

void watch_say_again(struct watch *watch)
{
	watch->is_unsaid = true;
}

static void say_again(struct watch *watch, const struct point *point, const struct report_to *to)
{
	struct incident again = incident_again(&watch->incident, point);

	watch->is_unsaid = false;
	to->report(to->context, INCIDENT_UPDATED, &again);
}

void watch_feed(struct watch *watch, const struct condition *expression, uint64_t ordinal, const struct point *point,
	detector_report *report, void *context)
{
	struct report_to to = {report, context};

	if (point->attempt != watch->attempt)
		forget(watch);
	watch->attempt = point->attempt;
	total(watch, point->value);
	struct outcome outcome = evaluate(watch, expression, point->value);
	learn(watch, point->value);
	if (!outcome.is_true) {
		watch->is_true = false;
		if (watch->is_open)
			incident_close(&watch->incident, point, &to);
		watch->is_open = watch->is_of_before = false;
		return;
	}
	if (!watch->is_true || point->step < watch->since_step)
		begin(watch, point);
	watch->since_points++;
	if (watch->is_open && !watch->is_of_before)
		follow(watch, point);
	else if (lasts(watch, expression, point))
		open_incident(watch, ordinal, point, outcome.expected, &to);
	if (watch->is_open && !watch->is_of_before && watch->is_unsaid)
		say_again(watch, point, &to);
}

/* ---- its life ---- */

struct watch *watch_new(const struct condition *expression)
{
	AUTO(watch) watch = mem_zeroed(sizeof *watch);

	if (!watch)
		return NULL;
	for (size_t i = 0; i < expression->window_count; i++, watch->window_count++) {
		size_t bytes = expression->windows[i] * sizeof(double);
		watch->windows[i].size = expression->windows[i];
		watch->windows[i].ring = mem_zeroed(bytes);
		watch->windows[i].sorted = expression->is_sorted[i] ? mem_zeroed(bytes) : NULL;
		if (!watch->windows[i].ring || (expression->is_sorted[i] && !watch->windows[i].sorted)) {
			watch->window_count++;
			return NULL;
		}
	}
	return TAKE(watch);
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->window_count; i++) {
		mem_free(watch->windows[i].ring);
		mem_free(watch->windows[i].sorted);
	}
	mem_free(watch);
}

static void pack_window(const struct window *w, struct buf *out)
{
	uint32_t size = w->size, oldest = w->count == size ? w->next : 0;

	pack_u64(out, size);
	pack_u64(out, w->count);
	pack_u64(out, w->since_sum);
	pack_double(out, w->sum);
	for (uint32_t i = 0; i < w->count; i++)
		pack_double(out, w->ring[(oldest + i) % size]);
}

void watch_pack(const struct watch *watch, struct buf *out)
{
	pack_u64(out, watch->attempt);
	pack_u64(out, (watch->is_true ? 1u : 0) | (watch->is_open ? 2u : 0) | (watch->is_of_before ? 4u : 0));
	pack_i64(out, watch->since_step);
	pack_i64(out, watch->since_ms);
	pack_u64(out, watch->since_points);
	pack_u64(out, watch->count);
	pack_double(out, watch->min);
	pack_double(out, watch->max);
	pack_double(out, watch->sum);
	if (watch->is_open)
		incident_pack(&watch->incident, out);
	pack_u64(out, watch->window_count);
	for (size_t i = 0; i < watch->window_count; i++)
		pack_window(&watch->windows[i], out);
}

static int by_size(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static void unpack_window(struct window *w, struct unpacker *in)
{
	uint32_t size = w->size;
	uint64_t stated = unpack_u64(in), count = unpack_u64(in), since_sum = unpack_u64(in);

	w->sum = unpack_double(in);
	in->has_failed |= stated != size || count > size || since_sum >= size || !isfinite(w->sum);
	for (uint64_t i = 0; i < count && !in->has_failed; i++) {
		w->ring[i] = unpack_double(in);
		in->has_failed |= !isfinite(w->ring[i]);
	}
	if (in->has_failed)
		return;
	w->count = (uint32_t)count;
	w->since_sum = (uint32_t)since_sum;
	w->next = w->count % size;
	if (w->sorted) {
		memcpy(w->sorted, w->ring, count * sizeof *w->sorted);
		qsort(w->sorted, count, sizeof *w->sorted, by_size);
	}
}

static void unpack_figures(struct watch *watch, struct unpacker *in)
{
	watch->attempt = (uint32_t)unpack_u64(in);
	uint64_t flags = unpack_u64(in);
	watch->is_true = flags & 1;
	watch->is_open = flags & 2;
	watch->is_of_before = watch->is_open && flags & 4;
	watch->since_step = unpack_i64(in);
	watch->since_ms = unpack_i64(in);
	watch->since_points = unpack_u64(in);
	watch->count = unpack_u64(in);
	watch->min = unpack_double(in);
	watch->max = unpack_double(in);
	watch->sum = unpack_double(in);
	if (watch->is_open)
		incident_unpack(&watch->incident, in);
	in->has_failed |= flags > 7 || (watch->is_open && watch->incident.kind != INCIDENT_RULE);
}

enum status watch_unpack(struct watch **out, const struct condition *expression, struct unpacker *in, struct error *err)
{
	AUTO(watch) watch = watch_new(expression);

	if (!watch)
		return error_no_memory(err);
	unpack_figures(watch, in);
	in->has_failed |= unpack_u64(in) != watch->window_count;
	for (size_t i = 0; i < watch->window_count && !in->has_failed; i++)
		unpack_window(&watch->windows[i], in);
	if (in->has_failed)
		return error_set(err, ERR_INVALID, "the state of a rule's expression is damaged");
	*out = TAKE(watch);
	return OK;
}
