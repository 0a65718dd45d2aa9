/* The stream of a run: its history, events, console, summary and end, as they come. */
#include "cli/relay/relay_wandb.h"

enum { PART_MAX_BYTES = 1024 };

/* "/files/ENTITY/PROJECT/ID/…"; parts are percent-encoded. */
static bool read_path(struct span path, struct buf *project, struct buf *id)
{
	struct span rest = path, part[5];

	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (!span_next(&rest, '/', &part[i]))
			return false;
	return relay_request_decode(part[3], project) && relay_request_decode(part[4], id);
}

enum status relay_wandb_stream(struct relay_wandb_call *call, struct error *err)
{
	AUTO_DONE(buf) project = BUF_INIT(PART_MAX_BYTES);
	AUTO_DONE(buf) id = BUF_INIT(PART_MAX_BYTES);
	struct relay_core *core = call->core;

	if (!read_path(call->path, &project, &id))
		return error_set(err, ERR_INVALID, "the address names no run");
	relay_wandb_put(call, call->path, call->request->body);
	pthread_mutex_lock(&core->mutex);
	struct wandb_known_run *run = wandb_known_add(core->known[RELAY_WANDB], buf_span(&project), buf_span(&id));
	if (run)
		wandb_known_take(run, call->body);
	pthread_mutex_unlock(&core->mutex);
	json_key(&call->w, "exitcode");
	json_null(&call->w);
	json_key(&call->w, "limits");
	json_object(&call->w);
	json_object_end(&call->w);
	return OK;
}
