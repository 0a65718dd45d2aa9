/* For whom the writer waits before it commits. queue_gather is linked through us. */
#include "base/queue.h"
#include "pipeline/rig.h"

#include <stdatomic.h>

size_t __real_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns);
size_t __wrap_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns);

static atomic_size_t gathered;

size_t __wrap_queue_gather(struct queue *queue, size_t items, int64_t timeout_ns)
{
	atomic_fetch_add(&gathered, 1);
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

static void wait_until_sent(struct sender *sender)
{
	pthread_mutex_lock(&sender->receipt.mutex);
	while (!sender->receipt.is_here)
		pthread_cond_wait(&sender->receipt.arrived, &sender->receipt.mutex);
	pthread_mutex_unlock(&sender->receipt.mutex);
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
	wait_until_sent(&sender);
	CHECK_INT(atomic_load(&gathered), 0);
	rig_close(&rig, true);
	rig_remove(&rig);
}
