/*
 * Job: the shortest decimal number that reads back as the same double, and the double that a decimal number is.
 * Ownership: values. Threads: any.
 * Source: R. Giulietti, "The Schubfach way to render doubles" (2021); D. Lemire, "Number Parsing at a Gigabyte per Second" (2021).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct decimal {
	uint64_t digits; /* at most 17 digits, perhaps with zeros at the end */
	int exponent; /* the value is digits * 10^exponent */
};

/* The magnitude of value, which is finite and not zero. */
struct decimal decimal_shortest(double value);
/*
 * The double that is nearest to digits * 10^power, which 128 bits of the power tell, but for 0, what lies half way between two
 * doubles, and the ends of the range. False: strtod has to say.
 */
bool decimal_read(uint64_t digits, int power, double *value);

enum { DECIMAL_FIRST_POWER = -292, DECIMAL_LAST_POWER = 324 };
enum { DECIMAL_POWER_COUNT = DECIMAL_LAST_POWER - DECIMAL_FIRST_POWER + 1 };
extern const uint64_t decimal_powers[DECIMAL_POWER_COUNT][2];
