/* SPDX-License-Identifier: MIT */
#include "sim/cuda/kernels/multiprocessors.h"

#include <pthread.h>

#include "sim/cuda/devices/device.h"

struct pool {
	unsigned int taken;
	uint64_t come, begun; /* kernels: the next to begin is number `begun` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct pool pools[DEVICES_MAX];

static unsigned int limited(uint64_t blocks)
{
	return blocks < DEVICE_MULTIPROCESSORS ? (unsigned int)blocks : DEVICE_MULTIPROCESSORS;
}

unsigned int multiprocessors_take(CUdevice device, uint64_t blocks, bool together)
{
	struct pool *pool = &pools[device];
	unsigned int wanted = limited(blocks), least = together ? wanted : 1;

	pthread_mutex_lock(&lock);
	uint64_t number = pool->come++;
	while (number != pool->begun || DEVICE_MULTIPROCESSORS - pool->taken < least)
		pthread_cond_wait(&changed, &lock);
	unsigned int left = DEVICE_MULTIPROCESSORS - pool->taken, count = wanted < left ? wanted : left;
	pool->taken += count;
	pool->begun++;
	pthread_cond_broadcast(&changed); /* whoever came next may find room, too */
	pthread_mutex_unlock(&lock);
	return count;
}

void multiprocessors_give(CUdevice device, unsigned int count)
{
	pthread_mutex_lock(&lock);
	pools[device].taken -= count;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}
