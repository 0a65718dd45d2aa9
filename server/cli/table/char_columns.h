/*
 * Job: how many columns of a terminal a character takes: most one, East Asian and emoji two, marks on others none. What terminals
 *      make of sequences of emoji differs; here each of them counts for itself.
 * Source: Unicode 14, UAX 11 and the general categories. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

unsigned char_columns(uint32_t code);
