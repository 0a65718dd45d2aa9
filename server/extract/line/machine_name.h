/*
 * Job: what machines are called, as lines and senders say it.
 * Ownership: none. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* No machine is called so. */
#define MACHINE_OF_NOBODY SPAN("?")
/* Nor is one that is only talked of. */
#define MACHINE_OF_TALK SPAN("\"")

enum { MACHINE_NAME_MAX_BYTES = 253 };

/* Of the name at the front; 0: none, or it is too long. */
size_t machine_name_length(struct span text);
/* One machine by its short and its full name. */
bool machine_name_is_same(struct span a, struct span b);
/* It stands in the text, and not as a part of another name. */
bool machine_name_is_in(struct span text, struct span host);
/* The same machine, by the name that came first; "" is none, and two that differ are nobody. */
struct span machine_name_join(struct span a, struct span b);
/* "10.0.0.1" */
bool machine_name_is_address(struct span host);
/* Names that say nothing of what the machine calls itself: an instance's id, an address. */
bool machine_name_is_number(struct span host);
/* "gpu07.cluster.local": with its domain, and a digit in its own name. "torch.c10d", "llama-3.1-8b" and addresses are none. */
bool machine_name_is_full(struct span host);
/* As machines of a cluster are called: "INFO", "RuntimeError", "worker-0" are none. *has_number: of its own, no pod's. */
bool machine_name_is_like(struct span host, bool *has_number);
