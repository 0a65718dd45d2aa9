#include "cli/trace/trace.h"
#include "cli/trace/intervals.h"
#include "cli/trace/trace_file.h"

#include "base/hash128.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MOST = 10000, DEVICES_MOST = 64 };
enum { BY_KIND = 3 }; /* sets of times: of what computes, what communicates, and all else */

static const int64_t year_2000_us = 946684800000000;

struct step {
	int64_t number, from_us, us;
};

struct summing {
	struct trace_about about;
	struct trace_summary *out;
	struct step *steps; /* those that have a number */
	size_t step_count;
	bool has_named, has_others; /* steps of a name; of more than one */
	int64_t named; /* the number of the first one */
	bool has_kernels; /* of any step */
	bool is_cut; /* more than one step: what the last one launched is left out */
	int64_t last_us; /* its start */
	struct intervals launched; /* correlations */
	struct intervals times[BY_KIND];
	int64_t first_us, end_us;
	uint64_t devices;
	struct hash128 hash;
};

static void summing_done(struct summing *s)
{
	mem_free(s->steps);
	intervals_done(&s->launched);
	for (size_t i = 0; i < BY_KIND; i++)
		intervals_done(&s->times[i]);
}
AUTO_DONE_TYPE(summing)

/* What HTA takes for an event of a GPU when it looks for what was launched where. */
static bool is_of_gpu(const struct trace_event *event)
{
	return (event->stream >= 0 && event->correlation >= 0) || event->is_sync;
}

/* Of all sets together there are so many at most. */
static enum status add(struct summing *s, struct intervals *set, int64_t from, int64_t to, struct error *err)
{
	size_t others = s->launched.count + s->times[0].count + s->times[1].count + s->times[2].count - set->count;
	size_t most = others < TRACE_INTERVALS_MOST ? TRACE_INTERVALS_MOST - others : 0;
	enum status status = intervals_add(set, from, to, most, err);

	if (status != ERR_TOO_LARGE)
		return status;
	return error_set(err, ERR_TOO_LARGE,
		"more than %d stretches of kernels and launches lie apart, which is more than is held in memory: profile fewer steps",
		TRACE_INTERVALS_MOST);
}

/* ---- first: the steps ---- */

static void take_number(struct summing *s, const struct trace_event *event)
{
	if (event->step < 0 || s->step_count == STEPS_MOST)
		return;
	s->steps[s->step_count++] = (struct step){event->step, event->from_us, event->to_us - event->from_us};
}

static enum status take_step(void *context, const struct trace_event *event, struct error *err)
{
	struct summing *s = context;

	(void)err;
	if (!event->is_step || is_of_gpu(event))
		return OK;
	s->has_others |= s->has_named && s->named != event->step;
	s->last_us = !s->has_named || event->from_us > s->last_us ? event->from_us : s->last_us;
	if (!s->has_named)
		s->named = event->step;
	s->has_named = true;
	take_number(s, event);
	return OK;
}

static int by_number(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

static int by_length(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->us > y->us) - (x->us < y->us);
}

/* A step is named on the processor and, by its kernels, on the GPU: the earlier one is its own. */
static void keep_once(struct summing *s)
{
	size_t kept = 0;

	qsort(s->steps, s->step_count, sizeof *s->steps, by_number);
	for (size_t i = 0; i < s->step_count; i++)
		if (!kept || s->steps[kept - 1].number != s->steps[i].number)
			s->steps[kept++] = s->steps[i];
	s->step_count = kept;
}

static void set_steps(struct summing *s)
{
	struct trace_summary *out = s->out;

	keep_once(s);
	s->is_cut = s->has_others;
	out->is_last_left_out = s->is_cut;
	out->steps = (int64_t)s->step_count - (s->is_cut && s->step_count > 1);
	out->first_step = out->last_step = out->step_us = -1;
	if (!out->steps)
		return;
	out->first_step = s->steps[0].number;
	out->last_step = s->steps[out->steps - 1].number;
	qsort(s->steps, (size_t)out->steps, sizeof *s->steps, by_length);
	out->step_us = s->steps[out->steps / 2].us;
}

/* ---- second: what was launched in them ---- */

static enum status take_launch(void *context, const struct trace_event *event, struct error *err)
{
	struct summing *s = context;

	if (is_of_gpu(event) || event->correlation < 0 || event->from_us >= s->last_us)
		return OK;
	return add(s, &s->launched, event->correlation, event->correlation + 1, err);
}

/* ---- third: the kernels ---- */

static bool counts(const struct summing *s, const struct trace_event *event)
{
	if (event->stream < 0 || !s->is_cut)
		return event->stream >= 0;
	return is_of_gpu(event) ? intervals_have(&s->launched, event->correlation) : event->from_us < s->last_us;
}

static enum status take_kernel(void *context, const struct trace_event *event, struct error *err)
{
	struct summing *s = context;
	struct trace_summary *out = s->out;

	s->has_kernels = s->has_kernels || event->stream >= 0;
	if (!counts(s, event))
		return OK;
	s->first_us = !out->kernels || event->from_us < s->first_us ? event->from_us : s->first_us;
	s->end_us = !out->kernels || event->to_us > s->end_us ? event->to_us : s->end_us;
	out->kernels++;
	if (event->device >= 0 && event->device < DEVICES_MOST)
		s->devices |= (uint64_t)1 << event->device;
	hash128_add_number(&s->hash, (uint64_t)event->from_us);
	hash128_add_number(&s->hash, (uint64_t)event->to_us << 2 | event->kind);
	if (event->to_us > event->from_us)
		out->sums_us[event->kind] += event->to_us - event->from_us;
	return add(
		s, &s->times[event->kind < BY_KIND - 1 ? event->kind : BY_KIND - 1], event->from_us, event->to_us, err);
}

/* Older traces count from 1970, newer ones from a time that they name. */
static int64_t profiled_ms(const struct summing *s)
{
	int64_t ms = s->first_us / 1000 + s->about.base_ns / 1000000;

	return ms >= year_2000_us / 1000 && ms < (int64_t)1 << 45 ? ms : 0;
}

static enum status set_times(struct summing *s, struct error *err)
{
	struct trace_summary *out = s->out;

	if (!out->kernels)
		return error_set(err, ERR_NOT_FOUND, "%s",
			s->has_kernels ? "none of its steps but the last, which is left out, launched a kernel of a GPU"
				       : "it has no kernels of a GPU");
	for (size_t i = 0; i < BY_KIND; i++)
		intervals_settle(&s->times[i]);
	out->kernel_us = s->end_us > s->first_us ? s->end_us - s->first_us : 0;
	out->idle_us = out->kernel_us - intervals_union_length(s->times, BY_KIND);
	out->compute_us = intervals_length(&s->times[TRACE_COMPUTE]);
	out->communication_us = intervals_length(&s->times[TRACE_COMMUNICATION]);
	out->overlap_us = intervals_common_length(&s->times[TRACE_COMPUTE], &s->times[TRACE_COMMUNICATION]);
	out->devices = __builtin_popcountll(s->devices);
	out->rank = s->about.rank;
	out->profiled_ms = profiled_ms(s);
	hash128_add_number(&s->hash, (uint64_t)out->rank);
	hash128_add_number(&s->hash, (uint64_t)out->first_step);
	hash128_add_number(&s->hash, (uint64_t)out->profiled_ms);
	snprintf(out->id, sizeof out->id, "%016" PRIx64 "%016" PRIx64, s->hash.high, s->hash.low);
	return OK;
}

enum status trace_read_source(const struct trace_source *source, struct trace_summary *out, struct error *err)
{
	AUTO_DONE(summing) s = {.about = {.rank = -1}, .out = out};

	*out = (struct trace_summary){0};
	s.steps = mem_alloc(STEPS_MOST * sizeof *s.steps);
	if (!s.steps)
		return error_no_memory(err);
	TRY(trace_walk(source, &s.about, take_step, &s, err));
	set_steps(&s);
	if (s.is_cut) {
		TRY(trace_walk(source, &s.about, take_launch, &s, err));
		intervals_settle(&s.launched);
	}
	TRY(trace_walk(source, &s.about, take_kernel, &s, err));
	return set_times(&s, err);
}

static enum status rewind_file(void *context, struct error *err)
{
	return trace_file_rewind(context, err);
}

enum status trace_read(const char *path, struct trace_summary *out, struct error *err)
{
	AUTO_DONE(trace_file) file = TRACE_FILE_NONE;

	TRY(trace_file_open(&file, path, err));
	return trace_read_source(
		&(struct trace_source){.rewind = rewind_file, .fill = trace_file_read, .context = &file}, out, err);
}
