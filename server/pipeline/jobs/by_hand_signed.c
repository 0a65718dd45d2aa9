#include "pipeline/jobs/by_hand_signed.h"

#include "base/clock.h"
#include "base/json/json_read.h"
#include "model/jobs/by_hand_place.h"
#include "state/audit.h"

enum status by_hand_take_signed(const struct pipeline *pipeline, struct json *document, struct error *err)
{
	const struct actor *actor = audit_actor(pipeline);
	const struct json *by_hand = json_get(document, "by_hand");
	AUTO(json) by = NULL;

	if (!json_get(by_hand, "restarts") && !json_get(by_hand, "checkpoints"))
		return OK;
	TRY(by_hand_sign(by_hand, actor ? actor->token : SPAN(""), clock_wall_ms(), &by, err));
	return json_set_copy(document, "by_hand", by) ? OK : error_no_memory(err);
}
