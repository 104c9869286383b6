// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives the kernel's queues what they need of a kernel: time, timers, random numbers, packets.
 *
 * It is compiled by the kernel's own build beside net/sched/sch_*.c, which are not changed. There is
 * one queue, and time is a number. A timer of ticks fires as in kernel/time/timer.c: its wheel never
 * fires early, so it rounds up to the next slot. A tick is 1 ms.
 */
#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/reciprocal_div.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "host.h"

#define TICK_NS (NSEC_PER_SEC / HZ)
#define HEADERS (14 + sizeof(struct iphdr))
#define MOST_OPS 16

extern void *calloc(unsigned long count, unsigned long size);
extern void free(void *what);
extern void abort(void);

static unsigned long long now_ns, seed;
static const struct Qdisc_ops *known[MOST_OPS];
static int ops_known;
static struct net_device *device;
static struct netdev_queue out;
static struct Qdisc *root;
static struct timer_list *timer;
static unsigned long long timer_ns = HOST_NEVER;
static struct hrtimer *exact;
static enum hrtimer_restart (*exact_fires)(struct hrtimer *);
static unsigned long long exact_ns = HOST_NEVER;

unsigned long volatile jiffies;
struct task_struct *cpu_tasks[NR_CPUS];
struct Qdisc noop_qdisc;
kmem_buckets kmalloc_caches[NR_KMALLOC_TYPES];

/* Random numbers: SplitMix64. */
static unsigned long long drawn(void)
{
	unsigned long long z = (seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void get_random_bytes(void *buf, size_t len)
{
	unsigned char *bytes = buf;

	while (len--)
		*bytes++ = drawn();
}

u32 get_random_u32(void)
{
	return drawn();
}

/* Time. */
ktime_t ktime_get(void)
{
	return now_ns;
}

unsigned long __usecs_to_jiffies(const unsigned int us)
{
	return DIV_ROUND_UP(us, USEC_PER_SEC / HZ);
}

void timer_init_key(struct timer_list *new, void (*func)(struct timer_list *), unsigned int flags,
		    const char *name, struct lock_class_key *key)
{
	new->function = func;
}

/* As calc_index() in kernel/time/timer.c: eight times coarser for each level of the wheel. */
int mod_timer(struct timer_list *what, unsigned long expires)
{
	unsigned long ahead = expires - jiffies;
	int shift = 0;

	for (unsigned long level = 63; ahead >= level; level <<= 3)
		shift += 3;
	timer = what;
	timer_ns = (((expires >> shift) + 1) << shift) * TICK_NS;
	return 0;
}

int timer_delete(struct timer_list *what)
{
	timer_ns = HOST_NEVER;
	return 0;
}

void hrtimer_setup(struct hrtimer *new, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock_id, enum hrtimer_mode mode)
{
	exact = new;
	exact_fires = function;
}

void hrtimer_start_range_ns(struct hrtimer *what, ktime_t tim, u64 range_ns,
			    const enum hrtimer_mode mode)
{
	exact_ns = mode & HRTIMER_MODE_REL ? now_ns + tim : tim;
}

unsigned long long host_next_ns(void)
{
	return min(timer_ns, exact_ns);
}

static void at(unsigned long long ns)
{
	now_ns = ns;
	jiffies = ns / TICK_NS;
}

void host_tick(void)
{
	at(host_next_ns());
	if (exact_ns == now_ns) {
		exact_ns = HOST_NEVER;
		if (exact_fires(exact) == HRTIMER_RESTART)
			exact_ns = hrtimer_get_expires(exact);
	} else {
		timer_ns = HOST_NEVER;
		timer->function(timer);
	}
}

/* Queues. */
int register_qdisc(struct Qdisc_ops *ops)
{
	if (ops_known == MOST_OPS)
		abort();
	known[ops_known++] = ops;
	return 0;
}

static struct Qdisc *made(const struct Qdisc_ops *ops, struct nlattr *opt)
{
	struct Qdisc *sch = calloc(1, sizeof(*sch) + ops->priv_size);

	sch->ops = ops;
	sch->enqueue = ops->enqueue;
	sch->dequeue = ops->dequeue;
	sch->flags = ops->static_flags;
	sch->dev_queue = &out;
	__skb_queue_head_init(&sch->gso_skb);
	__skb_queue_head_init(&sch->skb_bad_txq);
	refcount_set(&sch->refcnt, 1);
	if (!root) {
		root = sch;
		rcu_assign_pointer(out.qdisc, sch);
		rcu_assign_pointer(out.qdisc_sleeping, sch);
	}
	return ops->init && ops->init(sch, opt, NULL) ? NULL : sch;
}

struct Qdisc *qdisc_create_dflt(struct netdev_queue *queue, const struct Qdisc_ops *ops,
				unsigned int parentid, struct netlink_ext_ack *extack)
{
	return made(ops, NULL);
}

int host_begin(const char *kind, const void *options, unsigned int bytes, unsigned long long from)
{
	struct nlattr *opt = NULL;

	seed = from;
	device = calloc(1, sizeof(*device));
	device->mtu = 1500;
	device->hard_header_len = 14;
	out.dev = device;
	cpu_tasks[0] = calloc(1, sizeof(struct task_struct));
	if (bytes) {
		opt = calloc(1, NLA_HDRLEN + bytes);
		opt->nla_len = NLA_HDRLEN + bytes;
		opt->nla_type = NLA_F_NESTED | TCA_OPTIONS;
		memcpy(nla_data(opt), options, bytes);
	}
	for (int one = 0; one < ops_known; one++)
		if (!strncmp(known[one]->id, kind, IFNAMSIZ))
			return made(known[one], opt) ? 0 : -1;
	return -1;
}

static struct sk_buff *packet(struct host_packet of)
{
	unsigned int room = SKB_DATA_ALIGN(HEADERS) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb = calloc(1, sizeof(*skb) + room);
	struct iphdr *ip;

	skb->head = skb->data = (unsigned char *)(skb + 1);
	skb->end = SKB_DATA_ALIGN(HEADERS);
	skb->tail = HEADERS;
	skb->len = of.bytes;
	skb->data_len = of.bytes - HEADERS;
	skb->truesize = 2304;
	refcount_set(&skb->users, 1);
	skb->dev = device;
	skb->mark = of.index;
	skb->hash = of.flow * 2654435761U;
	skb->l4_hash = 1;
	skb->protocol = htons(ETH_P_IP);
	skb_set_network_header(skb, 14);
	ip = ip_hdr(skb);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = of.ecn;
	qdisc_skb_cb(skb)->pkt_len = of.bytes;
	qdisc_skb_cb(skb)->pkt_segs = 1;
	return skb;
}

static void dropped(struct sk_buff *skb)
{
	while (skb) {
		struct sk_buff *next = skb->next;

		free(skb);
		skb = next;
	}
}

void host_put(unsigned long long ns, struct host_packet of)
{
	struct sk_buff *to_free = NULL;

	at(ns);
	root->enqueue(packet(of), root, &to_free);
	dropped(to_free);
}

/* Returns 0 if there is no packet. */
int host_take(unsigned long long ns, struct host_packet *left)
{
	struct sk_buff *skb;

	at(ns);
	skb = root->dequeue(root);
	dropped(root->to_free);
	root->to_free = NULL;
	if (!skb)
		return 0;
	left->index = skb->mark;
	left->bytes = qdisc_pkt_len(skb);
	left->ecn = ip_hdr(skb)->tos & INET_ECN_MASK;
	free(skb);
	return 1;
}

unsigned int host_length(void)
{
	return root->q.qlen;
}

/* What frees and allocates. */
void __fix_address sk_skb_reason_drop(const struct sock *sk, struct sk_buff *skb,
				      enum skb_drop_reason reason)
{
	free(skb);
}

void rtnl_kfree_skbs(struct sk_buff *head, struct sk_buff *tail)
{
	abort();
}

void *__kmalloc_noprof(size_t size, gfp_t flags)
{
	return calloc(1, size);
}

void *__kmalloc_cache_noprof(struct kmem_cache *s, gfp_t flags, size_t size)
{
	return calloc(1, size);
}

void *__kvmalloc_node_noprof(DECL_KMALLOC_PARAMS(size, b, token), unsigned long align, gfp_t flags,
			     int node)
{
	return calloc(1, size);
}

void kfree(const void *what)
{
	free((void *)what);
}

void kvfree(const void *what)
{
	free((void *)what);
}

/* What has no meaning in a replay. What a replay never calls is left undefined. */
void qdisc_tree_reduce_backlog(struct Qdisc *sch, int packets, int bytes)
{
}

void qdisc_hash_add(struct Qdisc *sch, bool invisible)
{
}

void qdisc_put(struct Qdisc *sch)
{
}

void qdisc_reset(struct Qdisc *sch)
{
}

void gnet_stats_add_queue(struct gnet_stats_queue *sum, const struct gnet_stats_queue __percpu *cpu,
			  const struct gnet_stats_queue *queue)
{
}

void __local_bh_enable_ip(unsigned long ip, unsigned int count)
{
}

int um_get_signals(void)
{
	return 0;
}

int um_set_signals(int enable)
{
	return 0;
}

int rtnl_is_locked(void)
{
	return 1;
}
