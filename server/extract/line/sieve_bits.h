/*
 * Job: how many patterns a sieve may have, and the words of their bits (sieve.h). Internal to extract/.
 * Ownership: none. Threads: any.
 */
#pragma once

enum { SIEVE_MAX = 192, SIEVE_WORDS = SIEVE_MAX / 64 };
