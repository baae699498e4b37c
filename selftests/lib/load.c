// SPDX-License-Identifier: GPL-2.0
/*
 * Load for the guest: see load.h.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crypto.h"
#include "load.h"
#include "loop.h"

#define BURST_NS	3000000ull

static struct crypto crypto;

static void few_syscalls(void)
{
	char bytes[64] = "load";
	int pipes[2];
	void *page;
	int i, fd;

	for (i = 0; i < 20; i++)
		syscall(SYS_getpid);
	if (!pipe(pipes)) {
		if (write(pipes[1], bytes, sizeof(bytes)) > 0)
			i = read(pipes[0], bytes, sizeof(bytes));
		close(pipes[0]);
		close(pipes[1]);
	}
	fd = open("/proc/self/stat", O_RDONLY);
	if (fd >= 0) {
		i = read(fd, bytes, sizeof(bytes));
		close(fd);
	}
	page = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (page != MAP_FAILED)
		munmap(page, 65536);
	/* Now and then a new process: page tables, TLB, scheduler. */
	if (rand() % 16 == 0) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

/* Each datagram over the loopback is handled in a softirq; so is the timer. */
static void some_softirqs(void)
{
	static int sender = -1, receiver = -1, timer = -1;
	static struct sockaddr_in address;
	const struct itimerspec soon = { .it_value.tv_nsec = 20000 };
	socklen_t length = sizeof(address);
	char bytes[1400] = "load";
	int i;

	if (sender < 0) {
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		sender = socket(AF_INET, SOCK_DGRAM, 0);
		receiver = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
		if (bind(receiver, (struct sockaddr *)&address, sizeof(address)) ||
		    getsockname(receiver, (struct sockaddr *)&address, &length))
			_exit(1);
	}
	for (i = 0; i < 8; i++)
		if (sendto(sender, bytes, sizeof(bytes), 0, (struct sockaddr *)&address,
			   sizeof(address)) < 0)
			_exit(1);
	timerfd_settime(timer, 0, &soon, NULL);
	while (recv(receiver, bytes, sizeof(bytes), 0) > 0)
		;
}

static void work(enum load_kind kind, struct load_count *count)
{
	switch (kind) {
	case LOAD_SYSCALLS:
		few_syscalls();
		break;
	case LOAD_SOFTIRQS:
		some_softirqs();
		break;
	default:
		if (!crypto_check(&crypto))
			count->wrong++;
	}
	count->rounds++;
}

/* Processor time of this task and its children's is what the burst is made of. */
static void __attribute__((noreturn)) run(enum load_kind kind, struct load_count *count,
					  unsigned int percent)
{
	uint64_t pause_us = BURST_NS / 1000 * (100 - percent) / percent;

	srand(kind + 1);
	for (;;) {
		uint64_t end = now_ns() + BURST_NS;

		do
			work(kind, count);
		while (now_ns() < end);
		if (pause_us)
			usleep(pause_us / 2 + rand() % (pause_us + 1));
	}
}

bool load_start(struct load *load, unsigned int percent)
{
	unsigned int each = percent / LOAD_KINDS;
	int i;

	if (!crypto_open(&crypto))
		return false;
	load->count = mmap(NULL, LOAD_KINDS * sizeof(*load->count), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load->count == MAP_FAILED)
		return false;
	fflush(stdout);
	for (i = 0; i < LOAD_KINDS; i++) {
		load->pid[i] = fork();
		if (load->pid[i] < 0)
			return false;
		if (!load->pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run(i, &load->count[i], each ? each : 1);
		}
	}
	return true;
}

void load_stop(struct load *load)
{
	int i;

	for (i = 0; i < LOAD_KINDS; i++) {
		kill(load->pid[i], SIGKILL);
		waitpid(load->pid[i], NULL, 0);
	}
	crypto_close(&crypto);
}

void load_free(struct load *load)
{
	munmap(load->count, LOAD_KINDS * sizeof(*load->count));
}
