#include "wandb/flat.h"

#include "ingest/json_scan.h"

#include <math.h>

struct flat {
	struct json_scan scan;
	struct buf path, key, text;
	size_t at[FLAT_DEPTH]; /* how long the path is at each level */
	unsigned level;
	flat_take *take;
	void *context;
	size_t left_out;
};

/* "_type" may be any of its members. */
static enum status is_media(const struct flat *flat, bool *is, struct error *err)
{
	struct json_scan scan = flat->scan;
	struct ndjson_value key;
	bool is_end;

	*is = false;
	TRY(json_scan_open(&scan, '{', err));
	for (;;) {
		TRY(json_scan_key(&scan, &key, &is_end, err));
		*is = !is_end && json_scan_is(&key, "_type");
		if (is_end || *is)
			return OK;
		TRY(json_scan_skip(&scan, err));
	}
}

static bool is_word(struct span raw, double *number)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal(raw, span_from(words[i].word))) {
			*number = words[i].value;
			return true;
		}
	return false;
}

static enum status read_text(struct flat *flat, struct flat_leaf *leaf, struct error *err)
{
	struct ndjson_value text;

	TRY(json_scan_text(&flat->scan, &text, err));
	leaf->kind = FLAT_TEXT;
	leaf->is_number = is_word(text.raw, &leaf->number);
	return json_scan_decode(&flat->scan, &text, &flat->text, &leaf->text, err);
}

static void classify(struct flat_leaf *leaf)
{
	if (span_equal(leaf->raw, SPAN("true")) || span_equal(leaf->raw, SPAN("false"))) {
		leaf->kind = FLAT_BOOL;
		leaf->number = leaf->raw.ptr[0] == 't';
		leaf->is_number = true;
	} else if (leaf->raw.len && leaf->raw.ptr[0] == '[') {
		leaf->kind = FLAT_LIST;
	} else if (is_word(leaf->raw, &leaf->number) || span_parse_double(leaf->raw, &leaf->number)) {
		leaf->kind = FLAT_NUMBER;
		leaf->is_number = true;
	}
}

static enum status read_leaf(struct flat *flat, struct error *err)
{
	struct flat_leaf leaf = {.path = buf_span(&flat->path), .kind = FLAT_NULL, .text = SPAN("")};
	char first = json_scan_peek(&flat->scan);
	const char *start = flat->scan.at;

	if (first == '"')
		TRY(read_text(flat, &leaf, err));
	else
		TRY(json_scan_skip(&flat->scan, err));
	leaf.raw = span_of(start, (size_t)(flat->scan.at - start));
	if (first != '"')
		classify(&leaf);
	return flat->take(flat->context, &leaf, err);
}

/* The path without what the last member added. */
static void cut_path(struct flat *flat)
{
	flat->path.len = flat->at[flat->level];
}

static enum status put_key(struct flat *flat, const struct ndjson_value *key, bool *fits, struct error *err)
{
	struct span name;

	TRY(json_scan_decode(&flat->scan, key, &flat->key, &name, err));
	*fits = flat->path.len + name.len + 1 <= FLAT_PATH_MAX_BYTES;
	if (!*fits)
		return OK;
	if (flat->path.len)
		buf_append_char(&flat->path, '.');
	buf_append_span(&flat->path, name);
	return buf_status(&flat->path, err);
}

/* An object becomes a level of its own, unless there is something against it. */
static enum status enter(struct flat *flat, bool *is_in, struct error *err)
{
	bool media;

	*is_in = false;
	if (json_scan_peek(&flat->scan) != '{')
		return OK;
	TRY(is_media(flat, &media, err));
	if (media || flat->level + 1 == FLAT_DEPTH) {
		flat->left_out++;
		return json_scan_skip(&flat->scan, err);
	}
	TRY(json_scan_open(&flat->scan, '{', err));
	flat->at[++flat->level] = flat->path.len;
	*is_in = true;
	return OK;
}

static enum status read_member(struct flat *flat, const struct ndjson_value *key, struct error *err)
{
	bool fits, is_in;

	TRY(put_key(flat, key, &fits, err));
	if (!fits) {
		flat->left_out++;
		return json_scan_skip(&flat->scan, err);
	}
	if (json_scan_peek(&flat->scan) == '{') {
		TRY(enter(flat, &is_in, err));
		if (is_in)
			return OK; /* its members come next */
	} else {
		TRY(read_leaf(flat, err));
	}
	cut_path(flat);
	return OK;
}

static enum status read_all(struct flat *flat, struct error *err)
{
	struct ndjson_value key;
	bool is_end;

	TRY(json_scan_open(&flat->scan, '{', err));
	for (;;) {
		TRY(json_scan_key(&flat->scan, &key, &is_end, err));
		if (!is_end) {
			TRY(read_member(flat, &key, err));
			continue;
		}
		if (!flat->level)
			return json_scan_end(&flat->scan, err);
		flat->level--;
		cut_path(flat);
	}
}

enum status flat_read(struct span object, flat_take *take, void *context, size_t *left_out, struct error *err)
{
	struct flat flat = {.scan = json_scan_on(object),
		.path = BUF_INIT(FLAT_PATH_MAX_BYTES),
		.key = BUF_INIT(object.len + 1),
		.text = BUF_INIT(object.len + 1),
		.take = take,
		.context = context};
	enum status status = read_all(&flat, err);

	*left_out += flat.left_out;
	buf_done(&flat.path);
	buf_done(&flat.key);
	buf_done(&flat.text);
	return status;
}
