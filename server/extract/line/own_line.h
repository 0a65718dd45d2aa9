/*
 * Job: whether a text is a kernel's own line, or only quotes one: by what stands in front of the kernel's words, and behind them.
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* Where what a signature matched begins with a kernel's words: is the line around it that kernel's? In front may stand what kernels, syslogs,
 * collectors, launchers and loggers put there. */
bool own_line_is(struct span text, struct span said);

/* The same of what a tool prints of a machine, as nvidia-smi: its words begin a line, or what a record holds for one. */
bool own_line_begins(struct span text, struct span said);
