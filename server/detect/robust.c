#include "detect/robust.h"
#include "detect/order.h"

#include <endian.h>
#include <math.h>

enum { GAP_STEPS = 1000, GAP_TIMES = 100, DIGITS_LEAST = 2, DIGITS_MOST = 6 };

static const double long_share = 1.0 / 8; /* of a fit in long_spread */
static const double floor_share = 0.002; /* of the level: below that, a difference is of no interest */
static const double largest = 1e30;

_Static_assert((int)ROBUST_WINDOW <= (int)ORDER_MOST, "its median is looked for");

void robust_clear(struct robust_window *window)
{
	*window = (struct robust_window){0};
}

static double median(const float *values, size_t count)
{
	return (double)order_select(values, count, count / 2);
}

static size_t in_order(const struct robust_window *window, float out[ROBUST_WINDOW])
{
	size_t first = window->count < ROBUST_WINDOW ? 0 : window->next, older = window->count - first;

	memcpy(out, window->values + first, older * sizeof *out);
	memcpy(out + older, window->values, first * sizeof *out);
	return window->count;
}

double robust_quantum(double value)
{
	double quantum = 1;

	for (int digits = 0; digits <= DIGITS_MOST; digits++) {
		if (fabs(value / quantum - round(value / quantum)) < 1e-5 * fabs(value / quantum))
			return digits < DIGITS_LEAST ? 0 : quantum;
		quantum /= 10;
	}
	return 0;
}

/* The smallest difference between neighbours that is not 0: logs print few digits, and a quantum is no excursion. */
static double quantum_of(const float *values, size_t count)
{
	double smallest = INFINITY;

	for (size_t i = 1; i < count; i++) {
		double step = fabs((double)values[i] - (double)values[i - 1]);
		smallest = step > 0 && step < smallest ? step : smallest;
	}
	return isinf(smallest) ? robust_quantum((double)values[0]) : smallest;
}

static double correlation_of(const float *residuals, size_t count, double spread)
{
	double products = 0, squares = 0, limit = 3 * spread, before = 0;

	for (size_t i = 0; i < count; i++) {
		double r = robust_clip((double)residuals[i], -limit, limit);
		products += r * before;
		squares += r * r;
		before = r;
	}
	return squares > 0 ? fmax(0, fmin(0.95, products / squares)) : 0;
}

static void fit(struct robust_window *window)
{
	float values[ROBUST_WINDOW] = {0}, residuals[ROBUST_WINDOW], sizes[ROBUST_WINDOW];
	size_t count = in_order(window, values), half = count / 2;
	double older = median(values, half), newer = median(values + half, count - half);
	double slope = (newer - older) / (double)half, middle = (older + newer) / 2;

	for (size_t i = 0; i < count; i++) {
		double straight = middle + slope * ((double)i - (double)(count - 1) / 2);
		residuals[i] = (float)((double)values[i] - straight);
		sizes[i] = fabsf(residuals[i]);
	}
	double spread = 1.4826 * median(sizes, count);
	spread = fmax(spread, fmax(floor_share * fabs(newer), quantum_of(values, count)));
	bool is_known = count == ROBUST_WINDOW && window->long_spread > 0;
	window->long_spread = is_known ? window->long_spread + long_share * (spread - window->long_spread) : spread;
	window->spread = spread;
	window->correlation = correlation_of(residuals, count, spread);
	window->slope = fmin(0, slope);
	window->level = slope < 0 ? newer + fmax(slope * (double)half / 2, -spread) : middle;
	window->since_fit = 0;
}

void robust_add(struct robust_window *window, double value)
{
	double finite = value < largest ? value : largest;
	window->values[window->next] = (float)(finite < -largest ? -largest : finite);
	window->next = (window->next + 1) % ROBUST_WINDOW;
	window->count += window->count < ROBUST_WINDOW;
	window->since_fit++;
	uint32_t patience = window->count < ROBUST_WINDOW ? ROBUST_REFIT / 4 : ROBUST_REFIT; /* young curves bend */
	if (window->count >= 2 && window->since_fit >= patience)
		fit(window);
}

void robust_refit(struct robust_window *window)
{
	if (window->count >= 2)
		fit(window);
}

bool robust_is_gap(double distance, double before)
{
	return distance >= GAP_STEPS && before > 0 && distance >= GAP_TIMES * before;
}

bool robust_is_far(const struct robust_window *window, double value, double least)
{
	double low = INFINITY, high = -INFINITY;

	if (window->count < 2 || window->count >= ROBUST_FEW)
		return false;
	for (size_t i = 0; i < window->count; i++) {
		low = fmin(low, (double)window->values[i]);
		high = fmax(high, (double)window->values[i]);
	}
	return value - high > least && value - high > 3 * (high - low);
}

double robust_expected(const struct robust_window *window)
{
	return window->level + fmax(window->slope * (window->since_fit + 1), -window->spread);
}

void robust_pack(const struct robust_window *window, struct buf *out)
{
	pack_u64(out, window->count);
	pack_u64(out, window->next);
	pack_u64(out, window->since_fit);
	pack_double(out, window->level);
	pack_double(out, window->slope);
	pack_double(out, window->spread);
	pack_double(out, window->correlation);
	pack_double(out, window->long_spread);
	for (size_t i = 0; i < window->count; i++) {
		uint32_t bits;
		memcpy(&bits, &window->values[i], sizeof bits);
		bits = htole32(bits);
		buf_append(out, &bits, sizeof bits);
	}
}

void robust_unpack(struct robust_window *window, unsigned format, struct unpacker *in)
{
	uint64_t count = unpack_u64(in), next = unpack_u64(in), since_fit = unpack_u64(in);

	window->level = unpack_double(in);
	window->slope = unpack_double(in);
	window->spread = unpack_double(in);
	window->correlation = unpack_double(in);
	window->long_spread = format > 1 ? unpack_double(in) : window->spread;
	size_t bytes = (size_t)count * sizeof *window->values;
	in->has_failed |= count > ROBUST_WINDOW || next >= ROBUST_WINDOW || since_fit > ROBUST_REFIT ||
			  (count < ROBUST_WINDOW && next != count) || in->rest.len < bytes;
	if (in->has_failed) {
		robust_clear(window);
		return;
	}
	window->count = (uint32_t)count;
	window->next = (uint32_t)next;
	window->since_fit = (uint32_t)since_fit;
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, in->rest.ptr + i * sizeof bits, sizeof bits);
		bits = le32toh(bits);
		memcpy(&window->values[i], &bits, sizeof bits);
		/* A NaN would send the selection past its end. */
		in->has_failed |= !isfinite(window->values[i]);
	}
	in->rest = span_skip(in->rest, bytes);
}
