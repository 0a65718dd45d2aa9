#include "api/jobs/job_values.h"
#include "model/query.h"
#include "test.h"

static void check_refused(struct span text, const char *words)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct job_fields *fields = mem_zeroed(sizeof *fields);
	struct error own = {0};

	CHECK_INT(api_read_fields(text, arena, fields, &own), ERR_INVALID);
	CHECK_TEXT(own.field, "fields");
	CHECK_FAILS(api_read_fields(text, arena, fields, &err), ERR_INVALID, words);
}

TEST(fields_are_parted_by_commas_that_are_not_quoted)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct job_fields *fields = mem_zeroed(sizeof *fields);

	CHECK_OK(api_read_fields(SPAN(""), arena, fields, &err));
	CHECK_INT(fields->count, 0);
	CHECK_OK(api_read_fields(SPAN(" , ,,"), arena, fields, &err));
	CHECK_INT(fields->count, 0);
	CHECK_OK(api_read_fields(SPAN(" name ,hp.\"a,b\",,status"), arena, fields, &err));
	CHECK_INT(fields->count, 3);
	CHECK_SPAN(fields->list[0].name, SPAN("name"));
	CHECK_SPAN(fields->list[0].key, SPAN("TrainingJobName"));
	CHECK_SPAN(fields->list[1].name, SPAN("hp.\"a,b\""));
	CHECK_SPAN(fields->list[1].key, SPAN("hp.a,b"));
	CHECK_SPAN(fields->list[2].name, SPAN("status"));
}

TEST(fields_by_all_their_names)
{
	static const struct {
		const char *name, *key;
		enum role role;
		enum query_aggregate aggregate; /* of a property 0, as it stands */
	} table[] = {
		{"owner", "tag.owner", ROLE_OTHER, 0},
		{"TrainingJobStatus", "TrainingJobStatus", ROLE_OTHER, 0},
		{"ResourceConfig.InstanceCount", "ResourceConfig.InstanceCount", ROLE_OTHER, 0},
		{"hp.lr", "hp.lr", ROLE_OTHER, 0},
		{"label.a", "label.a", ROLE_OTHER, 0},
		{"loss", "loss", ROLE_LOSS, AGGREGATE_LAST},
		{"loss.min", "loss", ROLE_LOSS, AGGREGATE_MIN},
		{"loss.final", "loss", ROLE_LOSS, AGGREGATE_FINAL},
		{"loss.last_step", "loss", ROLE_LOSS, AGGREGATE_STEP},
		{"metric.loss.max", "loss", ROLE_OTHER, AGGREGATE_MAX}, /* the metric that is called so */
		{"metric.loss", "loss", ROLE_OTHER, AGGREGATE_LAST},
		{"train:loss", "train:loss", ROLE_OTHER, AGGREGATE_LAST},
		{"a/b.best_step", "a/b", ROLE_OTHER, AGGREGATE_BEST_STEP},
		{"my_metric.mean", "my_metric", ROLE_OTHER, AGGREGATE_MEAN},
		{"metric.\"train:loss\".min", "train:loss", ROLE_OTHER, AGGREGATE_MIN},
		{"metric.\"a\\\"b\"", "a\"b", ROLE_OTHER, AGGREGATE_LAST},
		{"\"a b\"", "a b", ROLE_OTHER, AGGREGATE_LAST},
		{"tag.\"a b\"", "tag.a b", ROLE_OTHER, 0},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		AUTO(arena) arena = arena_new();
		AUTO_MEM struct job_fields *fields = mem_zeroed(sizeof *fields);
		CHECK_OK(api_read_fields(span_from(table[i].name), arena, fields, &err));
		CHECK_INT(fields->count, 1);
		CHECK_SPAN(fields->list[0].key, span_from(table[i].key));
		CHECK_INT(fields->list[0].role, table[i].role);
		CHECK_INT(fields->list[0].aggregate, table[i].aggregate);
	}
}

TEST(what_is_no_field_is_named)
{
	check_refused(SPAN("nam"), "'nam' is no column: fields are those of the query language");
	check_refused(SPAN("name,hp."), "'hp.' is no column");
	check_refused(SPAN("metric."), "'metric.' is no column");
	check_refused(SPAN(".min"), "'.min' is no column");
	check_refused(SPAN("hp.\"a"), "'hp.\"a': column");
	check_refused(SPAN("\"\""), "'\"\"': column 1: expected a name that is not empty");
	check_refused(SPAN("x.\"a\""), "expected hp., tag., env., label. or metric. before a quoted key");
}

TEST(fields_are_a_hundred_of_255_bytes_at_most)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) text = BUF_INIT(4096);
	AUTO_MEM struct job_fields *fields = mem_zeroed(sizeof *fields);
	char name[257];

	memset(name, 'k', sizeof name);
	memcpy(name, "hp.", 3);
	CHECK_OK(api_read_fields(span_of(name, 255), arena, fields, &err));
	CHECK_INT(fields->list[0].key.len, 255);
	check_refused(span_of(name, 256), "at most 100 fields of at most 255 bytes each");
	for (size_t i = 0; i < 100; i++)
		buf_append_text(&text, "name,");
	CHECK_OK(api_read_fields(buf_span(&text), arena, fields, &err));
	CHECK_INT(fields->count, 100);
	buf_append_text(&text, "a.min");
	check_refused(buf_span(&text), "at most 100 fields");
}
