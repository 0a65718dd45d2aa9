#include "pipeline/alert/watchers.h"

#include "extract/printed_name.h"
#include "model/incident.h"
#include "model/metrics/main_metric.h"
#include "pipeline/alert/incidents.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"

enum { MAIN_OF_MOST = 64 };

void watchers_begin(struct stream_state *stream, const struct rule_set *rules, uint64_t seq)
{
	stream->rules = rules && rule_set_has_conditions(rules) ? rules : NULL;
	stream->rules_seq = seq;
}

/* ---- which rules are of a series ---- */

static bool has_series(const struct stream_state *stream, struct span name)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (span_equal(span_from(stream->series[i]->metric), name))
			return true;
	return false;
}

/* By its name, or the name before its labels; or as the log prints it, where no series of the stream bears that name. */
static bool is_named(const struct stream_state *stream, const struct series_state *series, struct span name)
{
	struct span metric = span_from(series->metric);
	enum role role;

	if (span_equal(metric, name) || span_equal(metric_bare_name(metric), name))
		return true;
	return !role_parse(name, &role) && printed_name_is(name, metric, span_from(series->unit)) &&
	       !has_series(stream, name);
}

/* Else by its role, where no series of the stream bears that name: one of them answers for it when its points come. */
static bool is_meant(const struct stream_state *stream, const struct series_state *series, struct span name)
{
	enum role role;

	if (is_named(stream, series, name))
		return true;
	return role_parse(name, &role) && role == series->role && role != ROLE_OTHER && !has_series(stream, name);
}

/* Points come series by series: one that is a part of the loss by its name may be there long before the loss itself. */
static bool is_sure(const struct metric_candidate *candidate)
{
	struct metric_candidate bare = *candidate;

	bare.metric = metric_bare_name(candidate->metric);
	bool is_loss = candidate->role == ROLE_LOSS || candidate->role == ROLE_EVAL_LOSS;
	return !is_loss || main_metric_rank(candidate->role, &bare) < MAIN_METRIC_PART;
}

/* Of the stream's series the one that answers for its role, or one of those that do with other labels. */
static bool is_main(const struct stream_state *stream, const struct series_state *series)
{
	struct metric_candidate candidates[MAIN_OF_MOST] = {0};
	size_t count = 0;

	for (size_t i = 0; i < stream->series_count && count < MAIN_OF_MOST; i++) {
		const struct series_state *one = stream->series[i];
		if (one->role == series->role)
			candidates[count++] = (struct metric_candidate){
				span_from(one->metric), span_from(one->unit), one->role, one->summary.count};
	}
	size_t main = main_metric_find(series->role, candidates, count);
	return main < count && is_sure(&candidates[main]) &&
	       span_equal(metric_bare_name(candidates[main].metric), metric_bare_name(span_from(series->metric)));
}

/* *is_the_main: below 0 before somebody asked. It is the same for all rules, and looks at all series of the stream. */
static bool is_answer(
	const struct stream_state *stream, const struct series_state *series, struct span name, int *is_the_main)
{
	if (is_named(stream, series, name))
		return true;
	if (*is_the_main < 0)
		*is_the_main = is_main(stream, series);
	return *is_the_main;
}

static struct watcher *find(struct series_state *series, const struct rule *rule)
{
	for (size_t i = 0; i < series->watcher_count; i++) {
		struct watcher *at = &series->watchers[i];
		bool is_same = !at->modified_ms || at->modified_ms == rule->modified_ms;
		if (at->rule_id == rule->rule_id && at->since_seq == rule->since_seq && is_same)
			return at;
	}
	return NULL;
}

static enum status wake(struct watcher *watcher, const struct rule *rule, struct error *err)
{
	struct unpacker in = unpacker_on(span_of(watcher->packed, watcher->packed_len));

	if (watcher->watch)
		return OK;
	if (watcher->packed)
		TRY(watch_unpack(&watcher->watch, rule->expression, &in, err));
	else if (!(watcher->watch = watch_new(rule->expression)))
		return error_no_memory(err);
	mem_free(watcher->packed);
	watcher->packed = NULL;
	return OK;
}

static size_t count_of(const struct stream_state *stream, const struct series_state *series)
{
	size_t count = 0;

	for (size_t i = 0; i < rule_set_count(stream->rules); i++) {
		const struct rule *rule = rule_set_get(stream->rules, i);
		count += rule->is_enabled && rule->expression &&
			 is_meant(stream, series, condition_metric(rule->expression));
	}
	return count;
}

/* After a change of the rules: those that go on keep what they know. */
static enum status bind(struct stream_state *stream, struct series_state *series, struct error *err)
{
	size_t count = count_of(stream, series), used = 0;
	struct watcher *watchers = count ? mem_zeroed(count * sizeof *watchers) : NULL;
	enum status status = OK;

	if (count && !watchers)
		return error_no_memory(err);
	for (size_t i = 0; i < rule_set_count(stream->rules) && used < count && status == OK; i++) {
		const struct rule *rule = rule_set_get(stream->rules, i);
		if (!rule->is_enabled || !rule->expression ||
			!is_meant(stream, series, condition_metric(rule->expression)))
			continue;
		struct watcher *old = find(series, rule);
		watchers[used] = old ? *old : (struct watcher){.rule_id = rule->rule_id, .since_seq = rule->since_seq};
		watchers[used].modified_ms = rule->modified_ms;
		if (old)
			*old = (struct watcher){0};
		status = wake(&watchers[used++], rule, err);
	}
	watchers_free(series->watchers, series->watcher_count);
	series->watchers = watchers;
	series->watcher_count = used;
	series->watched_by = rule_set_version(stream->rules);
	return status;
}

/* ---- points ---- */

struct watched {
	struct pipeline *pipeline;
	struct stream_state *stream;
	struct series_state *series;
	const struct rule *rule;
	int64_t arrival_ms;
	enum status status;
	struct error *err;
};

static void take_report(void *context, enum incident_change change, const struct incident *incident)
{
	struct watched *watched = context;
	struct incident said = *incident;

	(void)change;
	said.rule_id = watched->rule->rule_id;
	said.severity = watched->rule->severity;
	said.is_historic = said.opened_ms < watched->arrival_ms - HISTORIC_MS;
	if (watched->status == OK)
		watched->status =
			incidents_hand_over(watched->pipeline, watched->stream, watched->series, &said, watched->err);
}

enum status watchers_feed(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	uint64_t ordinal, const struct point *point, int64_t arrival_ms, struct error *err)
{
	if (!stream->rules || stream->said) /* a back-fill looks for what detectors notice alone */
		return OK;
	if (series->watched_by != rule_set_version(stream->rules))
		TRY(bind(stream, series, err));
	int is_the_main = -1;
	for (size_t i = 0; i < series->watcher_count; i++) {
		struct watcher *watcher = &series->watchers[i];
		struct watched watched = {
			pipeline, stream, series, rule_set_find(stream->rules, watcher->rule_id), arrival_ms, OK, err};
		if (!watched.rule || stream->rules_seq <= watcher->since_seq)
			continue;
		if (!is_answer(stream, series, condition_metric(watched.rule->expression), &is_the_main))
			continue;
		if (watcher->life != series->life)
			watch_say_again(watcher->watch);
		watcher->life = series->life;
		watch_feed(watcher->watch, watched.rule->expression, ordinal, point, take_report, &watched);
		TRY(watched.status);
	}
	return OK;
}
