#include "pipeline/commit/machine_join.h"

#include "base/text/host_list.h"
#include "extract/line/machine_name.h"
#include "pipeline/alert/incident_rename.h"
#include "store/faults.h"
#include "store/stream_hosts.h"

enum { LIST_MAX_BYTES = 16 << 10 };

struct joining {
	struct store_tx *tx;
	struct arena *arena;
	struct span from, to;
};

/* Of a list of Slurm's one name. */
static enum status rename_hit(const struct joining *j, struct signature_hit_row *hit, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LIST_MAX_BYTES);
	struct span *names;
	size_t count;

	TRY(host_list_expand(j->arena, hit->host, &names, &count, err));
	for (size_t i = 0; i < count; i++) {
		buf_append_text(&text, i ? "," : "");
		buf_append_span(&text, span_equal_fold(names[i], j->from) ? j->to : names[i]);
	}
	if (!count)
		return OK;
	TRY(buf_status(&text, err));
	hit->host = buf_span(&text);
	return store_set_hit_host(j->tx, hit, err);
}

static enum status rename_row(void *context, const struct incident_row *row, struct error *err)
{
	const struct joining *j = context;
	AUTO(json) facts = NULL;
	struct span host = incident_read_machine(row, &facts);

	return host.len && span_equal_fold(host, j->from) ? incident_rename(j->tx, row, facts, j->to, err) : OK;
}

static enum status join(struct joining *j, struct error *err)
{
	struct signature_hit_row *hits;
	size_t count;

	TRY(store_read_naming_hits(store_tx_reader(j->tx), j->arena, j->from, &hits, &count, err));
	for (size_t i = 0; i < count; i++) {
		TRY(rename_hit(j, &hits[i], err));
		if (!i || hits[i].job_id != hits[i - 1].job_id)
			TRY(incidents_of_machines(j->tx, j->arena, hits[i].job_id, rename_row, j, err));
	}
	return store_rename_charged(j->tx, j->from, j->to, err);
}

enum status machine_join(struct store_tx *tx, struct span host, struct span team, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct joining j = {.tx = tx, .arena = arena, .to = host};

	if (!arena)
		return error_no_memory(err);
	if (!host.len || span_find_char(host, '/') >= 0) /* a place is no name */
		return OK;
	TRY(store_find_charged_form(store_tx_reader(tx), arena, host, team, &j.from, err));
	return span_find_char(j.from, '/') < 0 && machine_name_is_same(j.from, host) ? join(&j, err) : OK;
}
