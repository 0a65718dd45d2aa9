#include "aws/protocol/sigv4.h"
#include "base/text/iso8601.h"
#include "test.h"

#include <stdio.h>

/* The key, the time and the signatures are those of AWS's own test suite for Signature Version 4; each was also made by botocore. */
#define SECRET SPAN("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
#define CREDENTIAL "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request"
#define AT_MS 1440938160000 /* 2015-08-30T12:36:00Z */
#define HOST                                                                                                           \
	{                                                                                                              \
		SPAN("Host"), SPAN("example.amazonaws.com")                                                            \
	}
#define DATE                                                                                                           \
	{                                                                                                              \
		SPAN("X-Amz-Date"), SPAN("20150830T123600Z")                                                           \
	}
#define SKEW_MS 300000

struct vector {
	const char *method, *path, *body, *signed_headers, *signature;
	struct http_header headers[8];
	size_t header_count;
};

static enum status verify_at(const struct vector *vector, int64_t now_ms, struct error *err)
{
	char header[1024];
	struct sigv4_authorization authorization;
	const struct sigv4_request request = {.method = span_from(vector->method),
		.path = span_from(vector->path),
		.body = span_from(vector->body),
		.headers = vector->headers,
		.header_count = vector->header_count};

	snprintf(header, sizeof header, "AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=%s, Signature=%s",
		vector->signed_headers, vector->signature);
	TRY(sigv4_parse(&authorization, span_from(header), err));
	return sigv4_verify(&authorization, &request, SECRET, now_ms, SKEW_MS, err);
}

static enum status verify(const struct vector *vector, struct error *err)
{
	return verify_at(vector, AT_MS, err);
}

static const struct vector vanilla = {"POST", "/", "", "host;x-amz-date",
	"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", {HOST, DATE}, 2};

TEST(published_vectors)
{
	static const struct vector vectors[] = {
		{"GET", "/", "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
			{HOST, DATE}, 2},
		{"POST", "/", "Param1=value1", "content-type;host;x-amz-date",
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
			{HOST, DATE, {SPAN("Content-Type"), SPAN("application/x-www-form-urlencoded")}}, 3},
		{"GET", "/", "", "host;my-header1;my-header2;x-amz-date",
			"acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
			{HOST, DATE, {SPAN("My-Header1"), SPAN(" value1 ")},
				{SPAN("My-Header2"), SPAN(" \"a   b   c\" ")}},
			4},
		{"POST", "/", "", "host;my-header1;x-amz-date",
			"c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
			{DATE, {SPAN("MY-HEADER1"), SPAN("value1")}, HOST}, 3},
		{"GET", "/", "", "host;my-header1;x-amz-date",
			"c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
			{HOST, {SPAN("My-Header1"), SPAN("value2")}, {SPAN("My-Header1"), SPAN("value2")},
				{SPAN("My-Header1"), SPAN("value1")}, DATE},
			5},
		{"GET", "/\u1234", "", "host;x-amz-date",
			"8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85", {HOST, DATE}, 2},
		{"GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "host;x-amz-date",
			"07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f", {HOST, DATE}, 2},
	};

	CHECK_OK(verify(&vanilla, &err));
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		CHECK_OK(verify(&vectors[i], &err));
}

static void check_refused(const struct vector *vector, int64_t now_ms, const char *code, const char *words)
{
	struct error err = {0};

	CHECK_INT(verify_at(vector, now_ms, &err), ERR_UNAUTHORIZED);
	CHECK_TEXT(err.code, code);
	if (span_find(span_from(err.text), span_from(words)) < 0)
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", err.text, words);
}

TEST(whatever_is_signed_must_be_as_it_was)
{
	struct vector other = vanilla;

	other.body = "x";
	check_refused(&other, AT_MS, "InvalidSignatureException", "does not match the signature");
	other = vanilla;
	other.path = "/x";
	check_refused(&other, AT_MS, "InvalidSignatureException", "does not match");
	other = vanilla;
	other.headers[0].value = SPAN("other.example");
	check_refused(&other, AT_MS, "InvalidSignatureException", "does not match");
	other = vanilla;
	other.signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6c";
	check_refused(&other, AT_MS, "InvalidSignatureException", "does not match");
	other.signature = "5da7";
	check_refused(&other, AT_MS, "InvalidSignatureException", "does not match");
}

TEST(host_time_and_each_x_amz_header_must_be_signed)
{
	struct vector other = vanilla;

	other.signed_headers = "x-amz-date";
	check_refused(&other, AT_MS, "InvalidSignatureException", "'Host' must be a 'SignedHeader'");
	other.signed_headers = "host";
	check_refused(&other, AT_MS, "InvalidSignatureException", "'X-Amz-Date' must be a 'SignedHeader'");
	other = vanilla;
	other.headers[other.header_count++] = (struct http_header){SPAN("X-Amz-Target"), SPAN("SageMaker.Search")};
	check_refused(&other, AT_MS, "InvalidSignatureException", "'X-Amz-Target' must be a 'SignedHeader'");
	other.headers[2] = (struct http_header){SPAN("X-Amzn-Trace-Id"), SPAN("a proxy's")};
	CHECK_OK(verify(&other, &err));
}

TEST(the_clock_may_be_off_by_so_much)
{
	struct vector other = vanilla;

	CHECK_OK(verify_at(&vanilla, AT_MS + SKEW_MS, &err));
	CHECK_OK(verify_at(&vanilla, AT_MS - SKEW_MS, &err));
	check_refused(&vanilla, AT_MS + SKEW_MS + 1, "InvalidSignatureException",
		"Signature expired: 20150830T123600Z is now earlier than");
	check_refused(&vanilla, AT_MS - SKEW_MS - 1, "InvalidSignatureException",
		"Signature not yet current: 20150830T123600Z is still later than");
	other.headers[1].value = SPAN("2015-08-30 12:36");
	check_refused(&other, AT_MS, "IncompleteSignatureException", "YYYYMMDD'T'HHMMSS'Z'");
	other.headers[1].value = SPAN("20150831T003600Z");
	check_refused(&other, AT_MS, "InvalidSignatureException", "Date in Credential scope");
	other.header_count = 1;
	check_refused(&other, AT_MS, "IncompleteSignatureException", "X-Amz-Date");
}

TEST(a_stated_hash_is_of_the_body)
{
	struct vector other = vanilla;

	other.signed_headers = "host;x-amz-content-sha256;x-amz-date";
	other.headers[other.header_count++] =
		(struct http_header){SPAN("x-amz-content-sha256"), SPAN("UNSIGNED-PAYLOAD")};
	check_refused(&other, AT_MS, "InvalidSignatureException", "UNSIGNED-PAYLOAD");
	other.headers[2].value = SPAN("STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
	check_refused(&other, AT_MS, "InvalidSignatureException", "must be signed as a whole");
	other.headers[2].value = SPAN("00");
	check_refused(&other, AT_MS, "InvalidSignatureException", "is not the SHA-256 of the body");
}

TEST(headers_that_say_too_little)
{
	static const struct {
		const char *header, *words;
	} cases[] = {
		{"AWS4-ECDSA-P256-SHA256 " CREDENTIAL ", SignedHeaders=host, Signature=00", "only AWS4-HMAC-SHA256"},
		{"AWS4-HMAC-SHA256", "'Credential'"},
		{"AWS4-HMAC-SHA256 SignedHeaders=host, Signature=00", "'Credential'"},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", Signature=00", "'SignedHeaders'"},
		{"AWS4-HMAC-SHA256 " CREDENTIAL ", SignedHeaders=host", "'Signature'"},
		{"AWS4-HMAC-SHA256 Credential=A/20150830/r/s, SignedHeaders=host, Signature=00", "5 slash-delimited"},
		{"AWS4-HMAC-SHA256 Credential=A/2015/r/s/aws4_request, SignedHeaders=host, Signature=00",
			"5 slash-delimited"},
		{"AWS4-HMAC-SHA256 Credential=A/20150830/r/s/aws4_request/, SignedHeaders=host, Signature=00",
			"5 slash-delimited"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sigv4_authorization out;
		struct error refused = {0};
		CHECK_INT(sigv4_parse(&out, span_from(cases[i].header), &refused), ERR_UNAUTHORIZED);
		CHECK_TEXT(refused.code, "IncompleteSignatureException");
		if (span_find(span_from(refused.text), span_from(cases[i].words)) < 0)
			test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", refused.text, cases[i].words);
	}
}

struct capture {
	const char *authorization, *body, *now;
	struct http_header headers[16];
	size_t header_count;
};

/* What clients sent, with the signatures that they made: the command line of Debian 12 (2.9.19) and the JavaScript SDK (3.1141.0). */
TEST(captures_of_clients)
{
	static const struct capture captures[] = {
		{"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/sagemaker/aws4_request, "
		 "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
		 "Signature=a44481df17f3b951cb7b9b23b83a222f419da0139cc80a0b4f7071701cff07d9",
			"{}", "2026-11-21T18:20:56Z",
			{{SPAN("Host"), SPAN("127.0.0.1:18777")}, {SPAN("Accept-Encoding"), SPAN("identity")},
				{SPAN("X-Amz-Target"), SPAN("SageMaker.ListTrainingJobs")},
				{SPAN("Content-Type"), SPAN("application/x-amz-json-1.1")},
				{SPAN("X-Amz-Date"), SPAN("20261121T182056Z")}},
			5},
		{"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/sagemaker/aws4_request, "
		 "SignedHeaders=amz-sdk-invocation-id;amz-sdk-request;content-length;content-type;host;x-amz-content-sha256;"
		 "x-amz-date;x-amz-target;x-amz-user-agent, "
		 "Signature=be79e65182caabd74582e341a92ec7765a406c38416829aad3b158b3335b2671",
			"{\"MaxResults\":1}", "2026-11-21T18:21:18Z",
			{{SPAN("content-type"), SPAN("application/x-amz-json-1.1")},
				{SPAN("x-amz-target"), SPAN("SageMaker.ListTrainingJobs")},
				{SPAN("content-length"), SPAN("16")},
				{SPAN("x-amz-user-agent"), SPAN("aws-sdk-js/3.1141.0")},
				{SPAN("host"), SPAN("127.0.0.1:18777")},
				{SPAN("amz-sdk-invocation-id"), SPAN("6037d0aa-3996-4a44-b5eb-6234b0389bc9")},
				{SPAN("amz-sdk-request"), SPAN("attempt=1; max=3")},
				{SPAN("x-amz-date"), SPAN("20261121T182118Z")},
				{SPAN("x-amz-content-sha256"),
					SPAN("5d327dabe3dd761d0a1fd5ac1ad275322fd6e1d88a5d361c1750ac453ec177b9")}},
			9},
	};

	for (size_t i = 0; i < sizeof captures / sizeof *captures; i++) {
		struct sigv4_authorization authorization;
		int64_t now_ms;
		const struct sigv4_request request = {.method = SPAN("POST"),
			.path = SPAN("/"),
			.body = span_from(captures[i].body),
			.headers = captures[i].headers,
			.header_count = captures[i].header_count};
		CHECK(iso8601_parse(span_from(captures[i].now), &now_ms));
		CHECK(sigv4_is(span_from(captures[i].authorization)));
		CHECK_OK(sigv4_parse(&authorization, span_from(captures[i].authorization), &err));
		CHECK_SPAN(authorization.key_id, SPAN("AKIDEXAMPLE"));
		CHECK_SPAN(authorization.service, SPAN("sagemaker"));
		CHECK_OK(sigv4_verify(&authorization, &request, SECRET, now_ms, SKEW_MS, &err));
	}
	CHECK(!sigv4_is(SPAN("Bearer x")));
}
