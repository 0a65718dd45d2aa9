/*
 * Job: the conditions of rules over the series of a stream, behind its packed state.
 * Ownership: the caller's. Threads: under the stream's lock.
 */
#pragma once

#include "base/codec/pack.h"
#include "state/streams/directory.h"
#include "state/watchers/watcher_state.h"

/* Behind a stream's state; nothing where there are none. */
void watchers_pack(const struct stream_state *stream, struct buf *out);
enum status watchers_unpack(struct stream_state *stream, struct unpacker *in, struct error *err) MUST_CHECK;
