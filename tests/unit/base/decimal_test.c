#include "base/text/decimal.h"
#include "test.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static void check(double value, uint64_t digits, int exponent)
{
	struct decimal decimal = decimal_shortest(value);

	for (; decimal.digits % 10 == 0; decimal.exponent++)
		decimal.digits /= 10;
	CHECK_INT(decimal.digits, digits);
	CHECK_INT(decimal.exponent, exponent);
}

TEST(decimal_known_values)
{
	check(1, 1, 0);
	check(-1, 1, 0);
	check(0.1, 1, -1);
	check(0.1 + 0.2, 30000000000000004u, -17);
	check(3.4231, 34231, -4);
	check(5e-324, 5, -324);
	check(DBL_MIN, 22250738585072014u, -324);
	check(DBL_MAX, 17976931348623157u, 292);
	check(9007199254740993e3, 9007199254740993u, 3);
	check(1e23, 1, 23);
	check(9.5367431640625e-07, 95367431640625u, -20);
	check(0x1p-44, 5684341886080802u, -29); /* the nearest 16 digits do not read back; these do */
	check(2.98023223876953125e-8, 29802322387695312u, -24);
}

/* The entry of 10^k times ten is that of 10^(k+1), but for the rounding up. */
TEST(decimal_powers_follow_each_other)
{
	for (int i = 0; i + 1 < DECIMAL_POWER_COUNT; i++) {
		unsigned __int128 this = (unsigned __int128)decimal_powers[i][0] << 64 | decimal_powers[i][1];
		unsigned __int128 next = (unsigned __int128)decimal_powers[i + 1][0] << 64 | decimal_powers[i + 1][1];
		unsigned __int128 eight = this / 8 * 10 + this % 8 * 10 / 8,
				  sixteen = this / 16 * 10 + this % 16 * 10 / 16;
		unsigned __int128 expected = this > ~(unsigned __int128)0 / 5 * 4 ? sixteen : eight;
		CHECK(decimal_powers[i][0] >> 63 == 1);
		CHECK(next - expected <= 1 || expected - next <= 1);
	}
	CHECK(decimal_powers[-DECIMAL_FIRST_POWER][0] == (uint64_t)1 << 63 &&
		decimal_powers[-DECIMAL_FIRST_POWER][1] == 0);
}

static bool reads(uint64_t digits, int power)
{
	char text[48];
	double value;

	snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, power);
	if (!decimal_read(digits, power, &value))
		return false;
	double expected = strtod(text, NULL);
	CHECK(memcmp(&value, &expected, sizeof value) == 0);
	return true;
}

TEST(decimal_read_is_as_strtod_reads)
{
	uint64_t chance = 88172645463325252u; /* xorshift */

	for (int i = 0; i < 300000; i++) {
		chance ^= chance << 13;
		chance ^= chance >> 7;
		chance ^= chance << 17;
		uint64_t digits = chance >> (i % 60);
		int power = (int)(chance % 630) - 310;
		bool is_told = abs(power) > 27 && power > -280 && power < 285; /* nearer to 0 some are half way */
		CHECK(reads(digits, power) || !digits || !is_told);
	}
}

TEST(decimal_read_where_it_is_close)
{
	CHECK(reads(17976931348623157u, 291));
	CHECK(!reads(17976931348623157u, 292)); /* the largest: one more might be infinite */
	CHECK(reads(9007199254740991u, 0));
	CHECK(!reads(9007199254740993u, 0)); /* half way between two doubles */
	CHECK(!reads(0, 0));
	CHECK(!reads(1, 310));
	CHECK(!reads(1, -325));
	/* powers of two, below which doubles lie closer, and what lies about them */
	for (int bit = 0; bit < 64; bit++)
		for (uint64_t beside = 0; beside < 9; beside++) {
			uint64_t digits = ((uint64_t)1 << bit) + beside - 4;
			(void)reads(digits, 0);
			(void)reads(digits, 5);
			(void)reads(digits, -19);
		}
}
