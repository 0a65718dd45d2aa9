#include "model/jobs/by_hand.h"
#include "test.h"

static struct error why;

/* {"faults": {"algo-1:FROM": "pulled", …}}, so many of them */
static struct json *faults(int from, int count)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct json *out = NULL;

	buf_append_text(&text, "{\"faults\":{");
	for (int i = 0; i < count; i++)
		buf_printf(&text, "%s\"algo-1:%d\":\"pulled\"", i ? "," : "", from + i);
	buf_append_text(&text, "}}");
	CHECK_OK(json_parse(&out, buf_span(&text), &err));
	return out;
}

static enum status change(struct json *document, int from, int count)
{
	AUTO(json) changes = faults(from, count);

	return by_hand_change(document, changes, &why);
}

TEST(a_request_has_no_more_faults_than_a_job)
{
	AUTO(json) most = faults(0, 1000);
	AUTO(json) more = faults(0, 1001);

	CHECK_OK(by_hand_check(most, INT64_MAX, &err));
	CHECK_INT(by_hand_check(more, INT64_MAX, &why), ERR_SEMANTIC);
	CHECK_TEXT(why.field, "by_hand.faults");
}

TEST(a_job_has_no_more_faults_than_are_asked_for_at_once)
{
	AUTO(json) document = NULL;

	CHECK_OK(json_parse(&document, SPAN("{}"), &err));
	CHECK_OK(change(document, 0, 999));
	CHECK_OK(change(document, 999, 1));
	CHECK_OK(change(document, 500, 500)); /* those that are there */
	CHECK_INT(change(document, 1000, 1), ERR_SEMANTIC);
	CHECK_TEXT(why.field, "by_hand.faults");
	CHECK_INT(json_count(json_get_path(document, "by_hand.faults")), 1000);
}

/* {"checkpoints": {"1:FROM": {…}, …}}, so many of them with texts of these lengths */
static struct json *checkpoints(int from, int count, int path_bytes, int why_bytes)
{
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);
	struct json *out = NULL;

	buf_append_text(&text, "{\"checkpoints\":{");
	for (int i = 0; i < count; i++)
		buf_printf(&text, "%s\"1:%d\":{\"ts_ms\":1767225600000,\"path\":\"%0*d\",\"why\":\"%0*d\"}",
			i ? "," : "", from + i, path_bytes, 7, why_bytes, 7);
	buf_append_text(&text, "}}");
	CHECK_OK(json_parse(&out, buf_span(&text), &err));
	return out;
}

TEST(checkpoints_are_as_many_and_their_texts_as_long_as_may_be)
{
	AUTO(json) document = NULL;
	AUTO(json) more = checkpoints(1000, 1, 1, 1);
	AUTO(json) too_many = checkpoints(0, 1001, 1, 1);
	AUTO(json) long_path = checkpoints(0, 1, 1025, 1);
	AUTO(json) long_why = checkpoints(0, 1, 1, 501);
	AUTO(json) most = checkpoints(0, 1000, 1024, 500);

	CHECK_OK(json_parse(&document, SPAN("{}"), &err));
	CHECK_INT(by_hand_check(too_many, INT64_MAX, &why), ERR_SEMANTIC);
	CHECK_TEXT(why.field, "by_hand.checkpoints");
	CHECK_INT(by_hand_check(long_path, INT64_MAX, &why), ERR_SEMANTIC);
	CHECK_TEXT(why.field, "by_hand.checkpoints.1:0.path");
	CHECK_INT(by_hand_check(long_why, INT64_MAX, &why), ERR_SEMANTIC);
	CHECK_TEXT(why.field, "by_hand.checkpoints.1:0.why");
	CHECK_OK(by_hand_change(document, most, &err));
	CHECK_INT(by_hand_change(document, more, &why), ERR_SEMANTIC); /* together they are too many */
	CHECK_TEXT(why.field, "by_hand.checkpoints");
}
