#include "api/machines/fit_names.h"

#include "model/jobs/setting_name.h"

#include <math.h>

const char *const fit_strategy_names[FIT_NAMES_MAX] = {"strategy", "strategy.class_path", "strategy.name",
	"strategy._target_", "distributed._target_", "distributed_strategy", "parallel_strategy", "training_strategy",
	"dist_strategy"};

static const struct advice_setting *find_one(const struct advice_facts *facts, struct span name)
{
	for (size_t i = 0; i < facts->count; i++) {
		struct span key = facts->settings[i].key;
		if (span_take(&key, SPAN("hp.")) && setting_name_is(key, name))
			return &facts->settings[i];
	}
	return NULL;
}

const struct advice_setting *fit_find(const struct advice_facts *facts, const char *const names[])
{
	const struct advice_setting *found = NULL;

	for (size_t n = 0; !found && n < FIT_NAMES_MAX && names[n]; n++)
		found = find_one(facts, span_from(names[n]));
	return found;
}

const struct advice_setting *fit_find_named(const struct advice_facts *facts, const char *names)
{
	struct span rest = span_from(names), name;
	const struct advice_setting *found = NULL;

	while (!found && span_next(&rest, ' ', &name))
		found = find_one(facts, name);
	return found;
}

const struct advice_setting *fit_find_next(const struct advice_facts *facts, const char *const names[], size_t *at)
{
	while (*at < facts->count) {
		const struct advice_setting *setting = &facts->settings[(*at)++];
		struct span key = setting->key;
		if (!span_take(&key, SPAN("hp.")))
			continue;
		for (size_t n = 0; n < FIT_NAMES_MAX && names[n]; n++)
			if (setting_name_is(key, span_from(names[n])))
				return setting;
	}
	return NULL;
}

double fit_number_of(const struct advice_setting *setting)
{
	double value = NAN;

	if (setting && setting->text.len)
		return span_parse_double(span_trim(setting->text), &value) ? value : NAN;
	return setting ? setting->number : NAN;
}

bool fit_has_word(struct span text, const char *word)
{
	struct span wanted = span_from(word);

	for (size_t at = 0; at + wanted.len <= text.len; at++)
		if (span_equal_fold(span_of(text.ptr + at, wanted.len), wanted))
			return true;
	return false;
}

bool fit_says(const struct advice_setting *setting, const char *word)
{
	return setting && fit_has_word(setting->text, word);
}

bool fit_is_on(const struct advice_setting *setting)
{
	return setting &&
	       (setting->text.len ? span_equal_fold(setting->text, SPAN("true")) || fit_number_of(setting) > 0
				  : setting->number > 0);
}

bool fit_is_off(const struct advice_setting *setting)
{
	static const char *const words[] = {"false", "none", "null", "no", "[]", "{}", "no_shard"};

	if (!setting->text.len)
		return !(setting->number > 0);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_trim(setting->text), span_from(words[i])))
			return true;
	return fit_number_of(setting) == 0;
}

bool fit_unread_has(const struct fit_unread *unread, struct span key)
{
	span_take(&key, SPAN("hp."));
	for (size_t i = 0; i < unread->count; i++)
		if (span_equal(unread->keys[i], key))
			return true;
	return false;
}

void fit_unread_add(struct fit_unread *unread, struct span key, int hides)
{
	span_take(&key, SPAN("hp."));
	unread->hides_states |= (hides & FIT_HIDES_STATES) != 0;
	unread->hides_activations |= (hides & FIT_HIDES_ACTIVATIONS) != 0;
	if (unread->count < FIT_UNREAD_MAX && !fit_unread_has(unread, key))
		unread->keys[unread->count++] = key;
}

/* Of those that are called after Adam, these keep other state. */
bool fit_is_adam(const struct advice_facts *facts)
{
	static const char *const names[FIT_NAMES_MAX] = {"optimizer", "optim", "optimizer_name", "optimizer.type",
		"optim.name", "optimizer.name", "optimizer._component_", "optimizer._target_", "optim._target_",
		"optimizer.class_path"};
	static const char *const others[] = {"bit", "bnb", "galore", "apollo", "mini", "any", "grok", "zeroone",
		"zero_one", "paged", "cpu", "lomo", "q_", "fp8"};
	const struct advice_setting *update = fit_find(facts, names);
	bool is_other = false;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		is_other |= fit_says(update, others[i]);
	return !update || (fit_says(update, "adam") && !is_other);
}
