#include "store/postgres/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char LIBRARY[] = "libpq.so.5"; /* of each PostgreSQL since 8.2 */

/* Loaded once a process, before its first use, and not changed after that. */
static struct {
	pthread_once_t once;
	struct libpq calls;
	bool is_there;
	char why[256];
} state = {.once = PTHREAD_ONCE_INIT};

static bool find(void *library, const char *name, void *to)
{
	void *address = dlsym(library, name);

	/* A pointer to a function has no other way out of dlsym. */
	memcpy(to, &address, sizeof address);
	if (!address)
		snprintf(state.why, sizeof state.why, "it has no %s", name);
	return address != NULL;
}

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const char *why = library ? NULL : dlerror();
	bool is_there = library != NULL;

	if (!library)
		snprintf(state.why, sizeof state.why, "%s", why ? why : "unknown cause");
#define LIBPQ_FIND(name) is_there = is_there && find(library, #name, &state.calls.name);
	LIBPQ_FUNCTIONS(LIBPQ_FIND)
#undef LIBPQ_FIND
	state.is_there = is_there;
}

enum status libpq_load(const struct libpq **out, struct error *err)
{
	pthread_once(&state.once, load);
	if (!state.is_there)
		return error_set(err, ERR_UNSUPPORTED,
			"a PostgreSQL database needs %s of PostgreSQL 14 or later (Debian: apt-get install libpq5): %s",
			LIBRARY, state.why);
	*out = &state.calls;
	return OK;
}
