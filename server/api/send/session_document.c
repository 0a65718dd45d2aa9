#include "api/send/session_document.h"

#include "base/json/json_read.h"
#include "base/json/json_write.h"

/* What SageMaker's document takes: model/jobs/training_job.c refuses more. */
enum {
	DOCUMENT_MAX_BYTES = 4 << 20,
	TAG_MAX_CHARACTERS = 256,
	HYPER_MAX = 100,
	HYPER_KEY_MAX_BYTES = 256,
	HYPER_MAX_CHARACTERS = 2500,
};

static enum status want_object(const struct json *body, const char *key, const struct json **out, struct error *err)
{
	*out = json_get(body, key);
	if (*out && json_kind(*out) == JSON_NULL)
		*out = NULL;
	if (*out && json_kind(*out) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, key, "%s is an object, {\"name\":\"value\"}", key);
	return OK;
}

/* Bytes of what is printed as one character: one that is malformed is. */
static size_t character_length(struct span text)
{
	size_t length = span_utf8_length(text);

	return length ? length : 1;
}

static void put_cut(struct json_writer *w, struct span text, size_t characters)
{
	struct span rest = text;

	for (size_t count = 0; rest.len && count + 1 < characters; count++)
		rest = span_skip(rest, character_length(rest));
	AUTO_DONE(buf) cut = BUF_INIT(text.len + 8);
	bool is_whole = rest.len <= (rest.len ? character_length(rest) : 0);
	buf_append(&cut, text.ptr, is_whole ? text.len : text.len - rest.len);
	if (!is_whole)
		buf_append_text(&cut, "…");
	json_span(w, buf_span(&cut));
}

/* SageMaker's settings and tags are texts. */
static enum status put_as_text(struct json_writer *w, const struct json *value, size_t characters, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(DOCUMENT_MAX_BYTES);

	if (json_kind(value) == JSON_STRING) {
		put_cut(w, json_string_of(value), characters);
		return OK;
	}
	json_print(value, &text);
	put_cut(w, buf_span(&text), characters);
	return buf_status(&text, err);
}

static enum status put_pairs(struct json_writer *w, const char *name, const char *key, const char *value,
	const struct json *pairs, size_t characters, struct error *err)
{
	json_key(w, name);
	json_array(w);
	for (const struct json *pair = pairs ? json_first(pairs) : NULL; pair; pair = json_next(pair)) {
		json_object(w);
		json_put_span(w, key, json_key_of(pair));
		json_key(w, value);
		TRY(put_as_text(w, pair, characters, err));
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

static enum status put_resources(struct json_writer *w, const struct json *body, struct error *err)
{
	struct span type = SPAN("");
	int64_t count = 0;

	TRY(json_want_string(body, "instance_type", &type, err));
	TRY(json_want_i64(body, "instance_count", &count, err));
	if (count < 0)
		return error_set_field(err, ERR_SEMANTIC, "instance_count", "instance_count is below 1");
	json_key(w, "ResourceConfig");
	json_object(w);
	if (type.len)
		json_put_span(w, "InstanceType", type);
	if (count)
		json_put_i64(w, "InstanceCount", count);
	json_object_end(w);
	return OK;
}

/* From *entry on, at most `most`; *entry: the first that is left. */
static enum status put_entries(struct json_writer *w, const struct json **entry, size_t most, struct error *err)
{
	for (size_t count = 0; *entry && count < most; *entry = json_next(*entry)) {
		if (json_key_of(*entry).len > HYPER_KEY_MAX_BYTES)
			continue; /* no query names such a key */
		json_key_span(w, json_key_of(*entry));
		TRY(put_as_text(w, *entry, HYPER_MAX_CHARACTERS, err));
		count++;
	}
	return OK;
}

static enum status put_some(
	struct json_writer *w, const char *name, const struct json **entry, size_t most, struct error *err)
{
	if (!*entry)
		return OK;
	json_key(w, name);
	json_object(w);
	TRY(put_entries(w, entry, most, err));
	json_object_end(w);
	return OK;
}

/* A command line may have more than SageMaker's document takes: the rest is kept beside them, and search finds it as well. */
static enum status put_settings(struct json_writer *w, const struct json *settings, struct error *err)
{
	const struct json *entry = json_first(settings);

	TRY(put_some(w, "HyperParameters", &entry, HYPER_MAX, err));
	return put_some(w, "OtherHyperParameters", &entry, SIZE_MAX, err);
}

enum status session_write_settings(const struct json *settings, struct buf *out, struct error *err)
{
	const struct json *entry = json_first(settings);
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	TRY(put_entries(&w, &entry, SIZE_MAX, err));
	json_object_end(&w);
	return buf_status(out, err);
}

enum status session_write_document(const struct json *body, const char *name, struct buf *out, struct error *err)
{
	struct json_writer w = json_writer_on(out);
	const struct json *settings, *tags, *metrics;

	TRY(want_object(body, "hp", &settings, err));
	TRY(want_object(body, "tags", &tags, err));
	TRY(want_object(body, "metrics", &metrics, err));
	json_object(&w);
	json_put_text(&w, "TrainingJobName", name);
	if (metrics && json_first(metrics)) {
		json_key(&w, "AlgorithmSpecification");
		json_object(&w);
		TRY(put_pairs(&w, "MetricDefinitions", "Name", "Regex", metrics, SIZE_MAX, err));
		json_object_end(&w);
	}
	TRY(put_settings(&w, settings, err));
	struct span command = json_string_of(tags ? json_get(tags, "command") : NULL);
	if (command.len > TAG_MAX_CHARACTERS)
		json_put_span(&w, "CommandLine", command); /* the tag holds its beginning */
	TRY(put_resources(&w, body, err));
	TRY(put_pairs(&w, "Tags", "Key", "Value", tags, TAG_MAX_CHARACTERS, err));
	json_object_end(&w);
	return buf_status(out, err);
}
