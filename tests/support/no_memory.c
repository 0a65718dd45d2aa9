/* Memory that runs out, for tests: of the allocations that requests make, one fails. Which one stands in a small shared file (SM_NO_MEMORY names it,
 * tests/support/faults.py writes it). The linker puts what base/alloc.c calls through here (--wrap), and nothing of other libraries. Threads that work behind requests are
 * left out: when they do so hangs on the clock. */
#include "control.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct control { /* as in faults.py */
	_Atomic int64_t fail_at; /* from 1; 0: none */
	_Atomic int64_t seen;
	_Atomic int64_t failed;
	_Atomic int64_t lasts; /* all that its thread asks for behind it fails, too */
};

static struct {
	pthread_once_t once;
	struct control *control;
} state = {.once = PTHREAD_ONCE_INIT};

static void set_up(void)
{
	state.control = control_map("SM_NO_MEMORY", sizeof *state.control);
}

static bool is_of_requests(void)
{
	static const char *const others[] = {"extract", "publisher", "maintenance", "uploads", "peers", "backfill",
		"webhook", "live-filter", "stop-watch"};
	static _Thread_local signed char known;
	char name[16] = "";

	if (known)
		return known > 0;
	known = 1;
	pthread_getname_np(pthread_self(), name, sizeof name);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i]) == 0)
			known = -1;
	return known > 0;
}

static bool must_fail(void)
{
	pthread_once(&state.once, set_up);
	static _Thread_local int64_t out_at; /* which one of this thread's failed last */
	struct control *control = state.control;

	if (!control || !control->fail_at || !is_of_requests())
		return false;
	bool is_out = control->lasts && control->failed && out_at == control->fail_at;
	if (!is_out && ++control->seen != control->fail_at)
		return false;
	out_at = control->fail_at;
	control->failed++;
	return true;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	return must_fail() ? NULL : __real_malloc(bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
	return must_fail() ? NULL : __real_calloc(count, bytes);
}

void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_realloc(void *old, size_t bytes)
{
	return must_fail() ? NULL : __real_realloc(old, bytes);
}
