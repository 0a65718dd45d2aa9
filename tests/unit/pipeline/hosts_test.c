/* What it costs that a stream's lines name many machines. store_read_stream_hosts is linked through us. */
#include "pipeline/rig.h"
#include "store/stream_hosts.h"

#include <stdatomic.h>

enum status __real_store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err);
enum status __wrap_store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err);

static atomic_size_t reads;

enum status __wrap_store_read_stream_hosts(struct store_reader *reader, struct arena *arena, int64_t job_id,
	uint32_t stream_id, struct stream_host_row **out, size_t *count, struct error *err)
{
	atomic_fetch_add(&reads, stream_id != 0);
	return __real_store_read_stream_hosts(reader, arena, job_id, stream_id, out, count, err);
}

/* A line of each machine from `first` on. */
static void send_of_hosts(struct rig *rig, int first, int count)
{
	struct batch *batch = one_line("run", "a", "step 1 loss 1", NO_TIME);

	for (int i = 0; i < count; i++) {
		char host[16];
		snprintf(host, sizeof host, "n%d", first + i);
		CHECK(batch_part_note_host(batch, &batch->parts[0], span_from(host)));
	}
	CHECK_INT(send_batch(rig, batch).status, OK);
}

static size_t count_hosts(struct rig *rig, size_t *shared)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct stream_host_row *rows;
	size_t count;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(__real_store_read_stream_hosts(reader, arena, 1, 1, &rows, &count, &err));
	*shared = 0;
	for (size_t i = 0; i < count; i++)
		*shared += rows[i].is_shared;
	return count;
}

TEST(hosts_that_share_a_stream_are_looked_for_once_a_body)
{
	struct rig rig;
	size_t shared;

	rig_make(&rig, false);
	send_of_hosts(&rig, 0, 20);
	CHECK_INT(count_hosts(&rig, &shared), 21);
	CHECK_INT(shared, 20); /* all since the first one came back */
	atomic_store(&reads, 0);
	send_of_hosts(&rig, 0, 20);
	CHECK_INT(atomic_load(&reads), 1);
	CHECK_INT(count_hosts(&rig, &shared), 21);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(new_hosts_are_noted_without_reading_those_before_each_time)
{
	struct rig rig;
	size_t shared;

	rig_make(&rig, false);
	send_of_hosts(&rig, 0, 20);
	send_of_hosts(&rig, 100, 20);
	atomic_store(&reads, 0);
	send_of_hosts(&rig, 200, 20);
	CHECK_INT(atomic_load(&reads), 1);
	CHECK_INT(count_hosts(&rig, &shared), 63); /* the first of each body came back */
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(hosts_beyond_the_most_change_nothing)
{
	struct rig rig;
	size_t shared, most;

	rig_make(&rig, false);
	for (int first = 0; first < 1100; first += 50)
		send_of_hosts(&rig, first, 50);
	most = count_hosts(&rig, &shared);
	CHECK_INT(most, 1000);
	atomic_store(&reads, 0);
	send_of_hosts(&rig, 5000, 60);
	CHECK_INT(atomic_load(&reads), 1);
	CHECK_INT(count_hosts(&rig, &shared), most);
	rig_close(&rig, true);
	rig_remove(&rig);
}
