// SPDX-License-Identifier: MIT
/*
 * life VERB: contexts and mappings as only a driver in the kernel has them.
 * Exit code 0: so it is; 1 and a reason: not so. The verbs are in the table at
 * the end; "hold-…" print "ready" and stay until their input ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

static void stay(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

static void hold_fd(void)
{
	CHECK(open(NODE, O_RDWR) >= 0);
	stay();
}

static void hold_map(void)
{
	struct rig rig;

	rig_open(&rig);
	close(rig.fd);
	stay();
}

/* The mapping is the context: work goes on after the descriptor is closed. */
static void close_first(void)
{
	struct rig rig;

	rig_open(&rig);
	close(rig.fd);
	for (int i = 0; i < 23; i++) {
		rig_launch(&rig);
		rig_await(&rig);
	}
}

static void end_well(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

/* A child has the mappings too, and its end takes nothing from the parent. */
static void fork_mapped(void)
{
	struct rig rig;

	rig_open(&rig);
	for (int i = 0; i < 23; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			rig_launch(&rig);
			rig_await(&rig);
			_exit(0);
		}
		end_well(child);
		rig.wptr += sizeof(struct fakegpu_packet_fence);
		rig.seqno++;
		rig_await(&rig);
	}
	rig_launch(&rig);
	rig_await(&rig);
}

static void send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = {0}, byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS,
				   .cmsg_len = CMSG_LEN(sizeof(fd))};
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	int fd;

	CHECK(recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* A passed descriptor is the same context, also when the sender has ended. */
static void pass_fd(void)
{
	struct fakegpu_ctx_info info = {0};
	uint32_t channel, id;
	int pair[2], fd;
	pid_t child;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	if (!child) {
		fd = open(NODE, O_RDWR);
		CHECK(fd >= 0 && !ioctl(fd, FAKEGPU_IOC_CTX_INFO, &info));
		channel = make_channel(fd, 0, NULL);
		CHECK(write(pair[1], &info.id, 4) == 4 && write(pair[1], &channel, 4) == 4);
		send_fd(pair[1], fd);
		_exit(0);
	}
	CHECK(read(pair[0], &id, 4) == 4 && read(pair[0], &channel, 4) == 4);
	fd = receive_fd(pair[0]);
	end_well(child);
	CHECK(!ioctl(fd, FAKEGPU_IOC_CTX_INFO, &info) && info.id == id);
	CHECK(wait_for(fd, channel, submit_nop(fd, channel), now_ns() + PATIENCE) == 0);
}

static sigjmp_buf before;

static void on_bus_error(int number)
{
	siglongjmp(before, number);
}

/* What is freed while mapped is gone for the program that mapped it, and not somebody else's. */
static void freed_while_mapped(void)
{
	struct rig rig;
	uint32_t buffer;
	volatile uint32_t *words;

	rig_open(&rig);
	buffer = make_buffer(rig.fd, 1 << 20);
	words = map_object(rig.fd, FAKEGPU_MAP_BUFFER, buffer, NULL);
	words[0] = words[1 << 17] = 7;
	CHECK(!ioctl(rig.fd, FAKEGPU_IOC_FREE, &(struct fakegpu_free){.handle = buffer}));
	signal(SIGBUS, on_bus_error);
	if (!sigsetjmp(before, 1)) {
		words[0] = 8;
		CHECK(!"a freed buffer can be written");
	}
	if (!sigsetjmp(before, 1)) {
		CHECK(words[1 << 17] != 7);
		CHECK(!"a freed buffer can be read");
	}
	rig_launch(&rig);
	rig_await(&rig);
}

/* Resident KiB of the mapping at `address`, as /proc/self/smaps has it. */
static long resident(const void *address)
{
	char line[256], start[32];
	bool here = false;
	long kib = -1;
	FILE *file = fopen("/proc/self/smaps", "re");

	CHECK(file);
	snprintf(start, sizeof(start), "%lx-", (unsigned long)address);
	while (kib < 0 && fgets(line, sizeof(line), file)) {
		here = here || !strncmp(line, start, strlen(start));
		if (here)
			sscanf(line, "Rss: %ld", &kib);
	}
	fclose(file);
	return kib;
}

/* An idle engine has taken the doorbell page away; the next store still reaches it. */
static void idle_doorbell(void)
{
	uint64_t deadline = now_ns() + PATIENCE;
	struct rig rig;

	rig_open(&rig);
	for (int i = 0; i < 23; i++) {
		rig_launch(&rig);
		rig_await(&rig);
		while (resident(rig.doorbells))
			CHECK(now_ns() < deadline);
	}
	CHECK(rig.fences[rig.index].jobs == 23 && rig.fences[rig.index].doorbells == 23);
}

/* What debuggers and tracers read with, as on any memory. */
static void read_from_outside(void)
{
	uint64_t by_call, by_file;
	struct rig rig;
	int mem = open("/proc/self/mem", O_RDONLY);
	struct iovec here = {&by_call, 8}, there;

	rig_open(&rig);
	rig_launch(&rig);
	rig_await(&rig);
	there = (struct iovec){(void *)&rig.fences[rig.index].seqno, 8};
	CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 8);
	CHECK(pread(mem, &by_file, 8, (off_t)(uintptr_t)there.iov_base) == 8);
	CHECK(by_call == 1 && by_file == 1);
	there.iov_base = rig.ring;
	CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 8);
	CHECK((by_call & 0xffff) == FAKEGPU_OP_FENCE);
}

static short poll_now(int fd, int timeout_ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	CHECK(poll(&one, 1, timeout_ms) >= 0);
	return one.revents;
}

static void poll_fence(void)
{
	int fd = open(NODE, O_RDWR);
	uint32_t channel = make_channel(fd, 0, NULL);
	struct fakegpu_packet_fault fault = {
		.head = {.op = FAKEGPU_OP_FAULT, .size = sizeof(fault)}, .xid = 13};
	struct fakegpu_submit submit = {
		.channel = channel, .packets = (uintptr_t)&fault, .length = sizeof(fault)};

	CHECK(poll_now(fd, 0) == 0);
	for (int i = 0; i < 23; i++) {
		uint64_t seqno = submit_nop(fd, channel);

		CHECK(poll_now(fd, 20000) == POLLIN);
		CHECK(wait_for(fd, channel, seqno, 0) == 0);
		CHECK(poll_now(fd, 0) == 0);
	}
	CHECK(!ioctl(fd, FAKEGPU_IOC_SUBMIT, &submit));
	CHECK(poll_now(fd, 20000) & POLLERR);
}

static void nothing(int number)
{
	(void)number;
}

/* A wait ends with EINTR where the handler does not restart, and with its deadline where it does. */
static void interrupted_wait(void)
{
	struct sigaction action = {.sa_handler = nothing};
	struct itimerval soon = {{0, 2000}, {0, 2000}};
	int fd = open(NODE, O_RDWR);
	uint32_t channel = make_channel(fd, 0, NULL);
	uint64_t deadline;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK(wait_for(fd, channel, 1, now_ns() + PATIENCE) == EINTR);
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	deadline = now_ns() + 50 * MS;
	CHECK(wait_for(fd, channel, 1, deadline) == ETIME);
	CHECK(now_ns() >= deadline);
}

#ifdef __x86_64__
/* An ioctl as a 32-bit program makes it; its argument lies low. Returns 0 or -errno. */
static int ioctl_32(int fd, unsigned long command, void *arg)
{
	int ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "0"(54), "b"(fd), "c"((uint32_t)command), "d"((uint32_t)(uintptr_t)arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

/* The structures are the same for 32 bit, pointers in them included. */
static void as_32_bit(void)
{
	int fd = open(NODE, O_RDWR);
	uint32_t channel = make_channel(fd, 0, NULL);
	union {
		struct fakegpu_info info;
		struct fakegpu_submit submit;
		struct fakegpu_wait wait;
	} *arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		      -1, 0);
	struct fakegpu_packet *nop = (void *)((char *)arg + 2048);

	CHECK(arg != MAP_FAILED && ioctl_32(fd, FAKEGPU_IOC_INFO, arg) == 0);
	CHECK(arg->info.max_channels == FAKEGPU_MAX_CHANNELS);
	*nop = (struct fakegpu_packet){.op = FAKEGPU_OP_NOP, .size = sizeof(*nop)};
	arg->submit = (struct fakegpu_submit){
		.channel = channel, .packets = (uintptr_t)nop, .length = sizeof(*nop)};
	CHECK(ioctl_32(fd, FAKEGPU_IOC_SUBMIT, arg) == 0 && arg->submit.seqno == 1);
	arg->wait = (struct fakegpu_wait){
		.channel = channel, .seqno = 1, .deadline_ns = now_ns() + PATIENCE};
	CHECK(ioctl_32(fd, FAKEGPU_IOC_WAIT, arg) == 0 && arg->wait.signalled == 1);
	CHECK(ioctl_32(fd, FAKEGPU_IOC_INFO ^ 1, arg) == -ENOTTY);
}
#endif

static const struct {
	const char *name;
	void (*run)(void);
} verbs[] = {
#ifdef __x86_64__
	{"as-32-bit", as_32_bit},
#endif
	{"hold-fd", hold_fd},
	{"hold-map", hold_map},
	{"close-first", close_first},
	{"fork-mapped", fork_mapped},
	{"pass-fd", pass_fd},
	{"freed-while-mapped", freed_while_mapped},
	{"idle-doorbell", idle_doorbell},
	{"read-from-outside", read_from_outside},
	{"poll-fence", poll_fence},
	{"interrupted-wait", interrupted_wait},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(argv[1], verbs[i].name)) {
			verbs[i].run();
			return 0;
		}
	}
	fprintf(stderr, "life: which of its verbs?\n");
	return 2;
}
