#include "ingest/ingest.h"
#include "test.h"

TEST(names)
{
	CHECK_OK(ingest_check_name("job", SPAN("llama-7b/run 3 (\xc3\xa9\xf0\x9f\x98\x80)"), 255, &err));
	CHECK_FAILS(ingest_check_name("job", SPAN(""), 255, &err), ERR_INVALID, "job is empty");
	CHECK_FAILS(ingest_check_name("job", SPAN("abcd"), 3, &err), ERR_INVALID, "job has 4 bytes, more than 3");
	CHECK_FAILS(ingest_check_name("stream", SPAN("ab\tc"), 9, &err), ERR_INVALID, "control character at byte 3");
	CHECK_FAILS(
		ingest_check_name("stream", SPAN("ab\xc2\x85"), 9, &err), ERR_INVALID, "control character at byte 3");
	CHECK_FAILS(ingest_check_name("stream", SPAN("a\xff"), 9, &err), ERR_INVALID, "not UTF-8 at byte 2 (0xff)");
	CHECK_FAILS(ingest_check_name("stream", SPAN("a\0b"), 9, &err), ERR_INVALID, "byte 2");
	struct error err;
	CHECK(ingest_check_name("stream", SPAN(""), 9, &err) == ERR_INVALID);
	CHECK_TEXT(err.field, "stream");
}

TEST(media_types)
{
	CHECK(ingest_protocol_for(SPAN("")) == &ingest_plain);
	CHECK(ingest_protocol_for(SPAN("text/plain; charset=utf-8")) == &ingest_plain);
	CHECK(ingest_protocol_for(SPAN("TEXT/x-log")) == &ingest_plain);
	CHECK(ingest_protocol_for(SPAN("application/x-www-form-urlencoded")) == &ingest_plain);
	CHECK(ingest_protocol_for(SPAN("application/x-ndjson")) == &ingest_ndjson);
	CHECK(ingest_protocol_for(SPAN("Application/X-NDJSON ; a=b")) == &ingest_ndjson);
	CHECK(ingest_protocol_for(SPAN("application/json")) == &ingest_json_array);
	CHECK(ingest_protocol_for(SPAN("multipart/form-data; boundary=x")) == NULL);
	CHECK(ingest_protocol_for(SPAN("image/png")) == NULL);
}
