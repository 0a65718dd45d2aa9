/*
 * Job: snappy blocks (no frames), as Loki's and Prometheus' clients send them. snappy.c is the only user of the library.
 * Ownership: results in the caller's buf. Threads: any.
 */
#pragma once

#include "base/buf.h"

/* Appends the content; more than max_bytes is ERR_TOO_LARGE (the text names no option), a broken block ERR_INVALID. */
enum status snappy_unpack(struct span packed, size_t max_bytes, struct buf *out, struct error *err) MUST_CHECK;
