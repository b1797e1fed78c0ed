// SPDX-License-Identifier: MIT
/*
 * killing COUNT: kills that many clients with SIGKILL, one after the other,
 * each in the middle of its work: opening, mapping, launching by ring and by
 * SUBMIT, waiting. Prints how many had opened the device by then.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

struct progress {
	volatile uint32_t opened, launched;
};

/* Until it is killed. A long DELAY keeps the engine busy with what dies. */
static void work(struct progress *progress)
{
	struct fakegpu_packet_delay delay = {
		.head = {.op = FAKEGPU_OP_DELAY, .size = sizeof(delay)}, .ns = 3 * MS};
	struct fakegpu_submit submit = {.packets = (uintptr_t)&delay, .length = sizeof(delay)};
	struct rig rig;

	for (;;) {
		rig_open(&rig);
		progress->opened++;
		map_object(rig.fd, FAKEGPU_MAP_BUFFER, make_buffer(rig.fd, 1 << 18), NULL);
		submit.channel = make_channel(rig.fd, 0, NULL);
		CHECK(!ioctl(rig.fd, FAKEGPU_IOC_SUBMIT, &submit));
		for (int i = 0; i < 11; i++) {
			rig_launch(&rig);
			progress->launched++;
			wait_for(rig.fd, rig.channel, rig.seqno, now_ns() + PATIENCE);
		}
		munmap(rig.ring, FAKEGPU_RING_MIN);
		close(rig.fd);
	}
}

static void kill_one(struct progress *progress, uint64_t delay_ns)
{
	uint64_t opened = progress->opened, start;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		work(progress);
	start = now_ns();
	while (progress->opened == opened && now_ns() < start + PATIENCE)
		sched_yield();
	start = now_ns();
	while (now_ns() < start + delay_ns)
		;
	CHECK(!kill(child, SIGKILL));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	srand(23);
	for (int i = 0; i < count; i++)
		kill_one(progress, (uint64_t)(rand() % 3000) * 1000);
	printf("%d killed, %u opens, %u launches\n", count, progress->opened, progress->launched);
	return !(count && progress->opened >= (uint32_t)count && progress->launched);
}
