#include "http/park.h"
#include "http/mhd.h"

bool park_wait(struct park *park)
{
	enum park_state expected = PARK_WOKEN;

	if (atomic_compare_exchange_strong(&park->state, &expected, PARK_RUNNING))
		return false;
	/* Before it is published: a resume of what is not yet suspended is not documented to work. */
	mhd_suspend(park->connection);
	expected = PARK_RUNNING;
	if (!atomic_compare_exchange_strong(&park->state, &expected, PARK_SUSPENDED)) {
		atomic_store(&park->state, PARK_RUNNING);
		mhd_resume(park->connection);
	}
	return true;
}

bool park_wake(struct park *park)
{
	struct MHD_Connection *connection = park->connection;
	enum park_state state = atomic_load(&park->state);

	for (;;) {
		switch (state) {
		case PARK_WOKEN:
			return true;
		case PARK_DETACHED:
			return false;
		case PARK_RUNNING:
			if (atomic_compare_exchange_weak(&park->state, &state, PARK_WOKEN))
				return true;
			break;
		case PARK_SUSPENDED:
			if (atomic_compare_exchange_weak(&park->state, &state, PARK_RUNNING)) {
				mhd_resume(connection);
				return true;
			}
			break;
		}
	}
}

bool park_is_suspended(const struct park *park)
{
	return atomic_load(&park->state) == PARK_SUSPENDED;
}

bool park_is_free(const struct park *park)
{
	enum park_state state = atomic_load(&park->state);

	return state == PARK_RUNNING || state == PARK_WOKEN;
}

bool park_detach(struct park *park)
{
	enum park_state expected = PARK_SUSPENDED;

	if (!atomic_compare_exchange_strong(&park->state, &expected, PARK_DETACHED))
		return false;
	mhd_resume(park->connection);
	return true;
}

void park_clear(struct park *park)
{
	enum park_state expected = PARK_WOKEN;

	atomic_compare_exchange_strong(&park->state, &expected, PARK_RUNNING);
}

void park_owe(struct park *park)
{
	atomic_store(&park->state, PARK_SUSPENDED);
}

bool park_claim(struct park *park)
{
	enum park_state expected = PARK_SUSPENDED;

	return atomic_compare_exchange_strong(&park->state, &expected, PARK_RUNNING);
}

bool park_is_detached(const struct park *park)
{
	return atomic_load(&park->state) == PARK_DETACHED;
}
