/*
 * Job: a job's settings under the names that trainers have for them, and what their values say. Internal to api/.
 * Ownership: settings are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/advice_facts.h"

enum { FIT_NAMES_MAX = 32, FIT_UNREAD_MAX = 16 };

/* Settings that change what is taken in a way that is not followed. */
struct fit_unread {
	struct span keys[FIT_UNREAD_MAX];
	size_t count;
	bool hides_states,
		hides_activations; /* parameters, gradients and optimizer; activations: they are not known then */
};

/* A setting under one of its names, the first that is there. NULL: nothing says it. */
const struct advice_setting *fit_find(const struct advice_facts *facts, const char *const names[]);
/* The same of names with spaces between. */
const struct advice_setting *fit_find_named(const struct advice_facts *facts, const char *names);
/* Each under any of them: *at is where the search goes on. NULL: there is no other. */
const struct advice_setting *fit_find_next(const struct advice_facts *facts, const char *const names[], size_t *at);
/* setting may be NULL; NaN: it is no number. */
double fit_number_of(const struct advice_setting *setting);
bool fit_has_word(struct span text, const char *word); /* whatever the case */
bool fit_says(const struct advice_setting *setting, const char *word);
bool fit_is_on(const struct advice_setting *setting);
/* Says that nothing is sharded. */
bool fit_is_off(const struct advice_setting *setting);
enum fit_hides { FIT_HIDES_STATES = 1, FIT_HIDES_ACTIVATIONS = 2 };
bool fit_unread_has(const struct fit_unread *unread, struct span key);
void fit_unread_add(struct fit_unread *unread, struct span key, int hides);
/* What is updated is as Adam does it, of which the formulas are; where nobody says how, too. */
bool fit_is_adam(const struct advice_facts *facts);
/* Lightning's, and those that are called like it. */
extern const char *const fit_strategy_names[FIT_NAMES_MAX];
