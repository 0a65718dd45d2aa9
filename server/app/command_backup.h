/*
 * Job: sm-server backup: one copy, or dated ones again and again.
 * Ownership: none. Threads: main.
 */
#pragma once

#include "base/options/options.h"

int command_backup(const struct options *options);
