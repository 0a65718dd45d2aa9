/*
 * Job: a machine that lines named before it sent anything itself is one with it, by its short and its full name.
 * Ownership: none is kept. Threads: the writer.
 */
#pragma once

#include "store/store.h"

/* What lines told of the host by the other form of its name is its own: ledger, stretches and incidents. In the transaction that has it send. */
enum status machine_join(struct store_tx *tx, struct span host, struct error *err) MUST_CHECK;
