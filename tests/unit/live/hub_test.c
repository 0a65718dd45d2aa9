#include "live/hub.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define HELLO ": hello\nretry: 2000\n\n"
#define POINTS(seq, json) "id: " #seq "\nevent: points\ndata: " json "\n\n"
#define RESYNC(seq) "id: " #seq "\nevent: resync\ndata: {\"seq\":\"" #seq "\"}\n\n"

static void count_wake(void *context)
{
	atomic_fetch_add((atomic_int *)context, 1);
}

static struct subscriber *subscribe_to(
	struct hub *hub, const char *job, unsigned kinds, uint64_t after, atomic_int *wakes)
{
	struct subscriber *subscriber = NULL;
	struct span name = span_from(job ? job : "");
	struct hub_wish wish = {&name, job != NULL, kinds, after, NULL};

	CHECK_OK(hub_subscribe(hub, &subscriber, &wish, count_wake, wakes, &err));
	return subscriber;
}

static void publish(struct hub *hub, const char *job, uint64_t seq, const char *json)
{
	CHECK_OK(
		hub_publish(hub, (struct hub_topic){span_from(job), SPAN("")}, HUB_POINTS, seq, span_from(json), &err));
}

static void check_read(struct hub *hub, struct subscriber *subscriber, const char *want)
{
	static char out[1 << 16];
	size_t len = 0;
	ssize_t part;

	while ((part = hub_read(hub, subscriber, out + len, sizeof out - len)) > 0)
		len += (size_t)part;
	CHECK_SPAN(span_of(out, len), span_from(want));
}

TEST(events_come_after_the_flush)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	struct subscriber *subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);

	check_read(hub, subscriber, HELLO);
	publish(hub, "a", 5, "{\"x\":1}");
	check_read(hub, subscriber, "");
	CHECK_INT(wakes, 0);
	hub_flush(hub, 1000);
	CHECK_INT(wakes, 1);
	check_read(hub, subscriber, POINTS(5, "{\"x\":1}"));
	hub_unsubscribe(hub, subscriber);
}

TEST(wakes_are_coalesced_until_all_is_read)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	struct subscriber *subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);

	publish(hub, "a", 1, "1");
	hub_flush(hub, 1); /* it has not read since it was opened: it will */
	CHECK_INT(wakes, 0);
	check_read(hub, subscriber, HELLO POINTS(1, "1"));
	publish(hub, "a", 2, "2");
	publish(hub, "a", 3, "3");
	hub_flush(hub, 2);
	publish(hub, "a", 4, "4");
	hub_flush(hub, 3);
	CHECK_INT(wakes, 1);
	check_read(hub, subscriber, POINTS(2, "2") POINTS(3, "3") POINTS(4, "4"));
	hub_unsubscribe(hub, subscriber);
}

TEST(text_may_be_cut_anywhere)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	struct subscriber *subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);
	const char *want = HELLO POINTS(1, "{\"a\":1}") POINTS(2, "{\"b\":2}");

	publish(hub, "a", 1, "{\"a\":1}");
	publish(hub, "a", 2, "{\"b\":2}");
	hub_flush(hub, 1);
	for (size_t i = 0; want[i]; i++) {
		char byte;
		CHECK_INT(hub_read(hub, subscriber, &byte, 1), 1);
		CHECK_INT(byte, want[i]);
	}
	check_read(hub, subscriber, "");
	hub_unsubscribe(hub, subscriber);
}

TEST(filters_by_job_and_kind)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	struct subscriber *one = subscribe_to(hub, "a,b", HUB_POINTS | HUB_INCIDENT, UINT64_MAX, &wakes);

	check_read(hub, one, HELLO);
	publish(hub, "a", 1, "no");
	CHECK_OK(hub_publish(hub, (struct hub_topic){SPAN("a,b"), SPAN("")}, HUB_LINES, 1, SPAN("no"), &err));
	hub_flush(hub, 1);
	CHECK_INT(wakes, 0);
	CHECK_OK(hub_publish(hub, (struct hub_topic){SPAN("a,b"), SPAN("")}, HUB_INCIDENT, 2, SPAN("{}"), &err));
	hub_flush(hub, 1);
	CHECK_INT(wakes, 1);
	check_read(hub, one, "id: 2\nevent: incident\ndata: {}\n\n");
	hub_unsubscribe(hub, one);
}

TEST(replays_from_a_sequence)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;

	hub_set_seq(hub, 10);
	publish(hub, "a", 11, "11");
	publish(hub, "b", 12, "12");
	publish(hub, "a", 12, "12");
	publish(hub, "a", 13, "13");
	hub_flush(hub, 1);
	struct subscriber *subscriber = subscribe_to(hub, "a", HUB_ALL, 12, &wakes);
	check_read(hub, subscriber, HELLO POINTS(12, "12") POINTS(13, "13"));
	hub_unsubscribe(hub, subscriber);
	subscriber = subscribe_to(hub, "a", HUB_ALL, 10, &wakes); /* what a page knows from before the first event */
	check_read(hub, subscriber, HELLO POINTS(11, "11") POINTS(12, "12") POINTS(13, "13"));
	hub_unsubscribe(hub, subscriber);
}

TEST(gap_or_future_is_a_resync)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;

	hub_set_seq(hub, 10);
	publish(hub, "a", 11, "11");
	hub_flush(hub, 1);
	struct subscriber *behind = subscribe_to(hub, NULL, HUB_ALL, 9, &wakes);
	check_read(hub, behind, HELLO RESYNC(11));
	struct subscriber *ahead = subscribe_to(hub, NULL, HUB_ALL, 12, &wakes);
	check_read(hub, ahead, HELLO RESYNC(11));
	publish(hub, "a", 12, "12");
	hub_flush(hub, 2);
	check_read(hub, behind, POINTS(12, "12"));
	check_read(hub, ahead, POINTS(12, "12"));
	CHECK_INT(hub_counters(hub).resyncs, 2);
	hub_unsubscribe(hub, behind);
	hub_unsubscribe(hub, ahead);
}

TEST(what_was_skipped_is_a_resync_for_who_wants_it)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;

	hub_set_seq(hub, 5);
	hub_skip(hub, SPAN("a"), HUB_POINTS, 7);
	hub_set_seq(hub, 7);
	struct subscriber *before = subscribe_to(hub, "a", HUB_POINTS, 6, &wakes);
	struct subscriber *after = subscribe_to(hub, "a", HUB_POINTS, 7, &wakes);
	struct subscriber *other_job = subscribe_to(hub, "b", HUB_POINTS, 6, &wakes);
	struct subscriber *other_kind = subscribe_to(hub, "a", HUB_LINES, 6, &wakes);
	struct subscriber *all = subscribe_to(hub, NULL, HUB_POINTS, 6, &wakes);
	check_read(hub, before, HELLO RESYNC(7));
	check_read(hub, after, HELLO);
	check_read(hub, other_job, HELLO);
	check_read(hub, other_kind, HELLO);
	check_read(hub, all, HELLO RESYNC(7));
	/* it came between the producer's question and its skipping */
	hub_skip(hub, SPAN("a"), HUB_LINES, 8);
	hub_flush(hub, 1);
	check_read(hub, other_kind, RESYNC(7));
	check_read(hub, after, "");
	hub_unsubscribe(hub, before);
	hub_unsubscribe(hub, after);
	hub_unsubscribe(hub, other_job);
	hub_unsubscribe(hub, other_kind);
	hub_unsubscribe(hub, all);
}

TEST(skipping_many_names_falls_back_to_one_floor)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	char name[32];

	hub_set_seq(hub, 1);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "job-%d", i);
		hub_skip(hub, span_from(name), HUB_POINTS, 9);
	}
	hub_set_seq(hub, 9);
	struct subscriber *subscriber = subscribe_to(hub, "never-heard-of", HUB_POINTS, 8, &wakes);
	check_read(hub, subscriber, HELLO RESYNC(9));
	hub_unsubscribe(hub, subscriber);
}

/* Each job that came and went without a listener is one. */
TEST(what_was_skipped_is_remembered_as_long_as_frames_are)
{
	enum { RING_MS = 100 };
	AUTO(hub) hub = hub_new(&(struct hub_options){.ring_ms = RING_MS});
	atomic_int wakes = 0;
	char name[32];
	size_t most = 0;

	hub_set_seq(hub, 1);
	hub_flush(hub, 1000);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "job-%d", i);
		hub_skip(hub, span_from(name), HUB_POINTS, (uint64_t)i + 2);
		hub_flush(hub, 1000 + i);
		most = hub_counters(hub).skips > most ? hub_counters(hub).skips : most;
	}
	CHECK(most <= 2 * RING_MS + 2);
	hub_set_seq(hub, 1001);
	/* as many frames would be there: who reads on behind the last job's is told as ever, others go on */
	struct subscriber *late = subscribe_to(hub, "job-999", HUB_POINTS, 1000, &wakes);
	struct subscriber *other = subscribe_to(hub, "job-3", HUB_POINTS, 1000, &wakes);
	struct subscriber *away = subscribe_to(hub, "job-3", HUB_POINTS, 4, &wakes);
	struct subscriber *other_kind = subscribe_to(hub, "job-3", HUB_LINES, 4, &wakes);
	check_read(hub, late, HELLO RESYNC(1001));
	check_read(hub, other, HELLO);
	check_read(hub, away, HELLO RESYNC(1001));
	check_read(hub, other_kind, HELLO);
	hub_flush(hub, 3000);
	hub_flush(hub, 3000 + RING_MS);
	CHECK_INT(hub_counters(hub).skips, 0);
	struct subscriber *later = subscribe_to(hub, "job-999", HUB_POINTS, 1000, &wakes);
	struct subscriber *fresh = subscribe_to(hub, NULL, HUB_POINTS, 1001, &wakes);
	check_read(hub, later, HELLO RESYNC(1001));
	check_read(hub, fresh, HELLO);
	hub_unsubscribe(hub, late);
	hub_unsubscribe(hub, other);
	hub_unsubscribe(hub, away);
	hub_unsubscribe(hub, other_kind);
	hub_unsubscribe(hub, later);
	hub_unsubscribe(hub, fresh);
}

TEST(the_ring_forgets_by_bytes_and_by_age)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.ring_bytes = 1000, .ring_ms = 100});
	atomic_int wakes = 0;

	for (uint64_t seq = 1; seq <= 100; seq++)
		publish(hub, "a", seq, "{}");
	hub_flush(hub, 1000000);
	CHECK(hub_counters(hub).ring_bytes <= 1000);
	struct subscriber *subscriber = subscribe_to(hub, NULL, HUB_ALL, 50, &wakes);
	check_read(hub, subscriber, HELLO RESYNC(100));
	hub_unsubscribe(hub, subscriber);
	hub_flush(hub, 1000101);
	CHECK_INT(hub_counters(hub).ring_bytes, 0);
	subscriber = subscribe_to(hub, NULL, HUB_ALL, 100, &wakes);
	check_read(hub, subscriber, HELLO RESYNC(100));
	hub_unsubscribe(hub, subscriber);
}

TEST(who_lags_is_resynced_but_not_cut)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.max_lag_bytes = 200});
	atomic_int wakes = 0;
	struct subscriber *slow = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);
	struct subscriber *other = subscribe_to(hub, "b", HUB_ALL, UINT64_MAX, &wakes);
	char part[10];

	check_read(hub, slow, HELLO);
	check_read(hub, other, HELLO);
	publish(hub, "a", 1, "{\"first\":1}");
	hub_flush(hub, 1);
	CHECK_INT(hub_read(hub, slow, part, sizeof part), 10);
	for (uint64_t seq = 2; seq < 50; seq++)
		publish(hub, "a", seq, "{}");
	hub_flush(hub, 2);
	const char *first = POINTS(1, "{\"first\":1}");
	char want[200];
	snprintf(want, sizeof want, "%s%s", first + 10, RESYNC(49));
	check_read(hub, slow, want);
	publish(hub, "b", 50, "50");
	hub_flush(hub, 3);
	check_read(hub, slow, POINTS(50, "50"));
	check_read(hub, other, POINTS(50, "50")); /* what it does not want is no lag */
	hub_unsubscribe(hub, slow);
	hub_unsubscribe(hub, other);
}

TEST(silence_has_a_heartbeat)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.heartbeat_ms = 100});
	atomic_int wakes = 0;
	struct subscriber *subscriber;

	hub_flush(hub, 1000);
	subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);
	check_read(hub, subscriber, HELLO);
	hub_flush(hub, 1099);
	CHECK_INT(wakes, 0);
	hub_flush(hub, 1100);
	CHECK_INT(wakes, 1);
	check_read(hub, subscriber, ":\n\n");
	hub_flush(hub, 1199);
	CHECK_INT(wakes, 1);
	hub_unsubscribe(hub, subscriber);
}

TEST(interest_outlives_its_subscriber_by_a_minute)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;

	hub_flush(hub, 1000);
	CHECK(!hub_wants(hub, SPAN("a"), HUB_POINTS));
	struct subscriber *subscriber = subscribe_to(hub, "a", HUB_POINTS, UINT64_MAX, &wakes);
	CHECK(hub_wants(hub, SPAN("a"), HUB_POINTS));
	CHECK(!hub_wants(hub, SPAN("a"), HUB_LINES));
	CHECK(!hub_wants(hub, SPAN("b"), HUB_POINTS));
	hub_unsubscribe(hub, subscriber);
	hub_flush(hub, 60999);
	CHECK(hub_wants(hub, SPAN("a"), HUB_POINTS));
	hub_flush(hub, 61000);
	CHECK(!hub_wants(hub, SPAN("a"), HUB_POINTS));
	subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);
	CHECK(hub_wants(hub, SPAN("anything"), HUB_JOB));
	hub_unsubscribe(hub, subscriber);
}

TEST(a_reader_that_is_expected_counts_as_one_who_left)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;

	hub_flush(hub, 1000);
	hub_set_seq(hub, 7);
	hub_expect(hub, SPAN("a"), HUB_POINTS);
	CHECK(hub_wants(hub, SPAN("a"), HUB_POINTS));
	CHECK(!hub_wants(hub, SPAN("b"), HUB_POINTS));
	publish(hub, "a", 8, "8");
	hub_flush(hub, 1050);
	struct subscriber *subscriber = subscribe_to(hub, "a", HUB_POINTS, 7, &wakes);
	check_read(hub, subscriber, HELLO POINTS(8, "8"));
	hub_unsubscribe(hub, subscriber);
	hub_flush(hub, 62000);
	CHECK(!hub_wants(hub, SPAN("a"), HUB_POINTS));
}

TEST(close_ends_after_what_is_left)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	atomic_int wakes = 0;
	struct subscriber *subscriber = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes);
	char out[100];

	check_read(hub, subscriber, HELLO);
	publish(hub, "a", 1, "1");
	hub_close(hub);
	CHECK_INT(wakes, 1);
	CHECK(hub_read(hub, subscriber, out, sizeof out) > 0);
	CHECK_INT(hub_read(hub, subscriber, out, sizeof out), -1);
	struct subscriber *late;
	struct hub_wish all = {.kinds = HUB_ALL};
	CHECK_FAILS(hub_subscribe(hub, &late, &all, count_wake, &wakes, &err), ERR_UNAVAILABLE, "stopping");
	hub_unsubscribe(hub, subscriber);
}

TEST(a_team_hears_of_its_own_jobs_alone)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){0});
	struct hub_wish wish = {.kinds = HUB_ALL, .after = UINT64_MAX, .team = "a"};
	struct subscriber *subscriber = NULL;
	atomic_int wakes = 0;

	CHECK_OK(hub_subscribe(hub, &subscriber, &wish, count_wake, &wakes, &err));
	check_read(hub, subscriber, HELLO);
	CHECK_OK(hub_publish(hub, (struct hub_topic){SPAN("x"), SPAN("b")}, HUB_JOB, 1, SPAN("{}"), &err));
	CHECK_OK(hub_publish(hub, (struct hub_topic){SPAN("y"), SPAN("")}, HUB_JOB, 2, SPAN("{}"), &err));
	hub_flush(hub, 1);
	CHECK_INT(wakes, 0);
	check_read(hub, subscriber, "");
	CHECK_OK(hub_publish(hub, (struct hub_topic){SPAN("x"), SPAN("a")}, HUB_JOB, 3, SPAN("{}"), &err));
	hub_flush(hub, 2);
	CHECK_INT(wakes, 1);
	check_read(hub, subscriber, "id: 3\nevent: job\ndata: {}\n\n");
	hub_unsubscribe(hub, subscriber);
}

TEST(limits_are_stated)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.max_subscribers = 1});
	atomic_int wakes = 0;
	struct subscriber *one = subscribe_to(hub, NULL, HUB_ALL, UINT64_MAX, &wakes), *two;
	struct hub_wish all = {.kinds = HUB_ALL};

	CHECK_FAILS(hub_subscribe(hub, &two, &all, count_wake, &wakes, &err), ERR_BUSY, "--max-subscribers");
	CHECK_FAILS(hub_publish(hub, (struct hub_topic){SPAN("a"), SPAN("")}, HUB_JOB, 1, SPAN("{\n}"), &err),
		ERR_INVALID, "one line");
	hub_unsubscribe(hub, one);
}

enum { CROWD = 1000, ROUNDS = 20 };

TEST(a_thousand_subscribers)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.max_subscribers = CROWD});
	static struct subscriber *all[CROWD];
	atomic_int wakes = 0;
	char job[20];

	for (int i = 0; i < CROWD; i++) {
		snprintf(job, sizeof job, "job-%d", i % 10);
		all[i] = subscribe_to(hub, job, HUB_ALL, UINT64_MAX, &wakes);
		check_read(hub, all[i], HELLO);
	}
	for (int round = 0; round < ROUNDS; round++) {
		publish(hub, "job-3", (uint64_t)round + 1, "{}");
		hub_flush(hub, round);
		for (int i = 3; i < CROWD; i += 10) {
			char out[100];
			CHECK(hub_read(hub, all[i], out, sizeof out) > 0);
			CHECK_INT(hub_read(hub, all[i], out, sizeof out), 0);
		}
	}
	CHECK_INT(wakes, CROWD / 10 * ROUNDS);
	for (int i = 0; i < CROWD; i++)
		hub_unsubscribe(hub, all[i]);
}

/* Freed memory behind hub_unsubscribe must never be woken: the sanitizers watch. */
struct sleeper {
	pthread_mutex_t mutex;
	bool is_woken;
};

static void wake_sleeper(void *context)
{
	struct sleeper *sleeper = context;

	pthread_mutex_lock(&sleeper->mutex);
	sleeper->is_woken = true;
	pthread_mutex_unlock(&sleeper->mutex);
}

static void come_and_go(struct hub *hub)
{
	struct sleeper *sleeper = mem_zeroed(sizeof *sleeper);
	struct subscriber *subscriber;
	struct hub_wish new = {.kinds = HUB_ALL, .after = UINT64_MAX};
	char out[256];

	pthread_mutex_init(&sleeper->mutex, NULL);
	if (hub_subscribe(hub, &subscriber, &new, wake_sleeper, sleeper, NULL) == OK) {
		for (int i = 0; i < 5; i++)
			while (hub_read(hub, subscriber, out, sizeof out) > 0)
				;
		hub_unsubscribe(hub, subscriber);
	}
	pthread_mutex_destroy(&sleeper->mutex);
	mem_free(sleeper);
}

static void *come_and_go_often(void *hub)
{
	for (int i = 0; i < 500; i++)
		come_and_go(hub);
	return NULL;
}

TEST(unsubscribe_races_with_wakes)
{
	AUTO(hub) hub = hub_new(&(struct hub_options){.ring_bytes = 4096, .heartbeat_ms = 1});
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, come_and_go_often, hub) == 0);
	for (int i = 0; i < 2000; i++) {
		CHECK_OK(hub_publish(
			hub, (struct hub_topic){SPAN("a"), SPAN("")}, HUB_POINTS, (uint64_t)i, SPAN("{}"), &err));
		hub_flush(hub, i);
	}
	hub_close(hub);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(hub_counters(hub).subscribers, 0);
}
