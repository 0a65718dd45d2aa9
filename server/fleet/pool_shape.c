#include "fleet/pool_shape.h"

#include "fleet/pool.h"

#include <stdlib.h>

enum { LIST_MAX = 64, TEXT_MAX_BYTES = 8192 };

/* Session chaining makes the tags count as well, which nobody sets by hand: that job is matched without them. */
static const char *const names[POOL_SHAPE_FIELDS] = {
	"ResourceConfig.InstanceType",
	"ResourceConfig.InstanceCount",
	"ResourceConfig.VolumeSizeInGB",
	"ResourceConfig.VolumeKmsKeyId",
	"RoleArn",
	"VpcConfig.Subnets",
	"VpcConfig.SecurityGroupIds",
	"EnableNetworkIsolation",
	"EnableInterContainerTrafficEncryption",
	"SessionChainingConfig.EnableSessionTagChaining",
};

const char *pool_shape_field(size_t index)
{
	return names[index];
}

static int compare_spans(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static void print_list(const struct json *list, struct buf *out)
{
	struct span items[LIST_MAX] = {0};
	size_t count = 0;

	for (const struct json *item = json_first(list); item && count < LIST_MAX; item = json_next(item))
		items[count++] = json_string_of(item);
	qsort(items, count, sizeof *items, compare_spans);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_append_char(out, ',');
		buf_append_span(out, items[i]);
	}
}

/* A switch that is off is one that is not there. Line ends would read as another field. */
static enum status read_field(struct span *out, const struct json *node, struct arena *arena, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(TEXT_MAX_BYTES);

	*out = SPAN("");
	if (!node || json_kind(node) == JSON_NULL || (json_kind(node) == JSON_BOOL && !json_is_true(node)))
		return OK;
	if (json_kind(node) == JSON_ARRAY)
		print_list(node, &text);
	else if (json_kind(node) == JSON_STRING)
		buf_append_span(&text, json_string_of(node));
	else
		json_print(node, &text);
	if (text.failure == ERR_TOO_LARGE)
		text.failure = OK; /* what fits tells it from others well enough */
	TRY(buf_status(&text, err));
	if (!text.len)
		return OK;
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\n')
			text.ptr[i] = ' ';
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

static int64_t read_keep_alive_ms(const struct json *document)
{
	const struct json *node = json_get_path(document, "ResourceConfig.KeepAlivePeriodInSeconds");
	double seconds = 0;

	if (!node)
		node = json_get_path(document, "HyperParameters.keep_alive_period_in_seconds");
	if (!json_number_of(node, &seconds) && !span_parse_double(span_trim(json_string_of(node)), &seconds))
		return 0;
	if (!(seconds > 0))
		return 0;
	return seconds * 1000 < POOL_KEEP_ALIVE_MAX_MS ? (int64_t)(seconds * 1000) : POOL_KEEP_ALIVE_MAX_MS;
}

static void hash_fields(struct pool_shape *shape)
{
	struct hash128 hash = {0};

	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++)
		hash128_add(&hash, shape->fields[i]);
	shape->hash = hash.low >> 1;
}

enum status pool_shape_read(
	struct pool_shape *shape, const struct json *document, struct arena *arena, struct error *err)
{
	*shape = (struct pool_shape){.keep_alive_ms = read_keep_alive_ms(document)};
	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++)
		TRY(read_field(&shape->fields[i], json_get_path(document, names[i]), arena, err));
	shape->is_whole = shape->fields[0].len && shape->fields[1].len &&
			  !json_first(json_get_path(document, "ResourceConfig.InstanceGroups")) &&
			  !json_is_true(json_get(document, "EnableManagedSpotTraining"));
	hash_fields(shape);
	return OK;
}

size_t pool_shape_count_differences(const struct pool_shape *a, const struct pool_shape *b)
{
	size_t count = 0;

	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++)
		count += !span_equal(a->fields[i], b->fields[i]);
	return count;
}

void pool_shape_print(const struct pool_shape *shape, struct buf *out)
{
	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++) {
		buf_append_span(out, shape->fields[i]);
		buf_append_char(out, '\n');
	}
}

bool pool_shape_parse(struct pool_shape *shape, struct span text)
{
	*shape = (struct pool_shape){.is_whole = true};
	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++)
		if (!span_next(&text, '\n', &shape->fields[i]))
			return false;
	hash_fields(shape);
	return true;
}
