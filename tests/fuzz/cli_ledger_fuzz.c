/* A page of a ledger out of any bytes: what is understood is written and understood again. */
#include "cli/spool/resume_state.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_MEM struct ledger_page *page = mem_alloc(sizeof *page);
	AUTO_MEM struct ledger_page *again = mem_alloc(sizeof *again);
	AUTO_DONE(buf) bytes = BUF_INIT(1 << 20);

	if (!page || !again || ledger_page_unpack(page, span_of((const char *)data, size), NULL) != OK)
		return 0;
	ledger_page_pack(page, &bytes);
	if (ledger_page_unpack(again, buf_span(&bytes), NULL) != OK || again->base != page->base ||
		again->file_count != page->file_count || again->piece_count != page->piece_count)
		abort();
	for (size_t i = 0; i < page->piece_count; i++)
		if (again->pieces[i].file >= again->file_count ||
			again->pieces[i].piece.end != page->pieces[i].piece.end)
			abort();
	return 0;
}
