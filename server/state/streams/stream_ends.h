/*
 * Job: from when until when machines send streams, by what is in memory: the store has what is sealed alone.
 * Ownership: the directory outlives it. Threads: any.
 */
#pragma once

#include "store/faults.h"

struct directory;

struct stream_ends stream_ends_of(struct directory *directory, int64_t silent_ms);
