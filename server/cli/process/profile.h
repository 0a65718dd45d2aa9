/*
 * Job: the file that says once which server, and with which token: $XDG_CONFIG_HOME/smfleet/profile, else
 *      ~/.config/smfleet/profile; lines as in --config: `server = URL`, `token = TOKEN`, `token-file = FILE`.
 * Threads: pure but for the file system.
 */
#pragma once

#include "base/buf.h"

/* *path is empty: there is none, or --config or SMFLEET_CONFIG names another. ERR_FORBIDDEN: others can read or change it. */
enum status profile_find(
	int argc, char *const *argv, char *const *environment, struct buf *path, struct error *err) MUST_CHECK;
