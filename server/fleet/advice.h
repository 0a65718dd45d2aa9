/*
 * Job: advice on a job from rules in a data file: each looks at quantities that settings, the document and measurements say under
 *      any of their names, and speaks only when all that it needs is known.
 * A condition: or, and, not, comparisons (= != < <= > >=), + - * /, parentheses, numbers, names of quantities; known(NAME),
 *      pow2(EXPRESSION), whole(EXPRESSION). What is not known makes a comparison unknown, and that is no reason to speak.
 * Ownership: new/free; a value's spans are the caller's. Threads: the rules are immutable.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_read.h"

struct advice;

/* ERR_INVALID names the rule and the place in its condition. */
enum status advice_new(struct advice **out, struct span json, struct error *err) MUST_CHECK;
void advice_free(struct advice *advice);

/* "hp.KEY", a dotted field of the document, or a measurement that the caller made ("nodes"). */
struct advice_setting {
	struct span key;
	struct span text; /* "": number alone */
	double number; /* NaN: the text says it */
};

struct advice_finding {
	struct span rule;
	struct span severity; /* "info" or "warning" */
	struct span text; /* with the values in it */
	struct span reason;
	struct span source;
	struct span field; /* where to change it: the key that said it, else the first name of the quantity */
};
/* Of a key that is there twice the first counts. Findings in the order of the rules. */
enum status advice_run(const struct advice *advice, struct arena *arena, const struct advice_setting *settings,
	size_t count, struct advice_finding **out, size_t *found, struct error *err) MUST_CHECK;
bool advice_has_rule(const struct advice *advice, struct span name);

/* The reference configuration that is nearest in parameters, as in the data file; NULL: there is none within a factor of three. */
const struct json *advice_reference(const struct advice *advice, double parameters);
/* A quantity of the data file; NaN: it is not known. */
double advice_quantity(
	const struct advice *advice, struct span name, const struct advice_setting *settings, size_t count);

AUTO_TYPE(advice)
