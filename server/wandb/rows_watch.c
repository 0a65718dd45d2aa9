#include "wandb/rows_watch.h"

#include "base/clock.h"

enum { LOOK_POINTS = 65536 };

struct rows_watch rows_watch_begin(const struct wandb_call *call)
{
	return (struct rows_watch){call->request, clock_mono_ms() + ROWS_READ_MAX_MS, 0};
}

enum status rows_watch_point(struct rows_watch *watch, struct error *err)
{
	if (++watch->seen % LOOK_POINTS)
		return OK;
	if (http_request_is_over(watch->request))
		return error_set(err, ERR_UNAVAILABLE, "nobody waits for the answer any more");
	return clock_mono_ms() <= watch->until_ms
		       ? OK
		       : error_set(err, ERR_SEMANTIC,
				 "the history takes more than %d s to read: ask for a range of steps, or for some keys",
				 ROWS_READ_MAX_MS / 1000);
}
