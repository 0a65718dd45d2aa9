/*
 * Job: where stretches of a stream's signatures are cut: what somebody cleared by hand are the lines that were there, and one that comes
 *      behind them begins a stretch of its own.
 * Ownership: the stream's signs. Threads: under the stream's lock, but for loading.
 */
#pragma once

#include "base/error.h"
#include "state/watchers/sign_state.h"

struct store_reader;
struct stream_state;

/* Of a stream that nobody else knows yet: what its job's document says, and where stretches began behind its sealed lines. */
enum status sign_cuts_load(struct store_reader *reader, struct stream_state *stream, struct error *err) MUST_CHECK;
/* None of the stream's stretches is cleared. */
void sign_cuts_reset(struct stream_state *stream);
/* The stretch that begins at that line is cleared, as it is now. False: out of memory. */
bool sign_cuts_add(struct stream_state *stream, uint64_t first_line);
/* Is this next line of the sign's signature behind a cut? */
bool sign_cuts_are_before(const struct sign_cuts *cuts, const struct sign *sign, uint64_t line);
