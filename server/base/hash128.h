/*
 * Job: 128 bits that tell contents apart (no key, no protection against somebody who wants two to be the same).
 * Ownership: values. Threads: values.
 * Source: the multiply-and-fold step of wyhash (Wang Yi, 2019), in two lanes.
 */
#pragma once

#include "base/span.h"

struct hash128 {
	uint64_t low, high; /* {0}: nothing yet */
};

/* The lengths count: "a", "b" is not "ab". */
void hash128_add(struct hash128 *hash, struct span bytes);
void hash128_add_number(struct hash128 *hash, uint64_t number);
