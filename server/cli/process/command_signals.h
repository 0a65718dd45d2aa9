/*
 * Job: what --on says: which signal the command gets when the server tells us to checkpoint or to stop.
 * Ownership: the child is the caller's. Threads: orders_carry_out from the sender's.
 */
#pragma once

#include "base/options/options.h"
#include "cli/process/child.h"

struct orders {
	struct child *child; /* NULL: there is no command */
	int checkpoint_signal, stop_signal; /* 0: none was said */
};

/* ERR_INVALID with field "on". */
enum status orders_read(struct orders *orders, const struct options *options, struct error *err) MUST_CHECK;
/* What was done, in words for who gave the command. */
void orders_carry_out(const struct orders *orders, const char *command, char *result, size_t room);
