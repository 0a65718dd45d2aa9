/*
 * Job: a job's settings under the names that trainers have for them, and what their values say. Internal to api/.
 * Ownership: settings are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/advice_facts.h"

enum { FIT_NAMES_MAX = 12 };

/* A setting under one of its names, the first that is there. NULL: nothing says it. */
const struct advice_setting *fit_find(const struct advice_facts *facts, const char *const names[]);
/* Each under any of them: *at is where the search goes on. NULL: there is no other. */
const struct advice_setting *fit_find_next(const struct advice_facts *facts, const char *const names[], size_t *at);
/* setting may be NULL; NaN: it is no number. */
double fit_number_of(const struct advice_setting *setting);
bool fit_says(const struct advice_setting *setting, const char *word);
bool fit_is_on(const struct advice_setting *setting);
/* Says that nothing is sharded. */
bool fit_is_off(const struct advice_setting *setting);
/* What is updated is as Adam does it, of which the formulas are; where nobody says how, too. */
bool fit_is_adam(const struct advice_facts *facts);
/* Lightning's, and those that are called like it. */
extern const char *const fit_strategy_names[FIT_NAMES_MAX];
