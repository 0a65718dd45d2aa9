/* Reads what git keeps, by hand: a training node need not have git, and starting a process here would cost more. */
#include "cli/process/identity.h"

#include <ctype.h>
#include <stdio.h>

enum { MAX_PATH = 4096, MAX_FILE_BYTES = 4 << 20 };

static bool read_file(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "rbe");

	if (!file)
		return false;
	buf_reset(out);
	for (size_t got = 1; got;) {
		char *room = buf_reserve(out, 4096);
		got = room ? fread(room, 1, 4096, file) : 0;
		buf_advance(out, got);
	}
	fclose(file);
	return out->failure == OK;
}

static bool take_commit(struct span text, char out[65])
{
	text = span_trim(text);
	if (text.len != 40 && text.len != 64)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!isxdigit((unsigned char)text.ptr[i]))
			return false;
	memcpy(out, text.ptr, text.len);
	out[text.len] = 0;
	return true;
}

/* Lines "COMMIT NAME" of packed-refs. */
static bool find_packed(struct span text, struct span name, char out[65])
{
	struct span line;

	while (span_next(&text, '\n', &line)) {
		ptrdiff_t space = span_find_char(line, ' ');
		if (space > 0 && span_equal(span_trim(span_skip(line, (size_t)space)), name))
			return take_commit(span_of(line.ptr, (size_t)space), out);
	}
	return false;
}

static bool read_reference(const char *git, struct span name, struct buf *text, char out[65])
{
	char path[MAX_PATH];

	if (name.len > 1024 || span_find(name, SPAN("..")) >= 0)
		return false;
	if (snprintf(path, sizeof path, "%s/%.*s", git, SPAN_ARGS(name)) < (int)sizeof path && read_file(path, text))
		return take_commit(buf_span(text), out);
	if (snprintf(path, sizeof path, "%s/packed-refs", git) < (int)sizeof path && read_file(path, text))
		return find_packed(buf_span(text), name, out);
	return false;
}

/* A worktree keeps its HEAD apart and its branches in the main repository. */
static void common_folder(const char *git, struct buf *text, char out[MAX_PATH])
{
	char path[MAX_PATH];

	snprintf(out, MAX_PATH, "%s", git);
	if (snprintf(path, sizeof path, "%s/commondir", git) >= (int)sizeof path || !read_file(path, text))
		return;
	struct span folder = span_trim(buf_span(text));
	if (folder.len && folder.ptr[0] == '/')
		snprintf(out, MAX_PATH, "%.*s", SPAN_ARGS(folder));
	else if (snprintf(path, sizeof path, "%s/%.*s", git, SPAN_ARGS(folder)) < (int)sizeof path)
		snprintf(out, MAX_PATH, "%s", path);
}

static bool read_head(const char *git, char out[65])
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_FILE_BYTES);
	char path[MAX_PATH], common[MAX_PATH], name[1024];

	if (snprintf(path, sizeof path, "%s/HEAD", git) >= (int)sizeof path || !read_file(path, &text))
		return false;
	struct span head = span_trim(buf_span(&text));
	if (!span_starts_with(head, SPAN("ref: ")))
		return take_commit(head, out);
	snprintf(name, sizeof name, "%.*s", SPAN_ARGS(span_trim(span_skip(head, 5))));
	common_folder(git, &text, common);
	return read_reference(common, span_from(name), &text, out);
}

/* .git is a folder, or a file that says where the folder is. */
static bool read_repository(const char *folder, char out[65])
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_PATH);
	char git[MAX_PATH], path[MAX_PATH];

	if (snprintf(git, sizeof git, "%s/.git", folder) >= (int)sizeof git)
		return false;
	if (!read_file(git, &text) || !span_starts_with(buf_span(&text), SPAN("gitdir: ")))
		return read_head(git, out);
	struct span target = span_trim(span_skip(buf_span(&text), 8));
	int len = target.len && target.ptr[0] == '/'
			  ? snprintf(path, sizeof path, "%.*s", SPAN_ARGS(target))
			  : snprintf(path, sizeof path, "%s/%.*s", folder, SPAN_ARGS(target));
	return len < (int)sizeof path && read_head(path, out);
}

void git_read_commit(const char *folder, char out[65])
{
	char path[MAX_PATH];

	out[0] = 0;
	if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
		return;
	while (path[0] && !read_repository(path, out)) {
		char *slash = strrchr(path, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}
