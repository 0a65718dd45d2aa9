#include "pipeline/jobs/tracked_projects.h"

#include "base/json/json_read.h"
#include "state/execute.h"
#include "state/jobs/secrets.h"

enum { TAGS_MAX_BYTES = 1 << 20 };

static enum status write_project(void *context, struct store_tx *tx, struct error *err)
{
	struct tracked_project_row *row = context, known;
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	enum status status = store_find_tracked_project(store_tx_reader(tx), arena, row->team, row->name, &known, err);
	if (status == OK)
		return error_set(err, ERR_CONFLICT, "there is an experiment '%.*s' already",
			SPAN_ARGS(span_cut(row->name, 300)));
	return status == ERR_NOT_FOUND ? store_add_tracked_project(tx, row, err) : status;
}

enum status pipeline_add_project(struct pipeline *pipeline, struct tracked_project_row *row, struct error *err)
{
	return writer_execute(pipeline, write_project, row, err);
}

enum status pipeline_have_project(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct tracked_project_row *row, struct error *err)
{
	const struct tracked_project_row asked = *row;
	enum status status = store_find_tracked_project(reader, arena, asked.team, asked.name, row, err);

	if (status != ERR_NOT_FOUND)
		return status;
	*row = asked;
	status = pipeline_add_project(pipeline, row, err);
	if (status != ERR_CONFLICT) /* else another has just made it */
		return status;
	return store_find_tracked_project(reader, arena, asked.team, asked.name, row, err);
}

static enum status put_tag(
	struct arena *arena, struct tracked_project_row *row, struct span key, struct span value, struct error *err)
{
	AUTO(json) tags = NULL;
	AUTO_DONE(buf) text = BUF_INIT(TAGS_MAX_BYTES);
	AUTO_DONE(buf) name = BUF_INIT(TAGS_MAX_BYTES);

	buf_append_span(&name, key);
	buf_append_char(&name, 0);
	TRY(buf_status(&name, err));
	TRY(json_parse(&tags, row->tags, err));
	if (!json_set_string(tags, name.ptr, value))
		return error_no_memory(err);
	TRY(secrets_mask_settings(tags, err));
	json_print(tags, &text);
	if (text.failure == ERR_TOO_LARGE)
		return error_set(
			err, ERR_TOO_LARGE, "the tags of the experiment are more than %d bytes", TAGS_MAX_BYTES);
	TRY(buf_status(&text, err));
	row->tags = arena_copy(arena, buf_span(&text));
	return row->tags.ptr ? OK : error_no_memory(err);
}

static enum status write_project_change(void *context, struct store_tx *tx, struct error *err)
{
	const struct project_change *change = context;
	AUTO(arena) arena = arena_new();
	struct tracked_project_row row, other;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_tracked_project(store_tx_reader(tx), arena, change->project_id, &row, err));
	if (change->team.len && !span_equal(change->team, row.team))
		return error_set(err, ERR_FORBIDDEN, "the experiment %lld is not of this token's team, '%.*s'",
			(long long)row.project_id, SPAN_ARGS(change->team));
	if (change->name.len && !span_equal(change->name, row.name)) {
		row.name = change->name;
		if (store_find_tracked_project(store_tx_reader(tx), arena, row.team, row.name, &other, err) == OK)
			return error_set(err, ERR_CONFLICT, "there is an experiment '%.*s' already",
				SPAN_ARGS(span_cut(row.name, 300)));
	}
	if (change->tag_key.len)
		TRY(put_tag(arena, &row, change->tag_key, change->tag_value, err));
	row.modified_ms = change->now_ms;
	return store_put_tracked_project(tx, &row, err);
}

enum status pipeline_change_project(struct pipeline *pipeline, const struct project_change *change, struct error *err)
{
	struct project_change copy = *change;

	return writer_execute(pipeline, write_project_change, &copy, err);
}
