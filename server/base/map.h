/*
 * Job: byte string -> pointer. Open addressing, keys are copied; hashing is seeded per process, so that a client that
 *      chooses the keys cannot choose the collisions.
 * Ownership: the map owns its keys, never its values. Threads: one at a time (readers may share while nobody writes).
 */
#pragma once

#include "base/alloc.h"
#include "base/span.h"

struct map;

struct map *map_new(void) __attribute__((warn_unused_result)); /* NULL: out of memory */
void map_free(struct map *map);
void *map_get(const struct map *map, struct span key); /* NULL: not there */
/* Sets or replaces; value is not NULL. False: out of memory, the map is unchanged. */
bool map_put(struct map *map, struct span key, void *value) __attribute__((warn_unused_result));
void *map_remove(struct map *map, struct span key); /* the value that was there, or NULL */
size_t map_count(const struct map *map);

/* for (size_t at = 0; map_next(map, &at, &key, &value);) … ; nothing may be put or removed meanwhile. key may be NULL. */
bool map_next(const struct map *map, size_t *at, struct span *key, void **value);

AUTO_TYPE(map)
