/* Clusters that a job nearly got, and what a cold start of its kind takes. */
#include "api/machines/pool_near.h"

#include "base/json/json_write.h"
#include "store/pools.h"

enum { COLD_JOBS = 101 };

void pool_near_keep(struct pool_near nearest[POOL_NEAR_MAX], size_t *count, const struct pool_near *candidate)
{
	size_t at = *count < POOL_NEAR_MAX ? (*count)++ : POOL_NEAR_MAX;

	for (; at > 0 && nearest[at - 1].differences > candidate->differences; at--)
		if (at < POOL_NEAR_MAX)
			nearest[at] = nearest[at - 1];
	if (at < POOL_NEAR_MAX)
		nearest[at] = *candidate;
}

void pool_near_write(struct json_writer *w, const struct pool_near *near, const struct pool_shape *wanted)
{
	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++) {
		if (span_equal(near->shape.fields[i], wanted->fields[i]))
			continue;
		json_object(w);
		json_put_i64(w, "pool", near->pool_id);
		json_put_span(w, "job", near->job);
		json_put_text(w, "field", pool_shape_field(i));
		json_put_span(w, "wanted", wanted->fields[i]);
		json_put_span(w, "has", near->shape.fields[i]);
		json_put_i64(w, "expires_ms", near->until_ms);
		json_object_end(w);
	}
}

enum status pool_cold_startup_ms(struct store_reader *reader, uint64_t shape, int64_t *out_ms, struct error *err)
{
	int64_t starts_ms[COLD_JOBS];
	size_t count;

	TRY(store_read_cold_startups(reader, shape, starts_ms, COLD_JOBS, &count, err));
	*out_ms = count ? (starts_ms[(count - 1) / 2] + starts_ms[count / 2]) / 2 : -1;
	return OK;
}
