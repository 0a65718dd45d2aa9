#include "read/charts/run_inputs.h"

#include "read/charts/derivation.h"
#include "store/run.h"

#include <stdio.h>

enum { EARLIER_MAX = 64 };

static bool is_complete(const struct inputs *inputs, const enum input *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(inputs->items[wanted[i]].value > 0))
			return false;
	return true;
}

/* What these say and the job itself does not. */
static void take_over(
	struct inputs *inputs, const struct inputs *earlier, const enum input *wanted, size_t count, struct span job)
{
	for (size_t i = 0; i < count; i++) {
		const struct input_value *said = &earlier->items[wanted[i]];
		struct input_value *own = &inputs->items[wanted[i]];
		if (own->value > 0 || !(said->value > 0))
			continue;
		own->value = said->value;
		snprintf(own->from, sizeof own->from, "%.100s of %.*s", said->from, (int)(job.len < 80 ? job.len : 80),
			job.ptr);
	}
}

static struct span continued_by(const struct run_link *links, size_t count, struct span job)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(links[i].job, job))
			return links[i].continues;
	return SPAN("");
}

enum status run_inputs_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, const enum input *wanted, size_t wanted_count, struct inputs **out,
	struct error *err)
{
	struct run_link *links;
	struct inputs *earlier;
	struct job_row before;
	size_t count, at;

	TRY(derivation_read_inputs(pipeline, reader, arena, job, out, err));
	if (is_complete(*out, wanted, wanted_count))
		return OK;
	TRY(store_read_run(reader, arena, job->name, &links, &count, &at, err));
	struct span name = continued_by(links, count, job->name);
	for (size_t i = 0; i < EARLIER_MAX && name.len && !is_complete(*out, wanted, wanted_count); i++) {
		enum status status = store_read_job(reader, arena, name, &before, err);
		if (status == ERR_NOT_FOUND)
			return OK; /* it is not here, or was deleted */
		TRY(status);
		TRY(derivation_read_inputs(pipeline, reader, arena, &before, &earlier, err));
		take_over(*out, earlier, wanted, wanted_count, name);
		name = continued_by(links, count, name);
	}
	return OK;
}
