#include "http/rate.h"
#include "test.h"

static int wait_s(struct rate *rate, uint64_t id, int64_t now_ms)
{
	struct error err = {0};

	return rate_admit(rate, &(struct principal){.id = id}, now_ms, &err) == OK ? 0 : err.retry_after_s;
}

TEST(requests_have_a_burst_of_two_seconds)
{
	AUTO(rate) rate = rate_new(2, 0, 0);

	for (int i = 0; i < 4; i++)
		CHECK_INT(wait_s(rate, 1, 1000), 0);
	CHECK_INT(wait_s(rate, 1, 1000), 1);
	CHECK_INT(wait_s(rate, 2, 1000), 0); /* others are not concerned */
	CHECK_INT(wait_s(rate, 1, 1499), 1);
	CHECK_INT(wait_s(rate, 1, 1500), 0);
	CHECK_INT(wait_s(rate, 1, 1500), 1);
	for (int i = 0; i < 4; i++)
		CHECK_INT(wait_s(rate, 1, 100000), 0);
	CHECK_INT(wait_s(rate, 1, 100000), 1);
}

TEST(bytes_run_into_debt_that_is_paid_before_the_next_request)
{
	AUTO(rate) rate = rate_new(0, 1000, 0);

	CHECK_INT(wait_s(rate, 1, 0), 0);
	rate_charge_bytes(rate, &(struct principal){.id = 1}, 12000, 0);
	CHECK_INT(wait_s(rate, 1, 0), 10);
	CHECK_INT(wait_s(rate, 1, 9999), 1);
	CHECK_INT(wait_s(rate, 1, 10000), 0);
	CHECK_FAILS((rate_charge_bytes(rate, &(struct principal){.id = 1}, 5000, 10000),
			    rate_admit(rate, &(struct principal){.id = 1}, 10000, &err)),
		ERR_BUSY, "1000 bytes a second");
}

TEST(no_limit_no_bucket)
{
	AUTO(rate) rate = rate_new(0, 0, 0);

	for (int i = 0; i < 1000; i++)
		CHECK_INT(wait_s(rate, 1, 0), 0);
}

TEST(full_buckets_are_forgotten)
{
	AUTO(rate) rate = rate_new(1, 0, 0);

	CHECK_INT(wait_s(rate, 0, 0) + wait_s(rate, 0, 0), 0);
	for (uint64_t id = 1; id < 20000; id++)
		CHECK_INT(wait_s(rate, id, (int64_t)id), 0);
	CHECK_INT(wait_s(rate, 20000, 20000), 0);
}

TEST(slow_requests_wait_for_their_processor_time_at_one_past_the_limit)
{
	AUTO(rate) rate = rate_new(0, 0, 10); /* and 600 ms at the start */
	struct principal who = {.id = 1}, other = {.id = 2};

	rate_charge_cpu(rate, &who, 600 * 1000000LL, 0);
	CHECK_OK(rate_admit_slow(rate, &who, 0, &err));
	rate_charge_cpu(rate, &who, 1000000, 0);
	CHECK_FAILS(rate_admit_slow(rate, &who, 0, &err), ERR_BUSY, "--rate-cpu-ms");
	CHECK_INT(wait_s(rate, 1, 0), 0); /* what is quick does not wait */
	CHECK_OK(rate_admit_slow(rate, &other, 0, &err));
	CHECK_OK(rate_admit_slow(rate, &who, 100, &err));
}
