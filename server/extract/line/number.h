/*
 * Job: captured text to numbers: values and steps as trainers print them.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/span.h"

/* The largest step: doubles and JSON readers hold every integer up to it. */
#define STEP_MAX ((int64_t)1 << 53)

/* Decimal with exponent, nan, inf, and thousands separators in groups of three: "4,376". */
bool number_parse(struct span text, double *value);
/*
 * What an expression for digits has captured of `text`, and the rest of it where that is the start of "1.#QNAN" or the like: no part of
 * such a value is a number.
 */
struct span number_whole(struct span text, struct span captured);
/* An integer within +-STEP_MAX; "1e3", "10.0", "1,000" and "1.2k" are integers too. */
bool number_parse_step(struct span text, int64_t *step);

/* What a metric's unit measures: times can be converted, all else only has its thousands counted. */
double unit_seconds(struct span unit); /* "ms" 1e-3, "s" 1, "us", "µs", "min", "h"; 0: not a unit of time */
/* The sign for a millionth that a text begins with, in bytes; 0: none. */
size_t number_micro_length(struct span text);
/*
 * value * by / over, both whole numbers: of a decimal number of up to 15 digits the decimal number that it gives, where a product of two
 * doubles has a digit at its end that nobody printed (1.001 * 1000 is 1000.9999999999999).
 */
double number_scale(double value, double by, double over);
/* From one unit of time to another one, both in seconds. */
double number_convert(double value, double from_s, double to_s);
/*
 * number_parse, or a number in quotes, with % behind it, with thousands (1.2k 122.0K 3M 2G 1B 1T 9P), or a duration (350ms
 * 1h02m "8m 56s" 0:31:30), which is given in units of unit_s seconds (0: seconds).
 */
bool number_parse_value(struct span text, double unit_s, double *value);
/* Of what number_parse_value took: it was a duration. */
bool number_is_duration(struct span text);
/* Value of a number that has `unit` beside it ("ms", "K"), for a metric in units of unit_s seconds (0: no time). */
double number_in_unit(double value, struct span unit, double unit_s);
