/* What is made of a stream's lines, taken out of one state and put into another: under both locks. */
#include "state/streams/stream_swap.h"

#include "state/streams/directory.h"

#define SWAP(a, b) swap_bytes(&(a), &(b), sizeof(a))

static void swap_bytes(void *a, void *b, size_t size_bytes)
{
	unsigned char *left = a;
	unsigned char *right = b;

	for (size_t i = 0; i < size_bytes; i++) {
		unsigned char byte = left[i];
		left[i] = right[i];
		right[i] = byte;
	}
}

void stream_swap_derived(struct stream_state *a, struct stream_state *b)
{
	SWAP(a->extractor, b->extractor);
	SWAP(a->series, b->series);
	SWAP(a->series_count, b->series_count);
	SWAP(a->series_cap, b->series_cap);
	SWAP(a->series_index, b->series_index);
	SWAP(a->indexed_series, b->indexed_series);
	SWAP(a->by_number, b->by_number);
	SWAP(a->number_count, b->number_count);
	SWAP(a->number_cap, b->number_cap);
	SWAP(a->generation, b->generation);
	SWAP(a->series_base, b->series_base);
	SWAP(a->held_count, b->held_count);
	SWAP(a->held_since_ms, b->held_since_ms);
	SWAP(a->is_decided, b->is_decided);
	SWAP(a->has_paces, b->has_paces);
	SWAP(a->has_unsummed, b->has_unsummed);
	SWAP(a->is_resummed, b->is_resummed);
	SWAP(a->are_axes_due, b->are_axes_due);
	SWAP(a->has_waiting, b->has_waiting);
	SWAP(a->undue_lines, b->undue_lines);
	SWAP(a->undue_points, b->undue_points);
	SWAP(a->derive, b->derive);
	SWAP(a->derived_count, b->derived_count);
	for (size_t i = 0; i < DERIVED_COUNT; i++)
		SWAP(a->derived[i], b->derived[i]);
}

void stream_swap_consumers(struct stream_state *a, struct stream_state *b)
{
	stream_swap_derived(a, b);
	SWAP(a->signs, b->signs);
	SWAP(a->scores, b->scores);
	SWAP(a->silences, b->silences);
	SWAP(a->settings, b->settings);
	SWAP(a->stretches, b->stretches);
	SWAP(a->skew, b->skew);
	SWAP(a->first_ms, b->first_ms);
	SWAP(a->last_ms, b->last_ms);
}
