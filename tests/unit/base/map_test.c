#include "base/map.h"
#include "test.h"

#include <stdio.h>

static struct span key_of(char text[32], int i)
{
	int length = snprintf(text, 32, "key-%d", i);

	return span_of(text, (size_t)length);
}

TEST(map_empty)
{
	AUTO(map) map = map_new();
	size_t at = 0;
	void *value;

	CHECK(!map_get(map, SPAN("a")) && !map_remove(map, SPAN("a")));
	CHECK(!map_next(map, &at, NULL, &value));
	CHECK_INT(map_count(map), 0);
	map_free(NULL);
}

TEST(map_put_get_replace_remove)
{
	AUTO(map) map = map_new();
	int one = 1, two = 2;

	CHECK(map_put(map, SPAN("a"), &one));
	CHECK(map_put(map, SPAN(""), &two));
	CHECK(map_put(map, SPAN("a\0b"), &two));
	CHECK(map_get(map, SPAN("a")) == &one && map_get(map, SPAN("")) == &two && map_get(map, SPAN("a\0b")) == &two);
	CHECK(map_put(map, SPAN("a"), &two));
	CHECK(map_get(map, SPAN("a")) == &two);
	CHECK_INT(map_count(map), 3);
	CHECK(map_remove(map, SPAN("a")) == &two);
	CHECK(!map_get(map, SPAN("a")) && !map_remove(map, SPAN("a")));
	CHECK_INT(map_count(map), 2);
}

TEST(map_copies_its_keys)
{
	AUTO(map) map = map_new();
	char text[] = "abc";
	int one = 1;

	CHECK(map_put(map, span_from(text), &one));
	text[0] = 'x';
	CHECK(map_get(map, SPAN("abc")) == &one);
}

TEST(map_many_keys_and_tombstones)
{
	static int values[5000];
	AUTO(map) map = map_new();
	char text[32];

	for (int i = 0; i < 5000; i++)
		CHECK(map_put(map, key_of(text, i), &values[i]));
	for (int i = 0; i < 5000; i += 2)
		CHECK(map_remove(map, key_of(text, i)) == &values[i]);
	for (int i = 0; i < 5000; i++)
		CHECK(map_get(map, key_of(text, i)) == (i % 2 ? &values[i] : NULL));
	CHECK_INT(map_count(map), 2500);
	for (int i = 0; i < 100000; i++) { /* tombstones must not fill it */
		CHECK(map_put(map, key_of(text, -i), &values[0]));
		CHECK(map_remove(map, key_of(text, -i)) == &values[0]);
	}
	CHECK_INT(map_count(map), 2500);
}

TEST(map_next_visits_each_once)
{
	static int values[300], seen[300];
	AUTO(map) map = map_new();
	char text[32];
	struct span key;
	void *value;
	int total = 0;

	for (int i = 0; i < 300; i++)
		CHECK(map_put(map, key_of(text, i), &values[i]));
	CHECK(map_remove(map, SPAN("key-7")) != NULL);
	for (size_t at = 0; map_next(map, &at, &key, &value); total++) {
		int i = (int)((int *)value - values);
		CHECK_SPAN(key, key_of(text, i));
		CHECK_INT(seen[i]++, 0);
	}
	CHECK_INT(total, 299);
	CHECK_INT(seen[7], 0);
}

TEST(map_out_of_memory_changes_nothing)
{
	static int values[100];
	AUTO(map) map = map_new();
	char text[32];

	for (int i = 0; i < 100; i++)
		for (long nth = 1;; nth++) {
			mem_fail_at(nth);
			bool is_put = map_put(map, key_of(text, i), &values[i]);
			mem_fail_at(0);
			CHECK_INT(map_count(map), i + is_put);
			if (is_put)
				break;
			CHECK(!map_get(map, key_of(text, i)) && nth < 10);
		}
	for (int i = 0; i < 100; i++)
		CHECK(map_get(map, key_of(text, i)) == &values[i]);
	mem_fail_at(1);
	CHECK(!map_new());
}
