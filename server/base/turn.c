#include "base/turn.h"

void turn_init(struct turn *turn)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&turn->freed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&turn->mutex, NULL);
	turn->is_taken = false;
}

void turn_done(struct turn *turn)
{
	pthread_cond_destroy(&turn->freed);
	pthread_mutex_destroy(&turn->mutex);
}

bool turn_take(struct turn *turn, const struct timespec *until)
{
	int status = 0;

	pthread_mutex_lock(&turn->mutex);
	while (turn->is_taken && status == 0)
		status = until ? pthread_cond_timedwait(&turn->freed, &turn->mutex, until)
			       : pthread_cond_wait(&turn->freed, &turn->mutex);
	bool is_mine = !turn->is_taken;
	turn->is_taken = true;
	pthread_mutex_unlock(&turn->mutex);
	return is_mine;
}

void turn_end(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	turn->is_taken = false;
	pthread_cond_signal(&turn->freed);
	pthread_mutex_unlock(&turn->mutex);
}
