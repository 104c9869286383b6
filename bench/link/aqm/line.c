/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays arrivals through a queue of the kernel before a line.
 *
 *     line KIND OPTIONS RATE-BITS SEED < ARRIVALS > FATES
 *
 * OPTIONS are netlink attributes in hexadecimal digits, or "-". ARRIVALS and FATES are those of
 * crates/link/examples/replay.rs, with bytes of Ethernet frames; dropped packets have no line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

typedef int (*begins)(void);
extern begins __start_initcalls[], __stop_initcalls[];

static uint64_t arrived[1 << 20];
static unsigned long long rate;
/* When the line is free: whole ns, and the rest in 1/rate ns. */
static uint64_t free_ns, rest;

static void sent(unsigned int bytes)
{
	unsigned __int128 bits = (unsigned __int128)bytes * 8 * 1000000000 + rest;

	free_ns += bits / rate;
	rest = bits % rate;
}

/* A free device asks until nothing comes, and some queues note that they were asked in vain. */
static void serve(uint64_t until)
{
	for (;;) {
		struct host_packet left;
		uint64_t tick = host_next_ns(), pick = host_length() ? free_ns : HOST_NEVER;

		if (tick <= pick && tick <= until) {
			host_tick();
			continue;
		}
		if (pick > until || pick == HOST_NEVER)
			return;
		if (!host_take(pick, &left))
			continue;
		printf("%u,%llu,%d,-\n", left.index,
		       (unsigned long long)(pick - arrived[left.index]), left.ecn == 3);
		sent(left.bytes);
		if (!host_length())
			host_take(pick, &left);
	}
}

int main(int argc, char **argv)
{
	static unsigned char options[4096];
	unsigned int bytes = 0;
	unsigned long long at;
	struct host_packet packet = { 0 };

	if (argc != 5)
		return 2;
	if (strcmp(argv[2], "-"))
		for (; sscanf(argv[2] + 2 * bytes, "%2hhx", options + bytes) == 1; bytes++)
			;
	rate = strtoull(argv[3], NULL, 10);
	for (begins *begin = __start_initcalls; begin < __stop_initcalls; begin++)
		(*begin)();
	if (host_begin(argv[1], options, bytes, strtoull(argv[4], NULL, 10))) {
		fprintf(stderr, "%s refuses these options\n", argv[1]);
		return 2;
	}
	for (; scanf("%llu,%u,%u,%u", &at, &packet.flow, &packet.ecn, &packet.bytes) == 4;
	     packet.index++) {
		/* Controllers begin with the queue, a second before the first packet. */
		at += 1000000000;
		serve(at);
		if (free_ns < at)
			free_ns = at, rest = 0;
		arrived[packet.index] = at;
		host_put(at, packet);
		if (!host_length() && free_ns <= at)
			host_take(at, &packet);
		serve(at);
	}
	while (host_length())
		serve(free_ns);
	return 0;
}
