/*
 * Job: the end of a run of sm-ship: its input ends, what is left is sent, and what could not be is said.
 * Ownership: borrows. Threads: the main thread.
 */
#pragma once

struct ship;

/* Until the input ends. A signal is for the program that writes it as well: what it still says is taken for a moment. */
void ship_wait_input(struct ship *ship);
/* Sends what is left, for as long as it may. The exit status of the program. */
int ship_finish(struct ship *ship, char *const *environment);
