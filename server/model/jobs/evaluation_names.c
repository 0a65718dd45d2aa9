/* What names say: the step in the path of a checkpoint, whether less of a metric is better. */
#include "model/jobs/evaluation.h"

#include "base/buf.h"

enum { DIGITS_MAX = 15 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Behind a word, as "-500": of what follows the digits nothing may make a date, a size or a version of them. */
static bool read_number(struct span rest, int64_t *step)
{
	size_t used = 0;
	bool is_folder = rest.len && rest.ptr[0] == '/';

	if (rest.len && (is_folder || rest.ptr[0] == '-' || rest.ptr[0] == '_' || rest.ptr[0] == '='))
		rest = span_skip(rest, 1);
	while (used < rest.len && is_digit(rest.ptr[used]))
		used++;
	if (!used || used > DIGITS_MAX)
		return false;
	struct span behind = span_skip(rest, used);
	if (behind.len) {
		char c = behind.ptr[0];
		if (is_letter(c) || (is_folder && c != '/'))
			return false;
		if ((c == '-' || c == '_' || c == '.') && behind.len > 1 && is_digit(behind.ptr[1]))
			return false;
	}
	return span_parse_i64(span_of(rest.ptr, used), step);
}

bool evaluation_step_of_path(struct span path, int64_t *step)
{
	static const char *const words[] = {
		"global_step", "globalstep", "checkpoints", "checkpoint", "iteration", "steps", "step", "ckpt", "iter"};
	bool is_found = false;

	for (size_t at = 0; at < path.len; at++) {
		struct span here = span_skip(path, at);
		if (at && is_letter(path.ptr[at - 1]))
			continue;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			size_t len = strlen(words[i]);
			if (here.len > len && span_equal_fold(span_of(here.ptr, len), span_from(words[i])) &&
				read_number(span_skip(here, len), step)) {
				is_found = true;
				break;
			}
		}
	}
	return is_found;
}

static bool has_word(struct span metric, struct span word)
{
	for (size_t at = 0; at + word.len <= metric.len; at++) {
		bool begins = !at || !is_letter(metric.ptr[at - 1]);
		bool ends = at + word.len == metric.len || !is_letter(metric.ptr[at + word.len]);
		if (begins && ends && span_equal_fold(span_of(metric.ptr + at, word.len), word))
			return true;
	}
	return false;
}

bool evaluation_is_lower(struct span metric)
{
	static const char *const words[] = {"perplexity", "ppl", "loss", "nll", "bpb", "brier", "ter", "wer", "cer",
		"mae", "mse", "rmse", "error", "errors", "err", "ece"};

	if (span_find(metric, SPAN("bits_per_byte")) >= 0)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has_word(metric, span_from(words[i])))
			return true;
	return false;
}

void evaluation_mend_json(struct span text, struct buf *out)
{
	const struct span words[] = {SPAN("-Infinity"), SPAN("Infinity"), SPAN("NaN")};
	bool is_text = false;

	for (size_t at = 0; at < text.len;) {
		struct span rest = span_skip(text, at);
		size_t used = 1;
		if (is_text && rest.ptr[0] == '\\' && rest.len > 1)
			used = 2;
		else if (rest.ptr[0] == '"')
			is_text = !is_text;
		for (size_t i = 0; !is_text && i < sizeof words / sizeof *words; i++)
			if (span_starts_with(rest, words[i])) {
				buf_append_text(out, "null");
				at += words[i].len;
				used = 0;
				break;
			}
		buf_append_span(out, span_of(rest.ptr, used));
		at += used;
	}
}

static ptrdiff_t find_last(struct span text, char c)
{
	for (size_t at = text.len; at-- > 1;)
		if (text.ptr[at] == c && at + 1 < text.len)
			return (ptrdiff_t)at;
	return -1;
}

void evaluation_split_metric(struct span name, struct span *task, struct span *metric)
{
	static const char ends[] = "/: -";
	ptrdiff_t at = -1;

	for (size_t i = 0; ends[i] && at < 0; i++)
		at = find_last(name, ends[i]);
	if (at < 0)
		at = span_find_char(name, '_');
	bool is_split = at > 0 && (size_t)at + 1 < name.len;
	*task = is_split ? span_of(name.ptr, (size_t)at) : SPAN("log");
	*metric = is_split ? span_skip(name, (size_t)at + 1) : name;
}

/* "PATH" of "'pretrained': 'PATH', …", as Python prints a dict. */
static struct span argument_of_dict(struct span text, struct span name)
{
	for (size_t at = 0; at + name.len + 5 < text.len; at++) {
		struct span rest = span_skip(text, at);
		if (rest.ptr[0] != '\'' || !span_starts_with(span_skip(rest, 1), name) ||
			!span_starts_with(span_skip(rest, 1 + name.len), SPAN("': '")))
			continue;
		rest = span_skip(rest, name.len + 5);
		ptrdiff_t end = span_find_char(rest, '\'');
		return end < 0 ? SPAN("") : span_of(rest.ptr, (size_t)end);
	}
	return SPAN("");
}

struct span evaluation_argument(const void *arguments, const char *name)
{
	struct span rest = *(const struct span *)arguments, part, wanted = span_from(name);

	if (span_starts_with(rest, SPAN("{")))
		return argument_of_dict(rest, wanted);
	while (span_next(&rest, ',', &part)) {
		part = span_trim(part);
		if (part.len > wanted.len && span_starts_with(part, wanted) && part.ptr[wanted.len] == '=')
			return span_skip(part, wanted.len + 1);
	}
	return SPAN("");
}

/* Of the names that the harness itself looks for, in its order. */
void evaluation_append_model(
	struct span (*find)(const void *arguments, const char *name), const void *arguments, struct buf *path)
{
	static const char *const names[] = {"peft", "delta", "pretrained", "model", "path", "engine"};
	struct span model = SPAN(""), revision = find(arguments, "revision");

	for (size_t i = 0; i < sizeof names / sizeof *names && !model.len; i++)
		model = find(arguments, names[i]);
	if (!model.len)
		return;
	buf_append_span(path, model);
	if (revision.len && !span_equal(revision, SPAN("main"))) {
		buf_append_char(path, '@');
		buf_append_span(path, revision);
	}
}
