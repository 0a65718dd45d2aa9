/*
 * Job: the maintenance thread.
 * Ownership: the pipeline's.
 */
#pragma once

void *maintenance_run(void *pipeline);
