#include "pipeline/jobs/faults_by_hand.h"

#include "model/jobs/by_hand.h"
#include "store/faults.h"
#include "store/streams.h"

#include <stdio.h>

static enum status refuse(struct span place, struct error *err)
{
	char field[128];
	int len = place.len < 80 ? (int)place.len : 80;

	snprintf(field, sizeof field, "by_hand.faults.%.*s", len, place.ptr);
	return error_set_field(err, ERR_SEMANTIC, field,
		"no machine is charged with a fault of the job at '%.*s': fault_list of GET /api/v1/nodes/HOST has stream and first line of each",
		len, place.ptr);
}

static enum status clear_one(struct store_tx *tx, struct arena *arena, int64_t job_id, const struct json *fault,
	bool *was_there, struct error *err)
{
	struct stream_row *rows;
	struct span stream;
	uint64_t line;
	size_t count;

	*was_there = false;
	if (!by_hand_read_place(json_key_of(fault), &stream, &line))
		return OK;
	TRY(store_read_streams(store_tx_reader(tx), arena, job_id, stream, &rows, &count, err));
	return count ? store_clear_node_fault(
			       tx, job_id, rows[0].stream_id, line, json_string_of(fault), was_there, err)
		     : OK;
}

enum status faults_by_hand_write(struct store_tx *tx, struct arena *arena, const struct job_row *job,
	const struct json *changes, struct error *err)
{
	AUTO(json) document = NULL;
	const struct json *asked = json_get(changes, "faults");
	bool was_there;

	TRY(json_parse(&document, job->document.len ? job->document : SPAN("{}"), err));
	const struct json *faults = json_get_path(document, "by_hand.faults");
	if (!faults && !asked && changes && json_kind(changes) != JSON_NULL)
		return OK; /* a change of something else */
	TRY(store_count_node_faults(tx, job->job_id, err));
	for (const struct json *at = faults ? json_first(faults) : NULL; at; at = json_next(at)) {
		TRY(clear_one(tx, arena, job->job_id, at, &was_there, err));
		if (!was_there && by_hand_has_key(asked, json_key_of(at)))
			return refuse(json_key_of(at), err);
	}
	return OK;
}
