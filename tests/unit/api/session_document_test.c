#include "api/send/session_document.h"
#include "test.h"

enum { MOST_BYTES = 1 << 20 };

/* The document of {"hp":…} and the like, read again. */
static struct json *document_of(struct span text)
{
	AUTO(json) body = NULL;
	AUTO_DONE(buf) out = BUF_INIT(MOST_BYTES);
	struct json *document = NULL;

	CHECK_OK(json_parse(&body, text, &err));
	CHECK_OK(session_write_document(body, "j", &out, &err));
	CHECK_OK(json_parse(&document, buf_span(&out), &err));
	return document;
}

static void check_document(const char *text, const char *want)
{
	AUTO(json) body = NULL;
	AUTO_DONE(buf) out = BUF_INIT(MOST_BYTES);

	CHECK_OK(json_parse(&body, span_from(text), &err));
	CHECK_OK(session_write_document(body, "j", &out, &err));
	CHECK_SPAN(buf_span(&out), span_from(want));
}

TEST(a_document_out_of_what_a_sender_says)
{
	check_document("{}", "{\"TrainingJobName\":\"j\",\"ResourceConfig\":{},\"Tags\":[]}");
	check_document("{\"hp\":null,\"tags\":null,\"metrics\":{}}",
		"{\"TrainingJobName\":\"j\",\"ResourceConfig\":{},\"Tags\":[]}");
	check_document("{\"hp\":{\"lr\":0.5,\"on\":true,\"none\":null,\"list\":[1,\"a\"],\"text\":\"x\"}}",
		"{\"TrainingJobName\":\"j\",\"HyperParameters\":{\"lr\":\"0.5\",\"on\":\"true\",\"none\":\"null\","
		"\"list\":\"[1,\\\"a\\\"]\",\"text\":\"x\"},\"ResourceConfig\":{},\"Tags\":[]}");
	check_document("{\"metrics\":{\"loss\":\"loss=(.*)\"},\"instance_type\":\"p4\",\"instance_count\":3,"
		       "\"tags\":{\"owner\":\"eve\"}}",
		"{\"TrainingJobName\":\"j\",\"AlgorithmSpecification\":{\"MetricDefinitions\":[{\"Name\":\"loss\","
		"\"Regex\":\"loss=(.*)\"}]},\"ResourceConfig\":{\"InstanceType\":\"p4\",\"InstanceCount\":3},"
		"\"Tags\":[{\"Key\":\"owner\",\"Value\":\"eve\"}]}");
}

static void check_refused(const char *text, const char *field, const char *words)
{
	AUTO(json) body = NULL;
	AUTO_DONE(buf) out = BUF_INIT(MOST_BYTES);
	struct error own = {0};

	CHECK_OK(json_parse(&body, span_from(text), &err));
	CHECK_INT(session_write_document(body, "j", &out, &own), ERR_SEMANTIC);
	CHECK_TEXT(own.field, field);
	CHECK(span_find(span_from(own.text), span_from(words)) >= 0);
}

TEST(what_a_sender_says_has_its_form)
{
	check_refused("{\"hp\":[]}", "hp", "hp is an object, {\"name\":\"value\"}");
	check_refused("{\"tags\":\"a=b\"}", "tags", "tags is an object");
	check_refused("{\"metrics\":1}", "metrics", "metrics is an object");
	check_refused("{\"instance_count\":-1}", "instance_count", "instance_count is below 1");
	check_refused("{\"instance_count\":\"2\"}", "instance_count", "instance_count");
	check_refused("{\"instance_type\":2}", "instance_type", "instance_type");
}

static struct span tag_of(const struct json *document)
{
	return json_string_of(json_get(json_first(json_get(document, "Tags")), "Value"));
}

static void put_times(struct buf *out, size_t count, const char *character)
{
	for (size_t i = 0; i < count; i++)
		buf_append_text(out, character);
}

/* count characters become `want` of them and, when that is fewer, an ellipsis. */
static void check_tag(const char *character, size_t count, size_t want)
{
	AUTO_DONE(buf) text = BUF_INIT(MOST_BYTES);
	AUTO_DONE(buf) wanted = BUF_INIT(MOST_BYTES);

	buf_append_text(&text, "{\"tags\":{\"t\":\"");
	put_times(&text, count, character);
	buf_append_text(&text, "\"}}");
	put_times(&wanted, want, character);
	buf_append_text(&wanted, want < count ? "…" : "");
	AUTO(json) document = document_of(buf_span(&text));
	CHECK_SPAN(tag_of(document), buf_span(&wanted));
}

TEST(a_tag_has_256_characters_whatever_their_bytes)
{
	static const char *const characters[] = {"a", "\xc3\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};

	for (size_t i = 0; i < 4; i++) {
		check_tag(characters[i], 0, 0);
		check_tag(characters[i], 255, 255);
		check_tag(characters[i], 256, 256);
		check_tag(characters[i], 257, 255);
		check_tag(characters[i], 1000, 255);
	}
}

/* The command is searched for as a whole: its tag may be cut. */
TEST(a_long_command_is_kept_beside_its_tag)
{
	for (size_t len = 256; len <= 257; len++) {
		AUTO_DONE(buf) text = BUF_INIT(MOST_BYTES);
		buf_append_text(&text, "{\"tags\":{\"command\":\"");
		put_times(&text, len, "c");
		buf_append_text(&text, "\"}}");
		AUTO(json) document = document_of(buf_span(&text));
		CHECK_INT(json_string_of(json_get(document, "CommandLine")).len, len == 256 ? 0 : 257);
		CHECK_INT(tag_of(document).len, len == 256 ? 256 : 255 + strlen("…"));
	}
}

static size_t count_members(const struct json *object)
{
	return object ? json_count(object) : 0;
}

TEST(of_many_settings_the_first_hundred_are_sagemakers)
{
	static const size_t counts[] = {0, 1, 100, 101, 250};

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		AUTO_DONE(buf) text = BUF_INIT(MOST_BYTES);
		buf_append_text(&text, "{\"hp\":{");
		for (size_t j = 0; j < counts[i]; j++)
			buf_printf(&text, "%s\"k%zu\":%zu", j ? "," : "", j, j);
		buf_append_text(&text, "}}");
		AUTO(json) document = document_of(buf_span(&text));
		size_t first = counts[i] < 100 ? counts[i] : 100;
		CHECK_INT(count_members(json_get(document, "HyperParameters")), first);
		CHECK_INT(count_members(json_get(document, "OtherHyperParameters")), counts[i] - first);
		CHECK_INT(json_get(document, "OtherHyperParameters") != NULL, counts[i] > 100);
		if (counts[i] > 100)
			CHECK_SPAN(json_key_of(json_first(json_get(document, "OtherHyperParameters"))), SPAN("k100"));
	}
}

TEST(a_key_that_no_query_could_name_is_left_out)
{
	AUTO_DONE(buf) text = BUF_INIT(MOST_BYTES);
	AUTO_DONE(buf) out = BUF_INIT(MOST_BYTES);
	AUTO(json) settings = NULL;
	AUTO(json) written = NULL;

	buf_append_text(&text, "{\"");
	put_times(&text, 257, "x");
	buf_append_text(&text, "\":1,\"");
	put_times(&text, 256, "y");
	buf_append_text(&text, "\":\"");
	put_times(&text, 2501, "v");
	buf_append_text(&text, "\"}");
	CHECK_OK(json_parse(&settings, buf_span(&text), &err));
	CHECK_OK(session_write_settings(settings, &out, &err));
	CHECK_OK(json_parse(&written, buf_span(&out), &err));
	CHECK_INT(json_count(written), 1);
	CHECK_INT(json_key_of(json_first(written)).len, 256);
	CHECK_INT(json_string_of(json_first(written)).len, 2499 + strlen("…")); /* of 2,500 characters the last one */
}
