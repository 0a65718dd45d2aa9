#include "alert/rule.h"
#include "alert/webhook.h"
#include "store/alerts.h"
#include "test.h"

TEST(signature_is_the_specification_s)
{
	AUTO_DONE(buf) key = BUF_INIT(256);
	AUTO_DONE(buf) out = BUF_INIT(256);

	CHECK(webhook_secret_parse(SPAN("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &key));
	webhook_sign(
		buf_span(&key), SPAN("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330, SPAN("{\"test\": 2432232314}"), &out);
	CHECK_SPAN(buf_span(&out), SPAN("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
}

TEST(secrets_that_are_none)
{
	static const char *const cases[] = {
		"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!", "whsec_abc"};
	AUTO_DONE(buf) key = BUF_INIT(256);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK(!webhook_secret_parse(span_from(cases[i]), &key));
}

static const struct delivery_limits limits = {5000, 3600000, 24 * 3600000};

TEST(what_becomes_of_a_delivery)
{
	static const struct {
		int code;
		enum delivery_state state;
	} cases[] = {{200, DELIVERY_DONE}, {204, DELIVERY_DONE}, {299, DELIVERY_DONE}, {0, DELIVERY_PENDING},
		{302, DELIVERY_PENDING}, {400, DELIVERY_DEAD}, {401, DELIVERY_DEAD}, {404, DELIVERY_DEAD},
		{410, DELIVERY_DEAD}, {408, DELIVERY_PENDING}, {425, DELIVERY_PENDING}, {429, DELIVERY_PENDING},
		{500, DELIVERY_PENDING}, {503, DELIVERY_PENDING}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct delivery_row row = {.message_id = SPAN("msg_1"), .created_ms = 1000, .next_ms = 1000};
		delivery_settle(&row, &limits, cases[i].code, 0, SPAN("why"), 5000);
		CHECK_INT(row.state, cases[i].state);
		CHECK_INT(row.attempts, 1);
		CHECK_INT(row.last_code, cases[i].code);
		CHECK_SPAN(row.last_error, SPAN("why"));
		CHECK_INT(row.done_ms, cases[i].state == DELIVERY_PENDING ? 0 : 5000);
		CHECK(cases[i].state == DELIVERY_PENDING ? row.next_ms >= 10000 && row.next_ms <= 10500
							 : row.next_ms == 1000);
	}
}

TEST(retries_wait_longer_and_end_after_a_day)
{
	struct delivery_row row = {.message_id = SPAN("msg_2")};
	int64_t now_ms = 0, delay_ms = 5000;

	while (row.state == DELIVERY_PENDING) {
		delivery_settle(&row, &limits, 500, 0, SPAN(""), now_ms);
		if (row.state == DELIVERY_PENDING) {
			CHECK(row.next_ms - now_ms >= delay_ms && row.next_ms - now_ms <= delay_ms + delay_ms / 10);
			delay_ms = delay_ms * 2 > 3600000 ? 3600000 : delay_ms * 2;
			now_ms = row.next_ms;
		}
	}
	CHECK(now_ms >= 24 * 3600000);
	CHECK(now_ms < 26 * 3600000);
	CHECK_INT(row.state, DELIVERY_DEAD);
}

TEST(jitter_differs_and_is_repeatable)
{
	struct delivery_row a = {.message_id = SPAN("msg_a")}, b = {.message_id = SPAN("msg_b")}, again = a;

	delivery_settle(&a, &limits, 500, 0, SPAN(""), 0);
	delivery_settle(&b, &limits, 500, 0, SPAN(""), 0);
	delivery_settle(&again, &limits, 500, 0, SPAN(""), 0);
	CHECK(a.next_ms != b.next_ms);
	CHECK_INT(again.next_ms, a.next_ms);
}

TEST(a_receiver_says_when_to_come_again)
{
	struct delivery_row row = {.message_id = SPAN("msg_3")}, late = row;

	delivery_settle(&row, &limits, 429, 120, SPAN(""), 1000);
	CHECK_INT(row.next_ms, 121000);
	delivery_settle(&row, &limits, 503, 1, SPAN(""), 200000); /* sooner than one would: not before that */
	CHECK(row.next_ms >= 210000);
	delivery_settle(&late, &limits, 503, 1000000, SPAN(""), 0); /* but nobody is told to wait for ever */
	CHECK_INT(late.next_ms, 3600000);
}
