/*
 * Job: is a setting called so? Trainers spell one name in many ways: "lr_decay_style" is "--lr-decay-style" on a command line, "LR_DECAY_STYLE"
 *      in an environment, "optimizer.lr_decay_style" where settings have groups.
 * Threads: any.
 */
#pragma once

#include "base/span.h"

/* name: of small letters, digits and _. */
bool setting_name_is(struct span key, struct span name);
/* The same, for names of which the case matters: launchers count machines in an environment's WORLD_SIZE. */
bool setting_name_is_exactly(struct span key, struct span name);
