#include "base/text/decimal.h"

#include <string.h>

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1075, EXPONENT_MOST = 2046 };

/* floor(q * log10(2)), and for the lower edge of a power of two floor(q * log10(2) + log10(3/4)): exact for all doubles. */
static int floor_log10_pow2(int q, bool is_edge)
{
	return (q * 1262611 - (is_edge ? 524031 : 0)) >> 22;
}

static int floor_log2_pow10(int k)
{
	return (k * 1741647) >> 19;
}

/* The upper part of power * factor, with the lowest bit set when anything was cut off ("round to odd"). */
static uint64_t scale(const uint64_t power[2], uint64_t factor)
{
	unsigned __int128 low = (unsigned __int128)power[1] * factor;
	unsigned __int128 high = (unsigned __int128)power[0] * factor + (uint64_t)(low >> 64);

	return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* lower, middle and upper are four times the scaled edges of all that rounds to the value, and the value itself. */
static struct decimal choose(uint64_t lower, uint64_t middle, uint64_t upper, int k)
{
	uint64_t whole = middle / 4, tens = whole / 10;

	if (whole >= 10) {
		bool is_below_inside = lower <= 40 * tens, is_above_inside = 40 * tens + 40 <= upper;
		if (is_below_inside != is_above_inside)
			return (struct decimal){tens + is_above_inside, k + 1};
	}
	bool is_below_inside = lower <= 4 * whole, is_above_inside = 4 * whole + 4 <= upper;
	if (is_below_inside != is_above_inside)
		return (struct decimal){whole + is_above_inside, k};
	uint64_t half = 4 * whole + 2;
	bool goes_up = middle > half || (middle == half && (whole & 1));
	return (struct decimal){whole + goes_up, k};
}

struct decimal decimal_shortest(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	uint64_t fraction = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
	int biased = (int)(bits >> FRACTION_BITS & 0x7ff);
	uint64_t c = biased ? fraction | (uint64_t)1 << FRACTION_BITS : fraction;
	int q = (biased ? biased : 1) - EXPONENT_BIAS;
	bool is_edge = fraction == 0 && biased > 1; /* the next double below is half as far as the one above */
	bool is_odd = c & 1; /* ties round to even: an odd value does not own its edges */
	int k = floor_log10_pow2(q, is_edge);
	int shift = q + floor_log2_pow10(-k) + 1;
	const uint64_t *power = decimal_powers[-k - DECIMAL_FIRST_POWER];

	return choose(scale(power, (4 * c - 2 + is_edge) << shift) + is_odd, scale(power, 4 * c << shift),
		scale(power, (4 * c + 2) << shift) - is_odd, k);
}

/*
 * The upper 128 bits of digits and power as a product: the power was rounded up and the rest cut off, so what is meant lies less than one
 * beside. Only half way between two doubles that matters.
 */
bool decimal_read(uint64_t digits, int power, double *value)
{
	if (!digits || power < DECIMAL_FIRST_POWER || power > DECIMAL_LAST_POWER)
		return false;
	int zeros = __builtin_clzll(digits);
	const uint64_t *factor = decimal_powers[power - DECIMAL_FIRST_POWER];
	unsigned __int128 low = (unsigned __int128)factor[1] * (digits << zeros);
	unsigned __int128 product = (unsigned __int128)factor[0] * (digits << zeros) + (uint64_t)(low >> 64);
	int cut = 127 - FRACTION_BITS - !(product >> 127);
	unsigned __int128 one = 1, half = one << (cut - 1), rest = product & ((one << cut) - 1);
	if (rest - half + 1 <= 2)
		return false;
	uint64_t bits = (uint64_t)(product >> cut) + (rest > half);
	int exponent = cut + floor_log2_pow10(power) - 63 - zeros + EXPONENT_BIAS;
	if (exponent < 1 || exponent >= EXPONENT_MOST)
		return false;
	/* the leading bit counts as one in the exponent, and so does a carry into the next power of two */
	bits += (uint64_t)(exponent - 1) << FRACTION_BITS;
	memcpy(value, &bits, sizeof bits);
	return true;
}
