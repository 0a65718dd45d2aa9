/* Job: what there is to search for, most frequent first. Ownership and threads: as store.h. */
#pragma once

#include "store/store.h"

enum suggestion_kind { SUGGEST_KEYS, SUGGEST_VALUES, SUGGEST_METRICS, SUGGEST_NAMES, SUGGEST_TEAMS };
struct suggestion_query {
	enum suggestion_kind kind;
	struct span key; /* of SUGGEST_VALUES: "hp.lr", "ResourceConfig.InstanceType"; else "" */
	struct span prefix; /* of values and names in any case of letters */
	size_t limit;
};
struct suggestion {
	struct span text;
	uint64_t count; /* of jobs or their elements; 500: at least so many */
};
/* *is_partial: there were more than are looked at, which are the first in order. */
enum status store_suggest(struct store_reader *reader, struct arena *arena, const struct suggestion_query *query,
	struct suggestion **out, size_t *count, bool *is_partial, struct error *err) MUST_CHECK;
