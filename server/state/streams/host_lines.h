/*
 * Job: from which lines on another machine sends a stream.
 * Ownership: the stream's. Threads: under its lock, but for adding: the writer.
 */
#pragma once

#include "state/streams/directory.h"

/* Another machine begins to send with that line: known to readers with the commit. False: out of memory. */
bool host_lines_add(struct stream_state *stream, uint64_t from_line);
enum status host_lines_load(struct store_reader *reader, struct stream_state *stream, struct error *err) MUST_CHECK;

/* Somebody set whose it is, or took that back. Takes `host`. The writer's, after the commit. */
void host_lines_set_host(struct stream_state *stream, char *host, bool is_by_hand);

/* Under the stream's lock: did another machine begin to send behind that line, up to this one? */
bool host_lines_change_within(const struct stream_state *stream, uint64_t behind, uint64_t line);
/* The same: how many times another machine had begun to send by then. */
uint32_t host_lines_number(const struct stream_state *stream, uint64_t line);
