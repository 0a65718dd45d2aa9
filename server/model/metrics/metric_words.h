/*
 * Job: the words of a metric's name, whatever a trainer puts between them. Any thread.
 */
#pragma once

#include "base/span.h"

enum { METRIC_NAME_MAX_BYTES = 255, METRIC_WORDS_MAX_BYTES = 2 * METRIC_NAME_MAX_BYTES + 2 };

/* "_val_loss_" of "val:Loss", "val_loss", "val/loss" and "valLoss": words can be looked for as a whole. */
struct span metric_words(struct span metric, char out[METRIC_WORDS_MAX_BYTES]);
/* words: several of "_word_" or parts of words, separated by blanks. */
bool metric_words_have(struct span s, const char *words);
/* words: without "_". */
bool metric_word_is_of(struct span word, const char *words);
