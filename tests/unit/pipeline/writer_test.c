/* For whom the writer waits before it commits. queue_gather is linked through us. */
#include "base/queue.h"
#include "pipeline/rig.h"

#include <stdatomic.h>

size_t __real_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns);
size_t __wrap_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns);

static atomic_size_t gathered;
static atomic_int_fast64_t shortest_ns;

size_t __wrap_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns)
{
	atomic_fetch_add(&gathered, 1);
	if (timeout_ns < atomic_load(&shortest_ns))
		atomic_store(&shortest_ns, timeout_ns);
	return __real_queue_gather(queue, items, timeout_ns);
}

/* Sends again as soon as it is answered. */
struct sender {
	struct rig *rig;
	int left;
	struct receipt receipt;
};

static void send_next(struct sender *sender);

static void go_on(void *context, const struct ingest_result *result)
{
	struct sender *sender = context;

	CHECK_INT(result->status, OK);
	if (sender->left)
		send_next(sender);
	else
		take_receipt(&sender->receipt, result);
}

static void send_next(struct sender *sender)
{
	sender->left--;
	CHECK_OK(pipeline_submit(
		sender->rig->pipeline, one_line("run", "a", "step 1 loss 1", NO_TIME), go_on, sender, &err));
}

static void wait_for_receipt(struct receipt *receipt)
{
	pthread_mutex_lock(&receipt->mutex);
	while (!receipt->is_here)
		pthread_cond_wait(&receipt->arrived, &receipt->mutex);
	pthread_mutex_unlock(&receipt->mutex);
}

TEST(writer_never_waits_for_others_where_a_sender_is_alone)
{
	struct rig rig;
	struct sender sender = {.rig = &rig,
		.left = 12,
		.receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER}};

	rig_make(&rig, false);
	atomic_store(&gathered, 0);
	send_next(&sender); /* its next one waits before the writer looks who does */
	wait_for_receipt(&sender.receipt);
	CHECK_INT(atomic_load(&gathered), 0);
	rig_close(&rig, true);
	rig_remove(&rig);
}

/* Two that are answered with one group, of whom one sends again: the writer waits for the other. */
struct pair {
	struct rig *rig;
	int left;
	bool is_silent; /* the second one of the group was answered, and says nothing */
	struct receipt receipt;
};

static void send_one(struct pair *pair);

static void send_two(void *context, const struct ingest_result *result)
{
	struct pair *pair = context;

	CHECK_INT(result->status, OK);
	pair->is_silent = false;
	if (!pair->left--) {
		take_receipt(&pair->receipt, result);
		return;
	}
	send_one(pair);
	send_one(pair);
}

static void go_on_alone(void *context, const struct ingest_result *result)
{
	struct pair *pair = context;

	CHECK_INT(result->status, OK);
	if (!pair->is_silent)
		CHECK_OK(pipeline_submit(
			pair->rig->pipeline, one_line("run", "a", "step 1 loss 1", NO_TIME), send_two, pair, &err));
	pair->is_silent = true;
}

static void send_one(struct pair *pair)
{
	CHECK_OK(pipeline_submit(
		pair->rig->pipeline, one_line("run", "a", "step 1 loss 1", NO_TIME), go_on_alone, pair, &err));
}

TEST(writer_waits_long_enough_and_ever_less_often_where_nobody_comes)
{
	struct rig rig;
	struct pair pair = {.rig = &rig,
		.left = 64,
		.receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER}};

	rig_make(&rig, false);
	atomic_store(&gathered, 0);
	atomic_store(&shortest_ns, INT64_MAX);
	CHECK_OK(pipeline_submit(rig.pipeline, one_line("run", "a", "step 1 loss 1", NO_TIME), send_two, &pair, &err));
	wait_for_receipt(&pair.receipt);
	CHECK(atomic_load(&gathered) >= 2);
	CHECK(atomic_load(&gathered) <= 12); /* of 64 groups of one that follow a group of two */
	CHECK(atomic_load(&shortest_ns) >= 2000000); /* however quick the commit was */
	rig_close(&rig, true);
	rig_remove(&rig);
}
