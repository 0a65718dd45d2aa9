/*
 * Job: the filter of a block's words, put with the block. Ownership: values. Threads: the writer's.
 */
#pragma once

#include "store/blocks.h"
#include "store/store.h"

enum status log_filter_put(struct store_tx *tx, const struct block_row *row, struct error *err) MUST_CHECK;
