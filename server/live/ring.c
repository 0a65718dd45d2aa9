#include "live/ring.h"

#include <inttypes.h>
#include <stdio.h>

enum { FIRST_SLOTS = 64, HEAD_BYTES = 80 };

/* Behind what is there. */
static struct span put(char **at, struct span text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return span_of(begin, text.len);
}

struct frame *frame_new(
	struct span job, struct span team, unsigned kind, const char *event, uint64_t seq, struct span json)
{
	char head[HEAD_BYTES];
	int head_len = snprintf(head, sizeof head, "id: %" PRIu64 "\nevent: %s\ndata: ", seq, event);
	size_t text_len = (size_t)head_len + json.len + 2;
	struct frame *frame = mem_alloc(sizeof *frame + job.len + team.len + text_len);

	if (!frame)
		return NULL;
	*frame = (struct frame){.references = 1, .kind = kind, .seq = seq, .job_hash = span_hash(job)};
	char *at = frame->bytes;
	frame->job = put(&at, job);
	frame->team = put(&at, team);
	frame->text = span_of(at, text_len);
	put(&at, span_of(head, (size_t)head_len));
	put(&at, json);
	put(&at, SPAN("\n\n"));
	return frame;
}

void frame_unref(struct frame *frame)
{
	if (frame && --frame->references == 0)
		mem_free(frame);
}

size_t frame_bytes(const struct frame *frame)
{
	return sizeof *frame + frame->job.len + frame->team.len + frame->text.len;
}

static bool grow(struct ring *ring)
{
	size_t cap = ring->cap ? ring->cap * 2 : FIRST_SLOTS;
	struct frame **slots = mem_resize(NULL, cap, sizeof *slots);

	if (!slots)
		return false;
	for (size_t i = 0; i < ring->count; i++)
		slots[i] = ring->slots[(ring->first_slot + i) % ring->cap];
	mem_free(ring->slots);
	ring->slots = slots;
	ring->cap = cap;
	ring->first_slot = 0;
	return true;
}

bool ring_push(struct ring *ring, struct frame *frame)
{
	if (ring->count == ring->cap && !grow(ring))
		return false;
	ring->slots[(ring->first_slot + ring->count) % ring->cap] = frame;
	ring->count++;
	ring->bytes += frame_bytes(frame);
	return true;
}

void ring_drop_oldest(struct ring *ring)
{
	struct frame *frame = ring->slots[ring->first_slot];

	ring->first_slot = (ring->first_slot + 1) % ring->cap;
	ring->first_number++;
	ring->count--;
	ring->bytes -= frame_bytes(frame);
	frame_unref(frame);
}

void ring_done(struct ring *ring)
{
	while (ring->count)
		ring_drop_oldest(ring);
	mem_free(ring->slots);
	ring->slots = NULL;
}
