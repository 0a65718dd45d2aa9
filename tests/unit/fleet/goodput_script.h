/* A job's life in seconds, written down and derived: for the tests of goodput. */
#pragma once

#include "fleet/goodput.h"
#include "test.h"

enum { SECOND = 1000, MANY = 64, MADE_MAX = 4096 };

static inline struct goodput_phase training(int64_t from_s, int64_t to_s)
{
	struct goodput_phase phase = goodput_phase_of(SPAN("Training"), SPAN(""), false);

	phase.from_ms = from_s * SECOND;
	phase.to_ms = to_s * SECOND;
	return phase;
}

static inline struct goodput_phase phase_of(
	const char *status, const char *message, bool has_trained, int64_t from_s, int64_t to_s)
{
	struct goodput_phase phase = goodput_phase_of(span_from(status), span_from(message), has_trained);

	phase.from_ms = from_s * SECOND;
	phase.to_ms = to_s * SECOND;
	return phase;
}

struct script {
	struct goodput_phase phases[MANY];
	struct goodput_point points[MADE_MAX];
	struct goodput_mark marks[MANY];
	struct goodput_facts facts;
	struct arena *arena;
	struct goodput out;
};

static inline void begin(struct script *s, enum goodput_end end)
{
	s->facts = (struct goodput_facts){.phases = s->phases,
		.points = s->points,
		.marks = s->marks,
		.end = end,
		.end_cause = SPAN(""),
		.next = {.from_step = INT64_MAX}};
	s->arena = arena_new();
	CHECK(s->arena);
}

static inline void add_phase(struct script *s, struct goodput_phase phase)
{
	s->phases[s->facts.phase_count++] = phase;
}

/* Steps first..last, the first printed at from_s, one each each_s. */
static inline void add_steps(
	struct script *s, uint32_t attempt, int64_t first, int64_t last, int64_t from_s, int64_t each_s)
{
	for (int64_t step = first; step <= last; step++)
		s->points[s->facts.point_count++] =
			(struct goodput_point){(from_s + (step - first) * each_s) * SECOND, step, attempt};
}

static inline void run(struct script *s)
{
	CHECK_OK(goodput_derive(&s->facts, s->arena, &s->out, &err));
	int64_t sum = 0, at = s->facts.phase_count ? s->phases[0].from_ms : 0;
	for (size_t i = 0; i < s->out.segment_count; i++) {
		CHECK(s->out.segments[i].from_ms == at && s->out.segments[i].to_ms > at);
		at = s->out.segments[i].to_ms;
	}
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++)
		sum += s->out.ms[i];
	CHECK(sum == s->out.total_ms);
	if (s->facts.phase_count)
		CHECK(sum == s->phases[s->facts.phase_count - 1].to_ms - s->phases[0].from_ms);
}

static inline int64_t seconds(const struct script *s, enum goodput_bucket bucket)
{
	return s->out.ms[bucket] / SECOND;
}
