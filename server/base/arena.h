/*
 * Job: many small allocations with one owner and one free.
 * Ownership: what it returns lives until arena_free. Threads: one at a time; a hand-over moves the whole arena.
 */
#pragma once

#include "base/alloc.h"
#include "base/span.h"

struct arena;

struct arena *arena_new(void) __attribute__((warn_unused_result)); /* NULL: out of memory */
void arena_free(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t bytes); /* aligned for any type, not cleared; NULL: out of memory */
/* ptr is NULL when memory is out. */
struct span arena_copy(struct arena *arena, struct span s);
size_t arena_bytes(const struct arena *arena); /* taken from the system, for queue limits */

AUTO_TYPE(arena)
