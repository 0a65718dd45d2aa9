#include "cli/input/score_file.h"
#include "test.h"

static bool is_one(const char *text)
{
	return score_file_is_one(span_from(text));
}

TEST(what_an_evaluation_found_is_one_document_of_scores)
{
	CHECK(is_one("{\n  \"results\": {\n    \"a\": {\"acc,none\": NaN}\n  },\n  \"config\": {\"x\": \"}\"}\n}\n"));
	CHECK(is_one("{\"results\":{\"a\":{\"acc\":0.5}},\"versions\":{}}"));
	CHECK(is_one("{\"scores\": {\"a/acc\": 0.5}}"));
	CHECK(is_one("{\"step\": 7, \"path\": \"a \\\" { b\", \"scores\": {\"a/acc\": {\"value\": 0.5}}}"));
	CHECK(!is_one("{\"step\": 7, \"scores\": {\"a/acc\": 0.5}}\n{\"step\": 8, \"scores\": {\"a/acc\": 0.5}}\n"));
	CHECK(!is_one("{\"step\": 7, \"loss\": 0.5, \"scores\": {\"a/acc\": 0.5}}"));
	CHECK(!is_one("{\"results\": {\"loss\": 0.5}}"));
	CHECK(!is_one("{\"results\": [{\"a\": {}}]}"));
	CHECK(!is_one("{\"scores\": {\"acc\": 0.5}}"));
	CHECK(!is_one("step 7 loss 0.5\n"));
	CHECK(!is_one("{\"results\": \"a"));
	CHECK(!is_one("{\"path\""));
	CHECK(!is_one("{\"results\": {0"));
	CHECK(!is_one(""));
}

TEST(one_that_is_cut_off_is_no_log)
{
	static const char whole[] = "{\"results\": {\"a\": {\"acc,none\": 0.5}}}";

	for (size_t len = strlen("{\"results\":"); len <= strlen(whole); len++)
		if (!score_file_is_one(span_of(whole, len)))
			test_fail(__FILE__, __LINE__, "'%.*s' is a log", (int)len, whole);
	CHECK(is_one("{\"scores\": {\"a/acc\": 0.5}"));
}
