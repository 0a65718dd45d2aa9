#include "state/watchers/straggler_state.h"

void stragglers_free(struct stragglers *stragglers)
{
	if (!stragglers)
		return;
	for (size_t i = 0; i < stragglers->count; i++) {
		pace_watch_free(stragglers->metrics[i].watch);
		mem_free(stragglers->metrics[i].slow);
		mem_free(stragglers->metrics[i].name);
	}
	mem_free(stragglers->metrics);
	mem_free(stragglers);
}
