#include "model/jobs/attachment_path.h"

static enum status refuse(struct span path, const char *why, struct error *err)
{
	return error_set_field(err, ERR_SEMANTIC, "path", "the path '%.*s' of an attachment %s",
		(int)(path.len < 80 ? path.len : 80), path.ptr, why);
}

static bool is_plain(struct span part)
{
	return part.len && !span_equal(part, SPAN(".")) && !span_equal(part, SPAN(".."));
}

enum status attachment_check_path(struct span path, struct error *err)
{
	struct span rest = path;

	if (!path.len || path.len > ATTACHMENT_PATH_MAX_BYTES)
		return error_set_field(err, ERR_SEMANTIC, "path",
			"the path of an attachment has %zu bytes; it takes 1 to %d", path.len,
			ATTACHMENT_PATH_MAX_BYTES);
	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7f || path.ptr[i] == '\\')
			return refuse(path, "has a backslash or a control character", err);
	for (;;) {
		size_t len = 0;
		while (len < rest.len && rest.ptr[len] != '/')
			len++;
		if (!is_plain((struct span){rest.ptr, len}))
			return refuse(path, "has a part that is empty, '.' or '..'", err);
		if (len == rest.len)
			return OK;
		rest = span_skip(rest, len + 1);
	}
}

/* ---- kinds ---- */

struct ending {
	struct span ending, type;
};

static const struct ending endings[] = {
	{SPAN(".png"), SPAN("image/png")},
	{SPAN(".jpg"), SPAN("image/jpeg")},
	{SPAN(".jpeg"), SPAN("image/jpeg")},
	{SPAN(".gif"), SPAN("image/gif")},
	{SPAN(".webp"), SPAN("image/webp")},
	{SPAN(".svg"), SPAN("image/svg+xml")},
	{SPAN(".html"), SPAN("text/html")},
	{SPAN(".json"), SPAN("application/json")},
	{SPAN(".csv"), SPAN("text/csv")},
	{SPAN(".md"), SPAN("text/markdown")},
	{SPAN(".yaml"), SPAN("application/yaml")},
	{SPAN(".yml"), SPAN("application/yaml")},
	{SPAN(".log"), SPAN("text/plain")},
	{SPAN(".txt"), SPAN("text/plain")},
};

/* curl says the third of whatever it sends. */
static bool says_nothing(struct span said)
{
	return !said.len || said.len > ATTACHMENT_TYPE_MAX_BYTES ||
	       span_equal(said, SPAN("application/octet-stream")) ||
	       span_equal(said, SPAN("application/x-www-form-urlencoded"));
}

struct span attachment_type(struct span path, struct span said)
{
	if (!says_nothing(said))
		return said;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (span_ends_with(path, endings[i].ending))
			return endings[i].type;
	return SPAN("application/octet-stream");
}

const char *attachment_safe_type(struct span content_type)
{
	static const char *const safe[][2] = {{"image/png", "image/png"}, {"image/jpeg", "image/jpeg"},
		{"image/gif", "image/gif"}, {"image/webp", "image/webp"}, {"application/json", "application/json"},
		{"text/plain", "text/plain; charset=utf-8"}, {"text/csv", "text/plain; charset=utf-8"},
		{"text/markdown", "text/plain; charset=utf-8"}, {"application/yaml", "text/plain; charset=utf-8"}};
	size_t len = 0;

	while (len < content_type.len && content_type.ptr[len] != ';' && content_type.ptr[len] != ' ')
		len++;
	for (size_t i = 0; i < sizeof safe / sizeof *safe; i++)
		if (span_equal((struct span){content_type.ptr, len}, span_from(safe[i][0])))
			return safe[i][1];
	return "application/octet-stream";
}
