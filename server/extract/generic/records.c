#include "extract/generic/records.h"

bool records_read(struct record_state *state, const struct tokens *tokens, struct generic_line *out)
{
	(void)state;
	(void)tokens;
	(void)out;
	return false;
}

void generic_memory_pack(const struct generic_memory *memory, struct buf *out)
{
	pack_u64(out, memory->header);
	pack_u64(out, memory->has_fine);
	pack_u64(out, memory->has_loss);
	pack_u64(out, memory->loss_alias);
}

void generic_memory_unpack(struct generic_memory *memory, struct unpacker *in)
{
	memory->header = unpack_u64(in);
	uint64_t has_fine = unpack_u64(in), has_loss = unpack_u64(in), alias = unpack_u64(in);

	memory->has_fine = has_fine == 1;
	memory->has_loss = has_loss == 1;
	memory->loss_alias = (uint32_t)alias;
	in->has_failed |= has_fine > 1 || has_loss > 1 || alias > UINT32_MAX;
}
