/*
 * Job: whether a restart really went on from where it was: what was printed at the same steps before it and behind it. The loss at up
 *      to CONTINUITY_PAIRS such steps is compared by the median of the differences, in spreads of the loss before; the learning rate
 *      and the place in the data must be the same. Without a step that both printed nothing is proved.
 * Ownership: values. Threads: any. A published measure: the spread is 1.4826 times the median absolute deviation (Rousseeuw, Croux,
 *      "Alternatives to the Median Absolute Deviation", 1993), here of the changes from one print to the next, over the root of 2.
 */
#pragma once

#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CONTINUITY_PAIRS = 50,
	CONTINUITY_WINDOW = 256, /* prints on each side that are looked at for them */
	CONTINUITY_SPREADS_MAX = 3,
	CONTINUITY_CAUSES_MAX = 4,
	CONTINUITY_FOLLOWED = 3 /* the loss, the rate, the data */
};

struct continuity_print {
	int64_t step;
	double value;
};

/* One series around one restart. Zeroes: nothing yet. */
struct continuity_side { /* in the order of steps */
	struct continuity_print prints[CONTINUITY_WINDOW];
	size_t count;
};
struct continuity_series {
	struct continuity_side before, after; /* from the restart's first step on */
	double earlier[CONTINUITY_PAIRS]; /* the last ones in front of it, a ring */
	uint64_t earlier_count;
};

/* The points of a series are given in the order of arrival: those of attempts before the restart that no other one of these printed
 * again, and those of the attempt that it began. Before it, what is no finite number is left out; behind it, it is a print. */
void continuity_add_before(struct continuity_series *series, int64_t first_step, int64_t step, double value);
void continuity_add_after(struct continuity_series *series, int64_t step, double value);
/* From first_step on, where a restart that differed had begun, what was before that one is what is before this one. */
void continuity_put_before(struct continuity_series *series, const struct continuity_series *bad, int64_t first_step);

enum continuity_answer { CONTINUITY_UNKNOWN, CONTINUITY_EQUAL, CONTINUITY_DIFFERENT };
enum continuity_about { CONTINUITY_LOSS, CONTINUITY_RATE, CONTINUITY_DATA, CONTINUITY_NO_NUMBER };
enum continuity_verdict { CONTINUITY_CONTINUED, CONTINUITY_DIFFERS, CONTINUITY_NOT_PROVABLE };

struct continuity {
	int64_t first_step; /* that it printed; INT64_MIN: none yet */
	int64_t stride; /* from one print to the next; 1 where there is one print alone */
	size_t after_count; /* prints behind it; CONTINUITY_WINDOW: or more */
	size_t overlap_steps; /* that both printed, of the loss */
	size_t no_number_steps; /* of these: the loss behind the restart is no finite number */
	int64_t no_number_step; /* the first of them */
	double no_number_before, no_number_after;
	double loss_before, loss_after; /* medians over the others; NaN: there are none */
	double loss_difference; /* the median of the differences */
	double loss_spread; /* NaN: too little was printed before */
	double loss_spreads; /* the difference in them */
	size_t higher_steps, lower_steps; /* of the steps with a number: the loss behind the restart is higher, lower */
	/* That each of them is away at least, where all are on one side and enough was printed before; else 0. */
	double least_spreads;
	bool is_past; /* the last step from before is reached: no more of them will be printed by both */
	bool is_one_sided; /* at so many steps, and so far, that chance does not do it; no verdict goes by it */
	enum continuity_answer rate, data;
	int64_t rate_step; /* the first at which it is another one */
	double rate_before, rate_after;
	int64_t data_step;
	double data_before, data_after;
	enum continuity_verdict verdict;
	enum continuity_about about; /* of the first cause: in what it shows */
	const char *causes
		[CONTINUITY_CAUSES_MAX]; /* of DIFFERS, the gravest first: "not a number", "older checkpoint", … */
	size_t cause_count;
};

/* rate, data: NULL: nothing like it is printed. */
void continuity_judge(const struct continuity_series *loss, const struct continuity_series *rate,
	const struct continuity_series *data, struct continuity *out);
/* Does what came behind this restart go on from what came before an earlier one, which differed? Then *out says so; each by the loss, the
 * rate and the data. */
bool continuity_takes_back(const struct continuity_series *const bad[CONTINUITY_FOLLOWED],
	const struct continuity_series *const now[CONTINUITY_FOLLOWED], struct continuity *out);
const char *continuity_verdict_name(enum continuity_verdict verdict);
