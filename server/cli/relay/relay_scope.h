/*
 * Job: is a relay of any use to this training, and would it harm it? Names of variables and of commands, nothing else.
 * Ownership: nothing is kept. Threads: the main thread.
 */
#pragma once

#include <stdbool.h>

/* A variable is set, or one of the files is in the folder that it runs in. Both lists have NULL at their ends. */
bool relay_scope_has_own(char *const *environment, const char *const *variables, const char *const *files);
/* Its processes are on this machine, as far as its command and the scheduler's variables say. */
bool relay_scope_is_local(char *const *environment, char *const *command);
/* What goes to the loopback address does not go to the proxies that the environment names. */
void relay_scope_pass_proxies(char *const *environment);
