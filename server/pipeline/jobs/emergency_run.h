/*
 * Job: the emergency path's second half (alert/emergency.h): stops those jobs whose checkpoint is there, or overdue.
 * Ownership: none. Threads: maintenance.
 */
#pragma once

struct pipeline;
struct store_reader;

void emergency_run(struct pipeline *pipeline, struct store_reader *reader);
