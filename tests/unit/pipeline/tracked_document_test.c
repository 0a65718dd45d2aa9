/* What a tracker's client states of settings and tags, in the document of its job. */
#include "pipeline/jobs/tracked_document.h"
#include "test.h"

#include <stdio.h>

static struct span made(
	struct arena *arena, struct span old, const struct tracked_pairs *settings, const struct tracked_pairs *tags)
{
	AUTO_DONE(buf) out = BUF_INIT(1 << 20);

	CHECK_OK(tracked_document_write(old, settings, tags, &out, &err));
	return arena_copy(arena, buf_span(&out));
}

TEST(the_newest_value_counts_and_keeps_its_place)
{
	AUTO(arena) arena = arena_new();
	struct tracked_pairs settings = {0}, tags = {0};
	struct span old = SPAN("{\"TrainingJobName\":\"j\",\"HyperParameters\":{\"a\":\"1\",\"b\":\"2\"},"
			       "\"Tags\":[{\"Key\":\"x\",\"Value\":\"1\"},{\"Key\":\"gone\",\"Value\":\"1\"}]}");

	CHECK(tracked_pairs_add(arena, &settings, SPAN("a"), SPAN("3")));
	CHECK(tracked_pairs_add(arena, &settings, SPAN("c"), SPAN("")));
	CHECK(tracked_pairs_add(arena, &tags, SPAN("gone"), (struct span){NULL, 0}));
	CHECK(tracked_pairs_add(arena, &tags, SPAN("never"), (struct span){NULL, 0}));
	CHECK(tracked_pairs_add(arena, &tags, SPAN("y"), SPAN("2")));
	CHECK(tracked_pairs_add(arena, &tags, SPAN("y"), SPAN("3")));
	CHECK_SPAN(made(arena, old, &settings, &tags),
		SPAN("{\"TrainingJobName\":\"j\",\"HyperParameters\":{\"a\":\"3\",\"b\":\"2\",\"c\":\"\"},"
		     "\"Tags\":[{\"Key\":\"x\",\"Value\":\"1\"},{\"Key\":\"y\",\"Value\":\"3\"}]}"));
}

/* At SageMaker's limits and one past them; what has become short is where all others are. */
TEST(what_sagemaker_has_no_room_for_is_beside_the_others)
{
	AUTO(arena) arena = arena_new();
	struct tracked_pairs settings = {0}, tags = {0}, shorter = {0}, none = {0}, read = {0}, read_tags = {0};
	AUTO(json) document = NULL;
	char key[101][8], text[2501];

	memset(text, 'x', sizeof text);
	for (size_t i = 0; i < 101; i++) {
		snprintf(key[i], sizeof key[i], "k%zu", i);
		CHECK(tracked_pairs_add(arena, &settings, span_from(key[i]), SPAN("v")));
	}
	for (size_t i = 0; i < 51; i++)
		CHECK(tracked_pairs_add(arena, &tags, span_from(key[i]), span_of(text, i < 2 ? 256 + i : 1)));
	settings.items[0].value = span_of(text, 2500);
	settings.items[1].value = span_of(text, 2501);
	struct span full = made(arena, SPAN("{}"), &settings, &tags);
	CHECK_OK(json_parse(&document, full, &err));
	CHECK_INT(json_count(json_get(document, "HyperParameters")), 100);
	CHECK_INT(json_count(json_get(document, "OtherHyperParameters")), 1);
	CHECK(json_get(json_get(document, "OtherHyperParameters"), "k1"));
	CHECK_INT(json_count(json_get(document, "Tags")), 50);
	CHECK_SPAN(json_string_of(json_get(json_first(json_get(document, "OtherTags")), "Key")), SPAN("k1"));
	CHECK_OK(tracked_document_read(arena, document, &read, &read_tags, &err));
	CHECK_INT(read.count, 101);
	CHECK_INT(read_tags.count, 51);
	CHECK(tracked_pairs_add(arena, &shorter, SPAN("k1"), SPAN("v")));
	struct span less = made(arena, full, &none, &shorter);
	CHECK(span_find(less, SPAN("OtherTags")) > 0); /* there are 51, whatever their length */
	shorter.items[0].value = (struct span){NULL, 0};
	CHECK(span_find(made(arena, less, &none, &shorter), SPAN("OtherTags")) < 0);
}

TEST(secrets_are_masked_and_a_full_document_refused)
{
	AUTO(arena) arena = arena_new();
	struct tracked_pairs settings = {0}, tags = {0}, none = {0};
	AUTO_DONE(buf) out = BUF_INIT(64);
	char text[300];

	memset(text, 'x', sizeof text);
	CHECK(tracked_pairs_add(arena, &tags, SPAN("api_token"), span_of(text, sizeof text)));
	struct span masked = made(arena, SPAN("{}"), &none, &tags);
	CHECK(span_find(masked, SPAN("***")) > 0 && span_find(masked, SPAN("xxx")) < 0);
	CHECK(tracked_pairs_add(arena, &settings, SPAN("k"), span_of(text, 64)));
	CHECK_FAILS(tracked_document_write(SPAN("{}"), &settings, &none, &out, &err), ERR_TOO_LARGE, "64 bytes");
}
