#include "store/pack/int_column.h"
#include "test.h"

#include <stdlib.h>

enum { MAX_ITEMS = 1024 };

static size_t round_trip(const int64_t *values, size_t count)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);
	static uint64_t scratch[MAX_ITEMS];
	static int64_t got[MAX_ITEMS];

	column_pack(&out, values, count, scratch);
	CHECK(out.failure == OK);
	struct unpacker in = unpacker_on(buf_span(&out));
	column_unpack(&in, got, count);
	CHECK(!in.has_failed);
	CHECK_INT(in.rest.len, 0);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(got[i], values[i]);
	return out.len;
}

TEST(a_straight_line_costs_nothing_an_item)
{
	int64_t values[MAX_ITEMS];

	for (size_t i = 0; i < MAX_ITEMS; i++)
		values[i] = 1000 + (int64_t)i * 100;
	CHECK(round_trip(values, MAX_ITEMS) < 8);
	CHECK(round_trip(values, 2) < 8);
	CHECK(round_trip(values, 1) < 8);
	CHECK_INT(round_trip(values, 0), 0);
}

TEST(extremes_come_back)
{
	const int64_t values[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1};

	for (size_t count = 1; count <= sizeof values / sizeof *values; count++)
		round_trip(values, count);
}

TEST(outliers_do_not_widen_the_others)
{
	int64_t values[MAX_ITEMS];

	for (size_t i = 0; i < MAX_ITEMS; i++)
		values[i] = (int64_t)i * 3 + (int64_t)(i * 7919 % 3);
	values[500] = INT64_MAX;
	values[501] = -1;
	CHECK(round_trip(values, MAX_ITEMS) < 700);
}

TEST(random_columns_come_back)
{
	int64_t values[MAX_ITEMS];
	uint64_t random = 88172645463325252u;

	for (unsigned width = 0; width < 64; width++) {
		size_t count = 1 + random % MAX_ITEMS;
		for (size_t i = 0; i < count; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			values[i] = (int64_t)(random >> width);
			if (i && random % 3 == 0)
				values[i] = values[i - 1];
		}
		CHECK(round_trip(values, count) <= count * 9 + 32);
	}
}

TEST(a_cut_column_is_damage)
{
	int64_t values[100], got[100];
	uint64_t scratch[100];
	AUTO_DONE(buf) out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < 100; i++)
		values[i] = (int64_t)(i * i * 31 % 997);
	column_pack(&out, values, 100, scratch);
	for (size_t len = 0; len < out.len; len++) {
		struct unpacker in = unpacker_on(span_of(out.ptr, len));
		column_unpack(&in, got, 100);
		CHECK(in.has_failed);
	}
}
