/* Faults that another job's log told of, against each fault held against each stay of each machine. */
#include "harness.h"
#include "store/faults.h"
#include "store/goodput.h"
#include "store/sessions.h"
#include "store/stream_hosts.h"

enum {
	STREAMS = 40,
	HOSTS = 5,
	FAULTS = 300,
	BREAKS = 4,
	NEAR_MS = 25,
	SILENT_MS = 60,
	END_MS = 2000,
	OPENS_MS = 60000,
	LIMIT = 50
};

struct sent { /* a stream; [0]: of this job, [1]: of another one */
	int64_t first_ms, last_ms; /* what the store knows */
	int64_t first_memory_ms, last_memory_ms;
};

struct held { /* by a session of the machine that sends it now */
	int64_t opened_ms; /* 0: by none */
	int64_t exit_ms; /* when its process ended; 0: nobody said */
};

struct fleet {
	struct harness h;
	int64_t jobs[2], teller;
	struct stream_host_row stays[2][2 * STREAMS];
	struct sent sent[2][STREAMS + 1];
	struct held held[2][STREAMS + 1];
	struct node_fault_row faults[FAULTS];
	struct goodput_incident breaks[2][BREAKS];
	int64_t ended_ms[2]; /* 0: it goes on */
	uint32_t random;
};

static int64_t next_random(struct fleet *f, int64_t below)
{
	f->random = f->random * 1664525 + 1013904223;
	return (int64_t)(f->random >> 8) % below;
}

static void read_memory(void *context, int64_t job_id, uint32_t stream_id, int64_t *first_ms, int64_t *last_ms)
{
	const struct fleet *f = context;

	*first_ms = *last_ms = 0;
	for (int n = 0; n < 2; n++)
		if (job_id == f->jobs[n]) {
			*first_ms = f->sent[n][stream_id].first_memory_ms;
			*last_ms = f->sent[n][stream_id].last_memory_ms;
		}
}

static struct span host_of(int64_t n)
{
	static const char *const names[HOSTS] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"};

	return span_from(names[n]);
}

/* Some of its lines are sealed, some are in memory, or there are none. */
static struct sent some_lines(struct fleet *f, int64_t first_ms)
{
	int64_t last_ms = first_ms + next_random(f, END_MS / 2);

	switch (next_random(f, 4)) {
	case 0:
		return (struct sent){0};
	case 1:
		return (struct sent){0, 0, first_ms, last_ms};
	case 2:
		return (struct sent){first_ms, last_ms, first_ms, last_ms + next_random(f, 100)};
	default:
		return (struct sent){first_ms, last_ms, 0, 0};
	}
}

/* One in four has one that lasts, one in four one whose process ended. */
static void put_session(struct fleet *f, int64_t job_id, uint32_t stream_id, struct held *held)
{
	int64_t kind = next_random(f, 4);

	held->opened_ms = kind < 2 ? 1 + next_random(f, 2) * OPENS_MS + next_random(f, 2 * END_MS) : 0;
	held->exit_ms = kind == 1 ? 1 + next_random(f, 2 * END_MS) : 0;
	if (held->opened_ms)
		CHECK_OK(store_put_session(f->h.tx, job_id, stream_id, held->opened_ms, &err));
	struct exit_row row = {.job_id = job_id, .stream_id = stream_id, .reason = SPAN(""), .at_ms = held->exit_ms};
	if (held->exit_ms)
		CHECK_OK(store_put_exit(f->h.tx, &row, &err));
}

/* Each stream moves to another machine once. */
static void put_stays(struct fleet *f, int n)
{
	for (uint32_t i = 0; i < STREAMS; i++) {
		char name[16];
		snprintf(name, sizeof name, "algo-%u", i);
		uint32_t id = i + 1;
		int64_t since_ms = 1 + next_random(f, END_MS), moved_ms = since_ms + next_random(f, END_MS / 2);
		f->sent[n][id] = some_lines(f, 1 + since_ms / (1 + next_random(f, 2)));
		struct stream_row row = {.job_id = f->jobs[n],
			.name = span_from(name),
			.host = SPAN(""),
			.first_ms = f->sent[n][id].first_ms,
			.last_ms = f->sent[n][id].last_ms,
			.state = SPAN("")};
		CHECK_OK(store_put_stream(f->h.tx, &row, &err));
		CHECK_INT(row.stream_id, id);
		put_session(f, f->jobs[n], id, &f->held[n][id]);
		struct stream_host_row *stay = &f->stays[n][2 * i];
		stay[0] = (struct stream_host_row){.job_id = f->jobs[n],
			.stream_id = id,
			.since_ms = since_ms,
			.until_ms = next_random(f, 2) ? moved_ms - next_random(f, 50) : 0,
			.host = host_of(next_random(f, HOSTS))};
		stay[1] = (struct stream_host_row){.job_id = f->jobs[n],
			.stream_id = id,
			.number = 1,
			.from_ms = moved_ms,
			.since_ms = moved_ms + next_random(f, 20),
			.host = host_of(next_random(f, HOSTS))};
		for (int k = 0; k < 2; k++)
			CHECK_OK(store_put_stream_host(f->h.tx, &stay[k], &err));
	}
}

static void put_faults(struct fleet *f)
{
	for (uint64_t i = 0; i < FAULTS; i++) {
		struct node_fault_row *fault = &f->faults[i];
		*fault = (struct node_fault_row){.host = host_of(next_random(f, HOSTS)),
			.ts_ms = next_random(f, 2 * END_MS),
			.job_id = next_random(f, 20) ? f->teller : f->jobs[0],
			.stream_id = 1,
			.line = i,
			.signature = SPAN("xid_79"),
			.count = 1,
			.text = SPAN("fell off")};
		fault->last_ms = fault->ts_ms + next_random(f, 30);
		CHECK_OK(store_put_node_fault(f->h.tx, fault, &err));
	}
}

static int64_t begin_ms(const struct fleet *f, int n, const struct stream_host_row *stay)
{
	const struct sent *sent = &f->sent[n][stay->stream_id];
	int64_t first_ms = sent->first_ms ? sent->first_ms : sent->first_memory_ms;

	if (stay->from_ms)
		return stay->from_ms;
	return first_ms && first_ms < stay->since_ms ? first_ms : stay->since_ms;
}

/* Behind its last line here, by then. n: of the other job */
static bool has_left(const struct fleet *f, int n, struct span host, int64_t last_ms, int64_t at_ms)
{
	for (size_t i = 0; i < 2 * STREAMS; i++) {
		int64_t ms = begin_ms(f, n, &f->stays[n][i]);
		if (span_equal(f->stays[n][i].host, host) && ms > last_ms && ms <= at_ms)
			return true;
	}
	return false;
}

static bool was_there(
	const struct fleet *f, int n, const struct stream_host_row *stay, const struct node_fault_row *fault)
{
	const struct sent *sent = &f->sent[n][stay->stream_id];
	int64_t last_ms = sent->last_memory_ms > sent->last_ms ? sent->last_memory_ms : sent->last_ms;
	const struct held *held = &f->held[n][stay->stream_id];
	bool has_session = stay->number == 1 && held->opened_ms && last_ms && held->opened_ms <= last_ms + OPENS_MS;

	if (has_session && held->exit_ms > last_ms)
		last_ms = held->exit_ms;
	if (!span_equal(stay->host, fault->host) || fault->last_ms < begin_ms(f, n, stay) ||
		(stay->number == 0 && stay[1].from_ms <= fault->ts_ms) ||
		(stay->until_ms && fault->ts_ms > stay->until_ms + SILENT_MS))
		return false;
	if (!last_ms)
		return true;
	return (fault->ts_ms <= last_ms + SILENT_MS || (has_session && !held->exit_ms)) &&
	       !has_left(f, !n, stay->host, last_ms, fault->ts_ms);
}

static bool was_any_there(const struct fleet *f, int n, const struct node_fault_row *fault)
{
	bool was_any = false;

	for (size_t i = 0; i < 2 * STREAMS; i++)
		was_any |= was_there(f, n, &f->stays[n][i], fault);
	return was_any;
}

/* These are times of the fault, and behind the latter the machine was not there any more. */
static bool is_while_there(
	const struct fleet *f, int n, const struct node_fault_row *fault, int64_t first_ms, int64_t last_ms)
{
	struct node_fault_row rest = *fault;

	rest.ts_ms = last_ms + 1;
	return first_ms >= fault->ts_ms && first_ms <= last_ms && last_ms <= fault->last_ms &&
	       (last_ms == fault->last_ms || !was_any_there(f, n, &rest));
}

static bool is_expected(const struct fleet *f, const struct node_fault_row *fault, int64_t from_ms, int64_t to_ms)
{
	return was_any_there(f, 0, fault) && fault->job_id == f->teller && fault->ts_ms <= to_ms &&
	       fault->last_ms >= from_ms;
}

/* Those that are told must be expected, in their order, and the first of them. */
static void check_told(struct fleet *f, int64_t from_ms, int64_t to_ms, size_t limit)
{
	const struct stream_ends ends = {read_memory, f, SILENT_MS};
	struct said_hit *hits;
	size_t count, expected = 0;

	CHECK_OK(store_read_told_elsewhere(
		f->h.reader, f->h.arena, &ends, f->jobs[0], SPAN(""), from_ms, to_ms, limit, &hits, &count, &err));
	for (size_t i = 0; i < count; i++) {
		const struct node_fault_row *fault = &f->faults[hits[i].row.first_line];
		CHECK(is_expected(f, fault, from_ms, to_ms));
		CHECK(!i || hits[i - 1].row.first_ms <= hits[i].row.first_ms);
		CHECK(is_while_there(f, 0, fault, hits[i].row.first_ms, hits[i].row.last_ms));
		CHECK_INT(hits[i].row.text.len > 0, hits[i].row.first_ms == fault->ts_ms);
		CHECK(span_equal(hits[i].row.host, fault->host) && span_equal(hits[i].told_by, SPAN("kern")));
	}
	for (size_t i = 0; i < FAULTS; i++)
		expected += is_expected(f, &f->faults[i], from_ms, to_ms) &&
			    (count < limit || f->faults[i].ts_ms < hits[count - 1].row.first_ms);
	CHECK(count == limit ? expected < limit : count == expected);
}

/* Two jobs, their machines over time, and a log that tells of faults. */
static void put_fleet(struct fleet *f)
{
	f->h = harness_new();
	harness_begin(&f->h);
	f->jobs[0] = harness_job(&f->h, "train");
	f->jobs[1] = harness_job(&f->h, "next");
	f->teller = harness_job(&f->h, "kern");
	put_stays(f, 0);
	put_stays(f, 1);
	put_faults(f);
}

TEST(faults_are_told_of_machines_while_they_sent_a_stream)
{
	struct fleet f = {.random = 7};

	put_fleet(&f);
	harness_commit(&f.h);
	check_told(&f, INT64_MIN, INT64_MAX, FAULTS);
	check_told(&f, 500, 900, FAULTS);
	check_told(&f, INT64_MIN, INT64_MAX, LIMIT);
	check_told(&f, 100, END_MS, 3);
	harness_done(&f.h);
}

/* ---- near breaks ---- */

static void put_breaks(struct fleet *f)
{
	for (int n = 0; n < 2; n++) {
		const struct goodput_row row = {.job_id = f->jobs[n], .unpriced = SPAN("")};
		for (int i = 0; i < BREAKS; i++) {
			struct goodput_incident *broken = &f->breaks[n][i];
			*broken = (struct goodput_incident){
				.from_ms = 1 + i * END_MS / 3 + next_random(f, END_MS / 4), .cause = SPAN("")};
			broken->to_ms = i + 1 < BREAKS ? broken->from_ms + next_random(f, END_MS / 4) : 0;
		}
		CHECK_OK(store_touch_goodput(f->h.tx, row.job_id, 0, &err));
		CHECK_OK(store_put_goodput(f->h.tx, &row, NULL, 0, f->breaks[n], BREAKS, &err));
	}
}

static bool is_near(const struct fleet *f, int n, const struct node_fault_row *fault)
{
	bool is_before_end = !f->ended_ms[n] || fault->ts_ms <= f->ended_ms[n] + NEAR_MS / 2;

	for (int i = 0; i < BREAKS; i++) {
		const struct goodput_incident *broken = &f->breaks[n][i];
		if (fault->last_ms >= broken->from_ms - NEAR_MS && (!broken->to_ms || fault->ts_ms <= broken->to_ms))
			return is_before_end;
	}
	return false;
}

static bool is_break_fault(
	const struct fleet *f, int n, const struct node_fault_row *fault, const struct break_fault_wish *wish)
{
	return fault->job_id != f->jobs[n] && fault->ts_ms >= wish->from_ms && was_any_there(f, n, fault) &&
	       is_near(f, n, fault) && (!wish->host.len || span_equal(wish->host, fault->host));
}

static bool is_of(const struct fleet *f, int n, const struct break_fault *found, const struct node_fault_row *fault)
{
	int64_t job_id = f->jobs[n];

	return found->job_id == job_id && found->ts_ms == fault->ts_ms && span_equal(found->host, fault->host) &&
	       is_while_there(f, n, fault, found->ts_ms, found->last_ms);
}

/* Of faults that are alike in all that is said of them there may be several. */
static size_t count_found(
	const struct fleet *f, int n, const struct break_fault *found, size_t count, const struct node_fault_row *fault)
{
	size_t times = 0;

	for (size_t i = 0; i < count; i++)
		times += is_of(f, n, &found[i], fault);
	return times;
}

static void check_breaks(struct fleet *f, struct span host, int64_t from_ms, size_t limit)
{
	const struct break_fault_wish wish = {host, from_ms, NEAR_MS, NEAR_MS / 2, limit};
	const struct stream_ends ends = {read_memory, f, SILENT_MS};
	struct break_fault *found;
	int64_t oldest_ms = INT64_MAX;
	size_t count, expected = 0;

	CHECK_OK(store_read_break_faults(f->h.reader, f->h.arena, &ends, &wish, &found, &count, &err));
	for (size_t i = 0; i < count; i++)
		oldest_ms = found[i].ts_ms < oldest_ms ? found[i].ts_ms : oldest_ms;
	for (size_t i = 0; i < FAULTS; i++)
		for (int n = 0; n < 2; n++) {
			bool is_one = is_break_fault(f, n, &f->faults[i], &wish);
			size_t times = count_found(f, n, found, count, &f->faults[i]);
			expected += is_one;
			CHECK(is_one ? times || f->faults[i].ts_ms <= oldest_ms : !times);
		}
	CHECK_INT(count, expected < limit ? expected : limit);
	CHECK(expected > 10);
}

static void end_job(struct fleet *f, int n, const char *name, int64_t ended_ms)
{
	struct job_row row = {
		.job_id = f->jobs[n], .name = span_from(name), .document = SPAN("{}"), .ended_ms = ended_ms};

	f->ended_ms[n] = ended_ms;
	harness_begin(&f->h);
	CHECK_OK(store_put_job(f->h.tx, &row, &err));
	harness_commit(&f->h);
}

TEST(faults_near_breaks_are_those_of_machines_while_they_sent_a_stream)
{
	struct fleet f = {.random = 3};

	put_fleet(&f);
	put_breaks(&f);
	harness_commit(&f.h);
	check_breaks(&f, SPAN(""), 0, 2 * FAULTS);
	check_breaks(&f, SPAN(""), END_MS / 2, 2 * FAULTS);
	check_breaks(&f, SPAN("gpu2"), 0, 2 * FAULTS);
	check_breaks(&f, SPAN(""), 0, 7);
	check_breaks(&f, SPAN(""), 0, LIMIT);
	end_job(&f, 0, "train", END_MS / 2);
	check_breaks(&f, SPAN(""), 0, 2 * FAULTS);
	check_breaks(&f, SPAN(""), END_MS / 2 + NEAR_MS, 2 * FAULTS);
	harness_done(&f.h);
}
