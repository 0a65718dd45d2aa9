#include "state/watchers/watcher_state.h"

void watcher_done(struct watcher *watcher)
{
	watch_free(watcher->watch);
	mem_free(watcher->packed);
	*watcher = (struct watcher){0};
}

void watchers_free(struct watcher *watchers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		watcher_done(&watchers[i]);
	mem_free(watchers);
}
