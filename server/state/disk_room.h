/*
 * Job: how much room the database's disk has, and whether lines may come: --min-free-bytes is kept free also by what follows from lines that
 *      were taken already, so the file's growth that is owed counts as used.
 * Ownership: nothing is kept. Threads: the writer; before the threads start, who starts them.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct pipeline;

enum status disk_room_look(struct pipeline *pipeline, struct error *err) MUST_CHECK;
/* Any thread: whether so many bytes more would leave less than is to be free, with those that wait for the writer. */
bool disk_room_lacks(struct pipeline *pipeline, size_t bytes);
