#include "aws/protocol/xml_write.h"
#include "test.h"

static const char *const times[] = {"Timestamp", "Timestamps", NULL};
static const char *const maps[] = {"Map", NULL};

TEST(text_is_escaped)
{
	static const struct {
		struct span text;
		const char *xml;
	} rows[] = {
		{SPAN("plain \xc3\xa9"), "plain \xc3\xa9"},
		{SPAN("<a href=\"x\">&'</a>]]>"), "&lt;a href=&quot;x&quot;&gt;&amp;&apos;&lt;/a&gt;]]&gt;"},
		{SPAN("&lt;"), "&amp;lt;"},
		{SPAN("\t\n\r"), "\t\n&#xD;"},
		{SPAN("a\0b\x1b"), "a\xef\xbf\xbd"
				   "b\xef\xbf\xbd"},
		{SPAN("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd"},
		{SPAN("\xef\xbf\xbe\xef\xbf\xbf"), "\xef\xbf\xbd\xef\xbf\xbd"},
		{SPAN("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_DONE(buf) out = BUF_INIT(1 << 10);
		xml_write_text(rows[i].text, &out);
		CHECK_SPAN(buf_span(&out), span_from(rows[i].xml));
	}
}

static void check_reply(const char *result, const char *xml)
{
	struct xml_reply reply = {"urn:x", "Op", SPAN("r<1"), times, maps};
	AUTO_DONE(buf) out = BUF_INIT(1 << 12);
	AUTO(json) json = NULL;

	if (result)
		CHECK_OK(json_parse(&json, span_from(result), &err));
	xml_write_reply(&reply, json, &out);
	CHECK_SPAN(buf_span(&out), span_from(xml));
}

TEST(replies)
{
#define REPLY(result)                                                                                                  \
	"<OpResponse xmlns=\"urn:x\">" result                                                                          \
	"<ResponseMetadata><RequestId>r&lt;1</RequestId></ResponseMetadata></OpResponse>"
	check_reply(NULL, REPLY(""));
	check_reply("{}", REPLY("<OpResult></OpResult>"));
	check_reply("{\"L\":\"a&b\",\"N\":null,\"B\":true,\"D\":1.5,\"E\":[]}",
		REPLY("<OpResult><L>a&amp;b</L><B>true</B><D>1.5</D><E></E></OpResult>"));
	check_reply("{\"Map\":{\"p90\":1.5,\"<\":\"&\"}}",
		REPLY("<OpResult><Map><entry><key>p90</key><value>1.5</value></entry>"
		      "<entry><key>&lt;</key><value>&amp;</value></entry></Map></OpResult>"));
	check_reply("{\"P\":[{\"Timestamp\":1700000000.25,\"Sum\":1700000000}],\"Timestamps\":[0]}",
		REPLY("<OpResult><P><member><Timestamp>2023-11-14T22:13:20.250Z</Timestamp><Sum>1700000000</Sum></member></P>"
		      "<Timestamps><member>1970-01-01T00:00:00.000Z</member></Timestamps></OpResult>"));
}

TEST(errors)
{
	struct xml_reply reply = {"urn:x", "Op", SPAN("r1"), times, NULL};
	AUTO_DONE(buf) out = BUF_INIT(1 << 12);

	xml_write_error(&reply, true, SPAN("InvalidParameterValue"), SPAN("'<x>' is none"), &out);
	CHECK_SPAN(buf_span(&out),
		SPAN("<ErrorResponse xmlns=\"urn:x\"><Error><Type>Sender</Type><Code>InvalidParameterValue</Code>"
		     "<Message>&apos;&lt;x&gt;&apos; is none</Message></Error><RequestId>r1</RequestId></ErrorResponse>"));
	buf_reset(&out);
	xml_write_error(&reply, false, SPAN("InternalServiceError"), SPAN(""), &out);
	CHECK_SPAN(buf_span(&out),
		SPAN("<ErrorResponse xmlns=\"urn:x\"><Error><Type>Receiver</Type><Code>InternalServiceError</Code>"
		     "<Message></Message></Error><RequestId>r1</RequestId></ErrorResponse>"));
}
