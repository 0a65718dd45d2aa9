/*
 * Job: what a reader of settings knows between two lines, shared by settings.c, settings_yaml.c and settings_pack.c. Internal to extract/.
 * Ownership: see settings.h. Threads: one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "extract/settings/setting.h"

enum {
	DUMP_MAX_BYTES = 256 << 10, /* of a dump over several lines: what is longer is no configuration */
	BLOCK_LINES_MAX = 2000, /* of an arguments block or YAML whose end never came */
	YAML_DEPTH_MAX = 8,
};

enum gathering { NOTHING, JSON_DUMP, ENVIRONMENT_DUMP, CALL_DUMP };

struct yaml_level {
	size_t indent;
	size_t path_len;
};

struct settings {
	struct arena *arena; /* of what was found since settings_forget; NULL: nothing was, as by_key and items */
	struct map *by_key;
	struct setting *items;
	size_t count, cap;
	uint64_t line; /* the one being read */
	uint64_t lines;
	struct buf plain; /* without escapes */
	enum gathering gathering;
	struct buf dump;
	bool expects_environment; /* `Training Env:` was said, its JSON follows */
	size_t block_left; /* lines that may still belong to an arguments block; 0: in none */
	size_t yaml_left;
	char yaml_path[SETTING_KEY_MAX_BYTES];
	struct yaml_level levels[YAML_DEPTH_MAX];
	size_t level_count;
};
