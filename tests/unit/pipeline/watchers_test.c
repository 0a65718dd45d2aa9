#include "pipeline/alert/watchers.h"
#include "state/streams/directory.h"
#include "store/alerts.h"
#include "test.h"

#include <stdio.h>

static struct rule_set *rules_of(const char *expression, int64_t modified_ms, uint64_t version)
{
	char document[256];
	struct rule_set *set;

	snprintf(document, sizeof document, "{\"name\":\"x\",\"expression\":\"%s\"}", expression);
	struct rule_row row = {.rule_id = 7,
		.team = SPAN(""),
		.name = SPAN("x"),
		.document = span_from(document),
		.since_seq = 5,
		.modified_ms = modified_ms};
	CHECK_OK(rule_set_new(&set, &row, 1, version, &err));
	CHECK(rule_set_has_conditions(set));
	return set;
}

static void feed(struct stream_state *stream, const struct rule_set *rules, uint64_t first, uint64_t count)
{
	watchers_begin(stream, rules, 6);
	for (uint64_t i = first; i < first + count; i++) {
		struct point point = {.step = (int64_t)i, .value = 1};
		CHECK_OK(watchers_feed(NULL, stream, stream->series[0], i, &point, 0, &err));
	}
}

TEST(a_rule_changed_twice_between_two_commits_begins_anew)
{
	struct series_state series = {.metric = "loss", .series_id = 1}, *list[] = {&series};
	struct stream_state stream = {.series = list, .series_count = 1};
	struct rule_set *mean = rules_of("loss > 9 + mean(3)", 1000, 1);
	struct rule_set *median = rules_of("loss > 9 + median(4)", 1001, 2);

	feed(&stream, mean, 0, 5);
	feed(&stream, median, 5, 5); /* with what the mean remembers there is nothing sorted to take a median of */
	watchers_free(series.watchers, series.watcher_count);
	rule_set_unref(mean);
	rule_set_unref(median);
}

/* What is bound to the series by a rule about this name. */
static size_t watchers_of(const char *expression, char *metric, char *unit, enum role role)
{
	struct series_state series = {.metric = metric, .unit = unit, .role = role, .series_id = 1},
			    *list[] = {&series};
	struct stream_state stream = {.series = list, .series_count = 1};
	struct rule_set *rules = rules_of(expression, 1000, 1);

	feed(&stream, rules, 0, 1);
	size_t count = series.watcher_count;
	watchers_free(series.watchers, series.watcher_count);
	rule_set_unref(rules);
	return count;
}

TEST(a_rule_is_of_the_metric_that_a_printed_name_becomes)
{
	const char *rate = "tokens_per_second > 9";

	CHECK_INT(watchers_of(rate, "train:throughput", "tokens/s", ROLE_THROUGHPUT), 1);
	CHECK_INT(watchers_of(rate, "train:throughput{preset=\"x\"}", "tokens/s", ROLE_THROUGHPUT), 1);
	CHECK_INT(watchers_of(rate, "train:throughput", "samples/s", ROLE_THROUGHPUT), 0);
	CHECK_INT(watchers_of(rate, "train:samples_per_second", "samples/s", ROLE_THROUGHPUT), 0);
	CHECK_INT(watchers_of("avg_loss > 9", "train:loss", "", ROLE_LOSS), 1);
	CHECK_INT(watchers_of("val_loss > 9", "val:loss", "", ROLE_EVAL_LOSS), 1);
	CHECK_INT(watchers_of("val_loss > 9", "train:loss", "", ROLE_LOSS), 0);
	CHECK_INT(watchers_of("lr > 9", "train:lr", "", ROLE_LEARNING_RATE), 1);
	CHECK_INT(watchers_of("batch_time_s > 9", "train:step_time", "ms", ROLE_STEP_TIME),
		0); /* it is kept in another unit */
}
