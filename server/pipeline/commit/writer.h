/*
 * Job: the one writer thread.
 * Ownership: the pipeline's.
 */
#pragma once

void *writer_run(void *pipeline);
