/* Job: who changes what: noted around each handler that writes. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"

void audit_enter(void *api, void *worker, const struct http_request *request, const struct http_route *route);
void audit_leave(void *api);
/* The same within a handler: "resume" of "jobs", NAME. */
struct audit_deed {
	const char *verb, *kind;
	struct span id;
	const struct principal *who; /* NULL: whose request it is */
	const char *body; /* told of what leaves no trace in the thing itself: a JSON object; NULL: nothing */
};
void audit_enter_deed(
	struct api *api, struct api_worker *worker, const struct http_request *request, const struct audit_deed *deed);
