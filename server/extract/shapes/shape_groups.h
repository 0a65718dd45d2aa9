/*
 * Job: lines in groups of one shape, and what their numbers do. Internal to extract/.
 * Ownership: in the caller's arena. Threads: any. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "extract/shapes/shape_tokens.h"

enum { SHAPE_NUMBERS_MAX = 32, SHAPE_NO_GROUP = UINT32_MAX };

/* A line, or what stands between two carriage returns of it. */
struct shape_piece {
	struct span text; /* behind its prefixes */
	struct span whole; /* the line without escapes */
	uint32_t line;
	uint32_t group;
};

struct shape_number {
	uint64_t rises, falls, stays; /* from one line to the next */
	double first, last;
	bool varies;
	bool is_whole; /* always */
	bool is_negative; /* once */
	bool has_commas, has_thousands; /* once */
};

struct shape_group {
	uint64_t hash;
	uint64_t count;
	uint32_t leader; /* itself, or the one that it is part of */
	uint32_t first_piece, last_piece;
	uint32_t token_count;
	uint32_t number_count;
	bool *hides; /* of its tokens: a word that varies */
	struct shape_number *numbers;
};

struct shape_groups {
	struct shape_piece *pieces;
	size_t piece_count;
	struct shape_group *items;
	size_t count;
};

enum status shape_groups_find(struct shape_groups *out, struct arena *arena, const struct span *lines, size_t count,
	struct error *err) MUST_CHECK;
