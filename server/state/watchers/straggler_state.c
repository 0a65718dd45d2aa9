#include "state/watchers/straggler_state.h"

void stragglers_free(struct stragglers *stragglers)
{
	if (!stragglers)
		return;
	pace_watch_free(stragglers->watch);
	mem_free(stragglers->metric);
	mem_free(stragglers);
}
