#include "model/json_form.h"
#include "test.h"

static void check_form(const char *text, const char *field)
{
	AUTO(json) json = NULL;
	struct error why = {0};

	CHECK(json_parse(&json, span_from(text), &why) == OK);
	enum status status = json_check_form(json, &why);
	CHECK_INT(status, field ? ERR_SEMANTIC : OK);
	CHECK_SPAN(span_from(why.field), span_from(field ? field : ""));
}

TEST(a_document_has_each_key_once_and_numbers_that_are_some)
{
	check_form("{}", NULL);
	check_form("{\"a\":{\"b\":1,\"c\":[1,{\"b\":2}]},\"b\":3}", NULL);
	check_form("{\"a\":1,\"a\":1}", "a");
	check_form("{\"a\":{\"b\":[{\"c\":1,\"d\":2,\"c\":3}]}}", "a.b.c");
	check_form(
		"{\"k0\":0,\"k1\":0,\"k2\":0,\"k3\":0,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,\"k3\":0}",
		"k3");
	check_form("{\"a\":[1,2,1e400]}", "a");
	check_form("{\"a\":{\"b\":-1e400}}", "a.b");
	check_form("{\"a\":1e308,\"b\":1e-400}", NULL);
	check_form("{\"a\":{\"b\":\"\xff\"}}", "a.b");
	check_form("{\"a\":{\"\xff\":1}}", "a");
	/* composed and not: two keys */
	check_form("{\"\\u00e9\":1,\"e\\u0301\":2}", NULL);
}
