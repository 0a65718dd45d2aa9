/*
 * Job: the word with which a program marks text that it only shows: "[response] ", "INFO generation: ".
 * Ownership: spans into the line. Threads: any. Pure.
 *
 * What stands in front of a message says where it comes from: a rank, a host, a time, a level, a place in a source, a process, a logger. A word
 * that is none of these says what the text is, and so that it is not the program's own: a model wrote it, or somebody asked.
 */
#pragma once

#include "base/span.h"

/* Such a word stands in front of what was said. */
bool said_tag_is_before(struct span line, struct span said);
