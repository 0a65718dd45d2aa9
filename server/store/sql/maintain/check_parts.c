#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/sql/maintain/check_leaving.h"
#include "store/sql/maintain/check_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static struct span job_name(struct checking *c, struct arena *arena, int64_t job_id)
{
	struct job_row row;

	if (!job_id || !c->names || store_read_job_by_id(c->names, arena, job_id, &row, NULL) != OK)
		return SPAN("");
	return row.name;
}

/* As a person knows it: its number is in no reply. */
static struct span part_name(struct checking *c, struct arena *arena, const char *part, struct place place)
{
	AUTO_DONE(statement) s = {0};
	const char *sql =
		strcmp(part, "stream") == 0
			? "SELECT '''' || name || '''' FROM streams WHERE job_id = ? AND stream_id = ?"
		: strcmp(part, "series") == 0
			? "SELECT '''' || e.metric || ''' of stream ''' || s.name || '''' FROM series AS e JOIN streams AS s"
			  " ON s.job_id = e.job_id AND s.stream_id = e.stream_id WHERE e.job_id = ? AND e.series_id = ?"
			: NULL;
	bool is_there;

	if (!sql || !c->names || statement_open(&s, c->names, sql, NULL) != OK)
		return SPAN("");
	bind_numbers(&s, place.job_id, place.part_id);
	return statement_step(&s, &is_there, NULL) == OK && is_there ? column_span(&s, arena) : SPAN("");
}

void check_tell(struct checking *c, const char *part, struct place place, const char *format, ...)
{
	AUTO(arena) arena = arena_new();
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	c->problems++;
	struct store_finding finding = {.what = c->what,
		.job = arena ? job_name(c, arena, place.job_id) : SPAN(""),
		.part = part,
		.part_id = place.part_id,
		.part_name = arena ? part_name(c, arena, part, place) : SPAN(""),
		.at = place.at,
		.text = span_from(text)};
	c->check->found(c->check->context, &finding);
}

void check_count_row(struct checking *c)
{
	c->rows++;
	if (c->check->progress && !c->check->progress(c->check->context, c->what, c->rows))
		c->is_stopped = true;
}

enum status check_first_line_of(
	struct checking *c, int64_t job_id, uint32_t stream_id, uint64_t *first, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct expired_text *notes;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_expired(c->reader, arena, job_id, stream_id, &notes, &count, err));
	*first = count ? notes[0].first_kept_line : 0;
	return OK;
}

enum status check_tell_gap(struct checking *c, const char *part, const char *unit, struct place place,
	uint64_t expected, struct error *err)
{
	bool is_leaving;
	uint64_t first = 0;

	TRY(check_is_leaving(c->reader, part, place.job_id, (int64_t)place.part_id, &is_leaving, err));
	if (!is_leaving && strcmp(part, "stream") == 0)
		TRY(check_first_line_of(c, place.job_id, (uint32_t)place.part_id, &first, err));
	if (!is_leaving && (first == 0 || first != place.at))
		check_tell(c, part, place, "begins at %s %" PRIu64 ", the %ss before it end at %" PRIu64, unit,
			place.at, unit, expected);
	return OK;
}
