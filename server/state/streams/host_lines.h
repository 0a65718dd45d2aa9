/*
 * Job: from which lines on another machine sends a stream.
 * Ownership: the stream's. Threads: under its lock, but for adding: the writer.
 */
#pragma once

#include "state/streams/directory.h"

/* Another machine begins to send with that line: known to readers with the commit. False: out of memory. */
bool host_lines_add(struct stream_state *stream, uint64_t from_line);
enum status host_lines_load(struct store_reader *reader, struct stream_state *stream, struct error *err) MUST_CHECK;

/* Under the stream's lock: did another machine begin to send behind that line, up to this one? */
bool host_lines_change_within(const struct stream_state *stream, uint64_t behind, uint64_t line);
