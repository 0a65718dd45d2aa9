#include "read/report.h"

#include "base/text/iso8601.h"
#include "query/query.h"
#include "store/job_facts.h"

enum { INCIDENTS_READ = 1000, TERMS_BYTES = 256 };

static const struct {
	const char *name;
	const char *time; /* that is in the report's; "": it is so now */
	const char *terms, *sort;
} parts[] = {[REPORT_FAILED] = {"failed", "EndKnownTime", "status:failed", "-ended"},
	[REPORT_ENDED] = {"ended", "EndKnownTime", "not status:failed", "-ended"},
	[REPORT_STARTED] = {"started", "StartKnownTime", "", "-started"},
	[REPORT_RUNNING] = {"running", "", "status:InProgress", "-modified"}};

const char *report_jobs_name(enum report_jobs which)
{
	return parts[which].name;
}

bool report_job_is_late(
	const struct report_span *of, enum report_jobs which, const struct job_row *job, int64_t *known_ms)
{
	bool is_start = which == REPORT_STARTED;

	*known_ms = is_start ? job->started_known_ms : job->ended_known_ms;
	return which != REPORT_RUNNING && report_is_late(of, is_start ? job->started_ms : job->ended_ms);
}

static enum status search_of(const struct report_span *of, struct span terms, struct span sort, struct arena *arena,
	struct job_search *out, struct error *err)
{
	struct query_node *both = arena_alloc(arena, sizeof *both), *own;
	struct span text = arena_copy(arena, terms); /* the tree points into it */

	if (!both || !text.ptr)
		return error_no_memory(err);
	TRY(query_parse(&own, text, of->to_ms, arena, err));
	*both = (struct query_node){.kind = QUERY_AND, .left = of->query, .right = own};
	*out = (struct job_search){
		.query = of->query ? both : own, .sort = sort, .cursor = SPAN(""), .wants_total = true};
	return OK;
}

enum status report_search(const struct report_span *of, enum report_jobs which, struct arena *arena,
	struct job_search *out, struct error *err)
{
	AUTO_DONE(buf) terms = BUF_INIT(TERMS_BYTES);
	const char *time = parts[which].time;
	char from[ISO8601_BYTES], to[ISO8601_BYTES];

	iso8601_format(of->from_ms, from);
	iso8601_format(of->to_ms, to);
	if (*time)
		buf_printf(&terms, "%s>=%s %s<=%s ", time, from, time, to);
	buf_append_text(&terms, parts[which].terms);
	TRY(buf_status(&terms, err));
	return search_of(of, buf_span(&terms), span_from(parts[which].sort), arena, out, err);
}

enum status report_search_silent(
	const struct report_span *of, int64_t silent_ms, struct arena *arena, struct job_search *out, struct error *err)
{
	const double second_ms = 1000;
	AUTO_DONE(buf) terms = BUF_INIT(TERMS_BYTES);

	buf_printf(&terms, "%s silent>%.3f", parts[REPORT_RUNNING].terms, (double)silent_ms / second_ms);
	TRY(buf_status(&terms, err));
	TRY(search_of(of, buf_span(&terms), span_from(parts[REPORT_RUNNING].sort), arena, out, err));
	out->limit = 1; /* how many there are is what is asked */
	return OK;
}

enum status report_read_incidents(struct store_reader *reader, struct arena *arena, const struct report_span *of,
	struct report_incidents *out, struct error *err)
{
	struct incident_filter filter = {.state = -1,
		.kind = -1,
		.from_ms = of->from_ms,
		.to_ms = of->to_ms,
		.is_by_known = true,
		.query = of->query,
		.cursor = SPAN(""),
		.limit = INCIDENTS_READ};
	struct incident_row *found;
	struct span next_cursor;
	size_t at = 0;

	*out = (struct report_incidents){0};
	TRY(store_read_incidents(reader, arena, &filter, &found, &out->count, &next_cursor, err));
	out->rows = arena_alloc(arena, (out->count + 1) * sizeof *out->rows);
	if (!out->rows)
		return error_no_memory(err);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		for (size_t i = 0; i < out->count; i++)
			if ((int)found[i].incident.severity == severity) {
				out->rows[at++] = found[i];
				out->by_severity[severity]++;
			}
	out->has_more = next_cursor.len > 0;
	return OK;
}

enum status report_read_lost(struct store_reader *reader, struct arena *arena, const struct report_span *of,
	struct report_lost *out, struct error *err)
{
	*out = (struct report_lost){0};
	TRY(store_read_goodput_causes(reader, arena, of->from_ms, of->to_ms + 1, &out->causes, &out->count, err));
	for (size_t i = 0; i < out->count; i++) {
		out->lost_node_ms += goodput_cause_lost_ms(&out->causes[i]);
		out->breaks += (int64_t)out->causes[i].count;
	}
	return OK;
}

enum status report_read_loss(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct report_loss *out, struct error *err)
{
	struct job_counts counts;
	struct summary_row *summaries;
	struct ranking_row *rankings;
	size_t summary_count, ranking_count;

	*out = (struct report_loss){.metric = SPAN("")};
	TRY(store_read_summaries(reader, arena, job_id, &counts, &summaries, &summary_count, err));
	TRY(store_read_rankings(reader, arena, job_id, &rankings, &ranking_count, err));
	out->heard_ms = counts.last_heard_ms ? counts.last_heard_ms : counts.last_line_ms;
	for (size_t i = 0; i < summary_count; i++)
		if (summaries[i].main_role == ROLE_LOSS) {
			out->metric = summaries[i].metric;
			out->last = summaries[i].summary.last;
			out->step = summaries[i].summary.last_step;
		}
	for (size_t i = 0; i < ranking_count && out->metric.len; i++)
		if (span_equal(rankings[i].metric, out->metric)) {
			out->has_best = true;
			out->best = rankings[i].best;
			out->best_step = rankings[i].best_step;
		}
	return OK;
}
