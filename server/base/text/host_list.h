/*
 * Job: a list of machines as Slurm writes it ("login,rack1n[01-03,7]"), name by name.
 * Ownership: the names live in the arena. Threads: any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum { HOST_LIST_MAX = 32 };

/* *count 0: it is no such list, or one of more machines than that. In the order of the text; the same one twice is there twice. */
enum status host_list_expand(
	struct arena *arena, struct span list, struct span **out, size_t *count, struct error *err) MUST_CHECK;
