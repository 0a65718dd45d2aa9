#include "aws/protocol/internal.h"
#include "test.h"

static const struct aws_operation none[] = {{.name = NULL}};
static const struct aws_service service = {.target = "T",
	.operations = none,
	.codes = {"Invalid", "Missing", "NotFound", "Conflict", "Busy", "Unavailable"},
	.query_codes = (const char *const[]){"Invalid", "InvalidInQuery", NULL}};

static const struct shape_rule rules[] = {
	{"Name", SHAPE_NEEDED, 0, 0, NULL},
	{"Name", SHAPE_STRING, 1, 4, "[a-z]+"},
	{"Config.Count", SHAPE_INTEGER, 1, 10, NULL},
	{"Config.Items", SHAPE_ARRAY, 0, 1, NULL},
	{"Config.Items[].Kind", SHAPE_ENUM, 0, 0, "A|B"},
	{NULL, SHAPE_OBJECT, 0, 0, NULL},
};

static void check(const char *text, const char *code, const char *message)
{
	struct aws_call call = {.service = &service};
	struct error said = {0};
	AUTO(json) document = NULL;

	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_INT(aws_check(&call, rules, document, &said), ERR_SEMANTIC);
	CHECK_TEXT(aws_code_of(&service, &said), code);
	CHECK_TEXT(said.text, message);
	CHECK_INT(aws_http_status_of(&said), 400);
}

TEST(faults_are_worded_as_aws_does)
{
	check("{}", "Missing",
		"1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null");
	check("{\"Name\":\"\"}", "Invalid",
		"1 validation error detected: Value '' at 'name' failed to satisfy constraint: "
		"Member must have length greater than or equal to 1");
	check("{\"Name\":\"A\"}", "Invalid",
		"1 validation error detected: Value 'A' at 'name' failed to satisfy constraint: "
		"Member must satisfy regular expression pattern: [a-z]+");
	check("{\"Name\":\"a\",\"Config\":{\"Count\":11}}", "Invalid",
		"1 validation error detected: Value '11' at 'config.count' failed to satisfy constraint: "
		"Member must have value less than or equal to 10");
	check("{\"Name\":\"a\",\"Config\":{\"Count\":\"1\"}}", "Invalid",
		"1 validation error detected: Value '1' at 'config.count' failed to satisfy constraint: "
		"Member must be an integer");
	check("{\"Name\":\"a\",\"Config\":{\"Items\":[{\"Kind\":\"C\"}]}}", "Invalid",
		"1 validation error detected: Value 'C' at 'config.items.1.member.kind' failed to satisfy constraint: "
		"Member must satisfy enum value set: [A, B]");
}

TEST(codes_follow_the_status)
{
	struct error said = {0};

	error_set(&said, ERR_NOT_FOUND, "x");
	CHECK_TEXT(aws_code_of(&service, &said), "NotFound");
	CHECK_INT(aws_http_status_of(&said), 400);
	error_set(&said, ERR_BUSY, "x");
	CHECK_TEXT(aws_code_of(&service, &said), "Busy");
	error_set(&said, ERR_UNAVAILABLE, "x");
	CHECK_INT(aws_http_status_of(&said), 503);
	error_set(&said, ERR_FORBIDDEN, "x");
	CHECK_TEXT(aws_code_of(NULL, &said), "AccessDeniedException");
	CHECK_INT(aws_http_status_of(&said), 403);
	error_set(&said, ERR_INTERNAL, "x");
	CHECK_INT(aws_http_status_of(&said), 500);
	aws_error(&said, ERR_CONFLICT, "Own", "%d of them", 3);
	CHECK_TEXT(aws_code_of(&service, &said), "Own");
	CHECK_TEXT(said.text, "3 of them");
	CHECK_TEXT(aws_query_code(&service, "Invalid"), "InvalidInQuery");
	CHECK_TEXT(aws_query_code(&service, "InvalidSignatureException"), "SignatureDoesNotMatch");
	CHECK_TEXT(aws_query_code(NULL, "Other"), "Other");
}
