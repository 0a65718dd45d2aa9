/* What names say: the step in the path of a checkpoint, whether less of a metric is better. */
#include "model/jobs/evaluation.h"

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
		"mae", "mse", "rmse", "error", "ece"};

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
