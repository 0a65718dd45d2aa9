#include "pipeline/jobs/ranking.h"
#include "test.h"

static void add(struct ranking *ranking, int64_t step, double value)
{
	ranking_add_best(ranking, step, value);
	CHECK_OK(ranking_add_end(ranking, step, value, &err));
}

static double final_of(const double *values, size_t count, double *best)
{
	AUTO_DONE(ranking) ranking = ranking_begin(false, 0, (int64_t)count - 1);

	for (size_t i = 0; i < count; i++)
		add(&ranking, (int64_t)i, values[i]);
	if (best)
		*best = ranking.best.value;
	return ranking_final(&ranking);
}

TEST(final_is_the_median_of_the_end)
{
	double values[10000], best;

	for (size_t i = 0; i < 10000; i++)
		values[i] = i < 9900 ? 100 : (double)(i - 9900);
	CHECK_DOUBLE(final_of(values, 10000, &best), 49.5); /* steps 9900 to 9999 */
	CHECK_DOUBLE(best, 0);
	values[9999] = 1e9; /* one spike does not move it */
	CHECK_DOUBLE(final_of(values, 10000, NULL), 49.5);
	CHECK_DOUBLE(final_of(values, 40, NULL), 100);
	CHECK_DOUBLE(final_of((const double[]){3, 1, 2}, 3, &best), 2);
	CHECK_DOUBLE(best, 1);
	CHECK_DOUBLE(final_of((const double[]){3, NAN, NAN}, 3, &best), NAN);
	CHECK_DOUBLE(best, 3);
	CHECK_DOUBLE(final_of(values, 0, &best), NAN);
	CHECK_DOUBLE(best, NAN);
}

TEST(points_come_in_any_order_and_in_any_number)
{
	enum { COUNT = 300000 };
	AUTO_DONE(ranking) shuffled = ranking_begin(true, 0, 29);
	AUTO_DONE(ranking) many = ranking_begin(true, 0, 0);

	for (int64_t i = 0; i < 30; i++)
		add(&shuffled, i * 7 % 30, (double)(i * 7 % 30));
	CHECK_DOUBLE(ranking_final(&shuffled), 19.5); /* steps 10 to 29 */
	CHECK_INT(shuffled.best.step, 29);
	for (size_t i = 0; i < COUNT; i++)
		add(&many, 0, (double)i);
	double final = ranking_final(&many);
	CHECK(final > COUNT / 2 - 20 && final < COUNT / 2 + 20);
}

TEST(the_last_are_those_of_the_largest_steps_however_many_came_before)
{
	enum { COUNT = 1000 };
	AUTO_DONE(ranking) ranking = ranking_begin(false, 0, COUNT - 1);
	AUTO_DONE(ranking) shuffled = ranking_begin(false, 0, COUNT - 1);

	for (int64_t i = 0; i < COUNT; i++) {
		add(&ranking, i, (double)i);
		add(&shuffled, i * 7 % COUNT, (double)(i * 7 % COUNT));
	}
	CHECK_DOUBLE(ranking_final(&ranking), 989.5); /* steps 980 to 999: the last 1 % are too few */
	CHECK_DOUBLE(ranking_final(&shuffled), 989.5);
}

TEST(which_way_is_better)
{
	CHECK(!ranking_is_higher_better(0, ROLE_LOSS, SPAN("loss")));
	CHECK(ranking_is_higher_better(0, ROLE_THROUGHPUT, SPAN("tokens")));
	CHECK(ranking_is_higher_better(0, ROLE_REWARD, SPAN("score")) &&
		!ranking_is_higher_better(0, ROLE_KL, SPAN("kl")));
	CHECK(ranking_is_higher_better(0, ROLE_OTHER, SPAN("val:Accuracy")));
	CHECK(!ranking_is_higher_better(0, ROLE_OTHER, SPAN("perplexity")));
	CHECK(ranking_is_higher_better(1, ROLE_LOSS, SPAN("loss")) &&
		!ranking_is_higher_better(-1, ROLE_MFU, SPAN("mfu")));
}
