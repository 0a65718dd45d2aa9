/*
 * Job: how much room the database's disk has, and whether more may be written: --min-free-bytes is kept free also by what follows from lines that
 *      were taken already, so the file's growth that is owed counts as used, and so does what is promised to whoever is about to write.
 * Ownership: nothing is kept. Threads: looking is the writer's; before the threads start, of who starts them.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct pipeline;

/* Ends what was given back before: what was written of it is in what is free, or owed, by now. */
enum status disk_room_look(struct pipeline *pipeline, struct error *err) MUST_CHECK;
/*
 * Any thread: promises room for so many bytes, which go into the write-ahead log and from there into the file. False: less than is to be free
 * would be. What is promised is given back once, when it is written or will not be.
 */
bool disk_room_take(struct pipeline *pipeline, size_t bytes);
void disk_room_give_back(struct pipeline *pipeline, size_t bytes);
