/*
 * Job: the shapes of line by which it is proven that somebody printed words as a message of its own, and does not quote them: what may
 *      stand in front of the words, and behind them. Which shape proves whose words is one table (voice.c).
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* said: what in the text a signature matched. In front of all may stand what collectors, launchers and loggers put there. */
typedef bool own_line_shape(struct span text, struct span said);

/* A kernel's driver: with what kernels and syslogs write in front of it, and in no syslog's line of another program. */
own_line_shape own_line_is_drivers;
/* A tool that checks machines: words begin a line, a row is one of its table. */
own_line_shape own_line_is_checks;
/* A program that tells of its own failure: behind the name of an exception, and what CUDA, NCCL, Neuron or Slurm write in front. */
own_line_shape own_line_is_programs;

/* Plainly no message: a comment, an item of a list, a mail's quotation, a row of a table, a command that a shell prints. */
bool own_line_is_marked(struct span text);
/* The quote that is open at the end; NULL: none. An apostrophe opens none within a word. */
const char *own_line_open_quote(struct span front);
