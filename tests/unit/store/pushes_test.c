#include "harness.h"
#include "store/pushes.h"

static bool is_known(struct harness *h, const struct push_row *row, int64_t since_ms)
{
	bool known;

	CHECK_OK(store_is_push_known(h->tx, row, since_ms, &known, &err));
	return known;
}

TEST(pushes_are_known_as_long_as_they_are_kept)
{
	struct harness h = harness_new();
	struct push_row row = {.job_id = 1, .stream_id = 2, .hash = {UINT64_MAX, 7}, .seen_ms = 100}, other = row;
	int64_t oldest_ms, surplus_ms;

	harness_begin(&h);
	CHECK(!is_known(&h, &row, 0));
	CHECK_OK(store_put_push(h.tx, &row, &err));
	CHECK(is_known(&h, &row, 100) && !is_known(&h, &row, 101));
	row.seen_ms = 200;
	CHECK_OK(store_put_push(h.tx, &row, &err));
	CHECK(is_known(&h, &row, 200));
	other.hash.high = 8;
	other.seen_ms = 300;
	CHECK(!is_known(&h, &other, 0));
	other.stream_id = 3;
	CHECK_OK(store_put_push(h.tx, &other, &err));
	harness_commit(&h);
	harness_reopen(&h);
	CHECK_OK(store_oldest_push(h.reader, 1, &oldest_ms, &surplus_ms, &err));
	CHECK_INT(oldest_ms, 200);
	CHECK_INT(surplus_ms, 200);
	CHECK_OK(store_oldest_push(h.reader, 2, &oldest_ms, &surplus_ms, &err));
	CHECK_INT(surplus_ms, INT64_MIN);
	harness_begin(&h);
	CHECK_OK(store_delete_pushes(h.tx, 200, 9, &err));
	CHECK(!is_known(&h, &row, 0) && is_known(&h, &other, 0));
	CHECK_OK(store_delete_pushes(h.tx, 300, 9, &err));
	harness_commit(&h);
	CHECK_OK(store_oldest_push(h.reader, 1, &oldest_ms, &surplus_ms, &err));
	CHECK_INT(oldest_ms, INT64_MAX);
	harness_done(&h);
}
