#include "read/logs/search_effort.h"

#include "base/clock.h"

/* Between pieces of work a search ends by itself; this is for a piece that does not come to its end. */
enum { PIECE_MS = 1000, NS_A_MS = 1000000 };

void search_effort_init(struct search_effort *effort, const struct log_search *search)
{
	*effort = (struct search_effort){.search = search, .until_ms = clock_mono_ms() + search->time_ms + PIECE_MS};
}

bool search_effort_is_at_end(const struct search_effort *effort)
{
	return atomic_load(&effort->is_spent) || atomic_load(&effort->is_over);
}

static bool has_run_too_long(struct search_effort *effort, const struct search_hand *hand)
{
	int64_t spent_ns = atomic_load(&effort->spent_ns) + clock_thread_ns() - hand->began_ns;

	int64_t most_ms = effort->search->asker.cpu_ms;

	return most_ms && spent_ns / NS_A_MS >= most_ms;
}

/* At most once a millisecond more than a look at the clock. */
static bool must_stop(void *context)
{
	struct search_hand *hand = context;
	struct search_effort *effort = hand->effort;
	int64_t now_ms = clock_mono_ms();

	if (search_effort_is_at_end(effort))
		return true;
	if (now_ms == hand->asked_ms)
		return false;
	hand->asked_ms = now_ms;
	const struct log_asker *asker = &effort->search->asker;
	if (asker->is_over && asker->is_over(asker->who))
		atomic_store(&effort->is_over, true);
	if (now_ms > effort->until_ms || has_run_too_long(effort, hand))
		atomic_store(&effort->is_spent, true);
	return search_effort_is_at_end(effort);
}

void search_effort_begin(struct search_effort *effort, struct search_hand *hand)
{
	hand->effort = effort;
	hand->asked_ms = 0;
	hand->began_ns = clock_thread_ns();
	regex_scratch_watch(hand->scratch, (struct regex_watch){must_stop, hand});
	(void)must_stop(hand); /* pieces that no expression is slow on end, too */
}

void search_effort_end(struct search_effort *effort, struct search_hand *hand, bool is_helper)
{
	int64_t spent_ns = clock_thread_ns() - hand->began_ns;

	regex_scratch_watch(hand->scratch, (struct regex_watch){0});
	atomic_fetch_add(&effort->spent_ns, spent_ns);
	if (is_helper)
		atomic_fetch_add(&effort->helpers_ns, spent_ns);
}
