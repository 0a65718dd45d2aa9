/* A metric's name with its labels, in the one form that is stored: labels sorted, no blanks. */
#include "ingest/ingest.h"

#include "model/metrics/metric.h"

enum { LABELS_MAX_BYTES = 1024 };

static void skip_blanks(struct span *rest)
{
	while (rest->len && rest->ptr[0] == ' ')
		*rest = span_skip(*rest, 1);
}

static bool accept_char(struct span *rest, char c)
{
	skip_blanks(rest);
	if (!rest->len || rest->ptr[0] != c)
		return false;
	*rest = span_skip(*rest, 1);
	return true;
}

static bool is_label_char(char c, bool is_first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
	       (!is_first && c >= '0' && c <= '9');
}

static bool take_label(struct span *rest, struct metric_label *label)
{
	size_t len = 0;

	skip_blanks(rest);
	while (len < rest->len && is_label_char(rest->ptr[len], len == 0))
		len++;
	label->name = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len);
	if (!len || !accept_char(rest, '=') || !accept_char(rest, '"'))
		return false;
	for (len = 0; len < rest->len && rest->ptr[len] != '"'; len++)
		len += rest->ptr[len] == '\\';
	if (len >= rest->len)
		return false;
	label->value = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len + 1);
	return true;
}

/* Into its place; false: that label is there already. */
static bool insert(struct metric_label *labels, size_t count, struct metric_label label)
{
	size_t at = count;

	for (; at > 0; at--) {
		int order = span_compare(labels[at - 1].name, label.name);
		if (order == 0)
			return false;
		if (order < 0)
			break;
		labels[at] = labels[at - 1];
	}
	labels[at] = label;
	return true;
}

static enum status read_labels(struct span rest, struct metric_label labels[METRIC_LABELS_MAX], size_t *count,
	struct span text, struct error *err)
{
	struct metric_label label;

	*count = 0;
	if (!accept_char(&rest, '}')) {
		do {
			if (*count == METRIC_LABELS_MAX)
				return error_set_field(err, ERR_INVALID, "metric",
					"metric '%.*s' has more than %d labels", SPAN_ARGS(text), METRIC_LABELS_MAX);
			if (!take_label(&rest, &label))
				return error_set_field(err, ERR_INVALID, "metric",
					"metric '%.*s': expected label=\"value\" at byte %zu", SPAN_ARGS(text),
					(size_t)(rest.ptr - text.ptr) + 1);
			if (!insert(labels, *count, label))
				return error_set_field(err, ERR_INVALID, "metric",
					"metric '%.*s' has the label '%.*s' twice", SPAN_ARGS(text),
					SPAN_ARGS(label.name));
			(*count)++;
		} while (accept_char(&rest, ','));
		if (!accept_char(&rest, '}'))
			return error_set_field(err, ERR_INVALID, "metric",
				"metric '%.*s': expected ',' or '}' at byte %zu", SPAN_ARGS(text),
				(size_t)(rest.ptr - text.ptr) + 1);
	}
	if (rest.len)
		return error_set_field(
			err, ERR_INVALID, "metric", "metric '%.*s' goes on behind its labels", SPAN_ARGS(text));
	return OK;
}

enum status ingest_metric_name(struct span text, struct buf *out, struct error *err)
{
	ptrdiff_t brace = text.len && text.ptr[text.len - 1] == '}' ? span_find_char(text, '{') : -1;
	struct span name = span_trim(brace < 0 ? text : span_of(text.ptr, (size_t)brace));
	struct metric_label labels[METRIC_LABELS_MAX];
	size_t count = 0;

	TRY(ingest_check_name("metric", text, METRIC_NAME_MAX_BYTES + LABELS_MAX_BYTES, err));
	TRY(ingest_check_name("metric", name, METRIC_NAME_MAX_BYTES, err));
	if (brace >= 0)
		TRY(read_labels(span_skip(text, (size_t)brace + 1), labels, &count, text, err));
	buf_append_span(out, name);
	size_t before = out->len;
	for (size_t i = 0; i < count; i++) {
		buf_append_char(out, i ? ',' : '{');
		buf_append_span(out, labels[i].name);
		buf_append_text(out, "=\"");
		buf_append_span(out, labels[i].value);
		buf_append_char(out, '"');
	}
	if (count)
		buf_append_char(out, '}');
	if (out->len - before > LABELS_MAX_BYTES)
		return error_set_field(err, ERR_INVALID, "metric", "metric '%.*s': its labels have more than %d bytes",
			SPAN_ARGS(name), LABELS_MAX_BYTES);
	return buf_status(out, err);
}

void ingest_metric_label(struct buf *out, bool is_first, struct span key, struct span value)
{
	buf_append_char(out, is_first ? '{' : ',');
	for (size_t i = 0; i < key.len; i++) {
		if (i == 0 && key.ptr[0] >= '0' && key.ptr[0] <= '9')
			buf_append_char(out, '_');
		buf_append_char(out, is_label_char(key.ptr[i], false) ? key.ptr[i] : '_');
	}
	buf_append_text(out, "=\"");
	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] == '"' || value.ptr[i] == '\\')
			buf_append_char(out, '\\');
		buf_append_char(out, value.ptr[i]);
	}
	buf_append_char(out, '"');
}

bool ingest_metric_split(
	struct span metric, struct span *name, struct metric_label labels[METRIC_LABELS_MAX], size_t *count)
{
	ptrdiff_t brace = metric.len && metric.ptr[metric.len - 1] == '}' ? span_find_char(metric, '{') : -1;
	struct error ignored;

	*name = brace < 0 ? metric : span_of(metric.ptr, (size_t)brace);
	*count = 0;
	return brace < 0 || read_labels(span_skip(metric, (size_t)brace + 1), labels, count, metric, &ignored) == OK;
}

void ingest_metric_unescape(struct span value, struct buf *out)
{
	for (size_t i = 0; i < value.len; i++) {
		i += value.ptr[i] == '\\' && i + 1 < value.len;
		buf_append_char(out, value.ptr[i]);
	}
}
