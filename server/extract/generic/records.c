#include "extract/generic/records.h"

bool records_read(struct record_state *state, const struct tokens *tokens, struct generic_line *out)
{
	(void)state;
	(void)tokens;
	(void)out;
	return false;
}

void records_pack(const struct record_state *state, struct buf *out)
{
	(void)state;
	(void)out;
}

void records_unpack(struct record_state *state, struct unpacker *in)
{
	(void)state;
	(void)in;
}
