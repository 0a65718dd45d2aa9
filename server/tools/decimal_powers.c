/*
 * decimal_powers FILE: writes the table of base/text/decimal.h: powers of ten, each as the upper and lower half of its first 128 bits, rounded up:
 * ceil(10^k * 2^(127 - floor(log2(10^k)))). Of 10^k these are the bits of 5^k; of 10^-k those of 1 / 5^k, by long division.
 * (D. Lemire, Number Parsing at a Gigabyte per Second, 2021, has the same table for fast_float.)
 */
#include "base/text/decimal.h"

#include <stdbool.h>
#include <stdio.h>

enum { WORDS = 26, BITS = 32 * WORDS }; /* 5^324 has 753 bits */

struct big {
	uint32_t words[WORDS]; /* the lowest first */
};

static struct big power_of_five(int exponent)
{
	struct big n = {{1}};

	for (int i = 0; i < exponent; i++) {
		uint64_t carry = 0;
		for (int at = 0; at < WORDS; at++) {
			carry += (uint64_t)n.words[at] * 5;
			n.words[at] = (uint32_t)carry;
			carry >>= 32;
		}
	}
	return n;
}

static bool bit_of(const struct big *n, int at)
{
	return at >= 0 && n->words[at / 32] >> (at % 32) & 1;
}

static int bit_length(const struct big *n)
{
	int length = BITS;

	while (length && !bit_of(n, length - 1))
		length--;
	return length;
}

static void double_it(struct big *n)
{
	for (int at = WORDS - 1; at >= 0; at--)
		n->words[at] = n->words[at] << 1 | (at ? n->words[at - 1] >> 31 : 0);
}

/* False, and n as it was: it is less than b. */
static bool subtract(struct big *n, const struct big *b)
{
	struct big difference;
	int64_t borrow = 0;

	for (int at = 0; at < WORDS; at++) {
		borrow += (int64_t)n->words[at] - b->words[at];
		difference.words[at] = (uint32_t)borrow;
		borrow >>= 32;
	}
	if (borrow == 0)
		*n = difference;
	return borrow == 0;
}

static unsigned __int128 first_bits(const struct big *n)
{
	unsigned __int128 bits = 0;
	int length = bit_length(n);
	bool has_rest = false;

	for (int i = 1; i <= 128; i++)
		bits = bits << 1 | bit_of(n, length - i);
	for (int at = length - 129; at >= 0; at--)
		has_rest |= bit_of(n, at);
	return bits + has_rest;
}

static unsigned __int128 first_bits_of_inverse(const struct big *n)
{
	struct big rest = {{0}};
	unsigned __int128 bits = 0;
	int top = bit_length(n) - 1;

	rest.words[top / 32] = (uint32_t)1 << (top % 32); /* less than n, which is no power of two */
	for (int i = 0; i < 128; i++) {
		double_it(&rest);
		bits = bits << 1 | subtract(&rest, n);
	}
	return bits + 1; /* it never comes out even */
}

static void write_table(FILE *out)
{
	fprintf(out, "#include \"base/text/decimal.h\"\n\nconst uint64_t decimal_powers[DECIMAL_POWER_COUNT][2] = {\n");
	for (int i = 0; i < DECIMAL_POWER_COUNT; i++) {
		int exponent = DECIMAL_FIRST_POWER + i;
		struct big n = power_of_five(exponent < 0 ? -exponent : exponent);
		unsigned __int128 bits = exponent < 0 ? first_bits_of_inverse(&n) : first_bits(&n);
		fprintf(out, "\t{0x%016llx, 0x%016llx},\n", (unsigned long long)(bits >> 64), (unsigned long long)bits);
	}
	fprintf(out, "};\n");
}

int main(int count, char **arguments)
{
	FILE *out = count == 2 ? fopen(arguments[1], "w") : NULL;

	if (!out) {
		fprintf(stderr, "usage: decimal_powers FILE\n");
		return 2;
	}
	write_table(out);
	bool is_written = !ferror(out);
	return fclose(out) == 0 && is_written ? 0 : 1;
}
