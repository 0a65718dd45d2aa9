/* How each metric definition of a job does. */
#include "api/core/health.h"

#include "base/json/json_write.h"
#include "state/streams/job_view.h"

/* Several definitions of a stream may have one name: a line that all of them were tried on is one line. */
static uint64_t new_lines(const struct stream_view *stream, size_t at)
{
	uint64_t known = 0, tried = stream->health[at].tried;

	for (size_t i = 0; i < at; i++)
		if (span_equal(stream->health[i].name, stream->health[at].name) && stream->health[i].tried > known)
			known = stream->health[i].tried;
	return tried > known ? tried - known : 0;
}

/* Folded over streams, by name; the same definition runs in each. */
static enum status fold_health(
	struct arena *arena, const struct job_view *view, struct health_view **out, size_t *count, struct error *err)
{
	size_t cap = 0;

	for (size_t i = 0; i < view->stream_count; i++)
		cap += view->streams[i].health_count;
	*count = 0;
	*out = arena_alloc(arena, cap * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].health_count; j++) {
			const struct health_view *health = &view->streams[i].health[j];
			size_t at = 0;
			while (at < *count && !span_equal((*out)[at].name, health->name))
				at++;
			if (at == *count)
				(*out)[(*count)++] = (struct health_view){.name = health->name};
			(*out)[at].tried += new_lines(&view->streams[i], j);
			(*out)[at].matched += health->matched;
			(*out)[at].not_numeric += health->not_numeric;
			(*out)[at].limited += health->limited;
			(*out)[at].missing += health->missing;
			(*out)[at].without_step += health->without_step;
		}
	return OK;
}

static void write_health(struct json_writer *w, const struct health_view *health)
{
	json_object(w);
	json_put_span(w, "Name", health->name);
	json_put_i64(w, "tried", (int64_t)health->tried);
	json_put_i64(w, "matched", (int64_t)health->matched);
	json_put_i64(w, "not_numeric", (int64_t)health->not_numeric);
	json_put_i64(w, "limited", (int64_t)health->limited);
	json_put_i64(w, "missing", (int64_t)health->missing);
	json_put_i64(w, "without_step", (int64_t)health->without_step);
	json_object_end(w);
}

enum status api_write_health(struct arena *arena, const struct job_view *view, struct json_writer *w, struct error *err)
{
	struct health_view *health;
	size_t count;

	TRY(fold_health(arena, view, &health, &count, err));
	json_array(w);
	for (size_t i = 0; i < count; i++)
		write_health(w, &health[i]);
	json_array_end(w);
	return OK;
}
