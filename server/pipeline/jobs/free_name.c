#include "pipeline/jobs/free_name.h"

#include "store/jobs.h"

enum { NUMBER_MAX = 1000000000 };

struct naming {
	struct store_tx *tx;
	struct arena *arena;
	struct span name;
};

static enum status form_name(const struct naming *naming, uint64_t number, struct span *out, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(4096);

	buf_append_span(&name, number > 1 ? span_cut(naming->name, FREE_NAME_STEM_BYTES) : naming->name);
	if (number > 1)
		buf_printf(&name, "-%llu", (unsigned long long)number);
	TRY(buf_status(&name, err));
	*out = arena_copy(naming->arena, buf_span(&name));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status is_free(const struct naming *naming, uint64_t number, bool *is, struct error *err)
{
	struct span name;
	struct job_row row;

	TRY(form_name(naming, number, &name, err));
	enum status status = store_read_job(store_tx_reader(naming->tx), naming->arena, name, &row, err);
	*is = status == ERR_NOT_FOUND;
	return status == ERR_NOT_FOUND ? OK : status;
}

/*
 * The number of a name that is free, and has a taken one before it. Scripts start a thousand runs of one name: it is looked for by
 * doubling and then between the last two, so that the thousandth asks twenty times. Holes that deletions left may stay.
 */
enum status free_name_find(
	struct store_tx *tx, struct arena *arena, struct span name, struct span *out, struct error *err)
{
	const struct naming naming = {tx, arena, name};
	uint64_t taken = 0, number = 1;
	bool is = false;

	TRY(is_free(&naming, number, &is, err));
	while (!is) {
		if (number >= NUMBER_MAX)
			return error_set(err, ERR_CONFLICT, "too many jobs are called '%.*s'", SPAN_ARGS(name));
		taken = number;
		number *= 2;
		TRY(is_free(&naming, number, &is, err));
	}
	while (number - taken > 1) {
		uint64_t between = taken + (number - taken) / 2;
		TRY(is_free(&naming, between, &is, err));
		if (is)
			number = between;
		else
			taken = between;
	}
	return form_name(&naming, number, out, err);
}
