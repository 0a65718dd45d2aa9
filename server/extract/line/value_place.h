/*
 * Job: the place of a value that the definition's expression does not match: what stands before its group, followed by anything.
 *      "loss: ([0-9.]+)" cannot match "loss: nan", and its loss has gone all the same. Internal to extract/.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/buf.h"

/* Appends the pattern of the place, whose group PLACE_GROUP is what stands there. False: the expression has no such place. */
#define PLACE_GROUP "place__"
bool value_place_pattern(struct span regex, int value_group, struct buf *out);

/*
 * Bits of the groups without a name that can only have captured where that of the value, without one too, has not, since they are in other
 * branches: "loss=([0-9.]+)|L:([0-9.]+)". 0: none.
 */
uint32_t value_place_others(struct span regex, int value_group);

enum place_kind { PLACE_OTHER, PLACE_NON_FINITE, PLACE_MISSING };

/* "nan", "-inf", "Infinity" are values; "-", "None", "null", "n/a" say that there is none. */
enum place_kind value_place_read(struct span text, double *value);
