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
