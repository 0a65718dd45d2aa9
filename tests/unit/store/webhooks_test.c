#include "harness.h"
#include "model/incident.h"
#include "store/alerts.h"

static int64_t put_webhook(struct harness *h, const char *url)
{
	struct webhook_row row = {.url = span_from(url),
		.format = SPAN("json"),
		.sealed_secret = SPAN("\0\1\2"),
		.minimum_severity = SEVERITY_CRITICAL,
		.is_enabled = true,
		.team = SPAN("nlp"),
		.created_ms = 5};

	CHECK_OK(store_put_webhook(h->tx, &row, &err));
	return row.webhook_id;
}

static struct delivery_row put_delivery(struct harness *h, int64_t webhook, uint32_t incident, int64_t next_ms)
{
	struct delivery_row row = {.webhook_id = webhook,
		.job_id = 1,
		.incident_id = incident,
		.message_id = SPAN("msg_1"),
		.payload = SPAN("{\"a\":1}"),
		.created_ms = 1,
		.next_ms = next_ms};

	CHECK_OK(store_put_delivery(h->tx, &row, &err));
	return row;
}

TEST(webhooks_are_put_changed_and_deleted_with_their_messages)
{
	struct harness h = harness_new();
	struct webhook_row *rows = NULL, row = {0};
	size_t count = 0;

	harness_begin(&h);
	int64_t first = put_webhook(&h, "https://a/"), second = put_webhook(&h, "https://b/");
	put_delivery(&h, first, 1, 1);
	put_delivery(&h, second, 1, 1);
	harness_commit(&h);
	CHECK_OK(store_read_webhook(h.reader, h.arena, first, &row, &err));
	CHECK_SPAN(row.url, SPAN("https://a/"));
	CHECK_SPAN(row.format, SPAN("json"));
	CHECK_SPAN(row.sealed_secret, SPAN("\0\1\2"));
	CHECK_INT(row.minimum_severity, SEVERITY_CRITICAL);
	CHECK(row.is_enabled);
	CHECK_SPAN(row.team, SPAN("nlp"));
	CHECK_INT(row.created_ms, 5);
	row.is_enabled = false;
	harness_begin(&h);
	CHECK_OK(store_put_webhook(h.tx, &row, &err));
	CHECK_OK(store_delete_webhook(h.tx, second, &err));
	CHECK_FAILS(store_delete_webhook(h.tx, second, &err), ERR_NOT_FOUND, "webhook 2");
	CHECK(put_webhook(&h, "https://c/") > second);
	harness_commit(&h);
	CHECK_OK(store_read_webhooks(h.reader, h.arena, &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK(!rows[0].is_enabled);
	CHECK_FAILS(store_read_webhook(h.reader, h.arena, second, &row, &err), ERR_NOT_FOUND, "webhook 2");
	CHECK_INT(harness_number(h.reader, "SELECT count(*) FROM deliveries"), 1);
	row.webhook_id = 77;
	harness_begin(&h);
	CHECK_FAILS(store_put_webhook(h.tx, &row, &err), ERR_NOT_FOUND, "webhook 77");
	store_tx_rollback(h.tx);
	harness_done(&h);
}

static size_t due(struct harness *h, int64_t webhook, int64_t now_ms, struct delivery_row **rows)
{
	size_t count = 0;

	CHECK_OK(store_read_due_deliveries(h->reader, h->arena, webhook, now_ms, 100, rows, &count, &err));
	return count;
}

static void check_log(struct harness *h, int64_t webhook, int64_t first)
{
	struct delivery_row *rows = NULL;
	size_t count = 0;

	CHECK_OK(store_read_deliveries(h->reader, h->arena, webhook, 10, &rows, &count, &err));
	CHECK_INT(count, 3);
	CHECK_INT(rows[2].delivery_id, first);
	CHECK_INT(rows[2].state, DELIVERY_DEAD);
	CHECK_INT(rows[2].attempts, 3);
	CHECK_INT(rows[2].done_ms, 501);
	CHECK_INT(rows[2].last_code, 400);
	CHECK_SPAN(rows[2].last_error, SPAN("bad request"));
	CHECK_OK(store_read_deliveries(h->reader, h->arena, webhook, 1, &rows, &count, &err));
	CHECK_INT(count, 1);
}

TEST(order_holds_within_a_webhook_and_incident_alone)
{
	struct harness h = harness_new();
	struct delivery_row *rows = NULL;
	int64_t next_ms = 0;

	CHECK_OK(store_next_delivery_ms(h.reader, 1, &next_ms, &err));
	CHECK_INT(next_ms, INT64_MAX);
	harness_begin(&h);
	int64_t a = put_webhook(&h, "https://a/"), b = put_webhook(&h, "https://b/");
	struct delivery_row opened = put_delivery(&h, a, 1, 500); /* a retry, later than what follows it */
	struct delivery_row recovered = put_delivery(&h, a, 1, 100);
	struct delivery_row other = put_delivery(&h, a, 2, 300);
	struct delivery_row elsewhere = put_delivery(&h, b, 1, 200);
	harness_commit(&h);
	CHECK_OK(store_next_delivery_ms(h.reader, a, &next_ms, &err));
	CHECK_INT(next_ms, 300);
	CHECK_OK(store_next_delivery_ms(h.reader, b, &next_ms, &err));
	CHECK_INT(next_ms, 200);
	CHECK_INT(due(&h, b, 199, &rows), 0);
	CHECK_INT(due(&h, b, 400, &rows), 1);
	CHECK_INT(rows[0].delivery_id, elsewhere.delivery_id);
	CHECK_INT(due(&h, a, 400, &rows), 1);
	CHECK_INT(rows[0].delivery_id, other.delivery_id);
	CHECK_INT(due(&h, a, 500, &rows), 2);
	CHECK_INT(rows[1].delivery_id, opened.delivery_id);
	CHECK_SPAN(rows[1].payload, SPAN("{\"a\":1}"));
	CHECK_SPAN(rows[1].message_id, SPAN("msg_1"));
	opened.state = DELIVERY_DEAD;
	opened.attempts = 3;
	opened.done_ms = 501;
	opened.last_code = 400;
	opened.last_error = SPAN("bad request");
	harness_begin(&h);
	CHECK_OK(store_put_delivery(h.tx, &opened, &err));
	harness_commit(&h);
	CHECK_INT(due(&h, a, 500, &rows), 2);
	CHECK_INT(rows[0].delivery_id, recovered.delivery_id);
	check_log(&h, a, opened.delivery_id);
	harness_done(&h);
}

TEST(messages_of_no_incident_wait_for_nobody)
{
	struct harness h = harness_new();
	struct delivery_row *rows = NULL;

	harness_begin(&h);
	int64_t a = put_webhook(&h, "https://a/");
	put_delivery(&h, a, 0, 100);
	put_delivery(&h, a, 0, 90);
	harness_commit(&h);
	CHECK_INT(due(&h, a, 95, &rows), 1);
	CHECK_INT(due(&h, a, 100, &rows), 2);
	harness_done(&h);
}

TEST(settled_deliveries_go_by_age_and_pending_ones_stay)
{
	struct harness h = harness_new();
	struct delivery_row *rows = NULL;
	int64_t oldest_ms;
	size_t count;

	harness_begin(&h);
	int64_t a = put_webhook(&h, "https://a/");
	for (int64_t i = 0; i < 4; i++) {
		struct delivery_row row = put_delivery(&h, a, 1, 1);
		row.state = i % 2 ? DELIVERY_DONE : DELIVERY_DEAD;
		row.done_ms = 100 + i;
		CHECK_OK(store_put_delivery(h.tx, &row, &err));
	}
	struct delivery_row pending = put_delivery(&h, a, 2, 1);
	harness_commit(&h);
	CHECK_OK(store_oldest_settled_ms(h.reader, &oldest_ms, &err));
	CHECK_INT(oldest_ms, 100);
	harness_begin(&h);
	CHECK_OK(store_delete_settled(h.tx, 102, 1, &err));
	harness_commit(&h);
	CHECK_OK(store_oldest_settled_ms(h.reader, &oldest_ms, &err));
	CHECK_INT(oldest_ms, 101);
	harness_begin(&h);
	CHECK_OK(store_delete_settled(h.tx, 103, 10, &err)); /* the one settled at 103 is not older */
	harness_commit(&h);
	CHECK_OK(store_oldest_settled_ms(h.reader, &oldest_ms, &err));
	CHECK_INT(oldest_ms, 103);
	harness_begin(&h);
	CHECK_OK(store_delete_settled(h.tx, INT64_MAX, 10, &err));
	harness_commit(&h);
	CHECK_OK(store_oldest_settled_ms(h.reader, &oldest_ms, &err));
	CHECK(oldest_ms == INT64_MAX);
	CHECK_OK(store_read_deliveries(h.reader, h.arena, a, 10, &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(rows[0].delivery_id, pending.delivery_id);
	harness_done(&h);
}

TEST(a_delivery_of_a_deleted_webhook_is_gone)
{
	struct harness h = harness_new();

	harness_begin(&h);
	int64_t a = put_webhook(&h, "https://a/");
	struct delivery_row row = put_delivery(&h, a, 1, 100);
	CHECK_OK(store_delete_webhook(h.tx, a, &err));
	CHECK_FAILS(store_put_delivery(h.tx, &row, &err), ERR_NOT_FOUND, "delivery 1");
	harness_commit(&h);
	harness_done(&h);
}

TEST(a_delivery_sent_again_by_hand_begins_its_day_anew)
{
	struct harness h = harness_new();
	struct delivery_row row;

	harness_begin(&h);
	int64_t a = put_webhook(&h, "https://a/"), b = put_webhook(&h, "https://b/");
	struct delivery_row put = put_delivery(&h, a, 1, 1);
	put.created_ms = put.next_ms = 1000;
	CHECK_OK(store_put_delivery(h.tx, &put, &err));
	harness_commit(&h);
	CHECK_OK(store_read_delivery(h.reader, h.arena, a, put.delivery_id, &row, &err));
	CHECK_INT(row.created_ms, 1000);
	CHECK_SPAN(row.payload, SPAN("{\"a\":1}"));
	CHECK_FAILS(
		store_read_delivery(h.reader, h.arena, b, put.delivery_id, &row, &err), ERR_NOT_FOUND, "no delivery");
	harness_done(&h);
}
