/*
 * Job: what a line says, without what differs from rank to rank and from time to time: the same key is the same message.
 * Ownership: values. Threads: pure.
 */
#pragma once

#include "base/hash128.h"

enum { MESSAGE_KEY_BYTES = 512 }; /* of the line; what is behind them does not tell messages apart */

struct hash128 message_key(struct span line);
