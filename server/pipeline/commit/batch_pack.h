/*
 * Job: packs a batch for the journal, on the thread that brings it.
 * Ownership: the batch is the caller's. Threads: any that brings a batch.
 */
#pragma once

#include "base/codec/zstd.h"
#include "model/metrics/batch.h"

struct pipeline;

enum status batch_pack(struct pipeline *pipeline, struct batch *batch, struct error *err) MUST_CHECK;

struct zstd *packer_borrow(struct pipeline *pipeline) __attribute__((warn_unused_result));

void packer_give_back(struct pipeline *pipeline, struct zstd *zstd);
