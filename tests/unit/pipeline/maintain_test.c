/* What a server does that is asked for nothing. seal_run and stall_run, which each round of maintenance calls, are linked through us. */
#include "pipeline/life/stall.h"
#include "pipeline/rig.h"
#include "pipeline/seal/seal.h"

enum status __real_seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err);
enum status __wrap_seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err);
void __real_stall_run(struct pipeline *pipeline, struct store_reader *reader);
void __wrap_stall_run(struct pipeline *pipeline, struct store_reader *reader);

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	int looks, rounds;
} seen = {.mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};

enum status __wrap_seal_run(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd, uint64_t due_seq,
	bool *has_more, struct error *err)
{
	pthread_mutex_lock(&seen.mutex);
	seen.looks++;
	pthread_mutex_unlock(&seen.mutex);
	return __real_seal_run(pipeline, reader, zstd, due_seq, has_more, err);
}

void __wrap_stall_run(struct pipeline *pipeline, struct store_reader *reader)
{
	pthread_mutex_lock(&seen.mutex);
	seen.rounds++;
	pthread_cond_signal(&seen.turned);
	pthread_mutex_unlock(&seen.mutex);
	__real_stall_run(pipeline, reader);
}

/* How often all streams were looked at until then. */
static int wait_for_rounds(int count)
{
	pthread_mutex_lock(&seen.mutex);
	for (int end = seen.rounds + count; seen.rounds < end;)
		pthread_cond_wait(&seen.turned, &seen.mutex);
	int looks = seen.looks;
	pthread_mutex_unlock(&seen.mutex);
	return looks;
}

TEST(streams_of_a_server_that_gets_nothing_are_not_looked_at_in_each_tick)
{
	enum { ROUNDS = 2 };
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("run", "a", "step 1 loss 1", NO_TIME)).status, OK);
	int before = wait_for_rounds(2); /* what came is known */
	CHECK(wait_for_rounds(ROUNDS) - before <= ROUNDS + 1);
	rig_close(&rig, true);
	rig_remove(&rig);
}
