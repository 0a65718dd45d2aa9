/*
 * Job: a machine that lines named before it sent anything itself is one with it, by its short and its full name.
 * Ownership: none is kept. Threads: the writer.
 */
#pragma once

#include "store/store.h"

/*
 * What lines told of the host by the other form of its name is its own: ledger, stretches and incidents. In the transaction that has it send.
 * team: of the job that says so; what jobs of others have told of, or the fleet's own, stays by the name that these gave it. "": the fleet's own.
 */
enum status machine_join(struct store_tx *tx, struct span host, struct span team, struct error *err) MUST_CHECK;
