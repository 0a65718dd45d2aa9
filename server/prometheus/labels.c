#include "prometheus/labels.h"

#include "ingest/ingest.h"

enum { EXTRA_LABELS = 4, VALUE_MAX_BYTES = 2048 };

static size_t place_of(const struct prom_labels *labels, struct span name, bool *is_there)
{
	size_t at = 0;

	while (at < labels->count && span_compare(labels->at[at].name, name) < 0)
		at++;
	*is_there = at < labels->count && span_equal(labels->at[at].name, name);
	return at;
}

struct span labels_get(const struct prom_labels *labels, struct span name)
{
	bool is_there;
	size_t at = place_of(labels, name, &is_there);

	return is_there ? labels->at[at].value : SPAN("");
}

void labels_set(struct prom_labels *labels, struct span name, struct span value)
{
	bool is_there;
	size_t at = place_of(labels, name, &is_there);
	struct prom_label *label = &labels->at[at];

	if (is_there && value.len) {
		label->value = value;
	} else if (is_there) {
		memmove(label, label + 1, (labels->count - at - 1) * sizeof *label);
		labels->count--;
	} else if (value.len) {
		memmove(label + 1, label, (labels->count - at) * sizeof *label);
		*label = (struct prom_label){name, value};
		labels->count++;
	}
}

enum status labels_copy(
	struct prom_labels *out, const struct prom_labels *from, size_t more, struct arena *arena, struct error *err)
{
	struct prom_label *at = arena_alloc(arena, (from->count + more) * sizeof *at);

	if (!at)
		return error_no_memory(err);
	if (from->count)
		memcpy(at, from->at, from->count * sizeof *at);
	*out = (struct prom_labels){at, from->count};
	return OK;
}

size_t labels_bytes(const struct prom_labels *labels)
{
	size_t bytes = labels->count * sizeof *labels->at;

	for (size_t i = 0; i < labels->count; i++)
		bytes += labels->at[i].name.len + labels->at[i].value.len;
	return bytes;
}

enum status labels_clone(
	struct prom_labels *out, const struct prom_labels *from, struct arena *arena, struct error *err)
{
	TRY(labels_copy(out, from, 0, arena, err));
	for (size_t i = 0; i < out->count; i++) {
		struct prom_label *label = &out->at[i];
		*label = (struct prom_label){arena_copy(arena, label->name), arena_copy(arena, label->value)};
		if (!label->name.ptr || !label->value.ptr)
			return error_no_memory(err);
	}
	return OK;
}

static bool is_listed(const struct promql_labels *list, struct span name)
{
	for (size_t i = 0; i < list->count; i++)
		if (span_equal(list->names[i], name))
			return true;
	return false;
}

enum status labels_cut(struct prom_labels *out, const struct prom_labels *from, const struct promql_labels *list,
	bool keeps, struct arena *arena, struct error *err)
{
	size_t kept = 0;

	TRY(labels_copy(out, from, 0, arena, err));
	for (size_t i = 0; i < out->count; i++) {
		bool is_name = span_equal(out->at[i].name, SPAN(LABELS_NAME));
		if (is_listed(list, out->at[i].name) == keeps && (keeps || !is_name))
			out->at[kept++] = out->at[i];
	}
	out->count = kept;
	return OK;
}

enum status labels_key(const struct prom_labels *labels, struct arena *arena, struct span *out, struct error *err)
{
	size_t len = 0;

	for (size_t i = 0; i < labels->count; i++)
		len += labels->at[i].name.len + labels->at[i].value.len + 2;
	char *key = arena_alloc(arena, len + 1), *to = key;
	if (!key)
		return error_no_memory(err);
	for (size_t i = 0; i < labels->count; i++) {
		const struct prom_label *label = &labels->at[i];
		memcpy(to, label->name.ptr, label->name.len);
		to += label->name.len;
		*to++ = 0; /* in no name and in no value */
		memcpy(to, label->value.ptr, label->value.len);
		to += label->value.len;
		*to++ = 0;
	}
	*out = span_of(key, len);
	return OK;
}

void labels_write(const struct prom_labels *labels, struct json_writer *w)
{
	json_object(w);
	for (size_t i = 0; i < labels->count; i++) {
		json_key_span(w, labels->at[i].name);
		json_span(w, labels->at[i].value);
	}
	json_object_end(w);
}

/* ---- out of the store ---- */

static bool is_legal(char c, bool is_first, bool allows_colon)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (allows_colon && c == ':') ||
	       (!is_first && c >= '0' && c <= '9');
}

/* What a name cannot hold becomes '_', a digit in front gets one before it. */
static enum status make_legal(
	struct span text, bool allows_colon, struct arena *arena, struct span *out, struct error *err)
{
	bool has_digit = text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9';
	char *legal = arena_alloc(arena, text.len + 1);

	if (!legal)
		return error_no_memory(err);
	legal[0] = '_';
	for (size_t i = 0; i < text.len; i++)
		legal[i + has_digit] = is_legal(text.ptr[i], !has_digit && i == 0, allows_colon) ? text.ptr[i] : '_';
	*out = span_of(legal, text.len + has_digit);
	return OK;
}

static enum status add_label(struct prom_labels *out, const struct metric_label *label, struct arena *arena,
	struct buf *scratch, struct error *err)
{
	struct span name, value;

	buf_reset(scratch);
	ingest_metric_unescape(label->value, scratch);
	TRY(buf_status(scratch, err));
	value = arena_copy(arena, buf_span(scratch));
	if (!value.ptr)
		return error_no_memory(err);
	TRY(make_legal(label->name, false, arena, &name, err));
	labels_set(out, name, value);
	return OK;
}

enum status labels_of(struct prom_labels *out, const struct labels_source *from, struct arena *arena, struct error *err)
{
	struct metric_label labels[METRIC_LABELS_MAX];
	AUTO_DONE(buf) scratch = BUF_INIT(VALUE_MAX_BYTES);
	struct span name, legal;
	size_t count = 0;

	if (!ingest_metric_split(from->metric, &name, labels, &count)) {
		name = from->metric; /* braces that are no labels */
		count = 0;
	}
	*out = (struct prom_labels){.at = arena_alloc(arena, (count + EXTRA_LABELS) * sizeof *out->at)};
	if (!out->at)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		TRY(add_label(out, &labels[i], arena, &scratch, err));
	TRY(make_legal(name, true, arena, &legal, err));
	labels_set(out, SPAN(LABELS_NAME), legal);
	if (from->training.len) {
		labels_set(out, SPAN(LABELS_TRAINING), from->training);
		labels_set(out, SPAN(LABELS_STREAM), from->stream);
	}
	return OK;
}

enum status labels_fit(const struct prom_labels *labels, const struct matchers *matchers, bool *fits, struct error *err)
{
	*fits = true;
	for (size_t i = 0; *fits && i < matchers->count; i++) {
		const struct matcher *matcher = &matchers->at[i];
		TRY(matcher_fits(matcher, matchers->scratch, labels_get(labels, matcher->name), fits, err));
	}
	return OK;
}
