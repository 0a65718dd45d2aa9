#include "fleet/price.h"
#include "test.h"

static struct price_list read(const char *text, struct arena *arena)
{
	AUTO(json) document = NULL;
	struct price_list list;

	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(price_list_read(&list, document, arena, &err));
	return list;
}

TEST(the_newest_price_that_holds_on_a_day_counts)
{
	AUTO(arena) arena = arena_new();
	struct price_list list = read(
		"{\"currency\": \"USD\", \"prices\": [{\"instance\": \"a\", \"per_hour\": 2, \"from\": \"2026-02-01\"},"
		"{\"instance\": \"a\", \"per_hour\": 3, \"from\": \"2026-03-01\"},"
		"{\"instance\": \"a\", \"per_hour\": 1.5, \"from\": \"2026-01-01\"},"
		"{\"instance\": \"b\", \"per_hour\": 0}]}",
		arena);
	const int64_t january = 20454; /* the first */

	CHECK(!price_find(&list, SPAN("a"), january - 1));
	CHECK(price_find(&list, SPAN("a"), january)->per_hour == 1.5);
	CHECK(price_find(&list, SPAN("a"), january + 30)->per_hour == 1.5);
	CHECK(price_find(&list, SPAN("a"), january + 31)->per_hour == 2);
	CHECK(price_find(&list, SPAN("a"), january + 1000)->per_hour == 3);
	CHECK(price_find(&list, SPAN("b"), -5)->per_hour == 0 && !price_find(&list, SPAN("c"), january));
	CHECK(!price_find(&list, SPAN(""), january));
}

TEST(of_two_prices_of_one_day_the_later_entry_counts)
{
	AUTO(arena) arena = arena_new();
	struct price_list list = read("{\"currency\": \"x\", \"prices\": [{\"instance\": \"a\", \"per_hour\": 2},"
				      "{\"instance\": \"a\", \"per_hour\": 4}]}",
		arena);

	CHECK(price_find(&list, SPAN("a"), 0)->per_hour == 4);
}
