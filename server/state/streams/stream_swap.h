/*
 * Job: takes what is made of a stream's lines out of one state and puts it into another.
 * Ownership: the streams'. Threads: under both locks.
 */
#pragma once

#include "state/streams/directory.h"

void stream_swap_derived(struct stream_state *a, struct stream_state *b);
void stream_swap_consumers(struct stream_state *a, struct stream_state *b);
