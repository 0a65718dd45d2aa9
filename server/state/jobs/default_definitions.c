#include "state/jobs/default_definitions.h"

#include "base/log.h"
#include "store/definitions.h"
#include "store/tokens.h"

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

enum status definitions_parse(struct json **out, struct span text, struct error *err)
{
	*out = NULL;
	if (!span_is_utf8(text))
		return error_set(err, ERR_INVALID, "they hold bytes that are no UTF-8");
	return text.len ? json_parse(out, text, err) : OK;
}

enum status definitions_put_default(struct store_tx *tx, int64_t job_id, uint32_t generation, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span json;

	if (!arena)
		return error_no_memory(err);
	TRY(definitions_read_default(store_tx_reader(tx), arena, &json, err));
	if (!json.len || span_equal(json, SPAN("[]")))
		return OK;
	AUTO(json) parsed = NULL;
	struct error why;
	enum status status = definitions_parse(&parsed, json, &why);
	if (status == OK)
		return store_put_definitions(tx, job_id, generation, json, err);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	log_line(LOG_ERROR, "definitions_damaged", "of=server error=\"%s\" do=\"PUT /api/v1/definitions\"", why.text);
	return OK; /* the job goes by presets */
}
