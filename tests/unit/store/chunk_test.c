#include "store/pack/chunk.h"
#include "test.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool has_same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static size_t round_trip(const struct point *points, size_t count)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 20);
	static struct point got[CHUNK_MAX_POINTS];
	size_t got_count = 9999;

	CHECK_OK(chunk_pack(points, count, zstd, &data, &err));
	CHECK_OK(chunk_unpack(buf_span(&data), zstd, got, &got_count, &err));
	CHECK_INT(got_count, count);
	for (size_t i = 0; i < count; i++) {
		if (!has_same_bits(got[i].value, points[i].value))
			test_fail(__FILE__, __LINE__, "%zu: %.17g, not %.17g", i, got[i].value, points[i].value);
		CHECK_INT(got[i].step, points[i].step);
		CHECK_INT(got[i].ts_ms, points[i].ts_ms);
		CHECK(got[i].line == points[i].line);
		CHECK_INT(got[i].attempt, points[i].attempt);
	}
	return data.len;
}

/* Values as a trainer prints them. */
static void fill(struct point *points, size_t count, const char *format, double level, double spread)
{
	uint64_t random = 42, line = 0;
	int64_t ms = 1700000000000;
	char text[64];

	for (size_t i = 0; i < count; i++) {
		double noise =
			(double)(next_random(&random) % 2001) / 1000 + (double)(next_random(&random) % 2001) / 1000 - 2;
		snprintf(text, sizeof text, format, level * (1 - (double)i / 20000) + spread * noise);
		points[i] = (struct point){.step = (int64_t)i, .ts_ms = ms, .line = line};
		CHECK(span_parse_double(span_from(text), &points[i].value));
		ms += 970 + (int64_t)(next_random(&random) % 60);
		line += 1 + next_random(&random) % 3;
	}
}

TEST(printed_values_take_three_bytes_a_point_at_most)
{
	static const struct {
		const char *format;
		double level;
		double spread;
	} series[] = {
		{"%.4f", 2.5, 0.03}, {"%.6f", 2.5, 0.002}, {"%.6e", 2.5, 0.002}, {"%.3f", 812, 9}, {"%.2e", 6e-4, 0}};
	static struct point points[CHUNK_MAX_POINTS];

	for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
		fill(points, CHUNK_MAX_POINTS, series[i].format, series[i].level, series[i].spread);
		size_t bytes = round_trip(points, CHUNK_MAX_POINTS);
		if (bytes > 3 * CHUNK_MAX_POINTS + CHUNK_MAX_POINTS / 4)
			test_fail(__FILE__, __LINE__, "%s: %.2f bytes a point", series[i].format,
				(double)bytes / CHUNK_MAX_POINTS);
	}
}

static double from_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

TEST(values_that_are_no_numbers_come_back_bit_for_bit)
{
	static struct point points[CHUNK_MAX_POINTS];
	const double hard[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0, 0.0,
		from_bits(0x7ff8000000000123), /* with payload */
		from_bits(0xfff0000000000001), DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1e22, 1e23,
		123456789012345678.0, 0.1 + 0.2, 1e-22, 9007199254740993.0, 5e-324};
	enum { COUNT = sizeof hard / sizeof *hard };

	fill(points, CHUNK_MAX_POINTS, "%.4f", 2.5, 0.1);
	for (size_t i = 0; i < COUNT; i++) {
		points[i * 50].value = hard[i];
		round_trip(points, CHUNK_MAX_POINTS);
		struct point one = {.value = hard[i], .line = NO_LINE};
		round_trip(&one, 1);
	}
	for (size_t i = 0; i < CHUNK_MAX_POINTS; i++)
		points[i].value = hard[i % COUNT];
	round_trip(points, CHUNK_MAX_POINTS);
	for (size_t i = 0; i < CHUNK_MAX_POINTS; i++)
		points[i].value = NAN;
	CHECK(round_trip(points, CHUNK_MAX_POINTS) < 3000);
}

TEST(random_bits_come_back)
{
	static struct point points[CHUNK_MAX_POINTS];
	uint64_t random = 7;

	for (int run = 0; run < 40; run++) {
		size_t count = 1 + next_random(&random) % CHUNK_MAX_POINTS;
		for (size_t i = 0; i < count; i++)
			points[i] = (struct point){(int64_t)next_random(&random), (int64_t)next_random(&random),
				from_bits(next_random(&random)), next_random(&random), (uint32_t)next_random(&random),
				(uint32_t)next_random(&random)};
		round_trip(points, count);
	}
}

TEST(decimals_of_every_length_come_back)
{
	static struct point points[CHUNK_MAX_POINTS];
	uint64_t random = 99;
	char text[64];

	for (int digits = 0; digits <= 17; digits++) {
		for (size_t i = 0; i < CHUNK_MAX_POINTS; i++) {
			double whole = (double)(int64_t)next_random(&random) / 1e15;
			snprintf(text, sizeof text, i % 5 ? "%.*f" : "%.*e", digits, whole);
			points[i] = (struct point){.step = (int64_t)i};
			CHECK(span_parse_double(span_from(text), &points[i].value));
		}
		round_trip(points, CHUNK_MAX_POINTS);
	}
}

TEST(an_empty_chunk_and_one_too_many)
{
	static struct point points[CHUNK_MAX_POINTS + 1];
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 20);

	round_trip(points, 0);
	round_trip(points, CHUNK_MAX_POINTS);
	CHECK_FAILS(chunk_pack(points, CHUNK_MAX_POINTS + 1, zstd, &data, &err), ERR_TOO_LARGE, "1025 points");
}

TEST(a_damaged_chunk_is_refused_or_is_a_chunk)
{
	static struct point points[CHUNK_MAX_POINTS], got[CHUNK_MAX_POINTS];
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) data = BUF_INIT(1 << 20);
	size_t count;

	fill(points, 100, "%.4f", 2.5, 0.1);
	CHECK_OK(chunk_pack(points, 100, zstd, &data, &err));
	for (size_t len = 0; len < data.len; len++)
		CHECK(chunk_unpack(span_of(data.ptr, len), zstd, got, &count, NULL) == ERR_INVALID);
	for (size_t i = 0; i < data.len * 8; i++) {
		data.ptr[i / 8] ^= (char)(1 << i % 8);
		enum status status = chunk_unpack(buf_span(&data), zstd, got, &count, NULL);
		CHECK(status == OK || status == ERR_INVALID);
		data.ptr[i / 8] ^= (char)(1 << i % 8);
	}
	data.ptr[0] = 9;
	CHECK_FAILS(chunk_unpack(buf_span(&data), zstd, got, &count, &err), ERR_INVALID, "format 9");
}
