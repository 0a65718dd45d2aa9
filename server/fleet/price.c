#include "fleet/price.h"

#include "base/text/iso8601.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DAY_MS = 24 * 60 * 60 * 1000, CURRENCY_MAX_BYTES = 16, TEXT_MAX_BYTES = 500 };

static const double most_per_hour = 1e9;

static enum status read_text(const struct json *object, const char *key, size_t most, struct arena *arena,
	struct span *out, struct error *err)
{
	struct span text = SPAN("");

	TRY(json_want_string(object, key, &text, err));
	if (text.len > most)
		return error_set_field(err, ERR_SEMANTIC, key, "%s has %zu bytes, more than %zu", key, text.len, most);
	*out = arena_copy(arena, text);
	return out->ptr ? OK : error_no_memory(err);
}

static enum status refuse_field(struct span key, const char *known, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "%.*s", (int)(key.len < 60 ? key.len : 60), key.ptr);
	return error_set_field(err, ERR_SEMANTIC, field, "'%s' is none of: %s", field, known);
}

static enum status check_fields(const struct json *object, const char *known, struct error *err)
{
	for (const struct json *field = json_first(object); field; field = json_next(field)) {
		struct span rest = span_from(known), name;
		bool is_known = false;
		while (span_next(&rest, ' ', &name))
			is_known |= span_equal(name, json_key_of(field));
		if (!is_known)
			return refuse_field(json_key_of(field), known, err);
	}
	return OK;
}

/* A whole day: a price does not change at noon. */
static enum status read_day(const struct json *entry, int64_t *day, struct error *err)
{
	struct span text = SPAN("");
	int64_t ms;

	*day = INT64_MIN;
	TRY(json_want_string(entry, "from", &text, err));
	if (!text.len)
		return OK;
	if (text.len != sizeof "2026-01-01" - 1 || !iso8601_parse(text, &ms))
		return error_set_field(
			err, ERR_SEMANTIC, "from", "from '%.*s' is no day as 2026-01-01", SPAN_ARGS(text));
	*day = ms / DAY_MS;
	return OK;
}

static enum status read_price(struct price *out, const struct json *entry, struct arena *arena, struct error *err)
{
	const struct json *per_hour = json_get(entry, "per_hour");

	if (json_kind(entry) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, "", "each of prices is an object with instance and per_hour");
	TRY(check_fields(entry, "instance per_hour from source", err));
	TRY(read_text(entry, "instance", TEXT_MAX_BYTES, arena, &out->instance, err));
	TRY(read_text(entry, "source", TEXT_MAX_BYTES, arena, &out->source, err));
	if (!out->instance.len)
		return error_set_field(err, ERR_SEMANTIC, "instance", "a price needs instance, as ml.p4d.24xlarge");
	if (!per_hour || !json_number_of(per_hour, &out->per_hour) || !isfinite(out->per_hour) || out->per_hour < 0 ||
		out->per_hour > most_per_hour)
		return error_set_field(err, ERR_SEMANTIC, "per_hour", "per_hour of '%.*s' is no number from 0 to %g",
			SPAN_ARGS(out->instance), most_per_hour);
	return read_day(entry, &out->from_day, err);
}

/* Which of thousands: "prices[7].per_hour". */
static void name_place(size_t index, struct error *err)
{
	char field[sizeof err->field];

	if (!err)
		return;
	snprintf(field, sizeof field, "prices[%zu]%s%.80s", index, err->field[0] ? "." : "", err->field);
	memcpy(err->field, field, sizeof field);
}

static int by_type_and_day(const void *a, const void *b)
{
	const struct price *left = *(const struct price *const *)a, *right = *(const struct price *const *)b;
	int order = span_compare(left->instance, right->instance);

	if (order)
		return order;
	if (left->from_day != right->from_day)
		return left->from_day < right->from_day ? -1 : 1;
	return (left > right) - (left < right);
}

enum status price_list_check(const struct price_list *list, struct arena *arena, struct error *err)
{
	const struct price **sorted = arena_alloc(arena, (list->count + 1) * sizeof *sorted);
	char field[64];

	if (!sorted)
		return error_no_memory(err);
	for (size_t i = 0; i < list->count; i++)
		sorted[i] = &list->prices[i];
	qsort(sorted, list->count, sizeof *sorted, by_type_and_day);
	for (size_t i = 1; i < list->count; i++) {
		const struct price *one = sorted[i - 1], *two = sorted[i];
		if (one->from_day != two->from_day || !span_equal(one->instance, two->instance))
			continue;
		snprintf(field, sizeof field, "prices[%zu]", (size_t)(two - list->prices));
		return error_set_field(err, ERR_SEMANTIC, field,
			"prices[%zu] has a price of '%.*s' of the same day already", (size_t)(one - list->prices),
			SPAN_ARGS(two->instance));
	}
	return OK;
}

enum status price_list_read(struct price_list *out, const struct json *document, struct arena *arena, struct error *err)
{
	const struct json *prices = json_get(document, "prices");

	*out = (struct price_list){.currency = SPAN("")};
	TRY(check_fields(document, "currency prices", err));
	TRY(read_text(document, "currency", CURRENCY_MAX_BYTES, arena, &out->currency, err));
	if (!out->currency.len)
		return error_set_field(err, ERR_SEMANTIC, "currency", "a list of prices needs currency, as USD");
	if (!prices || json_kind(prices) != JSON_ARRAY)
		return error_set_field(
			err, ERR_SEMANTIC, "prices", "prices is an array of {instance, per_hour, from, source}");
	size_t count = json_count(prices);
	if (count > PRICES_MAX)
		return error_set_field(
			err, ERR_TOO_LARGE, "prices", "there are %zu prices, more than %d", count, PRICES_MAX);
	out->prices = arena_alloc(arena, (count + 1) * sizeof *out->prices);
	if (!out->prices)
		return error_no_memory(err);
	for (const struct json *entry = json_first(prices); entry; entry = json_next(entry)) {
		enum status status = read_price(&out->prices[out->count], entry, arena, err);
		if (status == ERR_SEMANTIC)
			name_place(out->count, err);
		TRY(status);
		out->count++;
	}
	return OK;
}

const struct price *price_find(const struct price_list *list, struct span instance, int64_t day)
{
	const struct price *best = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct price *price = &list->prices[i];
		if (price->from_day <= day && span_equal(price->instance, instance) &&
			(!best || price->from_day >= best->from_day))
			best = price;
	}
	return best;
}
