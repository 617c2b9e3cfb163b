/* SPDX-License-Identifier: MIT */
/* Somebody else at rankwatchd's socket than rankwatchd. The input: whether it has greeted, then packets, each with two
 * bytes for its size before it. The client is looked into, so that no socket with a name is needed. */
#include "tests/fuzz/box_target.h"

#include "ebpf/helper_client.c"

static struct helper_client client;

/* Nothing of a record runs over its end. */
static void check(void *argument, const struct rw_kernel_wait *wait)
{
	char frames[RW_HELPER_FRAMES][RW_HELPER_FRAME];
	int count = helper_client_stack(&client, wait->stack_id, frames, RW_HELPER_FRAMES);

	(void)argument;
	if (!memchr(wait->thread, '\0', sizeof(wait->thread)) || !memchr(wait->waker, '\0', sizeof(wait->waker)) ||
	    !memchr(wait->file, '\0', sizeof(wait->file)) ||
	    !memchr(wait->file_system, '\0', sizeof(wait->file_system)) || count > RW_HELPER_FRAMES)
		abort();
	for (int i = 0; i < count; i++)
		if (!memchr(frames[i], '\0', sizeof(frames[i])))
			abort();
}

static void send_all(int fd, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		size_t length = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		length = length < size ? length : size;
		if (send(fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return;
		data += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probes_loss loss;
	char why[WHY_ROOM];
	int ends[2];

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
		return 0;
	client = (struct helper_client){ .fd = ends[0], .greeted = data[0] & 1, .record = check, .number = data[0] >> 4 };
	send_all(ends[1], data + 1, size - 1);
	shutdown(ends[1], SHUT_WR); /* so that nobody waits */
	if (data[0] & 2)
		helper_client_poll(&client);
	else if (data[0] & 4)
		helper_client_sample(&client, 1);
	else
		helper_client_watch(&client, 1, STDERR_FILENO, why);
	while (client.greeted && helper_client_poll(&client) >= 0)
		;
	helper_client_loss(&client, &loss);
	explain(&client, -EPROTO, why);
	if (client.fd >= 0)
		close(client.fd);
	close(ends[1]);
	return 0;
}
