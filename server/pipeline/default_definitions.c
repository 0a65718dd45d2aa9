#include "pipeline/default_definitions.h"

static const char key[] = "definitions";

enum status definitions_read_default(
	struct store_reader *reader, struct arena *arena, struct span *json, struct error *err)
{
	return store_read_setting(reader, arena, key, json, err);
}

enum status definitions_write_default(struct store_tx *tx, struct span json, struct error *err)
{
	return store_put_setting(tx, key, json, err);
}

enum status definitions_put_default(struct store_tx *tx, int64_t job_id, uint32_t generation, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span json;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(definitions_read_default(store_tx_reader(tx), arena, &json, err));
	return json.len && !span_equal(json, SPAN("[]")) ? store_put_definitions(tx, job_id, generation, json, err)
							 : OK;
}
