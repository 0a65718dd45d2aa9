/*
 * Job: a line that only quotes what a kernel, or another program, says of a fault: a pattern, a runbook's sentence, a command, a payload.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/*
 * said: what in the line a signature matched; is_machines: it is a machine's fault; names_host: with the machine that it is about.
 * A kernel's words count where they are its own line (own_line.h), what programs say of a machine unless it is plain that it is quoted.
 */
bool quoted_line_is(struct span text, struct span said, bool is_machines, bool names_host);

/* The same of what a check of a machine prints: words of nvidia-smi begin a line, a row of dcgmi's table is in no quotes. */
bool quoted_line_is_check(struct span text, struct span said);
