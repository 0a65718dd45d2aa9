/* Which run is meant. A client names its project and its own id; the team is the token's, so that nobody reaches another's run. */
#include "base/crypto.h"
#include "store/jobs.h"
#include "wandb/internal.h"

#include <stdio.h>

/* Neither may hold what separates them. */
static enum status check_part(const char *name, struct span text, size_t max_bytes, struct error *err)
{
	if (!text.len || text.len > max_bytes)
		return error_set_field(err, ERR_SEMANTIC, name, "'%s' must have 1 to %zu bytes; it has %zu", name,
			max_bytes, text.len);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f || text.ptr[i] == '/')
			return error_set_field(err, ERR_SEMANTIC, name,
				"'%s' holds a slash or a control character at byte %zu", name, i + 1);
	return span_is_utf8(text) ? OK : error_set_field(err, ERR_SEMANTIC, name, "'%s' is not UTF-8", name);
}

enum status wandb_identify(
	const struct wandb_call *call, struct span project, struct span id, struct wandb_run *out, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(1024);

	*out = (struct wandb_run){.entity = call->team.len ? call->team : SPAN(WANDB_NO_TEAM),
		.project = project.len ? project : SPAN(WANDB_DEFAULT_PROJECT),
		.id = id};
	TRY(check_part("project", out->project, WANDB_PROJECT_MAX_BYTES, err));
	TRY(check_part("name", id, WANDB_ID_MAX_BYTES, err));
	buf_printf(&key, "%.*s/%.*s/%.*s", SPAN_ARGS(call->team), SPAN_ARGS(out->project), SPAN_ARGS(id));
	TRY(buf_status(&key, err));
	out->key = arena_copy(call->arena, buf_span(&key));
	return out->key.ptr ? OK : error_no_memory(err);
}

/* TEAM/PROJECT/ID, as this door calls its runs; the team is the token's, whatever stands there. */
enum status wandb_identify_key(const struct wandb_call *call, struct span key, struct wandb_run *out, struct error *err)
{
	struct span rest = key;
	bool is_own = span_take(&rest, call->team) && span_take(&rest, SPAN("/"));
	ptrdiff_t slash = is_own ? span_find_char(rest, '/') : -1;

	if (slash < 0)
		return error_set_field(
			err, ERR_NOT_FOUND, "id", "the token's team has no run '%.*s'", SPAN_ARGS(span_cut(key, 200)));
	return wandb_identify(call, span_cut(rest, (size_t)slash), span_skip(rest, (size_t)slash + 1), out, err);
}

enum status wandb_make_id(const struct wandb_call *call, struct span *out, struct error *err)
{
	unsigned char bytes[4];
	char digits[2 * sizeof bytes + 1];

	crypto_random(bytes, sizeof bytes);
	crypto_hex(bytes, sizeof bytes, digits);
	*out = arena_copy(call->arena, span_from(digits));
	return out->ptr ? OK : error_no_memory(err);
}

enum status wandb_find_run(
	const struct wandb_call *call, const struct wandb_run *run, struct tracked_run_row *row, struct error *err)
{
	struct job_row job;

	TRY(store_read_tracked_run(call->reader, call->arena, run->key, row, err));
	enum status status = store_read_job_by_id(call->reader, call->arena, row->job_id, &job, err);
	if (status != ERR_NOT_FOUND)
		return status;
	return error_set(err, ERR_NOT_FOUND, "the run '%.*s' of the project '%.*s' was deleted", SPAN_ARGS(run->id),
		SPAN_ARGS(run->project));
}

bool wandb_is_over(struct span status)
{
	return span_equal(status, SPAN("FINISHED")) || span_equal(status, SPAN("FAILED")) ||
	       span_equal(status, SPAN("KILLED"));
}
