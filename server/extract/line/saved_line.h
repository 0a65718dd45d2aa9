/*
 * Job: whether a line that speaks of a saved checkpoint says that one was saved: and not that it was deleted, is corrupt, might have been saved.
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "extract/line/own_line.h"

/* A trainer's, of a checkpoint that it has saved. Quotes are voice.c's. */
own_line_shape saved_line_is_trainers;
