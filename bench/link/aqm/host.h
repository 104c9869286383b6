/* SPDX-License-Identifier: GPL-2.0-only */
#define HOST_NEVER (~0ULL)

struct host_packet {
	unsigned int index, flow, ecn, bytes;
};

int host_begin(const char *kind, const void *options, unsigned int bytes, unsigned long long seed);
unsigned long long host_next_ns(void);
void host_tick(void);
void host_put(unsigned long long ns, struct host_packet of);
int host_take(unsigned long long ns, struct host_packet *left);
unsigned int host_length(void);
