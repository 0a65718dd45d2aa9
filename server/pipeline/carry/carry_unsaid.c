#include "pipeline/carry/carry_unsaid.h"

#include "base/alloc.h"

#include <stdlib.h>

void carry_unsaid_done(struct carry_unsaid *unsaid)
{
	mem_free(unsaid->rows);
	*unsaid = (struct carry_unsaid){0};
}

enum status carry_unsaid_add(struct carry_unsaid *unsaid, struct arena *arena, const struct incident_row *rows,
	size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct incident_row row = rows[i];
		row.metric = arena_copy(arena, row.metric);
		if (!row.metric.ptr ||
			!mem_grow((void **)&unsaid->rows, unsaid->count, &unsaid->cap, sizeof *unsaid->rows))
			return error_no_memory(err);
		unsaid->rows[unsaid->count++] = row;
	}
	return OK;
}

static int by_time(const void *a, const void *b)
{
	const struct incident *x = &((const struct incident_row *)a)->incident;
	const struct incident *y = &((const struct incident_row *)b)->incident;

	return (x->opened_ms < y->opened_ms) - (x->opened_ms > y->opened_ms);
}

enum status carry_unsaid_number(
	struct carry_unsaid *unsaid, struct store_reader *reader, int64_t job_id, uint32_t lives, struct error *err)
{
	int64_t next;

	if (!unsaid->count)
		return OK;
	TRY(store_next_incident_id(reader, job_id, &next, err));
	unsaid->first_id = (uint32_t)next;
	qsort(unsaid->rows, unsaid->count, sizeof *unsaid->rows, by_time);
	for (size_t i = 0; i < unsaid->count; i++) {
		unsaid->rows[i].incident_id = (uint32_t)next + (uint32_t)(unsaid->count - 1 - i);
		unsaid->rows[i].life = lives;
	}
	return OK;
}

static bool is_same(const struct incident_row *a, const struct incident_row *b)
{
	return a->series_id == b->series_id && a->incident.kind == b->incident.kind &&
	       a->incident.opened_ordinal == b->incident.opened_ordinal;
}

/* What changes while it is open. */
static void change(struct incident *known, const struct incident *unsaid)
{
	if (known->state != INCIDENT_OPEN)
		return;
	known->severity = unsaid->severity;
	known->state = unsaid->state;
	known->last_step = unsaid->last_step;
	known->closed_ms = unsaid->closed_ms;
	known->closed_why = unsaid->closed_why;
	known->worst = unsaid->worst;
	known->worst_step = unsaid->worst_step;
}

static uint32_t number_of(const struct carry_unsaid *unsaid, uint32_t incident_id)
{
	return unsaid->count && incident_id >= unsaid->first_id ? incident_id + (uint32_t)unsaid->count : incident_id;
}

void carry_unsaid_join(struct carry_unsaid *unsaid, struct incident_row *known, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		known[i].incident_id = number_of(unsaid, known[i].incident_id);
		known[i].cause_id = number_of(unsaid, known[i].cause_id);
		known[i].fold_id = number_of(unsaid, known[i].fold_id);
	}
	for (size_t i = unsaid->at; i < unsaid->count; i++)
		for (size_t j = 0; j < count; j++)
			if (is_same(&unsaid->rows[i], &known[j])) {
				unsaid->rows[i].incident_id = 0;
				change(&known[j].incident, &unsaid->rows[i].incident);
			}
}

const struct incident_row *carry_unsaid_next(struct carry_unsaid *unsaid, const struct incident_row *row)
{
	while (unsaid->at < unsaid->count) {
		const struct incident_row *next = &unsaid->rows[unsaid->at];
		if (row && next->incident.opened_ms < row->incident.opened_ms)
			return NULL;
		unsaid->at++;
		if (next->incident_id)
			return next;
	}
	return NULL;
}
