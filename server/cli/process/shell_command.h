/*
 * Job: runs a command of the user by /bin/sh beside the training: text on its standard input, variables of its own.
 * Ownership: plain values. Threads: the main one; signals that child_block_signals blocks are not blocked in the command.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* "NAME=VALUE" in `variables`, which ends with NULL. *exit_code: as a shell has it, 128 + signal when killed. */
enum status shell_command_run(
	const char *command, struct span input, char *const *variables, int *exit_code, struct error *err) MUST_CHECK;
