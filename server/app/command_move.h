/*
 * Job: sm-server move: all of a database file into PostgreSQL, or back. Ownership: none. Threads: main.
 */
#pragma once

#include "base/options/options.h"

int command_move(const struct options *options);
