/*
 * Job: what a training's command says about it: its script, its hyperparameters, its text without secrets.
 * Ownership: results in the caller's buf or pointing into the command. Threads: any. Pure.
 */
#pragma once

#include "base/buf.h"

/* Index of the script behind python, torchrun, srun …; *script: its name without folder and ending. */
size_t command_find_script(char *const *command, struct span *script);

/* Walks `--key value`, `--key=value` and lone `--flag` from *at on; false at the end. A lone flag is "true". */
bool command_next_option(char *const *command, size_t *at, struct span *key, struct span *value);

/* The arguments, quoted for a shell where needed, the values of secret options as ***. */
void command_put_text(char *const *command, struct buf *out);
