/* Faults that another job's log told of, against each fault held against each stay of each machine. */
#include "harness.h"
#include "store/faults.h"
#include "store/stream_hosts.h"

enum { STREAMS = 40, HOSTS = 5, FAULTS = 300, SILENT_MS = 10, END_MS = 2000, LIMIT = 50 };

struct fleet {
	struct harness h;
	int64_t job, teller;
	struct stream_host_row stays[2 * STREAMS];
	int64_t last_ms[STREAMS + 1]; /* what the store knows */
	int64_t newer_ms[STREAMS + 1]; /* what is in memory */
	struct node_fault_row faults[FAULTS];
	uint32_t random;
};

static int64_t next_random(struct fleet *f, int64_t below)
{
	f->random = f->random * 1664525 + 1013904223;
	return (int64_t)(f->random >> 8) % below;
}

static int64_t last_in_memory(void *context, int64_t job_id, uint32_t stream_id)
{
	const struct fleet *f = context;

	return job_id == f->job && stream_id <= STREAMS ? f->newer_ms[stream_id] : 0;
}

static struct span host_of(int64_t n)
{
	static const char *const names[HOSTS] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4"};

	return span_from(names[n]);
}

/* Each stream moves to another machine once. */
static void put_stays(struct fleet *f)
{
	for (uint32_t i = 0; i < STREAMS; i++) {
		char name[16];
		snprintf(name, sizeof name, "algo-%u", i);
		uint32_t id = i + 1;
		f->last_ms[id] = next_random(f, 3) ? next_random(f, END_MS) : 0;
		f->newer_ms[id] = next_random(f, 3) ? 0 : f->last_ms[id] + next_random(f, 100);
		struct stream_row row = {.job_id = f->job,
			.name = span_from(name),
			.host = SPAN(""),
			.last_ms = f->last_ms[id],
			.state = SPAN("")};
		CHECK_OK(store_put_stream(f->h.tx, &row, &err));
		CHECK_INT(row.stream_id, id);
		int64_t moved_ms = next_random(f, END_MS);
		struct stream_host_row *stay = &f->stays[2 * i];
		stay[0] = (struct stream_host_row){.job_id = f->job,
			.stream_id = id,
			.until_ms = next_random(f, 2) ? moved_ms - next_random(f, 50) : 0,
			.host = host_of(next_random(f, HOSTS))};
		stay[1] = (struct stream_host_row){.job_id = f->job,
			.stream_id = id,
			.number = 1,
			.from_ms = moved_ms,
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
			.ts_ms = next_random(f, END_MS + 100),
			.job_id = next_random(f, 20) ? f->teller : f->job,
			.stream_id = 1,
			.line = i,
			.signature = SPAN("xid_79"),
			.count = 1,
			.text = SPAN("fell off")};
		fault->last_ms = fault->ts_ms + next_random(f, 30);
		CHECK_OK(store_put_node_fault(f->h.tx, fault, &err));
	}
}

static bool was_there(const struct fleet *f, const struct stream_host_row *stay, const struct node_fault_row *fault)
{
	int64_t known_ms = f->last_ms[stay->stream_id], newer_ms = f->newer_ms[stay->stream_id];
	bool is_sent = (!known_ms && !newer_ms) || fault->ts_ms <= known_ms + SILENT_MS ||
		       fault->ts_ms <= newer_ms + SILENT_MS;
	bool has_moved = stay->number == 0 && stay[1].from_ms > 0 && stay[1].from_ms <= fault->ts_ms;

	return span_equal(stay->host, fault->host) && fault->last_ms >= stay->from_ms && is_sent && !has_moved &&
	       (!stay->until_ms || fault->ts_ms <= stay->until_ms + SILENT_MS);
}

static bool is_expected(const struct fleet *f, const struct node_fault_row *fault, int64_t from_ms, int64_t to_ms)
{
	bool was_any = false;

	for (size_t i = 0; i < 2 * STREAMS; i++)
		was_any |= was_there(f, &f->stays[i], fault);
	return was_any && fault->job_id == f->teller && fault->ts_ms <= to_ms && fault->last_ms >= from_ms;
}

/* Those that are told must be expected, in their order, and the first of them. */
static void check_told(struct fleet *f, int64_t from_ms, int64_t to_ms, size_t limit)
{
	const struct stream_ends ends = {last_in_memory, f, SILENT_MS};
	struct said_hit *hits;
	size_t count, expected = 0;

	CHECK_OK(store_read_told_elsewhere(
		f->h.reader, f->h.arena, &ends, f->job, from_ms, to_ms, limit, &hits, &count, &err));
	for (size_t i = 0; i < count; i++) {
		const struct node_fault_row *fault = &f->faults[hits[i].row.first_line];
		CHECK(is_expected(f, fault, from_ms, to_ms));
		CHECK(!i || hits[i - 1].row.first_ms <= fault->ts_ms);
		CHECK(hits[i].row.first_ms == fault->ts_ms && hits[i].row.last_ms == fault->last_ms);
		CHECK(span_equal(hits[i].row.host, fault->host) && span_equal(hits[i].told_by, SPAN("kern")));
	}
	for (size_t i = 0; i < FAULTS; i++)
		expected += is_expected(f, &f->faults[i], from_ms, to_ms) &&
			    (count < limit || f->faults[i].ts_ms < hits[count - 1].row.first_ms);
	CHECK(count == limit ? expected < limit : count == expected);
}

TEST(faults_are_told_of_machines_while_they_sent_a_stream)
{
	struct fleet f = {.random = 7};

	f.h = harness_new();
	harness_begin(&f.h);
	f.job = harness_job(&f.h, "train");
	f.teller = harness_job(&f.h, "kern");
	put_stays(&f);
	put_faults(&f);
	harness_commit(&f.h);
	check_told(&f, INT64_MIN, INT64_MAX, FAULTS);
	check_told(&f, 500, 900, FAULTS);
	check_told(&f, INT64_MIN, INT64_MAX, LIMIT);
	check_told(&f, 100, END_MS, 3);
	harness_done(&f.h);
}
