/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum wire_type { WIRE_CREDITS = 1, WIRE_ARRIVALS, WIRE_STEP };

void wire_credit(struct wire *wire, enum link_kind kind)
{
	wire->owed_credits[kind]++;
}

bool wire_queue(struct wire *wire, enum link_kind kind)
{
	struct link *link = &wire->send[kind];

	if (link->queued == link->credits)
		return false;
	link->queued++;
	return true;
}

/* The step that the wire sends now: all before it have arrived or are on their way, in order. */
static uint64_t sent_steps(const struct link *link)
{
	return atomic_load_explicit(&link->emptied, memory_order_relaxed);
}

static void begin(struct wire *wire, enum wire_type type, int kind, uint32_t value)
{
	wire->out = (struct wire_head){ .type = (uint8_t)type, .kind = (uint8_t)kind, .value = value };
	wire->out_sent = 0;
	wire->out_size = sizeof(wire->out) + (type == WIRE_STEP ? value : 0);
}

static bool take(uint32_t *owed, uint32_t *taken)
{
	*taken = *owed;
	*owed = 0;
	return *taken;
}

/* What is owed comes before data: it is small, and the peer can do nothing without it. */
static bool begin_next(struct wire *wire)
{
	uint32_t count;

	for (int kind = 0; kind < LINK_KINDS; kind++) {
		if (take(&wire->owed_arrivals[kind], &count)) {
			begin(wire, WIRE_ARRIVALS, kind, count);
			return true;
		}
		if (take(&wire->owed_credits[kind], &count)) {
			begin(wire, WIRE_CREDITS, kind, count);
			return true;
		}
	}
	for (int kind = 0; kind < LINK_KINDS; kind++) {
		const struct link *link = &wire->send[kind];
		if (sent_steps(link) == link->queued)
			continue;
		begin(wire, WIRE_STEP, kind, link->bytes[sent_steps(link) % LINK_STEPS]);
		return true;
	}
	return false;
}

static ssize_t write_some(struct wire *wire)
{
	struct link *link = &wire->send[wire->out.kind];
	size_t head_sent = wire->out_sent < sizeof(wire->out) ? wire->out_sent : sizeof(wire->out);
	size_t body_sent = wire->out_sent - head_sent;
	struct iovec parts[2] = { { (char *)&wire->out + head_sent, sizeof(wire->out) - head_sent } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 1 };

	if (wire->out.type == WIRE_STEP) {
		parts[1].iov_base = link_buffer(link, sent_steps(link)) + body_sent;
		parts[1].iov_len = wire->out.value - body_sent;
		message.msg_iovlen = 2;
	}
	return sendmsg(wire->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int error_now(void)
{
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static bool write_wire(struct wire *wire)
{
	bool moved = false;

	while (!wire->error && (wire->out_sent < wire->out_size || begin_next(wire))) {
		ssize_t sent = write_some(wire);
		if (sent < 0) {
			wire->error = error_now();
			return moved;
		}
		moved = true;
		wire->out_sent += (size_t)sent;
		if (wire->out_sent == wire->out_size && wire->out.type == WIRE_STEP)
			atomic_fetch_add_explicit(&wire->send[wire->out.kind].emptied, 1, memory_order_relaxed);
	}
	return moved;
}

/* What another process says is believed only within what the protocol allows. */
static bool is_plausible(const struct wire *wire)
{
	const struct wire_head *in = &wire->in;

	if (in->kind >= LINK_KINDS)
		return false;
	const struct link *send = &wire->send[in->kind], *receive = &wire->receive[in->kind];
	switch (in->type) {
	case WIRE_CREDITS:
		return in->value <= LINK_STEPS && send->credits + in->value <= send->arrived + LINK_STEPS;
	case WIRE_ARRIVALS:
		return in->value <= sent_steps(send) - send->arrived;
	case WIRE_STEP:
		return in->value <= LINK_STEP_BYTES && atomic_load(&receive->filled) < atomic_load(&receive->posted);
	default:
		return false;
	}
}

static void message_has_come(struct wire *wire)
{
	struct link *receive = &wire->receive[wire->in.kind];
	uint64_t step = atomic_load_explicit(&receive->filled, memory_order_relaxed);

	wire->in_got = 0;
	switch (wire->in.type) {
	case WIRE_CREDITS:
		wire->send[wire->in.kind].credits += wire->in.value;
		return;
	case WIRE_ARRIVALS:
		wire->send[wire->in.kind].arrived += wire->in.value;
		return;
	default:
		receive->bytes[step % LINK_STEPS] = wire->in.value;
		/* Publishes the step; pairs with the acquire of link_empty(). */
		atomic_store_explicit(&receive->filled, step + 1, memory_order_release);
		wire->owed_arrivals[wire->in.kind]++;
	}
}

/* Where the bytes that come next belong, and how many there are. */
static void *inbox(struct wire *wire, size_t *left)
{
	struct link *receive = &wire->receive[wire->in.kind];
	size_t body_got = wire->in_got - sizeof(wire->in);

	if (wire->in_got < sizeof(wire->in)) {
		*left = sizeof(wire->in) - wire->in_got;
		return (char *)&wire->in + wire->in_got;
	}
	*left = wire->in.value - body_got;
	return link_buffer(receive, atomic_load_explicit(&receive->filled, memory_order_relaxed)) + body_got;
}

static bool read_wire(struct wire *wire)
{
	bool moved = false;

	while (!wire->error) {
		size_t left;
		void *to = inbox(wire, &left);
		ssize_t got = recv(wire->fd, to, left, MSG_DONTWAIT);
		if (got <= 0) {
			wire->error = got ? error_now() : -ECONNRESET;
			break;
		}
		moved = true;
		wire->in_got += (size_t)got;
		if (wire->in_got == sizeof(wire->in) && !is_plausible(wire))
			wire->error = -EPROTO;
		else if (wire->in_got == sizeof(wire->in) + (wire->in.type == WIRE_STEP ? wire->in.value : 0))
			message_has_come(wire);
	}
	return moved;
}

bool wire_advance(struct wire *wire)
{
	bool moved = read_wire(wire);

	moved |= write_wire(wire);
	return moved || wire->error;
}

bool wire_is_stuck(const struct wire *wire)
{
	return wire->out_sent < wire->out_size;
}

void wire_close(struct wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	for (int kind = 0; kind < LINK_KINDS; kind++) {
		link_close(&wire->send[kind]);
		link_close(&wire->receive[kind]);
	}
}
