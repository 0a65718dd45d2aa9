/* What a reader of settings knows between two lines, as bytes. What it has found is not in it: the caller has taken that. */
#include "extract/settings/settings.h"
#include "extract/settings/settings_state.h"

enum { VERSION = 1 };

void settings_pack(const struct settings *settings, struct buf *out)
{
	size_t path_len = settings->level_count ? settings->levels[settings->level_count - 1].path_len : 0;

	pack_u64(out, VERSION);
	pack_u64(out, settings->lines);
	pack_u64(out, settings->gathering);
	pack_span(out, settings->gathering == NOTHING ? SPAN("") : buf_span(&settings->dump));
	pack_u64(out, settings->expects_environment);
	pack_u64(out, settings->block_left);
	pack_u64(out, settings->yaml_left);
	pack_span(out, span_of(settings->yaml_path, path_len));
	pack_u64(out, settings->level_count);
	for (size_t i = 0; i < settings->level_count; i++) {
		pack_u64(out, settings->levels[i].indent);
		pack_u64(out, settings->levels[i].path_len);
	}
}

/* Each level's path is the beginning of the next one's. */
static bool unpack_levels(struct settings *settings, struct unpacker *in)
{
	struct span path = unpack_span(in);
	size_t count = unpack_count(in, 2), last = 0;

	if (in->has_failed || path.len > sizeof settings->yaml_path || count > YAML_DEPTH_MAX)
		return false;
	memcpy(settings->yaml_path, path.ptr, path.len);
	for (size_t i = 0; i < count; i++) {
		struct yaml_level level = {(size_t)unpack_u64(in), (size_t)unpack_u64(in)};
		if (level.path_len <= last || level.path_len > path.len)
			return false;
		last = level.path_len;
		settings->levels[settings->level_count++] = level;
	}
	return last == path.len;
}

enum status settings_unpack(struct settings **out, struct unpacker *in, struct error *err)
{
	AUTO(settings) settings = settings_new();

	if (!settings)
		return error_no_memory(err);
	uint64_t version = unpack_u64(in);
	settings->lines = unpack_u64(in);
	uint64_t gathering = unpack_u64(in);
	settings->gathering = (enum gathering)gathering;
	buf_append_span(&settings->dump, unpack_span(in));
	settings->expects_environment = unpack_u64(in) != 0;
	settings->block_left = (size_t)unpack_u64(in);
	settings->yaml_left = (size_t)unpack_u64(in);
	if (settings->dump.failure == ERR_MEMORY)
		return error_no_memory(err);
	if (!unpack_levels(settings, in) || in->has_failed || version != VERSION || gathering > CALL_DUMP ||
		settings->lines > SETTINGS_LINES_MAX || settings->dump.failure ||
		settings->block_left > BLOCK_LINES_MAX || settings->yaml_left > BLOCK_LINES_MAX)
		return error_set(err, ERR_INVALID, "the state of a reader of settings is damaged");
	*out = TAKE(settings);
	return OK;
}
