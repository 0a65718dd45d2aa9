/*
 * Job: what an hour of an instance cost on a day, as a list says that people keep: {"currency": "USD", "prices": [{"instance":
 *      "ml.p4d.24xlarge", "per_hour": 1.5, "from": "2026-01-01", "source": "…"}]}. What the list does not say is not known.
 * Ownership: spans are those of the parsed document's copy in the arena. Threads: values. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_read.h"
#include "base/span.h"

enum { PRICES_MAX = 10000 };

struct price {
	struct span instance;
	struct span source; /* "" */
	double per_hour;
	int64_t from_day; /* from 1970-01-01 on; INT64_MIN: always */
};

struct price_list {
	struct span currency;
	struct price *prices;
	size_t count;
};

/* ERR_SEMANTIC names the field and the value. */
enum status price_list_read(
	struct price_list *out, const struct json *document, struct arena *arena, struct error *err) MUST_CHECK;
/* Two prices of one type and day: which of them would count? A list that was stored before this was asked is read as it is. */
enum status price_list_check(const struct price_list *list, struct arena *arena, struct error *err) MUST_CHECK;
/* The newest entry of the type that is not later than the day; NULL: there is none. */
const struct price *price_find(const struct price_list *list, struct span instance, int64_t day);
