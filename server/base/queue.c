#include "base/queue.h"
#include "base/clock.h"

#include <pthread.h>
#include <time.h>

struct lane {
	struct queue_item *first;
	struct queue_item **end;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct lane data;
	struct lane control;
	size_t items;
	size_t bytes;
	size_t max_items;
	size_t max_bytes;
	size_t gathered; /* somebody waits for so many items in the bounded lane; 0: nobody */
	bool is_closed;
};

static void lane_append(struct lane *lane, struct queue_item *item)
{
	item->next = NULL;
	*lane->end = item;
	lane->end = &item->next;
}

static struct queue_item *lane_take(struct lane *lane)
{
	struct queue_item *item = lane->first;

	if (item && !(lane->first = item->next))
		lane->end = &lane->first;
	return item;
}

struct queue *queue_new(size_t max_items, size_t max_bytes)
{
	struct queue *queue = mem_zeroed(sizeof *queue);
	pthread_condattr_t attributes;

	if (!queue)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->filled, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&queue->mutex, NULL);
	queue->data.end = &queue->data.first;
	queue->control.end = &queue->control.first;
	queue->max_items = max_items;
	queue->max_bytes = max_bytes;
	return queue;
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->mutex);
	mem_free(queue);
}

/* Whoever gathers has what he waits for, or all that there is room for. */
static bool is_enough(const struct queue *queue)
{
	return queue->items >= queue->gathered || queue->items >= queue->max_items || queue->bytes >= queue->max_bytes;
}

static enum status push(
	struct queue *queue, struct lane *lane, bool is_bounded, struct queue_item *item, struct error *err)
{
	if (queue->is_closed)
		return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
	/* One item always fits, however large: the limit is on what waits, not on what may be sent. */
	if (is_bounded && queue->items &&
		(queue->items >= queue->max_items || queue->bytes + item->bytes > queue->max_bytes)) {
		error_set(err, ERR_BUSY, "the queue is full (%zu items, %zu bytes wait)", queue->items, queue->bytes);
		if (err)
			err->retry_after_s = 1;
		return ERR_BUSY;
	}
	lane_append(lane, item);
	item->is_counted = is_bounded;
	if (is_bounded) {
		queue->items++;
		queue->bytes += item->bytes;
	}
	if (!is_bounded || is_enough(queue))
		pthread_cond_signal(&queue->filled);
	return OK;
}

enum status queue_push(struct queue *queue, struct queue_item *item, struct error *err)
{
	pthread_mutex_lock(&queue->mutex);
	enum status status = push(queue, &queue->data, true, item, err);
	pthread_mutex_unlock(&queue->mutex);
	return status;
}

enum status queue_push_again(struct queue *queue, struct queue_item *item, struct error *err)
{
	pthread_mutex_lock(&queue->mutex);
	enum status status = push(queue, &queue->data, false, item, err);
	pthread_mutex_unlock(&queue->mutex);
	return status;
}

enum status queue_push_control(struct queue *queue, struct queue_item *item, struct error *err)
{
	pthread_mutex_lock(&queue->mutex);
	enum status status = push(queue, &queue->control, false, item, err);
	pthread_mutex_unlock(&queue->mutex);
	return status;
}

static struct queue_item *take_item(struct queue *queue)
{
	struct queue_item *item = lane_take(&queue->control);

	if (!item)
		item = lane_take(&queue->data);
	if (item && item->is_counted) {
		queue->items--;
		queue->bytes -= item->bytes;
	}
	return item;
}

struct queue_item *queue_pop(struct queue *queue, int64_t timeout_ms)
{
	struct timespec deadline = clock_deadline(timeout_ms < 0 ? 0 : timeout_ms);
	struct queue_item *item;
	int result = 0;

	pthread_mutex_lock(&queue->mutex);
	while (!(item = take_item(queue)) && !queue->is_closed && result == 0 && timeout_ms != 0)
		result = timeout_ms < 0 ? pthread_cond_wait(&queue->filled, &queue->mutex)
					: pthread_cond_timedwait(&queue->filled, &queue->mutex, &deadline);
	pthread_mutex_unlock(&queue->mutex);
	return item;
}

size_t queue_gather(struct queue *queue, size_t items, int64_t timeout_ns)
{
	struct timespec deadline = clock_deadline_ns(timeout_ns);

	pthread_mutex_lock(&queue->mutex);
	queue->gathered = items;
	for (int result = 0; !is_enough(queue) && !queue->control.first && !queue->is_closed && result == 0;)
		result = pthread_cond_timedwait(&queue->filled, &queue->mutex, &deadline);
	queue->gathered = 0;
	size_t count = queue->items;
	pthread_mutex_unlock(&queue->mutex);
	return count;
}

void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->is_closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->mutex);
}

bool queue_is_closed(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	bool is_closed = queue->is_closed;
	pthread_mutex_unlock(&queue->mutex);
	return is_closed;
}

void queue_size(struct queue *queue, size_t *items, size_t *bytes)
{
	pthread_mutex_lock(&queue->mutex);
	*items = queue->items;
	*bytes = queue->bytes;
	pthread_mutex_unlock(&queue->mutex);
}
