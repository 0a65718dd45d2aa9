/*
 * Job: hyperparameters out of what a trainer prints at its start: argument dumps (Megatron's block, Namespace(…), …Arguments(…),
 *      …Config(…)), SageMaker's SM_HPS and Training Env, JSON, YAML and Python's dictionaries, DeepSpeed's table, MaxText's Config
 *      param, MLPerf's :::MLLOG, and the options of the printed command; and a few that are said in a sentence. Each with the line it came from.
 * Ownership: new/free; what is handed out lives until settings_forget or free. Threads: one at a time. Pure: the same lines give the same.
 * Keys:  dots for what is nested (model.d_model), `_` for the `-` inside an option's name; the first print of a key wins, so that
 *        many ranks saying the same cost nothing.
 * Values: as they would be typed: no quotes around strings, true and false in lower case; None and null are no setting.
 */
#pragma once

#include "base/alloc.h"
#include "base/codec/pack.h"
#include "extract/settings/setting.h"

struct settings;

struct settings *settings_new(void) __attribute__((warn_unused_result));
void settings_free(struct settings *settings);
/* The next line of the stream, as it came; a dump over several lines counts once its last line was fed. */
enum status settings_feed(struct settings *settings, struct span text, uint64_t number, struct error *err) MUST_CHECK;
/* In the order in which they were printed. */
size_t settings_count(const struct settings *settings);
const struct setting *settings_get(const struct settings *settings, size_t index);
/* Of what was found the caller has taken what it wants: nothing is kept of it, a key found again counts as new. */
void settings_forget(struct settings *settings);
bool settings_has_ended(const struct settings *settings); /* no line is looked at any more */

/* Where it stands between two lines, without what it has found. */
void settings_pack(const struct settings *settings, struct buf *out);
enum status settings_unpack(struct settings **out, struct unpacker *in, struct error *err) MUST_CHECK;

AUTO_TYPE(settings)
