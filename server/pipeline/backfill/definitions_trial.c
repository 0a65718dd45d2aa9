/* Definitions tried on lines, for people who write them: extract/trial.h with a clock beside it, written as JSON. */
#include "pipeline/backfill/definitions_trial.h"

#include "base/clock.h"
#include "extract/trial.h"
#include "state/pipeline_state.h"

enum {
	HITS_MAX = 64, /* shown of one line */
	LONG_LINE_BYTES = 1024,
	BUDGET_MS = 2000, /* lines behind it are not tried, and the reply says so */
	TIMING_NS =
		1000000, /* a definition is run over all lines again until this has passed: a clock needs something to see */
	TIMING_PASSES = 100,
	TIMING_LINES = 16, /* between two looks at the clock, which is a system call */
};

static const double slow_us = 50; /* of one definition on one line; forty such are two milliseconds a line */

struct trying {
	struct trial *trial;
	struct regex_scratch *scratch;
	const struct span *lines;
	size_t count;
	int64_t until_ms;
	struct json_writer *w;
};

static void write_hit(struct json_writer *w, const struct trial_hit *hit, struct span text)
{
	json_object(w);
	json_put_i64(w, "definition", hit->definition);
	json_put_i64(w, "start", (int64_t)hit->start);
	json_put_i64(w, "end", (int64_t)hit->end);
	json_put_span(w, "text", span_of(text.ptr + hit->start, hit->end - hit->start));
	if (hit->is_number)
		json_put_double(w, "value", hit->value);
	if (hit->has_step) {
		json_put_i64(w, "step", hit->step);
		json_put_i64(w, "step_start", (int64_t)hit->step_start);
		json_put_i64(w, "step_end", (int64_t)hit->step_end);
	}
	if (hit->name.len) {
		json_put_span(w, "metric", hit->name);
		json_put_i64(w, "name_start", hit->name.ptr - text.ptr);
		json_put_i64(w, "name_end", hit->name.ptr - text.ptr + (int64_t)hit->name.len);
	}
	json_object_end(w);
}

static enum status write_lines(struct trying *on, bool *is_partial, struct error *err)
{
	struct trial_hit hits[HITS_MAX];
	size_t hit_count;

	json_key(on->w, "lines");
	json_array(on->w);
	for (size_t i = 0; i < on->count && !*is_partial; i++) {
		TRY(trial_line(on->trial, on->scratch, on->lines[i], hits, HITS_MAX, &hit_count, err));
		json_object(on->w);
		json_put_i64(on->w, "index", (int64_t)i);
		json_put_span(on->w, "text", trial_text(on->trial));
		json_key(on->w, "captures");
		json_array(on->w);
		for (size_t j = 0; j < hit_count; j++)
			write_hit(on->w, &hits[j], trial_text(on->trial));
		json_array_end(on->w);
		json_object_end(on->w);
		*is_partial = clock_mono_ms() > on->until_ms && i + 1 < on->count;
	}
	json_array_end(on->w);
	return OK;
}

/* Microseconds that the definition takes for one of these lines. */
static double measure(const struct trying *on, size_t definition)
{
	int64_t start_ns = clock_thread_ns(), took_ns = 0;
	size_t tried = 0;

	for (int pass = 0; pass < TIMING_PASSES && took_ns < TIMING_NS && on->count; pass++) {
		for (size_t i = 0; i < on->count && took_ns < TIMING_NS; i++) {
			trial_match(on->trial, definition, on->scratch, on->lines[i]);
			if (++tried % TIMING_LINES == 0 || on->lines[i].len > LONG_LINE_BYTES)
				took_ns = clock_thread_ns() - start_ns;
		}
	}
	took_ns = clock_thread_ns() - start_ns;
	return tried ? (double)took_ns / 1000 / (double)tried : 0;
}

static void write_warning(struct json_writer *w, const char *code, const char *text)
{
	json_object(w);
	json_put_text(w, "code", code);
	json_put_text(w, "text", text);
	json_object_end(w);
}

static void write_warnings(struct json_writer *w, unsigned warnings, double us_a_line)
{
	json_key(w, "warnings");
	json_array(w);
	for (unsigned i = 0; i < TRIAL_WARNINGS; i++)
		if (warnings & 1u << i)
			write_warning(w, trial_warning_name((enum trial_warning)(1u << i)),
				trial_warning_text((enum trial_warning)(1u << i)));
	if (us_a_line > slow_us)
		write_warning(w, "slow",
			"takes more than 50 microseconds a line: begin it with text that stands in the line");
	json_array_end(w);
}

static void write_definition(const struct trying *on, size_t index)
{
	struct trial_figures figures = trial_figures(on->trial, index);
	struct json_writer *w = on->w;

	json_object(w);
	json_put_span(w, "Name", figures.name);
	if (figures.status != OK) {
		json_key(w, "error");
		json_object(w);
		json_put_text(w, "detail", figures.err.text);
		json_put_text(w, "field", figures.err.field);
		if (figures.err.column)
			json_put_i64(w, "column", figures.err.column);
		json_object_end(w);
		json_object_end(w);
		return;
	}
	double us_a_line = measure(on, index);
	json_put_i64(w, "tried", (int64_t)figures.tried);
	json_put_i64(w, "matched", (int64_t)figures.matched);
	json_put_i64(w, "numeric", (int64_t)figures.numeric);
	json_put_i64(w, "not_numeric", (int64_t)figures.not_numeric);
	json_put_i64(w, "limited", (int64_t)figures.limited);
	json_put_double(w, "match_rate", figures.tried ? (double)figures.matched / (double)figures.tried : 0);
	json_put_double(w, "us_per_line", us_a_line);
	write_warnings(w, figures.warnings, us_a_line);
	json_object_end(w);
}

enum status pipeline_try_definitions(const struct pipeline *pipeline, const struct json *definitions,
	const struct span *lines, size_t count, struct json_writer *w, struct error *err)
{
	AUTO(trial) trial = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	bool is_partial = false;

	if (!scratch)
		return error_no_memory(err);
	regex_scratch_limit(scratch, pipeline->options.match_steps);
	TRY(trial_new(&trial, definitions, pipeline->presets, err));
	struct trying on = {trial, scratch, lines, count, clock_mono_ms() + BUDGET_MS, w};
	json_object(w);
	regex_scratch_until(scratch, on.until_ms);
	TRY(write_lines(&on, &is_partial, err));
	if (clock_mono_ms() <= on.until_ms) /* how long it takes is measured without */
		regex_scratch_watch(scratch, (struct regex_watch){0});
	json_key(w, "definitions");
	json_array(w);
	for (size_t i = 0; i < trial_count(trial); i++)
		write_definition(&on, i);
	json_array_end(w);
	if (is_partial)
		json_put_bool(w, "partial", true);
	json_object_end(w);
	return OK;
}
