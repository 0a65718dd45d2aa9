#include "cli/input/score_file.h"

#include "base/buf.h"
#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_BYTES = 4096 };

/* "…": behind the quote that opens it; what is behind the one that closes it is in *rest. */
static bool take_text(struct span *rest, struct span *text)
{
	for (size_t at = 1; rest->len && rest->ptr[0] == '"' && at < rest->len; at++) {
		if (rest->ptr[at] == '\\') {
			at++;
		} else if (rest->ptr[at] == '"') {
			*text = span_of(rest->ptr + 1, at - 1);
			*rest = span_trim(span_skip(*rest, at + 1));
			return true;
		}
	}
	return false;
}

static bool take_char(struct span *rest, char c)
{
	*rest = span_trim(*rest);
	if (!rest->len || rest->ptr[0] != c)
		return false;
	*rest = span_trim(span_skip(*rest, 1));
	return true;
}

/* {"results": {"TASK": {, as far as it goes: it may be cut off. */
static bool are_results(struct span rest)
{
	struct span task;

	if (!rest.len || !take_char(&rest, '{'))
		return !rest.len;
	if (rest.len && !take_text(&rest, &task))
		return rest.ptr[0] == '"';
	if (!rest.len || !take_char(&rest, ':'))
		return !rest.len;
	return !rest.len || take_char(&rest, '{');
}

static bool is_ours(struct span key)
{
	static const char *const keys[] = {"step", "path", "suite", "n", "evaluated_ms"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (span_equal(key, span_from(keys[i])))
			return true;
	return false;
}

static void skip_value(struct span *rest)
{
	struct span text;

	if (take_text(rest, &text))
		return;
	while (rest->len && rest->ptr[0] != ',' && rest->ptr[0] != '}')
		*rest = span_skip(*rest, 1);
}

/* The members before "results" or "scores" are those of the small document alone. */
static bool begins_as_one(struct span start)
{
	struct span rest = start, key;

	if (!take_char(&rest, '{'))
		return false;
	while (take_text(&rest, &key) && take_char(&rest, ':')) {
		if (span_equal(key, SPAN("results")))
			return are_results(rest);
		if (span_equal(key, SPAN("scores")))
			return take_char(&rest, '{') && take_text(&rest, &key) && span_find_char(key, '/') > 0;
		if (!is_ours(key))
			return false;
		skip_value(&rest);
		if (!take_char(&rest, ','))
			return false;
	}
	return false;
}

/* The brace that opens it is closed by its last one, or never: then it is cut off, and whoever reads it says where. */
static bool is_one_document(struct span text)
{
	bool is_text = false;
	size_t depth = 0;

	text = span_trim(text);
	for (size_t at = 0; at < text.len; at++) {
		char c = text.ptr[at];
		if (is_text && c == '\\')
			at++;
		else if (c == '"')
			is_text = !is_text;
		else if (!is_text && c == '{')
			depth++;
		else if (!is_text && c == '}' && (!depth || !--depth))
			return at + 1 == text.len;
	}
	return true;
}

bool score_file_is_one(struct span text)
{
	return begins_as_one(span_cut(text, START_BYTES)) && is_one_document(text);
}

bool score_file_is_at(const char *path)
{
	char start[START_BYTES];
	struct stat info;

	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > SCORE_FILE_MAX)
		return false; /* a pipe is not even opened */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? pread(fd, start, sizeof start, 0) : -1;

	if (fd >= 0)
		close(fd);
	if (got <= 0 || !begins_as_one(span_of(start, (size_t)got)))
		return false;
	AUTO_DONE(buf) text = BUF_INIT(SCORE_FILE_MAX + 1);
	struct error err;
	return text_file_read(path, "FILE", &text, &err) == OK && is_one_document(buf_span(&text));
}
