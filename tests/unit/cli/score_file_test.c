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
	CHECK(!is_one("{\"scores\": {\"a/acc\": 0.5}"));
	CHECK(!is_one("step 7 loss 0.5\n"));
	CHECK(!is_one("{\"results\": \"a"));
	CHECK(!is_one("{\"path\""));
	CHECK(!is_one(""));
}
