#include "base/json/json_python.h"

#include "base/json/json_read.h"
#include "test.h"

static bool becomes(const char *python, const char *json)
{
	AUTO_DONE(buf) out = BUF_INIT(1024);

	json_from_python(span_from(python), &out);
	return !out.failure && span_equal(buf_span(&out), span_from(json));
}

static bool is_json(const char *python)
{
	AUTO_DONE(buf) out = BUF_INIT(1024);
	AUTO(json) document = NULL;

	json_from_python(span_from(python), &out);
	return json_parse(&document, buf_span(&out), NULL) == OK;
}

TEST(a_dictionary_of_python_becomes_json)
{
	CHECK(becomes("{'stage': 3, 'on': True, 'off': False, 'none': None}",
		"{\"stage\": 3, \"on\": true, \"off\": false, \"none\": null}"));
	CHECK(becomes("{'betas': (0.9, 1e-08), 'a': [{}]}", "{\"betas\": [0.9, 1e-08], \"a\": [{}]}"));
	CHECK(becomes("{'say \"x\"': \"it's\", 'b': 'it\\'s \\x1b\\n\\\\'}",
		"{\"say \\\"x\\\"\": \"it's\", \"b\": \"it's \\u001b\\n\\\\\"}"));
	CHECK(becomes("{'True': 'None'}", "{\"True\": \"None\"}"));
	CHECK(is_json("{'stage': 3, 'more': (1, 2), \"x\": 'it\\'s'}"));
}

TEST(what_is_no_dictionary_of_python_is_no_json)
{
	static const char *const texts[] = {"{'stage': nan}", "{'type': torch.bfloat16}", "{'open", "{'a\\",
		"{'a': '\\q'}", "{'a': '\\x", "{'a': '\\x1", "{<Stage.ONE: 1>: 2}", "{'a': 1,}"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		CHECK(!is_json(texts[i]));
}
